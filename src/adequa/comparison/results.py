"""Results of a comparison: scores, pairs of systems, parts of the data, and segments.

`Comparison` is what `compare` returns. Its dictionary and its tables of exact values are made here,
its tables to read in `text`, and its page in `html`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adequa.errors import AdequaError, nearest
from adequa.languages import UNKNOWN_LANGUAGE, TargetLanguage
from adequa.segments import FloatArray, IntArray
from adequa.statistics.settings import ComparisonSettings
from adequa.tables import Column, Format, LazyRows, Result, Row, Table, markdown_text, plain

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

    from adequa.comparison.compare import Outputs
    from adequa.comparison.words import NgramDifference, WordStatistics
    from adequa.explanation.results import Explanation

NAN = float("nan")
EXAMPLES = 2  # segments shown of each kind
_EQUAL = 1e-9  # fraction of the largest score below which a difference is rounding
_DISAGREEMENTS = 100  # segments of each pair with the baseline


@dataclass(frozen=True, slots=True)
class AgreementBin:
    """How often people agreed with differences of systems of about one size."""

    low: float  # differences from this on
    high: float  # and below this; infinite for the largest
    pairs: int  # of systems that people judged
    share: float  # fraction of them in which people preferred the system with the better score
    share_low: float
    share_high: float
    data: str  # name of the judgements


@dataclass(frozen=True, slots=True)
class SystemPair:
    """Two systems under one metric, by their indices; differences are second minus first.

    Numbers that need segment scores are NaN, and counts zero, where there are none.
    """

    first: int
    second: int
    difference: float  # score of the second minus that of the first, in the metric's own direction
    gain: float  # the same, above zero where the second is better
    low: float = NAN  # bootstrap interval of the difference
    high: float = NAN
    p: float = NAN  # approximate randomisation, two-sided
    p_adjusted: float = NAN  # by Holm, over all pairs of the metric
    p_drop: float = NAN  # one-sided: probability of so large a loss of the second by chance
    p_bootstrap: float = NAN  # paired bootstrap, as in Moses and sacreBLEU
    p_bootstrap_adjusted: float = NAN
    effect: float = NAN  # mean gain of a segment over its standard deviation
    wins: int = 0  # segments on which the second is better
    ties: int = 0
    losses: int = 0
    differing: int = 0  # segments whose statistics differ, the sample size of a test
    significant: bool = False  # one is better, and p_adjusted is at most alpha
    people: AgreementBin | None = None  # how often people agreed with differences of this size

    @property
    def people_if_significant(self) -> AgreementBin | None:
        """Agreement of people, for significant differences only: others may be chance."""
        return self.people if self.significant else None

    @property
    def better(self) -> int | None:
        """The index of the system with the better score; None where they are equal."""
        if not self.gain:
            return None
        return self.second if self.gain > 0 else self.first

    def to_dict(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The pair with the names of its systems, ready for JSON."""
        content: dict[str, Any] = {
            "first": names[self.first],
            "second": names[self.second],
            "better": None if self.better is None else names[self.better],
            "significant": self.significant,
        }
        for column in _PAIR_NUMBERS:
            content[column.name] = plain(getattr(self, column.name))
        return content | {"people": plain(self.people)}


_PAIR_NUMBERS = (
    *(Column(name, "number") for name in ("difference", "gain", "low", "high")),
    *(Column(name, "number") for name in ("p", "p_adjusted", "p_drop")),
    *(Column(name, "number") for name in ("p_bootstrap", "p_bootstrap_adjusted", "effect")),
    *(Column(name, "integer") for name in ("wins", "ties", "losses")),
)
_PAIR_COLUMNS = (
    *map(Column, ("metric", "first", "second", "better")),
    Column("significant", "boolean"),
    *_PAIR_NUMBERS,
    Column("people_share", "number"),
    Column("people_pairs", "integer"),
)


