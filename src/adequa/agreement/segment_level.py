"""Segment-level agreement: ratings pooled, ratings averaged by segment or system, and preferences.

Each function measures every metric on one language pair: the statistic, its bootstrap resamples,
and the differences between metrics that a permutation test compares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Protocol as TypingProtocol

import numpy as np

from adequa.agreement.groups import codes, one_system_a_row, padded, parts_of_systems, segment_names
from adequa.agreement.protocol import Protocol
from adequa.agreement.results import PairAgreement
from adequa.errors import AdequaError
from adequa.judgements import Ids
from adequa.segments import FloatArray, IntArray
from adequa.statistics import ties
from adequa.statistics.arrays import ratio
from adequa.statistics.correlation import pearson, spearman, undefined_reason
from adequa.statistics.kendall import kendall_b, kendall_c
from adequa.statistics.permutation import (
    Differences,
    general_differences,
    pearson_differences,
    ratio_differences,
    swap_units,
)
from adequa.statistics.preference_tau import (
    contributions,
    preferences_from_ratings,
)
from adequa.statistics.resampling import bootstrap_chunks, bootstrap_sums, row_weights
from adequa.statistics.significance import williams


class Statistic(TypingProtocol):
    """Agreement of one metric, batched over leading axes."""

    def __call__(
        self, human: FloatArray, metric: FloatArray, weights: FloatArray | None = None, /
    ) -> FloatArray | float: ...


def mean_where_defined(values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The weighted mean over the last axis of the values that are not NaN; NaN where none is.

    >>> float(mean_where_defined(np.array([0.5, np.nan, 0.25])))
    0.375
    """
    defined = np.isfinite(values)
    counted = defined * (1.0 if weights is None else weights)
    total = np.sum(counted, axis=-1)
    summed = np.sum(np.where(defined, values, 0.0) * counted, axis=-1)
    return np.asarray(ratio(summed, total))


def left_out(name: str, of_group: FloatArray, protocol: Protocol) -> tuple[str, ...]:
    """A note on the groups, (K, groups), whose values are undefined and do not count."""
    counts = (~np.isfinite(of_group)).sum(axis=1).tolist()
    if not any(counts):
        return ()
    fewest, most = min(counts), max(counts)
    counted = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}, by metric,"
    return (
        f"{name}: {counted} of {of_group.shape[1]:,} {protocol.average}s are left out of the "
        f"average, because {protocol.statistic} is undefined within them.",
    )


_NOTHING = np.empty(0, dtype=np.intp)
CORRELATIONS: dict[str, Statistic] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall-b": kendall_b,
    "kendall-c": kendall_c,
}


@dataclass(frozen=True, slots=True, eq=False)
class RatedOutputs:
    """The ratings of one language pair and K metrics' scores of the same outputs."""

    name: str
    human: FloatArray  # (n,)
    metrics: FloatArray  # (K, n), higher is better
    segments: IntArray  # (n,) codes
    systems: IntArray  # (n,) codes; empty where systems are neither averaged nor drawn
    items: int  # ratings; fewer than n where an output stands for several systems

    def __len__(self) -> int:
        return len(self.human)


def rated_outputs(
    name: str, human: FloatArray, metrics: FloatArray, ids: Ids, protocol: Protocol
) -> RatedOutputs:
    """Arrays of one language pair.

    An output of several systems (`A+B`) counts for each where systems are averaged over. Where
    they are resampled or swapped it counts for the first of them, so that the statistic itself
    does not depend on the settings of intervals and tests.
    """
    count = len(human)
    segments = codes(segment_names(ids), count)
    by_system = protocol.over in {"systems", "both"} or protocol.test == "systems"
    if protocol.average != "system" and not by_system:
        return RatedOutputs(name, human, metrics, segments, _NOTHING, count)
    if "system" not in ids or not all(ids["system"]):
        raise AdequaError(
            f"{name}: the judgements do not say which system each output comes from, so that "
            "nothing can be resampled, swapped or averaged by system."
        )
    parts = parts_of_systems((name,) * count, ids["system"])
    if protocol.average != "system":
        first = codes([system for system, *_ in parts], count)
        return RatedOutputs(name, human, metrics, segments, first, count)
    rows, names = one_system_a_row(parts)
    systems = codes(names, len(names))
    return RatedOutputs(name, human[rows], metrics[:, rows], segments[rows], systems, count)


def _statistics(
    metrics: FloatArray | tuple[FloatArray, ...],
    protocol: Protocol,
    calibrate: Callable[[FloatArray], ties.Calibration],
    accuracy: Callable[..., FloatArray | float],
) -> tuple[list[Statistic], FloatArray | None]:
    """The statistic of each metric; for acc-eq, with its own threshold, and the thresholds."""
    if protocol.statistic != "acc-eq":
        return [CORRELATIONS[str(protocol.statistic)]] * len(metrics), None
    thresholds = [calibrate(metric).epsilon for metric in metrics]
    return [partial(accuracy, epsilon=each) for each in thresholds], np.array(thresholds)


