"""How often people agree with a difference of scores, by the size of the difference.

A pair has two sides, A and B: two outputs of a segment, or two systems. `differences` are score of
A less score of B, higher being better; `preferred` is 1 where people preferred A, -1 where they
preferred B, and 0 where they preferred neither. People agree with a difference if they preferred
the side with the higher score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import inf, isfinite, nan
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.agreement.evaluate import (
    judgement_notes,
    metric_infos,
    reference_count,
    segment_scores,
)
from adequa.agreement.groups import column_names, rows_by
from adequa.agreement.protocol import DARR, Level, Protocol, settings_or_default
from adequa.agreement.results import MetricInfo
from adequa.agreement.segment_level import margins_from_ratings
from adequa.agreement.selection import Selection, selected
from adequa.agreement.sources import Source, Specifications, scoring_notes, sources
from adequa.agreement.system_level import ranked_systems
from adequa.datasets.load import JudgementData, load_dataset
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
from adequa.segments import FloatArray, IntArray
from adequa.statistics.significance import wilson_intervals
from adequa.tables import MISSING, Cell, Column, Result, Table, plain

SHARES = (0.75, 0.9, 0.95)  # fractions of agreement that thresholds are reported for
FEWEST = 30  # pairs that a threshold rests on: the largest few agree by chance
_QUANTILES = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)  # of the sizes, which become edges
_ROUNDING = 1e-9  # 0.3 - 0.2 is a difference of 0.1 to everyone but a computer
_FIGURES = ("pairs", "agreed", "share", "share_low", "share_high")

# Pairs of one dataset: differences (K, n), and who was preferred (n,), as `by_size` takes them.
_Pairs: TypeAlias = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class DifferenceSettings:
    """What is compared, and how it is counted."""

    level: Level | None = None  # None: segments, or systems where these are what was rated
    edges: tuple[float, ...] | None = None  # between bins; None: readable ones for each metric
    min_difference: float = 25.0  # of ratings of a segment that become a preference
    confidence: float = 0.95

    def __post_init__(self) -> None:
        self.protocol("segment" if self.level is None else self.level)
        if self.edges is not None:
            object.__setattr__(self, "edges", checked_edges(self.edges))

    def protocol(self, level: Level) -> Protocol:
        """The corresponding protocol of an evaluation; raises where a setting is wrong."""
        return Protocol(
            level=level,
            statistic=DARR if level == "segment" else None,
            min_difference=self.min_difference,
            confidence=self.confidence,
        )


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs whose scores differ by `low` or more, and by less than `high`."""

    low: float
    high: float  # infinite for the last
    pairs: int
    agreed: int
    share: float  # agreed / pairs, with its Wilson interval; NaN without pairs
    share_low: float
    share_high: float

    def to_dict(self) -> dict[str, float | None]:
        """Bounds and figures; None for what is infinite or undefined."""
        content: dict[str, float | None] = plain(self)
        return {"from": content.pop("low"), "to": content.pop("high"), **content}

    @property
    def bounds(self) -> str:
        """The bounds for readers."""
        if isfinite(self.high):
            return f"{self.low:g} – {self.high:g}"
        return f"{self.low:g} or more"


@dataclass(frozen=True, slots=True)
class Threshold:
    """The smallest difference from which people agree in a fraction of the pairs or more."""

    share: float
    difference: float | None  # None where too few pairs reach it


@dataclass(frozen=True, slots=True)
class BySize:
    """Pairs by the size of the difference, and from which size on people agree."""

    bins: tuple[Bin, ...]
    total: Bin
    thresholds: tuple[Threshold, ...]
    tied: int  # pairs with two equal scores, which are in no bin
    undecided: int  # pairs of which people preferred neither, which are in no bin either


