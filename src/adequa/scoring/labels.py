"""The names of metrics as columns show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from adequa.metrics.contract import Metric

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
