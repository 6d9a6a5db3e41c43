"""Choosing the thresholds of bands on rated segments, and measuring their precision.

The band publish has a precision: the fraction of its segments whose rating is good. The threshold
of publish is the one that puts most segments into the band at a precision of at least the one
asked for; that of redo is the same for poor ratings. The precision that is reported is measured on
other segments than those that chose the thresholds, by cross-validation, as the precision on the
same segments is too high.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np

from adequa.agreement.confidence import percent, ratings_of
from adequa.agreement.groups import codes
from adequa.datasets.load import JudgementData
from adequa.errors import AdequaError
from adequa.learned.folds import grouped_folds, reference_groups
from adequa.metrics.base import Metric, batched_statistics, check_between
from adequa.metrics.registry import shared_metric
from adequa.progress import NO_PROGRESS, Progress
from adequa.scoring.bands import ScoreBands, bands_json, inputs_of
from adequa.scoring.confidence import BANDS, CHECK, PUBLISH, REDO
from adequa.segments import BoolArray, FloatArray, IntArray
from adequa.statistics.significance import clustered_wilson_interval
from adequa.tables import MISSING, Column, Result, Row, Table, plain

FOLDS: Final = 10
FEWEST: Final = 200  # ratings to choose thresholds on
FEWEST_OF_BAND: Final = 20  # a precision of fewer segments says little


@dataclass(frozen=True, slots=True)
class BandPrecision:
    """What was measured of one band on held-out segments; NaN where the band is empty."""

    segments: int
    fraction: float  # of all segments
    precision: float  # fraction of good ratings in publish, of poor ones in redo
    low: float  # 95% interval of the precision
    high: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FittedBands(Result):
    """Thresholds that were chosen on ratings, and the precision of their bands."""

    bands: ScoreBands
    metric: Metric
    good: float
    poor: float
    precision: float  # the one that was asked for
    measured: Mapping[str, BandPrecision]  # by band; check has no precision

    def to_json(self) -> str:
        """Return the content of a file that `adequa score --bands` reads."""
        settings = {"good": self.good, "poor": self.poor, "precision": self.precision}
        return bands_json(self.bands, self.metric, {**settings, "held_out": plain(self.measured)})

    def tables(self) -> tuple[Table, ...]:
        columns = (
            Column("band"),
            Column("score", align="right"),
            Column("segments", "integer"),
            Column("fraction", align="right"),
            Column("precision", align="right"),
            Column("95% interval", align="right"),
        )
        notes = (
            f"publish: ratings of {self.good:g} or more; redo: ratings below {self.poor:g}; asked "
            f"for: a precision of {self.precision:.0%}",
            f"segments, fraction, precision: of held-out segments, in {FOLDS} folds by reference "
            "or source",
        )
        rows = [self._row(name, each) for name, each in self.measured.items()]
        return (Table(columns, rows, f"{self.metric.name}: bands", notes),)

    def _row(self, name: str, each: BandPrecision) -> Row:
        better, worse = ("≥", "≤") if self.metric.higher_is_better else ("≤", "≥")
        limits = {"publish": (better, self.bands.publish), "redo": (worse, self.bands.redo)}
        sign, limit = limits.get(name, ("", None))
        interval = MISSING if np.isnan(each.low) else f"{percent(each.low)} – {percent(each.high)}"
        score = MISSING if limit is None else f"{sign} {limit:.4g}"
        measured = percent(each.fraction), percent(each.precision), interval
        return (name, score, each.segments, *measured)

    def long_table(self) -> Table:
        names = ("fraction", "precision", "low", "high")
        columns = (
            Column("band"),
            Column("score", "number"),
            Column("segments", "integer"),
            *(Column(name, "number") for name in names),
        )
        limits = {"publish": self.bands.publish, "redo": self.bands.redo}
        rows: list[Row] = [
            (name, limits.get(name), each.segments, *(getattr(each, key) for key in names))
            for name, each in self.measured.items()
        ]
        return Table(columns, rows)

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric.name,
            "bands": self.bands.to_dict(),
            "good": self.good,
            "poor": self.poor,
            "precision": self.precision,
            "measured": {name: plain(asdict(each)) for name, each in self.measured.items()},
        }


def fit_bands(
    ratings: JudgementData,
    metric: str | Metric,
    *,
    good: float,
    poor: float,
    precision: float = 0.8,
    seed: int = 0,
    progress: Progress = NO_PROGRESS,
) -> FittedBands:
    """Choose the thresholds of the bands publish and redo on rated segments.

    `good` is the lowest rating of a translation that can be published, and below `poor` it should
    be translated anew, on the scale of the ratings. `precision` is the fraction of the ratings in a
    band that are so. The ratings must not be those that the metric was trained on.
    """
    check_between("precision", precision, 0.5, 1)
    if poor > good:
        raise AdequaError(f"poor, {poor:g}, should be at most good, {good:g}.")
    loaded_ratings = ratings_of(ratings)
    if loaded_ratings.segments is None:
        raise AdequaError(f"{loaded_ratings.name or 'The file'} has no texts to score.")
    segments = loaded_ratings.segments
    if len(segments) < FEWEST:
        raise AdequaError(
            f"Thresholds are chosen on {FEWEST} ratings or more, and "
            f"{loaded_ratings.name or 'the file'} has {len(segments)}."
        )
    with shared_metric(metric) as loaded:
        loaded.check_reads(segments)
        progress.expect(len(segments))
        statistics = batched_statistics(loaded, segments, progress.texts_scored)
        rated = _Rated(
            scores=loaded.segment_scores(statistics) * (1 if loaded.higher_is_better else -1),
            good=loaded_ratings.scores >= good,
            poor=loaded_ratings.scores < poor,
        )
    thresholds = _thresholds(rated, precision)
    if thresholds.publish is None and thresholds.redo is None:
        raise AdequaError(
            f"No score of {loaded.name} puts {FEWEST_OF_BAND} segments or more into publish or "
            f"redo with a precision of {precision:.0%}; ask for a lower precision, or change "
            "good and poor."
        )
    groups = reference_groups(segments)
    name = loaded_ratings.name or "ratings"
    origin = (
        f"{len(segments):,} ratings of {name} with a precision of {precision:g}, good from "
        f"{good:g}, poor below {poor:g}"
    )
    return FittedBands(
        bands=replace(
            _with_direction(thresholds, loaded, origin),
            inputs=inputs_of(
                loaded.segment_signature(
                    segments.reference_count, sources=segments.sources is not None
                )
            ),
        ),
        metric=loaded,
        good=good,
        poor=poor,
        precision=precision,
        measured=_measured(rated, groups, precision, seed),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rated:
    """Scores of segments, higher for better ones, and which of them have good or poor ratings."""

    scores: FloatArray
    good: BoolArray
    poor: BoolArray

    def select(self, rows: BoolArray) -> _Rated:
        return _Rated(self.scores[rows], self.good[rows], self.poor[rows])


def _with_direction(bands: ScoreBands, metric: Metric, origin: str) -> ScoreBands:
    """Thresholds on scores that are higher for better segments, as thresholds of a metric."""
    if metric.higher_is_better:
        return replace(bands, origin=origin)
    publish, redo = (None if each is None else -each for each in (bands.publish, bands.redo))
    return ScoreBands(publish, redo, higher_is_better=False, origin=origin)


def _thresholds(rated: _Rated, precision: float) -> ScoreBands:
    """The thresholds of both bands; a segment that can be published is never in redo."""
    publish = lowest_threshold(rated.scores, rated.good, precision)
    others = rated if publish is None else rated.select(rated.scores < publish)
    redo = lowest_threshold(-others.scores, others.poor, precision)
    return ScoreBands(publish, None if redo is None else -redo)


def lowest_threshold(scores: FloatArray, hits: BoolArray, precision: float) -> float | None:
    """The lowest score from which on the fraction of hits is at least `precision`.

    None where there is none with `FEWEST_OF_BAND` segments.

    >>> scores = np.repeat([0.9, 0.8, 0.7], 20)
    >>> hits = np.repeat([True, True, False], 20)
    >>> lowest_threshold(scores, hits, 0.9), lowest_threshold(scores, hits, 0.6)
    (0.8, 0.7)
    """
    order = np.argsort(-scores, kind="stable")
    ordered, counts = scores[order], np.arange(1, len(scores) + 1)
    is_last = np.append(ordered[1:] != ordered[:-1], True)[: len(ordered)]  # of equal scores
    is_precise = np.cumsum(hits[order]) / counts >= precision
    fits = np.flatnonzero(is_last & is_precise & (counts >= FEWEST_OF_BAND))
    return float(ordered[fits[-1]]) if len(fits) else None


def _measured(
    rated: _Rated, groups: list[str], precision: float, seed: int
) -> dict[str, BandPrecision]:
    """The bands of segments by thresholds that were chosen on the segments of other folds."""
    folds = grouped_folds(groups, FOLDS, seed)
    band = np.empty(len(folds), np.int8)
    for fold in range(FOLDS):
        held_out = folds == fold
        band[held_out] = _thresholds(rated.select(~held_out), precision)(rated.scores[held_out])
    clusters = codes(groups, len(groups))
    hits = {PUBLISH: rated.good, REDO: rated.poor}
    return {
        BANDS[code]: _precision(band == code, hits.get(code), clusters)
        for code in (PUBLISH, CHECK, REDO)
    }


def _precision(rows: BoolArray, hits: BoolArray | None, clusters: IntArray) -> BandPrecision:
    share, low, high = np.nan, np.nan, np.nan
    if hits is not None and rows.any():
        share = float(hits[rows].mean())
        low, high = clustered_wilson_interval(hits[rows], clusters[rows])
    return BandPrecision(int(rows.sum()), float(rows.mean()), share, low, high)
