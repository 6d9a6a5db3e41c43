"""Segment-level agreement with ratings: pooled, or averaged by segment or by system."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from adequa.agreement.groups import codes, one_system_a_row, padded
from adequa.agreement.measured import Measured, Statistic, mean_where_defined
from adequa.agreement.protocol import Protocol
from adequa.errors import AdequaError
from adequa.judgements import Ids, IntArray
from adequa.segments import FloatArray
from adequa.statistics import ties
from adequa.statistics.correlation import pearson, spearman
from adequa.statistics.kendall import kendall_b, kendall_c
from adequa.statistics.permutation import (
    Differences,
    general_differences,
    pearson_differences,
    ratio_differences,
    swap_units,
)
from adequa.statistics.resampling import bootstrap_counts, row_weights
from adequa.statistics.undefined import why
from adequa.statistics.williams import williams

CORRELATIONS: dict[str, Statistic] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall-b": kendall_b,
    "kendall-c": kendall_c,
}


@dataclass(frozen=True, slots=True, eq=False)
class Rated:
    """The ratings of one language pair and K metrics' scores of the same outputs."""

    name: str
    human: FloatArray  # (n,)
    metrics: FloatArray  # (K, n), higher is better
    segments: IntArray  # (n,) codes
    systems: IntArray | None  # (n,) codes, where systems are known

    def __len__(self) -> int:
        return len(self.human)


def rated(name: str, human: FloatArray, metrics: FloatArray, ids: Ids, protocol: Protocol) -> Rated:
    """Arrays of one language pair; an output of several systems counts for each where that matters.

    It matters where systems are resampled, swapped or averaged over.
    """
    count = len(human)
    by_system = "systems" in {protocol.over, protocol.test} or protocol.average == "system"
    by_system = by_system or protocol.over == "both"
    if not by_system:
        return Rated(name, human, metrics, codes(ids.get("segment"), count), None)
    if "system" not in ids or not all(ids["system"]):
        raise AdequaError(
            f"{name}: the judgements do not say which system each output comes from, so that "
            "nothing can be resampled, swapped or averaged by system."
        )
    rows, names = one_system_a_row(ids["system"])
    segments = codes(ids.get("segment"), count)
    return Rated(name, human[rows], metrics[:, rows], segments[rows], codes(names, len(names)))


def measure_ratings(data: Rated, protocol: Protocol) -> Measured:
    """Every metric's agreement with the ratings of one language pair."""
    if protocol.average == "pooled":
        return _pooled(data, protocol)
    return _grouped(data, protocol)


def _pooled(data: Rated, protocol: Protocol) -> Measured:
    thresholds = None
    if protocol.statistic == "acc-eq":
        found = [ties.pooled_calibrate(data.human, m, seed=protocol.seed) for m in data.metrics]
        thresholds = np.array([calibration.epsilon for calibration in found])
        statistics: list[Statistic] = [
            partial(_pooled_accuracy, epsilon=epsilon) for epsilon in thresholds.tolist()
        ]
    else:
        statistics = [CORRELATIONS[str(protocol.statistic)]] * len(data.metrics)
    values = np.array(
        [
            float(statistic(data.human, metric, None))
            for statistic, metric in zip(statistics, data.metrics, strict=True)
        ]
    )
    return Measured(
        name=data.name,
        items=len(data),
        values=values,
        samples=_pooled_samples(data, statistics, protocol),
        differences=_pooled_differences(data, statistics[0], protocol),
        p_values=williams_matrix(data.human, data.metrics) if protocol.test == "williams" else None,
        thresholds=thresholds,
        reasons=tuple(why(data.human, metric) for metric in data.metrics),
    )


def _pooled_accuracy(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None, *, epsilon: float
) -> FloatArray | float:
    return ties.pooled_accuracy_with_ties(human, metric, epsilon, weights)


def _pooled_samples(data: Rated, statistics: list[Statistic], protocol: Protocol) -> FloatArray:
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
    data: Rated, statistic: Statistic, protocol: Protocol
) -> Differences | None:
    if protocol.test in {"none", "williams"}:
        return None
    units = swap_units(str(protocol.test), data.segments, data.systems, len(data))
    if protocol.statistic == "pearson":
        return pearson_differences(
            data.human, data.metrics, units, protocol.resamples, protocol.seed
        )
    return general_differences(
        data.human, data.metrics, units, statistic, protocol.resamples, protocol.seed
    )


