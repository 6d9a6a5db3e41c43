"""Scores of a metric that needs no training, for any table."""

from __future__ import annotations

from collections.abc import Callable

from adequa.agreement.evaluate import reference_count, segment_scores
from adequa.agreement.sources import Progress, sources
from adequa.judgements import Preferences, Ratings
from adequa.reproduce.table import Scored


def lexical(metric: str) -> Callable[[Ratings | Preferences, Progress], Scored]:
    """How a metric scores a dataset, by the metric's name and settings."""

    def scored(judgements: Ratings | Preferences, progress: Progress) -> Scored:
        (source,) = found = sources([metric])
        settings = source.signature(reference_count(judgements))
        return Scored(segment_scores(judgements, found, progress)[0], settings)

    return scored
