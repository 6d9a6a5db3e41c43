"""Arrays of numbers or text in `.npy` and `.npz` files, from anyone.

Every array is read by its header alone: a type of fixed size, the order of its axes, and its shape.
There are no pickles, and nothing is unpacked before its size is known, bounded, and the same in the
header and in the archive. All that is wrong with a file is told in one sentence.

The bound is on compressed arrays alone (1 GiB in a file): what is stored as it is, which is what
`numpy.savez` does, cannot be larger than the file.
"""

from __future__ import annotations

import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.io.files import open_regular

Array: TypeAlias = npt.NDArray[Any]

MAGIC = b"\x93NUMPY"
_SUFFIX = ".npy"
_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}  # of the header's length, by version of the format
_LONGEST_HEADER = 1 << 16
_BLOCK = 1 << 20  # bytes read at once
_MOST_AXES = 32
_MOST_UNPACKED = 1 << 30  # bytes of all compressed arrays of a file
_LAST_CHARACTER = 0x10FFFF

_ENTRY = r"\s*'(descr|fortran_order|shape)'\s*:\s*('[^']{1,32}'|True|False|\([0-9L,\s]*\))"
_HEADER = re.compile(rf"\{{{_ENTRY}\s*,{_ENTRY}\s*,{_ENTRY}\s*(?:,\s*)?\}}")
_TYPE = re.compile(r"[<>|=]?[biufU][0-9]{1,12}")
_AXIS = re.compile(r"\s*([0-9]{1,18})L?\s*")  # Python 2 has written the L of its long integers


class ArrayError(ValueError):
    """Why bytes are no array, as the end of a sentence."""


def check_shape(name: str, array: Array, *lengths: int | None) -> None:
    """Raise where an array has other axes than these; None is an axis of any length.

    >>> check_shape("weights", np.zeros((2, 3)), None, 3)
    """
    fits = array.ndim == len(lengths) and all(
        length in (None, actual) for length, actual in zip(lengths, array.shape, strict=True)
    )
    if not fits:
        raise ArrayError(f"the array {name} has the shape {array.shape}")


@dataclass(frozen=True, slots=True)
class Header:
    """What the header of an array says, and where its numbers begin."""

    dtype: np.dtype[Any]
    fortran_order: bool
    shape: tuple[int, ...]
    end: int

    @property
    def bytes(self) -> int:
        """Bytes of the numbers."""
        return math.prod(self.shape) * self.dtype.itemsize

    def check_size(self, available: int) -> None:
        """Raise where the numbers are not as many bytes as there are."""
        if self.bytes != available:
            raise ArrayError(
                f"{available:,} bytes follow the header of an array of {self.bytes:,}: it is "
                "damaged or cut short"
            )

    @property
    def order(self) -> Literal["C", "F"]:
        """The order of the axes, in NumPy's letters."""
        return "F" if self.fortran_order else "C"


def read_header(stream: IO[bytes]) -> Header:
    """Read the header of an array; the stream is then where the numbers begin."""
    start = _exactly(stream, len(MAGIC) + 2)
    width = _LENGTH_BYTES.get(start[-2])
    if not start.startswith(MAGIC) or width is None:
        raise ArrayError("there is no array in NumPy's format")
    length = int.from_bytes(_exactly(stream, width), "little")
    if length > _LONGEST_HEADER:
        raise ArrayError("the header of an array is damaged")
    text = _exactly(stream, length).decode("latin1").strip()
    return _parsed(text, len(start) + width + length)


def _parsed(text: str, end: int) -> Header:
    matched = _HEADER.fullmatch(text)
    entries = (
        dict(zip(matched.groups()[::2], matched.groups()[1::2], strict=True)) if matched else {}
    )
    if len(entries) != 3:  # noqa: PLR2004 - a type, an order and a shape
        raise ArrayError("an array is damaged, or holds Python objects, which are a pickle")
    type_ = entries["descr"].strip("'")
    axes = entries["shape"].strip("()").split(",")
    if not axes[-1].strip():  # (), or the comma at the end of (3,)
        axes.pop()
    lengths = [_AXIS.fullmatch(axis) for axis in axes]
    if (
        not _TYPE.fullmatch(type_)
        or entries["fortran_order"] not in {"True", "False"}
        or None in lengths
        or len(lengths) > _MOST_AXES
    ):
        raise ArrayError(f"it is of neither numbers nor text ({type_!r}); no pickle is read")
    shape = tuple(int(length[1]) for length in lengths if length is not None)
    header = Header(_dtype(type_), entries["fortran_order"] == "True", shape, end)
    # An array without elements takes no bytes, however long its other axes are said to be.
    if not header.bytes and math.prod(filter(None, shape)) > _MOST_UNPACKED:
        raise ArrayError("the shape of an array is damaged")
    return header


