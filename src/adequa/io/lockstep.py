"""Files read in lockstep, line by line, and the names of systems by their files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from operator import add
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from adequa.errors import AdequaError
from adequa.io.text import STDIN, FilePath, uncompressed_name
from adequa.segments import Segments

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


def stem(path: FilePath) -> str:
    """A file's name without folder, compression and suffix.

    >>> stem("runs/baseline.de.gz"), stem("-")
    ('baseline', 'stdin')
    """
    return _stem(_written(path))


def _stem(path: str) -> str:
    return "stdin" if path == STDIN else Path(uncompressed_name(path)).stem


def system_names(systems: Sequence[tuple[FilePath, str]]) -> list[str]:
    """One name each for systems given by their file and, where it holds several, the name there.

    >>> system_names([("a/out.txt", ""), ("b/out.txt", ""), ("c.txt", "")])
    ['a/out', 'b/out', 'c']
    >>> system_names([("out.A", ""), ("out.B", ""), ("wmt.xml", "uedin"), ("wmt.xml", "nrc")])
    ['out.A', 'out.B', 'uedin', 'nrc']
    """
    forms = [_forms(_written(path), inner) for path, inner in systems]
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
    short, full = _stem(path), Path(path).name
    forms = (
        short,
        f"{folder}/{short}" if folder else short,
        full,
        f"{folder}/{full}" if folder else full,
        path,
    )
    return (inner, *(f"{form}/{inner}" for form in forms)) if inner else forms


def _written(path: FilePath) -> str:
    """A path in characters that can be written: file names may be any bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
