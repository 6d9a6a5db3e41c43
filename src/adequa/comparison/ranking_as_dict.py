"""A ranking as plain lists and dictionaries, whose shape is stable and ready for JSON."""

from __future__ import annotations

from typing import Any

from adequa.comparison.ranking import Figure, Ranking


def as_dict(ranking: Ranking, signature: str, *, segments: bool) -> dict[str, Any]:
    """Everything; the scores of segments where they are asked for."""
    return {
        "signature": signature,
        "confidence": ranking.confidence,
        "systems": [_system(ranking, at, segments=segments) for at in range(len(ranking.systems))],
    }


def _system(ranking: Ranking, at: int, *, segments: bool) -> dict[str, Any]:
    others = enumerate(zip(ranking.systems, ranking.probabilities[at].tolist(), strict=True))
    content: dict[str, Any] = {
        "rank": ranking.ranks[at],
        "system": ranking.systems[at],
        "expected_wins": _bounds(ranking.expected_wins[at]),
        "strength": _bounds(ranking.strengths[at]),
        "better_than": {name: value for other, (name, value) in others if other != at},
    }
    if segments:
        content["segments"] = ranking.segments[:, at].tolist()
    return content


def _bounds(figure: Figure) -> dict[str, float]:
    return {"value": figure.value, "low": figure.low, "high": figure.high}
