"""Regression on ratings: the squared error of the score, as in the BERT regressor (§3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from adequa.learned.device import to_device
from adequa.learned.pair.objectives.contract import Objective, Task
from adequa.segments import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class RatingRegression(Objective):
    """Every item is one pair with the number that people gave it."""

    pairs: IntArray
    targets: FloatArray

    name: ClassVar[str] = "ratings"

    def __len__(self) -> int:
        return len(self.pairs)

    def lengths(self, tokens: IntArray) -> IntArray:
        return tokens[self.pairs]

    def task(self, items: IntArray) -> Task:
        targets = self.targets[items].astype(np.float32)

        def loss(scores: Tensor) -> Tensor:
            return (scores - to_device(targets, scores.device)).square().sum()

        return Task(self.pairs[items], loss, float(len(items)))
