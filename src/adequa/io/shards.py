"""Shards: the files of a corpus, found by a pattern, a folder or an address."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import PurePosixPath

from adequa.errors import AdequaError
from adequa.io.storage import fixed_root, is_address, is_pattern, storage_of
from adequa.io.text import text_format

FORMATS = (".parquet", ".jsonl")
_NOT_DATA = ("_", ".")  # first letters of names that writers of datasets keep for themselves


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of a corpus."""

    path: str  # where it is, from any folder
    name: str  # below the folder that all shards are in; its results have the same
    size: int  # bytes


def find_shards(given: str) -> list[Shard]:
    """The shards that a pattern, a folder, a file or an address stands for, by name."""
    storage, inner = storage_of(given)
    if storage.is_folder(inner):
        root = inner.rstrip("/")
        found = [
            (path, size)
            for path, size in storage.matching(f"{_literal(root)}/**/*")
            if text_format(path) in FORMATS
            and not any(part[0] in _NOT_DATA for part in PurePosixPath(path[len(root) :]).parts[1:])
        ]
    else:
        root = fixed_root(inner)
        found = storage.matching(inner)
    if not found:
        what = "matches nothing" if is_pattern(given) else "is not there, or holds no shards"
        raise AdequaError(f"{given} {what}; shards are files that end in {' or '.join(FORMATS)}.")
    store = given.rstrip("/").removesuffix(inner.rstrip("/")) if is_address(given) else None
    return [Shard(_in_full(path, store), _checked_name(path, root), size) for path, size in found]


def _literal(folder: str) -> str:
    """A folder as a pattern that matches it alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in folder)


def _in_full(path: str, store: str | None) -> str:
    """A path that means the same to every process: an address, where the store has one."""
    if store is not None:
        return store + path
    return os.path.abspath(path)  # noqa: PTH100  # as it is written, links and all


def _checked_name(path: str, root: str) -> str:
    name = path[len(root) :].lstrip("/") if root else path
    if text_format(path) not in FORMATS:
        raise AdequaError(
            f"{path} is no shard: the names of shards end in {' or '.join(FORMATS)}, "
            "JSONL also in .jsonl.gz or .jsonl.xz."
        )
    return name
