"""Pairs of items in order: inversions, Kendall's tau-b and tau-c, and pairwise accuracy.

All of them count pairs by sorting, in n log n steps. An inversion is a pair of items of which the
earlier has the larger code. Indices are listed in the order of their codes, so that an inversion is
a later index listed before an earlier one. These are counted bit by bit of the index, from the
highest: in a block of indices that agree in all higher bits, each index with bit 0 is listed after
some with bit 1. Then the block is parted, zeros first, and the next bit follows. A bit takes a few
passes over arrays, for many rows and many weightings at once, and the pairs are never listed.
(scipy.stats.kendalltau counts one sequence at a time, unweighted.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from adequa.segments import FloatArray, IntArray
from adequa.statistics.arrays import (
    Ranks,
    Values,
    as_rows,
    ones_unless,
    pick,
    ranked,
    ratio,
    total,
    value,
    weight_by_rank,
)
from adequa.statistics.resampling import Seed, count_chunks

# The places with bit 0, those with bit 1, and how many of these each of the former passed.
Block: TypeAlias = tuple[IntArray, IntArray, IntArray]
_IN_CACHE = 2**18  # numbers handled at once: two megabytes, so that passes read from cache
_COLUMNS = 32  # weightings handled at once, where there are so many: enough to make rows of memory
_LONG = 1500  # items from which compiled code, one list at a time, is faster than all at once


def inversions(codes: IntArray, earlier: FloatArray, later: FloatArray) -> FloatArray:
    """The sum of earlier_i · later_j over all items i before j with code_i > code_j.

    Leading axes broadcast; codes that do not have an axis are sorted once for all weightings
    along it.

    >>> inversions(np.array([2, 0, 1]), np.ones(3), np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 2.0]]))
    array([2., 2.])
    """
    laid_out = as_rows([codes], [earlier, later])
    (places,) = laid_out.values
    weightings = len(laid_out.weights[0])
    counted = np.empty((weightings, len(places)))
    at_once = places.shape[1] * min(weightings, _COLUMNS)
    for rows in count_chunks(len(places), at_once, _IN_CACHE):
        # Parted once for all weightings, where that is not too much to remember.
        listed = weightings > 1 and places[rows].size <= _IN_CACHE
        blocks = list(_blocks(places[rows])) if listed else None
        for part in count_chunks(weightings, places[rows].size, _IN_CACHE):
            columns = (_columns(side[part, rows]) for side in laid_out.weights)
            counted[part, rows] = _inversions(
                _blocks(places[rows]) if blocks is None else blocks, len(places[rows]), *columns
            ).T
    return counted.reshape(laid_out.shape)


def _bits(items: int) -> int:
    """Bits of a place; places are filled up to a power of two, with items that weigh nothing."""
    return (items - 1).bit_length()


def _columns(weights: FloatArray) -> FloatArray:
    """(weightings, rows, items) as one column per weighting, every row filled up."""
    weightings, rows, items = weights.shape
    filled = np.zeros((rows, 1 << _bits(items), weightings))
    filled[:, :items] = np.moveaxis(weights, 0, -1)
    return filled.reshape(-1, weightings)


def _inversions(
    blocks: Iterable[Block], rows: int, earlier: FloatArray, later: FloatArray
) -> FloatArray:
    """Inversions of so many rows under columns of weights: (rows, weightings)."""
    weightings = earlier.shape[1]
    counted = np.zeros((rows, weightings))
    for front, back, crossed in blocks:
        # The weight of the places with bit 1 up to each of them, running on over blocks.
        up_to = np.zeros((back.size + 1, weightings))
        np.cumsum(later[back], axis=0, out=up_to[1:])
        begin = np.arange(0, back.size, crossed.shape[1])
        weight = up_to[crossed + begin[:, None]]
        weight -= up_to[begin][:, None]
        weight = weight.reshape(rows, -1, weightings)
        counted += np.einsum("rib,rib->rb", weight, earlier[front].reshape(weight.shape))
    return counted


def _blocks(codes: IntArray) -> Iterator[Block]:
    """For every bit: the places with bit 0, those with bit 1, and how many of these each passed.

    Both are listed block by block in the order of their codes; the third is (blocks, half a block).
    """
    rows, items = codes.shape
    size = 1 << _bits(items)
    listed = np.empty((rows, size), dtype=np.intp)
    listed[:, :items] = np.argsort(codes, axis=1, kind="stable")
    listed[:, items:] = np.arange(items, size)
    listed += size * np.arange(rows)[:, None]
    for bit in reversed(range(_bits(items))):
        half = 1 << bit
        one = (listed & half).ravel() != 0
        at = np.flatnonzero(~one).reshape(-1, half)
        front, back = listed.ravel()[at], listed.ravel()[one]
        yield front.ravel(), back, at - np.arange(half) - 2 * half * np.arange(len(at))[:, None]
        listed = np.concatenate((front, back.reshape(-1, half)), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Concordance:
    """How human and metric order all pairs of items; one number per problem in each array."""

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

    >>> result = concordance(np.array([1.0, 2.0, 2.0]), np.array([0.3, 0.1, 0.4]))
    >>> [float(n) for n in (result.concordant, result.discordant, result.human_ties, result.pairs)]
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


def pairwise_accuracy(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None
) -> Values:
    """The share of system pairs that the metric orders as people do.

    accuracy = pairs with sign(m_i - m_j) = sign(h_i - h_j) / all pairs. So a pair that both tie is
    right, and one that only one side ties is wrong. A system is not paired with copies of itself:
    in a bootstrap over systems those would be ties that every metric gets right. NaN where there is
    no pair.

    Kocmi et al., 2021, To Ship or Not to Ship: An Extensive Evaluation of Automatic Metrics for
    Machine Translation. They pool the pairs of all language pairs; this is one language pair.

    >>> round(pairwise_accuracy(np.array([0.1, 0.2, 0.3]), np.array([20.0, 31.0, 30.0])), 3)
    0.667
    """
    pairs = concordance(human, metric, weights)
    weights = ones_unless(weights, human.shape[-1])
    copies = (total(weights, weights) - total(weights)) / 2
    return ratio(pairs.concordant + pairs.both_ties - copies, pairs.pairs - copies)


def better_probabilities(scores: FloatArray, resamples: int, seed: Seed) -> FloatArray:
    """p-values of all pairs of systems: entry [i, j] is small where i is better than j.

    Scores are (systems, segments). A paired permutation test swaps the scores of two systems on a
    random half of the segments; p[i, j] is the share of swaps after which i leads j by at least as
    much as it does. A swap changes the lead by twice what i leads on the swapped segments, so that
    p[i, j] is the share of random sets of segments on which the sum of i is at most that of j: one
    matrix product for all pairs of systems. The diagonal is 1.

    Thompson et al., 2024, Improving Statistical Significance in Human Evaluation of Automatic
    Metrics via Soft Pairwise Accuracy.

    >>> scores = np.array([[0.9, 0.8, 0.7, 0.9, 0.8], [0.1, 0.2, 0.1, 0.3, 0.1]])
    >>> better_probabilities(scores, resamples=1000, seed=1).round(1)
    array([[1., 0.],
           [1., 1.]])
    """
    systems, segments = scores.shape
    generator = np.random.default_rng(seed)
    # Sums that differ by rounding only are equal: rounding of the scores themselves, and that of
    # adding them up, which is less without what systems share on a segment.
    represented = np.sqrt(segments) * np.abs(scores).max(initial=0)
    scores = scores - scores.mean(axis=0)
    added = segments * np.abs(scores).max(initial=0)
    rounding = np.finfo(np.float64).eps * (represented + added)
    at_most = np.zeros((systems, systems))
    for part in count_chunks(resamples, segments + systems**2):
        swapped = generator.integers(2, size=(part.stop - part.start, segments), dtype=np.int8)
        sums = swapped.astype(np.float64) @ scores.T
        at_most += (sums[:, :, None] <= sums[:, None, :] + rounding).sum(axis=0)
    return at_most / resamples


def soft_pairwise_accuracy(
    human_probabilities: FloatArray, metric_probabilities: FloatArray
) -> float:
    """The mean over pairs of systems of 1 - |p_human - p_metric|; NaN for one system.

    The p-values come from `better_probabilities`. A metric is right on a pair to the degree that
    it is as sure of the better system as people are. The mean is over both orders of each pair;
    Thompson et al. (2024) take i < j only, which is the same number unless a random half of the
    segments ties two systems, and then depends on the order in which systems are listed.

    >>> human, metric = np.array([[1.0, 0.1], [0.9, 1.0]]), np.array([[1.0, 0.4], [0.6, 1.0]])
    >>> round(soft_pairwise_accuracy(human, metric), 3)
    0.7
    """
    systems = len(human_probabilities)
    off_diagonal = ~np.eye(systems, dtype=bool)
    error = np.abs(human_probabilities - metric_probabilities)[off_diagonal].sum()
    return float(1 - ratio(error, np.float64(systems * (systems - 1))))
