"""sacreBLEU's formulas on arrays: the scores of many rows of counts at once.

sacreBLEU scores one row of counts in some ten microseconds, which is nothing for a system and an
hour for the resamples of a large comparison. These are the same formulas over columns; tests hold
them to sacreBLEU's own, row by row.
"""

from __future__ import annotations

import numpy as np

from adequa.segments import FloatArray

_EPS = 1e-16  # sacreBLEU's, in chrF's smoothing


def bleu_scores(
    counts: FloatArray,
    *,
    smooth_method: str,
    smooth_value: float | None,
    effective_order: bool,
) -> FloatArray:
    """BLEU from hypothesis length, reference length, matches and totals for each order.

    >>> row = np.array([[6.0, 6.0, 5.0, 3.0, 2.0, 1.0, 6.0, 5.0, 4.0, 3.0]])
    >>> bleu_scores(row, smooth_method="exp", smooth_value=None, effective_order=False).round(2)
    array([53.73])
    """
    length, reference_length = counts[:, 0], counts[:, 1]
    correct, total = np.hsplit(counts[:, 2:], 2)
    if smooth_method == "add-k":
        added = np.full(correct.shape[1], smooth_value or 0.0)
        added[0] = 0.0
        correct_now, total_now = correct + added, total + added
    else:
        correct_now, total_now = correct, total
    # An order counts if it and all lower ones have n-grams at all.
    there = np.logical_and.accumulate(total_now > 0, axis=1)
    precisions = np.where(there, correct_now, 0.0) / np.where(there, total_now, 1.0)
    missed = there & (correct_now == 0)
    if smooth_method == "exp":
        halves = 0.5 ** np.cumsum(missed, axis=1)
        precisions = np.where(missed, halves / np.where(there, total_now, 1.0), precisions)
    elif smooth_method == "floor":
        smoothed = (smooth_value or 0.0) / np.where(there, total_now, 1.0)
        precisions = np.where(missed, smoothed, precisions)
    orders = np.maximum(there.sum(axis=1), 1) if effective_order else correct.shape[1]
    used = there | (not effective_order)
    positive = precisions > 0
    logarithms = np.log(np.where(positive, precisions, 1.0)) * used
    zero = (used & ~positive).any(axis=1) | ~correct.any(axis=1) | ~there[:, 0]
    scores = 100 * _brevity_penalty(length, reference_length)
    return np.where(zero, 0.0, scores * np.exp(logarithms.sum(axis=1) / orders))


def _brevity_penalty(length: FloatArray, reference_length: FloatArray) -> FloatArray:
    short = (length < reference_length) & (length > 0)
    ratio = np.where(short, reference_length, 1.0) / np.where(short, length, 1.0)
    return np.where((length == 0) & (reference_length > 0), 0.0, np.exp(1 - ratio))


def chrf_scores(counts: FloatArray, *, beta: int, eps_smoothing: bool) -> FloatArray:
    """chrF from the counts of hypothesis, reference and matching n-grams for each order.

    >>> chrf_scores(np.array([[4.0, 4.0, 2.0]]), beta=2, eps_smoothing=False)
    array([50.])
    """
    hypothesis, reference, match = (counts[:, start::3] for start in range(3))
    factor = beta**2
    if eps_smoothing:
        precision = _quotient(match, hypothesis, _EPS)
        recall = _quotient(match, reference, _EPS)
        both = (1 + factor) * precision * recall
        each = _quotient(both, factor * precision + recall, _EPS)
        return np.asarray(100 * _added(each) / each.shape[1])
    there = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(there.sum(axis=1), 1)
    precision = _added(_quotient(match, hypothesis, 0.0) * there) / orders
    recall = _added(_quotient(match, reference, 0.0) * there) / orders
    return 100 * _quotient((1 + factor) * precision * recall, factor * precision + recall, 0.0)


def _added(columns: FloatArray) -> FloatArray:
    """The sum of columns, one after the other as sacreBLEU adds them: the same to the last bit."""
    return np.asarray(np.add.accumulate(columns, axis=1)[:, -1])


def ter_scores(counts: FloatArray) -> FloatArray:
    """TER from edits and reference words, per hundred words.

    >>> ter_scores(np.array([[1.0, 4.0], [2.0, 0.0], [0.0, 0.0]]))
    array([ 25., 100.,   0.])
    """
    edits, words = counts[:, 0], counts[:, 1]
    return 100 * np.where(words > 0, _quotient(edits, words, 0.0), np.where(edits > 0, 1.0, 0.0))


def _quotient(numerator: FloatArray, denominator: FloatArray, otherwise: float) -> FloatArray:
    """The quotient where the denominator is above zero, and something else elsewhere."""
    found = np.full(numerator.shape, otherwise)
    np.divide(numerator, denominator, out=found, where=denominator > 0)
    return found
