"""Metrics that stand for one that a lane owns: they have its name and arithmetic, not its texts."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager

from adequa.metrics.base import Metric
from adequa.segments import FloatArray, Segments, Signature
from adequa.service.lane import Job, Lane


class Standing(Metric):
    """What is the same for both: all that asks for no texts, which any thread may ask."""

    def __init__(self, lane: Lane) -> None:
        metric = lane.metric
        self.lane = lane
        self.name, self.range = metric.name, metric.range
        self.higher_is_better, self.decimals = metric.higher_is_better, metric.decimals
        self.max_references, self.columns = metric.max_references, metric.columns
        self.needs_whole_corpus = metric.needs_whole_corpus

    @property
    def wrapped(self) -> Metric:
        return self.lane.metric

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        return self.lane.metric.segment_scores(statistics)

    def system_scores(self, totals: FloatArray) -> FloatArray:
        return self.lane.metric.system_scores(totals)

    def signature(self, reference_count: int | None) -> Signature:
        return self.lane.signature(reference_count, "system")

    def segment_signature(self, reference_count: int | None) -> Signature:
        return self.lane.signature(reference_count, "segment")


class Answered(Standing):
    """A metric whose statistics are known already, for each system in turn."""

    def __init__(self, lane: Lane, found: Iterable[FloatArray] = ()) -> None:
        super().__init__(lane)
        self._found = deque(found)

    def give(self, found: Iterable[FloatArray]) -> None:
        """More of them."""
        self._found.extend(found)

    def checked_statistics(self, segments: Segments) -> FloatArray:
        return self.statistics(segments)

    def statistics(self, segments: Segments) -> FloatArray:
        found = self._found.popleft()
        if len(found) != len(segments):
            raise AssertionError  # systems come in the order in which they were scored
        return found


class Stopped(Exception):  # noqa: N818 - nothing went wrong
    """Nobody waits for the work any more."""


class Asked:
    """Whether somebody still waits for a piece of work, and how far it is.

    Of the threads that do such work, those compute that have one of a few `turns`.
    """

    def __init__(self, turns: threading.Semaphore) -> None:
        self._turns = turns
        self._lock = threading.Lock()
        self._job: Job | None = None
        self._scored = 0
        self.stopped = False
        self.stage = "Waiting"  # what is being done now

    @property
    def scored(self) -> int:
        """Texts that were scored so far."""
        with self._lock:
            return self._scored + (0 if self._job is None else self._job.at)

    def stop(self) -> None:
        """Nobody does: drop what waits, and raise at the next step."""
        with self._lock:
            self.stopped = True
            if self._job is not None:
                self._job.cancel()

    def begin(self, stage: str) -> None:
        """Say what is done next; raise where nobody waits for it."""
        if self.stopped:
            raise Stopped
        self.stage = stage

    def check(self, *_: object) -> None:
        """Raise where nobody waits any more: for arithmetic, between its steps."""
        if self.stopped:
            raise Stopped

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Give the turn to others while this thread waits for something."""
        self._turns.release()
        try:
            yield
        finally:
            self._turns.acquire()

    def wait(self, lane: Lane, segments: Segments) -> FloatArray:
        """Statistics from a lane, in the turns that it gives."""
        with self._lock:
            if self.stopped:
                raise Stopped
            job = self._job = lane.submit(segments, admitted=True)
        try:
            with self.aside():
                return job.done.result()
        except CancelledError:
            raise Stopped from None
        finally:
            with self._lock:
                self._job = None
                self._scored += len(segments)


class Queued(Standing):
    """A metric that has its lane score, and waits: for work that runs in a thread of its own."""

    def __init__(
        self, lane: Lane, asked: Asked, seen: Callable[[FloatArray], None] = lambda _: None
    ) -> None:
        super().__init__(lane)
        self._asked, self._seen = asked, seen

    def checked_statistics(self, segments: Segments) -> FloatArray:
        return self.statistics(segments)  # the lane checks

    def statistics(self, segments: Segments) -> FloatArray:
        found = self._asked.wait(self.lane, segments)
        self._seen(found)
        return found
