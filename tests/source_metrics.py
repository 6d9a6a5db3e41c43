"""Metrics that read sources, for tests: none that ships reads them yet.

`LengthRatio` needs sources and no references, `Either` reads either or both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from adequa.metrics.base import MeanMetric
from adequa.metrics.registry import METRICS, Entry
from adequa.segments import FloatArray, Segments


@dataclass(frozen=True)
class LengthRatio(MeanMetric):
    """Length of the shorter of source and hypothesis over that of the longer."""

    name, higher_is_better, range = "length-ratio", True, (0.0, 1.0)
    reads = {"source": "required"}  # noqa: RUF012

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        return np.array(list(map(length_ratio, segments.hypotheses, segments.sources or ())))


@dataclass(frozen=True)
class Either(MeanMetric):
    """Mean length ratio of the hypothesis to its source and to its first reference, if given."""

    name, higher_is_better, range = "either", True, (0.0, 1.0)
    reads = {"reference": "optional", "source": "optional"}  # noqa: RUF012

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        others = [] if segments.sources is None else [segments.sources]
        if segments.has_references:
            others.append(tuple(texts[0] for texts in segments.references))
        ratios = [list(map(length_ratio, segments.hypotheses, texts)) for texts in others]
        return np.asarray(np.mean(ratios, axis=0))


@dataclass(frozen=True)
class Both(MeanMetric):
    """Mean length ratio of the hypothesis to its source and to its first reference."""

    name, higher_is_better, range = "both", True, (0.0, 1.0)
    reads = {"reference": "required", "source": "required"}  # noqa: RUF012
    compute_segment_scores = Either.compute_segment_scores


def length_ratio(text: str, other: str) -> float:
    """The length of the shorter of two texts over that of the longer."""
    shorter, longer = sorted([len(text), len(other)])
    return shorter / longer if longer else 1.0


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give these metrics names on the command line, for one test."""
    for metric in (LengthRatio, Either, Both):
        entry = Entry(f"{__name__}:{metric.__name__}", "lengths", reads=metric.reads)
        monkeypatch.setitem(METRICS, metric.name, entry)
