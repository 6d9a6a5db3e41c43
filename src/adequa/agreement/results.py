"""What an evaluation found: agreement of every metric, by language pair and over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import isnan

import numpy as np
import numpy.typing as npt

from adequa.agreement.protocol import Protocol
from adequa.segments import FloatArray
from adequa.statistics.permutation import Differences, average, p_values
from adequa.statistics.resampling import interval
from adequa.statistics.significance import holm, ranks

AVERAGE = "average"
POOLED = "pooled"


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """A metric as the table names it, and the line that lets someone else get its scores."""

    name: str
    signature: str


@dataclass(frozen=True, slots=True, eq=False)
class PairAgreement:
    """K metrics on one language pair: statistics, bootstrap resamples, permutation differences."""

    name: str
    items: int  # ratings, preferences or systems
    values: FloatArray  # (K,)
    samples: FloatArray  # (K, R); no columns where nothing was resampled
    differences: Differences | None = None
    p_values: FloatArray | None = None  # (K, K), of a test that needs no resampling
    thresholds: FloatArray | None = None  # (K,), below which a metric's scores tie
    reasons: tuple[str, ...] = ()  # (K,), why a value is undefined, if it is
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class AgreementColumn:
    """One language pair, or all of them: K metrics with intervals, tests and ranks."""

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
    columns: tuple[AgreementColumn, ...]
    average: AgreementColumn  # the only column where there is one
    pooled: AgreementColumn | None = None  # of pairwise accuracies; other statistics have none
    points: tuple[Points, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def all_columns(self) -> tuple[AgreementColumn, ...]:
        """Language pairs, and where there are several, the average and what is pooled."""
        if len(self.columns) == 1:
            return self.columns
        return (*self.columns, self.average, *([] if self.pooled is None else [self.pooled]))

    @property
    def order(self) -> list[int]:
        """Metrics from the best to the worst on average; undefined ones last, as they were given.

        Of equals, the one given first comes first.
        """
        values = self.average.values
        return sorted(range(len(values)), key=lambda k: (np.isnan(values[k]), -values[k]))


def column(measured: PairAgreement, protocol: Protocol) -> AgreementColumn:
    """A language pair's figures with intervals, p-values and ranks."""
    tested = measured.p_values
    if measured.differences is not None:
        tested = p_values(measured.differences)
    low, high, undefined = _intervals(measured.samples, protocol)
    return _tested(
        AgreementColumn(
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


def macro_average(parts: Sequence[PairAgreement], protocol: Protocol) -> AgreementColumn:
    """The mean over language pairs; undefined for a metric where one of the pairs is.

    Resamples are averaged draw by draw: language pairs are drawn independently. A test without
    resamples (Williams') has no average.
    """
    differences = [part.differences for part in parts if part.differences is not None]
    tested = p_values(average(differences)) if differences else None
    return _mean(AVERAGE, parts, np.ones(len(parts)), tested, protocol)


def pooled_accuracy(parts: Sequence[PairAgreement], protocol: Protocol) -> AgreementColumn:
    """The accuracy over the pairs of systems of all language pairs together (Kocmi et al. 2021).

    A language pair of S systems has S (S - 1) / 2 of them, and weighs as much in every resample
    too; one of a single system has none, and no accuracy.
    """
    compared = [part for part in parts if part.items > 1]
    if not compared:
        return replace(macro_average(parts, protocol), name=POOLED)
    pairs = np.array([part.items * (part.items - 1) / 2 for part in compared])
    found = _mean(POOLED, compared, pairs, _pooled_test(compared, pairs), protocol)
    return replace(found, items=sum(part.items for part in parts))


def _pooled_test(parts: Sequence[PairAgreement], pairs: FloatArray) -> FloatArray | None:
    differences = [part.differences for part in parts if part.differences is not None]
    if not differences:
        return None
    shares = pairs / pairs.sum()
    # Added up one by one: all of them, weighted, would be as large as all parts together.
    observed = (s * each.observed for s, each in zip(shares, differences, strict=True))
    resampled = (s * each.resampled for s, each in zip(shares, differences, strict=True))
    return p_values(Differences(reduce(np.add, observed), reduce(np.add, resampled)))


def _mean(
    name: str,
    parts: Sequence[PairAgreement],
    weights: FloatArray,
    tested: FloatArray | None,
    protocol: Protocol,
) -> AgreementColumn:
    """The weighted mean over language pairs, with the p-values of a test of it."""
    samples = np.average([part.samples for part in parts], axis=0, weights=weights)
    low, high, undefined = _intervals(samples, protocol)
    values = np.average([part.values for part in parts], axis=0, weights=weights)
    return _tested(
        AgreementColumn(
            name=name,
            items=sum(part.items for part in parts),
            values=values,
            low=low,
            high=high,
            undefined_resamples=undefined,
            p_values=tested,
            reasons=tuple(_undefined_in(parts, metric) for metric in range(len(values))),
        ),
        protocol,
    )


def _undefined_in(parts: Sequence[PairAgreement], metric: int) -> str:
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


def _tested(figures: AgreementColumn, protocol: Protocol) -> AgreementColumn:
    if figures.p_values is None or len(figures.values) == 1:
        return figures
    adjusted = holm(figures.p_values)
    return replace(
        figures,
        adjusted=adjusted,
        ranks=ranks(figures.values, adjusted, protocol.alpha, protocol.clusters),
    )
