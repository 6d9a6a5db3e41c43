"""A metric over many segments, batch by batch, so that progress shows and memory stays small."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adequa.metrics.base import Metric
from adequa.segments import FloatArray, Segments

_BATCH = 256  # segments; small enough that progress shows in slow metrics


def batched_statistics(
    metric: Metric, segments: Segments, scored: Callable[[int], None]
) -> FloatArray:
    """Sufficient statistics of all segments; `scored` is told how many were just scored."""
    size = len(segments) if metric.needs_whole_corpus else _BATCH
    parts = []
    for start in range(0, len(segments), size):
        batch = segments.select(range(start, min(start + size, len(segments))))
        parts.append(metric.checked_statistics(batch))
        scored(len(batch))
    return np.concatenate(parts)
