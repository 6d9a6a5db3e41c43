"""Caches: scores, vectors and parses on disk between runs, and recent scores in memory.

A cache on disk is one SQLite file with one table of keys and values. SQLite's locks let several
processes use it at once, and its journal leaves the file whole where a process is killed. A
connection lives as long as one call, so that threads and forked processes may share a cache.

A cache never costs a result. Where a file cannot be read or written, because of a folder without
permission, a full disk or a process that keeps it locked, its values are computed again, and
`notes` say why. A damaged file is moved aside and replaced by a new one, and a damaged value, which
its checksum shows, counts as missing.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.runtime.onnx import PairScores

SCORES_LIMIT = 256 << 20  # bytes of a file: about four million scores
VECTORS_LIMIT = 4 << 30
PARSES_LIMIT = 1 << 30  # about a million parses

Vectors: TypeAlias = npt.NDArray[np.float32]
Mask: TypeAlias = npt.NDArray[np.bool_]
Tree: TypeAlias = tuple[tuple[str, ...], npt.NDArray[np.int32]]  # words, parent of each

_APPLICATION_ID = 0x61647163  # "adqc", in the header of our files
_FILLED = 0.9  # fraction of the limit that remains when the oldest entries are dropped
_QUERY_KEYS = 999  # keys in one query: the limit of SQLite before 3.32
_TIMEOUT = 10.0  # seconds to wait for another process that writes
_CHECKSUM = 4  # bytes behind each value
_FAILURES = (sqlite3.Error, OSError, ValueError)  # ValueError: no file can have the name
_CHUNK_BYTES = 64 << 20  # of the values that are read at a time

_SCORE = np.dtype([("score", "<f8"), ("windows", "<i4")])


def text_key(*texts: str) -> bytes:
    """Return the key of one or more texts; where one ends and the next begins matters.

    >>> text_key("ab", "c") == text_key("a", "bc")
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.digest()