@dataclass(frozen=True, slots=True, eq=False)
class MetricComparison:
    """All systems under one metric."""

    name: str
    signature: str
    segment_signature: str
    higher_is_better: bool
    decimals: int  # decimal places to show
    scores: FloatArray  # one per system
    low: FloatArray  # bootstrap intervals
    high: FloatArray
    ranks: IntArray
    pairs: tuple[SystemPair, ...]  # every system with every later one
    segments: FloatArray | None  # (systems, segments)
    warning: str | None = None  # why the scores mean little for the target language

    def pair(self, first: int, second: int) -> SystemPair:
        """The pair of these two systems, in the order of the systems."""
        indices = (min(first, second), max(first, second))
        return next(each for each in self.pairs if (each.first, each.second) == indices)

    @property
    def sign(self) -> float:
        """Factor that makes higher scores better."""
        return 1.0 if self.higher_is_better else -1.0

    @property
    def order(self) -> IntArray:
        """Indices of systems, the best first."""
        return np.argsort(-self.sign * self.scores, kind="stable")

    def gains(self, first: int, second: int) -> FloatArray:
        """How much better the second system is on each segment; empty without segment scores."""
        if self.segments is None:
            return np.zeros(0)
        return segment_gains(self.sign * self.segments, first, second)

    def largest_gains(self, first: int, second: int, count: int) -> list[int]:
        """Segments on which the second system gains most over the first, largest gain first.

        Segments without a gain do not count.
        """
        gains = self.gains(first, second)
        return [int(row) for row in np.argsort(-gains, kind="stable")[:count] if gains[row] > 0]

    def to_dict(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The metric's scores and pairs with the names of systems, ready for JSON."""
        columns = {
            "name": names,
            "score": plain(self.scores),
            "low": plain(self.low),
            "high": plain(self.high),
            "rank": plain(self.ranks),
        }
        return {
            "name": self.name,
            "signature": self.signature,
            "segment_signature": self.segment_signature,
            "higher_is_better": self.higher_is_better,
            **({} if self.warning is None else {"warning": self.warning}),
            "systems": _records(columns),
            "pairs": [pair.to_dict(names) for pair in self.pairs],
        }


def segment_gains(segments: FloatArray, first: int, second: int) -> FloatArray:
    """How much better the second system is on each segment; differences by rounding are zero.

    Scores are (systems, segments), higher is better.

    >>> segment_gains(np.array([[0.1 + 0.2, 1.0], [0.3, 2.0]]), 0, 1)
    array([0., 1.])
    """
    gains = segments[second] - segments[first]
    return np.where(np.abs(gains) <= rounding_tolerance(segments), 0.0, gains)


def rounding_tolerance(segments: FloatArray) -> float:
    """The size up to which differences of these scores are rounding."""
    return _EQUAL * float(np.abs(segments).max(initial=0))


class Disagreement(NamedTuple):
    """A segment on which one metric prefers the second system, and another one the first."""

    row: int
    for_second: str  # the metric with the largest gain, in standard deviations
    for_first: str  # the metric with the largest loss
    size: float  # the smaller of the two, in standard deviations of its metric's gains


@dataclass(frozen=True, slots=True, eq=False)
class BucketScores:
    """One metric's scores on a part of the segments."""

    scores: FloatArray  # one per system
    low: FloatArray  # interval of the score minus that of the first system; NaN for few segments
    high: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Bucket:
    """Segments that have something in common, and the scores on them."""

    label: str
    rows: IntArray
    metrics: tuple[BucketScores | None, ...]  # None for a metric without segment scores


@dataclass(frozen=True, slots=True, eq=False)
class Dimension:
    """One way to split the segments: by length, by numbers in them, by document."""

    name: str
    title: str
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True, eq=False)
class QualityBands:
    """The fractions of segments in bands of score under one metric, the worst band first."""

    edges: FloatArray  # scores at which a better band begins
    fractions: FloatArray  # (systems, bands)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """The result of comparing systems; the first system is the baseline."""

    outputs: Outputs
    settings: ComparisonSettings
    metrics: tuple[MetricComparison, ...]
    split: Callable[[], tuple[Dimension, ...]]  # computes the dimensions
    notes: tuple[str, ...] = ()
    frequencies: Mapping[str, int] | None = None  # of words, where a text was given for them
    test_set: str = ""  # name of the test set, such as that of the file of references
    language: TargetLanguage = UNKNOWN_LANGUAGE  # of the translations
    explanation: Explanation | None = None  # of a sample of the segments, for all systems

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """All ways to split the segments, with scores; computed at first use."""
        return self.split()

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems; the first is the baseline."""
        return self.outputs.names

    @property
    def challenger(self) -> int:
        """The system to show against the baseline: the best of the others by the first metric."""
        return next(int(index) for index in self.metrics[0].order if index)

    def verdict(self) -> str:
        """One or two sentences on which systems are better, by all metrics together.

        It claims no more than the tests: see `adequa.comparison.verdict`.
        """
        from adequa.comparison.verdict import verdict  # noqa: PLC0415 - of no use to other results

        return verdict(self)

    @cached_property
    def word_statistics(self) -> WordStatistics:
        """Matched n-grams, and accuracy of words by frequency; computed at first use.

        Raises without references.
        """
        from adequa.comparison.words import word_statistics  # noqa: PLC0415 - it imports this file

        return word_statistics(self.outputs, self.frequencies)

    def ngram_differences(
        self, first: str, second: str, count: int = 20
    ) -> tuple[list[NgramDifference], list[NgramDifference]]:
        """N-grams of the references that the second system matches more often, and the first.

        The largest ratios of matches come first, at most `count` of them.
        """
        for name in (first, second):
            if name not in self.systems:
                raise AdequaError(f'There is no system "{name}".{nearest(name, self.systems)}')
        indices = self.systems.index(first), self.systems.index(second)
        return self.word_statistics.ngrams.differences(*indices, count=count)

    def quality_bands(self) -> dict[str, QualityBands]:
        """Fractions of segments in bands of score, by the names of metrics."""
        from adequa.comparison.buckets import quality_bands  # noqa: PLC0415 - it imports this file

        bands = {metric.name: quality_bands(metric) for metric in self.metrics}
        return {name: each for name, each in bands.items() if each is not None}

    def disagreements(self, first: int, second: int, count: int) -> list[Disagreement]:
        """Segments on which two metrics disagree most about two systems."""
        metrics = [metric for metric in self.metrics if metric.segments is not None]
        if len(metrics) < 2:  # noqa: PLR2004 - it takes two
            return []
        gains = np.stack([metric.gains(first, second) for metric in metrics])
        scale = np.sqrt(np.square(gains).mean(axis=1, keepdims=True))  # deviation from zero
        gains = np.divide(gains, scale, out=gains, where=scale > 0)
        highest, lowest = gains.argmax(axis=0), gains.argmin(axis=0)
        size = np.minimum(gains.max(axis=0), -gains.min(axis=0))
        return [
            Disagreement(
                int(row), metrics[highest[row]].name, metrics[lowest[row]].name, float(size[row])
            )
            for row in np.argsort(-size, kind="stable")[:count].tolist()
            if size[row] > 0
        ]

    def tables(self) -> tuple[Table, ...]:
        """Systems, pairs of systems, and where the challenger differs from the baseline."""
        from adequa.comparison.text import comparison_tables  # noqa: PLC0415 - it imports this file

        return comparison_tables(self)

    def long_table(self) -> Table:
        """A row for each metric and pair of systems."""
        return Table(_PAIR_COLUMNS, LazyRows(self._pair_rows))

    def to_pandas(self) -> Mapping[str, pd.DataFrame]:
        """A dictionary of data frames; needs pandas.

        They are `scores`, `pairs`, `buckets`, `bands`, `words`, `ngrams` and `segments`.
        """
        pairs = self.long_table().to_pandas()  # raises a sentence without pandas
        import pandas as pd  # noqa: PLC0415 - optional

        content = self.to_dict()
        scores = [
            {"metric": metric["name"], **_named_system(system)}
            for metric in content["metrics"]
            for system in metric["systems"]
        ]
        buckets = [
            {
                "by": dimension["by"],
                "bucket": bucket["name"],
                "segments": bucket["segments"],
                "metric": metric["name"],
                **_named_system(system),
            }
            for dimension in content["buckets"]
            for bucket in dimension["buckets"]
            for metric in bucket["metrics"]
            for system in metric["systems"]
        ]
        segments = [
            {
                "system": name,
                "segment": segment["segment"],
                "hypothesis": segment["systems"][index]["hypothesis"],
                **_score_columns(segment["systems"][index]["scores"]),
            }
            for index, name in enumerate(self.systems)
            for segment in content["segments"]
        ]
        return {
            "scores": pd.DataFrame(scores),
            "pairs": pairs,
            "buckets": pd.DataFrame(buckets),
            "bands": pd.DataFrame(self._band_rows()),
            "words": pd.DataFrame(_word_rows(content["words"])),
            "ngrams": pd.DataFrame(_ngram_rows(content["ngrams"])),
            "segments": pd.DataFrame(segments),
        }

    def to_html(self, title: str = "") -> str:
        """A page that shows the whole comparison: one file that needs no network."""
        from adequa.comparison.html import comparison_page  # noqa: PLC0415 - it imports this file

        return comparison_page(self, title)

    def lines(
        self, format_: Format, *, examples: int = EXAMPLES, segments: bool = True
    ) -> Iterator[str]:
        """The comparison in a format; text has examples, HTML is the page, JSON has segments."""
        from adequa.comparison.text import comparison_text  # noqa: PLC0415 - it imports this file

        if format_ is Format.text:
            yield from comparison_text(self, examples)
        elif format_ is Format.html:
            yield self.to_html()
        elif format_ is Format.json:
            content = self.to_dict(segments=segments)
            yield json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        elif format_ is Format.markdown:
            yield f"**{markdown_text(self.verdict())}**\n\n"
            yield from super().lines(format_)
        else:
            yield from super().lines(format_)

    def to_dict(self, *, segments: bool = True) -> dict[str, Any]:
        """Systems, metrics, buckets and notes; and the segments, which are most of it."""
        content: dict[str, Any] = {
            "verdict": self.verdict(),
            "systems": list(self.systems),
            "baseline": self.systems[0],
            "segment_count": len(self.outputs),
            "language": self.language.to_dict(),
            "settings": plain(self.settings),
            "metrics": [metric.to_dict(self.systems) for metric in self.metrics],
            "buckets": [
                {
                    "by": dimension.name,
                    "title": dimension.title,
                    "buckets": [self._bucket_dict(bucket) for bucket in dimension.buckets],
                }
                for dimension in self.dimensions
            ],
            "bands": self._band_dicts(),
            "words": self._word_dicts(),
            "ngrams": self._ngram_dicts(),
            "notes": list(self.notes),
        }
        if self.explanation is not None:
            from adequa.comparison.explained import explanation_dict  # noqa: PLC0415 - seldom used

            content["explanation"] = explanation_dict(self.explanation)
        if segments:
            content["segments"] = self._segment_dicts()
            content["disagreements"] = [
                {
                    "second": name,
                    "segments": [
                        {**each._asdict(), "row": each.row + 1}
                        for each in self.disagreements(0, index, _DISAGREEMENTS)
                    ],
                }
                for index, name in enumerate(self.systems)
                if index
            ]
        return content

    def _band_dicts(self) -> list[dict[str, Any]]:
        return [
            {
                "metric": name,
                "edges": plain(bands.edges),
                "systems": [
                    {"name": system, "fractions": fractions}
                    for system, fractions in zip(
                        self.systems, bands.fractions.tolist(), strict=True
                    )
                ],
            }
            for name, bands in self.quality_bands().items()
        ]

    def _band_rows(self) -> list[dict[str, Any]]:
        return [
            {"metric": name, "system": system, "band": band, "fraction": fraction}
            for name, bands in self.quality_bands().items()
            for system, fractions in zip(self.systems, bands.fractions.tolist(), strict=True)
            for band, fraction in enumerate(fractions, 1)
        ]

    def _word_dicts(self) -> list[dict[str, Any]]:
        """Accuracy of words by frequency; empty without references."""
        if not self.outputs.has_references:
            return []
        return [each.to_dict(self.systems) for each in self.word_statistics.classes]

    def _ngram_dicts(self) -> list[dict[str, Any]]:
        """Differences of n-grams between the baseline and each other system.

        Empty without references.
        """
        if not self.outputs.has_references:
            return []
        baseline, *others = self.systems
        pairs = ((name, self.ngram_differences(baseline, name)) for name in others)
        return [
            {
                "first": baseline,
                "second": name,
                "second_matches_more": [each._asdict() for each in for_second],
                "first_matches_more": [each._asdict() for each in for_first],
            }
            for name, (for_second, for_first) in pairs
        ]

    def _bucket_dict(self, bucket: Bucket) -> dict[str, Any]:
        metrics = [
            {
                "name": metric.name,
                "systems": _records(
                    {
                        "name": self.systems,
                        "score": plain(part.scores),
                        "difference_low": plain(part.low),
                        "difference_high": plain(part.high),
                    }
                ),
            }
            for metric, part in zip(self.metrics, bucket.metrics, strict=True)
            if part is not None
        ]
        return {"name": bucket.label, "segments": len(bucket.rows), "metrics": metrics}

    def _segment_dicts(self) -> list[dict[str, Any]]:
        outputs = self.outputs
        scores = {
            metric.name: metric.segments.T.tolist()
            for metric in self.metrics
            if metric.segments is not None
        }
        labels = {
            dimension.name: {
                row: bucket.label for bucket in dimension.buckets for row in bucket.rows.tolist()
            }
            for dimension in self.dimensions
        }
        return [
            {
                "segment": row + 1,
                **({} if outputs.sources is None else {"source": outputs.sources[row]}),
                "references": list(outputs.references[row]),
                "buckets": {name: of_row[row] for name, of_row in labels.items()},
                "systems": [
                    {
                        "name": name,
                        "hypothesis": texts[row],
                        "scores": {metric: rows[row][index] for metric, rows in scores.items()},
                    }
                    for index, (name, texts) in enumerate(
                        zip(outputs.names, outputs.hypotheses, strict=True)
                    )
                ],
            }
            for row in range(len(outputs))
        ]

    def _pair_rows(self) -> Iterator[Row]:
        for metric in self.metrics:
            for pair in metric.pairs:
                values = pair.to_dict(self.systems)
                people = values.pop("people") or {}
                yield (metric.name, *values.values(), people.get("share"), people.get("pairs"))


def _records(columns: Mapping[str, Collection[object]]) -> list[dict[str, Any]]:
    """Columns as a list of dictionaries, one per row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _word_rows(classes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "frequency": each["frequency"],
            "reference_words": each["reference_words"],
            **_named_system(system),
        }
        for each in classes
        for system in each["systems"]
    ]


def _ngram_rows(pairs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "first_system": pair["first"],
            "second_system": pair["second"],
            **{
                f"{key}_matches" if key in {"first", "second"} else key: value
                for key, value in each.items()
            },
        }
        for pair in pairs
        for each in (*pair["second_matches_more"], *pair["first_matches_more"])
    ]


def _score_columns(scores: Mapping[str, float | None]) -> dict[str, float | None]:
    """Scores by metric under names that no other column of segments has.

    >>> _score_columns({"bleu": 1.0, "segment": 2.0})
    {'bleu': 1.0, 'segment_score': 2.0}
    """
    columns = {}
    for metric, score in scores.items():
        name = metric
        while name in {"system", "segment", "hypothesis"} or (name != metric and name in scores):
            name += "_score"
        columns[name] = score
    return columns


def _named_system(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a system, whose name is in the column `system`."""
    return {"system" if key == "name" else key: value for key, value in values.items()}
