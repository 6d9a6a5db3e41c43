"""A cache on disk that may fail: SQLite, one file, bytes found by a key, with a checksum each.

Nothing that goes wrong here may cost a result. A cache that cannot be read or written, a folder
without permission or a full disk only means that nothing is found or kept, and `problem` says why.
Every entry has a checksum, so a damaged one counts as missing and is written anew; a file that is
no database any more is moved aside.

A connection lives as long as one call, so that caches may be used by several threads and after a
fork.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from math import ceil
from pathlib import Path

_ASKED = 500  # keys in one question, below the limit of every SQLite
_KEPT = 0.9  # of the limit, when the oldest entries are dropped
_SLACK = 1.2  # of the limit: a file beyond it, as a higher limit left it, is made shorter
_CHECKSUM = 4  # bytes
_LARGEST = 1 << 48  # bytes of a limit: more than SQLite can hold, and no trouble to reckon with
_ATTEMPTS, _PAUSE = 50, 0.02  # to be alone with a damaged file; seconds between two

# What SQLite says where a file is at fault, though Python files it under the faults of the system.
_DAMAGED = ("unsupported file format",)
_TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}


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


class CacheFile:
    """Values of one size by key, in one table of a file of at most about `limit` bytes."""

    # What a subclass says: its table, the bytes of a page, the mark of its files if they have one
    # (SQLite's application id), seconds to wait for another process to finish writing, and whether
    # to wait for the disk, without which the whole file may be lost should the power fail.
    table: str
    page_size: int
    mark: int | None = None
    wait: float = 60.0
    wait_for_disk: bool = True

    def __init__(self, path: Path, size: int, limit: int) -> None:
        self.path = path
        self.limit = min(limit, _LARGEST)
        # Why the cache was of no use the last time, in words; None while all is well.
        self.problem: str | None = None
        # All that was ever wrong with it, for a note at the end of a run.
        self.notes: list[str] = []
        self._size = size  # bytes of a value

    def _found(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Those of the keys that are there, with their values."""
        if not keys or not _may_be_there(self.path):
            return
        with self._survived(), _shared(self.path), closing(self._reading()) as connection:
            # Another process may have made the file just now, and nothing in it yet.
            for key, kept in () if _is_new(connection) else self._entries(connection, keys):
                value = _verified(key, kept, self._size)
                if value is not None:
                    yield key, value

    def _keep(self, entries: Sequence[tuple[bytes, bytes]]) -> None:
        """Keep values; one that another process has put there meanwhile stays as it is."""
        rows = [(key, _with_checksum(key, value)) for key, value in entries]
        for _ in range(2):  # again where a damaged file had to be moved aside
            with self._survived():
                self._write(rows)
            if self.problem is None or _may_be_there(self.path):
                return

    def _write(self, rows: list[tuple[bytes, bytes]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _shared(self.path), closing(self._writing()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._begin(connection)
            damaged = [
                (key,)
                for key, value in self._entries(connection, [key for key, _ in rows])
                if _verified(key, value, self._size) is None
            ]
            connection.executemany(f"DELETE FROM {self.table} WHERE key = ?", damaged)  # noqa: S608  # a constant
            connection.executemany(
                f"INSERT OR IGNORE INTO {self.table} (key, value) VALUES (?, ?)",  # noqa: S608  # a constant
                rows,
            )
            self._drop_oldest(connection)
            connection.execute("COMMIT")
            if self.path.stat().st_size > _SLACK * self.limit:
                # As a script: a statement would free one page each time it is asked.
                connection.executescript("PRAGMA incremental_vacuum")

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Make the table where the file is new, and leave a file alone that is somebody else's."""
        if self.mark is not None:
            if _is_new(connection):
                connection.execute(f"PRAGMA application_id = {self.mark}")
            self._check_mark(connection)
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {self.table} "
            "(id INTEGER PRIMARY KEY, key BLOB UNIQUE, value BLOB)"
        )

    def _check_mark(self, connection: sqlite3.Connection) -> None:
        found = connection.execute("PRAGMA application_id").fetchone()[0]
        if self.mark is not None and found != self.mark:
            raise sqlite3.OperationalError("it is a database of something else; move it away")

    def _drop_oldest(self, connection: sqlite3.Connection) -> None:
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        used = (pages - free) * size
        if used <= self.limit:
            return
        count = connection.execute(f"SELECT COUNT(*) FROM {self.table}").fetchone()[0]  # noqa: S608  # a constant
        dropped = ceil(count * (1 - _KEPT * self.limit / used))
        connection.execute(
            f"DELETE FROM {self.table} WHERE id IN "  # noqa: S608  # a constant
            f"(SELECT id FROM {self.table} ORDER BY id LIMIT ?)",
            (dropped,),
        )

    def _writing(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=self.wait, isolation_level=None)
        try:
            connection.text_factory = bytes
            connection.execute(f"PRAGMA page_size = {self.page_size}")
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            with suppress(sqlite3.OperationalError):  # another process may just be doing it
                connection.execute("PRAGMA journal_mode = WAL")
            surely = "NORMAL" if self.wait_for_disk else "OFF"
            connection.execute(f"PRAGMA synchronous = {surely}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _reading(self) -> sqlite3.Connection:
        """A connection to read from, also where the folder allows no writing at all."""
        address = self.path.absolute().as_uri()
        try:
            return self._probed(sqlite3.connect(f"{address}?mode=rw", uri=True, timeout=self.wait))
        except sqlite3.OperationalError:
            return self._probed(
                sqlite3.connect(f"{address}?immutable=1", uri=True, timeout=self.wait)
            )

    def _probed(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """The connection, if it can be read from."""
        try:
            # A damaged entry may claim to be text and be none.
            connection.text_factory = bytes
            if not _is_new(connection):
                connection.execute(f"SELECT 1 FROM {self.table} LIMIT 1").fetchall()  # noqa: S608  # a constant
                self._check_mark(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _entries(
        self, connection: sqlite3.Connection, keys: Sequence[bytes]
    ) -> Iterator[tuple[bytes, object]]:
        for start in range(0, len(keys), _ASKED):
            asked = keys[start : start + _ASKED]
            marks = ",".join("?" * len(asked))
            question = f"SELECT key, value FROM {self.table} WHERE key IN ({marks})"  # noqa: S608  # marks
            wanted = set(asked)  # a damaged file may answer with anything
            for key, kept in connection.execute(question, asked).fetchall():
                if isinstance(key, bytes) and key in wanted:
                    yield key, kept

    @contextmanager
    def _survived(self) -> Iterator[None]:
        """Take note of a failure instead of passing it on."""
        before = _identity(self.path)
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, MemoryError) as error:
            if _is_damage(error):
                self._take_note(f"{self.path} was damaged ({error}) and is begun anew.")
                if before is not None:
                    _move_aside(self.path, before)
            else:
                self._take_note(f"{self.path} is of no use as a cache: {error}.")
        else:
            self.problem = None

    def _take_note(self, problem: str) -> None:
        self.problem = problem
        if problem not in self.notes:
            self.notes.append(problem)


def _is_new(connection: sqlite3.Connection) -> bool:
    """Whether a database holds nothing at all."""
    return not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]


def _is_damage(error: Exception) -> bool:
    """Whether it is the file that is at fault, and not its folder, the disk or another process."""
    if isinstance(error, sqlite3.OperationalError):
        return any(words in str(error) for words in _DAMAGED)
    # Python finds no words for some damage: the message of SQLite itself is then no text.
    return isinstance(error, sqlite3.DatabaseError | ValueError)


def _with_checksum(key: bytes, value: bytes) -> bytes:
    return value + zlib.crc32(value, zlib.crc32(key)).to_bytes(_CHECKSUM, "little")


def _verified(key: bytes, kept: object, size: int) -> bytes | None:
    """The value of an entry, or None where it is not as it was written."""
    if not isinstance(kept, bytes):
        return None
    value = kept[:-_CHECKSUM]
    whole = len(value) == size and kept == _with_checksum(key, value)
    return value if whole else None


def _may_be_there(path: Path) -> bool:
    """Whether there is a file, or the system does not tell: opening it then shows why."""
    try:
        return path.exists()
    except OSError:
        return True


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):  # no file, no permission, or no name that a file can have
        return None
    return status.st_dev, status.st_ino


@contextmanager
def _shared(path: Path) -> Iterator[None]:
    """Hold a cache together with others, so that nobody moves it aside under our hands."""
    descriptor = None
    with suppress(BlockingIOError):  # rather without the lock than not at all
        descriptor = _locked(path, alone=False)
    try:
        yield
    finally:
        _let_go(descriptor)


def _locked(path: Path, *, alone: bool) -> int | None:
    """The descriptor that holds the lock beside a cache, or None where there are no such locks.

    The lock goes with the process, however that ends. BlockingIOError where others keep it.
    """
    try:
        import fcntl  # noqa: PLC0415  # not there on every system

        lock = path.with_name(f"{path.name}.lock")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except (ImportError, OSError):
        return None
    kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    for _ in range(_ATTEMPTS):
        refusal = _refusal(descriptor, kind | fcntl.LOCK_NB)
        if refusal is None:
            return descriptor
        if refusal not in _TAKEN:
            break
        time.sleep(_PAUSE)
    os.close(descriptor)
    if refusal in _TAKEN:
        raise BlockingIOError(refusal, "others use it")
    return None


def _refusal(descriptor: int, operation: int) -> int | None:
    """Take a lock, or say with which error that failed."""
    import fcntl  # noqa: PLC0415  # as above

    try:
        fcntl.flock(descriptor, operation)
    except OSError as error:
        return error.errno
    return None


def _let_go(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)


def _move_aside(path: Path, identity: tuple[int, int]) -> None:
    """Keep a damaged file under another name, in place of any before it.

    A new database must not find the log of the old one, nor lose its own: while others are there,
    the file stays.
    """
    with suppress(BlockingIOError):
        descriptor = _locked(path, alone=True)
        # Another process may have moved it aside by now and begun a new one.
        if identity == _identity(path):
            for ending in ("-wal", "-shm", "-journal"):
                with suppress(OSError):
                    path.with_name(f"{path.name}{ending}").unlink()
            with suppress(OSError):
                path.replace(path.with_name(f"{path.name}.damaged"))
        _let_go(descriptor)
