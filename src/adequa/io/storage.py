"""Storage of shards: folders of this machine, or any file system that fsspec knows by an address.

An address has a scheme, as `s3://bucket/corpus`; anything else is a local path. Files are written
under a temporary name, in a folder of the same file system, and renamed when they are complete.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from adequa.errors import AdequaError, UnwritableError
from adequa.io.text import unreadable

LOCAL = "local"  # the kind of the file system of this machine
_SCHEME = "://"
_FILE = "file://"
_BLOCK = 1 << 20
_MAGIC = "*?["
_FOLDERS = "**"


def is_address(path: str) -> bool:
    """Whether a path has a scheme.

    >>> is_address("s3://bucket/a.parquet"), is_address("corpus/a.parquet")
    (True, False)
    """
    return _SCHEME in path


def is_pattern(path: str) -> bool:
    """Whether a path may match multiple files.

    >>> is_pattern("corpus/*.parquet"), is_pattern("corpus/a.parquet")
    (True, False)
    """
    return bool(set(path) & set(_MAGIC))


def fixed_root(pattern: str) -> str:
    """The deepest folder of a pattern that all matches share.

    >>> fixed_root("corpus/*/part-?.parquet"), fixed_root("corpus/a.jsonl"), fixed_root("*.jsonl")
    ('corpus', 'corpus', '')
    """
    parts = pattern.split("/")
    fixed = next((index for index, part in enumerate(parts) if is_pattern(part)), len(parts) - 1)
    return "/".join(parts[: min(fixed, len(parts) - 1)]) or ("/" if pattern[:1] == "/" else "")


def parts_below(path: str, root: str) -> tuple[str, ...]:
    """The parts of a path, or of a pattern, below a folder that it begins with.

    A slash at the end asks for a folder: the last part is then empty, which no file matches.

    >>> parts_below("corpus//*/a.jsonl", "corpus"), parts_below("corpus/*/", "corpus")
    (('*', 'a.jsonl'), ('*', ''))
    """
    below = path[len(root) :].lstrip("/")
    return PurePosixPath(below).parts + (("",) if below.endswith("/") else ())


def is_match(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern, by the rules of `glob`.

    A `*` matches no leading dot. fsspec's own patterns have no such rule.

    >>> is_match(("a", "b.jsonl"), ("**",)), is_match(("a", ".b.jsonl"), ("a", "*"))
    (True, False)
    """
    if not pattern or not path:
        return not pattern and not path
    visible = not path[0].startswith(".")
    if all(part == _FOLDERS for part in pattern):
        return not any(part.startswith(".") for part in path)
    if pattern[0] == _FOLDERS:
        return is_match(path, pattern[1:]) or (visible and is_match(path[1:], pattern))
    if not (visible or pattern[0].startswith(".")) or not fnmatchcase(path[0], pattern[0]):
        return False
    return is_match(path[1:], pattern[1:])


class PathEntry(NamedTuple):
    """A path in a storage."""

    path: str
    size: int | None  # bytes; None for folders


@dataclass(frozen=True, slots=True)
class Content:
    """The size and the digest of a file, by which two versions are told apart."""

    bytes: int
    sha256: str


def joined_content(contents: Sequence[Content]) -> Content:
    """The content of several files as one: their size together, and a digest of their digests."""
    if len(contents) == 1:
        return contents[0]
    digests = "".join(content.sha256 for content in contents)
    return Content(
        sum(content.bytes for content in contents), hashlib.sha256(digests.encode()).hexdigest()
    )


