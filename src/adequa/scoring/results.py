"""Results of scoring: metrics by systems, with segments or groups if asked, and column labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from adequa.metrics.base import Metric
from adequa.segments import FloatArray, Signature


@dataclass(frozen=True, slots=True, eq=False)
class SystemResult:
    """One metric's view of one system."""

    name: str
    score: float
    segments: FloatArray | None = None  # one score a segment
    groups: Mapping[str, float] | None = None  # one score a document or other group


@dataclass(frozen=True, slots=True, eq=False)
class MetricResult:
    """One metric's view of every system."""

    name: str
    signature: Signature
    segment_signature: Signature
    higher_is_better: bool
    decimals: int  # places worth showing a person
    systems: tuple[SystemResult, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """All metrics' views of all systems, and what a reader of the numbers should know."""

    metrics: tuple[MetricResult, ...]
    segment_counts: Mapping[str, int]  # by system
    empty_hypotheses: Mapping[str, int]  # by system, where there are any
    grouped_by: str | None = None
    has_segments: bool = False


AMetric = TypeVar("AMetric", bound=Metric)


def labels(metrics: Mapping[str, AMetric]) -> dict[str, str]:
    """The label of each metric, by the words it was asked for with: as short as tells it apart.

    >>> from adequa.metrics.registry import load_metric
    >>> asked = ["chrf", "ter", "chrf:beta=1"]
    >>> list(labels({words: load_metric(words) for words in asked}).values())
    ['chrf', 'ter', 'chrf:beta=1']
    """
    names = [metric.name for metric in metrics.values()]
    return {
        words: metric.name if names.count(metric.name) == 1 else words
        for words, metric in metrics.items()
    }


def labelled(metrics: Mapping[str, AMetric]) -> dict[str, AMetric]:
    """Metrics by their labels, in their order."""
    named = labels(metrics)
    return {named[words]: metric for words, metric in metrics.items()}
