"""Where shards are: folders of this machine, or any file system that pyarrow knows by an address.

An address has a scheme, as `s3://bucket/corpus`; anything else is a path of this machine. Files are
written whole or not at all: under a temporary name first, in a folder for such files that the
caller names and that is of the same file system.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TypeAlias
from urllib.parse import quote, unquote

from adequa.errors import AdequaError, UnwritableError
from adequa.io.text import unreadable

_MAGIC = "*?["
_FOLDERS = "**"


def is_pattern(path: str) -> bool:
    """Whether a path may stand for several files.

    >>> is_pattern("corpus/*.parquet"), is_pattern("corpus/a.parquet")
    (True, False)
    """
    return bool(set(path) & set(_MAGIC))


def fixed_root(pattern: str) -> str:
    """The deepest folder of a pattern that is the same for all that matches.

    >>> fixed_root("corpus/*/part-?.parquet"), fixed_root("corpus/a.jsonl"), fixed_root("*.jsonl")
    ('corpus', 'corpus', '')
    """
    parts = pattern.split("/")
    fixed = next((at for at, part in enumerate(parts) if is_pattern(part)), len(parts) - 1)
    return "/".join(parts[: min(fixed, len(parts) - 1)]) or ("/" if pattern[:1] == "/" else "")


def parts_below(path: str, root: str) -> tuple[str, ...]:
    """The parts of a path, or of a pattern, behind the folder that it begins with.

    A slash at the end asks for a folder, and so for a last part that no file has.

    >>> parts_below("corpus//*/a.jsonl", "corpus"), parts_below("corpus/*/", "corpus")
    (('*', 'a.jsonl'), ('*', ''))
    """
    behind = path[len(root) :].lstrip("/")
    return PurePosixPath(behind).parts + (("",) if behind.endswith("/") else ())


def is_match(path: Sequence[str], pattern: Sequence[str], *, hidden: bool = False) -> bool:
    """Whether the parts of a file's path match those of a pattern; `hidden` has dots match too.

    >>> is_match(("a", "b.jsonl"), ("**",)), is_match(("a", ".b.jsonl"), ("a", "*"))
    (True, False)
    """
    if not pattern or not path:
        return not pattern and not path
    if all(part == _FOLDERS for part in pattern):
        return hidden or not any(map(_is_hidden, path))
    if pattern[0] == _FOLDERS:
        return is_match(path, pattern[1:], hidden=hidden) or (
            (hidden or not _is_hidden(path[0])) and is_match(path[1:], pattern, hidden=hidden)
        )
    return _is_name(path[0], pattern[0], hidden) and is_match(path[1:], pattern[1:], hidden=hidden)


def leads_on(folder: Sequence[str], pattern: Sequence[str], *, hidden: bool = False) -> bool:
    """Whether something below a folder may match.

    >>> leads_on(("a",), ("*", "b.jsonl")), leads_on(("a", "b"), ("*", "b.jsonl"))
    (True, False)
    """
    if not pattern or not folder:
        return bool(pattern)
    if pattern[0] == _FOLDERS:
        return leads_on(folder, pattern[1:], hidden=hidden) or (
            (hidden or not _is_hidden(folder[0])) and leads_on(folder[1:], pattern, hidden=hidden)
        )
    return _is_name(folder[0], pattern[0], hidden) and leads_on(
        folder[1:], pattern[1:], hidden=hidden
    )


def walked(folder: str, enters: Callable[[str], bool]) -> Iterator[str]:
    """All that is below a folder of this machine, through links too, but never round in a circle.

    `enters` says of the path of a folder whether to look into it.
    """
    real = PurePosixPath(os.path.realpath(folder))
    return _walked(folder, enters, frozenset(map(str, real.parents)))


def _walked(folder: str, enters: Callable[[str], bool], above: frozenset[str]) -> Iterator[str]:
    real = os.path.realpath(folder)
    if real in above:  # a link leads up again
        return
    begins = f"{folder}/" if folder.rstrip("/") else folder
    with os.scandir(folder or ".") as entries:
        found = sorted((f"{begins}{entry.name}", _is_folder(entry)) for entry in entries)
    for path, is_folder in found:
        yield path
        if is_folder and enters(path):
            yield from _walked(path, enters, above | {real})


def _is_folder(entry: os.DirEntry[str]) -> bool:
    linked = entry.is_symlink() and Path(entry).is_dir()  # the entry itself fails on some links
    return linked or entry.is_dir(follow_symlinks=False)


def _is_name(name: str, pattern: str, hidden: bool) -> bool:
    if _is_hidden(name) and not hidden and pattern[:1] != ".":
        return False
    return fnmatchcase(name, pattern)


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


_SCHEME = "://"
_BLOCK = 1 << 20
LOCAL = "local"  # as pyarrow calls the file system of this machine
_IN_ADDRESSES = "/%:@!$&'()+,;=~"  # what may stand there as it is, beside letters and digits

# A path that matches a pattern, and the size if it is a file: None for folders, and for links that
# lead nowhere.
Match: TypeAlias = tuple[str, int | None]


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
        self._given_up = False

    def give_up(self) -> None:
        """Take no more: writers that are thrown away half way may still have something to say."""
        self._given_up = True

    def writable(self) -> bool:
        return True

    def write(self, block: Any) -> int:
        size = len(memoryview(block).cast("B"))
        if self._given_up:
            return size
        self._sink.write(block)
        self._digest.update(block)
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

    kind: str  # of file system

    @abstractmethod
    def matching(self, pattern: str, *, hidden: bool = False) -> list[Match]:
        """What matches a pattern, each once, in the order of names.

        With `hidden`, a * also stands for the dot that a name begins with.
        """

    @abstractmethod
    def existing(self, paths: Sequence[str]) -> list[str]:
        """Those of the paths at which there is something."""

    @abstractmethod
    def is_folder(self, path: str) -> bool:
        """Whether there is a folder of this path."""

    @abstractmethod
    def opened(self, path: str) -> BinaryIO:
        """A file to read, from any place in it."""

    @abstractmethod
    def replacing(self, path: str, temporaries: str) -> Any:
        """What follows `with`: a file to write, which takes its place when all is written."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file, if there is one."""

    @abstractmethod
    def remove_temporaries(self, temporaries: str) -> None:
        """Remove the folder of files that are not yet whole, with what killed writers left."""

    def resolved(self, path: str) -> str:
        """A path without links, if it is one of this machine."""
        return os.path.realpath(path) if self.kind == LOCAL else path

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

    def write(self, path: str, content: bytes, temporaries: str) -> None:
        """Write a small file."""
        with self.replacing(path, temporaries) as file:
            file.write(content)


