"""Outlier systems, which can carry a correlation all by themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adequa.segments import FloatArray

# The median absolute deviation of a normal distribution is its standard deviation over 1.483.
_SCALE = 1.483
_CUT = 2.5


def outliers(human: FloatArray) -> npt.NDArray[np.bool_]:
    """Which systems' human scores are outliers: |h - median| / (1.483 MAD) > 2.5.

    MAD is the median of |h - median|. The rule and its cut are those of Mathur, Baldwin and Cohn
    (2020), "Tangled up in BLEU" (ACL). Where more than half of the systems have the same score,
    MAD is zero and no system is called an outlier.

    By hand: the median of 1, 2, 3, 4, 20 is 3, the deviations are 2, 1, 0, 1, 17 and their median
    is 1; 17 / 1.483 = 11.5 is above 2.5, 2 / 1.483 = 1.3 is not.

    >>> outliers(np.array([1.0, 2.0, 3.0, 4.0, 20.0]))
    array([False, False, False, False,  True])
    """
    if not len(human):
        return np.zeros(0, dtype=bool)
    deviations = np.abs(human - np.median(human))
    spread = _SCALE * np.median(deviations)
    found: npt.NDArray[np.bool_] = (deviations > _CUT * spread) & (spread > 0)
    return found