class Cache:
    """Bytes by key, in a file of at most about `limit` bytes; the oldest entries are dropped first.

    After a failure the file is left alone: to wait for a stuck process or a slow disk at every
    batch would cost more than the cache can save. Where only writing fails, it is still read.
    """

    page_size = 4096
    synchronous = "NORMAL"  # wait for the disk, so that a power failure leaves the file whole

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.limit = limit
        self.notes: list[str] = []  # what went wrong, as sentences
        self._readable = self._writable = True

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of the keys that are in the cache."""
        if not keys or not self._readable:
            return {}
        try:
            if self.path.exists():
                with closing(self._connect()) as connection:
                    return _select(connection, keys) if _has_table(connection) else {}
        except _FAILURES as error:
            self._readable = self._writable = self._recover(error)
        return {}

    def write(self, entries: Iterable[tuple[bytes, bytes]]) -> None:
        """Add entries. An entry of the same key is replaced."""
        # Sorted, so that neighbours in the index are written one after the other.
        rows = sorted((key, value + _checksum(key, value)) for key, value in entries)
        for _ in range(2):  # again in a new file where the old one was damaged
            if not rows or not self._writable:
                return
            try:
                self._insert(rows)
                break
            except _FAILURES as error:
                self._writable = self._recover(error)

    def _insert(self, rows: list[tuple[bytes, bytes]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._connect()) as connection:
            connection.execute(f"PRAGMA page_size = {self.page_size}")
            connection.execute("PRAGMA auto_vacuum = FULL")  # dropped entries shrink the file
            connection.execute(f"PRAGMA synchronous = {self.synchronous}")
            connection.execute("BEGIN IMMEDIATE")
            if not _has_table(connection):
                connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                connection.execute(
                    "CREATE TABLE cache (id INTEGER PRIMARY KEY, key BLOB UNIQUE, value BLOB)"
                )
            connection.executemany("REPLACE INTO cache (key, value) VALUES (?, ?)", rows)
            _drop_oldest(connection, self.limit)
            connection.execute("COMMIT")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_TIMEOUT, isolation_level=None)
        connection.text_factory = bytes  # a damaged value may claim to be text
        return connection

    def _recover(self, error: Exception) -> bool:
        """Note a failure; return whether the cache can go on, with a new file."""
        # SQLite reports damage as this class, and everything else as one of its subclasses.
        recovered = type(error) is sqlite3.DatabaseError
        try:
            if recovered:
                self.path.replace(self.path.with_name(f"{self.path.name}.damaged"))
        except FileNotFoundError:
            pass  # another process was faster
        except OSError:
            recovered = False
        note = (
            f"{self.path} was damaged ({error}) and is begun anew."
            if recovered
            else f"{self.path} is of no use as a cache: {error}."
        )
        if note not in self.notes:
            self.notes.append(note)
        return recovered


def _select(connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    values = {}
    keys = sorted(keys)  # neighbours in the file one after the other, as they were written
    for start in range(0, len(keys), _QUERY_KEYS):
        chunk = keys[start : start + _QUERY_KEYS]
        marks = ",".join("?" * len(chunk))
        query = f"SELECT key, value FROM cache WHERE key IN ({marks})"  # noqa: S608  # only marks
        for key, stored in connection.execute(query, chunk):
            if isinstance(key, bytes) and isinstance(stored, bytes):
                value = stored[:-_CHECKSUM]
                if stored[-_CHECKSUM:] == _checksum(key, value):
                    values[key] = value
    return values


def _has_table(connection: sqlite3.Connection) -> bool:
    """Whether the file is a cache and not still empty; raises where it is something else."""
    if not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
        return False
    if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        raise sqlite3.OperationalError("it is a database of something else; move it away")
    return True


def _drop_oldest(connection: sqlite3.Connection, limit: int) -> None:
    pages, free, page_size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    size = (pages - free) * page_size
    if size > limit:
        count = connection.execute("SELECT COUNT(*) FROM cache").fetchone()[0]
        excess = ceil(count * (1 - _FILLED * limit / size))
        oldest = "SELECT id FROM cache ORDER BY id LIMIT ?"
        connection.execute(f"DELETE FROM cache WHERE id IN ({oldest})", (excess,))  # noqa: S608  # a constant


def _checksum(key: bytes, value: bytes) -> bytes:
    return zlib.crc32(value, zlib.crc32(key)).to_bytes(_CHECKSUM, "little")


class VectorCache(Cache):
    """Vectors of one dimension by key."""

    page_size = 16384  # wastes less space beside vectors of some thousand bytes

    def __init__(self, path: Path, dimension: int, limit: int = VECTORS_LIMIT) -> None:
        super().__init__(path, limit)
        self.dimension = dimension

    def get(self, keys: Sequence[bytes]) -> tuple[Vectors, Mask]:
        """Return one row per key, zero where it is missing, and a mask of the rows in the cache."""
        vectors = np.zeros((len(keys), self.dimension), dtype="<f4")
        return vectors, _fill(vectors, self, keys)

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Add one vector per key."""
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        self.write((key, row.tobytes()) for key, row in zip(keys, rows, strict=True))


class ScoreCache(Cache):
    """Scores of pairs by key; the keys of several models may be in one file."""

    synchronous = "OFF"  # to wait for the disk would take longer than to score a few short texts

    def __init__(self, path: Path, limit: int = SCORES_LIMIT) -> None:
        super().__init__(path, limit)

    def get(self, keys: Sequence[bytes]) -> tuple[PairScores, Mask]:
        """Return one score per key, zero where it is missing, and a mask of those in the cache."""
        rows = np.zeros(len(keys), _SCORE)
        mask = _fill(rows, self, keys)
        return PairScores(rows["score"].copy(), rows["windows"].copy()), mask

    def put(self, keys: Sequence[bytes], scores: PairScores) -> None:
        """Add one score per key; scores that are not finite are left out."""
        rows = np.empty(len(scores), _SCORE)
        rows["score"], rows["windows"] = scores.scores, scores.windows
        content, size = rows.tobytes(), _SCORE.itemsize
        self.write(
            (keys[row], content[row * size : (row + 1) * size])
            for row in np.flatnonzero(np.isfinite(scores.scores)).tolist()
        )


