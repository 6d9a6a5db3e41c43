"""A comparison as a page: what the page is told, as small as it can be."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Any

import numpy as np

from adequa.comparison.as_dict import number, numbers
from adequa.comparison.results import Comparison, Dimension, MetricResult, PairResult
from adequa.comparison.tested import rounding
from adequa.comparison.wording import unsigned
from adequa.report.page import Parts, page, plain_table
from adequa.segments import FloatArray
from adequa.version import __version__

_DIGITS = 5  # of the spread of scores
_ALL_DIGITS = 15  # beyond which rounding changes nothing
_NAMED = 2  # systems that a title names


def as_page(found: Comparison, title: str = "") -> str:
    """One HTML file with all of a comparison."""
    return page(parts(found, title))


def parts(found: Comparison, title: str = "") -> Parts:
    """What such a page is made of."""
    several = f"{len(found.systems)} systems"
    names = " and ".join(found.systems) if len(found.systems) <= _NAMED else several
    shown = title or f"Comparison of {names}"
    return Parts(shown, _summary(found, shown), _details(found), tuple(plain_table(_plain(found))))


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
    people = pair.told
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


def _dimension(dimension: Dimension, decimals: Sequence[int]) -> dict[str, Any]:
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
                        "scores": numbers(np.round(part.scores, places)),
                        "low": numbers(np.round(part.low, places)),
                        "high": numbers(np.round(part.high, places)),
                    }
                    for part, places in zip(bucket.metrics, decimals, strict=True)
                ],
            }
            for bucket in dimension.buckets
        ],
    }


def _details(found: Comparison) -> dict[str, Any]:
    """Segments: their texts, scores and buckets, and the scores of the buckets.

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
            None if metric.segments is None else _short(metric.segments, _decimals(metric))
            for metric in found.metrics
        ],
        # Gains up to this size are rounding.
        "rounding": [
            None if metric.segments is None else rounding(metric.segments)
            for metric in found.metrics
        ],
        "dimensions": [
            _dimension(each, [_decimals(metric) for metric in found.metrics])
            for each in found.dimensions
        ],
        "buckets": [_bucket_of_each(each, len(outputs)) for each in found.dimensions],
    }


def _bucket_of_each(dimension: Dimension, segments: int) -> list[int]:
    places = [0] * segments
    for place, bucket in enumerate(dimension.buckets):
        for row in bucket.rows.tolist():
            places[row] = place
    return places


def _decimals(metric: MetricResult) -> int:
    """Decimals that tell scores apart: by their spread, which may be small beside their size."""
    spread = 0.0 if metric.segments is None else float(np.ptp(metric.segments))
    needed = _DIGITS - floor(log10(spread)) if spread else 0
    return min(max(needed, metric.decimals + 1), _ALL_DIGITS)


def _short(scores: FloatArray, decimals: int) -> list[list[float]]:
    """Scores (systems, segments) in so many decimals; whole numbers without a point.

    Segments in which that would make a tie, or part one, keep all digits.
    """
    near, rounded = rounding(scores), np.round(scores, decimals)
    ties, kept = (np.diff(np.sort(each, axis=0), axis=0) <= near for each in (scores, rounded))
    shown = np.where((ties != kept).any(axis=0), scores, rounded)
    return [
        [int(score) if score.is_integer() else score for score in row] for row in shown.tolist()
    ]


def _plain(found: Comparison) -> list[list[str]]:
    """Scores of systems, for readers whose browser runs no script."""
    header = ["System", *(metric.name for metric in found.metrics)]
    rows = [
        [name, *(unsigned(metric.scores[place], metric.decimals) for metric in found.metrics)]
        for place, name in enumerate(found.systems)
    ]
    return [header, *rows]