def williams_matrix(human: FloatArray, metrics: FloatArray) -> FloatArray:
    """Williams' one-sided p-value for every pair: row better than column."""
    with_human = np.asarray(pearson(human, metrics))
    between = np.asarray(pearson(metrics[:, None], metrics[None]))
    p_values = np.array(williams(with_human[:, None], with_human[None], between, len(human)))
    np.fill_diagonal(p_values, np.nan)
    return p_values


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Ratings with one line a group: the systems of a segment, or the segments of a system."""

    rows: IntArray  # (groups, longest)
    present: FloatArray  # 1 for a rating, 0 for padding
    human: FloatArray
    metrics: tuple[FloatArray, ...]
    within: IntArray | None  # codes of what a group holds, by rating


def _grouped(data: Rated, protocol: Protocol) -> Measured:
    """The mean over groups of a statistic within each."""
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
    thresholds = None
    statistics: list[Statistic] = [CORRELATIONS.get(str(protocol.statistic), pearson)]
    statistics *= len(data.metrics)
    if protocol.statistic == "acc-eq":
        found = [ties.calibrate(table.human, m, table.present) for m in table.metrics]
        thresholds = np.array([calibration.epsilon for calibration in found])
        statistics = [partial(_accuracy, epsilon=epsilon) for epsilon in thresholds.tolist()]
    of_group = np.array(
        [
            statistic(table.human, metric, table.present)
            for statistic, metric in zip(statistics, table.metrics, strict=True)
        ]
    )
    return Measured(
        name=data.name,
        items=len(data),
        values=mean_where_defined(of_group),
        samples=_grouped_samples(table, of_group, statistics, protocol),
        differences=_grouped_differences(data, of_group, table, statistics[0], protocol),
        thresholds=thresholds,
        reasons=tuple(
            "" if np.isfinite(row).any() else f"it is undefined for every {protocol.average} alone"
            for row in of_group
        ),
        notes=_left_out(data.name, of_group, protocol),
    )


def _known(systems: IntArray | None) -> IntArray:
    if systems is None:
        raise AdequaError("The judgements name no systems to average over.")
    return systems


def _accuracy(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None, *, epsilon: float
) -> FloatArray:
    return np.asarray(ties.accuracy_with_ties(human, metric, epsilon, weights))


def _left_out(name: str, of_group: FloatArray, protocol: Protocol) -> tuple[str, ...]:
    undefined = int((~np.isfinite(of_group)).all(axis=0).sum())
    if not undefined:
        return ()
    return (
        f"{name}: {undefined:,} of {of_group.shape[1]:,} {protocol.average}s are left out of the "
        f"average, because {protocol.statistic} is undefined within them.",
    )


def _grouped_samples(
    table: _Table, of_group: FloatArray, statistics: list[Statistic], protocol: Protocol
) -> FloatArray:
    """Groups are drawn as they are; what they hold is drawn by weights within them."""
    over, resamples = protocol.over, protocol.resamples
    if over == "none":
        return np.empty((len(of_group), 0))
    times = np.ones((resamples, of_group.shape[1]))
    if over in {"both", f"{protocol.average}s"}:
        times = bootstrap_counts(of_group.shape[1], resamples, protocol.seed)
    if over == f"{protocol.average}s":
        return np.stack([mean_where_defined(values[None], times) for values in of_group])
    within = _known(table.within)
    drawn = bootstrap_counts(int(within.max()) + 1, resamples, protocol.seed + 1)
    samples = np.empty((len(of_group), resamples))
    for resample, counts in enumerate(drawn):
        weights = counts[within[table.rows]] * table.present
        for place, (statistic, metric) in enumerate(zip(statistics, table.metrics, strict=True)):
            values = np.asarray(statistic(table.human, metric, weights))
            samples[place, resample] = mean_where_defined(values, times[resample])
    return samples


def _grouped_differences(
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
            protocol.resamples,
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
        data.human, data.metrics, units, averaged, protocol.resamples, protocol.seed
    )
