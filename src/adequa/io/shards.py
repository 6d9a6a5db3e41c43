"""Shards: the files of a corpus, found by a pattern, a folder or an address."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from adequa.errors import AdequaError
from adequa.io.patterns import fixed_root, is_match, is_pattern, parts_below
from adequa.io.storage import (
    Match,
    Storage,
    address_beside,
    is_address,
    storage_of,
)
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
    if not given:
        raise AdequaError("The input is empty; name shards, as a pattern, a folder or a file.")
    storage, inner = storage_of(given)
    if storage.is_folder(inner):
        root, matching = inner.rstrip("/"), _in_folder(storage, inner.rstrip("/"))
    elif _is_meant_literally(storage, inner):
        root, matching = inner.rpartition("/")[0], storage.matching(literal(inner))
    else:
        if ".." in PurePosixPath(inner).parts[len(PurePosixPath(fixed_root(inner)).parts) :]:
            raise AdequaError(f"{given}: a pattern cannot go up again (..) behind its first *.")
        root, matching = fixed_root(inner), storage.matching(inner)
        _refuse_folders(storage, matching)
    found = _files(storage, matching)
    if not found:
        what = "matches nothing" if is_pattern(given) else "is not there, or holds no shards"
        raise AdequaError(f"{given} {what}; shards are files that end in {' or '.join(FORMATS)}.")
    named = [(path, _checked_name(path, root), size) for path, size in found]
    _refuse_equal_files(storage, (path for path, _ in found))
    return [
        # A path that means the same to every process; as it is written, links and all.
        Shard(
            address_beside(given, inner, path) if is_address(given) else os.path.abspath(path),  # noqa: PTH100
            name,
            size,
        )
        for path, name, size in named
    ]


def _is_meant_literally(storage: Storage, inner: str) -> bool:
    """Whether what looks like a pattern is the name of something that is there."""
    return is_pattern(inner) and bool(storage.existing([inner]))


def _in_folder(storage: Storage, folder: str) -> list[Match]:
    """What bears the name of a shard in a folder, and does not belong to those who wrote it."""
    return [
        (path, size)
        for path, size in storage.matching(f"{literal(folder)}/**/*")
        if _is_named_so(path) and _is_data(PurePosixPath(path).relative_to(folder or "/"))
    ]


def _refuse_folders(storage: Storage, matching: Sequence[Match]) -> None:
    """Raise where a pattern matches a folder that is named like a shard, but none of its files."""
    files = [path for path, size in matching if size is not None]
    entered = {folder for path in files for folder in PurePosixPath(path).parents}
    for path, size in matching:
        missed = size is None and _is_named_so(path) and PurePosixPath(path) not in entered
        if missed and storage.is_folder(path):
            raise AdequaError(
                f"{path} is a folder, and a pattern takes in files alone; give a pattern for the "
                "files in it, or the folder above it."
            )


def _files(storage: Storage, matching: Sequence[Match]) -> list[tuple[str, int]]:
    """The files alone; what is named like one and cannot be read is told of."""
    for path, size in matching:
        if size is None and _is_named_so(path) and not storage.is_folder(path):
            raise AdequaError(
                f"{path} is no file that can be read, but something else or a link that leads "
                "nowhere; remove it, or leave it out of the pattern."
            )
    return [(path, size) for path, size in matching if size is not None]


def _refuse_equal_files(storage: Storage, paths: Iterable[str]) -> None:
    """Raise where a file is found by two names, as its rows would be scored and counted twice."""
    seen: dict[str, str] = {}
    for path in paths:
        before = seen.setdefault(storage.resolved(path), path)
        if before is not path:
            raise AdequaError(
                f"{path} and {before} are one file, by a link, and its rows would count twice; "
                "give a pattern, or a folder, in which it is found once."
            )


def finder(given: str) -> Callable[[tuple[str, PurePosixPath]], bool]:
    """Whether a file would be one of the shards that are given, by its whereabouts."""
    storage, inner = storage_of(given)
    if storage.is_folder(inner):
        folder = PurePosixPath(storage.resolved(inner))
        return lambda file: (
            file[0] == storage.kind
            and folder in file[1].parents
            and _is_data(file[1].relative_to(folder))
        )
    if _is_meant_literally(storage, inner):
        only = PurePosixPath(storage.resolved(inner))
        return lambda file: file == (storage.kind, only)
    root = fixed_root(inner)
    folder, pattern = PurePosixPath(storage.resolved(root)), parts_below(inner, root)
    return lambda file: (
        file[0] == storage.kind
        and folder in file[1].parents
        and is_match(file[1].relative_to(folder).parts, pattern)
    )


def _is_named_so(path: str) -> bool:
    return text_format(path) in FORMATS


def _is_data(name: PurePosixPath) -> bool:
    return not any(part[0] in _NOT_DATA for part in name.parts)


def literal(path: str) -> str:
    """A path as a pattern that matches it alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def _checked_name(path: str, root: str) -> str:
    name = path[len(root) :].lstrip("/") if root else path
    if not _is_named_so(path):
        raise AdequaError(
            f"{path} is no shard: the names of shards end in {' or '.join(FORMATS)}, "
            "JSONL also in .jsonl.gz or .jsonl.xz."
        )
    try:
        name.encode()
    except UnicodeEncodeError as error:
        shown = path.encode("utf-8", "backslashreplace").decode()
        raise AdequaError(f"{shown}: the name of this file is not UTF-8; rename it.") from error
    return name
