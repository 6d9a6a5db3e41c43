r"""TSV, JSONL and JSON files as tables.

TSV has no quoting: cells are cut at tabs, and a `"` is a `"`, because translations are full of
them. JSON is one object a line (JSONL), or one list of objects, as COMET takes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeGuard

from adequa.errors import AdequaError, counted
from adequa.io.columns import Chunk, OpenTable, places
from adequa.io.text import Advance, FilePath, display_name, first_and_rest


@contextmanager
def open_tsv(path: FilePath, advance: Advance) -> Iterator[OpenTable]:
    """Open a TSV file as a table."""
    yield _tsv_table(display_name(path), *first_and_rest(path, advance=advance))


@contextmanager
def open_jsonl(path: FilePath, advance: Advance) -> Iterator[OpenTable]:
    """Open a file with one object a line as a table."""
    yield _jsonl_table(display_name(path), *first_and_rest(path, advance=advance))


@contextmanager
def open_json_list(path: FilePath, advance: Advance) -> Iterator[OpenTable]:
    """Open a file that is one list of objects as a table; it is read as a whole."""
    yield _json_table(display_name(path), *first_and_rest(path, advance=advance))


@contextmanager
def open_stream(path: FilePath, advance: Advance) -> Iterator[OpenTable]:
    """Open standard input or a pipe, which is TSV, JSONL or JSON by its first character."""
    first, rest = first_and_rest(path, advance=advance)
    tables = {"{": _jsonl_table, "[": _json_table}
    yield tables.get(first.lstrip()[:1], _tsv_table)(display_name(path), first, rest)


def _tsv_table(name: str, header: str, rows: Iterator[str]) -> OpenTable:
    column_names = tuple(header.split("\t"))

    def chunks(columns: tuple[str, ...] | None, size: int) -> Iterator[Chunk]:
        selected = column_names if columns is None else columns
        first_line = 2
        while part := list(islice(rows, size)):
            yield _tsv_chunk(column_names, selected, part, places(name, "line", first_line))
            first_line += len(part)

    return OpenTable(name, column_names, chunks)


def _tsv_chunk(
    header: tuple[str, ...],
    columns: tuple[str, ...],
    lines: list[str],
    place: Callable[[int], str],
) -> Chunk:
    cells = [line.split("\t") for line in lines]
    if set(map(len, cells)) != {len(header)}:
        row = next(row for row, line in enumerate(cells) if len(line) != len(header))
        raise AdequaError(
            f"{place(row)} has {counted(len(cells[row]), 'cell')}, "
            f"but the header names {len(header)}."
        )
    by_column = dict(zip(header, zip(*cells, strict=True), strict=True))
    return Chunk({column: by_column[column] for column in columns}, place)


def _jsonl_table(name: str, first: str, rest: Iterable[str]) -> OpenTable:
    rows = chain([first], rest)
    column_names = tuple(_objects([_parsed(first, f"{name}, line 1")], places(name, "line", 1))[0])

    def chunks(columns: tuple[str, ...] | None, size: int) -> Iterator[Chunk]:
        first_line = 1
        while part := list(islice(rows, size)):
            place = places(name, "line", first_line)
            yield _json_chunk(_parsed_lines(part, place), columns, column_names, place)
            first_line += len(part)

    return OpenTable(name, column_names, chunks, ragged=True)


def _json_table(name: str, first: str, rest: Iterable[str]) -> OpenTable:
    text = "\n".join([first, *rest])
    if not text.strip():
        raise AdequaError(f"{name} is empty: there is nothing to score.")
    rows = _parsed(text, name)
    if not isinstance(rows, list):
        raise AdequaError(
            f"{name} is not a list of objects with src, mt and ref; "
            "with one object a line, its name should end in .jsonl."
        )
    if not rows:
        raise AdequaError(f"{name} has no rows: there is nothing to score.")
    column_names = tuple(_objects(rows[:1], places(name, "item", 1))[0])

    def chunks(columns: tuple[str, ...] | None, size: int) -> Iterator[Chunk]:
        for start in range(0, len(rows), size):
            place = places(name, "item", start + 1)
            yield _json_chunk(rows[start : start + size], columns, column_names, place)

    return OpenTable(name, column_names, chunks, ragged=True)


_decode = json.JSONDecoder().raw_decode  # json.loads takes 1.6 times as long


def parsed_lines(part: Sequence[str], place: Callable[[int], str]) -> list[dict[str, Any]]:
    """The objects of lines, one each; `place(i)` names the file and the number of line i."""
    return list(_objects(_parsed_lines(part, place), place)) if part else []


def _parsed_lines(part: Sequence[str], place: Callable[[int], str]) -> list[object]:
    try:
        decoded = [_decode(line) for line in part]
    except (ValueError, RecursionError):
        decoded = []
    if decoded and all(end == len(line) for line, (_, end) in zip(part, decoded, strict=True)):
        return [value for value, _ in decoded]
    # Something is wrong, or there are spaces around an object: the slow way knows what and where.
    return [_parsed(line, place(row)) for row, line in enumerate(part)]


def _parsed(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        within = f", line {error.lineno}" if "\n" in text else ""
        hint = "; with one object a line, its name should end in .jsonl" if within else ""
        hint = hint if error.msg == "Extra data" else ""
        reason = error.msg.removesuffix(" at")
        raise AdequaError(
            f"{place}{within} is not JSON: {reason} at character {error.colno}{hint}."
        ) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; deep nesting
        reason = "too deeply nested" if isinstance(error, RecursionError) else "too long a number"
        raise AdequaError(f"{place} cannot be read as JSON: {reason}.") from error


def _objects(rows: Sequence[object], place: Callable[[int], str]) -> Sequence[dict[str, object]]:
    if not _all_objects(rows):
        index = next(index for index, row in enumerate(rows) if not isinstance(row, dict))
        raise AdequaError(f"{place(index)} is not a JSON object with mt and ref.")
    return rows


def _all_objects(rows: Sequence[object]) -> TypeGuard[Sequence[dict[str, object]]]:
    return set(map(type, rows)) == {dict}


def _json_chunk(
    rows: Sequence[object],
    columns: tuple[str, ...] | None,
    first_row: tuple[str, ...],
    place: Callable[[int], str],
) -> Chunk:
    objects = _objects(rows, place)
    if columns is None:
        columns = tuple(dict.fromkeys(chain(first_row, chain.from_iterable(objects))))
    return Chunk(
        {name: [row.get(name) for row in objects] for name in columns}, place, escapes=True
    )
