"""Tables: which column plays which part, and rows turned into segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import TypeAlias, TypeGuard

from adequa.errors import AdequaError, nearest
from adequa.io.text import Advance, FilePath
from adequa.segments import Segments

BATCH = 256  # segments; small enough that progress shows in slow metrics
PARTS = ("src", "mt", "ref", "system", "doc")
_REQUIRED = ("mt", "ref")


class NotUtf8:
    """Stands for a text whose bytes are none; a table can hold it, a segment cannot."""


_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    bytes: "bytes",
    NotUtf8: "bytes that are not UTF-8",
}
# A table given without its header may have whole sentences for names.
_LISTED_NAMES, _LISTED_LENGTH = 20, 40


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to take from a file of segments, and how."""

    columns: Mapping[str, tuple[str, ...]]  # by part, where not of the part's name
    keep_ids: tuple[str, ...]
    advance: Advance
    batch: int = BATCH
    documents: bool = False  # the document of each row, where the file tells


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some consecutive rows of a table, by column; `place` says where row i of them stands."""

    columns: Mapping[str, Sequence[object]]
    place: Callable[[int], str]
    escapes: bool = False  # in JSON, text may be spelt as \u and four digits


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is open for reading, once.

    `chunks` takes the columns to read, or None for all that there are, and a size.
    """

    name: str
    column_names: tuple[str, ...]
    chunks: Callable[[tuple[str, ...] | None, int], Iterator[Chunk]]
    ragged: bool = False  # in JSON, later rows may have more or fewer columns than the first


# Opens a table: what follows `with`, so that its file is closed.
Opener: TypeAlias = Callable[[FilePath, Advance], AbstractContextManager[Table]]


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one table that are read, by the part they play."""

    mt: str
    refs: tuple[str, ...]
    src: str | None
    system: str | None
    ids: Mapping[str, str]

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them, each once."""
        given = (self.mt, *self.refs, self.src, self.system, *self.ids.values())
        return tuple(dict.fromkeys(name for name in given if name is not None))


