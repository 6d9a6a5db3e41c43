"""Shards: the files of a corpus, their rows in units, and the same rows written with scores.

A unit is the rows that are in memory and scored together. Where a unit ends depends on the content
of the shard alone, so that every engine and number of workers writes the same bytes.
"""

from __future__ import annotations

import gzip
import json
import lzma
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress, islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from adequa.errors import AdequaError, counted
from adequa.io.columns import Chunk, OpenTable, places
from adequa.io.delimited import parsed_lines
from adequa.io.quoting import DelimitedRows, NumberedRow
from adequa.io.storage import (
    PathEntry,
    Storage,
    fixed_root,
    is_match,
    is_pattern,
    location,
    parts_below,
    storage_of,
)
from adequa.io.text import stream_lines, text_format
from adequa.segments import BoolArray, FloatArray

if TYPE_CHECKING:
    from adequa.io.parquet import ParquetCopier, ParquetShard, ParquetWriter
    from adequa.io.text_pairs import PairCopier

    OpenShard: TypeAlias = "JsonlShard | DelimitedShard | ParquetShard"
    ShardWriter: TypeAlias = "JsonlWriter | DelimitedWriter | ParquetWriter"
    ShardCopier: TypeAlias = "LineCopier | ParquetCopier | PairCopier"

