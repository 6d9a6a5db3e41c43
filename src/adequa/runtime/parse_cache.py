"""A cache of dependency parses on disk: one file a parser, found by the text that was parsed.

What may go wrong with it, and that it costs no result, is said in `cache_file`. Entries there have
one size, and parses do not: a parse is kept on as many pages as it takes. The first tells how long
it is and its digest, which the keys of the others are made from, so that pages of two parses are
never read together. A parse that lacks a page counts as missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from adequa.io.trees import Parents
from adequa.runtime.cache_file import CacheFile, text_key

__all__ = ["DEFAULT_LIMIT", "ParseCache", "Tree", "text_key"]

DEFAULT_LIMIT = 1 << 30  # bytes a file: some million parses

Tree: TypeAlias = tuple[tuple[str, ...], Parents]  # words, and the parent of each

_PAGE = 384  # bytes, which most segments fit into
_LENGTH, _DIGEST = 4, 16  # bytes that the first page begins with


class ParseCache(CacheFile):
    """Words and parents by key, in one file of at most about `limit` bytes."""

    table = "parses"
    page_size = 4096

    def __init__(self, path: Path, limit: int = DEFAULT_LIMIT) -> None:
        super().__init__(path, _PAGE, limit)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Tree]:
        """The parses of those of the keys that are there."""
        first = dict(self._found(list(dict.fromkeys(keys))))
        later = {key: _later_keys(key, page) for key, page in first.items()}
        pages = dict(self._found([each for some in later.values() for each in some]))
        read = ((key, _tree(first[key], later[key], pages)) for key in first)
        return {key: tree for key, tree in read if tree is not None}

    def put(self, parses: Mapping[bytes, Tree]) -> None:
        """Keep parses; one that another process has put there meanwhile stays as it is."""
        self._keep([entry for key, tree in parses.items() for entry in _entries(key, tree)])


def _entries(key: bytes, tree: Tree) -> list[tuple[bytes, bytes]]:
    """The pages of a parse with their keys."""
    words, parents = tree
    written = json.dumps([words, parents.tolist()], ensure_ascii=False, separators=(",", ":"))
    content = written.encode("utf-8", "surrogatepass")
    whole = len(content).to_bytes(_LENGTH, "little") + _digest(content) + content
    pages = [whole[at : at + _PAGE].ljust(_PAGE, b"\0") for at in range(0, len(whole), _PAGE)]
    return list(zip([key, *_later_keys(key, pages[0])], pages, strict=True))


def _later_keys(key: bytes, first: bytes) -> list[bytes]:
    """The keys of all pages but the first, by what the first says."""
    length = _LENGTH + _DIGEST + int.from_bytes(first[:_LENGTH], "little")
    start = key + first[_LENGTH : _LENGTH + _DIGEST]
    return [_digest(start + at.to_bytes(4, "little")) for at in range(_PAGE, length, _PAGE)]


def _tree(first: bytes, later: Sequence[bytes], pages: Mapping[bytes, bytes]) -> Tree | None:
    """The parse on these pages, or None where they are not all there or not as written."""
    if not all(key in pages for key in later):
        return None
    whole = b"".join([first, *(pages[key] for key in later)])
    length, start = int.from_bytes(whole[:_LENGTH], "little"), _LENGTH + _DIGEST
    content = whole[start : start + length]
    if _digest(content) != whole[_LENGTH:start]:
        return None
    words, parents = json.loads(content.decode("utf-8", "surrogatepass"))
    return tuple(words), np.array(parents, dtype=np.int32)


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()
