"""Significance: intervals of proportions, Williams' test, Holm's correction, and ranks from tests.

Wilson, 1927, Probable Inference, the Law of Succession, and Statistical Inference. Zou and Donner,
2008, Construction of confidence limits about effect measures: a general approach (MOVER). Williams,
1959, The Comparison of Regression Variables; recommended for metrics of translation by Graham and
Baldwin, 2014, Testing for Significance of Increased Correlation with Human Judgment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import NormalDist
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from adequa.segments import FloatArray, IntArray

_FEWEST_ITEMS = 4  # items: with three, no degree of freedom is left
_ROUNDING = 1e-12  # what equal correlations may differ by
_MATRIX = 2  # dimensions
BoolArray: TypeAlias = npt.NDArray[np.bool_]


def wilson_intervals(
    hits: IntArray | FloatArray, counts: IntArray | FloatArray, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Where each share of hits lies: low and high. Every count is at least 1.

    Counts are fractional where they are effective ones, as those of `clustered_wilson_interval`.

    >>> low, high = wilson_intervals(np.array([10]), np.array([10]))
    >>> low.round(4), high
    (array([0.7225]), array([1.]))
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p, n = hits / counts, counts
    # The two roots of (p - q)² = z² q (1 - q) / n in q.
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    # Rounding must not leave the share itself outside.
    return np.clip(middle - half, 0, p), np.clip(middle + half, p, 1)


def clustered_wilson_interval(
    hits: BoolArray, clusters: IntArray, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the Wilson interval of the fraction of hits, whose rows come in clusters.

    Rows of a cluster are not independent. The number of rows is therefore divided by the design
    effect: the variance of the fraction by clusters, over that of independent rows (Korn and
    Graubard, 1998, Confidence Intervals for Proportions with Small Expected Number of Positive
    Counts Estimated from Survey Data). Where all or none are hits, the design effect cannot be
    estimated, and each cluster counts as one row. NaN without rows.

    >>> hits = np.array([True, True, False, False, True, True])
    >>> low, high = clustered_wilson_interval(hits, np.arange(6))
    >>> round(low, 3), round(high, 3)
    (0.3, 0.903)
    >>> low, high = clustered_wilson_interval(hits, np.array([0, 0, 1, 1, 2, 2]))
    >>> round(low, 3), round(high, 3)
    (0.18, 0.948)
    """
    if not len(hits):
        return np.nan, np.nan
    rate = float(hits.mean())
    count = np.array([_effective_count(hits, clusters)])
    low, high = wilson_intervals(rate * count, count, confidence)
    return float(low[0]), float(high[0])


def _effective_count(hits: BoolArray, clusters: IntArray) -> float:
    """Return the number of independent rows whose fraction of hits has the same variance."""
    rows, rate = len(hits), float(hits.mean())
    _, codes = np.unique(clusters, return_inverse=True)
    number = int(codes.max()) + 1
    if number == 1 or rate in (0, 1):
        return float(number)
    residuals = np.bincount(codes, weights=hits - rate)
    variance = float(residuals @ residuals) / rows**2 * number / (number - 1)
    independent = rate * (1 - rate) / (rows - 1)
    # Fewer than one row is noise of few clusters, and so is more than there are.
    return min(max(rows * independent / variance, 1.0), rows) if variance else float(rows)


def mean_share_interval(
    hits: IntArray, counts: IntArray, confidence: float = 0.95
) -> tuple[float, float]:
    """Where the plain mean of several independent shares lies, from the intervals of each.

    >>> one = mean_share_interval(np.array([8]), np.array([10]))
    >>> [round(bound, 4) for bound in one]
    [0.4902, 0.9433]
    """
    shares = hits / counts
    low, high = wilson_intervals(hits, counts, confidence)
    mean = float(shares.mean())
    below, above = (np.linalg.norm(bound - shares) / len(shares) for bound in (low, high))
    return max(0.0, mean - float(below)), min(1.0, mean + float(above))


def williams(
    human_first: npt.ArrayLike,
    human_second: npt.ArrayLike,
    first_second: npt.ArrayLike,
    count: npt.ArrayLike,
) -> FloatArray | float:
    """One-sided p-value: how likely the first metric is ahead by so much if it is no better.

    With a = r(human, first), b = r(human, second), c = r(first, second) over n items and
    K = 1 - a² - b² - c² + 2abc,

    t = (a - b) sqrt((n - 1)(1 + c)) / sqrt(2K (n - 1) / (n - 3) + (a + b)² (1 - c)³ / 4)

    follows Student's distribution with n - 3 degrees of freedom. Correlations are Pearson's, of
    metrics turned so that higher is better; arguments broadcast. Metrics that correlate equally
    give .5. NaN with fewer than 4 items, where a correlation is undefined, and where one metric is
    the other turned round (c = -1).

    The example is the one of DEPCOR (Silver, Hittner and May, 2006), whose t is 1.0767.

    >>> round(williams(0.4, 0.3, 0.5, count=100), 4)
    0.1421
    """
    a, b, c, n = np.broadcast_arrays(
        *(
            np.asarray(value, dtype=np.float64)
            for value in (human_first, human_second, first_second, count)
        )
    )
    defined = (n >= _FEWEST_ITEMS) & ~np.isnan(a + b + c) & (c > -1 + _ROUNDING)
    a, b, c, n = (
        np.where(defined, value, other) for value, other in ((a, 0), (b, 0), (c, 0), (n, 4))
    )
    determinant = np.maximum(1 - a**2 - b**2 - c**2 + 2 * a * b * c, 0)
    spread = 2 * determinant * (n - 1) / (n - 3) + (a + b) ** 2 / 4 * np.maximum(1 - c, 0) ** 3
    equal = np.abs(a - b) <= _ROUNDING
    ahead = (a - b) * np.sqrt((n - 1) * (1 + c))
    # Two metrics that are one up to scale have no spread, and no difference either.
    t = np.divide(ahead, np.sqrt(spread), out=np.zeros_like(ahead), where=~equal & (spread > 0))
    p = np.where(defined, stdtr(n - 3, -t), np.nan)
    return p if p.ndim else float(p)


