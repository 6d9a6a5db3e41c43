"""Shards: the files of a corpus, found by a pattern, a folder or an address."""

from __future__ import annotations

import gzip
import json
import lzma
import math
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TypeAlias, cast

from adequa.errors import AdequaError
from adequa.io.columns import Chunk, Table, places
from adequa.io.delimited import parsed_lines
from adequa.io.storage import (
    Match,
    Storage,
    address_beside,
    fixed_root,
    is_address,
    is_match,
    is_pattern,
    parts_below,
    storage_of,
)
from adequa.io.text import stream_lines, text_format
from adequa.segments import FloatArray

FORMATS = (".parquet", ".jsonl")
_NOT_DATA = ("_", ".")  # first letters of names that writers of datasets keep for themselves


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of a corpus."""

    path: str  # where it is, from any folder
    name: str  # below the folder that all shards are in; its results have the same
    size: int  # bytes


def find_shards(given: str) -> list[Shard]:
    """The shards that a pattern, a folder, a file or an address stands for, by name."""
    if not given:
        raise AdequaError("The input is empty; name shards, as a pattern, a folder or a file.")
    storage, inner = storage_of(given)
    if storage.is_folder(inner):
        root, matching = inner.rstrip("/"), _in_folder(storage, inner.rstrip("/"))
    elif _is_meant_literally(storage, inner):
        root, matching = inner.rpartition("/")[0], storage.matching(literal(inner))
    else:
        if ".." in PurePosixPath(inner).parts[len(PurePosixPath(fixed_root(inner)).parts) :]:
            raise AdequaError(f"{given}: a pattern cannot go up again (..) behind its first *.")
        root, matching = fixed_root(inner), storage.matching(inner)
        _refuse_folders(storage, matching)
    found = _files(storage, matching)
    if not found:
        what = "matches nothing" if is_pattern(given) else "is not there, or holds no shards"
        raise AdequaError(f"{given} {what}; shards are files that end in {' or '.join(FORMATS)}.")
    named = [(path, _checked_name(path, root), size) for path, size in found]
    _refuse_equal_files(storage, (path for path, _ in found))
    return [
        # A path that means the same to every process; as it is written, links and all.
        Shard(
            address_beside(given, inner, path) if is_address(given) else os.path.abspath(path),  # noqa: PTH100
            name,
            size,
        )
        for path, name, size in named
    ]


def _is_meant_literally(storage: Storage, inner: str) -> bool:
    """Whether what looks like a pattern is the name of something that is there."""
    return is_pattern(inner) and bool(storage.existing([inner]))


def _in_folder(storage: Storage, folder: str) -> list[Match]:
    """What bears the name of a shard in a folder, and does not belong to those who wrote it."""
    return [
        (path, size)
        for path, size in storage.matching(f"{literal(folder)}/**/*")
        if _is_named_so(path) and _is_data(PurePosixPath(path).relative_to(folder or "/"))
    ]


def _refuse_folders(storage: Storage, matching: Sequence[Match]) -> None:
    """Raise where a pattern matches a folder that is named like a shard, but none of its files."""
    files = [path for path, size in matching if size is not None]
    entered = {folder for path in files for folder in PurePosixPath(path).parents}
    for path, size in matching:
        missed = size is None and _is_named_so(path) and PurePosixPath(path) not in entered
        if missed and storage.is_folder(path):
            raise AdequaError(
                f"{path} is a folder, and a pattern takes in files alone; give a pattern for the "
                "files in it, or the folder above it."
            )


def _files(storage: Storage, matching: Sequence[Match]) -> list[tuple[str, int]]:
    """The files alone; what is named like one and cannot be read is told of."""
    for path, size in matching:
        if size is None and _is_named_so(path) and not storage.is_folder(path):
            raise AdequaError(
                f"{path} is no file that can be read, but something else or a link that leads "
                "nowhere; remove it, or leave it out of the pattern."
            )
    return [(path, size) for path, size in matching if size is not None]


def _refuse_equal_files(storage: Storage, paths: Iterable[str]) -> None:
    """Raise where a file is found by two names, as its rows would be scored and counted twice."""
    seen: dict[str, str] = {}
    for path in paths:
        before = seen.setdefault(storage.resolved(path), path)
        if before is not path:
            raise AdequaError(
                f"{path} and {before} are one file, by a link, and its rows would count twice; "
                "give a pattern, or a folder, in which it is found once."
            )


def finder(given: str) -> Callable[[tuple[str, PurePosixPath]], bool]:
    """Whether a file would be one of the shards that are given, by its whereabouts."""
    storage, inner = storage_of(given)
    if storage.is_folder(inner):
        folder = PurePosixPath(storage.resolved(inner))
        return lambda file: (
            file[0] == storage.kind
            and folder in file[1].parents
            and _is_data(file[1].relative_to(folder))
        )
    if _is_meant_literally(storage, inner):
        only = PurePosixPath(storage.resolved(inner))
        return lambda file: file == (storage.kind, only)
    root = fixed_root(inner)
    folder, pattern = PurePosixPath(storage.resolved(root)), parts_below(inner, root)
    return lambda file: (
        file[0] == storage.kind
        and folder in file[1].parents
        and is_match(file[1].relative_to(folder).parts, pattern)
    )


def _is_named_so(path: str) -> bool:
    return text_format(path) in FORMATS


def _is_data(name: PurePosixPath) -> bool:
    return not any(part[0] in _NOT_DATA for part in name.parts)


def literal(path: str) -> str:
    """A path as a pattern that matches it alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def _checked_name(path: str, root: str) -> str:
    name = path[len(root) :].lstrip("/") if root else path
    if not _is_named_so(path):
        raise AdequaError(
            f"{path} is no shard: the names of shards end in {' or '.join(FORMATS)}, "
            "JSONL also in .jsonl.gz or .jsonl.xz."
        )
    try:
        name.encode()
    except UnicodeEncodeError as error:
        shown = path.encode("utf-8", "backslashreplace").decode()
        raise AdequaError(f"{shown}: the name of this file is not UTF-8; rename it.") from error
    return name


