"""Fitting the confidence of segment scores to human ratings.

`fit_confidence` needs ratings that the metric was not trained on. They are split into folds by
reference, so that all outputs of a segment are in one fold. Each fold is predicted by a model
fitted on the others, and the radii of the intervals are quantiles of all these residuals. The
median and the expected distances of the final model are then fitted on all ratings. This is
neither split conformal nor cross-conformal prediction, and coverage is approximate: it has no
finite-sample guarantee.

Intervals hold for ratings like the fitted ones. `fit_confidence` reports coverage for each language
pair when it is left out, and `coverage` measures it on other ratings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import nan
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from adequa.agreement.groups import column_names, rows_by
from adequa.datasets.load import JudgementData, load_dataset
from adequa.errors import AdequaError
from adequa.judgements import Ratings, identified, without_repeats
from adequa.learned.folds import grouped_folds
from adequa.learned.packed.metric import ScoreMap
from adequa.metrics.base import Metric, batched_statistics, check_choice
from adequa.metrics.registry import shared_metric
from adequa.progress import NO_PROGRESS, Progress
from adequa.scoring.confidence import (
    DEFAULT_LEVEL,
    LEVELS,
    QUANTILES,
    RATERS,
    BandRule,
    ConfidenceModel,
    ExpectedDistance,
    Raters,
    RatingModel,
    TextFeatures,
    packed_metric,
)
from adequa.segments import FloatArray, IntArray, Segments
from adequa.tables import MISSING, Cell, Column, Result, Table, plain

FOLDS: Final = 10
FEWEST: Final = 200  # ratings to fit on: with fewer, wide intervals rest on a handful of them
_FEWEST_REST: Final = 50  # ratings of a language pair for a coverage to be reported
_LEAST: Final = 0.25  # lower bound of expected distances, as a fraction of the mean distance
_DECIMALS: Final = 6  # of stored numbers
_ITERATIONS: Final = 100

# Standardised ratings have a mean of about 0 and a standard deviation of about 1, or less where
# several raters are averaged. Other scales are far outside these limits.
_LARGEST_MEAN: Final = 1.0
_STANDARD_DEVIATIONS: Final = (0.2, 2.0)

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class RatedScores:
    """Scores, texts and ratings of segments, row by row."""

    scores: FloatArray
    texts: TextFeatures
    ratings: FloatArray  # on the scale of the metric, from 0 to 1
    pairs: tuple[str, ...]  # language pair of each
    groups: tuple[str, ...]  # rows of one reference are a group
    data: str

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def features(self) -> FloatArray:
        """The columns of `FEATURES`."""
        return self.texts.with_scores(self.scores)

    def select(self, rows: IntArray | Mask) -> RatedScores:
        """Return some of the rows."""
        chosen = np.arange(len(self))[rows].tolist()
        texts = TextFeatures(
            self.texts.length[rows], self.texts.overlap[rows], self.texts.foreign[rows]
        )
        return RatedScores(
            scores=self.scores[rows],
            texts=texts,
            ratings=self.ratings[rows],
            pairs=tuple(self.pairs[row] for row in chosen),
            groups=tuple(self.groups[row] for row in chosen),
            data=self.data,
        )


def rated_scores(
    metric: Metric,
    ratings: Ratings,
    raters: Raters,
    progress: Progress = NO_PROGRESS,
    *,
    as_they_are: bool = False,
) -> RatedScores:
    """Score the rated outputs, and map the ratings to the scale of the metric.

    Repeated ratings of an output are averaged for a panel, and not for single raters.
    `as_they_are` leaves the ratings on their own scale.
    """
    packed = packed_metric(metric)
    if raters == "panel":
        ratings = without_repeats(ratings)
    if ratings.segments is None:
        raise AdequaError(f"{ratings.name or 'The file'} has no texts to score.")
    metric.check_reads(ratings.segments)
    if not as_they_are:
        check_standardised(ratings)
    statistics = batched_statistics(metric, ratings.segments, progress.texts_scored)
    return RatedScores(
        scores=metric.segment_scores(statistics),
        texts=TextFeatures.of(ratings.segments, packed.references),
        ratings=ratings.scores if as_they_are else on_scale(ratings.scores, packed.score_map),
        pairs=column_names(ratings.ids, len(ratings)),
        groups=_text_groups(ratings.segments),
        data=ratings.name,
    )


def _text_groups(segments: Segments) -> tuple[str, ...]:
    """The reference of each row, or its source where there are none: what its outputs share."""
    if segments.has_references:
        return tuple(texts[0].strip() for texts in segments.references)
    return tuple(map(str.strip, segments.sources or ()))


def on_scale(ratings: FloatArray, score_map: ScoreMap) -> FloatArray:
    """Map standardised ratings to the scale of the metric linearly, and clip them to it.

    >>> on_scale(np.array([-2.0, 0.0, 0.5, 3.0]), ScoreMap(unrelated=-1.0, reference=1.0))
    array([0.  , 0.5 , 0.75, 1.  ])
    """
    line = (ratings - score_map.unrelated) / (score_map.reference - score_map.unrelated)
    return np.clip(line, 0, 1)


def check_standardised(ratings: Ratings) -> None:
    """Raise where ratings are not standardised by rater, as DA's z scores are."""
    mean, deviation = float(ratings.scores.mean()), float(ratings.scores.std())
    least, most = _STANDARD_DEVIATIONS
    if abs(mean) > _LARGEST_MEAN or not least <= deviation <= most:
        raise AdequaError(
            f"The ratings of {ratings.name or 'the file'} have a mean of {mean:.3g} and a standard "
            f"deviation of {deviation:.3g}, so that they are not standardised; subtract the mean "
            "of each rater and divide by the standard deviation."
        )


