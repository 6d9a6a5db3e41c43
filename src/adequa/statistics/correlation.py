"""Pearson's and Spearman's correlation of metric scores with human scores, and outlier systems."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adequa.segments import FloatArray
from adequa.statistics.arrays import (
    Values,
    ones_unless,
    pick,
    ranked,
    ratio,
    scaled,
    total,
    value,
    weight_by_rank,
)

# A variance below this fraction of the mean square has lost too many digits to cancellation.
_CANCELLED = 1e-4
_UNDERFLOWN = 1e-200
_TWO_ITEMS = 2
# The median absolute deviation of a normal distribution is its standard deviation over 1.483.
_MAD_SCALE = 1.483
_MAD_CUT = 2.5


def pearson(human: FloatArray, metric: FloatArray, weights: FloatArray | None = None) -> Values:
    """Pearson's correlation: how well a straight line relates metric scores to human ones.

    r = sum w (h - mean h) (m - mean m) / sqrt(sum w (h - mean h)^2 · sum w (m - mean m)^2), with
    weighted means. NaN where one side is constant.

    Pearson, 1896, Mathematical Contributions to the Theory of Evolution III; the segment-level
    statistic of WMT16 and WMT17 (Bojar et al., 2016, Results of the WMT16 Metrics Shared Task).

    >>> round(pearson(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 4.0, 3.0])), 3)
    0.6
    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([5.0, 5.0, 5.0]))
    nan
    """
    weights = ones_unless(weights, human.shape[-1])
    if human.shape[-1] < _TWO_ITEMS:
        return value(np.full(np.broadcast(human, metric, weights).shape[:-1], np.nan))
    about_zero = _about_zero(human), _about_zero(metric)
    (human_sum, metric_sum) = (total(weights, side) for side in about_zero)
    (human_square, metric_square) = (total(weights, side, side) for side in about_zero)
    count = total(weights)
    count = np.where(count == 0, 1.0, count)
    human_variance = human_square - human_sum**2 / count
    metric_variance = metric_square - metric_sum**2 / count
    covariance = total(weights, *about_zero) - human_sum * metric_sum / count
    sound = (human_variance > _CANCELLED * human_square + _UNDERFLOWN) & (
        metric_variance > _CANCELLED * metric_square + _UNDERFLOWN
    )
    variances = (np.where(sound, each, 1) for each in (human_variance, metric_variance))
    correlation = np.asarray(covariance / np.prod([np.sqrt(each) for each in variances], axis=0))
    if not sound.all():
        rows = (side[~sound] for side in np.broadcast_arrays(human, metric, weights))
        correlation[~sound] = _pearson_by_row(*rows)
    return value(np.clip(correlation, -1, 1))


def _about_zero(values: FloatArray) -> FloatArray:
    values = scaled(values)
    return np.asarray(values - values.mean(axis=-1, keepdims=True))


def _pearson_by_row(human: FloatArray, metric: FloatArray, weights: FloatArray) -> FloatArray:
    """The definition itself, each row about its own mean: for rows (rows, items) that need it."""
    human, metric = _about_mean(human, weights), _about_mean(metric, weights)
    scale = np.sqrt(total(weights, human, human)) * np.sqrt(total(weights, metric, metric))
    return np.asarray(ratio(total(weights, human, metric), scale))


def _about_mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Values less their weighted mean; exactly zero where those of positive weight are the same.

    Items of no weight take the value of one that has some, so that they cannot spoil the scale.
    """
    present = weights > 0
    first = np.argmax(present, axis=-1)[..., None]
    values = scaled(np.where(present, values, np.take_along_axis(values, first, axis=-1)))
    apart = values - np.take_along_axis(values, first, axis=-1)
    count = weights.sum(axis=-1, keepdims=True)
    mean = total(weights, apart)[..., None] / np.where(count == 0, 1.0, count)
    return np.asarray(np.where(present, apart - mean, 0))


def spearman(human: FloatArray, metric: FloatArray, weights: FloatArray | None = None) -> Values:
    """Spearman's correlation: Pearson's on ranks, where equal values share their average rank.

    The rank of an item is the weight strictly below it, plus half of (the weight of its tie group
    + 1). NaN where one side is constant.

    Spearman, 1904, The Proof and Measurement of Association between Two Things; the system-level
    statistic of WMT08 to WMT13.

    >>> round(spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.1, 0.3, 0.2, 9.0])), 3)
    0.8
    """
    weights = ones_unless(weights, human.shape[-1])
    if human.shape[-1] < _TWO_ITEMS:
        return value(np.full(np.broadcast(human, metric, weights).shape[:-1], np.nan))
    human_ranks, human_square = _centred_ranks(human, weights)
    metric_ranks, metric_square = _centred_ranks(metric, weights)
    covariance = total(weights, human_ranks, metric_ranks)
    correlation = ratio(covariance, np.sqrt(human_square) * np.sqrt(metric_square))
    return value(np.clip(np.asarray(correlation), -1, 1))


def _centred_ranks(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Average ranks less their mean, (total weight + 1) / 2, and the sum of their squares."""
    ranks = ranked(values)
    group = weight_by_rank(ranks, weights)
    up_to = np.cumsum(group, axis=-1)
    centred = up_to - group / 2 - up_to[..., -1:] / 2
    return pick(centred, ranks.codes), total(group, centred, centred)


def outliers(human: FloatArray) -> npt.NDArray[np.bool_]:
    """Which systems' human scores are outliers: |h - median| / (1.483 MAD) > 2.5.

    MAD is the median of |h - median|. The rule and its cut are those of Mathur, Baldwin and Cohn
    (2020), "Tangled up in BLEU" (ACL). Where more than half of the systems have the same score,
    MAD is zero and no system is called an outlier.

    By hand: the median of 1, 2, 3, 4, 20 is 3, the deviations are 2, 1, 0, 1, 17 and their median
    is 1; 17 / 1.483 = 11.5 is above 2.5, 2 / 1.483 = 1.3 is not.

    >>> outliers(np.array([1.0, 2.0, 3.0, 4.0, 20.0]))
    array([False, False, False, False,  True])
    """
    if not len(human):
        return np.zeros(0, dtype=bool)
    deviations = np.abs(human - np.median(human))
    deviation = _MAD_SCALE * np.median(deviations)
    far: npt.NDArray[np.bool_] = (deviations > _MAD_CUT * deviation) & (deviation > 0)
    return far


def undefined_reason(human: FloatArray, metric: FloatArray) -> str:
    """Why a correlation of these is NaN; empty where it is not.

    >>> undefined_reason(np.array([1.0, 2.0]), np.array([3.0, 3.0]))
    'the metric gives every item the same score'
    """
    if human.size < 2:  # noqa: PLR2004 - a correlation needs two points
        return "there are fewer than two items"
    if np.ptp(human) == 0:
        return "people gave every item the same score"
    if np.ptp(metric) == 0:
        return "the metric gives every item the same score"
    return ""