# Rows, and bytes of them, whichever is reached first. Enough rows that batches of similar length
# can be made of them, and few enough that several workers fit beside each other.
UNIT_ROWS = 8192
UNIT_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Unit:
    """Consecutive rows: the columns that are scored, and the rows as they are passed on."""

    chunk: Chunk
    rows: Any  # of the format
    count: int
    done: float  # how much of the shard is read with this unit, from 0 to 1


@dataclass(frozen=True, slots=True, eq=False)
class NewColumns:
    """What is added to the rows of a unit: scores, NaN for none, and why there are none."""

    scores: Mapping[str, FloatArray]
    reasons: Sequence[str | None]


class RowWriter(ABC):
    """Writes units with new columns behind each other."""

    @abstractmethod
    def write(self, unit: Unit, new: NewColumns) -> None:
        """Write one unit."""

    @abstractmethod
    def close(self) -> None:
        """Write what comes at the end."""

    def drop(self) -> None:  # noqa: B027  # most have nothing to let go of
        """Give up, and write nothing any more."""


class OpenShard(ABC):
    """A shard that is open for reading, once."""

    table: Table  # its name and its columns; the rows are read by units

    @abstractmethod
    def units(self, columns: tuple[str, ...]) -> Iterator[Unit]:
        """All rows in units; of these columns also the values."""

    @abstractmethod
    def writer(self, sink: BinaryIO, new: Mapping[str, str], reason: str) -> RowWriter:
        """What writes the same format to a file.

        `new` are the columns of scores with their signatures, and `reason` is the column that says
        why a row has none.
        """


OpensShard: TypeAlias = Callable[[BinaryIO, Shard], AbstractContextManager[OpenShard]]

_OPENERS = {
    ".parquet": "adequa.io.parquet:open_parquet_shard",
    ".jsonl": "adequa.io.shards:open_jsonl_shard",
}


def open_shard(stream: BinaryIO, shard: Shard) -> AbstractContextManager[OpenShard]:
    """A shard of one of the formats, from its bytes."""
    module, function = _OPENERS[text_format(shard.name)].split(":")
    opener = cast("OpensShard", getattr(import_module(module), function))
    return opener(stream, shard)


_LOOKED_AT = 100  # rows, for the columns that there are


@contextmanager
def open_jsonl_shard(stream: BinaryIO, shard: Shard) -> Iterator[JsonlShard]:
    """A shard of JSONL."""
    yield JsonlShard(stream, shard)