@dataclass(frozen=True, eq=False, repr=False)
class ScoreDifferences(Result):
    """How often people agree with the differences of every metric."""

    datasets: tuple[str, ...]
    level: Level
    settings: DifferenceSettings
    selection: str  # what was chosen from the judgements; empty for all of them
    pairs: int
    metrics: tuple[MetricInfo, ...]
    by_size: tuple[BySize, ...]  # one per metric
    from_ratings: bool  # whether preferences were derived from ratings
    notes: tuple[str, ...] = ()

    def tables(self) -> tuple[Table, ...]:
        """Bins of differences, then thresholds."""
        return self._bins_table(), self._thresholds_table()

    def long_table(self) -> Table:
        """A row per metric and bin, one for all bins together, and one per threshold."""
        columns = (
            *map(Column, ("metric", "of")),
            *(Column(name, "number") for name in ("from", "to", *_FIGURES)),
        )
        rows: list[list[Cell]] = []
        for metric, sizes in zip(self.metrics, self.by_size, strict=True):
            bins = (*(("bin", each) for each in sizes.bins), ("all", sizes.total))
            rows += [[metric.name, of, *each.to_dict().values()] for of, each in bins]
            for each in sizes.thresholds:
                blank = [None] * 2
                rows.append(
                    [metric.name, "at least", each.difference, None, *blank, each.share, *blank]
                )
        return Table(columns, rows)

    def to_dict(self) -> dict[str, Any]:
        """Of every metric its bins, all of them together, and thresholds."""
        return {
            "datasets": list(self.datasets),
            "level": self.level,
            "settings": plain(self.settings) | {"shares": list(SHARES), "fewest": FEWEST},
            "selection": self.selection,
            "pairs": self.pairs,
            "metrics": [
                {
                    **plain(metric),
                    "tied": sizes.tied,
                    "undecided": sizes.undecided,
                    "bins": [each.to_dict() for each in sizes.bins],
                    "all": sizes.total.to_dict(),
                    "thresholds": plain(sizes.thresholds),
                }
                for metric, sizes in zip(self.metrics, self.by_size, strict=True)
            ],
            "notes": list(self.notes),
        }

    def _bins_table(self) -> Table:
        of = "systems" if self.level == "system" else "outputs"
        columns = (
            Column("metric"),
            Column("difference"),
            Column("pairs", "integer"),
            Column("people agree", align="right"),
            Column(f"{self.settings.confidence * 100:g}% interval", align="right"),
        )
        rows: list[list[Cell]] = []
        for metric, sizes in zip(self.metrics, self.by_size, strict=True):
            for name, each in (
                *((each.bounds, each) for each in sizes.bins),
                ("all", sizes.total),
            ):
                bounds = f"{_percent(each.share_low)} – {_percent(each.share_high)}"
                figures = (_percent(each.share), bounds) if each.pairs else (MISSING, MISSING)
                rows.append([metric.name, name, each.pairs, *figures])
        datasets = " + ".join(self.datasets)
        what = f"how often people agree with a difference, {self.pairs:,} pairs of {of}"
        return Table(columns, rows, f"{datasets}: {what}")

    def _thresholds_table(self) -> Table:
        columns = (
            Column("metric"),
            *(Column(f"{100 * share:g}% from", align="right") for share in SHARES),
            Column("ties", "integer"),
        )
        rows: list[list[Cell]] = []
        for metric, sizes in zip(self.metrics, self.by_size, strict=True):
            differences = (threshold.difference for threshold in sizes.thresholds)
            cells = (MISSING if each is None else f"{each:.3g}" for each in differences)
            rows.append([metric.name, *cells, sizes.tied])
        return Table(columns, rows, notes=tuple(self._legend()))

    def _legend(self) -> Iterator[str]:
        settings = self.settings
        share = f"{100 * SHARES[0]:g}%"
        yield "people agree: they preferred the side with the higher score; Wilson intervals"
        yield (
            f"{share} from: smallest difference at which people agree in {share} of pairs, by "
            f"isotonic regression; {MISSING} where fewer than {FEWEST} pairs reach it"
        )
        yield "ties: pairs with two equal scores, which are in no row above"
        signed = [f"level:{self.level}", f"confidence:{settings.confidence:g}"]
        if self.from_ratings:
            signed.append(f"min_difference:{settings.min_difference:g}")
        yield "|".join(filter(None, (*signed, self.selection)))
        for metric in self.metrics:
            yield metric.signature


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def differences(
    judgements: JudgementData | Sequence[JudgementData],
    metrics: Specifications,
    settings: DifferenceSettings | None = None,
    *,
    selection: Selection | None = None,
    progress: Progress = NO_PROGRESS,
) -> ScoreDifferences:
    """Count how often people preferred the side with the higher score, by size of the difference.

    `judgements` and `metrics` are as `evaluate` takes them; judgements may also be a list of
    datasets, whose pairs count together. Pairs are the preferences between outputs of a segment,
    or all pairs of systems of a language pair.

    >>> from adequa.segments import Segments
    >>> better = Segments(("a b c", "a b", "a b x"), (("a b c",),) * 3)
    >>> worse = Segments(("a b x", "a x y", "a b c"), (("a b c",),) * 3)
    >>> human = Preferences({"lp": ("cs-en",) * 3}, better, worse)
    >>> result = differences(human, "wer", DifferenceSettings(edges=(0.2,)))
    >>> [(each.agreed, each.pairs) for each in result.by_size[0].bins]
    [(0, 0), (2, 3)]
    """
    settings = settings_or_default(DifferenceSettings, settings, "settings")
    selection = settings_or_default(Selection, selection, "selection")
    scorers = sources(metrics)
    listed = judgements if isinstance(judgements, (list, tuple)) else [judgements]
    datasets = [load_dataset(each) for each in listed]
    level = _common_level(datasets, settings.level)
    protocol = settings.protocol(level)
    notes: list[str] = []
    chosen = []
    for each in datasets:
        part, exclusions = selected(each, selection, protocol)
        chosen.append(part)
        notes += [*identified(each).file_rows.notes(), *exclusions, *_notes_on(part)]
    parts = [_pairs(part, scorers, protocol, progress) for part in chosen]
    score_differences = np.concatenate([each for each, _ in parts], axis=1)
    preferred = np.concatenate([each for _, each in parts])
    if not preferred.any():
        raise AdequaError(
            f"There is nothing to compare: no two {level}s of a language pair are better and worse."
        )
    sizes = tuple(
        by_size(row, preferred, edges=settings.edges, confidence=settings.confidence)
        for row in score_differences
    )
    if equal := sizes[0].undecided:
        notes.append(f"pairs of systems with equal human scores, which are in no row: {equal:,}.")
    counts = {reference_count(part) for part in chosen}
    return ScoreDifferences(
        datasets=tuple(identified(each).name for each in datasets),
        level=level,
        settings=settings,
        selection=str(selection),
        pairs=len(preferred),
        metrics=metric_infos(scorers, counts.pop() if len(counts) == 1 else None, level),
        by_size=sizes,
        from_ratings=level == "segment" and any(isinstance(each, Ratings) for each in chosen),
        notes=(*notes, *scoring_notes(scorers)),
    )