def fit_model(rated: RatedScores, seed: int = 0) -> RatingModel:
    """Fit the distribution of ratings: medians and distances on all, quantiles by K folds."""
    if len(rated) < FEWEST:
        raise AdequaError(
            f"Confidence is fitted on {FEWEST} ratings or more, and {rated.data or 'the file'} has "
            f"{len(rated)}."
        )
    folds = grouped_folds(rated.groups, FOLDS, seed)
    residuals, distances = np.empty(len(rated)), np.empty(len(rated))
    for fold in range(FOLDS):
        held_out = folds == fold
        model = _fit_parts(rated.select(~held_out))
        rest = rated.select(held_out)
        residuals[held_out] = rest.ratings - model.medians(rest.scores)
        distances[held_out] = model.distances(rest.features)
    relative = residuals / distances
    equally_likely = (np.arange(QUANTILES) + 0.5) / QUANTILES
    return replace(
        _fit_parts(rated),
        quantiles=np.quantile(relative, equally_likely).round(_DECIMALS),
        radii=conformal_quantiles(np.abs(relative), LEVELS).round(_DECIMALS),
        constant_radii=conformal_quantiles(np.abs(residuals), LEVELS).round(_DECIMALS),
    )


def _fit_parts(rated: RatedScores) -> RatingModel:
    """Fit median and expected distances; quantiles and radii are zeros."""
    intercept, slope = median_line(rated.scores, rated.ratings)
    medians = np.clip(intercept + slope * rated.scores, 0, 1)
    none = np.zeros(len(LEVELS))
    return RatingModel(
        data=rated.data,
        ratings=len(rated),
        median=(round(intercept, _DECIMALS), round(slope, _DECIMALS)),
        distance=_expected(rated.features, np.abs(rated.ratings - medians)),
        error=_expected(rated.features, np.abs(rated.ratings - rated.scores)),
        longest=round(float(rated.texts.length.max()), _DECIMALS),
        quantiles=np.zeros(QUANTILES),
        radii=none,
        constant_radii=none,
    )


def _expected(features: FloatArray, distances: FloatArray) -> ExpectedDistance:
    """Fit distances by least squares, which predicts their mean."""
    design = np.column_stack([features, np.ones(len(features))])
    solution = np.linalg.lstsq(design, distances, rcond=None)[0].round(_DECIMALS)
    return ExpectedDistance(
        weights=solution[:-1],
        offset=float(solution[-1]),
        least=round(_LEAST * float(distances.mean()), _DECIMALS),
    )


def median_line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Return intercept and slope of the line with the least sum of absolute distances.

    By iteratively reweighted least squares: the weight of a point is 1 over its distance.

    >>> x = np.arange(7.0)
    >>> intercept, slope = median_line(x, np.where(x == 3, 100.0, 2 * x + 1))
    >>> round(intercept, 3), round(slope, 3)
    (1.0, 2.0)
    """
    design = np.column_stack([np.ones_like(x), x])
    weights = np.ones_like(x)
    line = np.zeros(2)
    for _ in range(_ITERATIONS):
        root = np.sqrt(weights)
        line = np.linalg.lstsq(design * root[:, np.newaxis], y * root, rcond=None)[0]
        weights = 1 / np.maximum(np.abs(y - design @ line), 1e-4)
    return float(line[0]), float(line[1])


def conformal_quantiles(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the quantile of each level as the ⌈level (n + 1)⌉-th smallest of n values.

    It is the quantile of conformal prediction: a further value that is exchangeable with these is
    at most as large with a probability of `level` or more. Residuals of K folds are not
    exchangeable with those of the final model, for which this holds approximately. Where n is too
    small for a level, the largest value is returned.

    >>> conformal_quantiles(np.array([3.0, 1.0, 2.0, 5.0, 4.0, 7.0, 6.0, 8.0, 9.0]),
    ...     np.array([0.5, 0.9, 0.99]))
    array([5., 9., 9.])
    """
    ordered = np.sort(values)
    # Without rounding, 0.9 times 10 might be slightly more than 9, whose ceiling is 10.
    ranks = np.ceil(np.round(levels * (len(ordered) + 1), 9)).astype(np.intp)
    return np.asarray(ordered[np.minimum(ranks, len(ordered)) - 1])