def measure_pooled(data: RatedOutputs, protocol: Protocol) -> PairAgreement:
    """Every metric's agreement with the ratings of one language pair, all in one pool."""
    calibrate = partial(ties.pooled_calibrate, data.human, seed=protocol.seed)
    statistics, thresholds = _statistics(
        data.metrics, protocol, calibrate, ties.pooled_accuracy_with_ties
    )
    values = np.array(
        [
            float(statistic(data.human, metric, None))
            for statistic, metric in zip(statistics, data.metrics, strict=True)
        ]
    )
    return PairAgreement(
        name=data.name,
        items=data.items,
        values=values,
        samples=_pooled_samples(data, statistics, protocol),
        differences=_pooled_differences(data, statistics[0], protocol),
        p_values=williams_matrix(data.human, data.metrics) if protocol.test == "williams" else None,
        thresholds=thresholds,
        reasons=tuple(undefined_reason(data.human, metric) for metric in data.metrics),
    )


def _pooled_samples(
    data: RatedOutputs, statistics: list[Statistic], protocol: Protocol
) -> FloatArray:
    if protocol.over == "none":
        return np.empty((len(data.metrics), 0))
    chunks = [
        [
            np.asarray(statistic(data.human, metric, weights))
            for statistic, metric in zip(statistics, data.metrics, strict=True)
        ]
        for weights in row_weights(
            data.segments, data.systems, str(protocol.over), protocol.resamples, protocol.seed
        )
    ]
    return np.concatenate(chunks, axis=1)


def _pooled_differences(
    data: RatedOutputs, statistic: Statistic, protocol: Protocol
) -> Differences | None:
    if protocol.test in {"none", "williams"}:
        return None
    units = swap_units(str(protocol.test), data.segments, data.systems, len(data))
    if protocol.statistic == "pearson":
        return pearson_differences(
            data.human, data.metrics, units, protocol.swap_count, protocol.seed
        )
    return general_differences(
        data.human, data.metrics, units, statistic, protocol.swap_count, protocol.seed
    )


def williams_matrix(human: FloatArray, metrics: FloatArray) -> FloatArray:
    """Williams' one-sided p-value for every pair: row better than column."""
    with_human = np.asarray(pearson(human, metrics))
    between = np.asarray(pearson(metrics[:, None], metrics[None]))
    p_values = np.array(williams(with_human[:, None], with_human[None], between, len(human)))
    np.fill_diagonal(p_values, np.nan)
    return p_values


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """Ratings with one line per group: the systems of a segment, or the segments of a system."""

    rows: IntArray  # (groups, longest)
    present: FloatArray  # 1 for a rating, 0 for padding
    human: FloatArray
    metrics: tuple[FloatArray, ...]
    within: IntArray  # codes of what a group holds, by rating


def measure_grouped(data: RatedOutputs, protocol: Protocol) -> PairAgreement:
    """Every metric's mean over segments, or systems, of a statistic within each."""
    groups, within = data.segments, data.systems
    if protocol.average == "system":
        groups, within = data.systems, data.segments
    rows, present = padded(groups)
    metrics = tuple(metric[rows] for metric in data.metrics)
    table = _Groups(rows, present, data.human[rows], metrics, within)
    calibrate = partial(ties.calibrate, table.human, weights=table.present)
    statistics, thresholds = _statistics(
        table.metrics, protocol, calibrate, ties.accuracy_with_ties
    )
    of_group = np.array(
        [
            statistic(table.human, metric, table.present)
            for statistic, metric in zip(statistics, table.metrics, strict=True)
        ]
    )
    if protocol.test == "pairs" and thresholds is not None:
        differences: Differences | None = _pair_differences(table, thresholds, protocol)
    else:
        differences = _grouped_differences(data, of_group, table, statistics[0], protocol)
    return PairAgreement(
        name=data.name,
        items=data.items,
        values=mean_where_defined(of_group),
        samples=_grouped_samples(table, of_group, statistics, protocol),
        differences=differences,
        thresholds=thresholds,
        reasons=(f"it is undefined for every {protocol.average} alone",) * len(of_group),
        notes=left_out(data.name, of_group, protocol),
    )


def _grouped_samples(
    table: _Groups, of_group: FloatArray, statistics: list[Statistic], protocol: Protocol
) -> FloatArray:
    """Whole groups are resampled by their values; items within groups, by weights."""
    groups, over = of_group.shape[1], protocol.over
    if over == "none":
        return np.empty((len(of_group), 0))
    if over == f"{protocol.average}s":
        defined = np.isfinite(of_group)
        columns = np.concatenate([np.where(defined, of_group, 0.0), defined])
        sums, counted = np.split(bootstrap_sums(columns, protocol.resamples, protocol.seed), 2)
        return np.asarray(ratio(sums, counted))
    units = int(table.within.max()) + 1
    group_counts = bootstrap_chunks(groups, protocol.resamples, protocol.seed)
    within_counts = bootstrap_chunks(units, protocol.resamples, [protocol.seed, 1])
    samples = np.empty((len(of_group), protocol.resamples))
    resamples = zip(
        chain.from_iterable(group_counts), chain.from_iterable(within_counts), strict=True
    )
    for resample, (times, counts) in enumerate(resamples):
        weights = counts[table.within[table.rows]] * table.present
        averaged = times if over == "both" else None
        for index, (statistic, metric) in enumerate(zip(statistics, table.metrics, strict=True)):
            values = np.asarray(statistic(table.human, metric, weights))
            samples[index, resample] = mean_where_defined(values, averaged)
    return samples


