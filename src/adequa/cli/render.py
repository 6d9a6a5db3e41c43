"""Results as text or TSV: from Results to pieces of text, a line or so at a time.

Pieces and not one string, because `--segments` may print millions of rows; their scores stay in
arrays until they are written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from adequa.cli.output import aligned
from adequa.errors import printable
from adequa.scoring.results import MetricResult, Results, SystemResult
from adequa.segments import FloatArray

BEST = "*"
_PIECE = 1000  # scores that are written at a time

# What identifies a row, and its score under each metric.
Row: TypeAlias = tuple[list[str], list[float]]


def as_text(results: Results, decimals: int | None) -> Iterator[str]:
    """An aligned table, the best of each column marked, and the signatures below."""
    if results.has_segments:
        yield from _text_rows(results, ["system", "segment"], decimals)
    else:
        yield from _text_rows(results, ["system"], decimals)
        if results.grouped_by is not None:
            yield "\n"
            yield from _text_rows(results, ["system", results.grouped_by], decimals)
    yield "\n"
    yield _legend(results) + "\n"
    for metric in results.metrics:
        signature = metric.segment_signature if results.has_segments else metric.signature
        yield f"{signature}\n"


def as_tsv(results: Results, decimals: int | None) -> Iterator[str]:
    """One row a system, or a segment or a group where those were asked for; a header on top."""
    header = ["system"]
    if results.has_segments:
        header.append("segment")
    elif results.grouped_by is not None:
        header.append(results.grouped_by)
    yield "\t".join([*header, *(metric.name for metric in results.metrics)]) + "\n"
    for keys, scores in _rows(results, header):
        yield "\t".join([*map(printable, keys), *(_exact(s, decimals) for s in scores)]) + "\n"


def _rows(results: Results, header: Sequence[str]) -> Iterator[Row]:
    """The rows of a table with these key columns."""
    each = _system_rows
    if len(header) > 1:
        each = _segment_rows if results.has_segments else _group_rows
    views = zip(*(metric.systems for metric in results.metrics), strict=True)
    return chain.from_iterable(map(each, views))


def _system_rows(views: Sequence[SystemResult]) -> Iterator[Row]:
    yield [views[0].name], [view.score for view in views]


def _segment_rows(views: Sequence[SystemResult]) -> Iterator[Row]:
    columns = [_scores(view.segments) for view in views if view.segments is not None]
    for number, scores in enumerate(zip(*columns, strict=True), 1):
        yield [views[0].name, str(number)], list(scores)


def _scores(segments: FloatArray) -> Iterator[float]:
    for start in range(0, len(segments), _PIECE):
        yield from segments[start : start + _PIECE].tolist()


def _group_rows(views: Sequence[SystemResult]) -> Iterator[Row]:
    groups = [view.groups for view in views if view.groups is not None]
    for group in groups[0]:
        yield [views[0].name, group], [scores[group] for scores in groups]


def _text_rows(results: Results, header: list[str], decimals: int | None) -> Iterator[str]:
    headings = [
        f"{metric.name} {'↑' if metric.higher_is_better else '↓'}" for metric in results.metrics
    ]
    best = [_best(metric) for metric in results.metrics] if len(header) == 1 else []
    places = [metric.decimals if decimals is None else decimals for metric in results.metrics]

    def cells() -> Iterator[list[str]]:
        yield [*header, *headings]
        for keys, scores in _rows(results, header):
            shown = [
                "–" if math.isnan(score) else f"{score:.{place}f}"
                for score, place in zip(scores, places, strict=True)
            ]
            for position, top in enumerate(best):
                if scores[position] == top:
                    shown[position] = BEST + shown[position]
            yield [*keys, *shown]

    return aligned(cells, right=range(len(header), len(header) + len(headings)))


def _best(metric: MetricResult) -> float | None:
    """The score to mark, where there is anything to choose from."""
    scores = [system.score for system in metric.systems]
    if len(scores) == 1:
        return None
    return max(scores) if metric.higher_is_better else min(scores)


def _legend(results: Results) -> str:
    marks = []
    if len(results.metrics[0].systems) > 1 and not results.has_segments:
        marks.append(f"{BEST} best")
    if any(metric.higher_is_better for metric in results.metrics):
        marks.append("↑ higher is better")
    if not all(metric.higher_is_better for metric in results.metrics):
        marks.append("↓ lower is better")
    return ", ".join(marks)


def _exact(score: float, decimals: int | None) -> str:
    if math.isnan(score):
        return ""
    return repr(score) if decimals is None else f"{score:.{decimals}f}"
