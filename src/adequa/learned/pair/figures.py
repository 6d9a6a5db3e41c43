"""Development: what a network is watched and chosen by while it is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from adequa.segments import FloatArray, IntArray
from adequa.statistics.correlation import pearson

Figures: TypeAlias = Mapping[str, float]
Scorer: TypeAlias = Callable[[IntArray], FloatArray]

PEARSON, ACCURACY = "pearson", "accuracy"


@dataclass(frozen=True, slots=True, eq=False)
class Development:
    """Held-out ratings and preferences, as numbers of pairs; each may be empty."""

    rated: IntArray
    ratings: FloatArray
    rating_groups: IntArray  # the language pair of each, as a number
    better: IntArray
    worse: IntArray

    def figures(self, scores_of: Scorer) -> Figures:
        """Pearson's correlation, and the share of preferences that are ordered rightly.

        The correlation is the mean over language pairs by their sizes; one that is undefined, as of
        constant scores, counts as 0.
        """
        pairs, at = np.unique(
            np.concatenate([self.rated, self.better, self.worse]), return_inverse=True
        )
        if not len(pairs):
            return {}
        scores = scores_of(pairs)[at]
        rated, better, worse = np.split(scores, np.cumsum([len(self.rated), len(self.better)]))
        found: dict[str, float] = {}
        if len(rated):
            found[PEARSON] = self._pearson(rated)
        if len(better):
            found[ACCURACY] = float(np.mean(better > worse))
        return found

    def _pearson(self, scores: FloatArray) -> float:
        rows = [np.flatnonzero(self.rating_groups == g) for g in np.unique(self.rating_groups)]
        rows = [each for each in rows if len(each) > 1]
        if not rows:
            return 0.0
        found = np.nan_to_num([pearson(self.ratings[each], scores[each]) for each in rows])
        # By their sizes: of two ratings the correlation is 1 or -1, whatever a network has learnt.
        return float(np.average(found, weights=[len(each) for each in rows]))


def criterion(figures: Figures, objectives: tuple[str, ...]) -> float:
    """The figure that a stage with these objectives is chosen by; without any, the latest wins."""
    wanted = (ACCURACY, PEARSON) if objectives == ("preferences",) else (PEARSON, ACCURACY)
    return next((figures[name] for name in wanted if name in figures), 0.0)
