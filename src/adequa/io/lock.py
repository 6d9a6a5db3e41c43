"""A folder for one process at a time: an advisory lock that goes with the process.

The lock is `flock` on a file in the folder. The system lets go of it when the process ends, however
it ends: a file that a killed process left behind blocks nobody. Where there are no such locks (a
system without `fcntl`, as Windows; some network file systems), nobody is kept out, and the holder
is "unknown": what could be another process's is then better left alone.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

from adequa.errors import AdequaError
from adequa.io.atomic import remove_empty

Holder: TypeAlias = Literal["us", "others", "unknown"]

LOCK = ".adequa.lock"  # the name of the file
_ATTEMPTS = 100  # others may finish, and remove file and folder, just as we open them
_TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}


@contextmanager
def locked(folder: Path) -> Iterator[Holder]:
    """Who holds a folder, for as long as the context lasts; nobody waits for anybody.

    A folder that is not there is made, and goes again if nothing was put into it. One that cannot
    be written is a sentence.
    """
    absent = [each for each in (folder, *folder.absolute().parents) if not each.exists()]
    try:
        descriptor, holder = _opened(folder)
    except OSError as error:
        remove_empty(absent)
        raise AdequaError(f"{folder} cannot be written: {error.strerror or error}.") from error
    try:
        yield holder
    finally:
        if holder != "others":
            # Removed while it is held: whoever opened it before sees that it is gone (`_is_there`).
            with suppress(OSError):
                (folder / LOCK).unlink()
        os.close(descriptor)
        remove_empty(absent)


def _opened(folder: Path) -> tuple[int, Holder]:
    """The descriptor of a folder's lock, and who holds it."""
    for _ in range(_ATTEMPTS):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(None, "it takes no new files")
        try:
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue
        holder = _taken(descriptor)
        if holder == "others" or _is_there(descriptor, folder / LOCK):
            return descriptor, holder
        os.close(descriptor)
    raise FileNotFoundError(None, "no file can be made in it")


def _taken(descriptor: int) -> Holder:
    """Take the lock of an open file, if nobody else has it."""
    try:
        import fcntl  # noqa: PLC0415  # not there on every system
    except ImportError:
        return "unknown"
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return "others" if error.errno in _TAKEN else "unknown"
    return "us"


def _is_there(descriptor: int, path: Path) -> bool:
    """Whether an open file still is the one of this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
