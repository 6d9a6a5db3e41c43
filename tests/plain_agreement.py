"""Agreement in plain Python, straight from the published definitions: an oracle and a rival.

Tests take these for the truth, and benchmarks/agreement.py for what our speed is measured against.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from adequa.statistics.permutation import packed_masks, unpacked
from adequa.statistics.resampling import Seed

Numbers = Sequence[float]


def swap_masks(units: int, resamples: int, seed: Seed) -> npt.NDArray[np.bool_]:
    """The masks that the permutation tests draw, a row for each resample: (resamples, units)."""
    by_unit = unpacked(packed_masks(units, resamples, seed), resamples)
    return np.asarray(by_unit.transpose(), dtype=np.bool_)


def pearson(first: Numbers, second: Numbers) -> float:
    """Covariance over the root of the product of variances."""
    first_mean, second_mean = sum(first) / len(first), sum(second) / len(second)
    products = first_squares = second_squares = 0.0
    for x, y in zip(first, second, strict=True):
        dx, dy = x - first_mean, y - second_mean
        products += dx * dy
        first_squares += dx * dx
        second_squares += dy * dy
    return products / math.sqrt(first_squares * second_squares)


def standardised(scores: Numbers) -> list[float]:
    """Scores less their mean, over their standard deviation."""
    mean = sum(scores) / len(scores)
    deviation = math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))
    return [(score - mean) / deviation for score in scores]


def system_means(scores: Numbers, systems: Sequence[int], count: int) -> list[float]:
    """The mean score of each system."""
    totals, rows = [0.0] * count, [0] * count
    for score, system in zip(scores, systems, strict=True):
        totals[system] += score
        rows[system] += 1
    return [total / row for total, row in zip(totals, rows, strict=True)]


def swapped(
    first: Numbers, second: Numbers, mask: Sequence[bool], units: Sequence[int]
) -> tuple[list[float], list[float]]:
    """Two metrics' scores, exchanged in the rows whose unit the mask names."""
    rows = [mask[unit] for unit in units]
    return (
        [b if swap else a for a, b, swap in zip(first, second, rows, strict=True)],
        [a if swap else b for a, b, swap in zip(first, second, rows, strict=True)],
    )


def segment_differences(
    human: Numbers,
    first: Numbers,
    second: Numbers,
    units: Sequence[int],
    masks: Iterable[Sequence[bool]],
) -> list[float]:
    """Differences of Pearson's r over all rows, under each mask (Deutsch, Dror and Roth, 2021)."""
    first, second = standardised(first), standardised(second)
    found = []
    for mask in masks:
        one, other = swapped(first, second, mask, units)
        found.append(pearson(human, one) - pearson(human, other))
    return found


def system_differences(  # noqa: PLR0917 - two sides, how rows group, and the masks
    human_systems: Numbers,
    first: Numbers,
    second: Numbers,
    systems: Sequence[int],
    units: Sequence[int],
    masks: Iterable[Sequence[bool]],
) -> list[float]:
    """The same for Pearson's r over systems, whose scores are the means of their rows."""
    first, second = standardised(first), standardised(second)
    found = []
    for mask in masks:
        one, other = (
            system_means(scores, systems, len(human_systems))
            for scores in swapped(first, second, mask, units)
        )
        found.append(pearson(human_systems, one) - pearson(human_systems, other))
    return found


def p_value(observed: float, resampled: Numbers) -> float:
    """The observed difference among the resampled ones (Phipson and Smyth, 2010)."""
    return (1 + sum(value >= observed - 1e-10 for value in resampled)) / (1 + len(resampled))


def calibrated_accuracy(human: Sequence[Numbers], metric: Sequence[Numbers]) -> tuple[float, float]:
    """The tie threshold with the best pairwise accuracy, and that accuracy.

    Deutsch, Foster and Freitag, 2023, Ties Matter: all pairs of a group (the outputs of one
    segment) are compared; a metric ties a pair whose scores differ by the threshold at most. Pairs
    in ascending order of that difference become ties one after the other: a human tie is then
    right, and a pair in the right order no longer is.
    """
    changes, right, pairs = [], 0, 0
    for people, scores in zip(human, metric, strict=True):
        for (h1, m1), (h2, m2) in combinations(zip(people, scores, strict=True), 2):
            pairs += 1
            concordant = (h1 < h2 and m1 < m2) or (h1 > h2 and m1 > m2)
            right += concordant
            changes.append((abs(m1 - m2), (h1 == h2) - concordant))
    changes.sort()
    best, best_epsilon = -1, 0.0
    if changes and changes[0][0] > 0:
        best = right  # no pair is tied at a threshold of 0
    for position, (difference, change) in enumerate(changes):
        right += change
        last = position + 1 == len(changes) or changes[position + 1][0] > difference
        if last and right > best:
            best, best_epsilon = right, difference
    return best_epsilon, best / pairs
