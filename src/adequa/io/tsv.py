r"""TSV: a header, then one row a line; cells are cut at tabs and taken as they are.

There is no quoting: a `"` is a `"`, because translations are full of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from adequa.errors import AdequaError
from adequa.io.tables import Chunk, Table
from adequa.io.text import Advance, FilePath, first_and_rest, shown


@contextmanager
def open_tsv(path: FilePath, advance: Advance) -> Iterator[Table]:
    """A TSV file as a table."""
    name = shown(path)
    header, rows = first_and_rest(path, advance=advance)
    column_names = tuple(header.split("\t"))

    def chunks(columns: tuple[str, ...] | None, size: int) -> Iterator[Chunk]:
        wanted = column_names if columns is None else columns
        first_line = 2
        while part := list(islice(rows, size)):
            yield _chunk(name, column_names, wanted, first_line, part)
            first_line += len(part)

    yield Table(name, column_names, chunks)


def _chunk(
    name: str, header: tuple[str, ...], columns: tuple[str, ...], first_line: int, part: list[str]
) -> Chunk:
    cells = [line.split("\t") for line in part]
    if set(map(len, cells)) != {len(header)}:
        row = next(row for row, found in enumerate(cells) if len(found) != len(header))
        raise AdequaError(
            f"{name}, line {first_line + row} has {_cells(len(cells[row]))}, "
            f"but the header names {len(header)}."
        )
    by_column = dict(zip(header, zip(*cells, strict=True), strict=True))
    return Chunk(
        {column: by_column[column] for column in columns},
        lambda row: f"{name}, line {first_line + row}",
    )


def _cells(count: int) -> str:
    return f"{count} cell{'s' if count > 1 else ''}"
