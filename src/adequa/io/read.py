"""Readers of segments: one file that holds everything, or parallel files line by line."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from adequa.errors import AdequaError, counted
from adequa.io.text import (
    Advance,
    FilePath,
    MemoryFile,
    Track,
    decoded_path,
    display_name,
    file_size,
    ignore,
    is_stdin,
    lines,
    stem,
    text_format,
)
from adequa.segments import UNNAMED, Frame, Segments, as_tuple, concatenate, joined_references

if TYPE_CHECKING:
    from adequa.io.columns import OpenTable, Quoting, ReadOptions, UsedQuoting
    from adequa.io.wmt import MarkedUp, TextKind

BATCH = 256  # segments; small enough that progress shows in slow metrics
TABLES = (".tsv", ".csv", ".xlsx", ".jsonl", ".json", ".parquet")
# XLIFF, also as Trados, memoQ and Phrase name it, and translation memories.
_BILINGUAL = (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff", ".tmx")
# All formats that hold everything in one file: tables, WMT mark-up, and XLIFF.
_MARKED_UP = (".xml", ".sgm", ".sgml", *_BILINGUAL)
READERS = (*TABLES, *_MARKED_UP)
_WMT_IDS = ("system", "doc")
PLAIN_TEXT = "text"
Role: TypeAlias = Literal["table", "hypotheses", "references", "source"]


@dataclass(frozen=True, slots=True)
class InputSummary:
    """What was read from one file.

    >>> print(InputSummary("ref.sgm", "WMT SGM", "references", 2998, references=1))
    ref.sgm: 2,998 segments, 1 reference
    """

    name: str
    format: str  # such as TSV; `PLAIN_TEXT` for one segment per line
    role: Role
    segments: int  # of the system that has most
    references: int | None = None  # of the segment that has most; None for a file that has none
    systems: tuple[str, ...] = ()
    sources: bool = False  # whether there are sources
    quoting: UsedQuoting | None = None  # None where no cell could be quoted
    selection: str = ""  # what was read of a file that has more: a sheet, or two languages

    def __str__(self) -> str:
        parts = [counted(self.segments, "segment")]
        if len(self.systems) > 1 or self.role == "table":
            parts.append(counted(len(self.systems), "system"))
        if self.references is not None:
            parts.append(counted(self.references, "reference"))
        if self.quoting is not None:
            parts.append("quoted cells" if self.quoting == "rfc4180" else "quotation marks as text")
        return f"{self.name}: {', '.join([*parts, *filter(None, [self.selection])])}"

    def to_dict(self) -> dict[str, Any]:
        """The fields, and the summary as a sentence, which says what was selected."""
        fields = {**asdict(self), "systems": list(self.systems), "text": str(self)}
        del fields["selection"]
        return fields


# Called with the summary of each file once everything is read.
Describe: TypeAlias = Callable[[InputSummary], None]


def read_table(
    path: FilePath,
    *,
    columns: Mapping[str, tuple[str, ...]] | None = None,
    keep_ids: tuple[str, ...] = (),
    documents: bool = False,
    quoting: Quoting = "auto",
    systems: Sequence[str] = (),
    language: str | None = None,
    describe: Describe | None = None,
    advance: Advance | None = None,
    batch: int = BATCH,
) -> Iterator[Segments]:
    """Segments from one file that holds everything, in batches; `-` is standard input.

    `columns` names the column of a field (`src`, `mt`, `ref`, `system`, `doc`) that is not found by
    its name. The id `system` is always read, others where `keep_ids` names them, and `doc` also
    with `documents`, where the file has it. A batch may hold rows of multiple systems. `systems`
    are columns that hold one system each, in place of `mt`; every batch then comes once a system.

    `describe` is called with a summary of the file after the last batch.
    """
    from adequa.io.columns import ReadOptions  # noqa: PLC0415  # tables only

    options = ReadOptions(
        columns or {}, keep_ids, advance or ignore, batch, documents, quoting, tuple(systems)
    )
    suffix = format_suffix(path)
    if suffix in TABLES:
        yield from _read_columns(path, options, describe)
    elif suffix in READERS:
        yield from _read_marked_up(path, options, language, describe)
    else:
        raise AdequaError(
            f"{display_name(path)} is of no known format. The name of the file "
            f"should end in {', '.join(READERS)}; plain text goes in by -t and -r."
        )


def _read_columns(
    path: FilePath, options: ReadOptions, describe: Describe | None
) -> Iterator[Segments]:
    with open_table(path, options.advance, options.quoting) as table:
        yield from _table_segments(table, options, stem(path), describe)


def _table_segments(
    table: OpenTable, options: ReadOptions, system: str, describe: Describe | None
) -> Iterator[Segments]:
    from adequa.io.columns import table_segments  # noqa: PLC0415  # tables only

    tally = _Tally()
    for segments in table_segments(table, options, system):
        if describe is not None:
            tally.add(segments)
        yield segments
    if describe is not None:
        summary = tally.summary(table.name, table.format, table.quoting())
        describe(replace(summary, selection=table.selection))


@dataclass(slots=True)
class _Tally:
    """Counts what comes from one table."""

    rows: Counter[str] = field(default_factory=Counter)  # by system
    references: int = 0
    sources: bool = False

    def add(self, segments: Segments) -> None:
        self.rows.update(segments.ids["system"])
        self.references = max(self.references, *map(len, segments.references))
        self.sources = self.sources or segments.sources is not None

    def summary(self, name: str, format_: str, quoting: UsedQuoting | None = None) -> InputSummary:
        return InputSummary(
            name,
            format_,
            "table",
            max(self.rows.values()),
            self.references,
            tuple(self.rows),
            self.sources,
            quoting,
        )


def open_table(
    path: FilePath, advance: Advance, quoting: Quoting = "auto"
) -> AbstractContextManager[OpenTable]:
    """Open a file of one of the formats in `TABLES`."""
    if format_suffix(path) == ".parquet":
        from adequa.io.parquet import open_parquet  # noqa: PLC0415  # an extra

        return open_parquet(path, advance)
    if format_suffix(path) == ".xlsx":
        from adequa.io.xlsx import open_xlsx  # noqa: PLC0415  # an extra

        return open_xlsx(path, advance)
    from adequa.io.delimited import open_text_table  # noqa: PLC0415  # tables only

    return open_text_table(path, advance, quoting)


def format_suffix(path: FilePath) -> str:
    """The suffix of a file's format; .tsv for standard input and pipes, which may be JSON too."""
    if _is_stream(path):
        return ".tsv"
    suffix = text_format(path)
    return ".xlsx" if suffix.startswith(".xlsx:") else suffix  # a sheet follows


