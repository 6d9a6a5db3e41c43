"""What `/v1/score` does: texts of a request go to the lanes of its metrics, and are summed up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import numpy as np

from adequa.errors import AdequaError
from adequa.metrics.base import Metric
from adequa.scoring.results import Results
from adequa.scoring.stream import RunningScores
from adequa.segments import FloatArray, Segments
from adequa.service.lane import Job, Lane
from adequa.service.limits import Limits, Refusal
from adequa.service.offered import Offered, Place
from adequa.service.shapes import Row, ScoreRequest, parsed
from adequa.service.texts import by_system, check_row, systems_of

WINDOW = 256  # rows of a stream that are scored at a time
MANY = 250  # segments that are not looked through between other requests
_MOST_OF_STREAM = 1_000  # systems


async def lanes_of(
    offered: Offered, metrics: Sequence[str], limits: Limits, held: ExitStack
) -> dict[str, Lane]:
    """The lanes of metrics by the name of their column: as short as tells them apart.

    They stay open as long as what is `held`.
    """
    if len(metrics) > limits.metrics:
        raise Refusal(
            422, f"There are {len(metrics)} metrics, and this server takes {limits.metrics}."
        )
    for name in metrics:
        if metrics.count(name) > 1:
            raise AdequaError(f'"{name[:40]}" is given more than once; name each metric once.')
    places = [held.enter_context(offered.using(name)) for name in metrics]
    lanes = [await _opened(place) for place in places]
    names = [lane.metric.name for lane in lanes]
    return {
        name if names.count(name) == 1 else asked: lane
        for asked, name, lane in zip(metrics, names, lanes, strict=True)
    }


async def _opened(place: Place) -> Lane:
    """To open a metric may take a while; one that is open waits for no thread."""
    if place.lane is not None:
        return place.lane
    return await asyncio.to_thread(place.opened)


async def scored(asked: ScoreRequest, lanes: Mapping[str, Lane], limits: Limits) -> Results:
    """The results of a request, as `adequa score` has them."""
    if _count(asked) < MANY:
        systems = systems_of(asked, limits)
    else:
        systems = await asyncio.to_thread(systems_of, asked, limits)
    found = await _statistics(list(systems.values()), lanes)
    running = RunningScores(_metrics(lanes), keep_segments=asked.segments, by=asked.by)

    def summed() -> Results:
        for index, (name, segments) in enumerate(systems.items()):
            running.add_statistics(name, segments, _of_system(found, index))
        return running.results()

    if sum(map(len, systems.values())) < MANY:
        return summed()
    return await asyncio.to_thread(summed)


def _metrics(lanes: Mapping[str, Lane]) -> dict[str, Metric]:
    return {label: lane.metric for label, lane in lanes.items()}


def _of_system(statistics: Mapping[str, Sequence[FloatArray]], index: int) -> dict[str, FloatArray]:
    """The statistics of one system, by metric label."""
    return {label: of_systems[index] for label, of_systems in statistics.items()}


def _count(asked: ScoreRequest) -> int:
    systems = asked.systems or {}
    return len(asked.rows or ()) + len(systems) + sum(map(len, systems.values()))


async def scored_lines(
    given: AsyncIterator[list[bytes]], lanes: Mapping[str, Lane], limits: Limits
) -> AsyncGenerator[list[dict[str, Any]] | Results, None]:
    """Lines, one for each row of a stream in its order, and in the end the results of all.

    What is read of the stream is scored before more of it is, so that it never fills the memory.
    """
    for lane in lanes.values():
        if lane.metric.needs_whole_corpus:
            raise Refusal(
                422,
                f"{lane.metric.name} looks at a whole corpus, and a stream has no end in sight; "
                "send it in one request.",
            )
    metrics = _metrics(lanes)
    running = RunningScores(metrics)
    count = 0
    async for window in _windows(given, limits):
        systems = _parted(window)
        # The stream as a whole was let in, and takes its turns.
        parts = [part for _, part in systems.values()]
        found = await _statistics(parts, lanes, admitted=True)
        scores: dict[str, FloatArray] = {}
        for label, metric in metrics.items():
            scores[label] = np.empty(len(window))
            for (places, _), rows in zip(systems.values(), found[label], strict=True):
                scores[label][places] = metric.segment_scores(rows)
        for index, (name, (_, part)) in enumerate(systems.items()):
            running.add_statistics(name, part, _of_system(found, index))
        columns = {label: column.tolist() for label, column in scores.items()}
        yield [
            {
                "segment": count + place + 1,
                "scores": {label: column[place] for label, column in columns.items()},
            }
            for place in range(len(window))
        ]
        count += len(window)
    yield running.results()


async def _windows(given: AsyncIterator[list[bytes]], limits: Limits) -> AsyncIterator[list[Row]]:
    """Rows that have come together, so that a client may wait for answers before it sends more.

    Those before a line that is wrong are scored.
    """
    count = 0
    has_source: dict[str | None, bool] = {}  # by system
    async for lines in given:
        window: list[Row] = []
        for line in lines:
            count += 1
            try:
                row = parsed(Row, line)
                check_row(row, limits, count)
                _check_system(row, has_source)
            except Refusal as error:
                if window:
                    yield window
                raise Refusal(error.status, f"Line {count:,}: {error.sentence}") from None
            window.append(row)
            if len(window) == WINDOW:
                yield window
                window = []
        if window:
            yield window


def _check_system(row: Row, has_source: dict[str | None, bool]) -> None:
    """Raise where a row is not like those of its system before it, or there are many systems.

    Rows are held against all before them, not those that came with them: how the bytes of a stream
    arrive makes no difference.
    """
    if has_source.setdefault(row.system, row.src is not None) != (row.src is not None):
        raise Refusal(
            422,
            "Some rows of a system have src and others have none; give it to all, or to none.",
        )
    if len(has_source) > _MOST_OF_STREAM:
        raise Refusal(422, f"This server takes {_MOST_OF_STREAM:,} systems in one stream at most.")


def _parted(window: Sequence[Row]) -> dict[str, tuple[list[int], Segments]]:
    """The rows of a window by system: which they are, and their segments."""
    return {
        name: (places, _segments([window[place] for place in places]))
        for name, places in by_system(window).items()
    }


def _segments(rows: Sequence[Row]) -> Segments:
    """Rows of one system that were checked; a stream has no scores by document."""
    sources = tuple(row.src for row in rows if row.src is not None)
    return Segments(
        tuple(row.mt for row in rows), tuple(tuple(row.ref) for row in rows), sources or None
    )


async def _statistics(
    systems: Sequence[Segments], lanes: Mapping[str, Lane], *, admitted: bool = False
) -> dict[str, list[FloatArray]]:
    """Statistics of each system from each lane; all is dropped where one of them refuses."""
    together = _joined(systems)
    ends = np.cumsum([0, *map(len, systems)]).tolist()
    jobs: dict[str, list[Job]] = {}
    try:
        for label, lane in lanes.items():
            parts = systems if lane.metric.needs_whole_corpus else [together]
            jobs[label] = []
            for part in parts:
                jobs[label].append(lane.submit(part, admitted=admitted))
        waiting = [job for of_lane in jobs.values() for job in of_lane]
        await asyncio.gather(*(asyncio.wrap_future(job.done) for job in waiting))
    finally:
        for of_lane in jobs.values():
            for job in of_lane:
                job.cancel()  # which does nothing to those that are done
    found = {}
    for label, of_lane in jobs.items():
        results = [job.done.result() for job in of_lane]
        if lanes[label].metric.needs_whole_corpus:
            found[label] = results
        else:
            found[label] = [results[0][start:end] for start, end in pairwise(ends)]
    return found


def _joined(systems: Sequence[Segments]) -> Segments:
    """All systems one after the other, with what lanes read of them."""
    if len(systems) == 1:
        return systems[0]
    has_sources = all(part.sources is not None for part in systems)
    return Segments(
        tuple(text for part in systems for text in part.hypotheses),
        tuple(several for part in systems for several in part.references),
        tuple(text for part in systems for text in part.sources or ()) if has_sources else None,
    )