def _common_level(judgements: Sequence[Judgements], level: Level | None) -> Level:
    """The level at which pairs are compared, the same for all of the judgements."""
    if not judgements:
        raise AdequaError("Name at least one dataset or file of judgements.")
    whole = [identified(each).name for each in judgements if isinstance(each, RatedSystems)]
    if not whole:
        return level or "segment"
    if level == "segment":
        raise AdequaError(
            f"{whole[0]} has human scores of whole systems only; leave --level segment out."
        )
    if level is None and len(whole) < len(judgements):
        raise AdequaError(
            f"{whole[0]} is of whole systems, and not all of the others are; compare these with "
            "--level system, or run each by itself."
        )
    return "system"


def _notes_on(judgements: Judgements) -> list[str]:
    """Human ties, and outputs that were rated more than once."""
    if isinstance(judgements, Ratings):
        return list(judgement_notes(judgements))
    ties = sum(judgements.ties.values()) if isinstance(judgements, Preferences) else 0
    return [f"human ties, which are left out: {ties:,}."] if ties else []


def _pairs(
    judgements: Judgements, scorers: Sequence[Source], protocol: Protocol, progress: Progress
) -> _Pairs:
    if isinstance(judgements, RatedSystems) or protocol.level == "system":
        return _of_systems(judgements, scorers, protocol, progress)
    if isinstance(judgements, Preferences):
        scores = segment_scores(judgements, scorers, progress)
        return scores[..., 0] - scores[..., 1], np.ones(len(judgements))
    return _of_ratings(without_repeats(judgements), scorers, protocol, progress)


