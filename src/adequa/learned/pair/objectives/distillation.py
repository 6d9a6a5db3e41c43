"""Distillation: the squared error to what a teacher, a larger metric or several, says of a pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adequa.learned.pair.objectives.ratings import RatingRegression


@dataclass(frozen=True, slots=True, eq=False)
class Distillation(RatingRegression):
    """Every item is one pair with the teacher's score; no one needs to have judged it."""

    name: ClassVar[str] = "distillation"
