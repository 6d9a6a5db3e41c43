"""Random swaps: which units are swapped in which resample, as bits, and sums over what is swapped.

All that a statistic made of sums needs of a mask m is the sum of m times a column, for each metric;
that is one matrix product for all metrics and resamples, rather than one a pair of metrics.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.segments import FloatArray, IntArray
from adequa.statistics.resampling import Seed, check_resamples, count_chunks

# A row for each unit, eight resamples a byte: 30,000 units by 10,000 resamples are 38 MB.
PackedMasks: TypeAlias = npt.NDArray[np.uint8]

_IN_CACHE = 2**19  # numbers of a mask unpacked at once: 4 MB, so that the product reads from cache


def packed_masks(units: int, resamples: int, seed: Seed) -> PackedMasks:
    """For each unit and resample one random bit: swapped, with probability 1/2, or not.

    >>> packed_masks(3, 1000, seed=1).shape
    (3, 128)
    """
    check_resamples(resamples)
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
