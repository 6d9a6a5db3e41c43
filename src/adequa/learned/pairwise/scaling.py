"""Numbers brought to the range from -1 to 1, feature by feature (Guzmán et al., 2015, §4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from adequa.segments import FloatArray

# By the smallest and the largest number of a feature, or by its mean and its spread.
Scale: TypeAlias = Literal["range", "spread"]

_DEVIATIONS = 4.0  # of the mean that become 1, where numbers are scaled by their spread


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """What becomes 0, and how far from it what becomes 1 lies. Numbers beyond become -1 or 1."""

    centre: FloatArray
    reach: FloatArray

    @classmethod
    def of(cls, features: FloatArray, scale: Scale = "range") -> Scaling:
        """From the features of training data, shape (rows, features).

        A feature that is the same in all rows becomes 0 there.

        >>> Scaling.of(np.array([[1.0, 5.0], [3.0, 5.0]])).apply(np.array([[1.5, 6.0]])).tolist()
        [[-0.5, 1.0]]
        """
        if not len(features):
            return cls(np.zeros(features.shape[1]), np.ones(features.shape[1]))
        if scale == "range":
            low, high = features.min(axis=0), features.max(axis=0)
            centre, reach = (low + high) / 2, (high - low) / 2
        else:
            centre, reach = features.mean(axis=0), _DEVIATIONS * features.std(axis=0)
        return cls(np.asarray(centre, np.float64), np.where(reach > 0, reach, 1.0))

    def apply(self, features: FloatArray) -> FloatArray:
        """The features in the range."""
        return np.asarray(np.clip((features - self.centre) / self.reach, -1.0, 1.0))
