"""A comparison as plain lists and dictionaries, whose shape is stable and ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any

from adequa.comparison.examples import disagreements
from adequa.comparison.results import Bucket, Comparison, Dimension, MetricResult, PairResult
from adequa.segments import FloatArray

_DISAGREEMENTS = 100  # segments of each pair with the baseline


def as_dict(found: Comparison, *, segments: bool) -> dict[str, Any]:
    """Systems, metrics, buckets and notes; and the segments, which are most of it, if asked for."""
    content: dict[str, Any] = {
        "systems": list(found.systems),
        "baseline": found.systems[0],
        "segment_count": len(found.outputs),
        "settings": asdict(found.settings),
        "metrics": [_metric(metric, found) for metric in found.metrics],
        "buckets": [
            {"by": each.name, "title": each.title, "buckets": _buckets(each, found)}
            for each in found.dimensions
        ],
        "notes": list(found.notes),
    }
    if segments:
        content["segments"] = _segments(found)
        content["disagreements"] = _disagreements(found)
    return content


def number(value: float) -> float | None:
    """A number that JSON can hold.

    >>> number(float("nan")), number(1.5)
    (None, 1.5)
    """
    return float(value) if isfinite(value) else None


def numbers(values: FloatArray) -> list[float | None]:
    """The same for several."""
    return [number(value) for value in values.tolist()]


def pair_dict(pair: PairResult, names: tuple[str, ...]) -> dict[str, Any]:
    """One metric's view of two systems, which are named."""
    better = pair.better
    content: dict[str, Any] = {
        "first": names[pair.first],
        "second": names[pair.second],
        "better": None if better is None else names[better],
        "significant": pair.significant,
    }
    for name in (
        *("difference", "gain", "low", "high", "p", "p_adjusted", "p_drop"),
        *("p_bootstrap", "p_bootstrap_adjusted", "effect", "wins", "ties", "losses"),
    ):
        value = getattr(pair, name)
        content[name] = value if isinstance(value, int) else number(value)
    content["people"] = None
    if pair.people is not None:
        content["people"] = {
            name: number(value) if isinstance(value, float) else value
            for name, value in asdict(pair.people).items()
        }
    return content


def _metric(metric: MetricResult, found: Comparison) -> dict[str, Any]:
    rows = zip(
        found.systems,
        numbers(metric.scores),
        numbers(metric.low),
        numbers(metric.high),
        metric.ranks.tolist(),
        strict=True,
    )
    return {
        "name": metric.name,
        "signature": metric.signature,
        "segment_signature": metric.segment_signature,
        "higher_is_better": metric.higher_is_better,
        "systems": [
            dict(zip(("name", "score", "low", "high", "rank"), row, strict=True)) for row in rows
        ],
        "pairs": [pair_dict(pair, found.systems) for pair in metric.pairs],
    }


def _buckets(dimension: Dimension, found: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "name": bucket.label,
            "segments": len(bucket.rows),
            "metrics": _bucket_metrics(bucket, found),
        }
        for bucket in dimension.buckets
    ]


def _bucket_metrics(bucket: Bucket, found: Comparison) -> list[dict[str, Any]]:
    shown = []
    for metric, part in zip(found.metrics, bucket.metrics, strict=True):
        if part is None:
            continue
        rows = zip(
            found.systems, numbers(part.scores), numbers(part.low), numbers(part.high), strict=True
        )
        names = ("name", "score", "difference_low", "difference_high")
        systems = [dict(zip(names, row, strict=True)) for row in rows]
        shown.append({"name": metric.name, "systems": systems})
    return shown


def _segments(found: Comparison) -> list[dict[str, Any]]:
    outputs = found.outputs
    scores = {
        metric.name: metric.segments.T.tolist()
        for metric in found.metrics
        if metric.segments is not None
    }
    in_bucket = {
        dimension.name: {
            row: bucket.label for bucket in dimension.buckets for row in bucket.rows.tolist()
        }
        for dimension in found.dimensions
    }
    return [_segment(row, outputs.sources, found, scores, in_bucket) for row in range(len(outputs))]


def _segment(
    row: int,
    sources: tuple[str, ...] | None,
    found: Comparison,
    scores: Mapping[str, list[list[float]]],
    in_bucket: Mapping[str, Mapping[int, str]],
) -> dict[str, Any]:
    outputs = found.outputs
    return {
        "segment": row + 1,
        **({} if sources is None else {"source": sources[row]}),
        "references": list(outputs.references[row]),
        "buckets": {name: of[row] for name, of in in_bucket.items()},
        "systems": [
            {
                "name": name,
                "hypothesis": texts[row],
                "scores": {metric: rows[row][place] for metric, rows in scores.items()},
            }
            for place, (name, texts) in enumerate(
                zip(outputs.names, outputs.hypotheses, strict=True)
            )
        ],
    }


def _disagreements(found: Comparison) -> list[dict[str, Any]]:
    """For each system, segments on which metrics disagree whether it is better than the first."""
    return [
        {
            "second": name,
            "segments": [
                {**each._asdict(), "row": each.row + 1}
                for each in disagreements(found.metrics, 0, place, _DISAGREEMENTS)
            ],
        }
        for place, name in enumerate(found.systems)
        if place
    ]
