"""Measure interval coverage and band precision on human ratings.

Intervals were fitted on other ratings (`adequa.agreement.confidence`). A 90% interval should cover
90% of the ratings, and be narrow: the baseline is an interval of constant width. The precision of a
band is the fraction of its segments that are rated as the band predicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any, Final

import numpy as np

from adequa.agreement.confidence import RatedScores, inside, percent, rated_scores, ratings_of
from adequa.agreement.groups import ALL, codes, rows_by
from adequa.agreement.protocol import Protocol, settings_or_default
from adequa.agreement.selection import Selection, selected
from adequa.datasets.load import JudgementData
from adequa.datasets.registry import DATASETS
from adequa.errors import counted
from adequa.judgements import Ratings
from adequa.metrics.base import Metric
from adequa.metrics.registry import shared_metric
from adequa.progress import NO_PROGRESS, Progress
from adequa.scoring.confidence import (
    BANDS,
    DEFAULT_LEVEL,
    PEOPLE,
    BandRule,
    Bands,
    Estimator,
    Raters,
    check_level,
)
from adequa.segments import FloatArray, IntArray
from adequa.statistics.significance import clustered_wilson_interval
from adequa.tables import MISSING, Cell, Column, Result, Table, plain

_CLUSTERS_NOTE: Final = "95% interval: Wilson's, with the outputs of a reference as a cluster"


@dataclass(frozen=True, slots=True)
class BandFigures:
    """Fractions of good and of poor ratings in one band, with 95% intervals."""

    band: str  # or "all"
    segments: int
    fraction: float
    good: float  # fraction of ratings that are good
    good_low: float  # bounds of its 95% interval
    good_high: float
    poor: float  # fraction of ratings that are poor
    poor_low: float
    poor_high: float


@dataclass(frozen=True, slots=True)
class PairCoverage:
    """Intervals, expected errors and bands on the ratings of one language pair, or of all."""

    name: str
    ratings: int
    covered: float  # fraction of ratings in their intervals
    covered_low: float  # bounds of its 95% interval
    covered_high: float
    width: float  # mean width of the intervals
    constant_covered: float  # the same for intervals of constant width before clipping
    constant_width: float
    expected_error: float  # mean
    error: float  # mean distance of score and rating
    correlation: float  # of expected and measured errors, Pearson; NaN where it is undefined
    bands: tuple[BandFigures, ...]


@dataclass(frozen=True, eq=False, repr=False)
class IntervalCoverage(Result):
    """Coverage of intervals and precision of bands, by language pair."""

    dataset: str
    raters: Raters
    level: float
    rule: BandRule
    pairs: tuple[PairCoverage, ...]
    total: PairCoverage
    confidence: str  # signature of the intervals and bands
    signature: str = ""  # of the metric
    threshold: float | None = None  # for ratings on another scale, which have no intervals
    selection: str = ""
    notes: tuple[str, ...] = ()

    def tables(self) -> tuple[Table, ...]:
        if self.threshold is not None:
            return (self._bands_table(),)
        return self._intervals_table(), self._bands_table()

    def _intervals_table(self) -> Table:
        columns = (
            Column("pair"),
            Column("ratings", "integer"),
            Column("in the interval", align="right"),
            Column("95% interval", align="right"),
            Column("width", "number", decimals=3),
            Column("of one width", align="right"),
            Column("one width", "number", decimals=3),
            Column("expected error", "number", decimals=3),
            Column("error", "number", decimals=3),
            Column("correlation", "number", decimals=3),
        )
        rows: list[list[Cell]] = [
            [
                each.name,
                each.ratings,
                percent(each.covered),
                f"{percent(each.covered_low)} – {percent(each.covered_high)}",
                each.width,
                percent(each.constant_covered),
                each.constant_width,
                each.expected_error,
                each.error,
                each.correlation,
            ]
            for each in self._rows
        ]
        what = f"{counted(self.total.ratings, 'rating')} of {PEOPLE[self.raters]}"
        notes = (
            "of one width: ratings in intervals of constant width, and their mean width after "
            "clipping to 0 and 1",
            "error: mean distance of score and rating; correlation: of expected and measured "
            "errors of segments",
            _CLUSTERS_NOTE,
        )
        title = f"{self.dataset}: {self.level:.0%} intervals, {what}"
        return Table(columns, rows, title, notes)

    def _bands_table(self) -> Table:
        good, poor = _limits(self.rule, self.threshold)
        columns = (
            Column("pair"),
            Column("band"),
            Column("segments", "integer"),
            Column("fraction", align="right"),
            Column(f"rating {good:.3g} or more", align="right"),
            Column("95% interval", align="right"),
            Column(f"rating below {poor:.3g}", align="right"),
            Column("95% interval", align="right"),
        )
        rows: list[list[Cell]] = [
            [
                each.name,
                band.band,
                band.segments,
                percent(band.fraction),
                percent(band.good),
                _bounds(band.good_low, band.good_high),
                percent(band.poor),
                _bounds(band.poor_low, band.poor_high),
            ]
            for each in self._rows
            for band in each.bands
        ]
        signatures = self.selection, self.signature, self.confidence
        clusters = () if self.threshold is None else (_CLUSTERS_NOTE,)
        notes = tuple(filter(None, (*clusters, *self.notes, *signatures)))
        return Table(columns, rows, f"{self.dataset}: human ratings by band", notes)

    @property
    def _rows(self) -> tuple[PairCoverage, ...]:
        return (*self.pairs, self.total) if len(self.pairs) > 1 else self.pairs

    def long_table(self) -> Table:
        figures = [name for name in PairCoverage.__slots__ if name not in {"name", "bands"}]
        of_bands = [name for name in BandFigures.__slots__ if name != "band"]
        columns = (
            Column("lp"),
            *(Column(name, "integer" if name == "ratings" else "number") for name in figures),
            Column("band"),
            *(Column(name, "integer" if name == "segments" else "number") for name in of_bands),
        )
        rows: list[list[Cell]] = [
            [
                each.name,
                *(getattr(each, name) for name in figures),
                band.band,
                *(getattr(band, name) for name in of_bands),
            ]
            for each in self._rows
            for band in each.bands
        ]
        return Table(columns, rows)

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "raters": self.raters,
            "level": self.level,
            "bands": plain(self.rule),
            "threshold": self.threshold,
            "selection": self.selection,
            "signature": self.signature,
            "confidence": self.confidence,
            "pairs": [plain(each) for each in self.pairs],
            "all": plain(self.total),
            "notes": list(self.notes),
        }


def coverage(
    judgements: JudgementData,
    metric: str | Metric = "adequa",
    *,
    raters: Raters | None = None,
    level: float = DEFAULT_LEVEL,
    file: str | Path | None = None,
    threshold: float | None = None,
    selection: Selection | None = None,
    progress: Progress = NO_PROGRESS,
) -> IntervalCoverage:
    """Measure the coverage of the intervals of `adequa.confidence`, and the precision of its bands.

    `judgements` are ratings as `adequa.evaluate` takes them, standardised (DA's z scores). `raters`
    is "one" if each is the rating of a single person, and "panel" if it is the mean of about 15; by
    default that of a named dataset, else "panel". `file` names another file of
    `adequa train confidence`. With a `threshold`, ratings may be on any scale, such as MQM: bands
    are then measured by the fraction of ratings that are at least the threshold, and no intervals.
    """
    check_level(level)
    selection = settings_or_default(Selection, selection, "selection")
    loaded = ratings_of(judgements)
    chosen, notes = _selected_ratings(loaded, selection)
    if raters is None:
        raters = _raters_of(loaded.name)
    with shared_metric(metric) as scorer:
        estimator = Estimator.of(scorer, raters=raters, level=level, file=file)
        progress.expect(len(chosen))
        raw = threshold is not None
        rated = rated_scores(scorer, chosen, estimator.raters, progress, as_they_are=raw)
        signature = str(scorer.segment_signature(_reference_count(chosen)))
    return replace(
        _measured(rated, estimator, threshold),
        signature=signature,
        selection=str(selection),
        notes=(*loaded.file_rows.notes(), *notes),
    )


def _selected_ratings(ratings: Ratings, selection: Selection) -> tuple[Ratings, tuple[str, ...]]:
    """Return the selected ratings, and notes on the selection."""
    chosen, notes = selected(ratings, selection, Protocol())
    if not isinstance(chosen, Ratings):
        raise TypeError("a selection of ratings holds ratings")
    return chosen, tuple(notes)


def _measured(
    rated: RatedScores, estimator: Estimator, threshold: float | None
) -> IntervalCoverage:
    """Measure coverage and bands by language pair and over all."""
    pairs = tuple(
        pair_coverage(name, rated.select(rows), estimator, threshold)
        for name, rows in rows_by(rated.pairs).items()
    )
    return IntervalCoverage(
        dataset=rated.data,
        raters=estimator.raters,
        level=estimator.level,
        rule=estimator.model.rule,
        pairs=pairs,
        total=pair_coverage(ALL, rated, estimator, threshold),
        confidence=str(estimator.signature),
        threshold=threshold,
    )


def _raters_of(name: str) -> Raters | None:
    """Return the kind of raters of a named dataset; None where that is unknown."""
    known = DATASETS[name].raters if name in DATASETS else ""
    return known or None


def _reference_count(ratings: Ratings) -> int | None:
    return None if ratings.segments is None else ratings.segments.reference_count


def pair_coverage(
    name: str, rated: RatedScores, estimator: Estimator, threshold: float | None = None
) -> PairCoverage:
    """Measure intervals, expected errors and bands on ratings; with a threshold, bands alone."""
    ratings, scores, level = rated.ratings, rated.scores, estimator.level
    estimates = estimator.model.estimate(scores, rated.texts, raters=estimator.raters, level=level)
    clusters = codes(rated.groups, len(rated))
    limits = _limits(estimator.model.rule, threshold)
    bands = tuple(_band_figures(ratings, estimates.band, clusters, *limits))
    if threshold is not None:
        return PairCoverage(name, len(rated), *(nan,) * 9, bands=bands)
    covered = inside(ratings, estimates.low, estimates.high)
    low, high = clustered_wilson_interval(covered, clusters)
    model = estimator.model.model(estimator.raters)
    constant_low, constant_high = model.constant_interval(scores, level)
    errors = np.abs(ratings - scores)
    return PairCoverage(
        name=name,
        ratings=len(rated),
        covered=float(covered.mean()),
        covered_low=low,
        covered_high=high,
        width=float((estimates.high - estimates.low).mean()),
        constant_covered=float(inside(ratings, constant_low, constant_high).mean()),
        constant_width=float((constant_high - constant_low).mean()),
        expected_error=float(estimates.error.mean()),
        error=float(errors.mean()),
        correlation=_correlation(estimates.error, errors),
        bands=bands,
    )


def _limits(rule: BandRule, threshold: float | None) -> tuple[float, float]:
    """Return the least good rating, and the rating below which all are poor."""
    return (rule.good, rule.poor) if threshold is None else (threshold, threshold)


def _band_figures(
    ratings: FloatArray, band: Bands, clusters: IntArray, least_good: float, least_fair: float
) -> Iterator[BandFigures]:
    masks = [(name, band == code) for code, name in enumerate(BANDS)]
    for name, mask in [*masks, (ALL, np.ones(len(ratings), dtype=np.bool_))]:
        good, poor = ratings[mask] >= least_good, ratings[mask] < least_fair
        count = len(good)
        good_low, good_high = clustered_wilson_interval(good, clusters[mask])
        poor_low, poor_high = clustered_wilson_interval(poor, clusters[mask])
        yield BandFigures(
            band=name,
            segments=count,
            fraction=count / len(ratings),
            good=float(good.mean()) if count else nan,
            good_low=good_low,
            good_high=good_high,
            poor=float(poor.mean()) if count else nan,
            poor_low=poor_low,
            poor_high=poor_high,
        )


def _correlation(first: FloatArray, second: FloatArray) -> float:
    if len(first) < 2 or not (np.ptp(first) and np.ptp(second)):  # noqa: PLR2004
        return nan
    return float(np.corrcoef(first, second)[0, 1])


def _bounds(low: float, high: float) -> str:
    return MISSING if np.isnan(low) else f"{percent(low)} – {percent(high)}"
