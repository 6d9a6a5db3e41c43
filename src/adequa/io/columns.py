"""Columns of tables: which column holds which field, and rows turned into segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from shlex import quote
from typing import Literal, TypeAlias, TypeGuard, TypeVar

from adequa.errors import AdequaError, nearest
from adequa.io.text import Advance
from adequa.segments import (
    COLUMN_NAMES,
    MIXED_REFERENCES,
    Frame,
    Segments,
    is_blank,
    joined_references,
)

Values = TypeVar("Values")
# How cells of TSV and CSV are quoted: as the file shows, as RFC 4180 has it, or not at all.
Quoting: TypeAlias = Literal["auto", "rfc4180", "none"]
UsedQuoting: TypeAlias = Literal["rfc4180", "none"]

# The names under which a table may have each field, the usual one first.
FIELDS: Mapping[str, tuple[str, ...]] = {
    **COLUMN_NAMES,
    "system": ("system",),
    "doc": ("doc",),
    "lp": ("lp",),
}
_FIELD_OF = {name: field for field, names in FIELDS.items() for name in names}


def field_columns(
    names: Sequence[str],
    mapping: Mapping[str, Sequence[str]] | None = None,
    *,
    table: str = "The table",
) -> dict[str, tuple[str, ...]]:
    """The columns of each field that a table has, by `mapping` or else by the names in `FIELDS`.

    >>> field_columns(["source", "translation", "ref", "id"])
    {'mt': ('translation',), 'ref': ('ref',), 'src': ('source',)}
    >>> field_columns(["mt", "refA", "refB"], {"ref": ["refA", "refB"]})
    {'mt': ('mt',), 'ref': ('refA', 'refB')}
    """
    mapping = mapping or {}
    _check_mapping(mapping)
    mapped = {name for columns in mapping.values() for name in columns}
    fields: dict[str, tuple[str, ...]] = {}
    for field, aliases in FIELDS.items():
        if field in mapping:
            for name in mapping[field]:
                _check_column(table, names, name, field)
            fields[field] = tuple(mapping[field])
            continue
        present = [name for name in aliases if name in names and name not in mapped]
        if not present and aliases[0] in names:
            present = [field]  # which is read as another field too
        if len(present) > 1:
            raise _same_field(table, present, f"say which one to read with --column {field}=NAME")
        if present:
            fields[field] = tuple(present)
    return fields


def with_usual_names(columns: Mapping[str, Values], table: str) -> dict[str, Values]:
    """Columns, or one row, under the usual names of their fields.

    Two columns that name one field are refused, as `field_columns` refuses them.

    >>> with_usual_names({"id": 1, "translation": "a", "reference": "b"}, "t.jsonl")
    {'id': 1, 'mt': 'a', 'ref': 'b'}
    """
    usual_names = {}
    for aliases in FIELDS.values():
        present = [name for name in aliases if name in columns]
        if len(present) > 1:
            raise _same_field(table, present, "leave one of them out, or rename it")
        if present:
            usual_names[present[0]] = aliases[0]
    return {usual_names.get(name, name): values for name, values in columns.items()}


def _same_field(table: str, names: Sequence[str], advice: str) -> AdequaError:
    both = " and ".join(f'"{name}"' for name in names)
    return AdequaError(f"{table} has the columns {both}, which name the same field; {advice}.")


def column_mapping(settings: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Columns by field, from `field=NAME` as the command line takes them; `ref` may be repeated.

    >>> column_mapping(["mt=output", "ref=refA", "ref=refB"])
    {'mt': ('output',), 'ref': ('refA', 'refB')}
    """
    columns: dict[str, tuple[str, ...]] = {}
    for setting in settings:
        field, equals, name = setting.partition("=")
        if not equals or not name:
            raise AdequaError(f'--column takes field=NAME, such as mt=output, not "{setting}".')
        field = _FIELD_OF.get(field, field)
        columns[field] = (*columns.get(field, ()), name)
    _check_mapping(columns)
    return columns


def _check_mapping(mapping: Mapping[str, Sequence[str]]) -> None:
    for field, names in mapping.items():
        if field not in FIELDS:
            raise AdequaError(
                f'--column {field}={names[0]}: there is no "{field}" to read.'
                f"{nearest(field, FIELDS)} There are: {', '.join(FIELDS)}."
            )
        if len(set(names)) < len(names):
            raise AdequaError(f"--column {field} names the same column twice.")
        if field != "ref" and len(names) > 1:
            raise AdequaError(
                f"--column {field} is given twice; only ref may have several columns."
            )