def _of_systems(
    judgements: Judgements, scorers: Sequence[Source], protocol: Protocol, progress: Progress
) -> _Pairs:
    """All pairs of systems of a language pair, by their system scores."""
    parts = []
    for data in ranked_systems(judgements, scorers, protocol, progress):
        pairs = list(combinations(range(len(data.human)), 2))
        first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        better = np.sign(data.human[first] - data.human[second])
        parts.append((data.scores[:, first] - data.scores[:, second], better))
    score_differences, preferred = zip(*parts, strict=True)
    return np.concatenate(score_differences, axis=1), np.concatenate(preferred)


def _of_ratings(
    ratings: Ratings, scorers: Sequence[Source], protocol: Protocol, progress: Progress
) -> _Pairs:
    """Pairs of outputs of a segment whose ratings are far enough apart."""
    scores = segment_scores(ratings, scorers, progress)
    margins = []
    for pair, rows in rows_by(column_names(ratings.ids, len(ratings))).items():
        part = ratings.select(rows)
        of = margins_from_ratings(pair, part.scores, scores[:, rows], part.ids, protocol)
        margins.append(of.margins)
    joined = np.concatenate(margins, axis=1)
    return joined, np.ones(joined.shape[1])


def by_size(
    differences: FloatArray,
    preferred: IntArray | FloatArray,
    *,
    edges: Sequence[float] | None = None,
    confidence: float = 0.95,
) -> BySize:
    """How often people preferred the side with the higher score, by the size of the difference.

    Bins start at 0 and at each of the `edges`; the last is open. Without edges they are quantiles
    of the sizes, rounded down to 1, 2 or 5 times a power of ten.

    >>> sizes = by_size(np.array([0.2, -0.4, 3.0, 0.0]), np.array([-1, -1, 1, 1]), edges=[1])
    >>> [(each.low, each.high, each.agreed, each.pairs) for each in sizes.bins]
    [(0.0, 1.0, 1, 2), (1.0, inf, 1, 1)]
    >>> sizes.tied
    1
    """
    tied, undecided = differences == 0, preferred == 0
    decided = ~tied & ~undecided
    sizes = np.abs(differences[decided])
    agreed = np.sign(differences[decided]) == preferred[decided]
    starts = readable_edges(sizes) if edges is None else checked_edges(edges)
    index = np.searchsorted(np.array(starts) * (1 - _ROUNDING), sizes, side="right") - 1
    pairs = np.bincount(index, minlength=len(starts))
    hits = np.bincount(index[agreed], minlength=len(starts))
    (total,) = _bins((0.0,), pairs.sum(keepdims=True), hits.sum(keepdims=True), confidence)
    return BySize(
        bins=_bins(starts, pairs, hits, confidence),
        total=total,
        thresholds=tuple(
            Threshold(share, smallest_difference(sizes, agreed, share)) for share in SHARES
        ),
        tied=int((tied & ~undecided).sum()),
        undecided=int(undecided.sum()),
    )


