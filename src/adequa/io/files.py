"""Regular files, opened as they are stored: no pipe that waits, and no device without an end.

A folder from anyone may name files as its own. They lie in it, also by links.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from adequa.errors import AdequaError
from adequa.io.text import FilePath, unreadable

# Without it, opening a pipe would wait for its writer.
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: FilePath) -> BinaryIO:
    """Open a regular file for reading; raise for all else, before anything is read."""
    name = os.fspath(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | _WITHOUT_WAITING)
    except OSError as error:
        raise unreadable(name, error) from error
    except ValueError as error:  # a null character, which no file name has
        raise AdequaError(f"{name!r} is no name of a file: {error}.") from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise AdequaError(f"{name} is a folder, not a file.")
    raise AdequaError(f"{name} is no regular file but a pipe or a device, which is not read here.")


def read_regular(path: FilePath) -> bytes:
    """The content of a regular file."""
    with open_regular(path) as stream:
        try:
            return stream.read()
        except OSError as error:
            raise unreadable(os.fspath(path), error) from error


def file_within(folder: Path, name: str) -> Path:
    """The path of a file that a folder names as its own; raise where it lies outside."""
    path = folder / name
    try:
        inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except (OSError, ValueError) as error:  # a null character, or a name that is too long
        raise AdequaError(
            f"{folder} names the file {name!r}, and none can have this name."
        ) from error
    if not inside:
        raise AdequaError(
            f"{path} lies outside {folder}, by its name or by a link, and is not read; copy it to "
            "the folder if it belongs there."
        )
    return path


def check_enclosed(folder: Path) -> None:
    """Raise where a folder holds pipes or devices, or links that lead out of it."""
    root = Path(os.path.realpath(folder))
    for above, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(above, name)
            if path.is_symlink():
                file_within(root, str(path.relative_to(root)))
            elif not (path.is_file() or path.is_dir()):
                raise AdequaError(
                    f"{path} is no regular file but a pipe or a device, which is not read here."
                )