def _is_stream(path: FilePath) -> bool:
    """Whether a path is standard input or a pipe, whose format no suffix tells."""
    if isinstance(path, MemoryFile):
        return False
    if is_stdin(path) or os.fspath(path) == "/dev/stdin":
        return True
    try:
        return stat.S_ISFIFO(Path(path).stat().st_mode)
    except OSError:
        return False  # the reader will raise


def _read_marked_up(
    path: FilePath, options: ReadOptions, language: str | None, describe: Describe | None
) -> Iterator[Segments]:
    """All systems of a file with hypotheses, and its references, sources or both."""
    name = display_name(path)
    for option, value in (("--column", options.columns), ("--systems", options.systems)):
        if value:
            raise AdequaError(f"{name} has no columns to choose from: leave {option} out.")
    for id_name in options.keep_ids:
        if id_name not in _WMT_IDS:
            raise AdequaError(f'{name} has no "{id_name}". It has: {", ".join(_WMT_IDS)}.')
    marked_up = _open_marked_up(path, "table", language, options.advance)
    tracks = marked_up.system_tracks().items()
    systems = {system or stem(path): track for system, track in tracks}
    source = marked_up.source_track() if "sources" in marked_up.texts else None
    # Sources serve for metrics that need no reference.
    has_references = source is None or "references" in marked_up.texts
    references = [marked_up.reference_track()] if has_references else []
    done = yield from _lockstep(systems, references, source, batch=options.batch)
    if describe is not None:
        describe(
            InputSummary(
                name,
                marked_up.format,
                "table",
                done,
                len(marked_up.texts.get("references", ())),
                tuple(systems),
                source is not None,
                selection=marked_up.selection,
            )
        )


