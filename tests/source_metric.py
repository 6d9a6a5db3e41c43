"""A metric that reads sources alone, for tests of judgements, corpora and services."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from adequa.metrics.base import MeanMetric
from adequa.metrics.registry import Entry
from adequa.segments import FloatArray, Segments

ENTRY = Entry("source_metric:SourceLength", "lengths of hypothesis and source compared")


@dataclass(frozen=True)
class SourceLength(MeanMetric):
    """The smaller length divided by the larger one, of hypothesis and source."""

    name = "source-length"
    higher_is_better = True
    range = (0.0, 1.0)
    reads = MappingProxyType({"source": "required"})

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        assert segments.sources is not None
        lengths = np.array([list(map(len, segments.hypotheses)), list(map(len, segments.sources))])
        return np.asarray(lengths.min(axis=0) / np.maximum(lengths.max(axis=0), 1))
