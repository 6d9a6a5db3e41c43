"""Why a statistic has no value, in words, and the check that keeps NaN out of the rest."""

from __future__ import annotations

import numpy as np

from adequa.errors import AdequaError
from adequa.segments import LARGEST_SCORE, FloatArray


def check_finite(name: str, values: FloatArray) -> None:
    """Raise a sentence where values are not all finite numbers of a sensible size.

    >>> check_finite("chrf", np.array([1.0, np.nan]))
    Traceback (most recent call last):
    adequa.errors.AdequaError: chrf: score 2 of 2 is nan; scores must be numbers, of at most 1e+100.
    """
    usable = np.abs(values) <= LARGEST_SCORE  # and not NaN
    if not usable.all():
        flat = np.ravel(values)
        row = int(np.flatnonzero(~np.ravel(usable))[0])
        raise AdequaError(
            f"{name}: score {row + 1} of {flat.size} is {flat[row]:g}; scores must be numbers, of "
            f"at most {LARGEST_SCORE:g}."
        )


def why(human: FloatArray, metric: FloatArray) -> str:
    """Why a correlation of these is NaN; empty where it is not.

    >>> why(np.array([1.0, 2.0]), np.array([3.0, 3.0]))
    'the metric gives every item the same score'
    """
    if human.size < 2:  # noqa: PLR2004 - a correlation needs two points
        return "there are fewer than two items"
    if np.ptp(human) == 0:
        return "people gave every item the same score"
    if np.ptp(metric) == 0:
        return "the metric gives every item the same score"
    return ""