def _check_column(table: str, names: Sequence[str], name: str, field: str = "") -> None:
    if name in names:
        return
    advice = f" Say which one to read with --column {field}=NAME." if field else ""
    others = [each for each in names if each and each not in _FIELD_OF]
    if field == "mt" and len(others) > 1 and any(each in names for each in FIELDS["ref"]):
        plain = [each for each in others if "," not in each]
        example = plain[:2] if len(plain) > 1 else ["NAME", "NAME"]
        option = f"--systems {quote(','.join(example))}"
        advice += f" Where each system has a column, name them all: {option}"
    raise AdequaError(
        f'{table} has no column "{name}".{nearest(name, names)} It has: {listed(names)}.{advice}'
    )


# A table given without its header may have whole sentences for names.
_LISTED_NAMES, _LISTED_LENGTH = 20, 40


def listed(names: Iterable[str]) -> str:
    """The names of columns as error sentences show them."""
    return ", ".join(name[:_LISTED_LENGTH] for name in islice(names, _LISTED_NAMES))


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to read from a file of segments, and how."""

    columns: Mapping[str, tuple[str, ...]]  # by field, where its column has another name
    keep_ids: tuple[str, ...]
    advance: Advance
    batch: int
    documents: bool = False  # whether to read the document of each row, where there is one
    quoting: Quoting = "auto"
    systems: tuple[str, ...] = ()  # columns that hold one system each


class NotUtf8:
    """Stands for text whose bytes are not UTF-8; a table can hold it, a segment cannot."""


_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    bytes: "bytes",
    NotUtf8: "bytes that are not UTF-8",
}


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of a table, by column; `place(i)` names the file and the line of row i."""

    columns: Mapping[str, Sequence[object]]
    place: Callable[[int], str]
    escapes: bool = False  # in JSON and XLSX, any code may be spelt in four digits


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table that is open for reading, once.

    `chunks` takes the columns to read (None for all) and the number of rows of a chunk.
    """

    name: str
    column_names: tuple[str, ...]
    chunks: Callable[[tuple[str, ...] | None, int], Iterator[Chunk]]
    ragged: bool = False  # in JSON, later rows may have more or fewer columns than the first
    format: str = "TSV"
    selection: str = ""  # the sheet, of a workbook that has several
    quoting: Callable[[], UsedQuoting | None] = lambda: None  # once all rows are read


def frame_table(frame: Frame) -> OpenTable:
    """A data frame as a table."""
    names, name = tuple(map(str, frame.columns)), "The data frame"

    def chunks(columns: tuple[str, ...] | None, _size: int) -> Iterator[Chunk]:
        values = {each: list(map(_without_nan, frame[each])) for each in columns or names}
        if any(values.values()):
            yield Chunk(values, places(name, "row", 1))

    return OpenTable(name, names, chunks, format="data frame")


def _without_nan(value: object) -> object:
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one table that are read, by field."""

    mt: str
    refs: tuple[str, ...]
    src: str | None
    system: str | None
    ids: Mapping[str, str]

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them, each once."""
        names = (self.mt, *self.refs, self.src, self.system, *self.ids.values())
        return tuple(dict.fromkeys(name for name in names if name is not None))


def table_segments(table: OpenTable, options: ReadOptions, system: str) -> Iterator[Segments]:
    """The rows of a table as segments; `system` is their system where no column says."""
    has_documents = "doc" in options.columns or "doc" in table.column_names
    documents = ("doc",) if options.documents and has_documents else ()
    pairs = ("lp",) if "lp" in options.columns or "lp" in table.column_names else ()
    id_names = tuple(dict.fromkeys((*options.keep_ids, *documents, *pairs)))
    layout = table_layout(table, options.columns, id_names, options.systems)
    late_names = _late_names(table, layout, options)
    columns = (*layout.columns, *options.systems, *late_names)
    read: Layout | None = None  # as the first chunk shows it
    for chunk in table.chunks(tuple(dict.fromkeys(columns)), options.batch):
        _refuse_late_columns(chunk, late_names)
        read = read or _without_blank_references(chunk, layout)
        _refuse_mixed_references(chunk, layout, has_references=bool(read.refs))
        segments = chunk_segments(chunk, read, system)
        if not options.systems:
            yield segments
        for name in options.systems:  # which share one `references` object
            texts, ids = _texts(chunk, name), {"system": (name,) * len(segments)}
            yield replace(segments, hypotheses=texts, ids={**segments.ids, **ids})
    if read is None:
        raise AdequaError(f"{table.name} has no rows: there is nothing to score.")


def table_layout(
    table: OpenTable,
    mapping: Mapping[str, tuple[str, ...]],
    keep_ids: Sequence[str],
    systems: Sequence[str] = (),
) -> Layout:
    """Find the column of each field, or say which one is missing and which there are.

    `systems` are columns of hypotheses in place of `mt`, which then is the first of them.
    """
    refuse_equal_names(table)
    names = table.column_names
    if systems:
        mapping = {**mapping, "mt": _first_system(table.name, names, mapping, systems)}
    fields = field_columns(names, mapping, table=table.name)
    # Sources serve for metrics that need no reference.
    for field in ("mt", *(() if "src" in fields else ("ref",))):
        if field not in fields:
            _check_column(table.name, names, field, field)
    if systems:
        fields.pop("system", None)
    ids = {}
    for id_name in keep_ids:
        if id_name != "system":  # which is always read
            is_field = id_name in {"doc", "lp"}
            (ids[id_name],) = fields.get(id_name, (id_name,)) if is_field else (id_name,)
            _check_column(table.name, names, ids[id_name], id_name if is_field else "")
    return Layout(
        mt=fields["mt"][0],
        refs=fields.get("ref", ()),
        src=next(iter(fields.get("src", ())), None),
        system=next(iter(fields.get("system", ())), None),
        ids=ids,
    )


def _first_system(
    table: str,
    names: Sequence[str],
    mapping: Mapping[str, tuple[str, ...]],
    systems: Sequence[str],
) -> tuple[str]:
    """The first of the columns that hold a system each, after a check of all of them."""
    if "mt" in mapping:
        raise AdequaError("--systems names the columns of hypotheses; leave --column mt= out.")
    for name, times in Counter(systems).items():
        if name not in names:
            raise AdequaError(
                f'{table} has no column "{name}".{nearest(name, names)} It has: {listed(names)}. '
                "--systems takes names of columns, with commas in between."
            )
        if times > 1:
            raise AdequaError(f'--systems names the column "{name}" twice.')
        if name in mapping.get("ref", ()) or ("ref" not in mapping and name in FIELDS["ref"]):
            raise AdequaError(f'--systems names "{name}", which is the column of references.')
    return (systems[0],)


def refuse_equal_names(table: OpenTable) -> None:
    """Raise where two columns of a table have one name."""
    for name, times in Counter(table.column_names).items():
        if times > 1:
            raise AdequaError(f'{table.name} has {times} columns of the name "{name}".')


def _late_names(table: OpenTable, layout: Layout, options: ReadOptions) -> tuple[str, ...]:
    """Columns of optional fields that the first row lacks, so that later rows may not have them."""
    if not table.ragged:
        return ()
    present = {"src": layout.src, "system": layout.system, "ref": layout.refs}
    absent = [field for field, columns in present.items() if not columns]
    mapped = {*chain.from_iterable(options.columns.values())}
    return tuple(name for field in absent for name in FIELDS[field] if name not in mapped)


def _refuse_late_columns(chunk: Chunk, names: Sequence[str]) -> None:
    for name in names:
        for row, value in enumerate(chunk.columns[name]):
            if not is_blank(value):
                raise AdequaError(
                    f'{chunk.place(row)} has "{name}", which the first row has not; '
                    "give it in every row or in none."
                )


def _without_blank_references(chunk: Chunk, layout: Layout) -> Layout:
    """The layout without columns of references that are empty throughout, beside sources."""
    if layout.src is not None and all(lacks_references(chunk, layout)):
        return replace(layout, refs=())
    return layout


def _refuse_mixed_references(chunk: Chunk, layout: Layout, *, has_references: bool) -> None:
    """Raise where there are sources, and a row differs from the first in having references."""
    if layout.src is None or not layout.refs:
        return
    lacking = lacks_references(chunk, layout)
    if has_references in lacking:
        row = lacking.index(has_references)
        raise AdequaError(f"{chunk.place(row)}: {MIXED_REFERENCES}.")


def lacks_references(chunk: Chunk, layout: Layout) -> list[bool]:
    """Whether each row has no text in any column of references."""
    cells = [chunk.columns[name] for name in layout.refs]
    return [all(map(is_blank, row)) for row in zip(*cells, strict=True)]


def chunk_segments(chunk: Chunk, layout: Layout, system: str) -> Segments:
    """Rows of a table as segments; raise for the first row that cannot be one."""
    hypotheses = _texts(chunk, layout.mt)
    sources = None if layout.src is None else _sources(chunk, layout.src)
    references: tuple[tuple[str, ...], ...] = ((),) * len(hypotheses)
    if layout.refs:
        references = joined_references([_references(chunk, name) for name in layout.refs])
    elif sources is not None and not all(map(str.strip, sources)):
        row = next(row for row, text in enumerate(sources) if not text.strip())
        raise AdequaError(
            f'{chunk.place(row)}: "{layout.src}" is empty, and there is no reference either.'
        )
    return Segments(
        hypotheses=hypotheses,
        references=references,
        sources=sources,
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
    """Raise for half a character, which would fail much later, when results are written."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        row = next(row for row, text in enumerate(texts) if half in text)
        raise AdequaError(
            f"{place(row)} holds half a character (\\u{ord(half):x}), which is no text."
        ) from error


def places(name: str, unit: str, first: int) -> Callable[[int], str]:
    """Where the rows stand that begin with this one, counted from 1.

    >>> places("a.jsonl", "line", 101)(2)
    'a.jsonl, line 103'
    """
    return lambda row: f"{name}, {unit} {first + row}"
