"""A lane: the queue of one metric, and the thread that scores what is in it.

Segments of requests that arrive together share batches: a batch waits a few milliseconds for
company, and no longer. Requests take turns. A large one is cut into slices, and gives way after
each, so that a small one waits for a slice of every other and not for all of it. What a newcomer
would wait for is bounded; beyond it, requests are refused, with the time after which to try again.

One thread owns the metric, since a metric keeps what it knows of texts and is not for several at
once. A model shares its batches out among threads of its own.
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
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from adequa.metrics.base import Metric
from adequa.segments import FloatArray, Segments, Signature, concatenate
from adequa.service.limits import Limits, Refusal

SLICE = 16  # segments that a request is given at a time
BATCH = 128  # segments that are scored together
# Characters of both texts, for the same: some metrics take minutes for what is long enough.
SLICE_CHARACTERS = 8_000
BATCH_CHARACTERS = 32_000
DEADLINE = 0.004  # seconds that a segment waits for others to be scored with

Level: TypeAlias = Literal["segment", "system"]

_LONGEST_RETRY = 60  # seconds that a client is told to wait at the most
_FIRST_RATE = 100.0  # segments a second, before any was scored
_SHARE = 0.2  # of the newest batch in what is known of the rate


def _seen(segments: int, characters: int, seconds: float) -> None:
    """What a caller who counts nothing does with a batch."""
    del segments, characters, seconds


@dataclass(slots=True)
class Held:
    """Segments that wait, over all lanes."""

    limit: int
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, count: int, *, always: bool = True) -> bool:
        """Take so many in; False, and none, where there are too many already."""
        with self.lock:
            if not always and self.count and self.count + count > self.limit:
                return False
            self.count += count
            return True


@dataclass(eq=False, slots=True)
class Job:
    """Segments of one request, and what is known of them so far."""

    segments: Segments
    whole: bool  # whether they can be scored together only, as NIST's
    done: Future[FloatArray] = field(default_factory=Future)
    at: int = 0  # segments that were taken
    parts: list[FloatArray] = field(default_factory=list)
    arrived: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> int:
        """Segments that nobody has taken yet."""
        return len(self.segments) - self.at

    def cancel(self) -> None:
        """Nobody waits for it any more: what has not begun is dropped."""
        self.done.cancel()


class _Part(NamedTuple):
    """A slice of a job."""

    job: Job
    start: int
    end: int

    @property
    def segments(self) -> Segments:
        """Its texts alone: other columns are not the same in all requests."""
        job = self.job.segments
        if self.end - self.start == len(job) and not job.ids:
            return job
        rows = slice(self.start, self.end)
        sources = None if job.sources is None else job.sources[rows]
        return Segments(job.hypotheses[rows], job.references[rows], sources)


class Lane:
    """The queue of one metric."""

    def __init__(
        self,
        metric: Metric,
        limits: Limits,
        held: Held,
        *,
        seen: Callable[[int, int, float], None] = _seen,
        deadline: float = DEADLINE,
    ) -> None:
        self.metric = metric
        self.using = threading.Lock()  # held by whoever has the metric look at texts
        self._limits, self._held, self._seen, self._deadline = limits, held, seen, deadline
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None  # begun with the first segments
        self._busy = False
        self._closing = False
        self._rate = _FIRST_RATE
        self._signatures: dict[tuple[int | None, str], Signature] = {}

    def signature(self, references: int | None, level: Level) -> Signature:
        """The signature of the metric's scores; kept, since it looks up versions of packages."""
        key = (references, level)
        if key not in self._signatures:
            of_segments = level == "segment"
            make = self.metric.segment_signature if of_segments else self.metric.signature
            self._signatures[key] = make(references)
        return self._signatures[key]

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do, nor being done."""
        with self._changed:
            return not self._jobs and not self._busy

    def submit(self, segments: Segments, *, admitted: bool = False) -> Job:
        """Put segments in; raise where too much waits already, unless they are `admitted`."""
        whole = self.metric.needs_whole_corpus
        job = Job(segments, whole)
        with self._changed:
            if self._closing:
                raise Refusal(503, "This server is ending; try again in a moment.", retry_after="5")
            if not admitted:
                self._refuse_overflow()
            if not self._held.add(len(segments), always=admitted):
                raise self._full("Too many segments wait for their scores")
            self._jobs.append(job)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name=f"lane {self.metric.name}", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()
        return job

    def warm(self) -> None:
        """Have the metric open what it opens when it first scores."""
        self.submit(Segments(("a b",), (("a c",),)), admitted=True).done.result()

    def check_room(self) -> None:
        """Raise what `submit` would."""
        with self._changed:
            self._refuse_overflow()

    def close(self) -> None:
        """Score what was accepted, and end."""
        with self._changed:
            self._closing = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join()

    def _refuse_overflow(self) -> None:
        if self._ahead() >= self._limits.queue:
            raise self._full(f"{self._limits.queue:,} segments wait for {self.metric.name}")

    def _ahead(self) -> int:
        """Segments that a newcomer waits for: a slice of each request that is there."""
        return sum(min(job.left, SLICE) for job in self._jobs if not job.done.done())

    def _full(self, reason: str) -> Refusal:
        seconds = min(max(ceil(self._ahead() / self._rate), 1), _LONGEST_RETRY)
        return Refusal(429, f"{reason}; try again later.", retry_after=str(seconds))

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                parts = self._next()
                self._busy = bool(parts)
            if not parts:
                return
            began = time.monotonic()
            with self.using:
                scored = self._score(parts)
            if not scored:
                continue
            count = sum(part.end - part.start for part in scored)
            seconds = max(time.monotonic() - began, 1e-6)
            self._rate += _SHARE * (count / seconds - self._rate)
            self._seen(count, sum(map(_size, scored)), seconds)

    def _next(self) -> list[_Part]:
        """The parts of the next batch, after a short wait for company; none at the end."""
        while True:
            self._drop_done()
            if not self._jobs:
                if self._closing:
                    return []
                self._changed.wait()
                continue
            left = self._jobs[0].arrived + self._deadline - time.monotonic()
            enough = self._jobs[0].whole or sum(job.left for job in self._jobs) >= BATCH
            if left <= 0 or enough or self._closing:
                break
            self._changed.wait(timeout=left)
        parts = self._taken()
        self._held.add(-sum(part.end - part.start for part in parts))
        return parts

    def _drop_done(self) -> None:
        """Leave out what failed, and what nobody waits for."""
        gone = [job for job in self._jobs if job.done.done()]
        if gone:
            self._held.add(-sum(job.left for job in gone))
            self._jobs = deque(job for job in self._jobs if not job.done.done())

    def _taken(self) -> list[_Part]:
        """A slice of every job in turn, until the batch is full."""
        parts: list[_Part] = []
        count, characters = BATCH, BATCH_CHARACTERS
        while self._jobs and count > 0 and characters > 0:
            job = self._jobs[0]
            if parts and not _alike(parts[0].job, job):
                break
            self._jobs.popleft()
            end = len(job.segments) if job.whole else _end(job, min(SLICE, count), characters)
            part = _Part(job, job.at, end)
            parts.append(part)
            job.at = end
            count -= end - part.start
            characters -= _size(part)
            if job.left:
                self._jobs.append(job)
            if job.whole:
                break
        return parts

    def _score(self, parts: list[_Part]) -> list[_Part]:
        """Score those that somebody still waits for; which of them have scores."""
        parts = [part for part in parts if not part.job.done.done()]
        if not parts:
            return []
        segments = [part.segments for part in parts]
        try:
            found = self.metric.checked_statistics(
                segments[0] if len(segments) == 1 else concatenate(segments)
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, the request is told
            if len(parts) == 1:
                with suppress(InvalidStateError):  # it was cancelled
                    parts[0].job.done.set_exception(error)
                return []
            # One request's texts are no concern of the others.
            return [scored for part in parts for scored in self._score([part])]
        start = 0
        for part in parts:
            end = start + part.end - part.start
            _fill(part.job, found[start:end])
            start = end
        return parts


def _alike(first: Job, other: Job) -> bool:
    """Whether two jobs may share a batch: both with sources or both without, neither whole."""
    has_sources = (first.segments.sources is None) == (other.segments.sources is None)
    return has_sources and not first.whole and not other.whole


def _end(job: Job, count: int, characters: int) -> int:
    """Where a slice ends: after so many segments, or so much text, and at least one."""
    room = min(SLICE_CHARACTERS, characters)
    end = job.at
    while end < min(job.at + count, len(job.segments)):
        room -= _characters(job, end)
        if room < 0 and end > job.at:
            break
        end += 1
    return end


def _size(part: _Part) -> int:
    return sum(_characters(part.job, row) for row in range(part.start, part.end))


def _characters(job: Job, row: int) -> int:
    segments = job.segments
    return len(segments.hypotheses[row]) + sum(map(len, segments.references[row]))


def _fill(job: Job, statistics: FloatArray) -> None:
    job.parts.append(statistics)
    if sum(map(len, job.parts)) == len(job.segments):
        with suppress(InvalidStateError):
            job.done.set_result(np.concatenate(job.parts))
