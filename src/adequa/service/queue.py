"""The queue of one metric, and the thread that scores what is in it.

Segments of requests that arrive together share batches: a batch waits a few milliseconds for more,
and no longer. Requests take turns. A large one is cut into slices and goes to the end of the queue
after each, so that a small one waits for a slice of every other and not for all of it. The number
of segments that a new request would wait for is bounded; beyond it, requests are refused, with the
time after which to try again.

One thread owns the metric, because a metric caches what it computes of texts and is not
thread-safe. A model distributes its batches over threads of its own.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from adequa.metrics.base import Metric
from adequa.segments import FloatArray, Segments, concatenate
from adequa.service.limits import Limits, RequestError

SLICE = 16  # segments of a request that are taken at a time
BATCH = 128  # segments that are scored together
# The same in characters of all texts, because some metrics take minutes for very long ones.
SLICE_CHARACTERS = 8_000
BATCH_CHARACTERS = 32_000
DEADLINE = 0.004  # seconds that a segment waits for others to share its batch

_LONGEST_RETRY = 60  # seconds after which a refused client is told to try again, at most
_INITIAL_RATE = 100.0  # segments per second, before any was scored
_SMOOTHING = 0.2  # weight of the newest batch in the estimated rate


class Backlog:
    """The number of segments that wait in all queues."""

    def __init__(self, limit: int) -> None:
        self.limit, self.count = limit, 0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        """Add segments whatever the limit, or remove them with a negative number."""
        with self._lock:
            self.count += count

    def try_add(self, count: int) -> bool:
        """Add segments; return False, and add none, if that would exceed the limit."""
        with self._lock:
            if self.count and self.count + count > self.limit:
                return False
            self.count += count
            return True


@dataclass(eq=False, slots=True)
class Submission:
    """Segments of one request in a queue, and their statistics so far."""

    segments: Segments
    needs_whole_corpus: bool  # scored in one batch of its own, as by NIST
    result: Future[FloatArray] = field(default_factory=Future)
    position: int = 0  # the first segment that is in no batch yet
    parts: list[FloatArray] = field(default_factory=list)
    arrival: float = field(default_factory=time.monotonic)

    @property
    def remaining(self) -> int:
        """Segments that are in no batch yet."""
        return len(self.segments) - self.position

    def cancel(self) -> None:
        """Drop what was not scored yet."""
        self.result.cancel()

    def characters(self, start: int, end: int) -> int:
        """Characters of the hypotheses, references and sources of some segments."""
        hypotheses = map(len, self.segments.hypotheses[start:end])
        sources = map(len, (self.segments.sources or ())[start:end])
        return (
            sum(hypotheses)
            + sum(sources)
            + sum(sum(map(len, references)) for references in self.segments.references[start:end])
        )

    def add(self, statistics: FloatArray) -> None:
        """Add the statistics of the next segments; the last ones complete the result."""
        self.parts.append(statistics)
        if sum(map(len, self.parts)) == len(self.segments):
            with suppress(InvalidStateError):  # it was cancelled
                self.result.set_result(np.concatenate(self.parts))

    def can_share_batch(self, other: Submission) -> bool:
        """Whether both have the same kinds of texts, and neither needs a batch of its own."""
        alike = (self.segments.sources is None) == (other.segments.sources is None)
        alike &= self.segments.has_references == other.segments.has_references
        return alike and not self.needs_whole_corpus and not other.needs_whole_corpus


@dataclass(frozen=True, slots=True)
class _Slice:
    """Consecutive segments of a submission."""

    submission: Submission
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def characters(self) -> int:
        return self.submission.characters(self.start, self.end)

    @property
    def segments(self) -> Segments:
        """The texts alone: requests differ in their other columns."""
        segments = self.submission.segments
        if len(self) == len(segments) and not segments.ids:
            return segments
        rows = slice(self.start, self.end)
        sources = None if segments.sources is None else segments.sources[rows]
        return Segments(segments.hypotheses[rows], segments.references[rows], sources)


class MetricQueue:
    """The queue of one metric.

    `on_batch` is called with the segments, characters and seconds of each batch.
    """

    def __init__(
        self,
        metric: Metric,
        limits: Limits,
        backlog: Backlog,
        *,
        on_batch: Callable[[int, int, float], None] = lambda *_: None,
        deadline: float = DEADLINE,
    ) -> None:
        self.metric = metric
        self.metric_lock = threading.Lock()  # for whoever computes with the metric
        self.backlog = backlog
        self._limits, self._on_batch, self._deadline = limits, on_batch, deadline
        self._submissions: deque[Submission] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None  # started by the first submission
        self._is_scoring = False
        self._is_closing = False
        self._rate = _INITIAL_RATE

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is being scored."""
        with self._changed:
            return not self._submissions and not self._is_scoring

    def submit(self, segments: Segments, *, admitted: bool = False) -> Submission:
        """Add segments; raise if too many wait already, unless their request is `admitted`."""
        submission = Submission(segments, self.metric.needs_whole_corpus)
        with self._changed:
            if self._is_closing:
                raise RequestError(
                    503, "This server is ending; try again in a moment.", retry_after="5"
                )
            if admitted:
                self.backlog.add(len(segments))
            else:
                self._check_capacity()
                if not self.backlog.try_add(len(segments)):
                    raise self._overflow("Too many segments wait for their scores")
            self._submissions.append(submission)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name=f"queue {self.metric.name}", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()
        return submission

    def warm_up(self) -> None:
        """Score a short text, so that the metric loads what it needs before the first request."""
        plain = Segments(("a b",), (("a c",),), sources=("a d",))
        self.submit(plain, admitted=True).result.result()

    def check_capacity(self) -> None:
        """Raise if `submit` would, because too many segments wait."""
        with self._changed:
            self._check_capacity()

    def close(self) -> None:
        """Score what was accepted, and end the thread."""
        with self._changed:
            self._is_closing = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join()

    def _check_capacity(self) -> None:
        if self._segments_ahead() >= self._limits.queue:
            raise self._overflow(f"{self._limits.queue:,} segments wait for {self.metric.name}")

    def _segments_ahead(self) -> int:
        """Segments that a new request waits for: a slice of each request in the queue."""
        return sum(
            min(each.remaining, SLICE) for each in self._submissions if not each.result.done()
        )

    def _overflow(self, reason: str) -> RequestError:
        seconds = min(max(ceil(self._segments_ahead() / self._rate), 1), _LONGEST_RETRY)
        return RequestError(429, f"{reason}; try again later.", retry_after=str(seconds))

    def _run(self) -> None:
        while True:
            with self._changed:
                self._is_scoring = False
                batch = self._next_batch()
                self._is_scoring = bool(batch)
            if not batch:
                return
            start = time.monotonic()
            with self.metric_lock:
                scored = self._score(batch)
            if not scored:
                continue
            count = sum(map(len, scored))
            seconds = max(time.monotonic() - start, 1e-6)
            self._rate += _SMOOTHING * (count / seconds - self._rate)
            self._on_batch(count, sum(part.characters for part in scored), seconds)

    def _next_batch(self) -> list[_Slice]:
        """The next batch, after a short wait for more segments; none once the queue is closed."""
        while True:
            self._drop_finished()
            if not self._submissions:
                if self._is_closing:
                    return []
                self._changed.wait()
                continue
            first = self._submissions[0]
            seconds_left = first.arrival + self._deadline - time.monotonic()
            is_full = sum(each.remaining for each in self._submissions) >= BATCH
            if seconds_left <= 0 or is_full or first.needs_whole_corpus or self._is_closing:
                break
            self._changed.wait(timeout=seconds_left)
        batch = self._take_slices()
        self.backlog.add(-sum(map(len, batch)))
        return batch

    def _drop_finished(self) -> None:
        """Remove submissions that failed or were cancelled."""
        finished = [each for each in self._submissions if each.result.done()]
        if finished:
            self.backlog.add(-sum(each.remaining for each in finished))
            self._submissions = deque(each for each in self._submissions if not each.result.done())

    def _take_slices(self) -> list[_Slice]:
        """A slice of every submission in turn, until the batch is full."""
        batch: list[_Slice] = []
        count, characters = BATCH, BATCH_CHARACTERS
        while self._submissions and count > 0 and characters > 0:
            submission = self._submissions[0]
            if batch and not batch[0].submission.can_share_batch(submission):
                break
            self._submissions.popleft()
            part = _Slice(
                submission, submission.position, _slice_end(submission, count, characters)
            )
            batch.append(part)
            submission.position = part.end
            count -= len(part)
            characters -= part.characters
            if submission.remaining:
                self._submissions.append(submission)
            if submission.needs_whole_corpus:
                break
        return batch

    def _score(self, batch: list[_Slice]) -> list[_Slice]:
        """Score the slices that are still wanted; return those that have scores."""
        batch = [part for part in batch if not part.submission.result.done()]
        if not batch:
            return []
        texts = [part.segments for part in batch]
        try:
            statistics = self.metric.checked_statistics(
                texts[0] if len(texts) == 1 else concatenate(texts)
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the request's answer
            if len(batch) == 1:
                with suppress(InvalidStateError):  # it was cancelled
                    batch[0].submission.result.set_exception(error)
                return []
            # One by one, so that the texts of one request do not fail the others.
            return [scored for part in batch for scored in self._score([part])]
        ends = np.cumsum([len(part) for part in batch])[:-1]
        for part, rows in zip(batch, np.split(statistics, ends), strict=True):
            part.submission.add(rows)
        return batch


def _slice_end(submission: Submission, count: int, characters: int) -> int:
    """The end of the next slice: at most so many segments and characters, but at least one."""
    if submission.needs_whole_corpus:
        return len(submission.segments)
    end = start = submission.position
    room = min(SLICE_CHARACTERS, characters)
    while end < min(start + SLICE, start + count, len(submission.segments)):
        room -= submission.characters(end, end + 1)
        if room < 0 and end > start:
            break
        end += 1
    return end