def sign_test(only_a: int, only_b: int) -> float:
    """The two-sided exact p-value of McNemar's test: are 'only A' and 'only B' equally likely?

    >>> round(sign_test(1, 5), 5)  # 2 · (1 + 6) / 2⁶
    0.21875
    """
    from scipy.stats import binomtest  # noqa: PLC0415  # takes longer to load than to run

    if not only_a + only_b:
        return 1.0
    return float(binomtest(only_a, only_a + only_b).pvalue)


def holm(p_values: FloatArray) -> FloatArray:
    """Holm's step-down adjustment, of a list of p-values or of a matrix of one-sided ones.

    In ascending order of m p-values, the i-th (from 0) becomes the largest of (m - j) p_j over
    j <= i, and 1 at most; whoever rejects at adjusted p <= alpha makes one false find or more with
    probability alpha at most (Holm, 1979, A Simple Sequentially Rejective Multiple Test Procedure).
    NaN stays NaN and counts as no test.

    In a matrix, [a, b] tests whether a is better than b. Each pair of metrics is one test of
    whether the two differ at all: its p-value is twice the smaller of the two, because the
    direction is seen only in the data. The adjusted value stands in that direction; the opposite
    entry keeps its own p-value where that is larger. (Significance matrices of the WMT metrics
    tasks take the smaller p-value as it is.)

    >>> holm(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.06, 0.06,  nan])
    >>> holm(np.array([[np.nan, 0.01, 0.02], [0.99, np.nan, 0.4], [0.98, 0.6, np.nan]]))
    array([[ nan, 0.06, 0.08],
           [0.99,  nan, 0.8 ],
           [0.98, 0.8 ,  nan]])
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    if p_values.ndim != _MATRIX:
        return _step_down(p_values)
    pairs = np.triu_indices(len(p_values), k=1)
    adjusted = np.full(p_values.shape, np.nan)
    smaller = np.fmin(p_values[pairs], p_values.T[pairs])
    adjusted[pairs] = _step_down(np.minimum(2 * smaller, 1.0))
    # np.maximum keeps NaN where there was no test in one direction.
    return np.asarray(np.maximum(p_values, np.fmax(adjusted, adjusted.T)))


def _step_down(p_values: FloatArray) -> FloatArray:
    tested = np.flatnonzero(~np.isnan(p_values))
    ascending = tested[np.argsort(p_values[tested], kind="stable")]
    scaled = p_values[ascending] * np.arange(len(tested), 0, -1)
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[ascending] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def ranks(
    statistic: FloatArray, p_values: FloatArray, alpha: float = 0.05, rule: str = "greedy"
) -> IntArray:
    """The rank of each metric, from 1, where those of one rank do not differ significantly.

    `p_values[a, b]` is how likely a's lead over b is by chance; a is significantly better where
    that is at most `alpha`, and NaN never is. Metrics are taken in descending order of `statistic`;
    those without a value (NaN) share the rank after all others. The literature has two rules:

    - `greedy`, of the WMT metrics tasks since 2021 (Freitag et al., 2021, Results of the WMT21
      Metrics Shared Task): a new rank starts at the first metric that any metric of the current
      rank is significantly better than.
    - `separated`, of the WMT translation tasks (Bojar et al., 2013, Findings of the 2013 Workshop
      on Statistical Machine Translation): a new rank starts where everything above is
      significantly better than everything below. It never has more ranks than `greedy`.

    Below, only the first and the last metric differ significantly.

    >>> p = np.array([[np.nan, 0.3, 0.01], [0.7, np.nan, 0.2], [0.99, 0.8, np.nan]])
    >>> ranks(np.array([0.9, 0.8, 0.7]), p)
    array([1, 1, 2])
    >>> ranks(np.array([0.9, 0.8, 0.7]), p, rule="separated")
    array([1, 1, 1])
    """
    statistic = np.asarray(statistic, dtype=np.float64)
    defined = int(np.count_nonzero(~np.isnan(statistic)))
    order = np.argsort(-statistic, kind="stable")  # NaN goes last
    best = order[:defined]
    starts = RULES[rule](p_values[np.ix_(best, best)] <= alpha)
    ranks_of = np.empty(len(statistic), dtype=np.intp)
    ranks_of[best] = np.cumsum(starts) + 1
    ranks_of[order[defined:]] = np.count_nonzero(starts) + (2 if defined else 1)
    return ranks_of


def _greedy(better: BoolArray) -> BoolArray:
    """Where a new rank starts, in a matrix of who is significantly better, best first."""
    starts = np.zeros(len(better), dtype=np.bool_)
    first = 0
    for row in range(len(better)):
        if better[first:row, row].any():
            starts[row] = True
            first = row
    return starts


def _separated(better: BoolArray) -> BoolArray:
    """Where a new rank starts, if everything above has to be better than everything below."""
    return np.array(
        [row > 0 and better[:row, row:].all() for row in range(len(better))], dtype=np.bool_
    )


RULES: Mapping[str, Callable[[BoolArray], BoolArray]] = MappingProxyType(
    {"greedy": _greedy, "separated": _separated}
)
