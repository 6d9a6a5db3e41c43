"""What scoring found, ready to be shown: metrics by systems, with segments or groups if asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
