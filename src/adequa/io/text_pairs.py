"""Two text files of a parallel corpus, line by line: one shard, which is read and written as two.

A file has the sources, the other their translations; each may be compressed (.gz, .xz).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import PurePosixPath
from typing import BinaryIO

from adequa.errors import AdequaError
from adequa.io.columns import Chunk, OpenTable, places
from adequa.io.shards import FORMATS, UNIT_BYTES, UNIT_ROWS, LineCopier, Shard, Unit
from adequa.io.storage import storage_of
from adequa.io.text import stream_lines, text_format
from adequa.segments import BoolArray, is_blank

COLUMNS = ("mt", "src")
_BLOCK = 256  # lines that are read before their size is looked at


def text_pair(translations: str, sources: str) -> Shard:
    """The shard of two text files."""
    size = 0
    for path in (translations, sources):
        storage, inner = storage_of(path)
        if storage.is_folder(inner) or not storage.exists(inner):
            raise AdequaError(f"There is no file {path}.")
        if text_format(path) in FORMATS:
            raise AdequaError(
                f"{path} is a table by its name, and -s and -t take plain text; give it with -i."
            )
        size += storage.size(inner) or 0
    names = [PurePosixPath(path).name for path in (translations, sources)]
    if names[0] == names[1]:
        raise AdequaError(
            f"{sources} and {translations} are written to one folder, where their names would be "
            "the same; rename one of them."
        )
    paths = [storage_of(path)[0].address(storage_of(path)[1]) for path in (translations, sources)]
    return Shard(paths[0], names[0], size, source=paths[1])


class TextPair:
    """Two open text files. Rows are the pairs of their lines."""

    def __init__(self, streams: Sequence[BinaryIO], shard: Shard) -> None:
        self._shard = shard
        self._names = shard.outputs
        self._bytes_read = 0
        self._lines = [
            stream_lines(stream, name, advance=self._advance, keep_returns=True, keep_blanks=True)
            for stream, name in zip(streams, self._names, strict=True)
        ]
        self.table = OpenTable(shard.name, COLUMNS, lambda *_: iter(()), format="text")

    def _advance(self, count: int) -> None:
        self._bytes_read += count

    def units(self, columns: tuple[str, ...]) -> Iterator[Unit]:
        """All rows in units; of these columns also the values."""
        first = 1
        for rows in self._in_units():
            texts = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
            values = {name: [text.removesuffix("\r") for text in texts[name]] for name in columns}
            done = min(self._bytes_read / max(self._shard.size, 1), 1.0)
            yield Unit(Chunk(values, places(self._names[0], "line", first)), rows, len(rows), done)
            first += len(rows)

    def _in_units(self) -> Iterator[list[tuple[str, str]]]:
        unit: list[tuple[str, str]] = []
        size = 0
        pairs = self._pairs()
        while block := list(islice(pairs, _BLOCK)):
            unit += block
            size += sum(len(text) + len(source) for text, source in block)
            if len(unit) >= UNIT_ROWS or size >= UNIT_BYTES:
                yield unit
                unit, size = [], 0
        if unit:
            yield unit

    def _pairs(self) -> Iterator[tuple[str, str]]:
        """All pairs; the last line of a file may be empty, and blank ones after it are no pairs."""
        pairs = zip_longest(*self._lines)
        for number, (text, source) in enumerate(pairs, 1):
            if text is None or source is None:
                if all(map(is_blank, chain((text, source), chain.from_iterable(pairs)))):
                    return
                short, longer = self._names if text is None else self._names[::-1]
                raise AdequaError(
                    f"{short} ends after line {number - 1:,}, and {longer} goes on; every line of "
                    "one file needs its line in the other."
                )
            yield text, source

    def copier(self, sinks: Sequence[BinaryIO]) -> PairCopier:
        """A writer of some of the pairs, to two files."""
        return PairCopier(sinks, self._names)


class PairCopier:
    """Writes the lines of chosen pairs to two files, as they were read."""

    def __init__(self, sinks: Iterable[BinaryIO], names: Sequence[str]) -> None:
        self._files = [
            LineCopier(sink, name, line_of=partial(_side, side))
            for side, (sink, name) in enumerate(zip(sinks, names, strict=True))
        ]

    def write(self, unit: Unit, mask: BoolArray) -> None:
        """Write the pairs of a unit that are kept."""
        for file in self._files:
            file.write(unit, mask)

    def close(self) -> None:
        """Write what comes at the end."""
        for file in self._files:
            file.close()


def _side(side: int, row: tuple[str, str]) -> str:
    return row[side]
