"""The queue of a metric: shared batches, turns, bounds, and work that nobody waits for."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from dataclasses import dataclass, field

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.metrics.base import MeanMetric
from adequa.segments import FloatArray, Segments
from adequa.service.limits import Limits, RequestError
from adequa.service.queue import _INITIAL_RATE, BATCH, SLICE, Backlog, MetricQueue
from live_service import until


@dataclass(eq=False)
class Slow(MeanMetric):
    """Scores lengths, when it is let; remembers its batches."""

    batches: list[tuple[str, ...]] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)
    began: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    name = "slow"
    higher_is_better = True
    range = (0.0, float("inf"))

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        if "bad" in segments.hypotheses:
            raise AdequaError("bad is no translation.")
        self.began.release()
        assert self.go.wait(30)
        self.batches.append(segments.hypotheses)
        return np.array([float(len(text)) for text in segments.hypotheses])


def segments_of(*texts: str) -> Segments:
    return Segments(texts, (("reference",),) * len(texts))


def busy(limits: Limits | None = None, **more: float) -> tuple[Slow, MetricQueue]:
    """A queue whose thread is at work on a first segment."""
    metric = Slow()
    limits = limits or Limits()
    queue = MetricQueue(metric, limits, Backlog(limits.backlog), **more)  # type: ignore[arg-type]
    queue.submit(segments_of("first"))
    assert metric.began.acquire(timeout=30)
    return metric, queue


def test_requests_that_wait_share_a_batch() -> None:
    metric, queue = busy()
    jobs = [queue.submit(segments_of("a" * number)) for number in range(1, 6)]
    metric.go.set()
    assert [job.result.result(30)[:, 0].tolist() for job in jobs] == [[1], [2], [3], [4], [5]]
    assert metric.batches[1] == ("a", "aa", "aaa", "aaaa", "aaaaa")
    queue.close()


def test_requests_that_arrive_together_share_a_batch() -> None:
    """An idle queue waits for company."""
    metric = Slow()
    metric.go.set()
    queue = MetricQueue(metric, Limits(), Backlog(2 * BATCH), deadline=10.0)
    job = queue.submit(segments_of("a"))
    others = [
        queue.submit(segments_of("b")) for _ in range(BATCH - 1)
    ]  # the batch is full: no more waiting
    assert job.result.result(30).tolist() == [[1.0, 1.0]]
    assert all(len(other.result.result(30)) == 1 for other in others)
    assert list(map(len, metric.batches)) == [BATCH]
    queue.close()


def test_a_large_request_gives_way_to_small_ones() -> None:
    metric, queue = busy()
    large = queue.submit(segments_of(*["large"] * 1000))
    small = [queue.submit(segments_of("small")) for _ in range(3)]
    metric.go.set()
    for job in small:
        job.result.result(30)
    assert metric.batches[1].count("small") == 3
    assert metric.batches[1].count("large") == BATCH - 3
    assert metric.batches[1][:SLICE] == ("large",) * SLICE
    assert len(large.result.result(30)) == 1000
    assert max(map(len, metric.batches)) <= BATCH
    queue.close()


def test_long_texts_come_in_small_slices() -> None:
    metric, queue = busy()
    queue.submit(segments_of(*["x" * 7_000] * 8))
    job = queue.submit(segments_of("small"))
    metric.go.set()
    job.result.result(30)
    assert list(map(len, metric.batches[1])).count(7_000) <= 5
    assert "small" in metric.batches[1]
    queue.close()


def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    metric, queue = busy(Limits(queue=20))
    queue.submit(segments_of(*["a"] * 500))  # a newcomer waits for a slice of it
    queue.submit(segments_of(*["b"] * 10))
    with pytest.raises(
        RequestError, match=r"20 segments wait for slow; try again later\."
    ) as refused:
        queue.submit(segments_of("c"))
    assert refused.value.status == 429
    assert 1 <= int(refused.value.headers["retry-after"]) <= 60
    with pytest.raises(RequestError):
        queue.check_capacity()
    metric.go.set()
    queue.close()
    assert sum(map(len, metric.batches)) == 511  # what was accepted was finished
    with pytest.raises(RequestError, match="ending"):
        queue.submit(segments_of("d"))


def test_all_queues_share_one_backlog() -> None:
    backlog = Backlog(30)
    metric = Slow()
    queue = MetricQueue(metric, Limits(), backlog)
    queue.submit(segments_of(*["a"] * 25))
    with pytest.raises(RequestError, match="Too many segments wait"):
        MetricQueue(Slow(), Limits(), backlog).submit(segments_of(*["a"] * 31))
    metric.go.set()
    queue.close()
    assert backlog.count == 0


def test_the_largest_request_fits_into_the_backlog() -> None:
    """It fills the queues of all its metrics, and leaves room for others."""
    for limits in (Limits(), Limits(segments=1_000_000), Limits(segments=1)):
        backlog = Backlog(limits.backlog)
        assert all(backlog.try_add(limits.segments) for _ in range(limits.metrics))
        assert backlog.try_add(limits.segments)


def test_cancelled_segments_are_dropped() -> None:
    metric, queue = busy(Limits(queue=20))
    gone = queue.submit(segments_of(*["gone"] * 500))
    queue.submit(segments_of(*["b"] * 10))
    gone.cancel()
    later = queue.submit(segments_of("kept"))  # there is room again
    metric.go.set()
    later.result.result(30)
    with pytest.raises(CancelledError):
        gone.result.result(30)
    queue.close()
    assert all("gone" not in batch for batch in metric.batches)
    assert queue.backlog.count == 0


def test_dropped_batches_are_not_counted() -> None:
    """Batches that were dropped take no time, and would promise that the queue is empty soon."""
    seen: list[int] = []
    metric = Slow()
    queue = MetricQueue(
        metric, Limits(), Backlog(1000), on_batch=lambda count, _, seconds: seen.append(count)
    )
    with queue.metric_lock:  # nothing is scored until it is released
        taken = queue.submit(segments_of(*["gone"] * BATCH))
        until(lambda: taken.remaining == 0)
        taken.cancel()
    until(lambda: queue.is_idle)
    bad = queue.submit(segments_of("bad"))
    with pytest.raises(AdequaError):
        bad.result.result(30)
    assert (seen, queue._rate) == ([], _INITIAL_RATE)
    metric.go.set()
    queue.submit(segments_of("a", "b")).result.result(30)
    queue.close()
    assert seen == [2]


def test_one_bad_request_fails_alone() -> None:
    metric, queue = busy()
    good, bad = queue.submit(segments_of("good")), queue.submit(segments_of(*["bad"] * 100))
    other = queue.submit(segments_of("other"))
    metric.go.set()
    assert good.result.result(30)[0, 0] == 4
    assert other.result.result(30)[0, 0] == 5
    with pytest.raises(AdequaError, match="bad is no translation"):
        bad.result.result(30)
    queue.close()
    assert queue.backlog.count == 0


def test_a_whole_corpus_is_a_batch_of_its_own() -> None:
    metric, queue = busy()
    metric.needs_whole_corpus = True
    large = queue.submit(segments_of(*["w"] * 200))
    metric.needs_whole_corpus = False
    small = queue.submit(segments_of("s"))
    metric.go.set()
    assert len(large.result.result(30)) == 200
    small.result.result(30)
    assert list(map(len, metric.batches)) == [1, 200, 1]
    queue.close()


def test_texts_with_and_without_documents_share_a_batch() -> None:
    metric, queue = busy()
    with_document = queue.submit(Segments(("a",), (("r",),), ids={"doc": ("d",)}))
    without = queue.submit(segments_of("b"))
    metric.go.set()
    with_document.result.result(30)
    without.result.result(30)
    assert metric.batches[1:] == [("a", "b")]
    queue.close()


def test_texts_with_and_without_sources_are_apart() -> None:
    metric, queue = busy()
    with_source = queue.submit(Segments(("a",), (("r",),), ("s",)))
    without = queue.submit(segments_of("b"))
    metric.go.set()
    with_source.result.result(30)
    without.result.result(30)
    assert metric.batches[1:] == [("a",), ("b",)]
    queue.close()