@dataclass(frozen=True, slots=True, eq=False)
class PairTransfer:
    """Coverage on one language pair of intervals that were fitted on the other pairs."""

    raters: Raters
    name: str
    ratings: int
    covered: float  # NaN where the other pairs have too few ratings


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FittedConfidence(Result):
    """A fitted model, and its coverage on each language pair when that pair is left out."""

    model: ConfidenceModel
    transfers: tuple[PairTransfer, ...]
    metric: str

    def tables(self) -> tuple[Table, ...]:
        return self._models_table(), self._transfer_table()

    def _models_table(self) -> Table:
        shown = (0.5, 0.8, 0.9)
        columns = (
            Column("raters"),
            Column("ratings", "integer"),
            Column("median rating", align="right"),
            *(Column(f"radius {level:.0%}", "number", decimals=3) for level in shown),
        )
        rows: list[list[Cell]] = []
        for raters, model in self.model.models.items():
            intercept, slope = model.median
            line = f"{intercept:.3f} + {slope:.3f} score"
            radii = np.interp(shown, LEVELS, model.radii).tolist()
            rows.append([raters, model.ratings, line, *radii])
        notes = ("radius: half the width of an interval, in expected distances from the median",)
        return Table(columns, rows, f"{self.metric}: confidence of segment scores", notes)

    def _transfer_table(self) -> Table:
        columns = (
            Column("raters"),
            Column("pair"),
            Column("ratings", "integer"),
            Column("in the interval", align="right"),
        )
        rows: list[list[Cell]] = [
            [each.raters, each.name, each.ratings, percent(each.covered)] for each in self.transfers
        ]
        notes = (
            f"in the interval: ratings of a language pair in {DEFAULT_LEVEL:.0%} intervals that "
            "were fitted on the other pairs",
        )
        return Table(columns, rows, "without the pair", notes)

    def long_table(self) -> Table:
        columns = (
            Column("raters"),
            Column("lp"),
            Column("ratings", "integer"),
            Column("covered", "number"),
        )
        return Table(
            columns,
            [[each.raters, each.name, each.ratings, each.covered] for each in self.transfers],
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "weights": self.model.weights,
            "bands": plain(self.model.rule),
            "raters": {name: model.to_dict() for name, model in self.model.models.items()},
            "without_pair": plain(self.transfers),
        }


def fit_confidence(
    ratings: Mapping[Raters, JudgementData],
    metric: str | Metric = "adequa",
    *,
    rule: BandRule | None = None,
    seed: int = 0,
    progress: Progress = NO_PROGRESS,
) -> FittedConfidence:
    """Fit the confidence of a metric on ratings of one rater each, of panels, or on both.

    `ratings` has judgements under "one", "panel" or both. They are standardised (DA's z scores),
    higher is better, and not those that the metric was trained on.
    `FittedConfidence.model.to_json()` is the content of confidence.json.
    """
    if not isinstance(ratings, Mapping) or not ratings:
        raise AdequaError('ratings must be a dictionary with ratings under "one", "panel" or both.')
    for key in ratings:
        check_choice("raters", key, RATERS)
    loaded_ratings = {raters: ratings_of(data) for raters, data in ratings.items()}
    models: dict[Raters, RatingModel] = {}
    transfers: list[PairTransfer] = []
    with shared_metric(metric) as loaded:
        packed = packed_metric(loaded)
        progress.expect(sum(map(len, loaded_ratings.values())))
        for raters in RATERS:
            if raters in loaded_ratings:
                rated = rated_scores(loaded, loaded_ratings[raters], raters, progress)
                models[raters] = fit_model(rated, seed)
                transfers += _transfers(rated, raters, seed)
        model = ConfidenceModel(packed.digest_, models, rule or BandRule())
        return FittedConfidence(model, tuple(transfers), loaded.name)


def ratings_of(data: JudgementData) -> Ratings:
    """Load ratings of segments; raise where the judgements are of another kind."""
    loaded = load_dataset(data)
    if not isinstance(loaded, Ratings):
        name = identified(loaded).name or "The file"
        raise AdequaError(f"{name} holds no ratings of segments, which confidence is about.")
    return loaded


def _transfers(rated: RatedScores, raters: Raters, seed: int) -> Iterator[PairTransfer]:
    """Measure the coverage on each language pair of a model fitted on the others."""
    names = np.array(rated.pairs)
    for pair, rows in rows_by(rated.pairs).items():
        others = rated.select(names != pair)
        covered = nan
        if len(rows) >= _FEWEST_REST and len(others) >= FEWEST:
            part = rated.select(rows)
            low, high = fit_model(others, seed).interval(part.scores, part.features, DEFAULT_LEVEL)
            covered = float(inside(part.ratings, low, high).mean())
        yield PairTransfer(raters, pair, len(rows), covered)


def inside(ratings: FloatArray, low: FloatArray, high: FloatArray) -> Mask:
    """Return which ratings are in their intervals."""
    # Tolerance for rounding: a rating of 1 is inside an interval that ends at 1.
    return (ratings >= low - 1e-9) & (ratings <= high + 1e-9)


def percent(fraction: float) -> str:
    """Format a fraction as a percentage.

    >>> percent(0.8952), percent(nan)
    ('89.5%', '–')
    """
    return MISSING if np.isnan(fraction) else f"{100 * fraction:.1f}%"
