"""Problems laid out as rows, and the weightings that share their values, as a leading axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from adequa.segments import FloatArray, IntArray

_Array = TypeVar("_Array", FloatArray, IntArray)


@dataclass(frozen=True, slots=True, eq=False)
class Rows(Generic[_Array]):
    """Values as (rows, items), weights as (weightings, rows, items).

    An answer of (weightings, rows) has `shape` in the terms of the caller.
    """

    values: tuple[_Array, ...]
    weights: tuple[FloatArray, ...]
    shape: tuple[int, ...]


def as_rows(values: Sequence[_Array], weights: Sequence[FloatArray]) -> Rows[_Array]:
    """Broadcast all against each other, without copying values for axes that only weights have.

    >>> laid_out = as_rows([np.array([[1.0, 2.0], [3.0, 4.0]])], [np.ones((5, 1, 2))])
    >>> laid_out.values[0].shape, laid_out.weights[0].shape, laid_out.shape
    ((2, 2), (5, 2, 2), (5, 2))
    """
    values = np.broadcast_arrays(*values)
    own = values[0].shape
    shape = np.broadcast_shapes(own, *(side.shape for side in weights))
    while len(own) > 1 and own[0] == 1:
        own = own[1:]
    extra, rows = shape[: len(shape) - len(own)], shape[len(shape) - len(own) :]
    weightings, row_count, items = math.prod(extra), math.prod(rows[:-1]), shape[-1]
    return Rows(
        values=tuple(
            np.broadcast_to(side.reshape(own), rows).reshape(row_count, items) for side in values
        ),
        weights=tuple(
            np.broadcast_to(side, shape).reshape(weightings, row_count, items) for side in weights
        ),
        shape=shape[:-1],
    )
