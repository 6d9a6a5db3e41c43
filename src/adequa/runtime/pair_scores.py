"""The scores of pairs of texts, and in how many windows each was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Pair = tuple[str, str]  # two texts, in the order in which a model reads them
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class PairScores:
    """One score a pair; more than one window where a pair is longer than its model can read."""

    scores: npt.NDArray[np.float64]
    windows: npt.NDArray[np.int32]

    @classmethod
    def empty(cls, count: int) -> PairScores:
        """Room for so many pairs, all zero."""
        return cls(np.zeros(count), np.zeros(count, dtype=np.int32))

    @classmethod
    def joined(cls, parts: Sequence[PairScores]) -> PairScores:
        """The scores of several parts, one after the other."""
        if not parts:
            return cls.empty(0)
        return cls(
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.windows for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.scores)

    def at(self, rows: Rows) -> PairScores:
        """The scores of these pairs."""
        return PairScores(self.scores[rows], self.windows[rows])

    def fill(self, rows: Rows, scored: PairScores) -> None:
        """Write scores into their places."""
        self.scores[rows] = scored.scores
        self.windows[rows] = scored.windows
