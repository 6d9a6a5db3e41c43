"""Ratings from preferences: how similar a hypothesis is to its reference, from wins and losses.

ReVal (Gupta et al., 2015) turns the rankings of WMT13 into similarities from 1 to 5. Its own way
needs the ranks within each ranking, which preferences no longer have. Here a hypothesis with w wins
and l losses among its comparisons has a similarity y by one of two formulas:

    share      y = 1 + 4 w / (w + l)
    smoothed   y = 1 + 4 (w + 1) / (w + l + 2)

The second is nearer to the middle, the fewer the comparisons are: a hypothesis that won once has
3.67 and not 5.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings
from adequa.metrics.registry import check_choice
from adequa.runtime.batches import distinct
from adequa.segments import FloatArray, Segments

Formula: TypeAlias = Literal["share", "smoothed"]

LOWEST, HIGHEST = 1.0, 5.0  # similarity


def similarity(wins: FloatArray, losses: FloatArray, formula: Formula) -> FloatArray:
    """Similarities from 1 to 5.

    >>> similarity(np.array([1.0, 6.0]), np.array([0.0, 2.0]), "smoothed").round(2)
    array([3.67, 3.8 ])
    """
    check_choice("formula", formula, get_args(Formula))
    added = 1.0 if formula == "smoothed" else 0.0
    share = (wins + added) / (wins + losses + 2 * added)
    return np.asarray(LOWEST + (HIGHEST - LOWEST) * share)


def rated_preferences(preferences: Preferences, formula: Formula, fewest: int = 1) -> Ratings:
    """One rating for each different hypothesis of a reference, in the order of appearance.

    Systems with the same output count as one. Preferences between equal texts say nothing, and
    hypotheses with fewer than so many comparisons are left out.
    """
    told = preferences.without_identical()
    if told.better is None or told.worse is None:
        raise AdequaError(
            f"There are no texts in {preferences.name or 'these preferences'}; a metric learns from"
            ' preferences with the columns "better", "worse" and "ref".'
        )
    if not len(told):
        raise AdequaError("There are no preferences between different texts to learn from.")
    pairs = told.ids.get("lp", ("",) * len(told))
    outputs, at = distinct(
        [
            *zip(told.better.hypotheses, told.better.references, pairs, strict=True),
            *zip(told.worse.hypotheses, told.worse.references, pairs, strict=True),
        ]
    )
    won, lost = np.split(at, 2)
    wins, losses = (np.bincount(side, minlength=len(outputs)).astype(float) for side in (won, lost))
    told_enough = np.flatnonzero(wins + losses >= fewest)
    if not len(told_enough):
        raise AdequaError(
            f"No output in {preferences.name or 'these preferences'} was compared {fewest} times; "
            "ask for fewer comparisons."
        )
    hypotheses, references, of_pair = zip(*(outputs[row] for row in told_enough), strict=True)
    return Ratings(
        scores=similarity(wins, losses, formula)[told_enough],
        ids={"lp": of_pair} if "lp" in told.ids else {},
        segments=Segments(hypotheses, references),
        name=preferences.name,
    )
