"""Long work on behalf of a request: whether somebody still waits for it, and how far it is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager

from adequa.segments import FloatArray, Segments
from adequa.service.lane import Job, Lane


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
