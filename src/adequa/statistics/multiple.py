"""Many tests at once: p-values adjusted so that one false find in all of them stays unlikely."""

from __future__ import annotations

import numpy as np

from adequa.errors import AdequaError
from adequa.segments import FloatArray

_MATRIX = 2  # dimensions


def holm(p_values: FloatArray) -> FloatArray:
    """Holm's step-down adjustment, of a list of p-values or of a matrix of one-sided ones.

    In ascending order of m p-values, the i-th (from 0) becomes the largest of (m - j) p_j over
    j <= i, and 1 at most; whoever rejects at adjusted p <= alpha makes one false find or more with
    probability alpha at most (Holm, 1979, A Simple Sequentially Rejective Multiple Test Procedure).
    NaN stays NaN and counts as no test.

    In a matrix, [a, b] tests whether a is better than b. Each pair of metrics is one test of
    whether the two differ at all: its p-value is twice the smaller of the two, because the
    direction is seen only in the data. The adjusted value stands in that direction; the opposite
    entry keeps its own p-value where that is larger. (Significance matrices of the WMT metrics
    tasks take the smaller p-value as it is.)

    >>> holm(np.array([0.01, 0.04, 0.03, np.nan]))
    array([0.03, 0.06, 0.06,  nan])
    >>> holm(np.array([[np.nan, 0.01, 0.02], [0.99, np.nan, 0.4], [0.98, 0.6, np.nan]]))
    array([[ nan, 0.06, 0.08],
           [0.99,  nan, 0.8 ],
           [0.98, 0.8 ,  nan]])
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    _check(p_values)
    if p_values.ndim != _MATRIX:
        return _step_down(p_values)
    pairs = np.triu_indices(len(p_values), k=1)
    adjusted = np.full(p_values.shape, np.nan)
    smaller = np.fmin(p_values[pairs], p_values.T[pairs])
    adjusted[pairs] = _step_down(np.minimum(2 * smaller, 1.0))
    # np.maximum keeps NaN where there was no test in one direction.
    return np.asarray(np.maximum(p_values, np.fmax(adjusted, adjusted.T)))


def _step_down(p_values: FloatArray) -> FloatArray:
    tested = np.flatnonzero(~np.isnan(p_values))
    ascending = tested[np.argsort(p_values[tested], kind="stable")]
    scaled = p_values[ascending] * np.arange(len(tested), 0, -1)
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[ascending] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def _check(p_values: FloatArray) -> None:
    if p_values.ndim == _MATRIX and p_values.shape[0] != p_values.shape[1]:
        raise AdequaError(
            f"A matrix of p-values has a row and a column for every metric, but this one is "
            f"{p_values.shape[0]} by {p_values.shape[1]}."
        )
    outside = p_values[(p_values < 0) | (p_values > 1)]
    if outside.size:
        raise AdequaError(f"A p-value lies between 0 and 1, but one of these is {outside[0]}.")
