"""Weighted inversions of integer sequences, for many rows and many weightings at once.

An inversion is a pair of items of which the earlier has the larger code. Places are listed in the
order of their codes, so that an inversion is a later place listed before an earlier one. These are
counted bit by bit of the place, from the highest: in a block of places that agree in all higher
bits, each place with bit 0 is listed after some with bit 1. Then the block is parted, zeros first,
and the next bit follows. A bit takes a few passes over arrays, so that n items take n log n steps,
and the pairs are never listed. (scipy.stats.kendalltau counts one sequence at a time, unweighted.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from adequa.segments import FloatArray, IntArray
from adequa.statistics.resampling import count_chunks
from adequa.statistics.rows import as_rows

# The places with bit 0, those with bit 1, and how many of these each of the former passed.
Block: TypeAlias = tuple[IntArray, IntArray, IntArray]

_IN_CACHE = 2**18  # numbers handled at once: two megabytes, so that passes read from cache
_COLUMNS = 32  # weightings handled at once, where there are so many: enough to make rows of memory


def inversions(codes: IntArray, earlier: FloatArray, later: FloatArray) -> FloatArray:
    """The sum of earlier_i · later_j over all items i before j with code_i > code_j.

    Leading axes broadcast; codes that do not have an axis are sorted once for all weightings
    along it.

    >>> inversions(np.array([2, 0, 1]), np.ones(3), np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 2.0]]))
    array([2., 2.])
    """
    laid_out = as_rows([codes], [earlier, later])
    (places,) = laid_out.values
    weightings = len(laid_out.weights[0])
    counted = np.empty((weightings, len(places)))
    at_once = places.shape[1] * min(weightings, _COLUMNS)
    for rows in count_chunks(len(places), at_once, _IN_CACHE):
        # Parted once for all weightings, where that is not too much to remember.
        listed = weightings > 1 and places[rows].size <= _IN_CACHE
        blocks = list(_blocks(places[rows])) if listed else None
        for part in count_chunks(weightings, places[rows].size, _IN_CACHE):
            columns = (_columns(side[part, rows]) for side in laid_out.weights)
            counted[part, rows] = _inversions(
                _blocks(places[rows]) if blocks is None else blocks, len(places[rows]), *columns
            ).T
    return counted.reshape(laid_out.shape)


def _bits(items: int) -> int:
    """Bits of a place; places are filled up to a power of two, with items that weigh nothing."""
    return (items - 1).bit_length()


def _columns(weights: FloatArray) -> FloatArray:
    """(weightings, rows, items) as one column a weighting, every row filled up."""
    weightings, rows, items = weights.shape
    filled = np.zeros((rows, 1 << _bits(items), weightings))
    filled[:, :items] = np.moveaxis(weights, 0, -1)
    return filled.reshape(-1, weightings)


def _inversions(
    blocks: Iterable[Block], rows: int, earlier: FloatArray, later: FloatArray
) -> FloatArray:
    """Inversions of so many rows under columns of weights: (rows, weightings)."""
    weightings = earlier.shape[1]
    counted = np.zeros((rows, weightings))
    for front, back, passed in blocks:
        # The weight of the places with bit 1 up to each of them, running on over blocks.
        up_to = np.zeros((back.size + 1, weightings))
        np.cumsum(later[back], axis=0, out=up_to[1:])
        begin = np.arange(0, back.size, passed.shape[1])
        weight = up_to[passed + begin[:, None]]
        weight -= up_to[begin][:, None]
        weight = weight.reshape(rows, -1, weightings)
        counted += np.einsum("rib,rib->rb", weight, earlier[front].reshape(weight.shape))
    return counted


def _blocks(codes: IntArray) -> Iterator[Block]:
    """For every bit: the places with bit 0, those with bit 1, and how many of these each passed.

    Both are listed block by block in the order of their codes; the third is (blocks, half a block).
    """
    rows, items = codes.shape
    size = 1 << _bits(items)
    listed = np.empty((rows, size), dtype=np.intp)
    listed[:, :items] = np.argsort(codes, axis=1, kind="stable")
    listed[:, items:] = np.arange(items, size)
    listed += size * np.arange(rows)[:, None]
    for bit in reversed(range(_bits(items))):
        half = 1 << bit
        one = (listed & half).ravel() != 0
        at = np.flatnonzero(~one).reshape(-1, half)
        front, back = listed.ravel()[at], listed.ravel()[one]
        yield front.ravel(), back, at - np.arange(half) - 2 * half * np.arange(len(at))[:, None]
        listed = np.concatenate((front, back.reshape(-1, half)), axis=1)
