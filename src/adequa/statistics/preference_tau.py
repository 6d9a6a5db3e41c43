"""Kendall's tau on preferences, as WMT defined it over the years.

People preferred one of two translations; a metric agrees (concordant), disagrees
(discordant) or gives both the same score (a tie). The years differ in what a metric's tie is worth.
Pairs that people tied are in none of them. WMT wrote each year as a table of what a pair adds to
the numerator and the denominator (Macháček and Bojar, 2014, Results of the WMT14 Metrics Shared
Task), and so does `PREFERENCE_TAUS`.

Preferences come as margins, metric(better) - metric(worse), of a metric for which higher is better.
"""

from __future__ import annotations

import numpy as np

from adequa.segments import FloatArray, IntArray
from adequa.statistics.arrays import Values, ones_unless, ratio, total

# What a concordant pair, a metric's tie and a discordant pair add to numerator and denominator.
PREFERENCE_TAUS = {
    # The strict tau of WMT11 and WMT12, (C - D - T) / (C + D + T): a metric's tie counts against it
    # (Callison-Burch et al., 2012, Findings of the 2012 Workshop on Statistical Machine
    # Translation; equation 5 of Guzmán et al., 2015, Pairwise Neural Machine Translation
    # Evaluation).
    "tau-wmt12": ((1, -1, -1), (1, 1, 1)),
    # WMT13, (C - D) / (C + D): ties are left out, so that tying the hard pairs is rewarded
    # (Macháček and Bojar, 2013, Results of the WMT13 Metrics Shared Task).
    "tau-wmt13": ((1, 0, -1), (1, 0, 1)),
    # WMT14 to WMT16, (C - D) / (C + D + T): a tie is half right (Macháček and Bojar, 2014).
    "tau-wmt14": ((1, 0, -1), (1, 1, 1)),
    # WMT17 to WMT20, (C - D) / (C + D) with T counted in D: the number of tau-wmt12, on pairs of
    # ratings a good distance apart in place of people's rankings (Bojar, Graham and Kamran, 2017,
    # Results of the WMT17 Metrics Shared Task; Ma, Bojar and Graham, 2018, Results of the WMT18
    # Metrics Shared Task).
    "tau-darr": ((1, -1, -1), (1, 1, 1)),
}


def tau(name: str, margins: FloatArray, weights: FloatArray | None = None) -> Values:
    """The sum of numerators over the sum of denominators; NaN where the latter is zero.

    >>> margins = np.array([0.3, 0.1, 0.0, -0.2])
    >>> [round(tau(name, margins), 3) for name in PREFERENCE_TAUS]
    [0.0, 0.333, 0.25, 0.0]
    """
    weights = ones_unless(weights, margins.shape[-1])
    numerators, denominators = contributions(name, margins)
    return ratio(total(weights, numerators), total(weights, denominators))


def contributions(name: str, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What every preference adds to the numerator and the denominator.

    The tau of any resample of preferences is a ratio of sums of these.

    >>> contributions("tau-wmt13", np.array([0.3, 0.0, -0.2]))
    (array([ 1.,  0., -1.]), array([1., 0., 1.]))
    """
    outcome = 1 - np.sign(margins).astype(np.intp)  # 0 concordant, 1 tie, 2 discordant
    numerator, denominator = np.array(PREFERENCE_TAUS[name], dtype=np.float64)
    return numerator[outcome], denominator[outcome]


def preferences_from_ratings(
    scores: FloatArray, groups: IntArray, min_difference: float
) -> tuple[IntArray, IntArray]:
    """Better and worse rows: pairs of one group whose scores are at least so far apart (DARR).

    A group is a segment, as an integer code. WMT17 to WMT20 took 25 raw points of 100. Equal
    scores are no preference, even where the least difference is 0.

    >>> preferences_from_ratings(np.array([70.0, 20.0, 90.0, 50.0]), np.array([0, 0, 1, 0]), 25.0)
    (array([0, 3]), array([1, 1]))
    """
    rows = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(groups[rows], return_index=True, return_counts=True)
    index = np.arange(len(rows))
    # A row is paired with the rows of its group that come after it.
    after = np.repeat(starts + sizes, sizes) - index - 1
    one = np.repeat(index, after)
    other = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(after) - after, after)
    one, other = rows[one], rows[other]
    difference = scores[one] - scores[other]
    apart = (np.abs(difference) >= min_difference) & (difference != 0)
    first = difference[apart] > 0
    return np.where(first, one[apart], other[apart]), np.where(first, other[apart], one[apart])
