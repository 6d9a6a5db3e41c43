"""The worst new errors of a candidate: what its costliest differences are, beside a baseline's.

They come from the segments in which the candidate loses most, so that the work is bounded however
large the test set is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adequa.agreement.sources import Source
from adequa.comparison.explained import explain_rows
from adequa.comparison.results import Comparison, MetricComparison
from adequa.comparison.text import signed
from adequa.errors import AdequaError
from adequa.explanation.display import change_in_words
from adequa.explanation.pieces import Kind, Piece, Severity

_SEGMENTS = 5  # that are explained: those with the largest drop
_ERRORS = 5  # that are named: the costliest


@dataclass(frozen=True, slots=True)
class NewError:
    """A piece of the candidate that costs something and that the baseline does not have."""

    segment: int  # from 1
    metric: str
    severity: Severity
    kind: Kind
    hypothesis: str  # words of the candidate; empty where words are missing
    reference: str  # what the reference has in their place
    change: float  # of the segment's score by the piece, in the metric's own direction
    decimals: int

    def __str__(self) -> str:
        """The error in a line.

        >>> print(NewError(12, "chrf", "critical", "number", "300", "500", -21.4, 2))
        segment 12: critical number, "300" where the reference has "500" (chrf -21.40)
        """
        words = change_in_words(
            self.kind, self.hypothesis, self.reference, between="where the reference has"
        )
        change = signed(self.change, self.decimals)
        return (
            f"segment {self.segment:,}: {self.severity} {self.kind}, {words} "
            f"({self.metric} {change})"
        )

    def to_dict(self) -> dict[str, Any]:
        """The error, ready for JSON."""
        return {
            "segment": self.segment,
            "metric": self.metric,
            "severity": self.severity,
            "kind": self.kind,
            "hypothesis": self.hypothesis,
            "reference": self.reference,
            "change": self.change,
        }


def worst_new_errors(
    comparison: Comparison, source: Source
) -> tuple[tuple[NewError, ...], tuple[str, ...]]:
    """The costliest new errors of the second system under a metric, and notes on them.

    There are none under a file of scores, which cannot score a repaired text, and none without
    references.
    """
    compared = next(each for each in comparison.metrics if each.name == source.name)
    rows = compared.largest_gains(1, 0, _SEGMENTS)
    metric = source.for_language(comparison.language).metric
    if not rows or metric is None or not comparison.outputs.has_references:
        return (), ()
    try:
        explanation = explain_rows(comparison.outputs, metric, rows, language=comparison.language)
    except AdequaError as error:
        return (), (f"No errors are named: {error}",)
    baseline, candidate = (
        {each.segment: each.pieces for each in explanation.segments if each.system == name}
        for name in comparison.systems
    )
    errors = [
        _error(compared, segment, piece)
        for segment, pieces in candidate.items()
        for piece in pieces
        if piece.severity != "none" and not any(map(_same_as(piece), baseline[segment]))
    ]
    costliest = sorted(errors, key=lambda each: compared.sign * each.change)
    return tuple(costliest[:_ERRORS]), ()


def _error(metric: MetricComparison, segment: int, piece: Piece) -> NewError:
    return NewError(
        segment,
        metric.name,
        piece.severity,
        piece.kind,
        piece.hypothesis,
        piece.reference,
        -metric.sign * piece.cost,
        metric.decimals,
    )


def _same_as(piece: Piece) -> Callable[[Piece], bool]:
    """Whether another piece has the same words in the place of the same words."""
    words = piece.kind, piece.hypothesis, piece.reference
    return lambda other: (other.kind, other.hypothesis, other.reference) == words
