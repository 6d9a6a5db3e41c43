"""Permutation tests: is one metric's agreement with people better than another's by chance?

If two metrics were equally good it would not matter which of them gave which score. So their
standardised scores are swapped at random, many times, and the difference of their agreement is
compared with the differences that swapping makes. What is swapped as a whole has a name: segments
(PERM-INPUTS), systems (PERM-SYS) or single outputs (PERM-BOTH).

Deutsch, Dror and Roth, 2021, A Statistical Analysis of Summarization Evaluation Metrics using
Resampling Methods (TACL).

The masks that say what is swapped are drawn once and serve every pair of metrics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.segments import FloatArray, IntArray
from adequa.statistics.arrays import ratio, scaled
from adequa.statistics.resampling import LIMIT, Seed, count_chunks

Statistic: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray | float]
TOLERANCE = 1e-10  # differences closer than this are one number, computed in another order
# A row for each unit, eight resamples a byte: 30,000 units by 10,000 resamples are 38 MB.
PackedMasks: TypeAlias = npt.NDArray[np.uint8]
_IN_CACHE = 2**19  # numbers of a mask unpacked at once: 4 MB, so that the product reads from cache


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Statistic of metric a minus that of metric b, as observed and under random swapping.

    `resampled[a, b]` is -`resampled[b, a]`: every pair is swapped by the same masks.
    """

    observed: FloatArray  # (metrics, metrics)
    resampled: FloatArray  # (metrics, metrics, resamples)


def swap_units(
    method: str, segment_codes: IntArray | None, system_codes: IntArray | None, rows: int
) -> IntArray:
    """The unit that each row is swapped with: its segment, its system, or itself.

    >>> swap_units("inputs", np.array([7, 7, 3]), None, rows=3)
    array([1, 1, 0])
    >>> swap_units("both", None, None, rows=3)
    array([0, 1, 2])
    """
    if method == "both":
        return np.arange(rows)
    kind = "segment" if method == "inputs" else "system"
    codes = segment_codes if method == "inputs" else system_codes
    if codes is None or len(codes) != rows:
        raise AdequaError(
            f'The permutation test "{method}" swaps whole {kind}s, but the judgements do not say '
            f"the {kind} of every row."
        )
    dense: IntArray = np.unique(codes, return_inverse=True)[1]
    return dense