def read(
    table: FilePath | Frame | None = None,
    *,
    hypotheses: FilePath | Sequence[FilePath] | Mapping[str, FilePath] = (),
    references: FilePath | Sequence[FilePath] = (),
    source: FilePath | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    systems: Sequence[str] = (),
    quoting: Quoting = "auto",
    language: str | None = None,
    describe: Describe | None = None,
) -> Segments:
    """Read segments from one file that holds everything, or from parallel files.

    `table` is any file that `adequa score -i` reads, or a data frame. `columns` names its columns
    by field, such as `{"mt": "output", "ref": ["refA", "refB"]}`, and `systems` names columns that
    hold one system each. Without a table, `hypotheses` and `references` are one file or several, as
    with `-t` and `-r`; hypotheses may also be a dictionary by the name of the system.

    The result has the system of each segment under `ids["system"]`, and the document under
    `ids["doc"]` where the files name it; `score`, `compare`, `rank` and `gate` take it. `language`
    is needed for TMX of several languages only. `describe` is called with an `InputSummary` of
    each file.
    """
    if table is None:
        by_name = hypotheses if isinstance(hypotheses, Mapping) else None
        files = list(by_name.values()) if by_name is not None else _as_paths(hypotheses)
        if columns or systems:
            raise AdequaError("columns and systems name columns of a table; give one as table.")
        batches = read_parallel(
            files,
            _as_paths(references),
            source,
            names=[] if by_name is None else list(by_name),
            language=language,
            describe=describe,
        )
        return concatenate(list(batches))
    if hypotheses or references or source is not None:
        raise AdequaError("Give either a table, or hypotheses and references; not both.")
    mapping = {
        field_: (names,) if isinstance(names, str) else tuple(names)
        for field_, names in (columns or {}).items()
    }
    if not isinstance(table, str | os.PathLike):
        return _read_frame(table, mapping, systems, describe)
    batches = read_table(
        table,
        columns=mapping,
        documents=True,
        quoting=quoting,
        systems=as_tuple("systems", systems),
        language=language,
        describe=describe,
    )
    return concatenate(list(batches))


def _read_frame(
    frame: Frame,
    columns: Mapping[str, tuple[str, ...]],
    systems: Sequence[str],
    describe: Describe | None,
) -> Segments:
    from adequa.io.columns import ReadOptions, frame_table  # noqa: PLC0415  # tables only

    if not hasattr(frame, "columns"):
        raise AdequaError(f"A table is a file or a data frame, not {type(frame).__name__}.")
    names = as_tuple("systems", systems)
    options = ReadOptions(columns, (), ignore, BATCH, documents=True, systems=names)
    return concatenate(list(_table_segments(frame_table(frame), options, UNNAMED, describe)))


def _as_paths(paths: object) -> list[FilePath]:
    return [paths] if isinstance(paths, str | os.PathLike) else list(as_tuple("files", paths))


def total_bytes(paths: Iterable[FilePath]) -> int | None:
    """The size of all files together, to which `advance` adds up; None for pipes."""
    sizes = [file_size(path) for path in paths]
    return None if None in sizes else sum(filter(None, sizes))


def read_parallel(
    hypotheses: Sequence[FilePath],
    references: Sequence[FilePath],
    source: FilePath | None = None,
    *,
    names: Sequence[str] = (),
    language: str | None = None,
    describe: Describe | None = None,
    advance: Advance | None = None,
    batch: int = BATCH,
) -> Iterator[Segments]:
    """Segments from files that match line by line, one hypothesis file per system.

    `names` are those of the systems, one per file; a system without one is named after its file.

    Any of them may be a WMT `.sgm` or `.xml` file, which also names documents and may hold
    multiple systems or references, or an XLIFF or TMX file, whose sources are read too; `language`
    chooses among the languages of TMX. Every batch comes once a system, with the same references.

    Without references there is a source, or the hypotheses bring theirs. `describe` is called with
    a summary of each file after the last batch.
    """
    if not hypotheses or not (references or source is not None or bring_sources(hypotheses)):
        raise AdequaError(
            "Segments need at least one file of hypotheses, and one of references or sources."
        )
    _refuse_repeats(hypotheses, references, source)
    advance = advance or ignore
    opened: list[InputSummary] = []
    files: list[MarkedUp] = []  # those with mark-up, which may have sources too
    unnamed = [""] * len(hypotheses)
    systems = _system_tracks(hypotheses, names or unnamed, advance, language, opened, files)
    reference_tracks = [
        _reference_track(path, advance, language, opened, files) for path in references
    ]
    source_track = (
        _common_sources(files)
        if source is None
        else _source_track(source, advance, language, opened)
    )
    if not reference_tracks and source_track is None:
        raise AdequaError(
            f"{display_name(hypotheses[0])} holds no source of every segment, or other sources "
            "than the next file; give references with -r, or the source with -s."
        )
    done = yield from _lockstep(systems, reference_tracks, source_track, batch=batch)
    if describe is not None:
        for summary in opened:
            describe(replace(summary, segments=done))


