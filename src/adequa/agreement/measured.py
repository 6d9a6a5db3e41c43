"""One column of the table: every metric's agreement on one language pair, with its resamples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol as TypingProtocol

import numpy as np

from adequa.agreement.protocol import Protocol
from adequa.segments import FloatArray
from adequa.statistics.permutation import Differences


class Statistic(TypingProtocol):
    """Agreement of one metric, batched over leading axes."""

    def __call__(
        self, human: FloatArray, metric: FloatArray, weights: FloatArray | None = None, /
    ) -> FloatArray | float: ...


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """K metrics on one language pair: statistics, bootstrap resamples, permutation differences."""

    name: str
    items: int  # ratings, preferences or systems
    values: FloatArray  # (K,)
    samples: FloatArray  # (K, R); no columns where nothing was resampled
    differences: Differences | None = None
    p_values: FloatArray | None = None  # (K, K), of a test that needs no resampling
    thresholds: FloatArray | None = None  # (K,), below which a metric's scores tie
    reasons: tuple[str, ...] = ()  # (K,), why a value is undefined, if it is
    notes: tuple[str, ...] = ()


def mean_where_defined(values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The weighted mean over the last axis of the values that are not NaN; NaN where none is.

    >>> float(mean_where_defined(np.array([0.5, np.nan, 0.25])))
    0.375
    """
    defined = np.isfinite(values)
    counted = defined * (1.0 if weights is None else weights)
    total = np.sum(counted, axis=-1)
    summed = np.sum(np.where(defined, values, 0.0) * counted, axis=-1)
    mean: FloatArray = np.divide(
        summed, total, out=np.full(np.shape(total), np.nan), where=total > 0
    )[()]
    return mean


def left_out(name: str, of_group: FloatArray, protocol: Protocol) -> tuple[str, ...]:
    """A note on the groups, (K, groups), whose values are undefined and do not count."""
    counts = (~np.isfinite(of_group)).sum(axis=1).tolist()
    if not any(counts):
        return ()
    fewest, most = min(counts), max(counts)
    shown = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}, by metric,"
    return (
        f"{name}: {shown} of {of_group.shape[1]:,} {protocol.average}s are left out of the "
        f"average, because {protocol.statistic} is undefined within them.",
    )