class LocalStorage(Storage):
    """The folders of this machine."""

    kind = LOCAL

    def matching(self, pattern: str, *, hidden: bool = False) -> list[Match]:
        if is_pattern(pattern):
            found = _matching_paths(pattern, hidden)
        else:
            found = [pattern] if os.path.lexists(pattern) else []
        return [(path, _size(path)) for path in sorted(found)]

    def existing(self, paths: Sequence[str]) -> list[str]:
        return [path for path in paths if Path(path).exists()]

    def is_folder(self, path: str) -> bool:
        return Path(path).is_dir()

    def opened(self, path: str) -> BinaryIO:
        return Path(path).open("rb")

    @contextmanager
    def replacing(self, path: str, temporaries: str) -> Iterator[Written]:
        target = Path(path)
        temporary = Path(temporaries, _temporary_name())
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as sink, _given_up_on_failure(Written(sink)) as written:
                yield written
                sink.flush()
                os.fsync(sink.fileno())
            temporary.replace(target)
        except OSError as error:
            raise _unwritable(path, error) from error
        finally:
            with suppress(OSError):
                temporary.unlink()

    def remove(self, path: str) -> None:
        try:
            Path(path).unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(path, error) from error

    def remove_temporaries(self, temporaries: str) -> None:
        shutil.rmtree(temporaries, ignore_errors=True)