def bring_sources(hypotheses: Sequence[FilePath]) -> bool:
    """Whether files of hypotheses hold their sources too, as XLIFF and TMX do."""
    return bool(hypotheses) and all(text_format(path) in _BILINGUAL for path in hypotheses)


@dataclass(frozen=True, slots=True)
class ReadPart:
    """One of several parallel files, read by itself."""

    summary: InputSummary
    systems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    references: tuple[tuple[str, ...], ...] | None = None
    sources: tuple[str, ...] | None = None


def read_part(
    path: FilePath, role: Role, *, name: str = "", language: str | None = None
) -> ReadPart:
    """Read one of several parallel files by itself, before the others are there."""
    opened: list[InputSummary] = []
    if role == "references":
        track = _reference_track(path, ignore, language, opened)
        references = tuple(track.cells)
        _refuse_blanks(track, references, 0)
        return ReadPart(_counted(opened, references), references=references)
    if role == "source":
        sources = tuple(_source_track(path, ignore, language, opened).cells)
        return ReadPart(_counted(opened, sources), sources=sources)
    tracks = _system_tracks([path], [name], ignore, language, opened)
    systems = {system: tuple(each.cells) for system, each in tracks.items()}
    return ReadPart(_counted(opened, next(iter(systems.values()))), systems)


def _counted(opened: Sequence[InputSummary], cells: Sequence[object]) -> InputSummary:
    (summary,) = opened
    if not cells:
        raise AdequaError(f"{summary.name} is empty: there is nothing to score.")
    return replace(summary, segments=len(cells))


def _common_sources(files: Iterable[MarkedUp]) -> Track[str] | None:
    """The sources that come with translations; None where there are none, or files differ."""
    tracks = [file.source_track() for file in files if file.has_sources]
    texts = [tuple(track.cells) for track in tracks]
    if not texts or len(set(texts)) > 1:
        return None
    return replace(tracks[0], cells=iter(texts[0]))


def _refuse_repeats(
    hypotheses: Sequence[FilePath], references: Sequence[FilePath], source: FilePath | None
) -> None:
    everything = [*hypotheses, *references, *([] if source is None else [source])]
    if sum(map(is_stdin, everything)) > 1:
        raise AdequaError("Standard input can be read once only, but - is given more than once.")
    for kind, paths in (("hypotheses", hypotheses), ("references", references)):
        times = Counter(map(_identity, paths))
        for path in paths:
            if times[_identity(path)] > 1:
                raise AdequaError(f"{display_name(path)} is given more than once among the {kind}.")


def _identity(path: FilePath) -> object:
    """What two paths to one file have in common."""
    return id(path) if isinstance(path, MemoryFile) else os.path.realpath(path)


def _plain_track(path: FilePath, advance: Advance) -> Track[str]:
    if text_format(path) in READERS:
        raise AdequaError(
            f"{display_name(path)} is a table by its name, and -t, -r and -s take plain text;"
            " give it with -i."
        )
    from adequa.io.disguise import plain_lines  # noqa: PLC0415  # plain text only

    name = display_name(path)
    return Track(name, plain_lines(name, lines(path, advance=advance)))


def _marked_up(
    path: FilePath, role: Role, language: str | None, advance: Advance
) -> MarkedUp | None:
    """A file with mark-up, or None for any other."""
    if text_format(path) not in _MARKED_UP:
        return None
    return _open_marked_up(path, role, language, advance)


