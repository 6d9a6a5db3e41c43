"""Where shards are: folders of this machine, or any file system that pyarrow knows by an address.

An address has a scheme, as `s3://bucket/corpus`; anything else is a path of this machine. Files are
written whole or not at all, under a temporary name first.
"""

from __future__ import annotations

import glob
import hashlib
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from adequa.errors import AdequaError, UnwritableError
from adequa.io.text import unreadable

_SCHEME = "://"
_MAGIC = "*?["
_BLOCK = 1 << 20
_BEGINNING, _ENDING = ".adequa-", ".tmp"  # of the names of files that are not yet whole


@dataclass(frozen=True, slots=True)
class Content:
    """What tells a file from another: its size, and a digest of its bytes."""

    bytes: int
    sha256: str


class Written(io.RawIOBase):
    """A file that is being written, and what its content is so far."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self._digest = hashlib.sha256()
        self._bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, block: Any) -> int:
        self._sink.write(block)
        self._digest.update(block)
        size = len(memoryview(block).cast("B"))
        self._bytes += size
        return size

    def flush(self) -> None:
        """Nothing: the sink is flushed when it is whole."""

    @property
    def content(self) -> Content:
        """Of all that was written."""
        return Content(self._bytes, self._digest.hexdigest())


class Storage(ABC):
    """Files by their paths."""

    @abstractmethod
    def matching(self, pattern: str) -> list[tuple[str, int]]:
        """The files that match a pattern, each with its size, in the order of their names."""

    @abstractmethod
    def is_folder(self, path: str) -> bool:
        """Whether there is a folder of this path."""

    @abstractmethod
    def opened(self, path: str) -> BinaryIO:
        """A file to read, from any place in it."""

    @abstractmethod
    def replacing(self, path: str) -> Any:
        """What follows `with`: a file to write, which takes its place when all is written."""

    @abstractmethod
    def remove_temporaries(self, folder: str) -> None:
        """Remove what writers that were killed have left in a folder and those below it."""

    def content(self, path: str) -> Content | None:
        """What is in a file, or None where there is none."""
        digest, size = hashlib.sha256(), 0
        try:
            with self.opened(path) as stream:
                while block := stream.read(_BLOCK):
                    digest.update(block)
                    size += len(block)
        except FileNotFoundError:
            return None
        return Content(size, digest.hexdigest())

    def read(self, path: str) -> bytes | None:
        """All bytes of a small file, or None where there is none."""
        try:
            with self.opened(path) as stream:
                return stream.read()
        except FileNotFoundError:
            return None

    def write(self, path: str, content: bytes) -> None:
        """Write a small file."""
        with self.replacing(path) as file:
            file.write(content)


class LocalStorage(Storage):
    """The folders of this machine."""

    def matching(self, pattern: str) -> list[tuple[str, int]]:
        found = sorted(path for path in glob.glob(pattern, recursive=True) if Path(path).is_file())  # noqa: PTH207  # as paths are written
        return [(path, Path(path).stat().st_size) for path in found]

    def is_folder(self, path: str) -> bool:
        return Path(path).is_dir()

    def opened(self, path: str) -> BinaryIO:
        return Path(path).open("rb")

    @contextmanager
    def replacing(self, path: str) -> Iterator[Written]:
        target = Path(path)
        temporary = target.with_name(_temporary_name())
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as sink:
                yield Written(sink)
                sink.flush()
                os.fsync(sink.fileno())
            temporary.replace(target)
        except OSError as error:
            raise _unwritable(path, error) from error
        finally:
            with suppress(OSError):
                temporary.unlink()

    def remove_temporaries(self, folder: str) -> None:
        for path in Path(folder).rglob(f"{_BEGINNING}*{_ENDING}"):
            with suppress(OSError):
                path.unlink()


class ArrowStorage(Storage):
    """A file system of pyarrow's; a store of objects has no folders to make."""

    def __init__(self, file_system: Any) -> None:
        self._files = file_system

    def matching(self, pattern: str) -> list[tuple[str, int]]:
        from pyarrow import fs  # noqa: PLC0415  # an extra, and heavy

        if not set(pattern) & set(_MAGIC):
            one = self._files.get_file_info(pattern)
            return [(pattern, one.size)] if one.type == fs.FileType.File else []
        below = fs.FileSelector(fixed_root(pattern), recursive=True, allow_not_found=True)
        parts = PurePosixPath(pattern).parts
        return sorted(
            (found.path, found.size)
            for found in self._files.get_file_info(below)
            if found.type == fs.FileType.File and _matches(PurePosixPath(found.path).parts, parts)
        )

    def is_folder(self, path: str) -> bool:
        from pyarrow import fs  # noqa: PLC0415

        return bool(self._files.get_file_info(path.rstrip("/")).type == fs.FileType.Directory)

    def opened(self, path: str) -> BinaryIO:
        stream: BinaryIO = self._files.open_input_file(path)
        return stream

    @contextmanager
    def replacing(self, path: str) -> Iterator[Written]:
        folder = str(PurePosixPath(path).parent)
        temporary = f"{folder}/{_temporary_name()}"
        try:
            self._files.create_dir(folder, recursive=True)
            with self._files.open_output_stream(temporary) as sink:
                yield Written(sink)
            self._files.move(temporary, path)
        except OSError as error:
            raise _unwritable(path, error) from error
        finally:
            with suppress(OSError):
                self._files.delete_file(temporary)

    def remove_temporaries(self, folder: str) -> None:
        for path, _ in self.matching(f"{folder}/**/{_BEGINNING}*{_ENDING}"):
            with suppress(OSError):
                self._files.delete_file(path)


