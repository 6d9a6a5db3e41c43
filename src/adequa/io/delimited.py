"""TSV, CSV, JSONL and JSON files as tables.

JSON is one object per line (JSONL), or one list of objects, as COMET takes it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, count, islice
from typing import Any, TypeAlias, TypeVar

from adequa.errors import AdequaError, counted
from adequa.io.columns import FIELDS, Chunk, OpenTable, Quoting, places
from adequa.io.quoting import DelimitedRows
from adequa.io.text import Advance, FilePath, display_name, first_and_rest, text_format

Columns: TypeAlias = tuple[str, ...] | None  # to read; None for all
Place: TypeAlias = Callable[[int], str]  # the file and the line of a row
Row = TypeVar("Row")
Batch: TypeAlias = tuple[Sequence[int], Sequence[list[str]]]  # numbers of lines, and cells


@contextmanager
def open_text_table(
    path: FilePath, advance: Advance, quoting: Quoting = "auto"
) -> Iterator[OpenTable]:
    """Open a TSV, CSV, JSONL or JSON file as a table.

    Standard input and pipes have no suffix: their first character tells the format. Blank lines
    before it are skipped.
    """
    by_suffix = {".jsonl": _jsonl_table, ".json": _json_table}
    by_character = {"{": _jsonl_table, "[": _json_table}
    suffix = text_format(path)
    is_json = suffix in by_suffix
    first, rest = first_and_rest(path, advance=advance, keep_returns=not is_json)
    number = 1
    while not first.strip() and (following := next(rest, None)) is not None:
        first, number = following, number + 1
    json_table = by_suffix.get(suffix)
    if suffix not in {".tsv", ".csv", *by_suffix}:
        json_table = by_character.get(first.lstrip()[:1])
    if json_table is None:
        rows = DelimitedRows(
            display_name(path), chain([first], rest), quoting, number, is_csv=suffix == ".csv"
        )
        yield delimited_table(rows)
    else:
        stripped = rest if is_json else (line.removesuffix("\r") for line in rest)
        yield json_table(display_name(path), first.removesuffix("\r"), stripped, number)


def delimited_table(rows: DelimitedRows) -> OpenTable:
    """A TSV or CSV table, without columns at the end that have neither a name nor a cell.

    Spreadsheets write them, and rows of separators alone at the end, where cells were once filled.
    """
    name = rows.name
    column_names = _column_names(rows.header)
    width = len(column_names)

    def chunks(columns: Columns, size: int) -> Iterator[Chunk]:
        for numbers, written in _without_blank_end(rows.batches(size)):
            whole = len(rows.header)
            cells = written if whole == width else [_cut(row, width, whole) for row in written]
            if set(map(len, cells)) != {width}:
                row = next(row for row, each in enumerate(cells) if len(each) != width)
                raise AdequaError(
                    f"{name}, line {numbers[row]} has {counted(len(cells[row]), 'cell')}, "
                    f"but the header names {width}."
                )
            by_column = dict(zip(column_names, zip(*cells, strict=True), strict=True))
            place = partial(_line, name, numbers)
            yield Chunk({column: by_column[column] for column in columns or column_names}, place)

    return OpenTable(name, column_names, chunks, format=rows.format, quoting=lambda: rows.used)


def _column_names(header: Sequence[str]) -> tuple[str, ...]:
    """Names of columns; where several have none, they are numbered, less those at the end.

    >>> _column_names(["", "mt", "ref"]), _column_names(["mt", "", "ref", "", ""])
    (('', 'mt', 'ref'), ('mt', 'column 2', 'ref'))
    """
    if header.count("") < 2 or not any(header):  # noqa: PLR2004  # one, as of the index in pandas
        return tuple(header)
    width = max(number for number, name in enumerate(header, 1) if name)
    return tuple(name or f"column {number}" for number, name in enumerate(header[:width], 1))


def _cut(cells: list[str], width: int, whole: int) -> list[str]:
    """The named cells of a row that has all cells, if the others are empty; else the row."""
    return cells[:width] if len(cells) == whole and not any(cells[width:]) else cells


def _without_blank_end(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The same rows, less those at the end that consist of empty cells."""
    blank_numbers: list[int] = []
    blank_rows: list[list[str]] = []
    for numbers, cells in batches:
        filled = len(cells)
        while filled and not any(cells[filled - 1]) and len(cells[filled - 1]) > 1:
            filled -= 1
        if filled and blank_rows:
            yield blank_numbers, blank_rows
            blank_numbers, blank_rows = [], []
        if filled:
            yield numbers[:filled], cells[:filled]
        blank_numbers += numbers[filled:]
        blank_rows += cells[filled:]


def _line(name: str, numbers: Sequence[int], row: int) -> str:
    return f"{name}, line {numbers[row]}"


