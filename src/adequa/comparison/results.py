"""What a comparison found, frozen: scores, pairs of systems, parts of the data, segments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from adequa.comparison.outputs import Outputs
from adequa.comparison.people import Meaning
from adequa.comparison.settings import ComparisonSettings
from adequa.segments import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class PairResult:
    """One metric's view of two systems, by their places; what is said is said of the second.

    Numbers that need segment scores are NaN, and counts zero, where there are none.
    """

    first: int
    second: int
    difference: float  # score of the second less that of the first, in the metric's own direction
    gain: float  # the same, above zero where the second is better
    low: float = NAN  # bootstrap interval of the difference
    high: float = NAN
    p: float = NAN  # approximate randomisation, two-sided
    p_adjusted: float = NAN  # by Holm, over all pairs of the metric
    p_drop: float = NAN  # the same, one-sided: so large a loss of the second by chance
    p_bootstrap: float = NAN  # paired bootstrap, as Moses and sacreBLEU have it
    p_bootstrap_adjusted: float = NAN
    effect: float = NAN  # mean gain of a segment over its standard deviation
    wins: int = 0  # segments on which the second is better
    ties: int = 0
    losses: int = 0
    differing: int = 0  # segments whose statistics differ: what a test can rest on
    significant: bool = False  # one is better, and p_adjusted is at most alpha
    people: Meaning | None = None  # what a difference of this size has meant for people

    @property
    def told(self) -> Meaning | None:
        """The same of a significant difference alone: what may be chance has meant nothing."""
        return self.people if self.significant else None

    @property
    def better(self) -> int | None:
        """The place of the system with the better score; None where they are equal."""
        if not self.gain:
            return None
        return self.second if self.gain > 0 else self.first


@dataclass(frozen=True, slots=True, eq=False)
class MetricResult:
    """One metric's view of all systems."""

    name: str
    signature: str
    segment_signature: str
    higher_is_better: bool
    decimals: int  # places worth showing a person
    scores: FloatArray  # one a system
    low: FloatArray  # bootstrap intervals
    high: FloatArray
    ranks: IntArray
    pairs: tuple[PairResult, ...]  # every system with every later one
    segments: FloatArray | None  # (systems, segments)

    def pair(self, first: int, second: int) -> PairResult:
        """The pair of these two systems, in the order in which they were given."""
        wanted = (min(first, second), max(first, second))
        return next(each for each in self.pairs if (each.first, each.second) == wanted)

    @property
    def sign(self) -> float:
        """What makes higher better."""
        return 1.0 if self.higher_is_better else -1.0

    @property
    def order(self) -> IntArray:
        """Places of systems, the best first."""
        return np.argsort(-self.sign * self.scores, kind="stable")


@dataclass(frozen=True, slots=True, eq=False)
class BucketScores:
    """One metric's scores on a part of the segments."""

    scores: FloatArray  # one a system
    low: FloatArray  # interval of the score less that of the first system; NaN for few segments
    high: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Bucket:
    """Segments that have something in common, and the scores on them."""

    label: str
    rows: IntArray
    metrics: tuple[BucketScores | None, ...]  # None for a metric without segment scores


@dataclass(frozen=True, slots=True, eq=False)
class Dimension:
    """One way to part the segments: by length, by numbers in them, by document."""

    name: str
    title: str
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Everything that comparing systems found; the first system is the baseline."""

    outputs: Outputs
    settings: ComparisonSettings
    metrics: tuple[MetricResult, ...]
    part: Callable[[], tuple[Dimension, ...]]  # computes the parts of the segments
    notes: tuple[str, ...] = ()

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """All ways to part the segments, with scores; computed when they are first asked for."""
        return self.part()

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems, in the order in which they were given."""
        return self.outputs.names

    def to_dict(self, *, segments: bool = True) -> dict[str, Any]:
        """All of it as plain lists and dictionaries, ready for JSON; segments are most of it."""
        from adequa.comparison.as_dict import as_dict  # noqa: PLC0415 - it imports this file

        return as_dict(self, segments=segments)

    def to_pandas(self) -> Mapping[str, pd.DataFrame]:
        """Tables `scores`, `pairs`, `buckets` and `segments` as data frames of pandas."""
        from adequa.comparison.as_tables import as_frames  # noqa: PLC0415 - it imports this file

        return as_frames(self)

    def to_html(self, title: str = "") -> str:
        """A page that shows all of it: one file that needs no network."""
        from adequa.comparison.as_page import as_page  # noqa: PLC0415 - it imports this file

        return as_page(self, title)