class JsonlShard(OpenShard):
    """An open shard of JSONL. Its columns are those of its first rows; others may come later."""

    def __init__(self, stream: BinaryIO, shard: Shard) -> None:
        self._stream, self._shard = stream, shard
        self._read = 0  # bytes
        self._lines = stream_lines(stream, shard.name, advance=self._advance)
        self._first = deque(_looked_at(self._lines))
        rows = self._objects(list(self._first), 1)
        names = dict.fromkeys(name for row in rows for name in row)
        self.table = Table(shard.name, tuple(names), lambda *_: iter(()), ragged=True)

    def _advance(self, count: int) -> None:
        self._read += count

    def _objects(self, lines: Sequence[str], first: int) -> list[dict[str, Any]]:
        return parsed_lines(lines, places(self._shard.name, "line", first))

    def units(self, columns: tuple[str, ...]) -> Iterator[Unit]:
        done = 0
        for lines in self._in_units():
            objects = self._objects(lines, done + 1)
            values = {name: [row.get(name) for row in objects] for name in columns}
            place = places(self._shard.name, "line", done + 1)
            done += len(lines)
            read = min(self._read / max(self._shard.size, 1), 1.0)
            yield Unit(Chunk(values, place, escapes=True), _Rows(lines, objects), len(lines), read)

    def _in_units(self) -> Iterator[list[str]]:
        held: list[str] = []
        size = 0
        for line in self._all_lines():
            held.append(line)
            size += len(line)
            if len(held) >= UNIT_ROWS or size >= UNIT_BYTES:
                yield held
                held, size = [], 0
        if held:
            yield held

    def _all_lines(self) -> Iterator[str]:
        while self._first:
            yield self._first.popleft()  # and let go of
        yield from self._lines

    def writer(self, sink: BinaryIO, new: Mapping[str, str], reason: str) -> RowWriter:
        return _JsonlWriter(sink, self._shard.name, (*new, reason))


def _looked_at(lines: Iterator[str]) -> Iterator[str]:
    """The first lines: so many, or as many as a unit has bytes."""
    size = 0
    for line in islice(lines, _LOOKED_AT):
        yield line
        size += len(line)
        if size >= UNIT_BYTES:
            return


class _Rows:
    """Lines, and the objects that they hold."""

    __slots__ = ("lines", "objects")

    def __init__(self, lines: list[str], objects: list[dict[str, Any]]) -> None:
        self.lines, self.objects = lines, objects


class _JsonlWriter(RowWriter):
    def __init__(self, sink: BinaryIO, name: str, columns: tuple[str, ...]) -> None:
        self._columns = frozenset(columns)
        self._reason = json.dumps(columns[-1], ensure_ascii=False)
        self._file: Any
        match Path(name).suffix.lower():
            case ".gz":  # without the time, which is no part of the content
                self._file = gzip.GzipFile("", "wb", 6, sink, mtime=0)
            case ".xz":
                self._file = lzma.LZMAFile(sink, "wb", preset=1)  # noqa: SIM115  # see close
            case _:
                self._file = sink

    def write(self, unit: Unit, new: NewColumns) -> None:
        keys = [json.dumps(name, ensure_ascii=False) for name in new.scores]
        columns = [scores.tolist() for scores in new.scores.values()]
        written = []
        for row, (line, found) in enumerate(zip(unit.rows.lines, unit.rows.objects, strict=True)):
            if not self._columns.isdisjoint(found):
                clash = min(self._columns.intersection(found))
                raise AdequaError(
                    f'{unit.chunk.place(row)} has "{clash}" already; name the new columns '
                    "otherwise with --prefix."
                )
            fields = [
                f"{key}: {_number(column[row])}" for key, column in zip(keys, columns, strict=True)
            ]
            fields.append(f"{self._reason}: {json.dumps(new.reasons[row], ensure_ascii=False)}")
            begun = line.rstrip().removesuffix("}").rstrip()
            written.append(f"{begun}{', ' if found else ''}{', '.join(fields)}}}\n")
        self._file.write("".join(written).encode())

    def close(self) -> None:
        if isinstance(self._file, gzip.GzipFile | lzma.LZMAFile):
            self._file.close()


def _number(value: float) -> str:
    return "null" if math.isnan(value) else repr(value)
