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
from adequa.service.limits import Limits, Refusal
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

    def score_segments(self, segments: Segments) -> FloatArray:
        if "bad" in segments.hypotheses:
            raise AdequaError("bad is no translation.")
        self.began.release()
        assert self.go.wait(30)
        self.batches.append(segments.hypotheses)
        return np.array([float(len(text)) for text in segments.hypotheses])


def some(*texts: str) -> Segments:
    return Segments(texts, (("reference",),) * len(texts))


def busy(limits: Limits | None = None, **more: float) -> tuple[Slow, MetricQueue]:
    """A queue whose thread is at work on a first segment."""
    metric = Slow()
    limits = limits or Limits()
    queue = MetricQueue(metric, limits, Backlog(limits.backlog), **more)  # type: ignore[arg-type]
    queue.submit(some("first"))
    assert metric.began.acquire(timeout=30)
    return metric, queue


def test_requests_that_wait_share_a_batch() -> None:
    metric, queue = busy()
    jobs = [queue.submit(some("a" * number)) for number in range(1, 6)]
    metric.go.set()
    assert [job.result.result(30)[:, 0].tolist() for job in jobs] == [[1], [2], [3], [4], [5]]
    assert metric.batches[1] == ("a", "aa", "aaa", "aaaa", "aaaaa")
    queue.close()


def test_requests_that_arrive_together_share_a_batch() -> None:
    """An idle queue waits for company."""
    metric = Slow()
    metric.go.set()
    queue = MetricQueue(metric, Limits(), Backlog(2 * BATCH), deadline=10.0)
    job = queue.submit(some("a"))
    others = [
        queue.submit(some("b")) for _ in range(BATCH - 1)
    ]  # the batch is full: no more waiting
    assert job.result.result(30).tolist() == [[1.0, 1.0]]
    assert all(len(other.result.result(30)) == 1 for other in others)
    assert list(map(len, metric.batches)) == [BATCH]
    queue.close()


def test_a_large_request_gives_way_to_small_ones() -> None:
    metric, queue = busy()
    large = queue.submit(some(*["large"] * 1000))
    small = [queue.submit(some("small")) for _ in range(3)]
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
    queue.submit(some(*["x" * 7_000] * 8))
    job = queue.submit(some("small"))
    metric.go.set()
    job.result.result(30)
    assert list(map(len, metric.batches[1])).count(7_000) <= 5
    assert "small" in metric.batches[1]
    queue.close()


def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    metric, queue = busy(Limits(queue=20))
    queue.submit(some(*["a"] * 500))  # a newcomer waits for a slice of it
    queue.submit(some(*["b"] * 10))
    with pytest.raises(Refusal, match=r"20 segments wait for slow; try again later\.") as refused:
        queue.submit(some("c"))
    assert refused.value.status == 429
    assert 1 <= int(refused.value.headers["retry-after"]) <= 60
    with pytest.raises(Refusal):
        queue.check_capacity()
    metric.go.set()
    queue.close()
    assert sum(map(len, metric.batches)) == 511  # what was accepted was finished
    with pytest.raises(Refusal, match="ending"):
        queue.submit(some("d"))


def test_all_lanes_together_hold_so_much() -> None:
    held = Backlog(30)
    metric = Slow()
    queue = MetricQueue(metric, Limits(), held)
    queue.submit(some(*["a"] * 25))
    with pytest.raises(Refusal, match="Too many segments wait"):
        MetricQueue(Slow(), Limits(), held).submit(some(*["a"] * 31))
    metric.go.set()
    queue.close()
    assert held.count == 0


def test_the_largest_request_is_taken_whatever_its_metrics() -> None:
    """It fills the queues of all its metrics, and leaves room for others."""
    for limits in (Limits(), Limits(segments=1_000_000), Limits(segments=1)):
        held = Backlog(limits.backlog)
        assert all(held.add(limits.segments, always=False) for _ in range(limits.metrics))
        assert held.add(limits.segments, always=False)


def test_what_nobody_waits_for_is_dropped() -> None:
    metric, queue = busy(Limits(queue=20))
    gone = queue.submit(some(*["gone"] * 500))
    queue.submit(some(*["b"] * 10))
    gone.cancel()
    kept = queue.submit(some("kept"))  # there is room again
    metric.go.set()
    kept.result.result(30)
    with pytest.raises(CancelledError):
        gone.result.result(30)
    queue.close()
    assert all("gone" not in batch for batch in metric.batches)
    assert queue.backlog.count == 0


def test_only_what_was_scored_is_counted() -> None:
    """Batches that were dropped take no time, and would promise that the queue is empty soon."""
    seen: list[int] = []
    metric = Slow()
    queue = MetricQueue(
        metric, Limits(), Backlog(1000), on_batch=lambda count, _, seconds: seen.append(count)
    )
    with queue.metric_lock:  # nothing is scored until it is released
        taken = queue.submit(some(*["gone"] * BATCH))
        until(lambda: taken.remaining == 0)
        taken.cancel()
    until(lambda: queue.is_idle)
    bad = queue.submit(some("bad"))
    with pytest.raises(AdequaError):
        bad.result.result(30)
    assert (seen, queue._rate) == ([], _INITIAL_RATE)
    metric.go.set()
    queue.submit(some("a", "b")).result.result(30)
    queue.close()
    assert seen == [2]


def test_one_bad_request_fails_alone() -> None:
    metric, queue = busy()
    good, bad = queue.submit(some("good")), queue.submit(some(*["bad"] * 100))
    other = queue.submit(some("other"))
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
    large = queue.submit(some(*["w"] * 200))
    metric.needs_whole_corpus = False
    small = queue.submit(some("s"))
    metric.go.set()
    assert len(large.result.result(30)) == 200
    small.result.result(30)
    assert list(map(len, metric.batches)) == [1, 200, 1]
    queue.close()


def test_texts_with_and_without_documents_share_a_batch() -> None:
    metric, queue = busy()
    with_document = queue.submit(Segments(("a",), (("r",),), ids={"doc": ("d",)}))
    without = queue.submit(some("b"))
    metric.go.set()
    with_document.result.result(30)
    without.result.result(30)
    assert metric.batches[1:] == [("a", "b")]
    queue.close()


def test_texts_with_and_without_sources_are_apart() -> None:
    metric, queue = busy()
    with_source = queue.submit(Segments(("a",), (("r",),), ("s",)))
    without = queue.submit(some("b"))
    metric.go.set()
    with_source.result.result(30)
    without.result.result(30)
    assert metric.batches[1:] == [("a",), ("b",)]
    queue.close()