def _open_marked_up(path: FilePath, role: Role, language: str | None, advance: Advance) -> MarkedUp:
    if text_format(path) in _BILINGUAL:
        from adequa.io.bitext import read_bitext  # noqa: PLC0415  # only where needed

        return read_bitext(path, _PARTS.get(role), language=language, advance=advance)
    from adequa.io.wmt import read_marked_up  # noqa: PLC0415  # only where needed

    return read_marked_up(path, advance=advance)


# What the translations of a file with two languages are, by the role of the file.
_PARTS: Mapping[Role, TextKind] = {
    "hypotheses": "hypotheses",
    "references": "references",
    "source": "sources",
}


def _source_track(
    path: FilePath, advance: Advance, language: str | None, opened: list[InputSummary]
) -> Track[str]:
    marked_up = _marked_up(path, "source", language, advance)
    track = _plain_track(path, advance) if marked_up is None else marked_up.source_track()
    summary = InputSummary(track.name, _format(marked_up), "source", 0, sources=True)
    opened.append(replace(summary, selection=_selection(marked_up)))
    return track


def _format(marked_up: MarkedUp | None) -> str:
    return PLAIN_TEXT if marked_up is None else marked_up.format


def _selection(marked_up: MarkedUp | None) -> str:
    return "" if marked_up is None else marked_up.selection


def _reference_track(
    path: FilePath,
    advance: Advance,
    language: str | None,
    opened: list[InputSummary],
    files: list[MarkedUp] | None = None,
) -> Track[tuple[str, ...]]:
    marked_up = _marked_up(path, "references", language, advance)
    if marked_up is not None and files is not None:
        files.append(marked_up)
    if marked_up is None:
        plain = _plain_track(path, advance)
        track, count = Track(plain.name, zip(plain.cells)), 1
    else:
        track, count = marked_up.reference_track(), len(marked_up.texts["references"])
    summary = InputSummary(track.name, _format(marked_up), "references", 0, count)
    opened.append(replace(summary, selection=_selection(marked_up)))
    return track


def _system_tracks(  # noqa: PLR0917
    paths: Sequence[FilePath],
    names: Sequence[str],
    advance: Advance,
    language: str | None,
    opened: list[InputSummary],
    files: list[MarkedUp] | None = None,
) -> dict[str, Track[str]]:
    unnamed: list[tuple[FilePath, str]] = []
    chosen: list[list[str]] = []  # names by file, empty for systems that have none yet
    tracks: list[Track[str]] = []
    formats: list[tuple[str, str]] = []
    for path, name in zip(paths, names, strict=True):
        inner = [""]
        marked_up = _marked_up(path, "hypotheses", language, advance)
        if marked_up is not None:
            if files is not None:
                files.append(marked_up)
            systems = marked_up.system_tracks()
            if name and len(systems) > 1:
                raise AdequaError(
                    f"{display_name(path)} holds {len(systems)} systems, which have names of their"
                    f' own; leave out "{name}=".'
                )
            # A file of one system is named like any other file, whatever it says inside.
            inner = list(systems) if len(systems) > 1 else [""]
            tracks += systems.values()
        else:
            tracks.append(_plain_track(path, advance))
        unnamed += [(path, each) for each in inner if not name]
        chosen.append([name] * len(inner))
        formats.append((_format(marked_up), _selection(marked_up)))
    others = iter(system_names(unnamed))
    resolved = [[each or next(others) for each in of_file] for of_file in chosen]
    for path, (format_, selection), of_file in zip(paths, formats, resolved, strict=True):
        summary = InputSummary(display_name(path), format_, "hypotheses", 0, systems=tuple(of_file))
        opened.append(replace(summary, selection=selection))
    by_name: dict[str, Track[str]] = {}
    for name, track in zip(chain.from_iterable(resolved), tracks, strict=True):
        if name in by_name:
            raise AdequaError(
                f'Two systems are called "{name}": {by_name[name].name} and {track.name};'
                " name one of them with -t NAME=FILE."
            )
        by_name[name] = track
    return by_name


AnyTrack: TypeAlias = Track[str] | Track[tuple[str, ...]]


