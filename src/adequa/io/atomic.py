"""Files and folders that are either complete or absent: readers never see half of one."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TextIO, TypeAlias

from adequa.errors import AdequaError
from adequa.io.files import open_regular
from adequa.io.text import FilePath, unreadable

_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/([0-9]+)")


@contextmanager
def atomic_write(path: FilePath) -> Iterator[TextIO]:
    """A text file to write, which replaces the file at `path` when it is complete.

    After an error, the old file stays as it was. Terminals, pipes and devices cannot be replaced
    and are written to directly.
    """
    name = os.fspath(path)
    with _failures_in_words(name):
        descriptor, mode = _descriptor(name), _mode(path)
        if descriptor is not None:
            if sys.stdout is not None:
                sys.stdout.flush()  # what was printed before comes before
            writer = _text_writer(os.dup(descriptor))
        elif mode is not None and not stat.S_ISREG(mode):
            writer = _text_writer(os.open(path, os.O_WRONLY))
        else:
            writer = _text_replacement(Path(os.path.realpath(path)), mode)
        with writer as handle:
            yield handle


def atomic_write_bytes(path: FilePath, content: bytes) -> None:
    """Write a file of bytes, complete or not at all."""
    target = Path(os.path.realpath(path))
    with (
        _failures_in_words(os.fspath(path)),
        _replacement(target, _mode(target)) as descriptor,
        open(descriptor, "wb", closefd=False) as handle,
    ):
        handle.write(content)


def check_writable(path: FilePath) -> None:
    """Raise what `atomic_write` would raise: better before a long piece of work than after it."""
    name = os.fspath(path)
    with _failures_in_words(name):
        mode = _mode(path)
        if _descriptor(name) is None and (mode is None or stat.S_ISREG(mode)):
            temporary, descriptor = _temporary(Path(os.path.realpath(path)), mode)
            os.close(descriptor)
            temporary.unlink()
        elif mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError


@contextmanager
def _failures_in_words(name: str) -> Iterator[None]:
    try:
        if name.endswith(os.sep):
            raise IsADirectoryError
        yield
    except BrokenPipeError:
        raise  # whoever reads has stopped: not a mistake of the user
    except FileNotFoundError as error:
        raise AdequaError(f"{name} cannot be written: there is no folder for it.") from error
    except IsADirectoryError as error:
        raise AdequaError(f"{name} is a folder; give the name of a file in it.") from error
    except OSError as error:
        raise AdequaError(f"{name} cannot be written: {error.strerror or error}.") from error


def _descriptor(name: str) -> int | None:
    """The open file that a path such as /dev/stdout stands for.

    It is written to through the descriptor itself, because opening the path again would start
    at the beginning of a file that standard output was redirected to.
    """
    match = _DESCRIPTOR.fullmatch(name)
    return int(match[1]) if match else _STANDARD.get(name)


def _mode(path: FilePath) -> int | None:
    try:
        return Path(path).stat().st_mode
    except FileNotFoundError:
        return None


@contextmanager
def _text_writer(descriptor: int) -> Iterator[TextIO]:
    with open(descriptor, "w", encoding="utf-8", newline="\n") as handle:
        yield handle


def _temporary(target: Path, mode: int | None) -> tuple[Path, int]:
    """A new file beside the target, and its descriptor."""
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(None, "the file is write-protected")
    temporary = target.with_name(f".adequa-{os.urandom(6).hex()}.tmp")
    # 0o666 less the umask, as for any new file, which the tempfile module does not offer.
    return temporary, os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


@contextmanager
def _text_replacement(target: Path, mode: int | None) -> Iterator[TextIO]:
    with _replacement(target, mode) as descriptor, _text_writer(os.dup(descriptor)) as handle:
        yield handle


@contextmanager
def _replacement(target: Path, mode: int | None) -> Iterator[int]:
    """A descriptor to write to, whose file takes the target's place when all went well."""
    temporary, descriptor = _temporary(target, mode)
    try:
        try:
            yield descriptor
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