class DigestWriter(io.RawIOBase):
    """A file that is being written, with the digest of its content so far."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self._digest = hashlib.sha256()
        self._bytes = 0
        self._discarding = False

    def discard(self) -> None:
        """Ignore further writes: writers that are dropped half way may still flush something."""
        self._discarding = True

    def writable(self) -> bool:
        return True

    def write(self, block: Any) -> int:
        size = len(memoryview(block).cast("B"))
        if not self._discarding:
            self._sink.write(block)
            self._digest.update(block)
            self._bytes += size
        return size

    def flush(self) -> None:
        """Do nothing: the sink is flushed when the file is complete."""

    @property
    def content(self) -> Content:
        """Size and digest of everything written."""
        return Content(self._bytes, self._digest.hexdigest())


class Storage:
    """A file system of fsspec: shell patterns, and files that are complete or absent.

    `prefix` is what an address has before a path.
    """

    def __init__(self, files: Any, prefix: str) -> None:
        self._files, self._prefix = files, prefix
        self.kind = prefix.partition(_SCHEME)[0]

    def address(self, path: str) -> str:
        """A path or address by which any process finds the same file."""
        return f"{self._prefix}{path}"

    def resolved(self, path: str) -> str:
        """A path without symbolic links, by which equal files have equal paths."""
        return path

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder of this path."""
        return bool(self._files.exists(path))

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder of this path."""
        return bool(self._files.isdir(path))

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading, at any position."""
        stream: BinaryIO = self._files.open(path, "rb")
        return stream

    def remove(self, path: str) -> None:
        """Remove a file, if there is one."""
        with _failures_in_words(path), suppress(FileNotFoundError):
            self._delete(path)

    def remove_folder(self, path: str) -> None:
        """Remove a folder with all that it holds, if there is one."""
        with suppress(OSError):
            self._files.rm(path, recursive=True)

    def _delete(self, path: str) -> None:
        self._files.rm(path)

    def size(self, path: str) -> int:
        """The size of a file in bytes."""
        return int(self._files.size(path))

    def walk(self, root: str, depth: int | None = None) -> Iterator[PathEntry]:
        """Everything below a folder, at most `depth` levels down."""
        entries = self._files.find(root, maxdepth=depth, withdirs=True, detail=True)
        for path, entry in entries.items():
            yield PathEntry(path, entry["size"] if entry["type"] == "file" else None)

    def _make_folder(self, path: str) -> None:
        self._files.makedirs(path, exist_ok=True)

    def _create(self, path: str) -> Any:
        """A context manager of a file to write, which is stored when the context ends."""
        return self._files.open(path, "wb")

    def _rename(self, path: str, target: str) -> None:
        self._files.mv(path, target)

    def glob(self, pattern: str) -> list[PathEntry]:
        """All paths that match a pattern, sorted."""
        root = fixed_root(pattern)
        parts = parts_below(pattern, root)
        entries = self.walk(root, None if _FOLDERS in parts else len(parts))
        return sorted(entry for entry in entries if is_match(parts_below(entry.path, root), parts))

    def content(self, path: str) -> Content | None:
        """Size and digest of a file, or None where there is none."""
        digest, size = hashlib.sha256(), 0
        try:
            with self.open(path) as stream:
                while block := stream.read(_BLOCK):
                    digest.update(block)
                    size += len(block)
        except FileNotFoundError:
            return None
        return Content(size, digest.hexdigest())

    def read(self, path: str) -> bytes | None:
        """All bytes of a small file, or None where there is none."""
        try:
            with self.open(path) as stream:
                return stream.read()
        except FileNotFoundError:
            return None

    def write(self, path: str, content: bytes, temporaries: str) -> None:
        """Write a small file."""
        with self.replacing(path, temporaries) as file:
            file.write(content)

    @contextmanager
    def replacing(self, path: str, temporaries: str) -> Iterator[DigestWriter]:
        """A file to write in the folder `temporaries`; when complete, it takes its place."""
        temporary = f"{temporaries}/{os.urandom(8).hex()}.tmp"
        try:
            with _failures_in_words(path):
                self._make_folder(str(PurePosixPath(path).parent))
                self._make_folder(temporaries)
                with self._create(temporary) as sink:
                    writer = DigestWriter(sink)
                    try:
                        yield writer
                    except BaseException:
                        writer.discard()
                        raise
                self._rename(temporary, path)
        finally:
            with suppress(OSError):
                self._delete(temporary)


class LocalStorage(Storage):
    """The folders of this machine.

    Not by fsspec, whose local file system neither follows links to folders, nor renames within one
    disk, nor waits until what is written is on the disk.
    """

    def __init__(self) -> None:
        super().__init__(None, f"{LOCAL}{_SCHEME}")

    def address(self, path: str) -> str:
        return os.path.abspath(path)  # noqa: PTH100  # as it is written, with its links

    def resolved(self, path: str) -> str:
        return os.path.realpath(path)

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def is_folder(self, path: str) -> bool:
        return Path(path).is_dir()

    def open(self, path: str) -> BinaryIO:
        # A corpus is read more than once, which pipes cannot be; devices may have no end.
        mode = Path(path).stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise AdequaError(
                f"{path} is no regular file but a pipe or a device, which is not read here."
            )
        return Path(path).open("rb")

    def remove_folder(self, path: str) -> None:
        shutil.rmtree(path, ignore_errors=True)

    def _delete(self, path: str) -> None:
        Path(path).unlink(missing_ok=True)

    def size(self, path: str) -> int:
        return Path(path).stat().st_size if Path(path).exists() else 0  # a link that leads nowhere

    def walk(self, root: str, depth: int | None = None) -> Iterator[PathEntry]:
        if not self.is_folder(root or "."):
            return
        for folder, folders, names in os.walk(root or ".", onerror=_raise, followlinks=True):
            path = folder if root else folder[2:]  # as it is written, without "./"
            prefix = f"{path}/" if path.rstrip("/") else path
            yield from (PathEntry(f"{prefix}{name}", None) for name in folders)
            yield from (
                PathEntry(f"{prefix}{name}", self.size(f"{prefix}{name}")) for name in names
            )
            if depth == len(parts_below(path, root)) + 1:
                folders.clear()
            folders[:] = [name for name in folders if not _leads_up(folder, name)]

    def _make_folder(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    @contextmanager
    def _create(self, path: str) -> Iterator[BinaryIO]:
        with Path(path).open("xb") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())

    def _rename(self, path: str, target: str) -> None:
        Path(path).replace(target)