def column_mapping(settings: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Columns by part, from `part=NAME` as the command line takes them; `ref` may come again.

    >>> column_mapping(["mt=output", "ref=refA", "ref=refB"])
    {'mt': ('output',), 'ref': ('refA', 'refB')}
    """
    columns: dict[str, tuple[str, ...]] = {}
    for setting in settings:
        part, equals, name = setting.partition("=")
        if not equals or not name:
            raise AdequaError(f'--column takes part=NAME, such as mt=output, not "{setting}".')
        columns[part] = (*columns.get(part, ()), name)
    _check_parts(columns)
    return columns


def table_segments(table: Table, wanted: Wanted, system: str) -> Iterator[Segments]:
    """The rows of a table as segments; `system` is their system where no column says."""
    told = "doc" in wanted.columns or "doc" in table.column_names
    documents = ("doc",) if wanted.documents and told and "doc" not in wanted.keep_ids else ()
    layout = table_layout(table, wanted.columns, (*wanted.keep_ids, *documents))
    may_come_late = _absent(table, wanted)
    empty = True
    for chunk in table.chunks((*layout.columns, *may_come_late), wanted.batch):
        empty = False
        _refuse_late_columns(chunk, may_come_late)
        yield chunk_segments(chunk, layout, system)
    if empty:
        raise AdequaError(f"{table.name} has no rows: there is nothing to score.")


def table_layout(
    table: Table, columns: Mapping[str, tuple[str, ...]], keep_ids: Sequence[str]
) -> Layout:
    """Find each part's column, or say which one is missing and what there is."""
    _check_parts(columns)
    refuse_equal_names(table)

    def found(part: str) -> tuple[str, ...]:
        names = columns.get(part, (part,))
        if part not in columns and part not in _REQUIRED and part not in table.column_names:
            return ()
        for name in names:
            _check_column(table, name, f" Say which one to read with --column {part}=NAME.")
        return names

    parts = {part: found(part) for part in PARTS}
    ids = {}
    for id_name in keep_ids:
        if id_name == "system":
            continue  # always kept
        (ids[id_name],) = parts["doc"] if id_name == "doc" and parts["doc"] else (id_name,)
        advice = " Say which one to read with --column doc=NAME." if id_name == "doc" else ""
        _check_column(table, ids[id_name], advice)
    return Layout(
        mt=parts["mt"][0],
        refs=parts["ref"],
        src=next(iter(parts["src"]), None),
        system=next(iter(parts["system"]), None),
        ids=ids,
    )


def listed(column_names: Iterable[str]) -> str:
    """The names of columns as error sentences show them."""
    return ", ".join(there[:_LISTED_LENGTH] for there in islice(column_names, _LISTED_NAMES))


def refuse_equal_names(table: Table) -> None:
    """Raise where two columns of a table have one name."""
    for name, times in Counter(table.column_names).items():
        if times > 1:
            raise AdequaError(f'{table.name} has {times} columns of the name "{name}".')


def _absent(table: Table, wanted: Wanted) -> tuple[str, ...]:
    """Parts that are read where the first row has them, and that it has not."""
    if not table.ragged:
        return ()
    given = {*table.column_names, *wanted.columns}
    return tuple(part for part in ("src", "system") if part not in given)


def _refuse_late_columns(chunk: Chunk, late_names: Sequence[str]) -> None:
    for late in late_names:
        for row, value in enumerate(chunk.columns[late]):
            if value is not None:
                raise AdequaError(
                    f'{chunk.place(row)} has "{late}", which the first row has not; '
                    "give it in every row or in none."
                )


def _check_parts(columns: Mapping[str, tuple[str, ...]]) -> None:
    for part, names in columns.items():
        if part not in PARTS:
            raise AdequaError(
                f'--column {part}={names[0]}: there is no "{part}" to read.'
                f"{nearest(part, PARTS)} There are: {', '.join(PARTS)}."
            )
        if len(set(names)) < len(names):
            raise AdequaError(f"--column {part} names the same column twice.")
        if part != "ref" and len(names) > 1:
            raise AdequaError(f"--column {part} is given twice; only ref may have several columns.")


def _check_column(table: Table, name: str, advice: str) -> None:
    if name in table.column_names:
        return
    raise AdequaError(
        f'{table.name} has no column "{name}".{nearest(name, table.column_names)} '
        f"It has: {listed(table.column_names)}.{advice}"
    )


def chunk_segments(chunk: Chunk, layout: Layout, system: str) -> Segments:
    """Rows of a table as segments; the first that cannot be one is told of."""
    hypotheses = _texts(chunk, layout.mt)
    return Segments(
        hypotheses=hypotheses,
        references=joined_references(_references(chunk, name) for name in layout.refs),
        sources=None if layout.src is None else _sources(chunk, layout.src),
        ids={
            "system": (system,) * len(hypotheses)
            if layout.system is None
            else _identifiers(chunk, layout.system),
            **{id_name: _identifiers(chunk, name) for id_name, name in layout.ids.items()},
        },
    )


def _texts(chunk: Chunk, name: str) -> tuple[str, ...]:
    values = chunk.columns[name]
    if not all_text(values):
        row = next(row for row, value in enumerate(values) if not isinstance(value, str))
        raise _not_text(chunk.place(row), name, values[row])
    _refuse_surrogates(chunk, name, values)
    return tuple(values)


def _sources(chunk: Chunk, name: str) -> tuple[str, ...]:
    """Sources, which no segment must have: a missing one is an empty text."""
    filled = ["" if value is None else value for value in chunk.columns[name]]
    return _texts(replace(chunk, columns={name: filled}), name)


def _references(chunk: Chunk, name: str) -> tuple[tuple[str, ...], ...]:
    values = chunk.columns[name]
    cells: tuple[tuple[str, ...], ...]
    if all_text(values):
        cells = tuple(zip(values))
    else:
        cells = tuple(_cell(value, name, chunk.place, row) for row, value in enumerate(values))
    _refuse_surrogates(chunk, name, list(map("".join, cells)))
    if not all(cells) or not all(map(str.strip, chain.from_iterable(cells))):
        row = next(
            row for row, cell in enumerate(cells) if not (cell and all(map(str.strip, cell)))
        )
        raise AdequaError(
            f'{chunk.place(row)}: "{name}" is empty; every segment needs reference text.'
        )
    return cells


def _cell(value: object, name: str, place: Callable[[int], str], row: int) -> tuple[str, ...]:
    """One row's references, which may be a text or a list of texts."""
    cell = tuple(value) if isinstance(value, list) else (value,)
    for text in cell:
        if not isinstance(text, str):
            raise _not_text(place(row), name, text)
    return cell


def _identifiers(chunk: Chunk, name: str) -> tuple[str, ...]:
    values = chunk.columns[name]
    for row, value in enumerate(values):
        if value is None or isinstance(value, list | dict):
            raise _not_text(chunk.place(row), name, value)
        if not str(value).strip():
            raise AdequaError(f'{chunk.place(row)}: "{name}" is empty.')
    identifiers = tuple(map(str, values))
    _refuse_surrogates(chunk, name, identifiers)
    return identifiers


def all_text(values: Sequence[object]) -> TypeGuard[Sequence[str]]:
    """Whether every value is text."""
    return set(map(type, values)) <= {str}


def _not_text(place: str, name: str, value: object) -> AdequaError:
    if value is None:
        return AdequaError(f'{place} has no "{name}".')
    kind = _KINDS.get(type(value), type(value).__name__)
    return AdequaError(f'{place}: "{name}" is {kind}, not text.')


def _refuse_surrogates(chunk: Chunk, name: str, texts: Sequence[str]) -> None:
    if chunk.escapes:
        refuse_half_characters(texts, lambda row: f'{chunk.place(row)}: "{name}"')


def refuse_half_characters(texts: Sequence[str], place: Callable[[int], str]) -> None:
    """JSON may spell half a character, which would fail much later, when results are written."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        found = error.object[error.start]
        row = next(row for row, text in enumerate(texts) if found in text)
        raise AdequaError(
            f"{place(row)} holds half a character (\\u{ord(found):x}), which is no text."
        ) from error


def places(name: str, unit: str, first: int) -> Callable[[int], str]:
    """Where the rows stand that begin with this one, counted from 1.

    >>> places("a.jsonl", "line", 101)(2)
    'a.jsonl, line 103'
    """
    return lambda row: f"{name}, {unit} {first + row}"


def joined_references(parts: Iterable[Iterable[tuple[str, ...]]]) -> tuple[tuple[str, ...], ...]:
    """References of the same segments from several places, put together segment by segment.

    >>> joined_references([[("a",), ("b",)], [("A",), ("B1", "B2")]])
    (('a', 'A'), ('b', 'B1', 'B2'))
    """

    def join(
        left: Iterable[tuple[str, ...]], right: Iterable[tuple[str, ...]]
    ) -> Iterable[tuple[str, ...]]:
        return map(add, left, right)

    return tuple(reduce(join, parts))
