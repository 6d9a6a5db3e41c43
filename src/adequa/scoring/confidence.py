"""Confidence of segment scores: the interval of the human rating, the expected error, and a band.

A packed metric may have a file confidence.json beside its weights. For ratings of one kind, the
file models the distribution of the rating of a segment, given its score and texts:

- the median rating, linear in the score;
- the expected distance of a rating from that median, and from the score itself, both linear in a
  few features of score and texts;
- the distribution of the signed distance from the median divided by its expectation.

The interval of a rating is the median, plus and minus the expected distance times a radius. The
radius is a quantile of the K-fold residuals: of the distances of ratings from medians that were
fitted without them, in expected distances. This is the locally weighted interval of Lei et al.
(2018, Distribution-Free Predictive Inference for Regression, §5.2) with medians, and with folds in
place of a split. The final model is fitted on all ratings, so that coverage is approximate: the
guarantee of split conformal prediction does not hold. Ratings are on the scale of the metric, and
clipped to it.

There are two kinds of ratings: of a single rater, and the mean of a panel of about 15 raters. The
former vary much more, so that their intervals are wider. `adequa.agreement.confidence` fits the
file, and `adequa.agreement.coverage` measures its coverage on other ratings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.metrics.base import Metric, check_between, check_choice
from adequa.metrics.language import read_language, warn_of_languages
from adequa.metrics.registry import shared_metric
from adequa.segments import (
    FloatArray,
    Frame,
    IntArray,
    Reduction,
    ReferenceLayout,
    Segments,
    Signature,
    as_segments,
    concatenate,
    reduce_pairs,
)
from adequa.tables import Column, LazyRows, Result, Row, Table, plain

if TYPE_CHECKING:
    from adequa.learned.packed.metric import PackedPair

# What reads texts and models is imported where it is used: every verb that scores imports this
# module, and few ask for confidence.

CONFIDENCE = "confidence.json"  # beside the weights that it was fitted for
FORMAT = 1

Raters: TypeAlias = Literal["panel", "one"]
RATERS: Final[tuple[Raters, ...]] = get_args(Raters)
PEOPLE: Final[Mapping[Raters, str]] = {"panel": "a panel of raters", "one": "one rater"}

BANDS: Final = ("publish", "check", "redo")
PUBLISH, CHECK, REDO = range(3)
Bands: TypeAlias = npt.NDArray[np.int8]  # index into BANDS

LEVELS: Final = np.arange(50, 100) / 100  # of the stored radii; others lie between
DEFAULT_LEVEL = 0.9

FEATURES: Final = ("score", "squared_score", "length", "overlap")

QUANTILES: Final = 100  # of the stored distribution


@dataclass(frozen=True, slots=True, eq=False)
class TextFeatures:
    """Surface features of segments."""

    length: FloatArray  # logarithm of the mean length, 1 from 1000 characters on
    # Of character bigrams, from 0 to 1. Errors are larger where this overlap disagrees with the
    # score.
    overlap: FloatArray
    foreign: npt.NDArray[np.bool_]  # hypotheses that are plainly not English

    @classmethod
    def of(cls, segments: Segments, references: Reduction = "best") -> TextFeatures:
        """Compute the features; `references` reduces the overlaps with multiple references."""
        from adequa.encoders.surface import surface_features  # noqa: PLC0415
        from adequa.metrics.english import looks_foreign  # noqa: PLC0415

        pairs = segments.pairs()
        names = ("character_bigram_precision", "character_bigram_recall", "length")
        rows = surface_features(pairs.hypotheses, pairs.references, names).astype(np.float64)
        precision, recall, length = rows.T
        overlap = (precision + recall) / 2
        return cls(
            length=reduce_pairs(length, pairs.segment, "mean"),
            overlap=reduce_pairs(overlap, pairs.segment, references),
            foreign=looks_foreign(segments.hypotheses),
        )

    def with_scores(self, scores: FloatArray) -> FloatArray:
        """Return the columns of `FEATURES`, one row per segment."""
        return np.column_stack([scores, scores**2, self.length, self.overlap])


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedDistance:
    """Expected absolute deviation of ratings: linear in `FEATURES`, and at least `least`."""

    weights: FloatArray
    offset: float
    least: float

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ExpectedDistance:
        """Read what `to_dict` writes."""
        if list(content["features"]) != list(FEATURES):
            raise ValueError(f"its features are {', '.join(map(str, content['features']))}")
        return cls(
            weights=_numbers(content["weights"], len(FEATURES)),
            offset=float(content["offset"]),
            least=float(content["least"]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        return {
            "features": list(FEATURES),
            "weights": self.weights.tolist(),
            "offset": self.offset,
            "least": self.least,
        }

    def __call__(self, features: FloatArray) -> FloatArray:
        """Return the distance for each row; a row's value does not depend on the other rows."""
        expected = (features * self.weights).sum(axis=1) + self.offset
        return np.asarray(np.maximum(expected, self.least))