def storage_of(path: str) -> tuple[Storage, str]:
    """The storage that a path or an address is of, and its path there."""
    if not is_address(path):
        return LocalStorage(), path
    try:
        from pyarrow import ArrowException, fs  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            f"{path}: addresses need pyarrow; install it with: pip install 'adequa[data]'"
        ) from error
    scheme, _, place = path.partition(_SCHEME)
    # Only the scheme and what names the store: characters of patterns are none of an address.
    root = fixed_root(place) if set(place) & set(_MAGIC) else place
    try:
        files, inner = fs.FileSystem.from_uri(f"{scheme}{_SCHEME}{root}")
    except (ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise AdequaError(f"{path} is no address that can be used: {reason}.") from error
    return ArrowStorage(files), inner.rstrip("/") + place[len(root.rstrip("/")) :]


def is_address(path: str) -> bool:
    """Whether a path has a scheme.

    >>> is_address("s3://bucket/a.parquet"), is_address("corpus/a.parquet")
    (True, False)
    """
    return _SCHEME in path


def fixed_root(pattern: str) -> str:
    """The deepest folder of a pattern that is the same for all that matches.

    >>> fixed_root("corpus/*/part-?.parquet"), fixed_root("corpus/a.jsonl"), fixed_root("*.jsonl")
    ('corpus', 'corpus', '')
    """
    parts = pattern.split("/")
    fixed = next((at for at, part in enumerate(parts) if set(part) & set(_MAGIC)), len(parts) - 1)
    return "/".join(parts[: min(fixed, len(parts) - 1)]) or ("/" if pattern[:1] == "/" else "")


def is_pattern(path: str) -> bool:
    """Whether a path may stand for several files.

    >>> is_pattern("corpus/*.parquet"), is_pattern("corpus/a.parquet")
    (True, False)
    """
    return bool(set(path) & set(_MAGIC))


def _matches(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern, in which ** is any folders or none."""
    if not pattern or not path:
        return not pattern and not path
    if pattern[0] == "**":
        return _matches(path, pattern[1:]) or _matches(path[1:], pattern)
    return fnmatchcase(path[0], pattern[0]) and _matches(path[1:], pattern[1:])


def _temporary_name() -> str:
    return f"{_BEGINNING}{os.urandom(6).hex()}{_ENDING}"


def _unwritable(path: str, error: OSError) -> UnwritableError:
    reason = str(error.strerror or error).partition("\n")[0].rstrip(".")
    return UnwritableError(
        f"{path} cannot be written: {reason}. What is finished stays; the same command goes on "
        "from there."
    )


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Failures to read a file, as sentences that name it."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise AdequaError(f"{name} cannot be read: {reason}.") from error
        raise unreadable(name, error) from error
