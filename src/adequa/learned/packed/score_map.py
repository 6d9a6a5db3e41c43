"""From raw scores of a model to scores from 0 to 1 that mean something.

A straight line is drawn through two raw scores, so that differences keep their size: it is 0 at
what a text gets that has nothing to do with the reference, and 1 at what the reference itself gets.
As single texts go beyond either, the line is bent near its ends, without a corner, and scores stay
inside the range; the two raw scores themselves become 0.018 and 0.982. What was more before is more
after, until about half the length of the line beyond its ends: from there on all scores are alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from adequa.segments import FloatArray

BEND = 0.05  # how far from either end of the range the line is bent
EDGE = 1e-6  # scores stay this far inside the range, whatever rounding does


@dataclass(frozen=True, slots=True)
class ScoreMap:
    """A map by the raw scores at which the line, before it is bent, is 0 and 1.

    >>> ScoreMap(unrelated=-2.0, reference=2.0)(np.array([-2.0, -1.0, 0.0, 1.0, 2.0])).round(3)
    array([0.018, 0.25 , 0.5  , 0.75 , 0.982])
    """

    unrelated: float
    reference: float

    def __post_init__(self) -> None:
        width = self.reference - self.unrelated
        if not np.isfinite(width) or width <= 0:
            raise ValueError("the map of scores goes nowhere")

    @classmethod
    def of(cls, table: Mapping[str, float]) -> ScoreMap:
        """From the table of metric.json."""
        return cls(float(table["unrelated"]), float(table["reference"]))

    def __call__(self, raw: FloatArray) -> FloatArray:
        """Scores, all between 0 and 1 and neither of them; all beyond the edges score alike."""
        line = (raw - self.unrelated) / (self.reference - self.unrelated)
        return np.clip(bent(line), EDGE, 1 - EDGE)


def bent(x: FloatArray) -> FloatArray:
    """A number as it is, but near 0 and 1 and beyond them bent, so that it comes to stay between.

    With b for `BEND`: x from b to 1 − b, above that 1 − b + b (1 − exp(−(x − 1 + b) / b)), and
    below b exp((x − b) / b). Values and slopes agree where the parts meet.

    >>> bent(np.array([-1.0, 0.05, 0.3, 0.95, 1.0])).round(4)
    array([0.    , 0.05  , 0.3   , 0.95  , 0.9816])
    """
    above = np.maximum(x - (1 - BEND), 0)
    below = np.minimum(x - BEND, 0)
    ends = np.expm1(below / BEND) - np.expm1(-above / BEND)
    return np.asarray(np.clip(x, BEND, 1 - BEND) + BEND * ends)
