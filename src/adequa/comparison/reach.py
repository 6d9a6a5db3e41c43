"""What tests could find at best: where few segments differ, no difference is significant.

Of n segments that differ, all are swapped, or none, in 2 of 2^n cases, and both are as extreme as
what was observed: a two-sided p-value is 2^(1 - n) at least, and a one-sided one 2^-n. Holm's
correction of these bounds is a bound of the corrected values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adequa.comparison.results import MetricResult
from adequa.comparison.settings import ComparisonSettings
from adequa.segments import FloatArray
from adequa.statistics.significance import holm


def least_p(differing: Sequence[int], *, sides: int) -> FloatArray:
    """The smallest p-values that tests on so many differing segments can have.

    >>> least_p([0, 1, 5], sides=2), least_p([5], sides=1)
    (array([1.    , 1.    , 0.0625]), array([0.03125]))
    """
    return np.minimum(sides * 0.5 ** np.asarray(differing, dtype=np.float64), 1.0)


def unreachable(
    metrics: Sequence[MetricResult], names: Sequence[str], settings: ComparisonSettings
) -> list[str]:
    """A note for each metric under which pairs of systems differ in too few segments."""
    if settings.like_sacrebleu:
        return []  # what equals the observed difference does not count there
    notes = []
    for metric in metrics:
        counts = [pair.differing for pair in metric.pairs]
        bounds = holm(least_p(counts, sides=2))
        lost = [
            pair
            for pair, bound in zip(metric.pairs, bounds.tolist(), strict=True)
            if pair.differing and bound > settings.alpha
        ]
        if not lost:
            continue
        first = lost[0]
        others = f" ({len(lost) - 1:,} more pairs are alike)" if lost[1:] else ""
        notes.append(
            f"{metric.name} differs between {names[first.first]} and {names[first.second]} in "
            f"{segments(first.differing)}{others}, too few for any result to be significant at "
            f"{settings.alpha:g}."
        )
    return notes


def segments(count: int) -> str:
    """A number of segments in words.

    >>> segments(1), segments(2000)
    ('1 segment', '2,000 segments')
    """
    return f"{count:,} segment{'' if count == 1 else 's'}"