def standardised(metrics: FloatArray) -> FloatArray:
    """Scores less their mean, over their standard deviation, row by row; constant rows are zero.

    >>> standardised(np.array([[1.0, 3.0], [5.0, 5.0]]))
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    metrics = np.asarray(metrics, dtype=np.float64)
    if not metrics.shape[-1]:
        return metrics
    metrics = scaled(metrics)
    varies = np.ptp(metrics, axis=-1, keepdims=True) > 0
    centred = np.where(varies, metrics - metrics.mean(axis=-1, keepdims=True), 0.0)
    deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True))
    return np.asarray(centred / np.where(varies, deviation, 1.0))


def pearson_differences(
    human: FloatArray, metrics: FloatArray, units: IntArray, resamples: int, seed: Seed
) -> Differences:
    """Differences of Pearson's r over all rows, for all pairs of the metrics (metrics, rows).

    r = sum(x h) / sqrt(sum(h²) (sum(x²) - sum(x)² / n)) with h standardised; under swapping, each
    of the three sums over x changes by the masked sum of the other metric less that of its own.

    >>> human = np.array([1.0, 2.0, 3.0, 4.0])
    >>> metrics = np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]])
    >>> result = pearson_differences(human, metrics, np.arange(4), resamples=999, seed=1)
    >>> float(result.observed[0, 1])
    2.0
    """
    people, scores = standardised(human), standardised(metrics)
    spread, rows = np.square(people).sum(), len(people)

    def correlation(sums: FloatArray) -> FloatArray:
        total, squares, products = sums
        variation = squares - total**2 / max(rows, 1)
        # Standardised scores vary by 1 a row: what is left below this is rounding.
        defined = (variation > TOLERANCE * rows) & (spread > 0)
        return np.asarray(
            ratio(products, np.where(defined, np.sqrt(spread * np.abs(variation)), 0))
        )

    columns = np.stack([scores, np.square(scores), scores * people])
    return _sum_differences(sum_by_unit(columns, units), correlation, resamples, seed)


def ratio_differences(
    numerators: FloatArray, denominators: FloatArray, resamples: int, seed: Seed
) -> Differences:
    """Differences of sum(numerators) / sum(denominators), both (metrics, units).

    Such are averages over segments and the taus of WMT (concordant less discordant, over all that
    count); a unit's two parts are swapped together. One that does not count is 0 in both.

    >>> hits, counted = np.array([[3.0, 1.0], [0.0, 1.0]]), np.array([[4.0, 4.0], [4.0, 4.0]])
    >>> float(ratio_differences(hits, counted, resamples=9, seed=1).observed[0, 1])
    0.375
    """

    def quotient(sums: FloatArray) -> FloatArray:
        return np.asarray(ratio(*sums))

    return _sum_differences(np.stack([numerators, denominators]), quotient, resamples, seed)


def system_differences(  # noqa: PLR0917 - two sides, how rows group, and how to resample
    human_systems: FloatArray,
    metrics: FloatArray,
    system_codes: IntArray,
    units: IntArray,
    statistic: Statistic,
    resamples: int,
    seed: Seed,
) -> Differences:
    """Differences of a system-level statistic; a system's score is the mean of its rows.

    `system_codes` are positions in `human_systems`; `statistic(human, metric)` takes arrays whose
    last axis runs over systems.

    >>> def first_minus_second(human, metric):
    ...     return metric[..., 0] - metric[..., 1]
    >>> metrics = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    >>> result = system_differences(np.array([1.0, 0.0]), metrics, np.array([0, 0, 1, 1]),
    ...     np.arange(4), first_minus_second, resamples=9, seed=1)
    >>> float(result.observed[0, 1])
    2.0
    """
    counts = np.bincount(system_codes, minlength=len(human_systems)).astype(np.float64)
    scores, packed = standardised(metrics), packed_masks(unit_count(units), resamples, seed)
    totals, masked = [], []
    for system in range(len(counts)):
        rows = system_codes == system
        # A system's sums need the masks of its own units only.
        own, dense = np.unique(units[rows], return_inverse=True)
        columns = sum_by_unit(scores[:, rows], dense)
        totals.append(columns.sum(axis=-1))
        masked.append(masked_sums(columns, packed[own], resamples))

    def system_statistic(sums: FloatArray) -> FloatArray:
        return np.asarray(statistic(human_systems, np.moveaxis(sums, 0, -1) / counts))

    return _swapped(np.stack(totals), np.stack(masked), system_statistic)


def general_differences(  # noqa: PLR0917 - two sides, how rows group, and how to resample
    human: FloatArray,
    metrics: FloatArray,
    units: IntArray,
    statistic: Statistic,
    resamples: int,
    seed: Seed,
) -> Differences:
    """Differences of any statistic of rows: the swapped scores themselves, chunk by chunk.

    For Spearman, Kendall and others that are no function of sums. A statistic with a threshold
    sees standardised scores.

    >>> human, metrics = np.array([1.0, 2.0]), np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> def rises(human, metric):
    ...     return 1.0 * (metric[..., 1] > metric[..., 0])
    >>> result = general_differences(human, metrics, np.arange(2), rises, resamples=9, seed=1)
    >>> float(result.observed[0, 1])
    1.0
    """
    scores, packed = standardised(metrics), packed_masks(unit_count(units), resamples, seed)
    resampled = np.zeros((len(scores), len(scores), resamples))
    pairs = list(zip(*np.triu_indices(len(scores), k=1), strict=True))
    for part in count_chunks(
        -(-resamples // 8), 8 * len(human), LIMIT
    ):  # in bytes of eight resamples
        columns = slice(8 * part.start, min(8 * part.stop, resamples))
        swapped = unpacked(packed[:, part], columns.stop - columns.start).astype(np.bool_)
        mask = np.ascontiguousarray(swapped[units].T)
        for a, b in pairs:
            first = statistic(human, np.where(mask, scores[b], scores[a]))
            second = statistic(human, np.where(mask, scores[a], scores[b]))
            resampled[a, b, columns] = np.asarray(first) - np.asarray(second)
    resampled -= resampled.transpose(1, 0, 2)
    return Differences(_against_each_other(np.asarray(statistic(human, scores))), resampled)


def p_values(differences: Differences) -> FloatArray:
    """How likely a difference so large in favour of a is by chance, for each [a, b].

    p = (1 + #{resampled >= observed}) / (1 + resamples), one-sided. Counting the observed
    difference itself keeps p from zero, which no finite number of resamples can show (Phipson and
    Smyth, 2010, Permutation P-values Should Never Be Zero); Deutsch, Dror and Roth, and the WMT
    metrics tasks, divide the plain counts, which is less by about 1 / resamples. A resample whose
    statistic is undefined counts as large, so that a test never gains from it. The diagonal, and
    pairs whose observed difference is undefined, are NaN.

    >>> result = Differences(np.array([[0.0, 0.4], [-0.4, 0.0]]),
    ...     np.array([[[0.0] * 3, [0.5, 0.1, -0.2]], [[-0.5, -0.1, 0.2], [0.0] * 3]]))
    >>> p_values(result)
    array([[ nan, 0.5 ],
           [0.75,  nan]])
    """
    observed = differences.observed[..., np.newaxis]
    smaller = differences.resampled < observed - TOLERANCE
    resamples = differences.resampled.shape[-1]
    p = (1 + resamples - smaller.sum(axis=-1)) / (1 + resamples)
    p[np.isnan(differences.observed)] = np.nan
    np.fill_diagonal(p, np.nan)
    return np.asarray(p)


def average(parts: Sequence[Differences], weights: FloatArray) -> Differences:
    """The differences of a weighted mean over language pairs, each with masks of its own.

    Give each language pair its own seed, such as `[seed, position]`.

    >>> one = Differences(np.array([[0.0]]), np.array([[[0.0, 1.0]]]))
    >>> two = Differences(np.array([[1.0]]), np.array([[[1.0, 3.0]]]))
    >>> average([one, two], np.ones(2)).resampled
    array([[[0.5, 2. ]]])
    """
    # Added up one by one: a stack of them would be as large as all parts together.
    weighted = list(zip(weights / weights.sum(), parts, strict=True))
    return Differences(
        reduce(np.add, (weight * part.observed for weight, part in weighted)),
        reduce(np.add, (weight * part.resampled for weight, part in weighted)),
    )


def _sum_differences(
    columns: FloatArray,
    statistic: Callable[[FloatArray], FloatArray],
    resamples: int,
    seed: Seed,
) -> Differences:
    """Differences of a statistic of sums over units; columns are (sums, metrics, units)."""
    sums, metrics, units = columns.shape
    packed = packed_masks(units, resamples, seed)
    masked = masked_sums(columns.reshape(sums * metrics, units), packed, resamples)
    return _swapped(columns.sum(axis=-1), masked.reshape(sums, metrics, resamples), statistic)


def _swapped(
    totals: FloatArray, masked: FloatArray, statistic: Callable[[FloatArray], FloatArray]
) -> Differences:
    """From sums (sums, metrics) and masked sums (sums, metrics, resamples) to all pairs."""
    _, metrics, resamples = masked.shape
    resampled = np.zeros((metrics, metrics, resamples))
    totals = totals[..., np.newaxis]
    for a in range(metrics - 1):
        # What metric a gains by swapping, each of the later ones loses.
        moved = masked[:, a + 1 :] - masked[:, a : a + 1]
        later = statistic(totals[:, a : a + 1] + moved) - statistic(totals[:, a + 1 :] - moved)
        resampled[a, a + 1 :] = later
        resampled[a + 1 :, a] = -later
    return Differences(_against_each_other(statistic(totals[..., 0])), resampled)


def _against_each_other(values: FloatArray) -> FloatArray:
    return np.asarray(values[:, np.newaxis] - values[np.newaxis, :])


def packed_masks(units: int, resamples: int, seed: Seed) -> PackedMasks:
    """For each unit and resample one random bit: swapped, with probability 1/2, or not.

    >>> packed_masks(3, 1000, seed=1).shape
    (3, 128)
    """
    words = -(-resamples // 64)
    bits = np.random.default_rng(seed).integers(2**64, size=(units, words), dtype=np.uint64)
    return bits.view(np.uint8)


def unpacked(packed: PackedMasks, resamples: int) -> npt.NDArray[np.uint8]:
    """The first so many resamples of masks as zeros and ones: (units, resamples).

    >>> unpacked(np.array([[0b10100000]], dtype=np.uint8), 4)
    array([[1, 0, 1, 0]], dtype=uint8)
    """
    return np.unpackbits(packed, axis=1, count=resamples)


def masked_sums(columns: FloatArray, packed: PackedMasks, resamples: int) -> FloatArray:
    """The sum of each column (columns, units) over the units swapped: (columns, resamples).

    >>> masked_sums(np.array([[1.0, 2.0]]), np.array([[0b01], [0b11]], dtype=np.uint8) << 6, 2)
    array([[2., 3.]])
    """
    sums = np.zeros((len(columns), resamples))
    for part in count_chunks(len(packed), resamples, _IN_CACHE):
        sums += columns[:, part] @ unpacked(packed[part], resamples).astype(np.float64)
    return sums


def sum_by_unit(columns: FloatArray, units: IntArray) -> FloatArray:
    """Rows (..., rows) added up by unit: (..., units).

    >>> sum_by_unit(np.array([[1.0, 2.0, 4.0]]), np.array([0, 1, 0]))
    array([[5., 2.]])
    """
    *leading, rows = columns.shape
    sums = np.empty((math.prod(leading), unit_count(units)))
    for position, column in enumerate(columns.reshape(len(sums), rows)):
        sums[position] = np.bincount(units, weights=column, minlength=sums.shape[1])
    return sums.reshape(*leading, sums.shape[1])


def unit_count(units: IntArray) -> int:
    """How many units these codes count, from 0.

    >>> unit_count(np.array([0, 2, 1, 2]))
    3
    """
    return int(units.max(initial=-1)) + 1
