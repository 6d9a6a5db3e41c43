"""What `/v1/compare` and `/v1/rank` do: long work in threads of its own.

Its scoring goes through the lanes, in turns with all other requests; what is left to the threads is
arithmetic on what came back, which a few of them do at a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from adequa.agreement.sources import Source
from adequa.comparison.compare import compare_outputs
from adequa.comparison.ranking import rank_by_wins, win_probabilities
from adequa.comparison.results import Comparison
from adequa.comparison.settings import ComparisonSettings
from adequa.comparison.systems import Outputs
from adequa.learned.packed.metric import Adequa, PackedPair, count_foreign, foreign_remark
from adequa.learned.pairwise.metric import PairwiseRanker
from adequa.metrics.base import Metric
from adequa.metrics.registry import load_metric
from adequa.pretrained import ranker_folder
from adequa.progress import Progress
from adequa.segments import FloatArray, Segments
from adequa.service.delegating import Asked
from adequa.service.lane import Lane
from adequa.service.limits import Limits, Refusal
from adequa.service.shapes import CompareRequest, RankRequest

_AT_ONCE = 2  # pieces that compute; more of them would only make each one slower
_LOOK = 0.1  # seconds between two looks at how far a piece is

Result = TypeVar("Result")


@dataclass(slots=True)
class Piece(Generic[Result]):
    """A piece of work, and how far it is."""

    asked: Asked
    total: int  # texts to score
    done: Future[Result]

    @property
    def told(self) -> dict[str, Any]:
        """How far it is, in words and numbers."""
        return {"stage": self.asked.stage, "scored": self.asked.scored, "total": self.total}

    async def wait(self) -> Result:
        """What came of it."""
        return await asyncio.wrap_future(self.done)

    async def moves(self) -> AsyncGenerator[dict[str, Any], None]:
        """How far it is, whenever that is something else, until it is done."""
        waited = asyncio.wrap_future(self.done)
        # What went wrong is told where the result is asked for, and logged nowhere.
        waited.add_done_callback(lambda each: each.cancelled() or each.exception())
        said = None
        while not (await asyncio.wait({waited}, timeout=_LOOK))[0]:
            if self.told != said:
                said = self.told
                yield said

    def stop(self) -> None:
        """Nobody waits for it."""
        self.asked.stop()
        self.done.cancel()


class Pieces:
    """Threads for long work; so much of it is taken on, and no more."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.comparisons, thread_name_prefix="comparing")
        self._turns = threading.Semaphore(_AT_ONCE)
        self._going: set[Asked] = set()  # pieces that are made or wait
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._going)

    def begin(self, work: Callable[[Asked], Result], total: int) -> Piece[Result]:
        """Begin a piece of work; it computes when it is its turn."""
        with self._lock:
            count = len(self._going)
            if count >= self._limits.comparisons:
                raise Refusal(
                    429,
                    f"{count} comparisons are being made or wait; try again later.",
                    retry_after="5",
                )
            asked = Asked(self._turns)
            self._going.add(asked)
        done = self._pool.submit(self._in_turn, work, asked)
        done.add_done_callback(lambda _: self._ended(asked))
        return Piece(asked, total, done)

    def _in_turn(self, work: Callable[[Asked], Result], asked: Asked) -> Result:
        with self._turns:
            asked.check()
            return work(asked)

    def close(self) -> None:
        """End what was begun: requests that wait for it have ended before."""
        with self._lock:
            going = list(self._going)
        for asked in going:
            asked.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _ended(self, asked: Asked) -> None:
        with self._lock:
            self._going.remove(asked)


def settings_of(
    asked: CompareRequest, limits: Limits, outputs: Outputs, metrics: int
) -> ComparisonSettings:
    """How a request wants systems compared."""
    settings = ComparisonSettings(
        resamples=asked.resamples,
        swaps=asked.swaps,
        confidence=asked.confidence,
        alpha=asked.alpha,
        clusters=asked.clusters,
        seed=asked.seed,
        like_sacrebleu=asked.like_sacrebleu,
    ).for_systems(len(outputs.names))
    limits.check_tests(settings.swap_count, systems=len(outputs.names), width=1, metrics=metrics)
    limits.check_draws(
        settings.resamples,
        settings.swap_count,
        segments=len(outputs),
        systems=len(outputs.names),
        metrics=metrics,
    )
    return settings


def comparison(
    outputs: Outputs,
    lanes: Mapping[str, Lane],
    settings: ComparisonSettings,
    limits: Limits,
    asked: Asked,
) -> Comparison:
    """The comparison, as `adequa compare` makes it."""

    by_metric = {id(lane.metric): lane for lane in lanes.values()}

    def compute(metric: Metric, segments: Segments) -> FloatArray:
        statistics = asked.wait(by_metric[id(metric)], segments)
        # How wide they are is not known before.
        limits.check_tests(
            settings.swap_count,
            systems=len(outputs.names),
            width=statistics.shape[1],
            metrics=len(lanes),
        )
        return statistics

    sources = [
        Source(label, lane.metric.higher_is_better, metric=lane.metric)
        for label, lane in lanes.items()
    ]
    progress = Progress(stage=asked.begin, step=asked.check)
    found = compare_outputs(outputs, sources, settings, progress=progress, compute=compute)
    said = [text for texts in outputs.hypotheses for text in texts]
    found = replace(found, notes=(*found.notes, *remarks(said, lanes)))
    asked.begin("Looking where they differ")
    _ = found.dimensions  # which are part of every answer
    return found


def remarks(hypotheses: Sequence[str], lanes: Mapping[str, Lane]) -> list[str]:
    """What metrics for one language say of others; they count themselves, but over all requests."""
    english = [
        label for label, lane in lanes.items() if isinstance(lane.metric, (Adequa, PackedPair))
    ]
    if not english:
        return []
    foreign, seen = count_foreign(hypotheses)
    return [str(foreign_remark(label, foreign, seen)) for label in english if foreign]


class Rankers:
    """The ranker that comes along, which has no lane: it sees all outputs of a segment at once."""

    def __init__(self) -> None:
        self._using = threading.Lock()
        self._shipped: Metric | None = None

    def ranking(
        self, systems: Mapping[str, Segments], lane: Lane | None, wanted: RankRequest, asked: Asked
    ) -> dict[str, Any]:
        """The ranking, in the shape of `adequa rank --format json`."""
        outputs = list(systems.values())
        training = Progress(stage=asked.begin)
        if lane is None or isinstance(lane.metric, PairwiseRanker):
            # One at a time, and not in the turns of those that compute with what was scored.
            with asked.aside(), self._using if lane is None else lane.using:
                metric = self._opened() if lane is None else lane.metric
                won = win_probabilities(metric, outputs, training)
        else:
            metric, queue = lane.metric, lane
            won = win_probabilities(
                metric, outputs, training, lambda _, segments: asked.wait(queue, segments)
            )
        asked.begin("Resampling")
        settings = ComparisonSettings(
            resamples=wanted.resamples, confidence=wanted.confidence, seed=wanted.seed
        )
        signature = str(metric.segment_signature(outputs[0].reference_count))
        ranking = rank_by_wins(list(systems), won, settings, signature=signature, done=asked.check)
        return ranking.to_dict(segments=wanted.segments)

    def _opened(self) -> Metric:
        if self._shipped is None:
            self._shipped = load_metric(ranker_folder())
        return self._shipped