@dataclass(frozen=True, slots=True, eq=False)
class RatingModel:
    """Distribution of ratings of one kind, given scores and features.

    >>> tenth = ExpectedDistance(np.zeros(4), offset=0.1, least=0.05)
    >>> model = RatingModel("ratings", 1000, (0.0, 1.0), tenth, tenth, 1.0,
    ...     np.linspace(-2, 2, 5), np.full(50, 2.0), np.full(50, 0.3))
    >>> scores, features = np.array([0.5, 0.9]), np.zeros((2, 4))
    >>> low, high = model.interval(scores, features, 0.9)
    >>> low.round(3), high.round(3)
    (array([0.3, 0.7]), array([0.7, 1. ]))
    >>> model.probability(scores, features, 0.75)
    array([0. , 0.8])
    """

    data: str  # names of the ratings that it was fitted on
    ratings: int  # their number
    median: tuple[float, float]  # of ratings: intercept and slope in the score
    distance: ExpectedDistance  # of a rating from the median
    error: ExpectedDistance  # of a rating from the score
    longest: float  # greatest feature `length` of a segment that was rated
    quantiles: FloatArray  # of (rating - median) / expected distance, at equal steps
    radii: FloatArray  # by level, in expected distances
    constant_radii: FloatArray  # by level, of constant-width intervals

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> RatingModel:
        """Read a model as `to_dict` writes it."""
        median = content["median"]
        return cls(
            data=str(content["data"]),
            ratings=int(content["ratings"]),
            median=(float(median["intercept"]), float(median["slope"])),
            distance=ExpectedDistance.from_dict(content["distance"]),
            error=ExpectedDistance.from_dict(content["error"]),
            longest=float(content["longest"]),
            quantiles=_numbers(content["quantiles"], QUANTILES),
            radii=_numbers(content["radii"], len(LEVELS)),
            constant_radii=_numbers(content["constant_radii"], len(LEVELS)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain lists and dictionaries."""
        return {
            "data": self.data,
            "ratings": self.ratings,
            "median": {"intercept": self.median[0], "slope": self.median[1]},
            "distance": self.distance.to_dict(),
            "error": self.error.to_dict(),
            "longest": self.longest,
            "quantiles": self.quantiles.tolist(),
            "radii": self.radii.tolist(),
            "constant_radii": self.constant_radii.tolist(),
        }

    def medians(self, scores: FloatArray) -> FloatArray:
        """Return the median rating of each segment."""
        intercept, slope = self.median
        return np.clip(intercept + slope * scores, 0, 1)

    def distances(self, features: FloatArray) -> FloatArray:
        """Return the expected distance of ratings from their median, for rows of `FEATURES`."""
        return self.distance(self._as_rated(features))

    def errors(self, features: FloatArray) -> FloatArray:
        """Return the expected distance of ratings from the score, for rows of `FEATURES`."""
        return self.error(self._as_rated(features))

    def _as_rated(self, features: FloatArray) -> FloatArray:
        """Return features whose length is clipped to that of the longest rated text."""
        return np.minimum(features, (1, 1, self.longest, 1))

    def interval(
        self, scores: FloatArray, features: FloatArray, level: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of the intervals of ratings."""
        half = self.distances(features) * np.interp(level, LEVELS, self.radii)
        return self._around_medians(scores, half)

    def constant_interval(self, scores: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Return constant-width intervals, clipped to the scale: the baseline for `interval`."""
        half = np.full(len(scores), np.interp(level, LEVELS, self.constant_radii))
        return self._around_medians(scores, half)

    def _around_medians(
        self, scores: FloatArray, half: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        medians = self.medians(scores)
        return np.maximum(medians - half, 0), np.minimum(medians + half, 1)

    def probability(self, scores: FloatArray, features: FloatArray, least: float) -> FloatArray:
        """Return the probability that a rating is at least `least`; all ratings are at least 0."""
        if least <= 0:
            return np.ones(len(scores))
        needed = (least - self.medians(scores)) / self.distances(features)
        below = np.searchsorted(self.quantiles, needed, side="left")
        return 1 - below / len(self.quantiles)


def _numbers(values: object, count: int) -> FloatArray:
    numbers = np.array(values, dtype=np.float64)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise ValueError("its numbers are incomplete")
    return numbers


@dataclass(frozen=True, slots=True)
class BandRule:
    """Thresholds of the bands publish, check and redo.

    `publish`: the rating is at least `good` with a probability of at least `probability`. `redo`:
    it is below `poor` with that probability. `check`: all others.
    """

    good: float = 2 / 3  # the upper third of the scale
    poor: float = 1 / 2  # below it is the lower half
    probability: float = 0.8

    def __post_init__(self) -> None:
        check_between("good", self.good, 0, 1)
        check_between("poor", self.poor, 0, self.good)
        check_between("probability", self.probability, 0.5, 1)

    def __call__(self, good: FloatArray, poor: FloatArray) -> Bands:
        """Return bands, from the probabilities of ratings of at least `good` and below `poor`.

        >>> BandRule()(np.array([0.9, 0.5, 0.0]), np.array([0.0, 0.1, 0.85])).tolist()
        [0, 1, 2]
        """
        # Probabilities are multiples of 1/100, which rounding must not move over the limit.
        least = self.probability - 1e-9
        return np.select([good >= least, poor >= least], [PUBLISH, REDO], CHECK).astype(np.int8)


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimated interval, error and band of each segment."""

    low: FloatArray
    high: FloatArray
    error: FloatArray  # expected distance of score and rating
    band: Bands
    outside: npt.NDArray[np.bool_]  # segments unlike the rated ones: longer, or not in English

    def __len__(self) -> int:
        return len(self.low)

    @staticmethod
    def concatenate(parts: Sequence[Estimates]) -> Estimates:
        """Join the estimates of batches."""
        names = ("low", "high", "error", "band", "outside")
        return Estimates(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
        )


@dataclass(slots=True)
class RunningEstimates:
    """The estimates of a system, whose segments come in batches."""

    keep_segments: bool
    errors: float = 0.0  # sum
    counts: IntArray = field(default_factory=lambda: np.zeros(len(BANDS), dtype=np.intp))
    outside: int = 0
    parts: list[Estimates] = field(default_factory=list)

    def add(self, estimates: Estimates) -> None:
        """Add a batch."""
        self.errors += float(estimates.error.sum())
        self.counts += np.bincount(estimates.band, minlength=len(BANDS))
        self.outside += int(estimates.outside.sum())
        if self.keep_segments:
            self.parts.append(estimates)

    def summary(self) -> SystemConfidence:
        """Summarise all batches so far."""
        return SystemConfidence(
            error=self.errors / max(int(self.counts.sum()), 1),
            fractions=band_fractions(self.counts),
            outside=self.outside,
            segments=Estimates.concatenate(self.parts) if self.parts else None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class SystemConfidence:
    """Mean expected error and bands of one system."""

    error: float  # mean expected distance of score and rating
    fractions: Mapping[str, float]  # of the segments, by band
    outside: int  # number of segments unlike the rated ones
    segments: Estimates | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceModel:
    """The content of confidence.json: models fitted for the weights of one metric."""

    weights: str  # digest of the metric's weights and settings
    models: Mapping[Raters, RatingModel]
    rule: BandRule = field(default_factory=BandRule)

    @property
    def default_raters(self) -> Raters:
        """The panel where there is one, because its mean has less noise than a single rating."""
        return next(each for each in RATERS if each in self.models)

    def model(self, raters: Raters | None) -> RatingModel:
        """Return the model of one kind of ratings."""
        chosen = self.default_raters if raters is None else raters
        check_choice("raters", chosen, RATERS)
        if chosen not in self.models:
            raise AdequaError(
                f"The confidence was not fitted on ratings of {PEOPLE[chosen]}; there are those of "
                f"{' and '.join(PEOPLE[each] for each in self.models)}."
            )
        return self.models[chosen]

    def estimate(
        self,
        scores: FloatArray,
        texts: TextFeatures,
        *,
        raters: Raters | None = None,
        level: float = DEFAULT_LEVEL,
    ) -> Estimates:
        """Estimate the ratings of segments.

        Bands are those of the panel where there is one, whatever `raters` is. A segment outside
        the rated texts (longer, or not in English) is never in the band publish.
        """
        model, banded = self.model(raters), self.models[self.default_raters]
        features = texts.with_scores(scores)
        low, high = model.interval(scores, features, level)
        outside = texts.foreign | (texts.length > banded.longest)
        band = self.rule(
            banded.probability(scores, features, self.rule.good),
            1 - banded.probability(scores, features, self.rule.poor),
        )
        return Estimates(
            low=low,
            high=high,
            error=model.errors(features),
            band=np.where(outside & (band == PUBLISH), np.int8(CHECK), band),
            outside=outside,
        )

    @property
    def digest(self) -> str:
        """The first digits of the sha256 of the file as `to_json` writes it."""
        from adequa.metrics.saved import DIGITS  # noqa: PLC0415

        return hashlib.sha256(self.to_json().encode()).hexdigest()[:DIGITS]

    def to_json(self) -> str:
        """Return the content of the file."""
        content = {
            "format": FORMAT,
            "weights": self.weights,
            "bands": {
                "good": self.rule.good,
                "poor": self.rule.poor,
                "probability": self.rule.probability,
            },
            "raters": {name: model.to_dict() for name, model in self.models.items()},
        }
        return json.dumps(content, indent=1, allow_nan=False) + "\n"


@contextmanager
def content_errors(path: Path, command: str) -> Iterator[None]:
    """Say in a sentence where the content of a file is not what a command writes."""
    try:
        yield
    except KeyError as error:
        raise AdequaError(
            f"{path} is not a file of `{command}`: it has no {error.args[0]}."
        ) from error
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        raise AdequaError(f"{path} is not a file of `{command}`: {error}.") from error


def read_confidence(path: Path) -> ConfidenceModel:
    """Read a file that `ConfidenceModel.to_json` wrote."""
    try:
        text = path.read_bytes()
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise AdequaError(f"{path} cannot be read: {reason}.") from error
    with content_errors(path, "adequa train confidence"):
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise AdequaError(
                f"{path} is of format {content['format']}, which this version of adequa does not "
                "read; fit it again with `adequa train confidence`."
            )
        models = {
            name: RatingModel.from_dict(content["raters"][name])
            for name in RATERS
            if name in content["raters"]
        }
        if not models:
            raise ValueError("it has no raters")
        return ConfidenceModel(str(content["weights"]), models, BandRule(**content["bands"]))


def packed_metric(metric: Metric) -> PackedPair:
    """Return the packed metric behind a metric; raise where it is of another kind."""
    from adequa.learned.packed.metric import PackedPair, ShippedMetric  # noqa: PLC0415

    if isinstance(metric, ShippedMetric):
        return metric.packed
    if isinstance(metric, PackedPair):
        return metric
    raise AdequaError(
        "Confidence intervals are available for adequa and exported metrics, not for "
        f"{metric.name}."
    )


@dataclass(frozen=True, slots=True, eq=False)
class Estimator:
    """Estimates the ratings of segments from the scores of one metric."""

    model: ConfidenceModel
    raters: Raters
    level: float
    references: Reduction

    @classmethod
    def of(
        cls,
        metric: Metric,
        *,
        raters: Raters | None = None,
        level: float = DEFAULT_LEVEL,
        file: str | Path | None = None,
    ) -> Estimator:
        """Load the confidence of a metric: from a file, or from the one beside its weights."""
        from adequa.metrics.saved import DIGITS  # noqa: PLC0415

        packed = packed_metric(metric)
        check_level(level)
        path = packed.folder / CONFIDENCE if file is None else Path(file)
        if file is None and not path.is_file():
            raise AdequaError(
                f"{packed.folder} has no {CONFIDENCE}; fit one with `adequa train confidence`."
            )
        model = read_confidence(path)
        if model.weights != packed.digest_:
            raise AdequaError(
                f"{path} was fitted for the weights {model.weights[:DIGITS]}, and those of "
                f"{packed.name} are {packed.digest_[:DIGITS]}; fit it again with "
                "`adequa train confidence`."
            )
        model.model(raters)
        return cls(
            model=model,
            raters=model.default_raters if raters is None else raters,
            level=level,
            references=packed.references,
        )

    def __call__(
        self, segments: Segments, scores: FloatArray, *, is_foreign: bool = False
    ) -> Estimates:
        """Estimate the ratings of scored segments.

        With `is_foreign`, all are in a language that the metric does not know.
        """
        texts = TextFeatures.of(segments, self.references)
        if is_foreign:
            texts = replace(texts, foreign=np.ones_like(texts.foreign))
        return self.model.estimate(scores, texts, raters=self.raters, level=self.level)

    @property
    def data(self) -> str:
        """The names of the ratings that the intervals were fitted on."""
        return self.model.models[self.raters].data

    @property
    def signature(self) -> Signature:
        """Return the settings and the file that the intervals and bands come from.

        It stands beside the signature of the metric, whose scores do not depend on the file.
        """
        fields = (
            ("raters", self.raters),
            ("level", f"{self.level:g}"),
            *((("data", self.data),) if self.data else ()),
            ("file", self.model.digest),
        )
        return Signature("confidence", fields)

    def legend(self, *, segments: bool) -> tuple[str, ...]:
        """Return the legend of a table of segments, or of systems."""
        rule = self.model.rule
        likely = f"with a probability of {rule.probability:.0%} or more"
        people = PEOPLE[self.raters]
        return (
            f"low, high: {self.level:.0%} interval of the rating by {people}; error: expected "
            "distance of score and rating"
            if segments
            else f"error: mean expected distance of a segment's score and its rating by {people}; "
            "publish, check, redo: fractions of the segments",
            f"publish: the rating is {rule.good:.3g} or more, {likely}; redo: it is below "
            f"{rule.poor:.3g}, {likely}; check: all others",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return signature, level, raters, names of their data, and thresholds of the bands."""
        return {
            "signature": str(self.signature),
            "level": self.level,
            "raters": self.raters,
            "data": self.data,
            "file": self.model.digest,
            "bands": plain(self.model.rule),
        }


def check_level(level: float) -> None:
    """Raise unless there are intervals of this level."""
    is_number = isinstance(level, (int, float))
    if not (is_number and LEVELS[0] <= level <= LEVELS[-1]):
        raise AdequaError(
            f"The level of intervals is a number from {LEVELS[0]:g} to {LEVELS[-1]:g}, not {level}."
        )


def outside_note(name: str, outside: int, count: int) -> str:
    """Return the note on segments for which intervals may not hold."""
    return (
        f"intervals may not hold for {outside:,} of {count:,} segments of {name}: they are longer "
        "than all rated segments, or not in English; none of them is in the band publish."
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Confidence(Result):
    """Score of each segment, interval of its rating, expected error and band."""

    metric: str
    signature: Signature  # of the scores
    estimator: Estimator
    scores: FloatArray
    estimates: Estimates
    notes: tuple[str, ...] = ()

    @property
    def low(self) -> FloatArray:
        """The lower end of the interval of each rating."""
        return self.estimates.low

    @property
    def high(self) -> FloatArray:
        """The upper end of the interval of each rating."""
        return self.estimates.high

    @property
    def error(self) -> FloatArray:
        """The expected distance of each score and its rating."""
        return self.estimates.error

    @property
    def level(self) -> float:
        """The probability with which a rating is in its interval."""
        return self.estimator.level

    @property
    def raters(self) -> Raters:
        """The kind of rating that the intervals are for."""
        return self.estimator.raters

    @property
    def bands(self) -> tuple[str, ...]:
        """The band of each segment: publish, check or redo."""
        return tuple(BANDS[code] for code in self.estimates.band.tolist())

    @property
    def fractions(self) -> dict[str, float]:
        """The fraction of segments in each band."""
        return band_fractions(np.bincount(self.estimates.band, minlength=len(BANDS)))

    def tables(self) -> tuple[Table, ...]:
        numbers = [Column(name, "number", decimals=3) for name in _NUMBERS]
        columns = (Column("segment"), *numbers, Column("band"))
        rows = LazyRows(lambda: ((str(row[0]), *row[1:]) for row in self._rows()))
        signatures = str(self.signature), str(self.estimator.signature)
        notes = (*self.estimator.legend(segments=True), *signatures, *self.notes)
        return (Table(columns, rows, notes=notes),)

    def long_table(self) -> Table:
        numbers = [Column(name, "number") for name in _NUMBERS]
        return Table((Column("segment", "integer"), *numbers, Column("band")), LazyRows(self._rows))

    def _rows(self) -> Iterator[Row]:
        columns = (each.tolist() for each in (self.scores, self.low, self.high, self.error))
        return zip(range(1, len(self.scores) + 1), *columns, self.bands, strict=True)

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "signature": str(self.signature),
            "confidence": self.estimator.to_dict(),
            "scores": self.scores.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "error": self.error.tolist(),
            "bands": list(self.bands),
            "fractions": self.fractions,
            "notes": list(self.notes),
        }


_NUMBERS = ("score", "low", "high", "error")


def band_fractions(counts: IntArray) -> dict[str, float]:
    """Return the fraction of segments in each band.

    >>> band_fractions(np.array([1, 2, 1]))
    {'publish': 0.25, 'check': 0.5, 'redo': 0.25}
    """
    return dict(zip(BANDS, (counts / max(counts.sum(), 1)).tolist(), strict=True))


def confidence(
    hypotheses: Iterable[str] | Segments | Frame,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    metric: str | Metric = "adequa",
    *,
    level: float = DEFAULT_LEVEL,
    raters: Raters | None = None,
    file: str | Path | None = None,
    layout: ReferenceLayout | None = None,
    language: str | None = None,
) -> Confidence:
    """Score segments, and estimate the interval of each rating, its error and its band.

    Texts are given as `adequa.score` takes them. `metric` is adequa or a packed metric with a file
    confidence.json; `file` names another file of `adequa train confidence`. `level` is the
    probability with which a rating lies from `low` to `high`, from 0.5 to 0.99. `raters` is the
    kind of rating: "panel" for the mean of a panel, "one" for that of a single rater.

    >>> result = confidence(["The cat sat on the mat."], ["The cat sat on the mat."])
    >>> result.scores, result.bands
    (array([1.]), ('publish',))
    """
    stream = read_language([as_segments(hypotheses, references, layout=layout)], language)
    segments = concatenate(list(stream.batches))
    with shared_metric(metric) as loaded:
        estimator = Estimator.of(loaded, raters=raters, level=level, file=file)
        scores = loaded.compute_scores(segments)
        warning = loaded.language_warning(stream.target)
    warn_of_languages([warning], stream.notes)
    estimates = estimator(segments, scores.segments, is_foreign=warning is not None)
    outside = int(estimates.outside.sum())
    notes = (outside_note("the system", outside, len(segments)),) if outside else ()
    return Confidence(
        metric=loaded.name,
        signature=scores.signature,
        estimator=estimator,
        scores=scores.segments,
        estimates=estimates,
        notes=(*scores.remarks, *notes),
    )
