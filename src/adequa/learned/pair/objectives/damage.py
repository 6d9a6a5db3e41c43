"""Hinge loss on damage: a text should be ahead of its damaged self by a margin.

Which of the two is better is certain, unlike with people's preferences, and by how much is not
known: once a text is ahead by the margin, nothing more is asked, so that the scale of the scores
stays with those who judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from adequa.learned.pair.objectives.preferences import PreferenceOrder, preference_order
from adequa.segments import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class DamageOrder(PreferenceOrder):
    """Texts and their damaged selves, each two an item; the margin is in spreads of the ratings."""

    margin: float = 0.3

    name: ClassVar[str] = "damage"

    def losses(self, leads: Tensor) -> Tensor:
        return (self.margin - leads).clamp(min=0)


def damage_order(whole: IntArray, damaged: IntArray, margin: float) -> DamageOrder:
    """Pairs of texts and of their damaged selves, given by their numbers, one of each an item."""
    order = preference_order(whole, damaged, np.arange(len(whole)))
    return DamageOrder(
        pairs=order.pairs,
        pair_starts=order.pair_starts,
        better=order.better,
        worse=order.worse,
        weights=order.weights,
        starts=order.starts,
        margin=margin,
    )