def _jsonl_table(name: str, first: str, rest: Iterable[str], number: int = 1) -> OpenTable:
    place = places(name, "line", number)
    column_names = tuple(parsed_lines([first], place)[0])

    def chunk(lines: Sequence[str], columns: Columns, place: Place) -> Chunk:
        return _json_chunk(parsed_lines(lines, place), columns, column_names, place)

    return OpenTable(
        name,
        column_names,
        _in_chunks(chain([first], rest), place, chunk),
        ragged=True,
        format="JSONL",
    )


def _json_table(name: str, first: str, rest: Iterable[str], number: int = 1) -> OpenTable:
    """A file that is one list of objects, which is read as a whole."""
    text = "\n" * (number - 1) + "\n".join([first, *rest])  # lines count from the first
    if not text.strip():
        raise AdequaError(f"{name} is empty: there is nothing to score.")
    rows = _parsed(text, name)
    if not isinstance(rows, list):
        raise AdequaError(
            f"{name} is not a list of objects with src, mt and ref; "
            "with one object per line, its name should end in .jsonl."
        )
    if not rows:
        raise AdequaError(f"{name} has no rows: there is nothing to score.")
    place = places(name, "item", 1)
    column_names = tuple(_objects(rows[:1], place)[0])

    def chunk(part: Sequence[object], columns: Columns, place: Place) -> Chunk:
        return _json_chunk(_objects(part, place), columns, column_names, place)

    return OpenTable(name, column_names, _in_chunks(rows, place, chunk), ragged=True, format="JSON")


def _in_chunks(
    rows: Iterable[Row],
    place: Place,
    chunk: Callable[[Sequence[Row], Columns, Place], Chunk],
) -> Callable[[Columns, int], Iterator[Chunk]]:
    """The `chunks` of a table from its rows; `place` names each by its index."""
    left = iter(rows)

    def chunks(columns: Columns, size: int) -> Iterator[Chunk]:
        for start in count(step=size):
            part = list(islice(left, size))
            if not part:
                return
            yield chunk(part, columns, partial(_shifted, place, start))

    return chunks


def _shifted(place: Place, start: int, row: int) -> str:
    return place(start + row)


# Names that are read; others pass through files of scores as they are, however often they come.
_NAMES = {*chain.from_iterable(FIELDS.values()), "candidates", "id", "score", "segment"}


class _RepeatedNameError(ValueError):
    """A JSON object has two values of one name, of which Python would take the last in silence."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) != len(pairs):
        repeated = [name for name, count in Counter(n for n, _ in pairs).items() if count > 1]
        for name in sorted(_NAMES.intersection(repeated)):
            raise _RepeatedNameError(f'it has "{name}" twice in one object')
    return named


# json.loads takes 1.6 times as long.
_decode = json.JSONDecoder(object_pairs_hook=_object).raw_decode


def parsed_lines(part: Sequence[str], place: Place) -> Sequence[dict[str, Any]]:
    """The objects of lines, one each; `place(i)` names the file and the number of line i."""
    try:
        decoded = [_decode(line) for line in part]
    except (ValueError, RecursionError):
        decoded = []
    if decoded and all(end == len(line) for line, (_, end) in zip(part, decoded, strict=True)):
        return _objects([value for value, _ in decoded], place)
    # Something is wrong, or there are spaces around an object: the slow way knows what and where.
    return _objects([_parsed(line, place(row)) for row, line in enumerate(part)], place)


def _parsed(text: str, place: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        within = f", line {error.lineno}" if "\n" in text else ""
        hint = "; with one object per line, its name should end in .jsonl" if within else ""
        hint = hint if error.msg == "Extra data" else ""
        reason = error.msg.removesuffix(" at")
        raise AdequaError(
            f"{place}{within} is not JSON: {reason} at character {error.colno}{hint}."
        ) from error
    except _RepeatedNameError as error:
        raise AdequaError(f"{place} cannot be read as JSON: {error}.") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; deep nesting
        reason = "too deeply nested" if isinstance(error, RecursionError) else "too long a number"
        raise AdequaError(f"{place} cannot be read as JSON: {reason}.") from error


def _objects(rows: Sequence[Any], place: Place) -> Sequence[dict[str, Any]]:
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise AdequaError(f"{place(index)} is not a JSON object with mt and ref.")
    return rows


def _json_chunk(
    objects: Sequence[dict[str, Any]],
    columns: Columns,
    first_row: tuple[str, ...],
    place: Place,
) -> Chunk:
    if columns is None:
        columns = tuple(dict.fromkeys(chain(first_row, chain.from_iterable(objects))))
    return Chunk(
        {name: [row.get(name) for row in objects] for name in columns}, place, escapes=True
    )
