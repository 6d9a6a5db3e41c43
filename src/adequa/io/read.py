"""Readers of segments: one file that holds everything, or parallel files line by line."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import cast

from adequa.errors import AdequaError
from adequa.io.columns import BATCH, Opener, Table, Wanted, joined_references, table_segments
from adequa.io.text import (
    STDIN,
    Advance,
    FilePath,
    decoded_path,
    ignore,
    lines,
    shown,
    stem,
    text_format,
)
from adequa.io.wmt import Track, is_marked_up, read_marked_up
from adequa.segments import Segments

_IDS = ("system", "doc")


def read_wmt(path: FilePath, wanted: Wanted) -> Iterator[Segments]:
    """Every system of a file that holds hypotheses and references, and sources where it has."""
    name = shown(path)
    if wanted.columns:
        raise AdequaError(f"{name} has no columns to choose from: leave --column out.")
    for id_name in wanted.keep_ids:
        if id_name not in _IDS:
            raise AdequaError(f'{name} has no "{id_name}". It has: {", ".join(_IDS)}.')
    marked_up = read_marked_up(path, advance=wanted.advance)
    yield from lockstep(
        marked_up.system_tracks(),
        [marked_up.reference_track()],
        marked_up.source_track() if "sources" in marked_up.texts else None,
        batch=wanted.batch,
    )


def lockstep(
    systems: Mapping[str, Track[str]],
    references: Sequence[Track[tuple[str, ...]]],
    source: Track[str] | None,
    *,
    batch: int,
) -> Iterator[Segments]:
    """Batches of segments, for each batch one of every system.

    The systems of a batch share one `references` object, so that a metric that knows the object
    again need not look at the same references once a system.
    """
    sources = [] if source is None else [source]
    documents = _documents([*systems.values(), *references, *sources])
    done = 0
    while True:
        hypotheses = [tuple(islice(track.cells, batch)) for track in systems.values()]
        reference_parts = [tuple(islice(track.cells, batch)) for track in references]
        source_parts = [tuple(islice(track.cells, batch)) for track in sources]
        taken = list(map(len, [*hypotheses, *reference_parts, *source_parts]))
        if len(set(taken)) > 1:
            raise _unequal([*systems.values(), *references, *sources], taken, done)
        size = taken[0]
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
        name = next(iter(systems.values())).name
        raise AdequaError(f"{name} is empty: there is nothing to score.")


def _documents(tracks: Sequence[Track[str] | Track[tuple[str, ...]]]) -> tuple[str, ...] | None:
    """The document of each position where a file tells, once all that tell agree."""
    telling = [(track, track.keys) for track in tracks if track.keys is not None]
    if not telling:
        return None
    first, keys = telling[0]
    for track, others in telling[1:]:
        for row, (expected, found) in enumerate(zip(keys, others, strict=False)):
            if expected != found:
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


def _unequal(
    tracks: Sequence[Track[str] | Track[tuple[str, ...]]], taken: Sequence[int], done: int
) -> AdequaError:
    counts = dict.fromkeys(
        track.count(done + cells + sum(1 for _ in track.cells))
        for track, cells in zip(tracks, taken, strict=True)
    )
    return AdequaError(f"All files need the same number of segments, but {', '.join(counts)}.")


def system_names(systems: Sequence[tuple[FilePath, str]]) -> list[str]:
    """One name each for systems given by their file and, where it holds several, the name there.

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
        longer = [
            length + (times[name] > 1 and length + 1 < len(form))
            for name, form, length in zip(names, forms, lengths, strict=True)
        ]
        if longer == lengths:
            return _numbered(names)
        lengths = longer


def _numbered(names: list[str]) -> list[str]:
    """Names that are still equal (of files whose names cannot be written) told apart by number.

    >>> _numbered(["a", "b", "a"])
    ['a', 'b', 'a #2']
    """
    before: Counter[str] = Counter()
    numbered = []
    for name in names:
        before[name] += 1
        numbered.append(name if before[name] == 1 else f"{name} #{before[name]}")
    return numbered


def _forms(path: str, inner: str) -> tuple[str, ...]:
    """Names for one system, from the short one to the longest."""
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


def read_parallel(
    hypotheses: Sequence[FilePath],
    references: Sequence[FilePath],
    source: FilePath | None = None,
    *,
    names: Sequence[str] = (),
    advance: Advance | None = None,
    batch: int = BATCH,
) -> Iterator[Segments]:
    """Segments from files that match line by line, one hypothesis file a system.

    `names` are those of the systems, one a file; a system without one is named after its file.

    Any of them may be a WMT `.sgm` or `.xml` file, which also names documents and may hold
    several systems or references. Every batch comes once a system, with the same references.
    """
    if not hypotheses or not references:
        raise AdequaError("Segments need at least one file of hypotheses and one of references.")
    _refuse_repeats(hypotheses, references, source)
    advance = advance or ignore
    yield from lockstep(
        _system_tracks(hypotheses, names or [""] * len(hypotheses), advance),
        [_reference_track(path, advance) for path in references],
        None if source is None else _source_track(source, advance),
        batch=batch,
    )


def _plain_track(path: FilePath, advance: Advance) -> Track[str]:
    if text_format(path) in READERS:
        raise AdequaError(
            f"{shown(path)} is a table by its name, and -t, -r and -s take plain text;"
            " give it with -i."
        )
    return Track(shown(path), lines(path, advance=advance))