def _raise(error: OSError) -> None:
    """Raise for a folder that cannot be read, whose shards would be left out in silence."""
    raise unreadable(str(error.filename), error) from error


def _leads_up(folder: str, name: str) -> bool:
    """Whether what is in a folder is a link to the folder itself, or to one that it is in."""
    path = Path(folder, name)
    above = (Path(folder), *Path(folder).absolute().parents)
    return path.is_symlink() and os.path.realpath(path) in map(os.path.realpath, above)


def storage_of(path: str) -> tuple[Storage, str]:
    """The storage of a path or an address, and the path in it."""
    if not is_address(path):
        return LocalStorage(), path
    if path.startswith(_FILE):
        return LocalStorage(), path.removeprefix(_FILE)
    try:
        import fsspec  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise AdequaError(
            f"{path}: addresses need fsspec; install it with: pip install 'adequa[data]'"
        ) from error
    try:
        files, inner = fsspec.url_to_fs(path)
    except ImportError as error:  # of the package for this kind of store
        files, inner = _pyarrow_files(path, error)
    except (OSError, ValueError) as error:
        raise _no_address(path, error) from error
    files.invalidate_cache()  # of listings: other workers write too
    inner = inner.rstrip("/") or "/"
    address = path.rstrip("/")
    prefix = (
        address.removesuffix(inner)
        if address.endswith(inner)
        else f"{path.split(':', maxsplit=1)[0]}://"
    )
    return Storage(files, prefix), inner


def _pyarrow_files(path: str, missing: ImportError) -> tuple[Any, str]:
    """The file system of an address by pyarrow, which has those of S3, GCS and Azure built in."""
    scheme, _, rest = path.partition(_SCHEME)
    authority, _, below = rest.partition("/")
    try:
        from fsspec.implementations.arrow import ArrowFSWrapper  # noqa: PLC0415
        from pyarrow import ArrowException, fs  # noqa: PLC0415  # an extra, and heavy
    except ImportError:
        raise _no_address(path, missing) from missing
    try:
        files, root = fs.FileSystem.from_uri(f"{scheme}{_SCHEME}{authority}/")
    except (ArrowException, OSError, ValueError) as error:
        raise _no_address(path, missing) from error
    return ArrowFSWrapper(files), f"{root.rstrip('/')}/{below}"


def _no_address(path: str, error: Exception) -> AdequaError:
    reason = str(error).partition("\n")[0].rstrip(".")
    return AdequaError(f"{path} is no address that can be used: {reason}.")


def location(path: str) -> tuple[str, PurePosixPath]:
    """What all paths and addresses of a file share: the kind of storage, and the resolved path.

    >>> location("file:///nowhere/a.jsonl") == location("/nowhere/./a.jsonl")
    True
    """
    storage, inner = storage_of(path)
    return storage.kind, PurePosixPath(storage.resolved(inner))


@contextmanager
def _failures_in_words(path: str) -> Iterator[None]:
    """Turn failures to write a file into sentences that name it."""
    try:
        yield
    except OSError as error:
        reason = str(error.strerror or error).partition("\n")[0].rstrip(".")
        raise UnwritableError(
            f"{path} cannot be written: {reason}. What is finished stays; the same command goes on "
            "from there."
        ) from error


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn failures to read a file into sentences that name it."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise AdequaError(f"{name} cannot be read: {reason}.") from error
        raise unreadable(name, error) from error


def cache_folder() -> Path:
    """The folder of fetched files: ADEQUA_CACHE, or the user's cache folder of the platform."""
    folder = os.environ.get("ADEQUA_CACHE")
    if folder:
        return Path(folder)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
    if not Path(base).is_absolute():  # as the XDG rule has it
        base = str(Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache"))
    return Path(base) / "adequa"
