"""Scoring for `/v1/score`: texts of a request go to the queues of its metrics and are summed up."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from adequa.comparison.compare import segments_from_lists
from adequa.errors import AdequaError
from adequa.languages import UNKNOWN_LANGUAGE, TargetLanguage
from adequa.learned.packed.metric import PackedPair, ShippedMetric
from adequa.metrics.base import Metric
from adequa.metrics.english import count_foreign, foreign_remark
from adequa.metrics.language import (
    identical_outputs,
    other_notes,
    read_language,
    remaining_remarks,
    system_notes,
)
from adequa.scoring.results import RunningScores, ScoringResult
from adequa.segments import UNNAMED, FloatArray, Segments
from adequa.service.limits import LONGEST_NAME, Limits, RequestError
from adequa.service.queue import MetricQueue, Submission
from adequa.service.reading import read_files, refusal
from adequa.service.schemas import RequestRow, ScoreRequest, TextsRequest, parse

_WINDOW = 256  # rows of a stream that are scored at a time
_SMALL = 250  # segments that the event loop may process without holding up other requests
_MOST_STREAMED_SYSTEMS = 1_000

T = TypeVar("T")


async def off_loop(segments: int, work: Callable[..., T], *arguments: Any) -> T:
    """Run work on so many segments: in a thread, unless they are few."""
    return work(*arguments) if segments < _SMALL else await asyncio.to_thread(work, *arguments)


class RequestedTexts(NamedTuple):
    """The segments of each system of a request, their language, and the name of the test set."""

    systems: Mapping[str, Segments]
    target: TargetLanguage
    test_set: str = ""
    notes: Sequence[str] = ()  # on the language


async def request_texts(request: TextsRequest, limits: Limits) -> RequestedTexts:
    """The texts of a request, from its files if it has any."""

    def texts() -> RequestedTexts:
        if request.files is None:
            systems = segments_by_system(request, limits)
            stream = read_language([next(iter(systems.values()))], request.language)
            return RequestedTexts(systems, stream.target, notes=other_notes(stream))
        _check_alternatives(request)
        read = read_files(request, limits)
        _check_names(read.systems, limits)
        return RequestedTexts(read.systems, read.language, read.test_set, read.notes)

    # Whether files are large is known only after they are read.
    return await off_loop(_SMALL if request.files else segment_count(request), texts)


def check_reads(systems: Mapping[str, Segments], metrics: Iterable[Metric]) -> None:
    """Raise, before anything is scored, where a metric lacks texts that it reads."""
    try:
        for metric in metrics:
            for segments in systems.values():
                metric.check_reads(segments)
    except AdequaError as error:
        raise refusal(error) from None


def with_language(
    results: ScoringResult, queues: Mapping[str, MetricQueue], target: TargetLanguage
) -> ScoringResult:
    """Results that name the language, with a warning at metrics that do not know it."""
    metrics = tuple(
        replace(metric, warning=queue.metric.language_warning(target))
        for metric, queue in zip(results.metrics, queues.values(), strict=True)
    )
    return replace(results, metrics=metrics, language=target)


def segment_count(request: TextsRequest) -> int:
    """The number of hypotheses of a request that has no files."""
    return len(request.rows or ()) + sum(map(len, request.outputs.values()))


async def score_systems(
    systems: Mapping[str, Segments], queues: Mapping[str, MetricQueue], request: ScoreRequest
) -> ScoringResult:
    """The results of a request, as `adequa score` computes them."""
    count = sum(map(len, systems.values()))
    statistics = await _statistics(list(systems.values()), queues)
    running = RunningScores(_metrics(queues), keep_segments=request.segments, by=request.by)

    def add_up() -> ScoringResult:
        for index, (name, segments) in enumerate(systems.items()):
            running.add_statistics(name, segments, _of_system(statistics, index))
        return running.results()

    return await off_loop(count, add_up)


def text_notes(
    texts: RequestedTexts, results: ScoringResult, queues: Mapping[str, MetricQueue]
) -> list[str]:
    """Notes on texts: what the command line notes, and remarks of the metrics."""
    notes = list(texts.notes)
    for name, segments in texts.systems.items():
        notes += system_notes(
            name,
            segments,
            texts.target,
            identical=identical_outputs(segments),
            count=len(segments),
        )
    notes += results.count_notes()
    hypotheses = [text for segments in texts.systems.values() for text in segments.hypotheses]
    warnings = [metric.warning for metric in results.metrics]
    return [*notes, *remaining_remarks(language_remarks(hypotheses, queues), warnings, notes)]


def language_remarks(hypotheses: Sequence[str], queues: Mapping[str, MetricQueue]) -> list[str]:
    """Remarks of metrics for English on other languages.

    The metrics count too, but over all requests.
    """
    english = [
        label
        for label, queue in queues.items()
        if isinstance(queue.metric, (PackedPair, ShippedMetric))
    ]
    if not english:
        return []
    foreign, total = count_foreign(hypotheses)
    return [str(foreign_remark(label, foreign, total)) for label in english if foreign]


async def score_lines(
    lines: AsyncIterator[list[bytes]],
    queues: Mapping[str, MetricQueue],
    limits: Limits,
    target: TargetLanguage = UNKNOWN_LANGUAGE,
) -> AsyncGenerator[list[dict[str, Any]] | ScoringResult, None]:
    """One answer for each row of a stream in its order, and at last the results of all.

    What was read of the stream is scored before more is read, so that memory does not grow with it.
    """
    for queue in queues.values():
        if queue.metric.needs_whole_corpus:
            raise RequestError(
                422,
                f"{queue.metric.name} looks at a whole corpus, and a stream has no end in sight; "
                "send it in one request.",
            )
    running = RunningScores(_metrics(queues))
    count = 0
    async for window in _windows(lines, limits):
        rows_of = rows_by_system(window)
        systems = {name: _segments([window[row] for row in rows]) for name, rows in rows_of.items()}
        # The stream as a whole was admitted, and takes its turns.
        check_reads(systems, _metrics(queues).values())
        statistics = await _statistics(list(systems.values()), queues, admitted=True)
        for index, (name, segments) in enumerate(systems.items()):
            running.add_statistics(name, segments, _of_system(statistics, index))
        scores = {}
        for label, queue in queues.items():
            column = np.empty(len(window))
            for rows, of_system in zip(rows_of.values(), statistics[label], strict=True):
                column[rows] = queue.metric.segment_scores(of_system)
            scores[label] = column.tolist()
        yield [
            {
                "segment": count + row + 1,
                "scores": {label: column[row] for label, column in scores.items()},
            }
            for row in range(len(window))
        ]
        count += len(window)
    yield with_language(running.results(), queues, target)


async def _windows(
    batches: AsyncIterator[list[bytes]], limits: Limits
) -> AsyncIterator[list[RequestRow]]:
    """Rows that arrived together, so that a client may wait for answers before it sends more.

    The rows before a wrong line are scored.
    """
    count = 0
    has_source: dict[str | None, bool] = {}  # by system
    has_reference: set[bool] = set()
    async for lines in batches:
        window: list[RequestRow] = []
        for line in lines:
            count += 1
            try:
                row = parse(RequestRow, line)
                if _lacks_both(row):
                    raise _incomplete(row)
                _check_texts([row.mt], _given([row.ref]), _given([row.src]), limits, count)
                _check_streamed_system(row, has_source)
                has_reference.add(row.ref is not None)
                _check_alike(has_reference)
            except RequestError as error:
                if window:
                    yield window
                raise RequestError(error.status, f"Line {count:,}: {error.sentence}") from None
            window.append(row)
            if len(window) == _WINDOW:
                yield window
                window = []
        if window:
            yield window


def _check_streamed_system(row: RequestRow, has_source: dict[str | None, bool]) -> None:
    """Raise if a row differs from earlier ones of its system, or there are too many systems.

    A row is compared with all rows before it, so that the way in which a stream is cut into packets
    makes no difference.
    """
    if has_source.setdefault(row.system, row.src is not None) != (row.src is not None):
        raise RequestError(
            422,
            "Some rows of a system have src and others have none; give it to all, or to none.",
        )
    if len(has_source) > _MOST_STREAMED_SYSTEMS:
        raise RequestError(
            422, f"This server takes {_MOST_STREAMED_SYSTEMS:,} systems in one stream at most."
        )


async def _statistics(
    systems: Sequence[Segments], queues: Mapping[str, MetricQueue], *, admitted: bool = False
) -> dict[str, list[FloatArray]]:
    """Statistics of each system by each metric; all are dropped if one queue refuses."""
    together = concatenate_texts(systems)
    ends = np.cumsum([0, *map(len, systems)]).tolist()
    submissions: dict[str, list[Submission]] = {label: [] for label in queues}
    try:
        for label, queue in queues.items():
            for part in systems if queue.metric.needs_whole_corpus else [together]:
                submissions[label].append(queue.submit(part, admitted=admitted))
        pending = [each for of_queue in submissions.values() for each in of_queue]
        await asyncio.gather(*(asyncio.wrap_future(each.result) for each in pending))
    finally:
        for of_queue in submissions.values():
            for each in of_queue:
                each.cancel()  # which does nothing to finished ones
    statistics = {}
    for label, of_queue in submissions.items():
        results = [each.result.result() for each in of_queue]
        if not queues[label].metric.needs_whole_corpus:
            results = [results[0][start:end] for start, end in pairwise(ends)]
        statistics[label] = results
    return statistics


def _metrics(queues: Mapping[str, MetricQueue]) -> dict[str, Metric]:
    return {label: queue.metric for label, queue in queues.items()}


def _of_system(statistics: Mapping[str, Sequence[FloatArray]], index: int) -> dict[str, FloatArray]:
    """The statistics of one system, by metric label."""
    return {label: of_systems[index] for label, of_systems in statistics.items()}


def concatenate_texts(systems: Sequence[Segments]) -> Segments:
    """The texts of all systems, one after the other; columns that differ are left out."""
    if len(systems) == 1:
        return systems[0]
    has_sources = all(part.sources is not None for part in systems)
    return Segments(
        tuple(text for part in systems for text in part.hypotheses),
        tuple(references for part in systems for references in part.references),
        tuple(text for part in systems for text in part.sources or ()) if has_sources else None,
    )


def segments_by_system(request: TextsRequest, limits: Limits) -> dict[str, Segments]:
    """The segments of each system of a request without files, in the order of the request."""
    _check_alternatives(request)
    if request.rows is not None:
        rows = request.rows
        limits.check_segments(len(rows))
        incomplete = next((row for row, each in enumerate(rows) if _lacks_both(each)), None)
        if incomplete is not None:
            raise _incomplete(rows[incomplete], f"rows, item {incomplete + 1:,}: ")
        _check_alike({row.ref is not None for row in rows})
        systems = {
            name: _segments_of_rows([rows[index] for index in selected], limits)
            for name, selected in rows_by_system(rows).items()
        }
    else:
        _check_names(request.outputs, limits)
        systems = _segments_of_columns(request, limits)
    if not systems:
        raise AdequaError("There is nothing to score: the request has no segments.")
    _check_names(systems, limits)
    return systems


def _lacks_both(row: RequestRow) -> bool:
    return row.ref is None and row.src is None


def _incomplete(row: RequestRow, place: str = "") -> RequestError:
    """The error for a row with neither references nor a source."""
    is_null = "ref" in row.model_fields_set
    problem = "must be a string or a list of strings, not null" if is_null else "is missing"
    return RequestError(
        422, f'{place}"ref" {problem}. Rows need it, or "src" for metrics that read sources.'
    )


def _check_alike(has_reference: Collection[bool]) -> None:
    if len(has_reference) > 1:
        raise RequestError(
            422, "Some rows have ref and others have none; give it to all, or to none."
        )


def _given(cells: Iterable[T | None]) -> list[T]:
    """The cells that are not null."""
    return [cell for cell in cells if cell is not None]


def rows_by_system(rows: Sequence[RequestRow]) -> dict[str, list[int]]:
    """The indices of the rows of each system, in the order of the request."""
    indices: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        indices.setdefault(UNNAMED if row.system is None else row.system, []).append(index)
    return indices


def _check_alternatives(request: TextsRequest) -> None:
    columns = (request.systems, request.references, request.sources, request.documents)
    if request.files is not None:
        texts = (request.rows, *columns[1:], request.outputs or None)
        if any(each is not None for each in texts):
            raise AdequaError("Give files or texts, and not both.")
        return
    if request.rows is not None and any(column is not None for column in columns):
        raise AdequaError("Give rows, or systems with their references, and not both.")
    has_others = request.references is not None or request.sources is not None
    if request.rows is None and (request.systems is None or not has_others):
        raise AdequaError(
            "There are no texts: give rows, or systems with their references or sources."
        )
    if isinstance(request.systems, list):
        raise AdequaError("Names of systems are columns of a table, and there are no files.")
    if request.columns is not None:
        raise AdequaError("Columns are those of a table, and there are no files.")


def _segments(rows: Sequence[RequestRow]) -> Segments:
    """The texts of rows of one system."""
    return Segments(
        tuple(row.mt for row in rows),
        tuple(tuple(row.ref or ()) for row in rows),
        _all_or_none("src", [row.src for row in rows]),
    )


def _segments_of_rows(rows: Sequence[RequestRow], limits: Limits) -> Segments:
    segments = _segments(rows)
    references = segments.references if segments.has_references else ()
    _check_texts(segments.hypotheses, references, segments.sources or (), limits, 1)
    documents = _all_or_none("doc", [row.doc for row in rows])
    return segments if documents is None else replace(segments, ids={"doc": documents})


def _segments_of_columns(request: TextsRequest, limits: Limits) -> dict[str, Segments]:
    limits.check_segments(segment_count(request))
    references = None
    if request.references or request.sources is None:  # `/v1/read` answers with [] for none
        references = [tuple(each) for each in request.references or ()]
    kind, others = (
        ("sources", request.sources or ()) if references is None else ("references", references)
    )
    documents = request.documents
    if documents is not None and len(documents) != len(others):
        raise AdequaError(
            f"There are {kind} for {len(others)} segments but {len(documents)} documents."
        )
    hypotheses = request.outputs
    for texts in hypotheses.values():
        _check_texts(texts, references or (), request.sources or (), limits, 1)
    systems = segments_from_lists(hypotheses, references, request.sources, "segments")
    ids = {} if documents is None else {"doc": tuple(documents)}
    return {name: replace(segments, ids=ids) for name, segments in systems.items()}


def _check_texts(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    sources: Sequence[str],
    limits: Limits,
    first: int,
) -> None:
    """Raise if texts exceed the limits or a reference is empty; segments count from `first`.

    Without references, sources are not empty.
    """
    limits.check_texts("The hypothesis of segment", hypotheses, first)
    for number, texts in enumerate(references, first):
        if len(texts) > limits.references:
            raise RequestError(
                422,
                f"Segment {number:,} has {len(texts)} references, and this server takes "
                f"{limits.references} at most.",
            )
        if not texts or not all(map(str.strip, texts)):
            raise RequestError(
                422,
                f"Segment {number:,} has an empty reference; every segment needs reference text.",
            )
    for number, source in enumerate(() if references else sources, first):
        if not source.strip():
            raise RequestError(
                422, f"Segment {number:,} has an empty source, and there is no reference either."
            )
    longest = (max(texts, key=len) for texts in references)
    limits.check_texts("A reference of segment", longest, first)
    limits.check_texts("The source of segment", sources, first)


def _all_or_none(field: str, cells: Sequence[str | None]) -> tuple[str, ...] | None:
    values = tuple(cell for cell in cells if cell is not None)
    if values and len(values) < len(cells):
        raise AdequaError(
            f"Some rows have {field} and others have none; give it to all, or to none."
        )
    return values or None


def _check_names(systems: Collection[str], limits: Limits) -> None:
    limits.check_systems(len(systems))
    for name in systems:
        if len(name) > LONGEST_NAME:
            raise RequestError(
                422,
                f"The name of a system has {len(name):,} characters, and this server takes "
                f"{LONGEST_NAME} at most.",
            )
