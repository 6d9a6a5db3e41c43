"""Arrays that all statistics share: weighted sums, dense ranks, rows of problems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from adequa.segments import FloatArray, IntArray

# One value per problem: an array over the leading axes, or a float where there are none.
Values: TypeAlias = FloatArray | float
_Array = TypeVar("_Array", FloatArray, IntArray)


def ones_unless(weights: FloatArray | None, items: int) -> FloatArray:
    """The weights, or that each of so many items counts once."""
    return np.ones(items) if weights is None else np.asarray(weights, dtype=np.float64)


def total(*factors: FloatArray) -> FloatArray:
    """The sum over the last axis of a product of arrays that broadcast against each other.

    Small factors are multiplied first, so that the largest is read once and never copied: the
    weights of a thousand resamples against one list of scores are one matrix product.

    >>> total(np.array([[1.0, 1.0], [2.0, 0.0]]), np.array([3.0, 4.0]))
    array([7., 6.])
    """
    *small, largest = sorted(factors, key=np.size)
    if not small:
        return np.asarray(largest.sum(axis=-1))
    product = reduce(np.multiply, small)
    if product.ndim == 1:
        return np.asarray(largest @ product)
    return np.asarray(np.einsum("...n,...n->...", largest, product))


def ratio(numerator: FloatArray, denominator: FloatArray) -> Values:
    """The quotient, NaN where the denominator is zero, and a float where there is one only.

    >>> ratio(np.array([1.0, 1.0]), np.array([2.0, 0.0]))
    array([0.5, nan])
    """
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    quotient = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return value(quotient)


def scaled(values: FloatArray) -> FloatArray:
    """Brought to at most 1 by a power of two, which is exact, so that no square overflows."""
    exponent = np.frexp(np.abs(values).max(axis=-1, keepdims=True))[1]
    return np.asarray(np.ldexp(values, -exponent))


def value(values: FloatArray) -> Values:
    """A float where there is one problem only, and the array otherwise.

    >>> value(np.array(0.5))
    0.5
    """
    return values if values.ndim else float(values)


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


@dataclass(frozen=True, slots=True, eq=False)
class BatchedRows(Generic[_Array]):
    """Values as (rows, items), weights as (weightings, rows, items).

    An answer of (weightings, rows) has `shape` in the terms of the caller.
    """

    values: tuple[_Array, ...]
    weights: tuple[FloatArray, ...]
    shape: tuple[int, ...]


def as_rows(values: Sequence[_Array], weights: Sequence[FloatArray]) -> BatchedRows[_Array]:
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
    return BatchedRows(
        values=tuple(
            np.broadcast_to(side.reshape(own), rows).reshape(row_count, items) for side in values
        ),
        weights=tuple(
            np.broadcast_to(side, shape).reshape(weightings, row_count, items) for side in weights
        ),
        shape=shape[:-1],
    )
