"""What a server counts, for Prometheus: requests, segments and times, and never a text."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_BATCHES = (1, 2, 4, 8, 16, 32, 48, 64, 128)


class Measured:
    """The counts of one server."""

    def __init__(self, waiting: Callable[[], int], kept: Callable[[], int]) -> None:
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "adequa_requests", "Requests that were answered", ["route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "adequa_request_seconds",
            "Time to answer a request",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._segments = Counter(
            "adequa_segments", "Segments that were scored", ["metric"], registry=registry
        )
        self._scoring = Counter(
            "adequa_scoring_seconds", "Time that scoring took", ["metric"], registry=registry
        )
        self._batches = Histogram(
            "adequa_batch_segments",
            "Segments of a batch",
            ["metric"],
            buckets=_BATCHES,
            registry=registry,
        )
        Gauge(
            "adequa_waiting_segments", "Segments that wait to be scored", registry=registry
        ).set_function(waiting)
        Gauge(
            "adequa_kept_comparisons", "Comparisons that can be reopened", registry=registry
        ).set_function(kept)

    def batch(self, metric: str, segments: int, seconds: float) -> None:
        """Count a batch."""
        self._segments.labels(metric).inc(segments)
        self._scoring.labels(metric).inc(seconds)
        self._batches.labels(metric).observe(segments)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def shown(self) -> bytes:
        """All counts, as Prometheus reads them."""
        return generate_latest(self._registry)
