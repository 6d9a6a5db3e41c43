"""Williams' test: does one metric correlate better with people than another on the same items?

Williams, 1959, The Comparison of Regression Variables; recommended for metrics of translation by
Graham and Baldwin, 2014, Testing for Significance of Increased Correlation with Human Judgment.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from adequa.segments import FloatArray

_LEAST = 4  # items: with three, no degree of freedom is left
_ROUNDING = 1e-12  # what equal correlations may differ by


def williams(
    human_first: npt.ArrayLike,
    human_second: npt.ArrayLike,
    first_second: npt.ArrayLike,
    count: npt.ArrayLike,
) -> FloatArray | float:
    """One-sided p-value: how likely the first metric is ahead by so much if it is no better.

    With a = r(human, first), b = r(human, second), c = r(first, second) over n items and
    K = 1 - a² - b² - c² + 2abc,

    t = (a - b) sqrt((n - 1)(1 + c)) / sqrt(2K (n - 1) / (n - 3) + (a + b)² (1 - c)³ / 4)

    follows Student's distribution with n - 3 degrees of freedom. Correlations are Pearson's, of
    metrics turned so that higher is better; arguments broadcast. Metrics that correlate equally
    give .5. NaN with fewer than 4 items, where a correlation is undefined, and where one metric is
    the other turned round (c = -1).

    The example is the one of DEPCOR (Silver, Hittner and May, 2006), whose t is 1.0767.

    >>> round(williams(0.4, 0.3, 0.5, count=100), 4)
    0.1421
    """
    a, b, c, n = np.broadcast_arrays(
        *(
            np.asarray(value, dtype=np.float64)
            for value in (human_first, human_second, first_second, count)
        )
    )
    known = (n >= _LEAST) & ~np.isnan(a + b + c) & (c > -1 + _ROUNDING)
    a, b, c, n = (
        np.where(known, value, other) for value, other in ((a, 0), (b, 0), (c, 0), (n, 4))
    )
    determinant = np.maximum(1 - a**2 - b**2 - c**2 + 2 * a * b * c, 0)
    spread = 2 * determinant * (n - 1) / (n - 3) + (a + b) ** 2 / 4 * np.maximum(1 - c, 0) ** 3
    equal = np.abs(a - b) <= _ROUNDING
    ahead = (a - b) * np.sqrt((n - 1) * (1 + c))
    # Two metrics that are one up to scale have no spread, and no difference either.
    t = np.divide(ahead, np.sqrt(spread), out=np.zeros_like(ahead), where=~equal & (spread > 0))
    p = np.where(known, stdtr(n - 3, -t), np.nan)
    return p if p.ndim else float(p)