def _grouped_differences(
    data: RatedOutputs,
    of_group: FloatArray,
    table: _Groups,
    statistic: Statistic,
    protocol: Protocol,
) -> Differences | None:
    if protocol.test == "none":
        return None
    if (protocol.test, protocol.average) in {("inputs", "segment"), ("systems", "system")}:
        # Whole groups are swapped: their values stay as they are.
        defined = np.isfinite(of_group)
        return ratio_differences(
            np.where(defined, of_group, 0.0),
            defined.astype(np.float64),
            protocol.swap_count,
            protocol.seed,
        )

    def averaged(
        human: FloatArray, metric: FloatArray, weights: FloatArray | None = None
    ) -> FloatArray:
        del weights  # swapping keeps every rating
        return mean_where_defined(
            np.asarray(statistic(human[..., table.rows], metric[..., table.rows], table.present))
        )

    units = swap_units(str(protocol.test), data.segments, data.systems, len(data))
    return general_differences(
        data.human, data.metrics, units, averaged, protocol.swap_count, protocol.seed
    )


def _pair_differences(table: _Groups, thresholds: FloatArray, protocol: Protocol) -> Differences:
    """Swapping what two metrics make of each pair of a segment's outputs: right or wrong."""
    one, other = np.triu_indices(table.rows.shape[1], k=1)
    share = table.present[:, one] * table.present[:, other]
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1.0)
    right = np.stack(
        [
            (ties.right_pairs(table.human, metric, epsilon) * share).ravel()
            for metric, epsilon in zip(table.metrics, thresholds.tolist(), strict=True)
        ]
    )
    shares = np.broadcast_to(share.ravel(), right.shape)
    return ratio_differences(right, shares, protocol.swap_count, protocol.seed)


@dataclass(frozen=True, slots=True, eq=False)
class PreferenceMargins:
    """The preferences of one language pair, and by how much K metrics share them."""

    name: str
    margins: FloatArray  # (K, n), score of the better less score of the worse
    segments: IntArray  # (n,) codes


def margins_from_ratings(
    name: str, human: FloatArray, metrics: FloatArray, ids: Ids, protocol: Protocol
) -> PreferenceMargins:
    """Preferences between outputs of a segment whose ratings are far enough apart (DARR)."""
    if "segment" not in ids or not all(ids["segment"]):
        raise AdequaError(
            f"{name}: the judgements do not say which segment each output belongs to, so that "
            "ratings cannot be compared within segments."
        )
    segments = codes(segment_names(ids), len(human))
    better, worse = preferences_from_ratings(human, segments, protocol.min_difference)
    if not len(better):
        raise AdequaError(
            f"{name}: no two ratings of a segment differ by {protocol.min_difference:g} or more; "
            f"the ratings run from {human.min():g} to {human.max():g}. Standardised scores need "
            "another --min-difference, such as 1."
        )
    return PreferenceMargins(name, metrics[:, better] - metrics[:, worse], segments[better])


def measure_preferences(data: PreferenceMargins, protocol: Protocol) -> PairAgreement:
    """Every metric's tau on one language pair; segments are what is resampled and swapped."""
    of_preference = [contributions(str(protocol.statistic), each) for each in data.margins]
    numerators, denominators = (
        np.stack(
            [np.bincount(data.segments, parts[side]).astype(np.float64) for parts in of_preference]
        )
        for side in (0, 1)
    )
    notes: tuple[str, ...] = ()
    if protocol.average == "segment":
        of_segment = np.asarray(ratio(numerators, denominators))
        notes = left_out(data.name, of_segment, protocol)
        denominators = np.isfinite(of_segment).astype(np.float64)
        numerators = np.where(denominators > 0, of_segment, 0.0)
    samples = np.empty((len(data.margins), 0))
    if protocol.over != "none":
        columns = np.concatenate([numerators, denominators])
        sums = bootstrap_sums(columns, protocol.resamples, protocol.seed)
        samples = np.asarray(ratio(*np.split(sums, 2)))
    return PairAgreement(
        name=data.name,
        items=data.margins.shape[1],
        values=np.asarray(ratio(numerators.sum(axis=1), denominators.sum(axis=1))),
        samples=samples,
        differences=None
        if protocol.test == "none"
        else ratio_differences(numerators, denominators, protocol.swap_count, protocol.seed),
        reasons=("the metric gives both sides of every preference the same score",)
        * len(data.margins),
        notes=notes,
    )
