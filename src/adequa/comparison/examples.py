"""Segments worth a look: those on which systems differ most, and on which metrics disagree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adequa.comparison.results import MetricResult
from adequa.comparison.tested import gains_of
from adequa.segments import FloatArray


class Disagreement(NamedTuple):
    """A segment on which one metric prefers the second system, and another one the first."""

    row: int
    for_second: str  # the metric with the largest gain, in standard deviations
    for_first: str  # the one with the largest loss
    size: float  # the smaller of the two, in standard deviations of its metric's gains


def largest_gains(metric: MetricResult, first: int, second: int, count: int) -> list[int]:
    """Segments on which the second system gains most over the first, the largest gain first.

    With the two exchanged: those on which it loses most. Segments without a gain do not count.
    """
    if metric.segments is None:
        return []
    gains = gains_of(metric.sign * metric.segments, first, second)
    order = np.argsort(-gains, kind="stable")[:count]
    return [int(row) for row in order if gains[row] > 0]


def disagreements(
    metrics: Sequence[MetricResult], first: int, second: int, count: int
) -> list[Disagreement]:
    """Segments on which two metrics disagree most about the two systems."""
    known = [metric for metric in metrics if metric.segments is not None]
    if len(known) < 2:  # noqa: PLR2004 - it takes two
        return []
    gains = np.stack([_standardised(metric, first, second) for metric in known])
    most, least = gains.argmax(axis=0), gains.argmin(axis=0)
    size = np.minimum(gains.max(axis=0), -gains.min(axis=0))
    order = np.argsort(-size, kind="stable")[:count]
    return [
        Disagreement(int(row), known[most[row]].name, known[least[row]].name, float(size[row]))
        for row in order
        if size[row] > 0
    ]


def _standardised(metric: MetricResult, first: int, second: int) -> FloatArray:
    """Gains over their standard deviation about zero."""
    if metric.segments is None:
        raise ValueError("a metric without segment scores has no gains")
    gains = gains_of(metric.sign * metric.segments, first, second)
    spread = float(np.sqrt(np.square(gains).mean()))
    return gains / spread if spread else gains