def smallest_difference(
    sizes: FloatArray, agreed: npt.ArrayLike, share: float, fewest: int = FEWEST
) -> float | None:
    """The smallest size from which the isotonic fit of agreement on size is `share` or more.

    The fit never falls as sizes grow, and of all such curves is the nearest to the preferences.
    It rises to a share q after the pair at which the sum of (agreed - q), from the smallest size
    on, is lowest: before it are the blocks of the fit with a mean below q, behind it the others.
    (Groeneboom and Jongbloed, 2014, Nonparametric Estimation under Shape Constraints, call this the
    switch relation.) None where fewer than `fewest` pairs are of that size or larger.

    >>> sizes, agreed = np.arange(1, 9), np.array([1, 0, 0, 1, 0, 1, 1, 1])
    >>> smallest_difference(sizes, agreed, 0.5, fewest=1)
    4.0
    >>> smallest_difference(sizes, agreed, 0.9, fewest=1), smallest_difference(sizes, agreed, 0.9)
    (6.0, None)
    """
    order = np.argsort(sizes, kind="stable")
    distinct, first = np.unique(sizes[order], return_index=True)
    # Before each distinct size, and after the last: pairs of one size stay together.
    before = np.append(first, len(sizes))
    agreed_before = np.concatenate([[0.0], np.cumsum(np.asarray(agreed)[order])])[before]
    sums = (agreed_before - share * before).round(9)  # so that equal sums are equal
    lowest = int(np.argmin(sums))
    if len(sizes) - before[lowest] < max(fewest, 1):
        return None
    return float(distinct[lowest])


def readable_edges(sizes: FloatArray) -> tuple[float, ...]:
    """Where bins start: at 0 and at quantiles of the sizes, rounded down to 1, 2 or 5 of a digit.

    No bin between them is empty.

    >>> readable_edges(np.array([0.13, 0.2, 0.5, 0.7, 1.1, 1.6, 2.3, 3.1, 4.4, 7.0]))
    (0.0, 0.5, 1.0, 2.0, 5.0)
    """
    if not len(sizes):
        return (0.0,)
    quantiles = np.quantile(sizes, _QUANTILES, method="nearest")
    first, *rest = sorted({_rounded_down(size) for size in quantiles})
    return (0.0, *([first] if sizes.min() < first * (1 - _ROUNDING) else []), *rest)


def checked_edges(edges: Sequence[float]) -> tuple[float, ...]:
    """Edges as bins need them, from 0 on; or a sentence on what is wrong with them.

    >>> checked_edges([0.01, 0.1])
    (0.0, 0.01, 0.1)
    """
    numbers = [float(edge) for edge in edges]
    for edge in numbers:
        if not (isfinite(edge) and edge >= 0):
            raise AdequaError(f"An edge between differences is a number from 0 on, not {edge:g}.")
    if any(low >= high for low, high in pairwise(numbers)):
        listed = ", ".join(f"{edge:g}" for edge in numbers)
        raise AdequaError(f"Edges between differences must grow, and these do not: {listed}.")
    return (0.0, *(edge for edge in numbers if edge > 0))


def _bins(
    starts: Sequence[float], pairs: IntArray, hits: IntArray, confidence: float
) -> tuple[Bin, ...]:
    filled = pairs > 0
    figures = np.full((3, len(pairs)), nan)
    figures[0, filled] = hits[filled] / pairs[filled]
    figures[1:, filled] = wilson_intervals(hits[filled], pairs[filled], confidence)
    ends = (*starts[1:], inf)
    return tuple(
        Bin(*row)
        for row in zip(starts, ends, pairs.tolist(), hits.tolist(), *figures.tolist(), strict=True)
    )


def _rounded_down(size: float) -> float:
    digits, exponent = f"{size:.12e}".split("e")
    digit = max(d for d in (1, 2, 5) if d <= float(digits))
    return float(f"{digit}e{exponent}")
