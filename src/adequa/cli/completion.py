"""What the shell offers when a user presses Tab."""

from __future__ import annotations


def complete_metric(incomplete: str) -> list[tuple[str, str]]:
    """Metric names that begin as typed, with their summaries."""
    from adequa.metrics.registry import METRICS

    return [(name, entry.summary) for name, entry in METRICS.items() if name.startswith(incomplete)]