_BLOCK = 1 << 20  # bytes read at once


def digest_of(path: Path) -> str:
    """The sha256 of a file."""
    digest = hashlib.sha256()
    try:
        with open_regular(path) as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise unreadable(str(path), error) from error
    return digest.hexdigest()


@contextmanager
def atomic_folder(path: FilePath) -> Iterator[Path]:
    """A new folder to fill, which takes its name only when all is written.

    Nothing is ever written over: there must be no such folder yet, or an empty one.
    """
    check_new_folder(path)
    target = Path(os.path.realpath(path))  # "." and the like cannot be replaced under that name
    temporary = target.with_name(f".adequa-{os.urandom(6).hex()}.tmp")
    absent = [folder for folder in target.parents if not folder.exists()]
    try:
        temporary.mkdir(parents=True)
        yield temporary
        temporary.replace(target)  # over an empty folder this is allowed
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        remove_empty(absent)
        if isinstance(error, OSError):
            reason = error.strerror or error
            raise AdequaError(f"{Path(path)} cannot be written: {reason}.") from error
        raise


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders that are empty, the innermost first."""
    for folder in folders:
        with suppress(OSError):  # not empty, or never created
            folder.rmdir()


def check_new_folder(path: FilePath) -> None:
    """Raise what `atomic_folder` would raise: better before a long piece of work than after it."""
    target = Path(path)
    try:
        if target.is_dir() and not target.is_symlink():
            if any(target.iterdir()):
                raise AdequaError(f"{target} is there already; give a new name, or move it away.")
        elif target.is_symlink() or target.exists():
            raise AdequaError(f"{target} is there already and is no folder; give a new name.")
        above = next(folder for folder in target.absolute().parents if folder.exists())
    except OSError as error:
        raise AdequaError(f"{target} cannot be written: {error.strerror or error}.") from error
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise AdequaError(f"{target} cannot be written: {above} takes no new folders.")


# Who has a lock; "unknown" where the system or the file system has no locks.
Holder: TypeAlias = Literal["us", "others", "unknown"]

LOCK = ".adequa.lock"  # the name of the file
_ATTEMPTS = 100  # another process may remove the file and the folder just as we open them
_BUSY = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}


@contextmanager
def locked(folder: Path) -> Iterator[Holder]:
    """Lock a folder for one process, without waiting; yield who holds the lock.

    The lock is `flock` on a file in the folder, which the system releases when the process ends,
    however it ends. Where there are no such locks (Windows, some network file systems) nobody is
    kept out. The folder is created if need be, and removed again if it stays empty.
    """
    absent = [each for each in (folder, *folder.absolute().parents) if not each.exists()]
    try:
        descriptor, holder = _open_lock(folder)
    except OSError as error:
        remove_empty(absent)
        raise AdequaError(f"{folder} cannot be written: {error.strerror or error}.") from error
    try:
        yield holder
    finally:
        if holder != "others":
            # Removed before it is released: who opened it meanwhile sees that (`_is_current`).
            with suppress(OSError):
                (folder / LOCK).unlink()
        os.close(descriptor)
        remove_empty(absent)


def _open_lock(folder: Path) -> tuple[int, Holder]:
    """The descriptor of the lock of a folder, and who holds it."""
    for _ in range(_ATTEMPTS):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(None, "it takes no new files")
        try:
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue
        holder = _try_lock(descriptor)
        if holder == "others" or _is_current(descriptor, folder / LOCK):
            return descriptor, holder
        os.close(descriptor)
    raise FileNotFoundError(None, "no file can be made in it")


def _try_lock(descriptor: int) -> Holder:
    """Lock an open file, if no other process has."""
    try:
        import fcntl  # noqa: PLC0415  # not on every system
    except ImportError:
        return "unknown"
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return "others" if error.errno in _BUSY else "unknown"
    return "us"


def _is_current(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
