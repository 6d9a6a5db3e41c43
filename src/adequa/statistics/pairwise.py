"""Pairwise accuracy of a metric on systems, and its soft form, which weighs how sure each is."""

from __future__ import annotations

import numpy as np

from adequa.segments import FloatArray
from adequa.statistics.kendall import concordance
from adequa.statistics.resampling import Seed, check_resamples, count_chunks
from adequa.statistics.sums import Values, ones_unless, ratio, total


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
    found = concordance(human, metric, weights)
    weights = ones_unless(weights, human.shape[-1])
    copies = (total(weights, weights) - total(weights)) / 2
    return ratio(found.concordant + found.both_ties - copies, found.pairs - copies)


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
    check_resamples(resamples)
    systems, segments = scores.shape
    generator = np.random.default_rng(seed)
    # Sums that rounding cannot tell apart are equal: that of the scores as they come, and that of
    # adding them up, which is less without what systems share on a segment.
    given = np.sqrt(segments) * np.abs(scores).max(initial=0)
    scores = scores - scores.mean(axis=0)
    added = segments * np.abs(scores).max(initial=0)
    rounding = np.finfo(np.float64).eps * (given + added)
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
