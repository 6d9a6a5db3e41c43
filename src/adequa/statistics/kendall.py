"""Kendall's tau-b and tau-c, from pairs counted by sorting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adequa.segments import FloatArray
from adequa.statistics.inversions import inversions
from adequa.statistics.ranks import Ranks, pick, ranked, weight_by_rank
from adequa.statistics.sums import Values, ones_unless, ratio, total, value

_LONG = 1500  # items from which compiled code, one list at a time, is faster than all at once


@dataclass(frozen=True, slots=True, eq=False)
class Concordance:
    """How human and metric order all pairs of items; one number a problem in each array."""

    concordant: FloatArray  # ordered the same way
    discordant: FloatArray  # ordered the other way
    human_ties: FloatArray  # tied by people only
    metric_ties: FloatArray  # tied by the metric only
    both_ties: FloatArray

    @property
    def pairs(self) -> FloatArray:
        """All pairs of items."""
        ordered = self.concordant + self.discordant
        return np.asarray(ordered + self.human_ties + self.metric_ties + self.both_ties)


def concordance(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None
) -> Concordance:
    """Count pairs of items by how human and metric order them, in n log n steps.

    An item of weight w is w items, which tie with each other on both sides. Discordant pairs are
    the inversions of the metric's ranks in human order (Knight, 1966, A Computer Method for
    Calculating Kendall's Tau with Ungrouped Data).

    >>> found = concordance(np.array([1.0, 2.0, 2.0]), np.array([0.3, 0.1, 0.4]))
    >>> [float(n) for n in (found.concordant, found.discordant, found.human_ties, found.pairs)]
    [1.0, 1.0, 1.0, 3.0]
    """
    weights = ones_unless(weights, human.shape[-1])
    if not human.shape[-1]:
        nothing = np.zeros(np.broadcast(human, metric, weights).shape[:-1])
        return Concordance(nothing, nothing, nothing, nothing, nothing)
    human_ranks, metric_ranks = ranked(human), ranked(metric)
    joint = ranked(human_ranks.codes * human.shape[-1] + metric_ranks.codes)
    human_ties = _tied_pairs(human_ranks, weights)
    metric_ties = _tied_pairs(metric_ranks, weights)
    both_ties = _tied_pairs(joint, weights)
    discordant = _discordant(metric_ranks, joint, weights)
    count = total(weights)
    ordered = count * (count - 1) / 2 - human_ties - metric_ties + both_ties
    return Concordance(
        concordant=ordered - discordant,
        discordant=discordant,
        human_ties=human_ties - both_ties,
        metric_ties=metric_ties - both_ties,
        both_ties=both_ties,
    )


def kendall_b(human: FloatArray, metric: FloatArray, weights: FloatArray | None = None) -> Values:
    """Kendall's tau-b: concordant less discordant pairs, with a correction for ties on each side.

    tau-b = (C - D) / sqrt((C + D + H) (C + D + M)), where H are the pairs tied by people only and
    M those tied by the metric only. NaN where one side is constant.

    Kendall, 1945, The Treatment of Ties in Ranking Problems.

    >>> round(kendall_b(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3, 0.3])), 3)
    0.8
    """
    if weights is None and human.shape[-1] >= _LONG:
        return _one_by_one(human, metric, "b")
    pairs = concordance(human, metric, weights)
    ordered = pairs.concordant + pairs.discordant
    # The two roots apart: a root of the product would overflow first.
    spread = np.sqrt(ordered + pairs.human_ties) * np.sqrt(ordered + pairs.metric_ties)
    tau = ratio(pairs.concordant - pairs.discordant, spread)
    return value(np.clip(np.asarray(tau), -1, 1))


def kendall_c(human: FloatArray, metric: FloatArray, weights: FloatArray | None = None) -> Values:
    """Kendall's tau-c, which can reach 1 where the two sides have different numbers of values.

    tau-c = 2 (C - D) / (n^2 (k - 1) / k), where n is the number of items and k the smaller of the
    numbers of distinct values on the two sides. NaN where one side is constant.

    Stuart, 1953, The Estimation and Comparison of Strengths of Association in Contingency Tables.

    >>> round(kendall_c(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.1, 0.2, 0.3, 0.4])), 3)
    1.0
    """
    if weights is None and human.shape[-1] >= _LONG:
        return _one_by_one(human, metric, "c")
    pairs = concordance(human, metric, weights)
    weights = ones_unless(weights, human.shape[-1])
    values = np.minimum(_distinct(human, weights), _distinct(metric, weights))
    most = total(weights) ** 2 * (values - 1) / np.maximum(values, 1)
    return ratio(2 * (pairs.concordant - pairs.discordant), np.maximum(most, 0))


def _one_by_one(human: FloatArray, metric: FloatArray, variant: str) -> Values:
    """scipy's tau of long lists without weights: compiled, one list after the other."""
    from scipy import stats  # noqa: PLC0415  # takes a while to import

    human, metric = np.broadcast_arrays(human, metric)
    lists = zip(*(side.reshape(-1, side.shape[-1]) for side in (human, metric)), strict=True)
    taus = [stats.kendalltau(h, m, variant=variant, method="asymptotic")[0] for h, m in lists]
    return value(np.array(taus, dtype=np.float64).reshape(human.shape[:-1]))


def _distinct(values: FloatArray, weights: FloatArray) -> FloatArray:
    """How many different values the items of positive weight have."""
    if not values.shape[-1]:
        return np.zeros(np.broadcast(values, weights).shape[:-1])
    present = weight_by_rank(ranked(values), weights) > 0
    return np.asarray(present.sum(axis=-1), dtype=np.float64)


def _tied_pairs(ranks: Ranks, weights: FloatArray) -> FloatArray:
    group = weight_by_rank(ranks, weights)
    return np.asarray((total(group, group) - total(group)) / 2)


def _discordant(metric: Ranks, joint: Ranks, weights: FloatArray) -> FloatArray:
    """Inversions of the metric's ranks, items standing in the order of both sides' ranks."""
    codes = pick(metric.codes, joint.order)
    ordered = pick(weights, joint.order)
    return inversions(codes, ordered, ordered)