class ParseCache(Cache):
    """Dependency trees by key."""

    def __init__(self, path: Path, limit: int = PARSES_LIMIT) -> None:
        super().__init__(path, limit)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Tree]:
        """Return the trees of the keys that are in the cache."""
        trees: dict[bytes, Tree] = {}
        for key, value in self.read(keys).items():
            words, parents = json.loads(value.decode("utf-8", "surrogatepass"))
            trees[key] = tuple(words), np.array(parents, dtype=np.int32)
        return trees

    def put(self, trees: Mapping[bytes, Tree]) -> None:
        """Add trees."""
        encoded = (
            (key, json.dumps([words, parents.tolist()], ensure_ascii=False, separators=(",", ":")))
            for key, (words, parents) in trees.items()
        )
        self.write((key, text.encode("utf-8", "surrogatepass")) for key, text in encoded)


def _fill(rows: npt.NDArray[Any], cache: Cache, keys: Sequence[bytes]) -> Mask:
    """Fill the rows of an array whose keys are in the cache, and return their mask."""
    mask = np.zeros(len(keys), dtype=np.bool_)
    size = rows.dtype.itemsize * int(np.prod(rows.shape[1:]))
    count = max(_CHUNK_BYTES // size, 1)
    for start in range(0, len(keys), count):
        chunk = keys[start : start + count]
        values = cache.read(chunk)
        cached = [index for index, key in enumerate(chunk) if len(values.get(key, b"")) == size]
        content = b"".join([values[chunk[index]] for index in cached])
        indices = np.array(cached, dtype=np.intp) + start
        rows[indices] = np.frombuffer(content, rows.dtype).reshape(-1, *rows.shape[1:])
        mask[indices] = True
    return mask


class RecentScores:
    """The scores of the last pairs in memory, for calls that repeat pairs."""

    def __init__(self, limit: int = 1 << 17) -> None:  # pairs: about 20 MB
        self.limit = limit
        self._scores: dict[bytes, tuple[float, int]] = {}

    def get(self, keys: Sequence[bytes]) -> tuple[PairScores, Mask]:
        """Return one score per key, zero where it is missing, and a mask of those in memory."""
        rows = [self._scores.get(key) for key in keys]
        mask = np.array([row is not None for row in rows], dtype=np.bool_)
        values = np.array([row or (0.0, 0) for row in rows], dtype=np.float64).reshape(-1, 2)
        return PairScores(values[:, 0].copy(), values[:, 1].astype(np.int32)), mask

    def put(self, keys: Sequence[bytes], scores: PairScores) -> None:
        """Add one score per key, and drop the oldest beyond the limit."""
        rows = zip(scores.scores.tolist(), scores.windows.tolist(), strict=True)
        self._scores.update(zip(keys, rows, strict=True))
        for key in list(islice(self._scores, max(len(self._scores) - self.limit, 0))):
            del self._scores[key]


def lookup_or_compute(
    cache: ScoreCache | RecentScores,
    keys: Sequence[bytes],
    compute: Callable[[list[int]], PairScores],
) -> PairScores:
    """Return the scores of different keys: cached, or computed for the missing rows and cached.

    Where all are cached, `compute` is not called.
    """
    scores, cached = cache.get(keys)
    missing = np.flatnonzero(~cached)
    if len(missing):
        rows = missing.tolist()
        computed = compute(rows)
        cache.put([keys[row] for row in rows], computed)
        scores.fill(missing, computed)
    return scores
