"""Text files: bytes decompressed, decoded and cut into lines; TOML settings."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from threading import Timer
from typing import Any, BinaryIO, Generic, TypeAlias, TypeVar

from adequa.errors import AdequaError, as_path, counted

FilePath: TypeAlias = str | os.PathLike[str]
# Called with the number of bytes of a file, as stored, that were just read.
Advance: TypeAlias = Callable[[int], None]

STDIN = "-"
LINE_LIMIT = "ADEQUA_LINE_LIMIT"  # an environment variable
_LINE_LIMIT = 1 << 28
_BLOCK = 1 << 16
_COMPRESSIONS = {".gz": "gzip", ".xz": "xz"}
_MARKS = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz"}
# Bytes that text has in no encoding that is built on ASCII.
_CONTROLS = frozenset((*range(0x08), *range(0x0E, 0x1B)))
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)


class MemoryFile(os.PathLike[str]):
    """A file whose content is in memory, such as an upload; readers take it in place of a path.

    The name tells the format and compression, and is what error sentences call the file.
    """

    def __init__(self, name: str, content: bytes) -> None:
        # A name is no path here: no reader may look for the file on the disk of this machine.
        self.name = Path(name.replace("\\", "/")).name or "file"
        self.content = content

    def __fspath__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"MemoryFile({self.name!r}, {len(self.content):,} bytes)"


def is_stdin(path: FilePath) -> bool:
    """Whether a path means standard input."""
    return not isinstance(path, MemoryFile) and os.fspath(path) == STDIN


def ignore(_count: int) -> None:
    """The `advance` of a caller who shows no progress."""


def display_name(path: FilePath) -> str:
    """The name of a file in error sentences."""
    return "standard input" if is_stdin(path) else os.fspath(path)


def uncompressed_name(path: FilePath) -> str:
    """A file's name without its folder and without the suffix of its compression.

    >>> uncompressed_name("out/a.txt.gz")
    'a.txt'
    """
    name = Path(path).name
    return Path(name).stem if _compression(path) else name


def text_format(path: FilePath) -> str:
    """The suffix that says how a file is laid out, whether compressed or not.

    >>> text_format("dev.JSONL.xz")
    '.jsonl'
    """
    return Path(uncompressed_name(path)).suffix.lower()


def unreadable(name: str, error: OSError) -> AdequaError:
    """Why a file cannot be read, in a sentence."""
    match error:
        case FileNotFoundError():
            return AdequaError(f"There is no file {name}.")
        case IsADirectoryError():
            return AdequaError(f"{name} is a folder, not a file.")
        case _:
            return AdequaError(f"{name} cannot be read: {error.strerror or error}.")


def byte_blocks(
    path: FilePath, *, advance: Advance = ignore, block_size: int = _BLOCK
) -> Iterator[bytes]:
    """A file's content after decompression, block by block; `-` is standard input."""
    name = display_name(path)
    try:
        with ExitStack() as opened:
            with _waiting(path):
                raw = opened.enter_context(open_binary(path))
                blocks = _blocks(raw, name, advance, block_size)
                first = next(blocks, b"")
            if first:
                yield first
            yield from blocks
    except OSError as error:
        raise unreadable(name, error) from error


def _blocks(raw: BinaryIO, name: str, advance: Advance, block_size: int) -> Iterator[bytes]:
    """The content of an open file after decompression, which its name tells."""
    try:
        with _decompressed(_CountingReader(raw, advance), name) as stream:
            while block := stream.read(block_size):
                yield block
    except _DAMAGED as error:
        raise AdequaError(
            f"{name} is not a whole {_compression(name)} file: "
            "it is damaged, cut short, or not compressed at all."
        ) from error


def line_blocks(
    path: FilePath,
    *,
    advance: Advance = ignore,
    block_size: int = _BLOCK,
    keep_returns: bool = False,
) -> Iterator[list[str]]:
    r"""A file's lines, as many at a time as a block holds.

    Lines end at `\n` or `\r\n` and nowhere else: `str.splitlines` and Python's text files also
    cut at characters that occur inside segments, which would shift the alignment. With
    `keep_returns`, a `\r` before the end stays: in a quoted cell it may be text.
    """
    blocks = byte_blocks(path, advance=advance, block_size=block_size)
    return _decoded(blocks, display_name(path), keep_returns=keep_returns)


def stream_lines(
    raw: BinaryIO,
    name: str,
    *,
    advance: Advance = ignore,
    keep_returns: bool = False,
    keep_blanks: bool = False,
) -> Iterator[str]:
    """The lines of an open file, whose name tells the compression.

    Empty lines at the end are left out, unless `keep_blanks` is set.
    """
    blocks = _decoded(_blocks(raw, name, advance, _BLOCK), name, keep_returns=keep_returns)
    lines = chain.from_iterable(blocks)
    return lines if keep_blanks else without_trailing_blanks(lines)


