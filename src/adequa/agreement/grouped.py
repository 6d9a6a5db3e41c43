"""Segment-level agreement with ratings, averaged over segments or over systems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from adequa.agreement.groups import padded
from adequa.agreement.measured import Measured, Statistic, left_out, mean_where_defined
from adequa.agreement.protocol import Protocol
from adequa.agreement.rated import CORRELATIONS, Rated
from adequa.errors import AdequaError
from adequa.segments import FloatArray, IntArray
from adequa.statistics import ties
from adequa.statistics.arrays import ratio
from adequa.statistics.permutation import (
    Differences,
    general_differences,
    ratio_differences,
    swap_units,
)
from adequa.statistics.resampling import bootstrap_chunks, bootstrap_sums


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Ratings with one line a group: the systems of a segment, or the segments of a system."""

    rows: IntArray  # (groups, longest)
    present: FloatArray  # 1 for a rating, 0 for padding
    human: FloatArray
    metrics: tuple[FloatArray, ...]
    within: IntArray | None  # codes of what a group holds, by rating


def measure_grouped(data: Rated, protocol: Protocol) -> Measured:
    """Every metric's mean over segments, or systems, of a statistic within each."""
    groups, within = data.segments, data.systems
    if protocol.average == "system":
        groups, within = _known(data.systems), data.segments
    layout = padded(groups)
    table = _Table(
        rows=layout.rows,
        present=layout.present,
        human=data.human[layout.rows],
        metrics=tuple(metric[layout.rows] for metric in data.metrics),
        within=within,
    )
    if protocol.statistic == "acc-eq":
        found = [ties.calibrate(table.human, m, table.present) for m in table.metrics]
        thresholds = np.array([calibration.epsilon for calibration in found])
        statistics: list[Statistic] = [
            partial(_accuracy, epsilon=epsilon) for epsilon in thresholds.tolist()
        ]
    else:
        thresholds = None
        statistics = [CORRELATIONS[str(protocol.statistic)]] * len(data.metrics)
    of_group = np.array(
        [
            statistic(table.human, metric, table.present)
            for statistic, metric in zip(statistics, table.metrics, strict=True)
        ]
    )
    if protocol.test == "pairs" and thresholds is not None:
        differences: Differences | None = _pair_differences(table, thresholds, protocol)
    else:
        differences = _differences(data, of_group, table, statistics[0], protocol)
    return Measured(
        name=data.name,
        items=data.items,
        values=mean_where_defined(of_group),
        samples=_samples(table, of_group, statistics, protocol),
        differences=differences,
        thresholds=thresholds,
        reasons=(f"it is undefined for every {protocol.average} alone",) * len(of_group),
        notes=left_out(data.name, of_group, protocol),
    )


def _known(systems: IntArray | None) -> IntArray:
    if systems is None:
        raise AdequaError("The judgements name no systems to average over.")
    return systems


def _accuracy(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None, *, epsilon: float
) -> FloatArray:
    return np.asarray(ties.accuracy_with_ties(human, metric, epsilon, weights))


def _samples(
    table: _Table, of_group: FloatArray, statistics: list[Statistic], protocol: Protocol
) -> FloatArray:
    """Groups are drawn as they are; what they hold is drawn by weights within them."""
    groups, over = of_group.shape[1], protocol.over
    if over == "none":
        return np.empty((len(of_group), 0))
    if over == f"{protocol.average}s":
        defined = np.isfinite(of_group)
        columns = np.concatenate([np.where(defined, of_group, 0.0), defined])
        sums, counted = np.split(bootstrap_sums(columns, protocol.resamples, protocol.seed), 2)
        return np.asarray(ratio(sums, counted))
    within = _known(table.within)
    units = int(within.max()) + 1
    drawn_groups = bootstrap_chunks(groups, protocol.resamples, protocol.seed)
    drawn_within = bootstrap_chunks(units, protocol.resamples, [protocol.seed, 1])
    samples = np.empty((len(of_group), protocol.resamples))
    resamples = zip(
        chain.from_iterable(drawn_groups), chain.from_iterable(drawn_within), strict=True
    )
    for resample, (times, counts) in enumerate(resamples):
        weights = counts[within[table.rows]] * table.present
        averaged = times if over == "both" else None
        for place, (statistic, metric) in enumerate(zip(statistics, table.metrics, strict=True)):
            values = np.asarray(statistic(table.human, metric, weights))
            samples[place, resample] = mean_where_defined(values, averaged)
    return samples


def _differences(
    data: Rated, of_group: FloatArray, table: _Table, statistic: Statistic, protocol: Protocol
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


def _pair_differences(table: _Table, thresholds: FloatArray, protocol: Protocol) -> Differences:
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