def _source_track(path: FilePath, advance: Advance) -> Track[str]:
    if is_marked_up(path):
        return read_marked_up(path, advance=advance).source_track()
    return _plain_track(path, advance)


def _reference_track(path: FilePath, advance: Advance) -> Track[tuple[str, ...]]:
    if is_marked_up(path):
        return read_marked_up(path, advance=advance).reference_track()
    plain = _plain_track(path, advance)
    return Track(plain.name, zip(plain.cells))


def _system_tracks(
    paths: Sequence[FilePath], names: Sequence[str], advance: Advance
) -> dict[str, Track[str]]:
    unnamed: list[tuple[FilePath, str]] = []
    chosen: list[str] = []  # names, empty for systems that have none yet
    tracks: list[Track[str]] = []
    for path, name in zip(paths, names, strict=True):
        if is_marked_up(path):
            systems = read_marked_up(path, advance=advance).system_tracks()
            if name and len(systems) > 1:
                raise AdequaError(
                    f"{shown(path)} holds {len(systems)} systems, which have names of their own;"
                    f' leave out "{name}=".'
                )
            # A file of one system is named like any other file, whatever it says inside.
            inner = list(systems) if len(systems) > 1 else [""]
            tracks += systems.values()
        else:
            inner = [""]
            tracks.append(_plain_track(path, advance))
        unnamed += [(path, each) for each in inner if not name]
        chosen += [name] * len(inner)
    others = iter(system_names(unnamed))
    systems_by_name: dict[str, Track[str]] = {}
    for name, track in zip((each or next(others) for each in chosen), tracks, strict=True):
        if name in systems_by_name:
            raise AdequaError(
                f'Two systems are called "{name}": {systems_by_name[name].name} and {track.name};'
                " name one of them with -t NAME=FILE."
            )
        systems_by_name[name] = track
    return systems_by_name


def _refuse_repeats(
    hypotheses: Sequence[FilePath], references: Sequence[FilePath], source: FilePath | None
) -> None:
    given = [*hypotheses, *references, *([] if source is None else [source])]
    if [os.fspath(path) for path in given].count(STDIN) > 1:
        raise AdequaError("Standard input can be read once only, but - is given more than once.")
    for kind, paths in (("hypotheses", hypotheses), ("references", references)):
        times = Counter(map(os.path.realpath, paths))
        for path in paths:
            if times[os.path.realpath(path)] > 1:
                raise AdequaError(f"{shown(path)} is given more than once among the {kind}.")


TABLES = {
    ".tsv": "adequa.io.delimited:open_tsv",
    ".jsonl": "adequa.io.delimited:open_jsonl",
    ".json": "adequa.io.delimited:open_json_list",
    ".parquet": "adequa.io.parquet:open_parquet",
}
# All formats that hold everything in one file: tables, and WMT mark-up.
READERS = (*TABLES, ".xml", ".sgm", ".sgml")


def read_table(
    path: FilePath,
    *,
    columns: Mapping[str, tuple[str, ...]] | None = None,
    keep_ids: tuple[str, ...] = (),
    documents: bool = False,
    advance: Advance | None = None,
    batch: int = BATCH,
) -> Iterator[Segments]:
    """Segments from one file that holds all of it, in batches; `-` is TSV on standard input.

    `columns` says which column is `src`, `mt`, `ref`, `system` or `doc` where it has another
    name. Of the ids, `system` always comes along, others where `keep_ids` names them, and with
    `documents` also `doc`, where the file has it. A batch may hold rows of several systems.
    """
    wanted = Wanted(columns or {}, keep_ids, advance or ignore, batch, documents)
    suffix = format_suffix(path)
    if suffix in TABLES:
        with open_table(path, wanted.advance) as table:
            yield from table_segments(table, wanted, stem(path))
    elif suffix in READERS:
        yield from read_wmt(path, wanted)
    else:
        raise AdequaError(
            f"{shown(path)} is of no known format. The name of the file "
            f"should end in {', '.join(READERS)}; plain text goes in by -t and -r."
        )


def open_table(path: FilePath, advance: Advance) -> AbstractContextManager[Table]:
    """A file of one of the formats in `TABLES`, open for reading."""
    module, function = TABLES[format_suffix(path)].split(":")
    opener = cast("Opener", getattr(import_module(module), function))
    return opener(path, advance)


def format_suffix(path: FilePath) -> str:
    """The suffix that says a file's format; standard input and pipes are TSV."""
    return ".tsv" if _is_stream(path) else text_format(path)


def total_bytes(paths: Iterable[FilePath]) -> int | None:
    """The size of all files together, which is what `advance` adds up to; None for pipes."""
    total = 0
    for path in paths:
        if os.fspath(path) == STDIN or not Path(path).is_file():
            return None
        total += Path(path).stat().st_size
    return total


def _is_stream(path: FilePath) -> bool:
    """Whether a path is standard input or a pipe, which has no suffix to go by."""
    if os.fspath(path) in (STDIN, "/dev/stdin"):
        return True
    try:
        return stat.S_ISFIFO(Path(path).stat().st_mode)
    except OSError:
        return False  # the reader will say what is wrong with it
