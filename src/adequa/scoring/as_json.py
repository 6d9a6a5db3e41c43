"""Results as JSON, whose shape is stable: pieces of text, a line or so at a time.

Pieces and not one string, because there may be millions of segments; their scores stay in arrays
until they are written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from adequa.scoring.results import Results, SystemResult

_PIECE = 1000  # scores that are written at a time


def as_json(results: Results, decimals: int | None = None) -> Iterator[str]:
    """The stable JSON shape: metrics, each with its systems, a line a system."""
    yield "{\n"
    if results.grouped_by is not None:
        yield f'  "by": {_json(results.grouped_by)},\n'
    yield '  "metrics": ['
    for number, metric in enumerate(results.metrics):
        yield ",\n    {\n" if number else "\n    {\n"
        yield f'      "name": {_json(metric.name)},\n'
        yield f'      "signature": {_json(str(metric.signature))},\n'
        if results.has_segments and metric.segment_signature != metric.signature:
            yield f'      "segment_signature": {_json(str(metric.segment_signature))},\n'
        yield f'      "higher_is_better": {_json(metric.higher_is_better)},\n'
        yield '      "systems": ['
        for place, system in enumerate(metric.systems):
            yield ",\n        " if place else "\n        "
            yield from _json_system(system, decimals)
        yield "\n      ]\n    }"
    yield "\n  ]\n}\n"


def _json_system(system: SystemResult, decimals: int | None) -> Iterator[str]:
    shown: dict[str, object] = {"name": system.name, "score": _rounded(system.score, decimals)}
    if system.groups is not None:
        shown["groups"] = [
            {"name": group, "score": _rounded(score, decimals)}
            for group, score in system.groups.items()
        ]
    opened = _json(shown).removesuffix("}")
    if system.segments is None:
        yield opened + "}"
        return
    yield opened + ', "segments": ['
    for start in range(0, len(system.segments), _PIECE):
        piece = [_rounded(s, decimals) for s in system.segments[start : start + _PIECE].tolist()]
        yield (", " if start else "") + _json(piece)[1:-1]
    yield "]}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _rounded(score: float, decimals: int | None) -> float | None:
    if math.isnan(score):
        return None
    return score if decimals is None else round(score, decimals)
