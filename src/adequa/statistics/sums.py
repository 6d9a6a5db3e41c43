"""Weighted sums over the last axis, and quotients that are NaN where they are undefined."""

from __future__ import annotations

from functools import reduce
from typing import TypeAlias

import numpy as np

from adequa.segments import FloatArray

# One value a problem: an array over the leading axes, or a float where there are none.
Values: TypeAlias = FloatArray | float


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


def value(values: FloatArray) -> Values:
    """A float where there is one problem only, and the array otherwise.

    >>> value(np.array(0.5))
    0.5
    """
    return values if values.ndim else float(values)
