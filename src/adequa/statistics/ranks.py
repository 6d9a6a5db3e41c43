"""Dense ranks of values, and how much weight each group of equal values has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from adequa.segments import FloatArray, IntArray

_Array = TypeVar("_Array", FloatArray, IntArray)


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Items in ascending order, and each item's rank among the distinct values, counted from 0."""

    codes: IntArray
    order: IntArray


def ranked(values: FloatArray | IntArray) -> Ranks:
    """Ranks along the last axis; equal values have equal ranks.

    >>> ranked(np.array([0.5, 0.1, 0.5])).codes
    array([1, 0, 1])
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    steps = np.zeros(order.shape, dtype=np.intp)
    np.cumsum(ordered[..., 1:] != ordered[..., :-1], axis=-1, out=steps[..., 1:])
    codes = np.empty_like(steps)
    np.put_along_axis(codes, order, steps, axis=-1)
    return Ranks(codes, order)


def weight_by_rank(ranks: Ranks, weights: FloatArray) -> FloatArray:
    """The weight of each group of equal values, by dense rank, along the last axis.

    Many weightings of the same values share their order. Ranks that do not occur weigh nothing.

    >>> weight_by_rank(ranked(np.array([0.5, 0.1, 0.5])), np.array([[1.0, 1.0, 1.0], [2.0, 0, 1]]))
    array([[1., 2.],
           [0., 3.]])
    """
    if ranks.codes.ndim == 1:
        ordered = ranks.codes[ranks.order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        return np.asarray(np.add.reduceat(weights[..., ranks.order], starts, axis=-1))
    codes, weights = np.broadcast_arrays(ranks.codes, weights)
    items = codes.shape[-1]
    rows = codes.size // items
    cells = codes.reshape(rows, items) + items * np.arange(rows)[:, None]
    weighed = np.bincount(cells.ravel(), weights.ravel(), minlength=codes.size)
    return np.asarray(weighed, dtype=np.float64).reshape(codes.shape)


def pick(values: _Array, index: IntArray) -> _Array:
    """values[index] along the last axis; leading axes broadcast against each other.

    >>> pick(np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([1, 0, 1]))
    array([[0.2, 0.1, 0.2],
           [0.4, 0.3, 0.4]])
    """
    if index.ndim == 1:
        return values[..., index]
    leading: tuple[int, ...] = np.broadcast_shapes(values.shape[:-1], index.shape[:-1])
    values = np.broadcast_to(values, (*leading, values.shape[-1]))
    return np.take_along_axis(values, np.broadcast_to(index, (*leading, index.shape[-1])), axis=-1)
