"""Members of tar and zip archives, read by their names: nothing is unpacked onto the disk."""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from adequa.errors import AdequaError
from adequa.io.text import unreadable

_LIMIT = 1 << 30  # bytes of one member; what unpacks to more is no file of texts
# The zipfile module says RuntimeError of encrypted members, and NotImplementedError of methods.
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    lzma.LZMAError,
    zlib.error,
    RuntimeError,
    NotImplementedError,
)


def members(
    archive: Path, wanted: Callable[[str], bool], *, inside: Callable[[str], bool] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files in an archive whose names are wanted, in its order.

    With `inside`, they are looked for in the archives within the archive that it names.
    """
    try:
        if inside is None:
            yield from _members(archive, wanted)
        else:
            for _, content in _members(archive, inside):
                yield from _members(io.BytesIO(content), wanted)
    except _DAMAGED as error:
        raise AdequaError(
            f"{archive} is not a whole archive: it is damaged, encrypted, cut short, or none at "
            "all."
        ) from error
    except OSError as error:
        raise unreadable(str(archive), error) from error


def text_lines(place: str, content: bytes) -> list[str]:
    """The lines of a member, which is UTF-8."""
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise AdequaError(f"{place}, line {line} is not UTF-8.") from error
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _members(
    archive: Path | io.BytesIO, wanted: Callable[[str], bool]
) -> Iterator[tuple[str, bytes]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                if not entry.is_dir() and wanted(entry.filename):
                    _refuse_size(entry.filename, entry.file_size)
                    yield entry.filename, opened.read(entry)
        return
    by_path, by_stream = (archive, None) if isinstance(archive, Path) else (None, archive)
    if by_stream is not None:
        by_stream.seek(0)
    with tarfile.open(by_path, "r:*", fileobj=by_stream) as tar:
        for member in tar:
            if member.isfile() and wanted(member.name):
                _refuse_size(member.name, member.size)
                content = tar.extractfile(member)
                yield member.name, content.read() if content is not None else b""


def _refuse_size(name: str, size: int) -> None:
    if size > _LIMIT:
        raise AdequaError(f"{name} in the archive is larger than {_LIMIT >> 30} GiB.")
