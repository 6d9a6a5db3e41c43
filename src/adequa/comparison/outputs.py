"""The outputs of several systems for the same segments, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from adequa.errors import AdequaError
from adequa.scoring.api import as_segments
from adequa.scoring.stream import UNNAMED
from adequa.segments import Segments

FEWEST_SYSTEMS = 2
FEWEST_SEGMENTS = 2


@dataclass(frozen=True, slots=True)
class Outputs:
    """What every system said of every segment; the first system is the baseline."""

    names: tuple[str, ...]
    hypotheses: tuple[tuple[str, ...], ...]  # of each system, one a segment
    references: tuple[tuple[str, ...], ...]  # of each segment
    sources: tuple[str, ...] | None = None
    documents: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.names) < FEWEST_SYSTEMS:
            raise AdequaError(
                f"A comparison is between two systems or more, and there is {len(self.names)}: "
                f"{', '.join(self.names) or 'none'}."
            )
        if len(self) < FEWEST_SEGMENTS:
            raise AdequaError(
                f"A comparison needs two segments or more, and there is {len(self)}: nothing can "
                "be said of how sure a difference is."
            )

    def __len__(self) -> int:
        return len(self.references)

    def part(self, system: int, rows: slice, references: tuple[tuple[str, ...], ...]) -> Segments:
        """Some segments of a system, with references that other systems are given too."""
        return Segments(
            self.hypotheses[system][rows],
            references,
            None if self.sources is None else self.sources[rows],
            {} if self.documents is None else {"doc": self.documents[rows]},
        )

    @property
    def empty(self) -> dict[str, int]:
        """How many outputs of each system are empty, where any are."""
        counts = (sum(not text.strip() for text in texts) for texts in self.hypotheses)
        return {name: count for name, count in zip(self.names, counts, strict=True) if count}


def outputs_of(
    systems: Mapping[str, Iterable[str]],
    references: Iterable[str] | Iterable[Sequence[str]],
    *,
    sources: Iterable[str] | None = None,
    documents: Iterable[str] | None = None,
) -> Outputs:
    """Outputs from plain Python lists, by the names of systems.

    >>> said = {"old": ["a cat", "a dog"], "new": ["the cat", "dogs"]}
    >>> outputs_of(said, ["a cat", "a dog"]).names
    ('old', 'new')
    """
    given = references if isinstance(references, str) else tuple(references)
    said = sources if sources is None or isinstance(sources, str) else tuple(sources)
    parts: dict[str, Segments] = {}
    for name, texts in systems.items():
        if not isinstance(name, str):
            raise AdequaError(f"A system's name is a text, not {name!r}; write it in quotes.")
        parts[name] = _named_segments(name, texts, given, said)
    first = next(iter(parts.values()), None)
    named = None if documents is None else tuple(map(str, documents))
    if named is not None and first is not None and len(named) != len(first):
        raise AdequaError(f"There are {len(first)} segments but {len(named)} documents' names.")
    return Outputs(
        tuple(parts),
        tuple(part.hypotheses for part in parts.values()),
        () if first is None else first.references,
        None if first is None else first.sources,
        named,
    )


def _named_segments(
    name: str,
    texts: Iterable[str],
    references: Iterable[str] | Iterable[Sequence[str]],
    sources: Iterable[str] | None,
) -> Segments:
    try:
        return as_segments(texts, references, sources)
    except AdequaError as error:
        raise AdequaError(f"{name}: {error}") from None


def gathered(batches: Iterable[Segments]) -> Outputs:
    """Outputs from batches of segments, as readers of files give them.

    The segments of every system come in the same order; where the input tells references, sources
    or documents once a system, they must be the same.
    """
    systems: dict[str, list[tuple[Segments, int]]] = {}
    for batch in batches:
        named = batch.ids.get("system", (UNNAMED,) * len(batch))
        for row, name in enumerate(named):
            systems.setdefault(name, []).append((batch, row))
    columns = {name: _Columns.of(places) for name, places in systems.items()}
    first_name = next(iter(columns), "")
    for name, column in columns.items():
        _refuse_others(first_name, columns[first_name], name, column)
    first = columns.get(first_name, _Columns((), (), None, None))
    return Outputs(
        tuple(columns),
        tuple(column.hypotheses for column in columns.values()),
        first.references,
        first.sources,
        first.documents,
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """What the input says of one system, segment by segment."""

    hypotheses: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    sources: tuple[str, ...] | None
    documents: tuple[str, ...] | None

    @classmethod
    def of(cls, places: Sequence[tuple[Segments, int]]) -> _Columns:
        return cls(
            tuple(batch.hypotheses[row] for batch, row in places),
            tuple(batch.references[row] for batch, row in places),
            _told(batch.sources[row] if batch.sources else None for batch, row in places),
            _told(batch.ids["doc"][row] if "doc" in batch.ids else None for batch, row in places),
        )


def _told(cells: Iterable[object]) -> tuple[str, ...] | None:
    """Cells, where they are texts."""
    return tuple(cell for cell in cells if isinstance(cell, str)) or None


def _refuse_others(first_name: str, first: _Columns, name: str, column: _Columns) -> None:
    """Raise where a system is not of the same segments as the first one."""
    if len(column.hypotheses) != len(first.hypotheses):
        raise AdequaError(
            f"All systems need the same segments, but {first_name} has {len(first.hypotheses)} "
            f"and {name} has {len(column.hypotheses)}."
        )
    for what, mine, others in (
        ("reference", column.references, first.references),
        ("source", column.sources, first.sources),
        ("document", column.documents, first.documents),
    ):
        if mine != others:
            pairs = enumerate(zip(mine or (), others or (), strict=False), 1)
            row = next((row for row, (one, other) in pairs if one != other), 1)
            raise AdequaError(
                f"All systems need the same segments in the same order, but segment {row} of "
                f"{name} has another {what} than that of {first_name}."
            )
