"""Paired tests between systems: is one better than another on these segments by chance?

Systems are rows of sufficient statistics that add up, (systems, segments, k), and a score is a
function of sums of rows; so a resample is a sum, and all resamples of all systems are one product
of matrices. Two tests are known by these names in machine translation:

- the paired bootstrap draws segments with replacement (Koehn, 2004, Statistical Significance Tests
  for Machine Translation Evaluation);
- approximate randomisation swaps the outputs of two systems on a random half of the segments
  (Riezler and Maxwell, 2005, On Some Pitfalls in Automatic Evaluation and Significance Testing for
  MT), after Noreen (1989).

With the same seed, both draw what sacreBLEU draws. They count resamples as extreme that equal what
was observed, which keeps tests honest (Phipson and Smyth, 2010, Permutation P-values Should Never
Be Zero): where one segment of thousands differs, every swap equals what was observed, and p is 1.
sacreBLEU does not count them, and its p is then 0.0001; with `ties=False`, p-values are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from adequa.segments import FloatArray
from adequa.statistics.clusters import BoolArray
from adequa.statistics.resampling import (
    LIMIT,
    Seed,
    bootstrap_sums,
    check_resamples,
    count_chunks,
)

# One score a row of summed statistics.
Score: TypeAlias = Callable[[FloatArray], FloatArray]

# Differences closer than this share of the scores are one number, computed in another order.
TOLERANCE = 1e-10
_BITS = 32  # that a generator hands out truth values from


def swap_sums(columns: FloatArray, swaps: int, seed: Seed, *, limit: int = LIMIT) -> FloatArray:
    """Sums of columns (k, units) over a random half of the units: (k, swaps).

    Each unit is in with probability 1/2. The same seed takes the same halves, however many are
    held in memory at once, and those that sacreBLEU takes.

    >>> swap_sums(np.array([[1.0, 10.0, 100.0]]), 4, seed=1)
    array([[111., 111.,  11.,  10.]])
    """
    check_resamples(swaps)
    generator = np.random.default_rng(seed)
    units = columns.shape[1]
    sums = np.empty((len(columns), swaps))
    # Cut where the bits of a number are used up, so that the cuts change nothing.
    for part in count_chunks(-(-swaps // _BITS), _BITS * units, limit):
        taken = slice(_BITS * part.start, min(_BITS * part.stop, swaps))
        rows = taken.stop - taken.start
        halves = generator.integers(2, size=(rows, units), dtype=np.bool_)
        sums[:, taken] = columns @ halves.T.astype(np.float64)
    return sums


def stacked(statistics: Sequence[FloatArray]) -> FloatArray:
    """Statistics of several metrics, (systems, segments, k) each, as columns of one matrix.

    >>> stacked([np.zeros((2, 5, 3)), np.zeros((2, 5, 1))]).shape
    (8, 5)
    """
    return np.concatenate(
        [each.transpose(0, 2, 1).reshape(-1, each.shape[1]) for each in statistics]
    )


def unstacked(sums: FloatArray, statistics: Sequence[FloatArray]) -> list[FloatArray]:
    """Sums of such columns, (columns, resamples), as (systems, resamples, k) of each metric."""
    parts, start = [], 0
    for systems, _, width in (each.shape for each in statistics):
        part = sums[start : start + systems * width].reshape(systems, width, -1)
        parts.append(part.transpose(0, 2, 1))
        start += systems * width
    return parts


def scored(sums: FloatArray, score: Score) -> FloatArray:
    """Scores (systems, resamples) of sums (systems, resamples, k)."""
    systems, resamples, width = sums.shape
    return score(np.ascontiguousarray(sums).reshape(-1, width)).reshape(systems, resamples)


def bootstrap_scores(
    statistics: Sequence[FloatArray], scores: Sequence[Score], resamples: int, seed: Seed
) -> list[FloatArray]:
    """The score of every system in every bootstrap resample, (systems, resamples) a metric.

    >>> ones = np.ones((2, 3, 1))
    >>> bootstrap_scores([ones], [lambda sums: sums[:, 0]], resamples=2, seed=1)[0]
    array([[3., 3.],
           [3., 3.]])
    """
    sums = unstacked(bootstrap_sums(stacked(statistics), resamples, seed), statistics)
    return [scored(part, score) for part, score in zip(sums, scores, strict=True)]


def score_scale(statistics: FloatArray, score: Score) -> float:
    """How large scores are that rounding is measured by, from statistics (systems, segments, k).

    That is the score of statistics without their signs: of scores that cancel out, such as centred
    ones, the mean is near zero and the rounding of its sum is not.

    >>> score_scale(np.array([[[3.0], [-3.0]]]), lambda sums: sums[:, 0] / 2)
    3.0
    """
    sizes = np.stack([statistics.sum(axis=1), np.abs(statistics).sum(axis=1)])
    found = np.abs(score(sizes.reshape(-1, statistics.shape[2])))
    return float(found[np.isfinite(found)].max(initial=0.0))


def bootstrap_p_values(
    observed: FloatArray, resampled: FloatArray, *, scale: float | None = None, ties: bool = True
) -> FloatArray:
    """The p-value of each pair of systems by the paired bootstrap, as Moses and sacreBLEU have it.

    `observed` are scores of systems, `resampled` those of (systems, resamples). A resample is as
    extreme if the size of its difference is above the mean of these sizes by the size of the
    observed difference, up to the rounding of numbers as large as `scale`. Where differences keep
    their sign, that looks at one side only: under the null this p-value is below 0.05 in more than
    a tenth of the cases.

    >>> bootstrap_p_values(np.array([1.0, 0.0]), np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    near = TOLERANCE * (float(np.abs(observed).max(initial=0)) if scale is None else scale)
    p = np.ones((len(observed), len(observed)))
    for a in range(len(observed)):
        sizes = np.abs(resampled[a] - resampled)
        beyond = sizes - sizes.mean(axis=1, keepdims=True)
        size = np.abs(observed[a] - observed)[:, np.newaxis]
        p[a] = _share(_as_extreme(beyond, size, near, ties=ties))
    np.fill_diagonal(p, 1.0)
    return p


@dataclass(frozen=True, slots=True, eq=False)
class Swapped:
    """p-values of approximate randomisation for each pair of systems.

    p = (1 + resamples as extreme as what was observed) / (1 + resamples). A resample without a
    score counts as extreme, so that a test never gains from it.
    """

    two_sided: FloatArray  # how likely so large a difference is by chance, either way
    leading: FloatArray  # [a, b]: how likely is it that a leads b by so much


def randomisation(
    statistics: Sequence[FloatArray],
    scores: Sequence[Score],
    swaps: int,
    seed: Seed,
    *,
    ties: bool = True,
) -> list[Swapped]:
    """Approximate randomisation between all pairs of systems, for each metric.

    Higher scores are better. Two systems that are equal on every segment have p = 1.

    >>> system = np.arange(6.0).reshape(1, 6, 1)
    >>> found = randomisation([np.concatenate([system + 9, system])],
    ...     [lambda sums: sums[:, 0]], swaps=999, seed=1)[0]
    >>> found.two_sided.round(2), found.leading.round(2)
    (array([[1.  , 0.04],
           [0.04, 1.  ]]), array([[1.  , 0.02],
           [1.  , 1.  ]]))
    """
    taken = unstacked(swap_sums(stacked(statistics), swaps, seed), statistics)
    return [
        _swapped(each, part, score, ties=ties)
        for each, part, score in zip(statistics, taken, scores, strict=True)
    ]


def _swapped(statistics: FloatArray, taken: FloatArray, score: Score, *, ties: bool) -> Swapped:
    """From statistics (systems, segments, k) and sums taken of them (systems, swaps, k)."""
    systems, totals = len(statistics), statistics.sum(axis=1)
    observed = score(totals)
    near = TOLERANCE * score_scale(statistics, score)
    two_sided, leading = np.ones((systems, systems)), np.ones((systems, systems))

    def share(differences: FloatArray, lead: float) -> FloatArray:
        return _share(_as_extreme(differences, lead, near, ties=ties))

    for a in range(systems):
        for b in range(a + 1, systems):
            moved = taken[b] - taken[a]
            differences = score(totals[a] + moved) - score(totals[b] - moved)
            lead = observed[a] - observed[b]
            two_sided[a, b] = two_sided[b, a] = share(np.abs(differences), abs(lead))
            leading[a, b] = share(differences, lead)
            leading[b, a] = share(-differences, -lead)
    return Swapped(two_sided, leading)


def _as_extreme(
    resampled: FloatArray, observed: FloatArray | float, near: float, *, ties: bool
) -> BoolArray:
    """Which resamples are as extreme as what was observed, those without a value among them."""
    return ~(resampled < observed - near) if ties else ~(resampled <= observed)


def _share(extreme: BoolArray) -> FloatArray:
    """The share of resamples that are extreme, what was observed being one of them."""
    return np.asarray((1 + extreme.sum(axis=-1)) / (1 + extreme.shape[-1]))