class ArrowStorage(Storage):
    """A file system of pyarrow's; a store of objects has no folders to make."""

    def __init__(self, file_system: Any) -> None:
        self._files = file_system
        self.kind = str(file_system.type_name)

    def matching(self, pattern: str, *, hidden: bool = False) -> list[Match]:
        from pyarrow import fs  # noqa: PLC0415  # an extra, and heavy

        if self.kind == LOCAL:  # where links may lead round in a circle
            return LocalStorage().matching(pattern, hidden=hidden)
        if not is_pattern(pattern):
            one = self._files.get_file_info(pattern)
            return [(pattern, one.size)] if one.type == fs.FileType.File else []
        root = fixed_root(pattern)
        parts = parts_below(pattern, root)
        below_it = fs.FileSelector(root, recursive=True, allow_not_found=True)
        try:
            everything = self._files.get_file_info(below_it)
        except NotADirectoryError:
            return []
        return [
            (found.path, found.size if found.type == fs.FileType.File else None)
            for found in sorted(everything, key=lambda found: found.path)
            if is_match(parts_below(found.path, root), parts, hidden=hidden)
        ]

    def existing(self, paths: Sequence[str]) -> list[str]:
        from pyarrow import fs  # noqa: PLC0415

        found = self._files.get_file_info(list(paths))  # all at once, as stores are far away
        return [each.path for each in found if each.type != fs.FileType.NotFound]

    def is_folder(self, path: str) -> bool:
        from pyarrow import fs  # noqa: PLC0415

        return bool(self._files.get_file_info(path.rstrip("/")).type == fs.FileType.Directory)

    def opened(self, path: str) -> BinaryIO:
        stream: BinaryIO = self._files.open_input_file(path)
        return stream

    @contextmanager
    def replacing(self, path: str, temporaries: str) -> Iterator[Written]:
        temporary = f"{temporaries}/{_temporary_name()}"
        try:
            for folder in (str(PurePosixPath(path).parent), temporaries):
                self._files.create_dir(folder, recursive=True)
            with (
                self._files.open_output_stream(temporary) as sink,
                _given_up_on_failure(Written(sink)) as written,
            ):
                yield written
            self._files.move(temporary, path)
        except OSError as error:
            raise _unwritable(path, error) from error
        finally:
            with suppress(OSError):
                self._files.delete_file(temporary)

    def remove(self, path: str) -> None:
        try:
            if self.existing([path]):
                self._files.delete_file(path)
        except OSError as error:
            raise _unwritable(path, error) from error

    def remove_temporaries(self, temporaries: str) -> None:
        with suppress(OSError):
            self._files.delete_dir(temporaries)


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
    root = fixed_root(place) if is_pattern(place) else place
    try:
        files, inner = fs.FileSystem.from_uri(f"{scheme}{_SCHEME}{quote(root, _IN_ADDRESSES)}")
    except (ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise AdequaError(f"{path} is no address that can be used: {reason}.") from error
    return ArrowStorage(files), inner.rstrip("/") + unquote(place[len(root.rstrip("/")) :])


def address_beside(given: str, inner: str, path: str) -> str:
    """The address of a path in the store of another address, whose own path there is `inner`.

    >>> address_beside("s3://bucket/a%20b/*.jsonl", "bucket/a b/*.jsonl", "bucket/a b/1.jsonl")
    's3://bucket/a%20b/1.jsonl'
    """
    scheme, _, place = given.partition(_SCHEME)
    authority, slash, rest = place.partition("/")
    # What stands before the path in the store, such as the name of a bucket.
    base = inner.rstrip("/").removesuffix(unquote(slash + rest).rstrip("/"))
    return f"{scheme}{_SCHEME}{authority}{quote(path.removeprefix(base))}"


def below(folder: str, name: str) -> str:
    """The path, or the address, of a file by its name in a folder.

    >>> below("/data", "a b.jsonl"), below("s3://bucket/data", "a b.jsonl")
    ('/data/a b.jsonl', 's3://bucket/data/a%20b.jsonl')
    """
    return f"{folder}/{quote(name) if is_address(folder) else name}"


def without_slash(path: str) -> str:
    """The path, or the address, of a folder without a slash at its end, unless it is all there is.

    >>> without_slash("scored//"), without_slash("/"), without_slash("s3://bucket/")
    ('scored', '/', 's3://bucket')
    """
    scheme, mark, place = path.rpartition(_SCHEME)
    return scheme + mark + (place.rstrip("/") or place[:1])


def whereabouts(path: str) -> tuple[str, PurePosixPath]:
    """What all paths and addresses of a file share: the kind of store, and the path without links.

    >>> whereabouts("file:///no%20where/a.jsonl") == whereabouts("/no where/./a.jsonl")
    True
    """
    storage, inner = storage_of(path)
    return storage.kind, PurePosixPath(storage.resolved(inner))


def is_address(path: str) -> bool:
    """Whether a path has a scheme.

    >>> is_address("s3://bucket/a.parquet"), is_address("corpus/a.parquet")
    (True, False)
    """
    return _SCHEME in path


def _matching_paths(pattern: str, hidden: bool) -> list[str]:
    """What matches a pattern on this machine."""
    root = fixed_root(pattern)
    parts = parts_below(pattern, root)
    if not Path(root).is_dir():
        return []
    below_it = walked(
        root, lambda folder: leads_on(parts_below(folder, root), parts, hidden=hidden)
    )
    try:
        return [
            path for path in below_it if is_match(parts_below(path, root), parts, hidden=hidden)
        ]
    except OSError as error:  # of a folder, whose shards would be left out in silence
        raise unreadable(str(error.filename or root), error) from error


def _size(path: str) -> int | None:
    return Path(path).stat().st_size if Path(path).is_file() else None


def _temporary_name() -> str:
    return f"{os.urandom(8).hex()}.tmp"


@contextmanager
def _given_up_on_failure(written: Written) -> Iterator[Written]:
    try:
        yield written
    except BaseException:
        written.give_up()
        raise


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
