"""Squared Euclidean distances between feature vectors, by matrix products.

|x - y|² = |x|² + |y|² - 2 x·y. The three terms may be thousands of times as large as the distance
of two near vectors, so that sums in single precision would leave few right digits: features stay
in float32, and products are formed in float64, a block of rows at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.segments import FloatArray

Features: TypeAlias = npt.NDArray[np.float32]  # one row a segment

GIBIBYTE = 1 << 30


def _half_of_memory() -> int:
    """Half of what the machine has; 8 GiB where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 8 * GIBIBYTE


MOST_BYTES = _half_of_memory()
_BLOCK_NUMBERS = 1 << 22  # in a block of rows: 32 MiB as float64
_BLOCK_ROWS = 1 << 11  # so that the distances between two blocks take no more


def squared_distances(features: Features, most_bytes: int = MOST_BYTES) -> FloatArray:
    """Between all rows: symmetric, never negative, and exactly zero on the diagonal.

    >>> squared_distances(np.array([[0, 0], [3, 4]], np.float32))
    array([[ 0., 25.],
           [25.,  0.]])
    """
    rows = len(features)
    check_memory(f"The distances between {rows:,} rows", 8 * rows * rows, most_bytes)
    distances = np.empty((rows, rows))
    for across in row_blocks(features):
        left = features[across].astype(np.float64)
        for down in row_blocks(features):
            if down.start > across.start:
                break
            # The block itself against itself: numpy then forms an exactly symmetric product.
            right = left if down == across else features[down].astype(np.float64)
            distances[across, down] = _between(left, right)
            distances[down, across] = distances[across, down].T
    np.fill_diagonal(distances, 0.0)
    return distances


def squared_distances_to(features: Features, others: Features) -> FloatArray:
    """From each row of the first array to each row of the second; never negative."""
    return _between(features.astype(np.float64), others.astype(np.float64))


def row_blocks(features: Features) -> Iterator[slice]:
    """Slices of rows that in float64 take little memory."""
    rows, dimension = features.shape
    step = max(1, min(_BLOCK_ROWS, _BLOCK_NUMBERS // max(1, dimension)))
    return (slice(first, min(first + step, rows)) for first in range(0, rows, step))


def check_memory(what: str, needed: int, most_bytes: int, advice: str = "") -> None:
    """A sentence with both figures where more memory would be needed than is allowed."""
    if needed > most_bytes:
        raise AdequaError(
            f"{what} would take {needed / GIBIBYTE:.1f} GiB of memory, more than the "
            f"{most_bytes / GIBIBYTE:.1f} GiB allowed; {advice or 'train on fewer rows'}."
        )


def _between(left: FloatArray, right: FloatArray) -> FloatArray:
    distances = left @ right.T
    distances *= -2
    distances += np.einsum("ij,ij->i", left, left)[:, None]
    distances += np.einsum("ij,ij->i", right, right)
    return np.asarray(np.maximum(distances, 0.0, out=distances))
