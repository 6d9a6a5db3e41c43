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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from adequa.segments import FloatArray, IntArray
from adequa.statistics.resampling import (
    LIMIT,
    Seed,
    bootstrap_chunks,
    count_chunks,
)
from adequa.statistics.significance import BoolArray

# One score per row of summed statistics.
Score: TypeAlias = Callable[[FloatArray], FloatArray]
# Told how many resamples are done, and how many there are in all; long work ends where it raises.
Done: TypeAlias = Callable[[int, int], None]

# Differences closer than this share of the scores are one number, computed in another order.
TOLERANCE = 1e-10
_BITS = 32  # that a generator hands out truth values from


def swap_sums(
    columns: FloatArray, swaps: int, seed: Seed, *, limit: int = LIMIT
) -> Iterator[FloatArray]:
    """Sums of columns (k, units) over a random half of the units: chunks of (k, swaps).

    Each unit is in with probability 1/2. The same seed takes the same halves, however many are
    held in memory at once, and those that sacreBLEU takes.

    >>> next(swap_sums(np.array([[1.0, 10.0, 100.0]]), 4, seed=1))
    array([[111., 111.,  11.,  10.]])
    """
    generator = np.random.default_rng(seed)
    units = columns.shape[1]
    # Cut where the bits of a number are used up, so that the cuts change nothing.
    for part in count_chunks(-(-swaps // _BITS), _BITS * max(columns.shape), limit):
        rows = min(_BITS * part.stop, swaps) - _BITS * part.start
        halves = generator.integers(2, size=(rows, units), dtype=np.bool_)
        yield columns @ halves.T.astype(np.float64)


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
    statistics: Sequence[FloatArray],
    scores: Sequence[Score],
    resamples: int,
    seed: Seed,
    *,
    done: Done = lambda *_: None,
) -> list[FloatArray]:
    """The score of every system in every bootstrap resample, (systems, resamples) a metric.

    >>> ones = np.ones((2, 3, 1))
    >>> bootstrap_scores([ones], [lambda sums: sums[:, 0]], resamples=2, seed=1)[0]
    array([[3., 3.],
           [3., 3.]])
    """
    columns = stacked(statistics)
    chunk_scores, finished = [], 0
    for counts in bootstrap_chunks(columns.shape[1], resamples, seed, per_resample=len(columns)):
        sums = unstacked(columns @ counts.T, statistics)
        chunk_scores.append([scored(part, score) for part, score in zip(sums, scores, strict=True)])
        finished += len(counts)
        done(finished, resamples)
    return [np.concatenate(chunks, axis=1) for chunks in zip(*chunk_scores, strict=True)]


def score_scale(statistics: FloatArray, score: Score) -> float:
    """How large scores are that rounding is measured by, from statistics (systems, segments, k).

    That is the score of statistics without their signs: of scores that cancel out, such as centred
    ones, the mean is near zero and the rounding of its sum is not.

    >>> score_scale(np.array([[[3.0], [-3.0]]]), lambda sums: sums[:, 0] / 2)
    3.0
    """
    sizes = np.stack([statistics.sum(axis=1), np.abs(statistics).sum(axis=1)])
    scores = np.abs(score(sizes.reshape(-1, statistics.shape[2])))
    return float(scores[np.isfinite(scores)].max(initial=0.0))


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
        extreme = _as_extreme(beyond, size, near, ties=ties)
        p[a] = _share(extreme.sum(axis=-1), extreme.shape[-1])
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
    done: Done = lambda *_: None,
) -> list[Swapped]:
    """Approximate randomisation between all pairs of systems, for each metric.

    Higher scores are better. Two systems that are equal on every segment have p = 1.

    >>> system = np.arange(6.0).reshape(1, 6, 1)
    >>> result = randomisation([np.concatenate([system + 9, system])],
    ...     [lambda sums: sums[:, 0]], swaps=999, seed=1)[0]
    >>> result.two_sided.round(2), result.leading.round(2)
    (array([[1.  , 0.04],
           [0.04, 1.  ]]), array([[1.  , 0.02],
           [1.  , 1.  ]]))
    """
    tests = [
        _SwapTest.of(each, score, ties=ties) for each, score in zip(statistics, scores, strict=True)
    ]
    finished = 0
    for sums in swap_sums(stacked(statistics), swaps, seed):
        for test, swapped in zip(tests, unstacked(sums, statistics), strict=True):
            for a in range(len(swapped)):
                done(finished, swaps)
                test.add(a, swapped)
        finished += sums.shape[1]
    done(swaps, swaps)
    return [test.result(swaps) for test in tests]


@dataclass(frozen=True, slots=True, eq=False)
class _SwapTest:
    """One metric's test between all pairs of systems, which counts extreme swaps as they come."""

    score: Score
    totals: FloatArray  # (systems, k)
    observed: FloatArray  # scores of the systems
    near: float
    ties: bool
    two_sided: IntArray  # extreme swaps of each pair, so far
    leading: IntArray

    @classmethod
    def of(cls, statistics: FloatArray, score: Score, *, ties: bool) -> _SwapTest:
        """From statistics (systems, segments, k), before any swap."""
        totals, pairs = statistics.sum(axis=1), (len(statistics),) * 2
        near = TOLERANCE * score_scale(statistics, score)
        counts = np.zeros(pairs, np.int64), np.zeros(pairs, np.int64)
        return cls(score, totals, score(totals), near, ties, *counts)

    def add(self, a: int, swapped: FloatArray) -> None:
        """Count swaps of system `a` with those after it, from sums taken (systems, swaps, k)."""
        for b in range(a + 1, len(swapped)):
            moved = swapped[b] - swapped[a]
            differences = self.score(self.totals[a] + moved) - self.score(self.totals[b] - moved)
            lead = self.observed[a] - self.observed[b]
            self.two_sided[a, b] += self._extreme(np.abs(differences), abs(lead))
            self.leading[a, b] += self._extreme(differences, lead)
            self.leading[b, a] += self._extreme(-differences, -lead)

    def result(self, swaps: int) -> Swapped:
        """p-values, when all swaps were counted; nothing is better than itself."""
        two_sided = _share(self.two_sided + self.two_sided.T, swaps)
        leading = _share(self.leading, swaps)
        np.fill_diagonal(two_sided, 1.0)
        np.fill_diagonal(leading, 1.0)
        return Swapped(two_sided, leading)

    def _extreme(self, differences: FloatArray, lead: float) -> int:
        return int(_as_extreme(differences, lead, self.near, ties=self.ties).sum())


def _as_extreme(
    resampled: FloatArray, observed: FloatArray | float, near: float, *, ties: bool
) -> BoolArray:
    """Which resamples are as extreme as what was observed, those without a value among them."""
    return ~(resampled < observed - near) if ties else ~(resampled <= observed)


def _share(extreme: IntArray, resamples: int) -> FloatArray:
    """The share of resamples that are extreme, what was observed being one of them."""
    return np.asarray((1 + extreme) / (1 + resamples))
