"""Comparisons, rankings and explanations, each in a thread of its own.

Scoring goes through the queues, in turns with all other requests. What is left to the threads is
arithmetic on the statistics and the alignment of words, which a few of them do at a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, TypeVar

from adequa.agreement.sources import Source
from adequa.comparison.compare import Outputs, compare_outputs
from adequa.comparison.ranking import rank_by_wins, win_probabilities
from adequa.comparison.results import Comparison
from adequa.errors import AdequaError
from adequa.explanation.explain import NEEDS_REFERENCES, explain_segments
from adequa.explanation.results import Explanation
from adequa.languages import TargetLanguage
from adequa.learned.pairwise.metric import PairwiseRanker
from adequa.metrics.base import Metric
from adequa.metrics.language import remaining_remarks
from adequa.progress import Progress
from adequa.segments import FloatArray, Segments
from adequa.service.limits import Limits, RequestError
from adequa.service.queue import MetricQueue, Submission
from adequa.service.reading import refusal
from adequa.service.schemas import CompareRequest, ExplainRequest, RankRequest
from adequa.service.scoring import RequestedTexts, concatenate_texts, language_remarks
from adequa.statistics.settings import ComparisonSettings

_COMPUTING = 2  # tasks that compute at a time; with more of them, each would only be slower
_POLL = 0.1  # seconds between two looks at the progress of a task

T = TypeVar("T")


class TaskCancelled(Exception):  # noqa: N818 - nothing went wrong
    """Nobody waits for the result of a task any more."""


class BackgroundTask(Generic[T]):
    """Long work for one request: its progress, its result, and how to cancel it.

    Of the threads that run tasks, only those compute that hold one of a few `slots`.
    """

    def __init__(self, total: int, slots: threading.Semaphore) -> None:
        self.total = total  # texts to score, or segments to explain
        self.stage = "Waiting"
        self.result: Future[T] = Future()
        self._slots = slots
        self._lock = threading.Lock()
        self._submission: Submission | None = None
        self._counts_submission = True
        self._finished = 0
        self._is_cancelled = False

    @property
    def progress(self) -> dict[str, Any]:
        """The stage of the task, and how many of its texts are finished."""
        with self._lock:
            submission = self._submission if self._counts_submission else None
            finished = self._finished + (0 if submission is None else submission.position)
        return {"stage": self.stage, "scored": finished, "total": self.total}

    async def wait(self) -> T:
        """The result, once it is complete."""
        return await asyncio.wrap_future(self.result)

    async def progress_updates(self) -> AsyncGenerator[dict[str, Any], None]:
        """The progress whenever it changes, until the task ends."""
        waiting = asyncio.wrap_future(self.result)
        # An error is raised where the result is awaited; asyncio shall not log it here.
        waiting.add_done_callback(lambda each: each.cancelled() or each.exception())
        last = None
        while not (await asyncio.wait({waiting}, timeout=_POLL))[0]:
            progress = self.progress
            if progress != last:
                last = progress
                yield progress

    def cancel(self) -> None:
        """Drop what waits in a queue, and end the task at its next step."""
        with self._lock:
            self._is_cancelled = True
            if self._submission is not None:
                self._submission.cancel()
        self.result.cancel()

    def check(self, *_: object) -> None:
        """Raise if the task was cancelled; called between the steps of its work."""
        if self._is_cancelled:
            raise TaskCancelled

    def enter(self, stage: str) -> None:
        """Begin a stage of the work."""
        self.check()
        self.stage = stage

    def advance(self, count: int) -> None:
        """Count texts as finished."""
        self.check()
        with self._lock:
            self._finished += count

    @contextmanager
    def slot_released(self) -> Iterator[None]:
        """Let another task compute while this one waits for something."""
        self._slots.release()
        try:
            yield
        finally:
            self._slots.acquire()

    def score(self, queue: MetricQueue, segments: Segments, *, counts: bool = True) -> FloatArray:
        """Statistics of segments, computed by the queue of a metric.

        They count as finished texts of the task, unless `counts` is false.
        """
        with self._lock:
            self.check()
            submission = self._submission = queue.submit(segments, admitted=True)
            self._counts_submission = counts
        try:
            with self.slot_released():
                return submission.result.result()
        except CancelledError:
            raise TaskCancelled from None
        finally:
            with self._lock:
                self._submission = None
                self._finished += len(segments) if counts else 0

    def run(self, work: Callable[[BackgroundTask[T]], T]) -> None:
        """Do the work as soon as there is a slot."""
        if not self.result.set_running_or_notify_cancel():
            return
        try:
            with self._slots:
                self.check()
                self.result.set_result(work(self))
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            self.result.set_exception(error)


class TaskPool:
    """Threads for long work of a kind, such as comparisons; `limit` tasks may run or wait."""

    def __init__(self, limit: int, kind: str) -> None:
        self._limit, self._kind = limit, kind
        self._pool = ThreadPoolExecutor(limit, thread_name_prefix=kind)
        self._slots = threading.Semaphore(_COMPUTING)
        self._tasks: set[BackgroundTask[Any]] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._tasks)

    def start(self, work: Callable[[BackgroundTask[T]], T], total: int) -> BackgroundTask[T]:
        """Start a task with `total` texts."""
        with self._lock:
            count = len(self._tasks)
            if count >= self._limit:
                raise RequestError(
                    429,
                    f"{count} {self._kind} are being made or wait; try again later.",
                    retry_after="5",
                )
            task: BackgroundTask[T] = BackgroundTask(total, self._slots)
            self._tasks.add(task)
        running = self._pool.submit(task.run, work)
        running.add_done_callback(lambda _: self._remove(task))
        return task

    def close(self) -> None:
        """Cancel all tasks: the requests that waited for them have ended before."""
        with self._lock:
            tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _remove(self, task: BackgroundTask[Any]) -> None:
        with self._lock:
            self._tasks.remove(task)


def comparison_settings(
    request: CompareRequest, limits: Limits, outputs: Outputs, metrics: int
) -> ComparisonSettings:
    """The settings of a comparison; raises if it would take too long."""
    systems = len(outputs.names)
    settings = ComparisonSettings(
        resamples=request.resamples,
        swaps=request.swaps,
        confidence=request.confidence,
        alpha=request.alpha,
        clusters=request.clusters,
        seed=request.seed,
        like_sacrebleu=request.like_sacrebleu,
    ).for_systems(systems)
    swaps = settings.swap_count
    limits.check_tests(swaps, systems=systems, width=1, metrics=metrics)
    limits.check_draws(
        settings.resamples, swaps, segments=len(outputs), systems=systems, metrics=metrics
    )
    return settings


def compare_queued(
    outputs: Outputs,
    queues: Mapping[str, MetricQueue],
    settings: ComparisonSettings,
    limits: Limits,
    task: BackgroundTask[Any],
    *,
    target: TargetLanguage,
) -> Comparison:
    """The comparison, as `adequa compare` computes it."""
    queue_of = {id(queue.metric): queue for queue in queues.values()}

    def compute(metric: Metric, segments: Segments) -> FloatArray:
        statistics = task.score(queue_of[id(metric)], segments)
        limits.check_tests(
            settings.swap_count,
            systems=len(outputs.names),
            width=statistics.shape[1],  # which is not known before
            metrics=len(queues),
        )
        return statistics

    sources = [
        Source(label, queue.metric.higher_is_better, metric=queue.metric)
        for label, queue in queues.items()
    ]
    progress = Progress(stage=task.enter, step=task.check)
    comparison = compare_outputs(
        outputs, sources, settings, language=target, progress=progress, compute=compute
    )
    hypotheses = [text for texts in outputs.hypotheses for text in texts]
    remarks = remaining_remarks(
        language_remarks(hypotheses, queues),
        (metric.warning for metric in comparison.metrics),
        comparison.notes,
    )
    comparison = replace(comparison, notes=(*comparison.notes, *remarks))
    task.enter("Looking where they differ")
    _ = comparison.dimensions  # computed here, because every answer holds them
    return comparison


def rank_systems(
    systems: Mapping[str, Segments],
    queue: MetricQueue,
    request: RankRequest,
    task: BackgroundTask[Any],
    *,
    target: TargetLanguage,
) -> dict[str, Any]:
    """The ranking, in the shape of `adequa rank --format json`."""
    metric = queue.metric
    progress = Progress(stage=task.enter)
    if isinstance(metric, PairwiseRanker):
        # It compares all outputs of a segment at once, which no queue does.
        with task.slot_released(), queue.metric_lock:
            wins = win_probabilities(metric, systems, progress)
    else:
        wins = win_probabilities(
            metric, systems, progress, lambda _, segments: task.score(queue, segments)
        )
    task.enter("Resampling")
    settings = ComparisonSettings(
        resamples=request.resamples, confidence=request.confidence, seed=request.seed
    )
    first = next(iter(systems.values()))
    has_sources = first.sources is not None
    signature = str(metric.segment_signature(first.reference_count, sources=has_sources))
    ranking = rank_by_wins(list(systems), wins, settings, signature=signature, done=task.check)
    ranking = replace(ranking, language=target, warning=metric.language_warning(target))
    return ranking.to_dict(segments=request.segments)


def check_explainable(systems: Mapping[str, Segments]) -> None:
    """Raise where there are no references, whose differences an explanation is of."""
    if not all(segments.has_references for segments in systems.values()):
        raise refusal(AdequaError(NEEDS_REFERENCES))


def explain_queued(
    texts: RequestedTexts, queue: MetricQueue, request: ExplainRequest, task: BackgroundTask[Any]
) -> Explanation:
    """The explanation, as `adequa.explain` computes it."""
    task.enter("Explaining")
    result = explain_segments(
        systems_together(texts.systems),
        queue.metric,
        language=texts.target,
        worst=request.worst,
        thorough=request.thorough,
        progress=Progress(texts_scored=task.advance),
        compute=lambda _, segments: task.score(queue, segments, counts=False),
    )
    hypotheses = [text for segments in texts.systems.values() for text in segments.hypotheses]
    remarks = remaining_remarks(
        language_remarks(hypotheses, {queue.metric.name: queue}), [result.warning], texts.notes
    )
    return replace(result, notes=(*texts.notes, *result.notes, *remarks))


def systems_together(systems: Mapping[str, Segments]) -> Segments:
    """The segments of all systems, one after the other, with the names of their systems."""
    names = tuple(name for name, segments in systems.items() for _ in range(len(segments)))
    together = concatenate_texts(list(systems.values()))
    return replace(together, ids={"system": names})
