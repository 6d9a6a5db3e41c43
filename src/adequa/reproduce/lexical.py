"""Scores of a metric that needs no training, for any table of judged segments."""

from __future__ import annotations

from adequa.agreement.evaluate import reference_count, segment_scores
from adequa.agreement.sources import sources
from adequa.errors import AdequaError
from adequa.judgements import Judgements, RatedSystems
from adequa.metrics.base import Metric
from adequa.progress import Progress
from adequa.reproduce.table import Scored, Scores


def lexical(metric: str) -> Scores:
    """How a metric scores a dataset, by the metric's name and settings."""
    return segments_by(metric)


def segments_by(metric: str | Metric) -> Scores:
    """How a metric scores a dataset segment by segment."""

    def scored(judgements: Judgements, progress: Progress) -> Scored:
        if isinstance(judgements, RatedSystems):
            raise AdequaError(f"{judgements.ratings.name} has no judgements of segments.")
        (source,) = found = sources([metric])
        settings = source.signature(reference_count(judgements))
        return Scored(segment_scores(judgements, found, progress)[0], settings)

    return scored
