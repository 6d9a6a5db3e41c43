"""A cache of vectors on disk: SQLite, one file an encoder, found by what was encoded.

Nothing that goes wrong here may cost a result. A cache that cannot be read or written, a folder
without permission or a full disk only means that nothing is found or kept, and `problem` says why.
Every entry has a checksum, so a damaged one counts as missing and is written anew; a file that is
no database any more is moved aside.

A connection lives as long as one call, so that caches may be used by several threads and after a
fork.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from math import ceil
from pathlib import Path

import numpy as np
import numpy.typing as npt

DEFAULT_LIMIT = 4 << 30  # bytes a file

_WAIT = 60.0  # seconds for another process to finish its transaction
_ASKED = 500  # keys in one question, below the limit of every SQLite
_KEPT = 0.9  # of the limit, when the oldest entries are dropped
_CHECKSUM = 4  # bytes
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, key BLOB UNIQUE, value BLOB)"

Vectors = npt.NDArray[np.float32]
Found = npt.NDArray[np.bool_]


def text_key(*texts: str) -> bytes:
    """The key of a sentence, or of several read together: which text ends where matters.

    >>> text_key("ab", "c") == text_key("a", "bc")
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        written = text.encode("utf-8", "surrogatepass")
        digest.update(len(written).to_bytes(8, "little"))
        digest.update(written)
    return digest.digest()


class VectorCache:
    """Vectors of one dimension by key, in one file of at most about `limit` bytes."""

    def __init__(self, path: Path, dimension: int, limit: int = DEFAULT_LIMIT) -> None:
        self.path = path
        self.dimension = dimension
        self.limit = limit
        # Why the cache was of no use the last time, in words; None while all is well.
        self.problem: str | None = None

    def get(self, keys: Sequence[bytes]) -> tuple[Vectors, Found]:
        """One row a key, and which of the rows were found; the others are zero."""
        vectors = np.zeros((len(keys), self.dimension), dtype=np.float32)
        found = np.zeros(len(keys), dtype=np.bool_)
        if not keys or not self.path.exists():
            return vectors, found
        place = {key: at for at, key in enumerate(keys)}
        with self._survived(), closing(self._reading()) as connection:
            for key, value in _entries(connection, list(place)):
                numbers = _verified(key, value, self.dimension)
                if numbers is not None:
                    vectors[place[key]] = np.frombuffer(numbers, dtype="<f4")
                    found[place[key]] = True
        if len(place) < len(keys):  # a repeated key was written to its last place only
            at = [place[key] for key in keys]
            return vectors[at], found[at]
        return vectors, found

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep vectors; one that another process has put there meanwhile stays as it is."""
        numbers = np.ascontiguousarray(vectors, dtype="<f4")
        rows = [
            (key, _with_checksum(key, row.tobytes()))
            for key, row in zip(keys, numbers, strict=True)
        ]
        for _ in range(2):  # again where a damaged file had to be moved aside
            with self._survived():
                self._write(rows)
            if self.problem is None or self.path.exists():
                return

    def _write(self, rows: list[tuple[bytes, bytes]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._writing()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            damaged = [
                (key,)
                for key, value in _entries(connection, [key for key, _ in rows])
                if _verified(key, value, self.dimension) is None
            ]
            connection.executemany("DELETE FROM vectors WHERE key = ?", damaged)
            connection.executemany("INSERT OR IGNORE INTO vectors (key, value) VALUES (?, ?)", rows)
            self._drop_oldest(connection)
            connection.execute("COMMIT")

    def _drop_oldest(self, connection: sqlite3.Connection) -> None:
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        used = (pages - free) * size
        if used <= self.limit:
            return
        count = connection.execute("SELECT COUNT(*) FROM vectors").fetchone()[0]
        dropped = ceil(count * (1 - _KEPT * self.limit / used))
        connection.execute(
            "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors ORDER BY id LIMIT ?)",
            (dropped,),
        )

    def _writing(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
        try:
            # Larger pages than usual: a vector of some thousand bytes wastes less of them.
            connection.execute("PRAGMA page_size = 16384")
            with suppress(sqlite3.OperationalError):  # another process may just be doing it
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _reading(self) -> sqlite3.Connection:
        """A connection to read from, also where the folder allows no writing at all."""
        address = self.path.absolute().as_uri()
        try:
            return _probed(sqlite3.connect(f"{address}?mode=rw", uri=True, timeout=_WAIT))
        except sqlite3.OperationalError:
            return sqlite3.connect(f"{address}?immutable=1", uri=True, timeout=_WAIT)

    @contextmanager
    def _survived(self) -> Iterator[None]:
        """Take note of a failure instead of passing it on."""
        before = _identity(self.path)
        try:
            yield
        except (sqlite3.OperationalError, OSError) as error:
            self.problem = f"{self.path} is of no use as a cache: {error}."
        except sqlite3.DatabaseError as error:
            self.problem = f"{self.path} was damaged ({error}) and is begun anew."
            # Another process may have moved it aside by now and begun a new one.
            if before is not None and before == _identity(self.path):
                _move_aside(self.path)
        else:
            self.problem = None


def _probed(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The connection, if it can be read from."""
    try:
        connection.execute("SELECT 1 FROM vectors LIMIT 1").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _entries(
    connection: sqlite3.Connection, keys: Sequence[bytes]
) -> Iterator[tuple[bytes, object]]:
    """Those of the keys that are there, with their values."""
    for start in range(0, len(keys), _ASKED):
        asked = keys[start : start + _ASKED]
        marks = ",".join("?" * len(asked))
        question = f"SELECT key, value FROM vectors WHERE key IN ({marks})"  # noqa: S608  # marks
        yield from connection.execute(question, asked).fetchall()


def _with_checksum(key: bytes, numbers: bytes) -> bytes:
    return numbers + zlib.crc32(numbers, zlib.crc32(key)).to_bytes(_CHECKSUM, "little")


def _verified(key: bytes, value: object, dimension: int) -> bytes | None:
    """The numbers of an entry, or None where it is not as it was written."""
    if not isinstance(value, bytes):
        return None
    numbers = value[:-_CHECKSUM]
    whole = len(numbers) == 4 * dimension and value == _with_checksum(key, numbers)
    return numbers if whole else None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _move_aside(path: Path) -> None:
    """Keep a damaged file under another name, in place of any before it."""
    with suppress(OSError):
        path.replace(path.with_name(f"{path.name}.damaged"))
    for ending in ("-wal", "-shm"):
        with suppress(OSError):
            path.with_name(f"{path.name}{ending}").unlink()
