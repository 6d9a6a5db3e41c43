"""What the shell offers when a user presses Tab."""

from __future__ import annotations


def complete_metric(incomplete: str) -> list[tuple[str, str]]:
    """Metric names that begin as typed, with their summaries."""
    from adequa.metrics.registry import METRICS

    return [(name, entry.summary) for name, entry in METRICS.items() if name.startswith(incomplete)]


def complete_encoder(incomplete: str) -> list[tuple[str, str]]:
    """Kinds of encoders that begin as typed, with their summaries."""
    from adequa.encoders.registry import ENCODERS

    return [
        (f"{kind}:", entry.summary)
        for kind, entry in ENCODERS.items()
        if kind.startswith(incomplete)
    ]


def complete_dataset(incomplete: str) -> list[tuple[str, str]]:
    """Names of datasets that begin as typed, with their summaries."""
    from adequa.datasets.registry import DATASETS

    return [
        (name, found.summary) for name, found in DATASETS.items() if name.startswith(incomplete)
    ]


def complete_table(incomplete: str) -> list[str]:
    """Names of published tables that begin as typed."""
    from adequa.reproduce.paper_table import TABLES

    return [name for name in TABLES if name.startswith(incomplete)]
