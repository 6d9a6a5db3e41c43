"""What an evaluation found: agreement of every metric, by language pair and on average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np
import numpy.typing as npt

from adequa.agreement.measured import Measured
from adequa.agreement.protocol import Protocol
from adequa.segments import FloatArray
from adequa.statistics.clusters import ranks
from adequa.statistics.multiple import holm
from adequa.statistics.permutation import average, p_values
from adequa.statistics.resampling import interval

AVERAGE = "average"


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """A metric as the table names it, and the line that lets someone else get its scores."""

    name: str
    signature: str


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One language pair, or the average: K metrics with intervals, tests and ranks."""

    name: str
    items: int  # ratings, preferences or systems behind it
    values: FloatArray  # (K,)
    low: FloatArray  # (K,), NaN without a bootstrap
    high: FloatArray  # (K,)
    p_values: FloatArray | None = None  # (K, K), one-sided: row better than column
    adjusted: FloatArray | None = None  # (K, K), after Holm's correction
    ranks: npt.NDArray[np.intp] | None = None  # (K,)
    thresholds: FloatArray | None = None  # (K,)
    reasons: tuple[str, ...] = ()  # (K,), why a value is undefined
    undefined_resamples: int = 0  # at most, of those behind the intervals


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """What a plot shows of one language pair: human scores and metrics', or metrics' margins."""

    name: str
    human: FloatArray | None  # (n,); None for preferences
    metrics: FloatArray  # (K, n), scores, or by how much the better one is ahead


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """All of it, and what a reader of the figures should know."""

    dataset: str
    protocol: Protocol
    selection: str  # what was chosen from the judgements; empty for all of them
    metrics: tuple[MetricInfo, ...]
    columns: tuple[Column, ...]
    average: Column  # the only column where there is one
    points: tuple[Points, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """Language pairs, and the average where there are several."""
        return self.columns if len(self.columns) == 1 else (*self.columns, self.average)

    @property
    def order(self) -> list[int]:
        """Metrics from the best to the worst on average; undefined ones last, as they were given.

        Of equals, the one given first comes first.
        """
        values = self.average.values
        return sorted(range(len(values)), key=lambda k: (np.isnan(values[k]), -values[k]))


def column(measured: Measured, protocol: Protocol) -> Column:
    """A language pair's figures with intervals, p-values and ranks."""
    tested = measured.p_values
    if measured.differences is not None:
        tested = p_values(measured.differences)
    low, high, undefined = _intervals(measured.samples, protocol)
    return _tested(
        Column(
            name=measured.name,
            items=measured.items,
            values=measured.values,
            low=low,
            high=high,
            undefined_resamples=undefined,
            p_values=tested,
            thresholds=measured.thresholds,
            reasons=tuple(
                reason if isnan(value) else ""
                for reason, value in zip(measured.reasons, measured.values, strict=True)
            ),
        ),
        protocol,
    )


def macro_average(parts: Sequence[Measured], protocol: Protocol) -> Column:
    """The mean over language pairs; undefined for a metric where one of the pairs is.

    Resamples are averaged draw by draw: language pairs are drawn independently. A test without
    resamples (Williams') has no average.
    """
    differences = [part.differences for part in parts if part.differences is not None]
    samples = np.mean([part.samples for part in parts], axis=0)
    low, high, undefined = _intervals(samples, protocol)
    values = np.mean([part.values for part in parts], axis=0)
    return _tested(
        Column(
            name=AVERAGE,
            items=sum(part.items for part in parts),
            values=values,
            low=low,
            high=high,
            undefined_resamples=undefined,
            p_values=p_values(average(differences)) if differences else None,
            reasons=tuple(_undefined_in(parts, metric) for metric in range(len(values))),
        ),
        protocol,
    )


def _undefined_in(parts: Sequence[Measured], metric: int) -> str:
    names = [part.name for part in parts if np.isnan(part.values[metric])]
    return f"it is undefined for {', '.join(names)}" if names else ""


def _intervals(samples: FloatArray, protocol: Protocol) -> tuple[FloatArray, FloatArray, int]:
    """The bounds of each metric, and how many resamples were undefined for the worst of them."""
    if not samples.shape[1]:
        nothing = np.full(len(samples), np.nan)
        return nothing, nothing, 0
    found = [interval(drawn, protocol.confidence) for drawn in samples]
    low, high = np.array([(each.low, each.high) for each in found]).T
    # A metric without a value has no resamples with one: that is told already.
    undefined = [each.undefined for each in found if each.undefined < samples.shape[1]]
    return low, high, max(undefined, default=0)


def _tested(figures: Column, protocol: Protocol) -> Column:
    if figures.p_values is None or len(figures.values) == 1:
        return figures
    adjusted = holm(figures.p_values)
    return replace(
        figures,
        adjusted=adjusted,
        ranks=ranks(figures.values, adjusted, protocol.alpha, protocol.clusters),
    )