def _decoded(
    blocks: Iterable[bytes], name: str, *, keep_returns: bool = False
) -> Iterator[list[str]]:
    lines_before = 0
    for block in whole_lines(blocks, name):
        if not lines_before:
            block = block.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901
        try:
            lines = block.decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            raise _not_utf8(name, block, error.start, lines_before) from error
        unfinished = lines.pop()
        if b"\r" in block and not keep_returns:
            lines = [line.removesuffix("\r") for line in lines]
        if unfinished:
            lines.append(unfinished)
        if lines:
            yield lines
            lines_before += len(lines)


def lines(
    path: FilePath,
    *,
    advance: Advance = ignore,
    block_size: int = _BLOCK,
    keep_returns: bool = False,
) -> Iterator[str]:
    """A file's lines, one by one."""
    return chain.from_iterable(
        line_blocks(path, advance=advance, block_size=block_size, keep_returns=keep_returns)
    )


def first_and_rest(
    path: FilePath, *, advance: Advance = ignore, keep_returns: bool = False
) -> tuple[str, Iterator[str]]:
    """The first line of a table, which says what the others hold, and the lines after it."""
    rows = without_trailing_blanks(lines(path, advance=advance, keep_returns=keep_returns))
    for first in rows:
        return first, rows
    raise AdequaError(f"{display_name(path)} is empty: there is nothing to score.")


def without_trailing_blanks(lines: Iterable[str]) -> Iterator[str]:
    """Lines without the empty ones after the last that is not.

    >>> list(without_trailing_blanks(["a", "", "b", "", ""]))
    ['a', '', 'b']
    """
    blanks: list[str] = []
    for line in lines:
        if not line or line == "\r":
            blanks.append(line)
            continue
        if blanks:
            yield from blanks
            blanks.clear()
        yield line


class _CountingReader(io.RawIOBase):
    """A binary stream that reports how many bytes were read from it."""

    def __init__(self, raw: BinaryIO, advance: Advance) -> None:
        self._raw = raw
        self._advance = advance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what callers pass
        block = self._raw.read(len(buffer))
        buffer[: len(block)] = block
        self._advance(len(block))
        return len(block)


def _compression(path: FilePath) -> str | None:
    return _COMPRESSIONS.get(Path(path).suffix.lower())


def open_binary(path: FilePath) -> AbstractContextManager[BinaryIO]:
    """Open a file for reading as it is stored, without decompression."""
    if isinstance(path, MemoryFile):
        return io.BytesIO(path.content)
    if not is_stdin(path):
        return _open_file(path)
    if sys.stdin is None:
        raise AdequaError("Standard input is closed: there is nothing to read from it.")
    return nullcontext(sys.stdin.buffer)


def _open_file(path: FilePath) -> BinaryIO:
    """Open a file, a pipe or a terminal; other devices may have no end."""
    try:
        stream = Path(path).open("rb")  # noqa: SIM115  # its user closes it
    except ValueError as error:  # a null character, which no file name has
        raise AdequaError(f"{os.fspath(path)!r} is no name of a file: {error}.") from error
    kind = os.fstat(stream.fileno())
    is_device = stat.S_ISBLK(kind.st_mode) or (stat.S_ISCHR(kind.st_mode) and not stream.isatty())
    if is_device and kind.st_rdev != Path(os.devnull).stat().st_rdev:
        stream.close()
        raise AdequaError(f"{os.fspath(path)} is a device, not a file.")
    return stream


# Called with the name of a pipe, a terminal or standard input that has sent nothing for a while.
waiting_for: ContextVar[Callable[[str], None] | None] = ContextVar("waiting_for", default=None)
PATIENCE = 3.0  # seconds before it is called


@contextmanager
def _waiting(path: FilePath) -> Iterator[None]:
    """Tell who listens when the first bytes of a pipe are long in coming."""
    tell = waiting_for.get()
    is_file = isinstance(path, MemoryFile) or not (is_stdin(path) or _is_pipe(path))
    if tell is None or is_file:
        yield
        return
    timer = Timer(PATIENCE, tell, (display_name(path),))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _is_pipe(path: FilePath) -> bool:
    try:
        return Path(path).is_fifo()
    except ValueError:  # a null character in the name, which opening it tells
        return False


def file_size(path: FilePath) -> int | None:
    """Number of bytes of a file as it is stored; None where that is not known, as of pipes."""
    if isinstance(path, MemoryFile):
        return len(path.content)
    if is_stdin(path) or not Path(path).is_file():
        return None
    return Path(path).stat().st_size


