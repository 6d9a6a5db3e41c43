"""Would people notice a difference of scores? From judgements and metrics to tables by size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from adequa.agreement import notes
from adequa.agreement.differences import FEWEST, SHARES, BySize, by_size, checked_edges
from adequa.agreement.evaluate import reference_count, segment_scores
from adequa.agreement.groups import column_names, rows_by
from adequa.agreement.protocol import DARR, Level, Protocol
from adequa.agreement.results import MetricInfo
from adequa.agreement.segment_level import margins_from_ratings
from adequa.agreement.selection import Selection, selected
from adequa.agreement.sources import Source, Specification, sources
from adequa.agreement.system_level import ranked_systems
from adequa.errors import AdequaError
from adequa.judgements import (
    Judgements,
    Preferences,
    RatedSystems,
    Ratings,
    identified,
    without_repeats,
)
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray

# Pairs of one dataset: differences (K, n), and who was preferred (n,), as `by_size` takes them.
_Pairs: TypeAlias = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class DifferenceSettings:
    """What is compared, and how it is counted."""

    level: Level | None = None  # None: segments, or systems where these are what was rated
    edges: tuple[float, ...] | None = None  # between bins; None: readable ones for each metric
    min_difference: float = 25.0  # of ratings of a segment that become a preference
    confidence: float = 0.95
    shares: tuple[float, ...] = SHARES  # of agreement that thresholds are asked for
    fewest: int = FEWEST  # pairs that a threshold rests on

    def __post_init__(self) -> None:
        self.protocol("segment" if self.level is None else self.level)
        if self.edges is not None:
            object.__setattr__(self, "edges", checked_edges(self.edges))
        for share in self.shares:
            if not 0 < share < 1:
                raise AdequaError(f"A share of agreement lies between 0 and 1, not at {share:g}.")

    def protocol(self, level: Level) -> Protocol:
        """The same for the parts that measure agreement; raises where a setting is wrong."""
        return Protocol(
            level=level,
            statistic=DARR if level == "segment" else None,
            min_difference=self.min_difference,
            confidence=self.confidence,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Noticed:
    """How often people agree with the differences of every metric."""

    datasets: tuple[str, ...]
    level: Level
    settings: DifferenceSettings
    selection: str  # what was chosen from the judgements; empty for all of them
    pairs: int
    metrics: tuple[MetricInfo, ...]
    tables: tuple[BySize, ...]  # one a metric
    rated: bool  # whether preferences were made of ratings
    notes: tuple[str, ...] = ()


def noticed(
    judgements: Sequence[Judgements],
    metrics: Sequence[Specification],
    settings: DifferenceSettings | None = None,
    *,
    selection: Selection | None = None,
    progress: Progress = NO_PROGRESS,
) -> Noticed:
    """How often people preferred the side with the higher score, by the size of the difference.

    Pairs are the preferences between outputs of a segment, or all pairs of systems of a language
    pair; those of several datasets count together. `metrics` are as `evaluate` takes them.

    >>> from adequa.segments import Segments
    >>> better = Segments(("a b c", "a b", "a b x"), (("a b c",),) * 3)
    >>> worse = Segments(("a b x", "a x y", "a b c"), (("a b c",),) * 3)
    >>> human = Preferences({"lp": ("cs-en",) * 3}, better, worse)
    >>> found = noticed([human], ["wer"], DifferenceSettings(edges=(0.2,)))
    >>> [(each.agreed, each.pairs) for each in found.tables[0].bins]
    [(0, 0), (2, 3)]
    """
    asked, choice = settings or DifferenceSettings(), selection or Selection()
    found = sources(metrics)
    if not found:
        raise AdequaError("Name at least one metric or score file.")
    level = _level(judgements, asked.level)
    protocol = asked.protocol(level)
    told: list[str] = []
    chosen = []
    for each in judgements:
        part, excluded = selected(each, choice, protocol)
        chosen.append(part)
        told += [*identified(each).file_rows.notes(), *excluded, *_peculiarities(part)]
    parts = [_pairs(part, found, protocol, progress) for part in chosen]
    differences = np.concatenate([each for each, _ in parts], axis=1)
    preferred = np.concatenate([each for _, each in parts])
    if not preferred.any():
        raise AdequaError(
            f"There is nothing to compare: no two {level}s of a language pair are better and worse."
        )
    tables = tuple(_table(row, preferred, asked) for row in differences)
    if equal := tables[0].undecided:
        told.append(f"pairs of systems with equal human scores, which are in no row: {equal:,}.")
    told += [note for source in found if source.metric for note in source.metric.remarks()]
    counts = {reference_count(part) for part in chosen}
    references = counts.pop() if len(counts) == 1 else None
    return Noticed(
        datasets=tuple(identified(each).name for each in judgements),
        level=level,
        settings=asked,
        selection=str(choice),
        pairs=len(preferred),
        metrics=tuple(MetricInfo(s.name, s.signature(references, level)) for s in found),
        tables=tables,
        rated=level == "segment" and any(isinstance(each, Ratings) for each in chosen),
        notes=tuple(told),
    )


def _level(judgements: Sequence[Judgements], asked: Level | None) -> Level:
    """What is compared, which has to be the same in all of the data."""
    if not judgements:
        raise AdequaError("Name at least one dataset or file of judgements.")
    whole = [identified(each).name for each in judgements if isinstance(each, RatedSystems)]
    if not whole:
        return asked or "segment"
    if asked == "segment":
        raise AdequaError(
            f"{whole[0]} has human scores of whole systems only; leave --level segment out."
        )
    if asked is None and len(whole) < len(judgements):
        raise AdequaError(
            f"{whole[0]} is of whole systems, and not all of the others are; compare these with "
            "--level system, or run each by itself."
        )
    return "system"


def _peculiarities(judgements: Judgements) -> list[str]:
    """Human ties, and outputs that were rated more than once."""
    if isinstance(judgements, Ratings):
        return list(notes.peculiarities(judgements))
    ties = sum(judgements.ties.values()) if isinstance(judgements, Preferences) else 0
    return [f"human ties, which are left out: {ties:,}."] if ties else []


def _pairs(
    judgements: Judgements, found: Sequence[Source], protocol: Protocol, progress: Progress
) -> _Pairs:
    if isinstance(judgements, RatedSystems) or protocol.level == "system":
        return _of_systems(judgements, found, protocol, progress)
    if isinstance(judgements, Preferences):
        scores = segment_scores(judgements, found, progress)
        return scores[..., 0] - scores[..., 1], np.ones(len(judgements))
    return _of_ratings(without_repeats(judgements), found, protocol, progress)


def _of_systems(
    judgements: Judgements, found: Sequence[Source], protocol: Protocol, progress: Progress
) -> _Pairs:
    """All pairs of systems of a language pair, by their system scores."""
    parts = []
    for data in ranked_systems(judgements, found, protocol, progress):
        pairs = list(combinations(range(len(data.human)), 2))
        first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        better = np.sign(data.human[first] - data.human[second])
        parts.append((data.scores[:, first] - data.scores[:, second], better))
    differences, preferred = zip(*parts, strict=True)
    return np.concatenate(differences, axis=1), np.concatenate(preferred)


def _of_ratings(
    ratings: Ratings, found: Sequence[Source], protocol: Protocol, progress: Progress
) -> _Pairs:
    """Pairs of outputs of a segment whose ratings are far enough apart."""
    scores = segment_scores(ratings, found, progress)
    margins = []
    for pair, rows in rows_by(column_names(ratings.ids, len(ratings))).items():
        part = ratings.select(rows)
        of = margins_from_ratings(pair, part.scores, scores[:, rows], part.ids, protocol)
        margins.append(of.margins)
    differences = np.concatenate(margins, axis=1)
    return differences, np.ones(differences.shape[1])


def _table(differences: FloatArray, preferred: FloatArray, settings: DifferenceSettings) -> BySize:
    return by_size(
        differences,
        preferred,
        edges=settings.edges,
        confidence=settings.confidence,
        shares=settings.shares,
        fewest=settings.fewest,
    )
