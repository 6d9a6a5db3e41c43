"""Segment-level agreement with ratings, all outputs of a language pair in one pool."""

from __future__ import annotations

from functools import partial

import numpy as np

from adequa.agreement.measured import Measured, Statistic
from adequa.agreement.protocol import Protocol
from adequa.agreement.rated import CORRELATIONS, Rated
from adequa.segments import FloatArray
from adequa.statistics import ties
from adequa.statistics.correlation import pearson, undefined_reason
from adequa.statistics.permutation import (
    Differences,
    general_differences,
    pearson_differences,
    swap_units,
)
from adequa.statistics.resampling import row_weights
from adequa.statistics.significance import williams


def measure_pooled(data: Rated, protocol: Protocol) -> Measured:
    """Every metric's agreement with the ratings of one language pair, all in one pool."""
    thresholds = None
    if protocol.statistic == "acc-eq":
        found = [ties.pooled_calibrate(data.human, m, seed=protocol.seed) for m in data.metrics]
        thresholds = np.array([calibration.epsilon for calibration in found])
        statistics: list[Statistic] = [
            partial(_accuracy, epsilon=epsilon) for epsilon in thresholds.tolist()
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
        items=data.items,
        values=values,
        samples=_samples(data, statistics, protocol),
        differences=_differences(data, statistics[0], protocol),
        p_values=williams_matrix(data.human, data.metrics) if protocol.test == "williams" else None,
        thresholds=thresholds,
        reasons=tuple(undefined_reason(data.human, metric) for metric in data.metrics),
    )


def _accuracy(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None, *, epsilon: float
) -> FloatArray | float:
    return ties.pooled_accuracy_with_ties(human, metric, epsilon, weights)


def _samples(data: Rated, statistics: list[Statistic], protocol: Protocol) -> FloatArray:
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


def _differences(data: Rated, statistic: Statistic, protocol: Protocol) -> Differences | None:
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