def _lockstep(
    systems: Mapping[str, Track[str]],
    references: Sequence[Track[tuple[str, ...]]],
    source: Track[str] | None,
    *,
    batch: int,
) -> Generator[Segments, None, int]:
    """Batches of segments, for each batch one of every system; returns the number of segments.

    The systems of a batch share one `references` object, so that a metric that recognises the
    object analyses the references once only.
    """
    sources = [] if source is None else [source]
    tracks: list[AnyTrack] = [*systems.values(), *references, *sources]
    documents = _documents(tracks)
    done = 0
    while True:
        hypotheses = [tuple(islice(track.cells, batch)) for track in systems.values()]
        reference_parts = [tuple(islice(track.cells, batch)) for track in references]
        source_parts = [tuple(islice(track.cells, batch)) for track in sources]
        sizes = list(map(len, [*hypotheses, *reference_parts, *source_parts]))
        if len(set(sizes)) > 1:
            raise _unequal(tracks, sizes, done)
        size = sizes[0]
        if not size:
            break
        for track, part in zip(references, reference_parts, strict=True):
            _refuse_blanks(track, part, done)
        shared = joined_references(reference_parts) if references else ((),) * size
        ids = {} if documents is None else {"doc": documents[done : done + size]}
        for system, texts in zip(systems, hypotheses, strict=True):
            yield Segments(
                hypotheses=texts,
                references=shared,
                sources=source_parts[0] if source_parts else None,
                ids={"system": (system,) * size, **ids},
            )
        done += size
    if not done:
        raise AdequaError(f"{tracks[0].name} is empty: there is nothing to score.")
    return done


def _documents(tracks: Sequence[AnyTrack]) -> tuple[str, ...] | None:
    """The document of each position, which all files with mark-up must agree on."""
    marked_up = [(track, track.keys) for track in tracks if track.keys is not None]
    if not marked_up:
        return None
    first, keys = marked_up[0]
    for track, others in marked_up[1:]:
        for row, (expected, actual) in enumerate(zip(keys, others, strict=False)):
            if expected != actual:
                raise AdequaError(
                    f"The files do not hold the same segments in the same order: position "
                    f"{row + 1} is {first.place(row)}, but {track.place(row)}."
                )
    documents = tuple(document for document, _ in keys)
    return documents if any(documents) else None


def _refuse_blanks(
    track: Track[tuple[str, ...]], part: Sequence[tuple[str, ...]], done: int
) -> None:
    if all(map(str.strip, chain.from_iterable(part))):
        return
    row = next(row for row, cells in enumerate(part) if not all(map(str.strip, cells)))
    raise AdequaError(
        f"{track.place(done + row)}: the reference is empty. If segments have different numbers "
        'of references, give them as JSONL with a list under "ref".'
    )


def _unequal(tracks: Sequence[AnyTrack], sizes: Sequence[int], done: int) -> AdequaError:
    counts = dict.fromkeys(
        track.count(done + cells + sum(1 for _ in track.cells))
        for track, cells in zip(tracks, sizes, strict=True)
    )
    return AdequaError(f"All files need the same number of segments, but {', '.join(counts)}.")


def system_names(systems: Sequence[tuple[FilePath, str]]) -> list[str]:
    """A unique name for each system, from its file and, where a file holds many, its name there.

    >>> system_names([("a/out.txt", ""), ("b/out.txt", ""), ("c.txt", "")])
    ['a/out', 'b/out', 'c']
    >>> system_names([("out.A", ""), ("out.B", ""), ("wmt.xml", "uedin"), ("wmt.xml", "nrc")])
    ['out.A', 'out.B', 'uedin', 'nrc']
    """
    forms = [_forms(decoded_path(path), inner) for path, inner in systems]
    lengths = [0] * len(forms)
    while True:
        names = [form[length] for form, length in zip(forms, lengths, strict=True)]
        times = Counter(names)
        extended = [
            length + (times[name] > 1 and length + 1 < len(form))
            for name, form, length in zip(names, forms, lengths, strict=True)
        ]
        if extended == lengths:
            return names
        lengths = extended


def _forms(path: str, inner: str) -> tuple[str, ...]:
    """Names of one system, from the shortest to the longest."""
    folder = Path(path).parent.name
    short, full = stem(path), Path(path).name
    forms = (
        short,
        f"{folder}/{short}" if folder else short,
        full,
        f"{folder}/{full}" if folder else full,
        path,
    )
    return (inner, *(f"{form}/{inner}" for form in forms)) if inner else forms
