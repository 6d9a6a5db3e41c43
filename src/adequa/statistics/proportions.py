"""Intervals of proportions: of one, and of the mean of several.

Wilson, 1927, Probable Inference, the Law of Succession, and Statistical Inference. Zou and Donner,
2008, Construction of confidence limits about effect measures: a general approach (MOVER).
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from adequa.segments import FloatArray, IntArray


def wilson_intervals(
    hits: IntArray, counts: IntArray, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Where each share of hits lies: low and high. Every count is at least 1.

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
