"""Explain scores: the cost of each difference from the reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from adequa.errors import AdequaError, counted
from adequa.explanation.alignment import Alignment
from adequa.explanation.costs import (
    RepairCosts,
    align_to_repair,
    repair_costs,
)
from adequa.explanation.pieces import SEVERITY_THRESHOLDS, KindRules, Piece, kind_of
from adequa.explanation.results import ExplainedSegment, Explanation
from adequa.languages import TargetLanguage
from adequa.metrics.base import (
    ComputeStatistics,
    Metric,
    Remark,
    merge_remarks,
    remarks_since,
    render_remarks,
)
from adequa.metrics.edit_rates import word_overlap
from adequa.metrics.language import read_language, remaining_remarks, warn_of_languages
from adequa.metrics.registry import shared_metric
from adequa.progress import NO_PROGRESS, Progress
from adequa.runtime.batching import distinct
from adequa.scoring.api import default_metric
from adequa.segments import (
    UNNAMED,
    FloatArray,
    Hypotheses,
    ReferenceLayout,
    Segments,
    concatenate,
    joined_systems,
)

NEEDS_REFERENCES = (
    "An explanation says what differences from the reference cost, and there are no references: "
    "give them (-r, or a column ref)."
)
CHUNK = 64  # segments that are explained at a time, so that progress shows
_SAMPLED = 100  # segments that the range of a metric without bounds is estimated from


def explain(
    hypotheses: Hypotheses,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    metric: str | Metric | None = None,
    *,
    sources: Iterable[str] | None = None,
    layout: ReferenceLayout | None = None,
    language: str | TargetLanguage | None = None,
    worst: int | None = None,
    thorough: bool = False,
) -> Explanation:
    """Compute the cost of each difference of translations from their references under a metric.

    `hypotheses`, `references`, `layout` and `language` are those of `adequa.score`; a mapping has
    the hypotheses of several systems by name. The default metric is the one that ships. With
    `worst`, only so many segments are explained, those with the worst scores. `thorough` takes
    several times as long, for costs closer to Shapley values.

    >>> result = explain(["It cost 300 euros."], ["It cost 500 euros."], "chrf")
    >>> piece = result.segments[0].pieces[0]
    >>> piece.hypothesis, piece.reference, piece.kind, round(piece.cost, 1)
    ('300', '500', 'number', 30.5)
    """
    segments = joined_systems(hypotheses, references, sources, layout=layout)
    stream = read_language([segments], language)
    segments = concatenate(list(stream.batches))
    with ExitStack() as stack:
        chosen = default_metric(stream.target) if metric is None else metric
        scorer = stack.enter_context(shared_metric(chosen)).for_language(stream.target.code)
        result = explain_segments(
            segments, scorer, language=stream.target, worst=worst, thorough=thorough
        )
    warn_of_languages([result.warning], stream.notes)
    remarks = remaining_remarks(result.notes, [result.warning], stream.notes)
    return replace(result, notes=(*stream.notes, *remarks))


def explain_segments(
    segments: Segments,
    metric: Metric,
    *,
    language: TargetLanguage,
    worst: int | None = None,
    thorough: bool = False,
    progress: Progress = NO_PROGRESS,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> Explanation:
    """The explanation of segments, of one system or of several, with the metric as it is."""
    if not len(segments):
        raise AdequaError("There are no segments to explain.")
    if not segments.has_references:
        raise AdequaError(NEEDS_REFERENCES)
    metric.check_reads(segments)
    if worst is not None and (not isinstance(worst, int) or isinstance(worst, bool) or worst < 1):
        raise AdequaError(f"The number of worst segments is a whole number from 1 on, not {worst}.")
    systems = segments.ids.get("system", (UNNAMED,) * len(segments))
    scorer = _BaseScores(metric, segments, compute)
    rows = list(range(len(segments))) if worst is None else scorer.worst(worst)
    run = _Explainer(
        segments,
        metric,
        scorer,
        systems=systems,
        numbers=_numbers(systems),
        closest=_closest_references(segments, rows, metric, compute),
        scale=_scale(segments.select(rows[:_SAMPLED]), metric, compute),
        language=language.code,
        thorough=thorough,
        compute=compute,
    )
    progress.expect(len(rows))
    explained: list[ExplainedSegment] = []
    # A metric of whole corpora scores all of them again for each chunk.
    size = len(rows) if metric.needs_whole_corpus else CHUNK
    for start in range(0, len(rows), size):
        part = run.explain(rows[start : start + size])
        explained += part
        progress.texts_scored(len(part))
    return Explanation(
        metric=metric.name,
        signature=str(
            metric.segment_signature(segments.reference_count, sources=segments.sources is not None)
        ),
        higher_is_better=metric.higher_is_better,
        decimals=metric.decimals,
        segments=tuple(explained),
        total=len(segments),
        language=language,
        warning=metric.language_warning(language),
        notes=(*_notes(explained), *render_remarks(scorer.remarks)),
    )


class _BaseScores:
    """The scores of the hypotheses as they are, and the metric's remarks on them.

    Remarks on variants are left out: they would count each segment several times.
    """

    def __init__(self, metric: Metric, segments: Segments, compute: ComputeStatistics) -> None:
        self._metric, self._segments, self._compute = metric, segments, compute
        self._all: FloatArray | None = None
        self.remarks: tuple[Remark, ...] = ()

    def worst(self, count: int) -> list[int]:
        """The rows with the worst scores, the worst first."""
        sign = 1.0 if self._metric.higher_is_better else -1.0
        order = np.argsort(sign * self._every_score(), kind="stable")
        return [int(row) for row in order[:count]]

    def scores(self, rows: Sequence[int]) -> dict[int, float]:
        """The scores of these rows."""
        if self._all is None and not self._metric.needs_whole_corpus:
            scores = self._score(self._segments.select(rows))
        else:
            scores = self._every_score()[list(rows)]
        return dict(zip(rows, scores.tolist(), strict=True))

    def _every_score(self) -> FloatArray:
        if self._all is None:
            self._all = self._score(self._segments)
        return self._all

    def _score(self, segments: Segments) -> FloatArray:
        before = self._metric.counted_remarks()
        scores = self._metric.segment_scores(self._compute(self._metric, segments))
        # A metric that a queue shares counts the texts of other requests, too.
        if self._compute is Metric.checked_statistics:
            remarks = remarks_since(before, self._metric.counted_remarks())
            self.remarks = merge_remarks((*self.remarks, *remarks))
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class _Explainer:
    """What the explanations of all rows have in common."""

    segments: Segments
    metric: Metric
    scorer: _BaseScores
    systems: Sequence[str]
    numbers: Sequence[int]  # of the segments within their systems
    closest: Mapping[int, int]  # the index of the reference that explains, by row
    scale: float  # the range of the metric
    language: str | None
    thorough: bool
    compute: ComputeStatistics

    def explain(self, rows: Sequence[int]) -> list[ExplainedSegment]:
        """The explanations of these rows."""
        references = {row: self.segments.references[row][self.closest[row]] for row in rows}
        alignments = _alignments(self.segments, references)
        costs = repair_costs(
            self.metric,
            self.segments,
            alignments,
            references,
            self.scorer.scores(rows),
            thorough=self.thorough,
            compute=self.compute,
        )
        return [
            self._segment(row, references[row], alignment, cost)
            for (row, alignment), cost in zip(alignments.items(), costs, strict=True)
        ]

    def _segment(
        self, row: int, reference: str, alignment: Alignment, costs: RepairCosts
    ) -> ExplainedSegment:
        hypothesis = self.segments.hypotheses[row]
        return ExplainedSegment(
            system=self.systems[row],
            segment=self.numbers[row],
            score=costs.score,
            repaired=costs.repaired,
            hypothesis=hypothesis,
            reference=reference,
            reference_number=self.closest[row] + 1,
            reference_count=len(self.segments.references[row]),
            pieces=_pieces(alignment, (hypothesis, reference), costs, self.language, self.scale),
            is_joined=alignment.is_joined,
        )


def _numbers(systems: Sequence[str]) -> list[int]:
    """The number of each segment within its system, from 1."""
    counts: dict[str, int] = {}
    numbers = []
    for name in systems:
        counts[name] = counts.get(name, 0) + 1
        numbers.append(counts[name])
    return numbers


def _scale(segments: Segments, metric: Metric, compute: ComputeStatistics) -> float:
    """The range of a metric's scores.

    For unbounded metrics the mean distance between the scores of the reference and of no text.
    """
    low, high = metric.range
    if isfinite(low) and isfinite(high):
        return high - low
    ends = [
        replace(segments, hypotheses=texts)
        for texts in (tuple(each[0] for each in segments.references), ("",) * len(segments))
    ]
    best, least = (metric.segment_scores(compute(metric, each)) for each in ends)
    return float(np.abs(best - least).mean()) or 1.0


def _closest_references(
    segments: Segments, rows: Sequence[int], metric: Metric, compute: ComputeStatistics
) -> dict[int, int]:
    """The index of the reference of each row under which it has the best score."""
    counts = {row: len(segments.references[row]) for row in rows}
    if max(counts.values()) == 1:
        return dict.fromkeys(rows, 0)
    if metric.needs_whole_corpus:  # whose scores with one reference are those of another corpus
        return {row: _most_alike(segments, row) for row in rows}
    pairs = [(row, index) for row, count in counts.items() for index in range(count)]
    each_alone = replace(
        segments.select([row for row, _ in pairs]),
        references=tuple((segments.references[row][index],) for row, index in pairs),
    )
    sign = 1.0 if metric.higher_is_better else -1.0
    scores = (sign * metric.segment_scores(compute(metric, each_alone))).tolist()
    best: dict[int, tuple[float, int]] = {}
    for (row, index), score in zip(pairs, scores, strict=True):
        if row not in best or score > best[row][0]:
            best[row] = score, index
    return {row: index for row, (_, index) in best.items()}


def _most_alike(segments: Segments, row: int) -> int:
    """The index of the reference that has most words in common with the hypothesis."""
    words = segments.hypotheses[row].casefold().split()
    overlaps = [word_overlap(words, text.casefold().split()) for text in segments.references[row]]
    return int(np.argmax(overlaps))


def _alignments(segments: Segments, references: Mapping[int, str]) -> dict[int, Alignment]:
    """The alignment of each row with its reference; equal texts are aligned once."""
    pairs, inverse = distinct(
        [(segments.hypotheses[row], reference) for row, reference in references.items()]
    )
    aligned = [align_to_repair(*pair) for pair in pairs]
    return {row: aligned[index] for row, index in zip(references, inverse.tolist(), strict=True)}


def _pieces(
    alignment: Alignment,
    texts: tuple[str, str],
    costs: RepairCosts,
    language: str | None,
    scale: float,
) -> tuple[Piece, ...]:
    """The pieces of a segment, the costliest first.

    Negative costs can push others above the gain of the full repair, which therefore bounds the
    severity of each piece.
    """
    rules = KindRules.of(alignment, texts, language)
    pieces = []
    for difference, cost in zip(alignment.differences, costs.costs.tolist(), strict=True):
        spans = alignment.spans(difference)
        kind = kind_of(alignment, difference, rules)
        words, other_words = (
            text[start:end] for text, (start, end) in zip(texts, spans, strict=True)
        )
        relative = min(cost, max(costs.gain, 0.0)) / scale
        severity = SEVERITY_THRESHOLDS.severity(relative, alignment.words, kind)
        pieces.append(Piece(words, other_words, kind, cost, severity, *spans))
    return tuple(sorted(pieces, key=lambda each: (-each.cost, each.hypothesis_span)))


def _notes(segments: Sequence[ExplainedSegment]) -> list[str]:
    joined = sum(each.is_joined for each in segments)
    if not joined:
        return []
    return [
        f"{joined:,} of {counted(len(segments), 'segment')} had too many differences to repair "
        "individually; neighbouring differences were merged."
    ]
