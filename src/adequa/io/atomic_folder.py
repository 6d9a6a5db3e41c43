"""Writing a folder so that it is either complete or not there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adequa.errors import AdequaError
from adequa.io.text import FilePath


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
    """Take back folders that were made for nothing, the innermost first."""
    for folder in folders:
        with suppress(OSError):  # someone else has put something there, or it never was
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