def _decompressed(raw: io.RawIOBase, path: FilePath) -> AbstractContextManager[BinaryIO]:
    buffered = io.BufferedReader(raw, _BLOCK)
    match _compression(path):
        case "gzip":
            return gzip.GzipFile(fileobj=buffered, mode="rb")  # type: ignore[return-value]  # it reads bytes
        case "xz":
            return lzma.LZMAFile(buffered, mode="rb")  # type: ignore[return-value]  # it reads bytes
        case _:
            return buffered


def line_limit() -> int:
    """How many bytes a line may have: ADEQUA_LINE_LIMIT, or 256 MiB."""
    limit = os.environ.get(LINE_LIMIT, str(_LINE_LIMIT))
    if not re.fullmatch(r"[1-9][0-9]{0,17}", limit):
        raise AdequaError(f"{LINE_LIMIT} must be a number of bytes, not {limit!r}.")
    return int(limit)


def whole_lines(blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The same bytes, cut after line ends only, so that no character is split either."""
    limit, size = line_limit(), 0
    pending: list[bytes] = []
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        size = len(block) - cut if cut else size + len(block)
        if size > limit:
            raise AdequaError(
                f"{name} has a line of more than {limit:,} bytes. If this is as it should be, set "
                f"{LINE_LIMIT} to a larger number."
            )
        if not cut:
            pending.append(block)  # joined once, however long the line
            continue
        yield b"".join([*pending, block[:cut]])
        pending = [block[cut:]]
    if rest := b"".join(pending):
        yield rest


def _not_utf8(name: str, block: bytes, position: int, lines_before: int) -> AdequaError:
    """A sentence on bytes that are not UTF-8: of a compressed, a binary or another text file."""
    compressed = next((kind for mark, kind in _MARKS.items() if block.startswith(mark)), None)
    if compressed and not lines_before:
        return AdequaError(
            f"{name} is a {compressed} file by its first bytes; unpack it, or give its name the "
            f"ending {'.gz' if compressed == 'gzip' else '.xz'}."
        )
    line = lines_before + block.count(b"\n", 0, position) + 1
    utf16 = line == 1 and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not utf16 and not _CONTROLS.isdisjoint(block):
        return AdequaError(f"{name} is not a text file: it holds binary data in line {line}.")
    column = position - block.rfind(b"\n", 0, position)
    return AdequaError(
        f"{name}, line {line}: byte {column} of the line (0x{block[position]:02x}) is not UTF-8; "
        "convert the file, for example with: "
        f"iconv -f {'UTF-16' if utf16 else 'ISO-8859-1'} -t UTF-8"
    )


def read_toml(path: FilePath) -> dict[str, Any]:
    """What a TOML file says."""
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415  # not there in older versions
    else:
        import tomli as tomllib  # noqa: PLC0415
    try:
        content = b"".join(byte_blocks(as_path(path)))
        read: dict[str, Any] = tomllib.loads(content.decode("utf-8"))
    except RecursionError as error:
        raise AdequaError(f"{path} is no TOML file: it is too deeply nested.") from error
    except ValueError as error:
        raise AdequaError(f"{path} is no TOML file: {error}.") from error
    return read


# How people write true and false on the command line.
BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def stem(path: FilePath) -> str:
    """A file's name without folder, compression and suffix.

    >>> stem("runs/baseline.de.gz"), stem("-")
    ('baseline', 'stdin')
    """
    decoded = decoded_path(path)
    return "stdin" if decoded == STDIN else Path(uncompressed_name(decoded)).stem


def decoded_path(path: FilePath) -> str:
    """A path in characters that can be written: file names may be any bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


SegmentKey: TypeAlias = tuple[str, str]  # the ids of a document and of a segment in it
Cell = TypeVar("Cell", str, tuple[str, ...])


@dataclass(frozen=True, slots=True)
class Track(Generic[Cell]):
    """The texts of one file by position, or the references of its segments."""

    name: str
    cells: Iterator[Cell]
    keys: tuple[SegmentKey, ...] | None = None  # None for plain text, which has lines only
    unit: str = "line"

    def place(self, row: int) -> str:
        """The file and the line, or the segment, of a row (from 0)."""
        if self.keys is None:
            return f"{self.name}, {self.unit} {row + 1}"
        return f"{self.name}, {describe_segment(self.keys[row])}"

    def count(self, cells: int) -> str:
        """A number of cells in words."""
        if not cells:
            return f"{self.name} is empty"
        return f"{self.name} has {counted(cells, self.unit)}"


def describe_segment(key: SegmentKey) -> str:
    """A segment by its ids.

    >>> describe_segment(("bbc.381790", "3"))
    'document "bbc.381790", segment 3'
    """
    document, segment = key
    return f'document "{document}", segment {segment}' if document else f"segment {segment}"
