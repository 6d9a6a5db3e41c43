"""Results as text, JSON or TSV: pure functions from Results to a string."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from adequa.cli.table import aligned, printable
from adequa.scoring.results import MetricResult, Results, SystemResult

BEST = "*"


def as_text(results: Results, decimals: int | None) -> str:
    """An aligned table, the best of each column marked, and the signatures below."""
    metrics = results.metrics
    parts = [_system_table(metrics, decimals)]
    if _has_segments(metrics):
        parts = [_text_rows(["system", "segment"], _segment_rows(metrics), metrics, decimals)]
    elif results.grouped_by is not None:
        header = ["system", results.grouped_by]
        parts.append(_text_rows(header, _group_rows(metrics), metrics, decimals))
    parts.append("\n".join(_legend(metrics)))
    return "\n\n".join(parts) + "\n"


def as_tsv(results: Results, decimals: int | None) -> str:
    """One row a system, or a segment or a group where those were asked for; a header on top."""
    if _has_segments(results.metrics):
        header, rows = ["system", "segment"], _segment_rows(results.metrics)
    elif results.grouped_by is not None:
        header, rows = ["system", results.grouped_by], _group_rows(results.metrics)
    else:
        header, rows = ["system"], _system_rows(results.metrics)
    lines = [[*header, *(metric.name for metric in results.metrics)]]
    for keys, scores in rows:
        lines.append([*map(printable, keys), *(_exact(score, decimals) for score in scores)])
    return "".join("\t".join(line) + "\n" for line in lines)


def as_json(results: Results, decimals: int | None) -> str:
    """The stable JSON shape: metrics, each with its systems."""
    shape: dict[str, object] = {
        "metrics": [
            {
                "name": metric.name,
                "signature": str(metric.signature),
                "higher_is_better": metric.higher_is_better,
                "systems": [_json_system(system, decimals) for system in metric.systems],
            }
            for metric in results.metrics
        ]
    }
    if results.grouped_by is not None:
        shape = {"by": results.grouped_by, **shape}
    return json.dumps(shape, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _json_system(system: SystemResult, decimals: int | None) -> Mapping[str, object]:
    shown: dict[str, object] = {"name": system.name, "score": _rounded(system.score, decimals)}
    if system.groups is not None:
        shown["groups"] = [
            {"name": group, "score": _rounded(score, decimals)}
            for group, score in system.groups.items()
        ]
    if system.segments is not None:
        shown["segments"] = [_rounded(score, decimals) for score in system.segments.tolist()]
    return shown


def _system_table(metrics: Sequence[MetricResult], decimals: int | None) -> str:
    return _text_rows(["system"], _system_rows(metrics), metrics, decimals, mark_best=True)


def _text_rows(
    header: list[str],
    rows: Iterator[tuple[list[str], list[float]]],
    metrics: Sequence[MetricResult],
    decimals: int | None,
    *,
    mark_best: bool = False,
) -> str:
    listed = list(rows)
    columns = [
        _text_column(metric, [scores[position] for _, scores in listed], decimals, mark_best)
        for position, metric in enumerate(metrics)
    ]
    headings = [f"{metric.name} {_arrow(metric)}" for metric in metrics]
    cells = [
        [*keys, *row] for (keys, _), row in zip(listed, zip(*columns, strict=True), strict=True)
    ]
    numbers = range(len(header), len(header) + len(metrics))
    return aligned([[*header, *headings], *cells], right=numbers)


def _text_column(
    metric: MetricResult, scores: list[float], decimals: int | None, mark_best: bool
) -> list[str]:
    places = metric.decimals if decimals is None else decimals
    written = [f"{score:.{places}f}" for score in scores]
    if not mark_best or len(scores) == 1:
        return written
    best = (max if metric.higher_is_better else min)(scores)
    return [
        BEST + text if score == best else text for score, text in zip(scores, written, strict=True)
    ]


def _legend(metrics: Sequence[MetricResult]) -> Iterator[str]:
    marks = []
    if len(metrics[0].systems) > 1 and not _has_segments(metrics):
        marks.append(f"{BEST} best")
    if any(metric.higher_is_better for metric in metrics):
        marks.append("↑ higher is better")
    if not all(metric.higher_is_better for metric in metrics):
        marks.append("↓ lower is better")
    yield ", ".join(marks)
    for metric in metrics:
        yield str(metric.signature)


def _system_rows(metrics: Sequence[MetricResult]) -> Iterator[tuple[list[str], list[float]]]:
    for views in zip(*(metric.systems for metric in metrics), strict=True):
        yield [views[0].name], [view.score for view in views]


def _segment_rows(metrics: Sequence[MetricResult]) -> Iterator[tuple[list[str], list[float]]]:
    for views in zip(*(metric.systems for metric in metrics), strict=True):
        columns = [view.segments.tolist() for view in views if view.segments is not None]
        for number, scores in enumerate(zip(*columns, strict=True), 1):
            yield [views[0].name, str(number)], list(scores)


def _group_rows(metrics: Sequence[MetricResult]) -> Iterator[tuple[list[str], list[float]]]:
    for views in zip(*(metric.systems for metric in metrics), strict=True):
        groups = [view.groups for view in views if view.groups is not None]
        for group in groups[0]:
            yield [views[0].name, group], [scores[group] for scores in groups]


def _has_segments(metrics: Sequence[MetricResult]) -> bool:
    return metrics[0].systems[0].segments is not None


def _arrow(metric: MetricResult) -> str:
    return "↑" if metric.higher_is_better else "↓"


def _rounded(score: float, decimals: int | None) -> float:
    return score if decimals is None else round(score, decimals)


def _exact(score: float, decimals: int | None) -> str:
    return repr(score) if decimals is None else f"{score:.{decimals}f}"
