"""JSON: one object a line (JSONL), or one list of objects, as COMET takes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeGuard

from adequa.errors import AdequaError
from adequa.io.systems import stem
from adequa.io.tables import Chunk, Table, Wanted, table_segments
from adequa.io.text import FilePath, first_and_rest, lines, shown
from adequa.segments import Segments

_decode = json.JSONDecoder().raw_decode  # json.loads takes 1.6 times as long


def read_jsonl(path: FilePath, wanted: Wanted) -> Iterator[Segments]:
    """Segments from a file with one object a line."""
    name = shown(path)
    first, rest = first_and_rest(path, advance=wanted.advance)
    rows = chain([first], rest)
    column_names = tuple(
        _objects([_parsed(first, f"{name}, line 1")], _counted_from(f"{name}, line", 1))[0]
    )

    absent = _absent(column_names, wanted)

    def chunks(columns: tuple[str, ...], size: int) -> Iterator[Chunk]:
        first_line = 1
        while part := list(islice(rows, size)):
            place = _counted_from(f"{name}, line", first_line)
            yield _chunk(_parsed_lines(part, place), columns, absent, place)
            first_line += len(part)

    return table_segments(Table(name, column_names, chunks), wanted, stem(path))


def read_json_list(path: FilePath, wanted: Wanted) -> Iterator[Segments]:
    """Segments from a file that is one list of objects; it is read as a whole."""
    name = shown(path)
    text = "\n".join(lines(path, advance=wanted.advance))
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
    column_names = tuple(_objects(rows[:1], _counted_from(f"{name}, item", 1))[0])

    absent = _absent(column_names, wanted)

    def chunks(columns: tuple[str, ...], size: int) -> Iterator[Chunk]:
        for start in range(0, len(rows), size):
            place = _counted_from(f"{name}, item", start + 1)
            yield _chunk(rows[start : start + size], columns, absent, place)

    return table_segments(Table(name, column_names, chunks), wanted, stem(path))


def _absent(column_names: tuple[str, ...], wanted: Wanted) -> tuple[str, ...]:
    """Parts that are read where the first row has them, and that it has not."""
    return tuple(
        part
        for part in ("src", "system")
        if part not in column_names and part not in wanted.columns
    )


def _counted_from(prefix: str, first: int) -> Callable[[int], str]:
    return lambda row: f"{prefix} {first + row}"


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
        raise AdequaError(
            f"{place}{within} is not JSON: {error.msg} at character {error.colno}{hint}."
        ) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; deep nesting
        reason = "too deeply nested" if isinstance(error, RecursionError) else "too long a number"
        raise AdequaError(f"{place} cannot be read as JSON: {reason}.") from error


def _objects(rows: Sequence[object], place: Callable[[int], str]) -> Sequence[dict[str, object]]:
    if not _all_objects(rows):
        number = next(number for number, row in enumerate(rows) if not isinstance(row, dict))
        raise AdequaError(f"{place(number)} is not a JSON object with mt and ref.")
    return rows


def _all_objects(rows: Sequence[object]) -> TypeGuard[Sequence[dict[str, object]]]:
    return set(map(type, rows)) == {dict}


def _chunk(
    rows: Sequence[object],
    columns: tuple[str, ...],
    absent: tuple[str, ...],
    place: Callable[[int], str],
) -> Chunk:
    objects = _objects(rows, place)
    for late in absent:
        for number, row in enumerate(objects):
            if late in row:
                raise AdequaError(
                    f'{place(number)} has "{late}", which the first row has not; '
                    "give it in every row or in none."
                )
    return Chunk(
        {name: [row.get(name) for row in objects] for name in columns}, place, escapes=True
    )
