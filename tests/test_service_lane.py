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
from adequa.service.lane import _FIRST_RATE, BATCH, SLICE, Held, Lane
from adequa.service.limits import Limits, Refusal
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


def busy(limits: Limits | None = None, **more: float) -> tuple[Slow, Lane]:
    """A lane whose thread is at work on a first segment."""
    metric = Slow()
    limits = limits or Limits()
    lane = Lane(metric, limits, Held(limits.held), **more)  # type: ignore[arg-type]
    lane.submit(some("first"))
    assert metric.began.acquire(timeout=30)
    return metric, lane


def test_requests_that_wait_share_a_batch() -> None:
    metric, lane = busy()
    jobs = [lane.submit(some("a" * number)) for number in range(1, 6)]
    metric.go.set()
    assert [job.done.result(30)[:, 0].tolist() for job in jobs] == [[1], [2], [3], [4], [5]]
    assert metric.batches[1] == ("a", "aa", "aaa", "aaaa", "aaaaa")
    lane.close()


def test_requests_that_arrive_together_share_a_batch() -> None:
    """An idle lane waits for company."""
    metric = Slow()
    metric.go.set()
    lane = Lane(metric, Limits(), Held(2 * BATCH), deadline=10.0)
    job = lane.submit(some("a"))
    others = [
        lane.submit(some("b")) for _ in range(BATCH - 1)
    ]  # the batch is full: no more waiting
    assert job.done.result(30).tolist() == [[1.0, 1.0]]
    assert all(len(other.done.result(30)) == 1 for other in others)
    assert list(map(len, metric.batches)) == [BATCH]
    lane.close()


def test_a_large_request_gives_way_to_small_ones() -> None:
    metric, lane = busy()
    large = lane.submit(some(*["large"] * 1000))
    small = [lane.submit(some("small")) for _ in range(3)]
    metric.go.set()
    for job in small:
        job.done.result(30)
    assert metric.batches[1].count("small") == 3
    assert metric.batches[1].count("large") == BATCH - 3
    assert metric.batches[1][:SLICE] == ("large",) * SLICE
    assert len(large.done.result(30)) == 1000
    assert max(map(len, metric.batches)) <= BATCH
    lane.close()


def test_long_texts_come_in_small_slices() -> None:
    metric, lane = busy()
    lane.submit(some(*["x" * 7_000] * 8))
    job = lane.submit(some("small"))
    metric.go.set()
    job.done.result(30)
    assert list(map(len, metric.batches[1])).count(7_000) <= 5
    assert "small" in metric.batches[1]
    lane.close()


def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    metric, lane = busy(Limits(queue=20))
    lane.submit(some(*["a"] * 500))  # a newcomer waits for a slice of it
    lane.submit(some(*["b"] * 10))
    with pytest.raises(Refusal, match=r"20 segments wait for slow; try again later\.") as refused:
        lane.submit(some("c"))
    assert refused.value.status == 429
    assert 1 <= int(refused.value.headers["retry-after"]) <= 60
    with pytest.raises(Refusal):
        lane.check_room()
    metric.go.set()
    lane.close()
    assert sum(map(len, metric.batches)) == 511  # what was accepted was finished
    with pytest.raises(Refusal, match="ending"):
        lane.submit(some("d"))


def test_all_lanes_together_hold_so_much() -> None:
    held = Held(30)
    metric = Slow()
    lane = Lane(metric, Limits(), held)
    lane.submit(some(*["a"] * 25))
    with pytest.raises(Refusal, match="Too many segments wait"):
        Lane(Slow(), Limits(), held).submit(some(*["a"] * 31))
    metric.go.set()
    lane.close()
    assert held.count == 0


def test_the_largest_request_is_taken_whatever_its_metrics() -> None:
    """It fills the lanes of all its metrics, and leaves room for others."""
    for limits in (Limits(), Limits(segments=1_000_000), Limits(segments=1)):
        held = Held(limits.held)
        assert all(held.add(limits.segments, always=False) for _ in range(limits.metrics))
        assert held.add(limits.segments, always=False)


def test_what_nobody_waits_for_is_dropped() -> None:
    metric, lane = busy(Limits(queue=20))
    gone = lane.submit(some(*["gone"] * 500))
    lane.submit(some(*["b"] * 10))
    gone.cancel()
    kept = lane.submit(some("kept"))  # there is room again
    metric.go.set()
    kept.done.result(30)
    with pytest.raises(CancelledError):
        gone.done.result(30)
    lane.close()
    assert all("gone" not in batch for batch in metric.batches)
    assert lane._held.count == 0


def test_only_what_was_scored_is_counted() -> None:
    """Batches that were dropped take no time, and would promise that the queue is empty soon."""
    seen: list[int] = []
    metric = Slow()
    lane = Lane(metric, Limits(), Held(1000), seen=lambda count, _, seconds: seen.append(count))
    with lane.using:  # nothing is scored until it is released
        taken = lane.submit(some(*["gone"] * BATCH))
        until(lambda: taken.left == 0)
        taken.cancel()
    until(lambda: lane.idle)
    bad = lane.submit(some("bad"))
    with pytest.raises(AdequaError):
        bad.done.result(30)
    assert (seen, lane._rate) == ([], _FIRST_RATE)
    metric.go.set()
    lane.submit(some("a", "b")).done.result(30)
    lane.close()
    assert seen == [2]


def test_one_bad_request_fails_alone() -> None:
    metric, lane = busy()
    good, bad = lane.submit(some("good")), lane.submit(some(*["bad"] * 100))
    other = lane.submit(some("other"))
    metric.go.set()
    assert good.done.result(30)[0, 0] == 4
    assert other.done.result(30)[0, 0] == 5
    with pytest.raises(AdequaError, match="bad is no translation"):
        bad.done.result(30)
    lane.close()
    assert lane._held.count == 0


def test_a_whole_corpus_is_a_batch_of_its_own() -> None:
    metric, lane = busy()
    metric.needs_whole_corpus = True
    large = lane.submit(some(*["w"] * 200))
    metric.needs_whole_corpus = False
    small = lane.submit(some("s"))
    metric.go.set()
    assert len(large.done.result(30)) == 200
    small.done.result(30)
    assert list(map(len, metric.batches)) == [1, 200, 1]
    lane.close()


def test_texts_with_and_without_documents_share_a_batch() -> None:
    metric, lane = busy()
    with_document = lane.submit(Segments(("a",), (("r",),), ids={"doc": ("d",)}))
    without = lane.submit(some("b"))
    metric.go.set()
    with_document.done.result(30)
    without.done.result(30)
    assert metric.batches[1:] == [("a", "b")]
    lane.close()


def test_texts_with_and_without_sources_are_apart() -> None:
    metric, lane = busy()
    with_source = lane.submit(Segments(("a",), (("r",),), ("s",)))
    without = lane.submit(some("b"))
    metric.go.set()
    with_source.done.result(30)
    without.done.result(30)
    assert metric.batches[1:] == [("a",), ("b",)]
    lane.close()