def _dtype(name: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(name)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArrayError(f"there is an array of the unknown type {name}") from error
    if not dtype.itemsize:
        raise ArrayError("there is an array of text without characters")
    return dtype


def _check_characters(array: Array) -> None:
    """Raise where text has numbers that stand for no character."""
    codes = array.view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
    if codes.size and codes.max() > _LAST_CHARACTER:
        raise ArrayError("text in it holds what is no character")


def _exactly(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) != count:
        raise ArrayError("it is cut short")
    return content


def _read_numbers(stream: IO[bytes], header: Header) -> Array:
    """Read the numbers of an array whose size is checked."""
    content = np.empty(header.bytes, np.uint8)
    for start in range(0, header.bytes, _BLOCK):
        block = content[start : start + _BLOCK]
        block[:] = np.frombuffer(_exactly(stream, len(block)), np.uint8)
    flat = content.view(header.dtype)
    if header.dtype.kind == "U":
        _check_characters(flat)
    return flat.reshape(header.shape, order=header.order)


def read_npy(path: Path) -> Array:
    """Read the array of an .npy file; raise ArrayError where there is none."""
    with open_regular(path) as stream:
        header = read_header(stream)
        header.check_size(os.fstat(stream.fileno()).st_size - header.end)
        return _read_numbers(stream, header)


def map_npy(path: Path) -> Array:
    """Map the array of an .npy file from disk; raise ArrayError where there is none."""
    with open_regular(path) as stream:
        header = read_header(stream)
        header.check_size(os.fstat(stream.fileno()).st_size - header.end)
    if not header.bytes:  # which cannot be mapped
        return np.empty(header.shape, header.dtype)
    return np.memmap(path, header.dtype, "r", header.end, header.shape, header.order)


def read_npz(path: Path, names: Sequence[str] | None = None) -> dict[str, Array]:
    """Read these arrays of an .npz file, or all; raise ArrayError where they are not there."""
    with open_regular(path) as stream:
        return unpack(stream, names)


def unpack(stream: IO[bytes], names: Sequence[str] | None = None) -> dict[str, Array]:
    """Read these arrays of an open .npz file, or all."""
    with _failures_as_one(), zipfile.ZipFile(stream) as archive:
        members = _members(archive)
        missing = [name for name in names or () if name not in members]
        if missing:
            raise ArrayError(f"it has no array {missing[0]}")
        chosen = {name: members[name] for name in names or members}
        _check_sizes(chosen, stream)
        return {name: _read_member(archive, name, member) for name, member in chosen.items()}


@contextmanager
def _failures_as_one() -> Iterator[None]:
    """Raise whatever the package zipfile raises of damaged or odd archives as an ArrayError."""
    try:
        yield
    except ArrayError:
        raise
    except zlib.error as error:
        raise ArrayError("the compressed content is damaged") from error
    except Exception as error:  # BadZipFile, EOFError, struct.error, NotImplementedError, …
        raise ArrayError(f"it is no sound .npz file ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    return (str(error).partition("\n")[0] or type(error).__name__).rstrip(".")


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(_SUFFIX)
        if name == member.filename or name in members:
            raise ArrayError("it holds something else than arrays, or two of one name")
        if member.flag_bits & 1:
            raise ArrayError("it is encrypted")
        if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise ArrayError("it is compressed in another way than numpy.savez_compressed does")
        members[name] = member
    return members


def _check_sizes(members: Mapping[str, zipfile.ZipInfo], stream: IO[bytes]) -> None:
    """Raise where arrays would take more memory than an honest file needs, before reading any."""
    compressed = stored = 0
    for member in members.values():
        if member.compress_type == zipfile.ZIP_STORED:
            stored += member.file_size
        else:
            compressed += member.file_size
    if compressed > _MOST_UNPACKED:
        raise ArrayError(
            f"its compressed arrays would take {compressed:,} bytes, and {_MOST_UNPACKED:,} are "
            "read at most; larger ones are saved with numpy.savez"
        )
    if stored > stream.seek(0, 2):
        raise ArrayError("it claims to hold more bytes than it has")


def _read_member(archive: zipfile.ZipFile, name: str, member: zipfile.ZipInfo) -> Array:
    with archive.open(member) as stream:
        try:
            header = read_header(stream)
            header.check_size(member.file_size - header.end)
            array = _read_numbers(stream, header)
            if stream.read(1):  # its end is also where the checksum is compared
                raise ArrayError("it is longer than the archive says")
        except ArrayError as error:
            raise ArrayError(f"the array {name}: {error}") from error
    return array
