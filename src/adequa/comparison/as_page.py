"""A comparison as a page: what the page is told, as small as it can be."""

from __future__ import annotations

from typing import Any

from adequa.comparison.as_dict import number, numbers
from adequa.comparison.results import Comparison, Dimension, MetricResult, PairResult
from adequa.report.page import page, plain_table
from adequa.segments import FloatArray
from adequa.version import __version__

_DIGITS = 6  # of a segment's score
_NAMED = 2  # systems that a title names


def as_page(found: Comparison, title: str = "") -> str:
    """One HTML file with all of a comparison."""
    several = f"{len(found.systems)} systems"
    names = " and ".join(found.systems) if len(found.systems) <= _NAMED else several
    shown = title or f"Comparison of {names}"
    return page(shown, _summary(found, shown), _details(found), plain_table(_plain(found)))


def _summary(found: Comparison, title: str) -> dict[str, Any]:
    """What is shown before any segment."""
    settings = found.settings
    return {
        "title": title,
        "version": __version__,
        "systems": list(found.systems),
        "segments": len(found.outputs),
        "settings": str(settings),
        "resamples": settings.resamples,
        "swaps": settings.swap_count,
        "ranks": settings.meaning_of_ranks,
        "alpha": settings.alpha,
        "confidence": settings.confidence,
        "metrics": [_metric(metric) for metric in found.metrics],
        "dimensions": [_dimension(each) for each in found.dimensions],
        "notes": list(found.notes),
    }


def _metric(metric: MetricResult) -> dict[str, Any]:
    return {
        "name": metric.name,
        "signature": metric.signature,
        "segmentSignature": metric.segment_signature,
        "higher": metric.higher_is_better,
        "decimals": metric.decimals,
        "scores": numbers(metric.scores),
        "low": numbers(metric.low),
        "high": numbers(metric.high),
        "ranks": metric.ranks.tolist(),
        "pairs": [_pair(pair) for pair in metric.pairs],
        "hasSegments": metric.segments is not None,
    }


def _pair(pair: PairResult) -> dict[str, Any]:
    content: dict[str, Any] = {
        "a": pair.first,
        "b": pair.second,
        "difference": number(pair.difference),
        "gain": number(pair.gain),
        "low": number(pair.low),
        "high": number(pair.high),
        "p": number(pair.p),
        "adjusted": number(pair.p_adjusted),
        "bootstrap": number(pair.p_bootstrap_adjusted),
        "effect": number(pair.effect),
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
        "significant": pair.significant,
    }
    people = pair.people
    if people is not None:
        content["people"] = {
            "share": number(people.share),
            "low": number(people.share_low),
            "high": number(people.share_high),
            "pairs": people.pairs,
            "from": people.low,
            "to": number(people.high),
            "data": people.data,
        }
    return content


def _dimension(dimension: Dimension) -> dict[str, Any]:
    return {
        "name": dimension.name,
        "title": dimension.title,
        "buckets": [
            {
                "label": bucket.label,
                "count": len(bucket.rows),
                "metrics": [
                    None
                    if part is None
                    else {
                        "scores": numbers(part.scores),
                        "low": numbers(part.low),
                        "high": numbers(part.high),
                    }
                    for part in bucket.metrics
                ],
            }
            for bucket in dimension.buckets
        ],
    }


def _details(found: Comparison) -> dict[str, Any]:
    """Segments: their texts, scores and buckets.

    The texts of a segment stand together, because they are alike and pack well.
    """
    outputs = found.outputs
    hypotheses = zip(*outputs.hypotheses, strict=True)
    sources = outputs.sources or (None,) * len(outputs)
    return {
        "texts": [
            [*([] if source is None else [source]), list(references), *said]
            for source, references, said in zip(
                sources, outputs.references, hypotheses, strict=True
            )
        ],
        "hasSource": outputs.sources is not None,
        "scores": [
            None if metric.segments is None else [_short(row) for row in metric.segments]
            for metric in found.metrics
        ],
        "buckets": [_bucket_of_each(each, len(outputs)) for each in found.dimensions],
    }


def _bucket_of_each(dimension: Dimension, segments: int) -> list[int]:
    places = [0] * segments
    for place, bucket in enumerate(dimension.buckets):
        for row in bucket.rows.tolist():
            places[row] = place
    return places


def _short(scores: FloatArray) -> list[float]:
    """Scores in as many digits as a reader can use; whole numbers without a point."""
    rounded = (float(f"{score:.{_DIGITS}g}") for score in scores.tolist())
    return [int(score) if score.is_integer() else score for score in rounded]


def _plain(found: Comparison) -> list[list[str]]:
    """Scores of systems, for readers whose browser runs no script."""
    header = ["System", *(metric.name for metric in found.metrics)]
    rows = [
        [name, *(f"{metric.scores[place]:.{metric.decimals}f}" for metric in found.metrics)]
        for place, name in enumerate(found.systems)
    ]
    return [header, *rows]
