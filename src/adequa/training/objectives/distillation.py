"""Distillation: the squared error to what a teacher, a larger metric or several, says of a pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adequa.segments import FloatArray, IntArray
from adequa.training.objectives.contract import Objective, Task
from adequa.training.objectives.ratings import squared_error


@dataclass(frozen=True, slots=True, eq=False)
class Distillation(Objective):
    """Every item is one pair with the teacher's score; no one needs to have judged it."""

    pairs: IntArray
    targets: FloatArray  # what the teacher says

    name: ClassVar[str] = "distillation"

    def __len__(self) -> int:
        return len(self.pairs)

    def lengths(self, tokens: IntArray) -> IntArray:
        return tokens[self.pairs]

    def task(self, items: IntArray) -> Task:
        return squared_error(self.pairs[items], self.targets[items])
