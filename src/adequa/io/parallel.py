"""Parallel files: hypotheses, references and sources, each in files of their own, line by line."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import Generic, TypeAlias, TypeVar

from adequa.errors import AdequaError
from adequa.io.read import READERS
from adequa.io.system_outputs import system_names
from adequa.io.tables import BATCH
from adequa.io.text import STDIN, Advance, FilePath, ignore, lines, shown, text_format
from adequa.io.wmt import is_marked_up, read_marked_up
from adequa.segments import Segments


def read_parallel(
    hypotheses: Sequence[FilePath],
    references: Sequence[FilePath],
    source: FilePath | None = None,
    *,
    advance: Advance | None = None,
    batch: int = BATCH,
) -> Iterator[Segments]:
    """Segments from files that match line by line, one hypothesis file a system.

    Any of them may be a WMT `.sgm` or `.xml` file, which also names documents and may hold
    several systems or references. Every batch comes once a system, with the same references.
    """
    if not hypotheses or not references:
        raise AdequaError("Segments need at least one file of hypotheses and one of references.")
    _refuse_repeats(hypotheses, references, source)
    advance = advance or ignore
    yield from lockstep(
        _system_tracks(hypotheses, advance),
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


def _system_tracks(paths: Sequence[FilePath], advance: Advance) -> dict[str, Track[str]]:
    named: list[tuple[FilePath, str]] = []
    tracks: list[Track[str]] = []
    for path in paths:
        if is_marked_up(path):
            systems = read_marked_up(path, advance=advance).system_tracks()
            # A file of one system is named like any other file, whatever it says inside.
            named += [(path, system if len(systems) > 1 else "") for system in systems]
            tracks += systems.values()
        else:
            named.append((path, ""))
            tracks.append(_plain_track(path, advance))
    return dict(zip(system_names(named), tracks, strict=True))


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


Key: TypeAlias = tuple[str, str]  # the ids of a document and of a segment in it
Cell = TypeVar("Cell", str, tuple[str, ...])


@dataclass(frozen=True, slots=True)
class Track(Generic[Cell]):
    """What one file says, position by position: a text, or the references of a segment."""

    name: str
    cells: Iterator[Cell]
    keys: tuple[Key, ...] | None = None  # None for plain text, which has lines only

    def place(self, row: int) -> str:
        """Where in the file the cell of this row (from 0) stands."""
        if self.keys is None:
            return f"{self.name}, line {row + 1}"
        return f"{self.name}, {describe(self.keys[row])}"

    def count(self, cells: int) -> str:
        """A number of cells in words."""
        if not cells:
            return f"{self.name} is empty"
        unit = "line" if self.keys is None else "segment"
        return f"{self.name} has {cells} {unit}{'s' if cells > 1 else ''}"


def describe(key: Key) -> str:
    """A segment by its ids.

    >>> describe(("bbc.381790", "3"))
    'document "bbc.381790", segment 3'
    """
    document, segment = key
    return f'document "{document}", segment {segment}'


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
