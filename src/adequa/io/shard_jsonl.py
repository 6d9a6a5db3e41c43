"""Shards of JSONL, compressed or not: a line passes through as it is, with more at its end."""

from __future__ import annotations

import gzip
import json
import lzma
import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from adequa.errors import AdequaError
from adequa.io.json_rows import parsed_lines
from adequa.io.shard_rows import (
    UNIT_BYTES,
    UNIT_ROWS,
    NewColumns,
    OpenShard,
    RowWriter,
    Unit,
)
from adequa.io.shards import Shard
from adequa.io.tables import Chunk, Table, places
from adequa.io.text import stream_lines

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
