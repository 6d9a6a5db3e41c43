"""Readers of segments: one file that holds everything, or parallel files line by line."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from adequa.errors import AdequaError
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
from adequa.segments import Segments, joined_references

if TYPE_CHECKING:
    from adequa.io.columns import OpenTable, ReadOptions
    from adequa.io.wmt import MarkedUp

BATCH = 256  # segments; small enough that progress shows in slow metrics
TABLES = (".tsv", ".jsonl", ".json", ".parquet")
# All formats that hold everything in one file: tables, and WMT mark-up.
_MARKED_UP = (".xml", ".sgm", ".sgml")
READERS = (*TABLES, *_MARKED_UP)
_WMT_IDS = ("system", "doc")


def read_table(
    path: FilePath,
    *,
    columns: Mapping[str, tuple[str, ...]] | None = None,
    keep_ids: tuple[str, ...] = (),
    documents: bool = False,
    advance: Advance | None = None,
    batch: int = BATCH,
) -> Iterator[Segments]:
    """Segments from one file that holds everything, in batches; `-` is standard input.

    `columns` names the column of a field (`src`, `mt`, `ref`, `system`, `doc`) that is not found by
    its name. The id `system` is always read, others where `keep_ids` names them, and `doc` also
    with `documents`, where the file has it. A batch may hold rows of multiple systems.
    """
    from adequa.io.columns import ReadOptions, comma_separated, table_segments  # noqa: PLC0415  # tables only

    options = ReadOptions(columns or {}, keep_ids, advance or ignore, batch, documents)
    suffix = format_suffix(path)
    if suffix in TABLES:
        with open_table(path, options.advance) as table:
            yield from table_segments(table, options, stem(path))
    elif suffix in READERS:
        yield from _read_wmt(path, options)
    elif suffix == ".csv":
        raise comma_separated(display_name(path))
    else:
        raise AdequaError(
            f"{display_name(path)} is of no known format. The name of the file "
            f"should end in {', '.join(READERS)}; plain text goes in by -t and -r."
        )


def open_table(path: FilePath, advance: Advance) -> AbstractContextManager[OpenTable]:
    """Open a file of one of the formats in `TABLES`."""
    if format_suffix(path) == ".parquet":
        from adequa.io.parquet import open_parquet  # noqa: PLC0415  # an extra

        return open_parquet(path, advance)
    from adequa.io.delimited import open_text_table  # noqa: PLC0415  # tables only

    return open_text_table(path, advance)


def format_suffix(path: FilePath) -> str:
    """The suffix of a file's format; .tsv for standard input and pipes, which may be JSON too."""
    return ".tsv" if _is_stream(path) else text_format(path)


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


def _read_wmt(path: FilePath, options: ReadOptions) -> Iterator[Segments]:
    """All systems of a file with hypotheses and references, and sources where it has them."""
    name = display_name(path)
    if options.columns:
        raise AdequaError(f"{name} has no columns to choose from: leave --column out.")
    for id_name in options.keep_ids:
        if id_name not in _WMT_IDS:
            raise AdequaError(f'{name} has no "{id_name}". It has: {", ".join(_WMT_IDS)}.')
    from adequa.io.wmt import read_marked_up  # noqa: PLC0415

    marked_up = read_marked_up(path, advance=options.advance)
    yield from _lockstep(
        marked_up.system_tracks(),
        [marked_up.reference_track()],
        marked_up.source_track() if "sources" in marked_up.texts else None,
        batch=options.batch,
    )


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
    advance: Advance | None = None,
    batch: int = BATCH,
) -> Iterator[Segments]:
    """Segments from files that match line by line, one hypothesis file per system.

    `names` are those of the systems, one per file; a system without one is named after its file.

    Any of them may be a WMT `.sgm` or `.xml` file, which also names documents and may hold
    multiple systems or references. Every batch comes once a system, with the same references.
    """
    if not hypotheses or not references:
        raise AdequaError("Segments need at least one file of hypotheses and one of references.")
    _refuse_repeats(hypotheses, references, source)
    advance = advance or ignore
    yield from _lockstep(
        _system_tracks(hypotheses, names or [""] * len(hypotheses), advance),
        [_reference_track(path, advance) for path in references],
        None if source is None else _source_track(source, advance),
        batch=batch,
    )


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
    return Track(display_name(path), lines(path, advance=advance))


def _marked_up(path: FilePath, advance: Advance) -> MarkedUp | None:
    """A WMT file, or None for any other."""
    if text_format(path) not in _MARKED_UP:
        return None
    from adequa.io.wmt import read_marked_up  # noqa: PLC0415  # only where needed

    return read_marked_up(path, advance=advance)


def _source_track(path: FilePath, advance: Advance) -> Track[str]:
    marked_up = _marked_up(path, advance)
    return _plain_track(path, advance) if marked_up is None else marked_up.source_track()


def _reference_track(path: FilePath, advance: Advance) -> Track[tuple[str, ...]]:
    marked_up = _marked_up(path, advance)
    if marked_up is not None:
        return marked_up.reference_track()
    plain = _plain_track(path, advance)
    return Track(plain.name, zip(plain.cells))


def _system_tracks(
    paths: Sequence[FilePath], names: Sequence[str], advance: Advance
) -> dict[str, Track[str]]:
    unnamed: list[tuple[FilePath, str]] = []
    chosen: list[str] = []  # names, empty for systems that have none yet
    tracks: list[Track[str]] = []
    for path, name in zip(paths, names, strict=True):
        inner = [""]
        marked_up = _marked_up(path, advance)
        if marked_up is not None:
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
        chosen += [name] * len(inner)
    others = iter(system_names(unnamed))
    by_name: dict[str, Track[str]] = {}
    for name, track in zip((each or next(others) for each in chosen), tracks, strict=True):
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
) -> Iterator[Segments]:
    """Batches of segments, for each batch one of every system.

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
        shared = joined_references(reference_parts)
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
    return tuple(document for document, _ in keys)


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