_DELIMITED = (".tsv", ".csv")
FORMATS = (".parquet", ".jsonl", *_DELIMITED)
_NOT_DATA = ("_", ".")  # first letters of names that writers of datasets reserve


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of a corpus."""

    path: str  # a path or an address that any process can open
    name: str  # below the folder that all shards are in; its scores get the same
    size: int  # bytes
    # The other file of a text pair, which has the sources; empty where there is none.
    source: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that are read."""
        return (self.path, self.source) if self.source else (self.path,)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the files that are written, in the order of `paths`."""
        return (self.name, PurePosixPath(self.source).name) if self.source else (self.name,)


def find_shards(inputs: str) -> list[Shard]:
    """The shards of a pattern, a folder, a file or an address, by name."""
    if not inputs:
        raise AdequaError("The input is empty; name shards, as a pattern, a folder or a file.")
    storage, inner = storage_of(inputs)
    if storage.is_folder(inner):
        root = inner.rstrip("/")
        entries = [entry for entry in storage.walk(root or "/") if _is_shard(entry.path, root)]
        # Beside other shards, tables of text are more likely lists of something than shards.
        others = [entry for entry in entries if text_format(entry.path) not in _DELIMITED]
        entries = others or entries
    elif _is_pattern(storage, inner):
        root, entries = fixed_root(inner), storage.glob(inner)
        _refuse_folders(entries)
    else:
        root = inner.rpartition("/")[0]
        entries = [PathEntry(inner, storage.size(inner))] if storage.exists(inner) else []
    shards = [
        Shard(storage.address(path), _checked_name(path, root), size)
        for path, size in sorted(entries)
        if size is not None
    ]
    if not shards:
        what = "matches nothing" if is_pattern(inputs) else "is not there, or holds no shards"
        raise AdequaError(f"{inputs} {what}; shards are files that end in {' or '.join(FORMATS)}.")
    _refuse_equal_files(storage, (path for path, size in sorted(entries) if size is not None))
    return shards


def _is_pattern(storage: Storage, path: str) -> bool:
    """Whether a path is a pattern, and not the name of a file that looks like one."""
    return is_pattern(path) and not storage.exists(path)


def _is_shard(path: str, folder: str) -> bool:
    """Whether a file below a folder is named like a shard, and not like what is reserved."""
    return _has_shard_suffix(path) and _is_data(PurePosixPath(path[len(folder) + 1 :]))


def _refuse_folders(entries: Sequence[PathEntry]) -> None:
    """Raise where a pattern matches a folder that is named like a shard, but none of its files."""
    files = [path for path, size in entries if size is not None]
    entered = {str(folder) for path in files for folder in PurePosixPath(path).parents}
    for path, size in entries:
        if size is None and _has_shard_suffix(path) and path not in entered:
            raise AdequaError(
                f"{path} is a folder, and a pattern takes in files alone; give a pattern for the "
                "files in it, or the folder above it."
            )


def _refuse_equal_files(storage: Storage, paths: Iterable[str]) -> None:
    """Raise where a file has two names, as its rows would be scored and counted twice."""
    seen: dict[str, str] = {}
    for path in paths:
        before = seen.setdefault(storage.resolved(path), path)
        if before is not path:
            raise AdequaError(
                f"{path} and {before} are one file, by a link, and its rows would count twice; "
                "give a pattern, or a folder, in which it is found once."
            )


def shard_matcher(inputs: str) -> Callable[[tuple[str, PurePosixPath]], bool]:
    """A test whether a file, by its `location`, would be among the shards of `inputs`."""
    storage, inner = storage_of(inputs)
    whole_folder = storage.is_folder(inner)
    if not whole_folder and not _is_pattern(storage, inner):
        only = location(inputs)
        return lambda file: file == only
    root = inner if whole_folder else fixed_root(inner)
    folder, pattern = PurePosixPath(storage.resolved(root)), parts_below(inner, root)

    def matches(file: tuple[str, PurePosixPath]) -> bool:
        kind, path = file
        if kind != storage.kind or folder not in path.parents:
            return False
        below = path.relative_to(folder)
        return _is_data(below) if whole_folder else is_match(below.parts, pattern)

    return matches


def _has_shard_suffix(path: str) -> bool:
    return text_format(path) in FORMATS


def _is_data(name: PurePosixPath) -> bool:
    return not any(part[0] in _NOT_DATA for part in name.parts)


def _checked_name(path: str, root: str) -> str:
    name = path[len(root) :].lstrip("/") if root else path
    if not _has_shard_suffix(path):
        raise AdequaError(
            f"{path} is no shard: the names of shards end in {' or '.join(FORMATS)}, "
            "all but Parquet also with .gz or .xz after it."
        )
    return name


# Rows, and bytes of them, whichever is reached first. Enough rows that batches of similar length
# can be made of them, and few enough that several workers fit into memory.
UNIT_ROWS = 8192
UNIT_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Unit:
    """Consecutive rows: the columns that are scored, and the rows as they are written again."""

    chunk: Chunk
    rows: Any  # of the format
    count: int
    done: float  # fraction of the shard that is read with this unit


@dataclass(frozen=True, slots=True, eq=False)
class NewColumns:
    """What is added to the rows of a unit: scores, NaN for none, and why there are none."""

    scores: Mapping[str, FloatArray]
    reasons: Sequence[str | None]


def open_shard(stream: BinaryIO, shard: Shard) -> OpenShard:
    """Open a shard of either format, from its bytes."""
    if text_format(shard.name) == ".parquet":
        from adequa.io.parquet import ParquetShard  # noqa: PLC0415  # it imports this file

        return ParquetShard(stream, shard.name)
    if text_format(shard.name) in _DELIMITED:
        return DelimitedShard(stream, shard)
    return JsonlShard(stream, shard)


_HEAD_ROWS = 100  # rows in which the columns are looked for


class JsonlShard:
    """An open shard of JSONL. Its columns are those of its first rows; others may come later."""

    def __init__(self, stream: BinaryIO, shard: Shard) -> None:
        self._shard = shard
        self._bytes_read = 0
        self._lines: Iterator[str] = stream_lines(
            stream, shard.name, advance=self._advance, keep_returns=True
        )
        head = list(islice(self._lines, _HEAD_ROWS))
        self._lines = chain(head, self._lines)
        rows = self._objects(head, 1)
        names = dict.fromkeys(name for row in rows for name in row)
        self.table = OpenTable(shard.name, tuple(names), lambda *_: iter(()), ragged=True)

    def _advance(self, count: int) -> None:
        self._bytes_read += count

    def _objects(self, lines: Sequence[str], first: int) -> Sequence[dict[str, Any]]:
        return parsed_lines(lines, places(self._shard.name, "line", first))

    def units(self, columns: tuple[str, ...]) -> Iterator[Unit]:
        """All rows in units; of these columns also the values."""
        rows = 0
        for lines in self._in_units():
            objects = self._objects(lines, rows + 1)
            values = {name: [row.get(name) for row in objects] for name in columns}
            place = places(self._shard.name, "line", rows + 1)
            rows += len(lines)
            done = min(self._bytes_read / max(self._shard.size, 1), 1.0)
            chunk = Chunk(values, place, escapes=True)
            yield Unit(chunk, tuple(zip(lines, objects, strict=True)), len(lines), done)

    def _in_units(self) -> Iterator[list[str]]:
        unit: list[str] = []
        size = 0
        for line in self._lines:
            unit.append(line)
            size += len(line)
            if len(unit) >= UNIT_ROWS or size >= UNIT_BYTES:
                yield unit
                unit, size = [], 0
        if unit:
            yield unit

    def writer(self, sink: BinaryIO, new: Mapping[str, str], reason: str) -> JsonlWriter:
        """A writer of the same format.

        `new` are the columns of scores with their signatures, and `reason` is the column that says
        why a row has none.
        """
        return JsonlWriter(sink, self._shard.name, (*new, reason))

    def copier(self, sinks: Sequence[BinaryIO]) -> LineCopier:
        """A writer of some of the rows as they were read."""
        (sink,) = sinks
        return LineCopier(sink, self._shard.name, line_of=lambda row: str(row[0]))


class JsonlWriter:
    """Writes every line as it was read, with more fields at its end."""

    def __init__(self, sink: BinaryIO, name: str, columns: tuple[str, ...]) -> None:
        self._columns = frozenset(columns)
        self._reason = json.dumps(columns[-1], ensure_ascii=False)
        self._file = _compressing(sink, name)

    def write(self, unit: Unit, new: NewColumns) -> None:
        """Write one unit with its new columns."""
        keys = [json.dumps(name, ensure_ascii=False) for name in new.scores]
        columns = [scores.tolist() for scores in new.scores.values()]
        lines = []
        for row, (line, values) in enumerate(unit.rows):
            if not self._columns.isdisjoint(values):
                clash = min(self._columns.intersection(values))
                raise AdequaError(
                    f'{unit.chunk.place(row)} has "{clash}" already; name the new columns '
                    "otherwise with --prefix."
                )
            fields = [
                f"{key}: {_number(column[row])}" for key, column in zip(keys, columns, strict=True)
            ]
            fields.append(f"{self._reason}: {json.dumps(new.reasons[row], ensure_ascii=False)}")
            unclosed = line.rstrip().removesuffix("}").rstrip()
            lines.append(f"{unclosed}{', ' if values else ''}{', '.join(fields)}}}\n")
        self._file.write("".join(lines).encode())

    def close(self) -> None:
        """Write what comes at the end."""
        _close(self._file)


class LineCopier:
    """Writes lines as they were read, those of chosen rows alone."""

    def __init__(
        self,
        sink: BinaryIO,
        name: str,
        *,
        line_of: Callable[[Any], str] = str,
        header: str | None = None,
    ) -> None:
        self._file = _compressing(sink, name)
        self._line_of = line_of  # of a row of a unit
        if header:
            self._file.write(f"{header}\n".encode())

    def write(self, unit: Unit, mask: BoolArray) -> None:
        """Write the rows of a unit that are kept."""
        lines = (f"{self._line_of(row)}\n" for row in compress(unit.rows, mask))
        self._file.write("".join(lines).encode())

    def close(self) -> None:
        """Write what comes at the end."""
        _close(self._file)


def _number(value: float) -> str:
    return "null" if math.isnan(value) else repr(value)


def _compressing(sink: BinaryIO, name: str) -> Any:
    """A file that writes to a sink as the name of a shard says."""
    match Path(name).suffix.lower():
        case ".gz":  # without the time, which is no part of the content
            return gzip.GzipFile("", "wb", 6, sink, mtime=0)
        case ".xz":
            return lzma.LZMAFile(sink, "wb", preset=1)
        case _:
            return sink


def _close(file: Any) -> None:
    if isinstance(file, gzip.GzipFile | lzma.LZMAFile):
        file.close()


class DelimitedShard:
    """An open shard of TSV or CSV."""

    def __init__(self, stream: BinaryIO, shard: Shard) -> None:
        self._shard = shard
        self._bytes_read = 0
        lines = stream_lines(stream, shard.name, advance=self._advance, keep_returns=True)
        is_csv = text_format(shard.name) == ".csv"
        self._rows = DelimitedRows(shard.name, lines, is_csv=is_csv)
        names = tuple(self._rows.header) if self._rows.header_text else ()  # of an empty file
        self.table = OpenTable(shard.name, names, lambda *_: iter(()))

    def _advance(self, count: int) -> None:
        self._bytes_read += count

    def units(self, columns: tuple[str, ...]) -> Iterator[Unit]:
        """All rows in units; of these columns also the values."""
        if not self.table.column_names:
            return
        names, name = self.table.column_names, self._shard.name
        indices = {column: names.index(column) for column in columns}
        for rows in self._in_units():
            for number, cells, _ in rows:
                if len(cells) != len(names):
                    raise AdequaError(
                        f"{name}, line {number} has {counted(len(cells), 'cell')}, but the header "
                        f"names {len(names)}."
                    )
            values = {
                column: [cells[index] for _, cells, _ in rows] for column, index in indices.items()
            }
            place = partial(_line, name, [number for number, _, _ in rows])
            done = min(self._bytes_read / max(self._shard.size, 1), 1.0)
            yield Unit(Chunk(values, place), [text for _, _, text in rows], len(rows), done)

    def _in_units(self) -> Iterator[list[NumberedRow]]:
        unit: list[NumberedRow] = []
        size = 0
        for row in self._rows:
            unit.append(row)
            size += len(row[2])
            if len(unit) >= UNIT_ROWS or size >= UNIT_BYTES:
                yield unit
                unit, size = [], 0
        if unit:
            yield unit

    def writer(self, sink: BinaryIO, new: Mapping[str, str], reason: str) -> DelimitedWriter:
        """A writer of the same format."""
        return DelimitedWriter(sink, self._shard.name, self._rows, (*new, reason))

    def copier(self, sinks: Sequence[BinaryIO]) -> LineCopier:
        """A writer of the header, and of some of the rows as they were read."""
        (sink,) = sinks
        return LineCopier(sink, self._shard.name, header=self._rows.header_text)


class DelimitedWriter:
    """Writes every row as it was read, with more cells at its end."""

    def __init__(
        self, sink: BinaryIO, name: str, rows: DelimitedRows, columns: tuple[str, ...]
    ) -> None:
        self._file = _compressing(sink, name)
        self._separator = rows.separator
        if rows.header_text:
            self._write([rows.header_text], [columns])

    def write(self, unit: Unit, new: NewColumns) -> None:
        """Write one unit with its new columns; a score that is missing is an empty cell."""
        scores = [column.tolist() for column in new.scores.values()]
        cells = [
            [*("" if math.isnan(score) else repr(score) for score in row), reason or ""]
            for *row, reason in zip(*scores, new.reasons, strict=True)
        ]
        self._write(unit.rows, cells)

    def _write(self, texts: Sequence[str], new: Sequence[Sequence[str]]) -> None:
        lines = []
        for text, cells in zip(texts, new, strict=True):
            bare = text.removesuffix("\r")
            end = "\r\n" if bare != text else "\n"
            lines.append(self._separator.join([bare, *map(self._cell, cells)]) + end)
        self._file.write("".join(lines).encode())

    def _cell(self, text: str) -> str:
        """A cell that reads the same whether the other cells of the file are quoted or not."""
        plain = " ".join(text.replace('"', "'").split())
        return f'"{plain}"' if self._separator in plain else plain

    def close(self) -> None:
        """Write what comes at the end."""
        _close(self._file)


def _line(name: str, numbers: Sequence[int], row: int) -> str:
    return f"{name}, line {numbers[row]}"
