"""Explain scores: segments and a metric in, what each difference from the reference costs out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
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
from adequa.metrics.base import ComputeStatistics, Metric, remarks_since, render_remarks
from adequa.metrics.edit_rates import word_overlap
from adequa.metrics.language import read_language, remaining_remarks, warn_of_languages
from adequa.metrics.registry import shared_metric
from adequa.progress import NO_PROGRESS, Progress
from adequa.runtime.batching import distinct
from adequa.scoring.api import default_metric
from adequa.segments import (
    UNNAMED,
    Frame,
    ReferenceLayout,
    Segments,
    as_segments,
    concatenate,
)

_COMPUTE = Metric.checked_statistics
CHUNK = 64  # segments that are explained at a time, so that progress shows
_SAMPLED = 100  # segments that the range of a metric without bounds is estimated from


def explain(
    hypotheses: Iterable[str] | Segments | Frame,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    metric: str | Metric | None = None,
    *,
    sources: Iterable[str] | None = None,
    layout: ReferenceLayout | None = None,
    language: str | TargetLanguage | None = None,
    worst: int | None = None,
    thorough: bool = False,
) -> Explanation:
    """Say what each difference of translations from their references costs under a metric.

    `hypotheses`, `references`, `layout` and `language` are those of `adequa.score`; the metric is
    by default the one that ships. With `worst`, only so many segments are explained, those with the
    worst scores. `thorough` takes several times as long, for costs closer to Shapley values.

    >>> result = explain(["It cost 300 euros."], ["It cost 500 euros."], "chrf")
    >>> piece = result.segments[0].pieces[0]
    >>> piece.hypothesis, piece.reference, piece.kind, round(piece.cost, 1)
    ('300', '500', 'number', 30.5)
    """
    segments = as_segments(hypotheses, references, sources, layout=layout)
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
    if worst is not None and not (isinstance(worst, int) and worst >= 1):
        raise AdequaError(f"The number of worst segments is a whole number from 1 on, not {worst}.")
    systems = segments.ids.get("system", (UNNAMED,) * len(segments))
    numbers = _numbers(systems)
    rows = _worst_rows(segments, metric, worst, compute)
    scale = _scale(segments.select(rows[:_SAMPLED]), metric, compute)
    progress.expect(len(rows))
    closest = _closest_references(segments, rows, metric, compute)
    explained: list[ExplainedSegment] = []
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        alignments = _alignments(segments, {row: closest[row] for row in part})
        references = {row: segments.references[row][closest[row]] for row in part}
        costs = repair_costs(
            metric, segments, alignments, references, thorough=thorough, compute=compute
        )
        for (row, alignment), cost in zip(alignments.items(), costs, strict=True):
            texts = segments.hypotheses[row], references[row]
            explained.append(
                ExplainedSegment(
                    system=systems[row],
                    segment=numbers[row],
                    score=cost.score,
                    repaired=cost.repaired,
                    hypothesis=texts[0],
                    reference=texts[1],
                    reference_number=closest[row] + 1,
                    reference_count=len(segments.references[row]),
                    pieces=_pieces(alignment, texts, cost, language.code, scale),
                    is_joined=alignment.is_joined,
                )
            )
        progress.texts_scored(len(part))
    return Explanation(
        metric=metric.name,
        signature=str(metric.segment_signature(segments.reference_count)),
        higher_is_better=metric.higher_is_better,
        decimals=metric.decimals,
        segments=tuple(explained),
        total=len(segments),
        language=language,
        warning=metric.language_warning(language),
        notes=(
            *_notes(explained),
            *(_remarks(segments.select(rows), metric) if compute is _COMPUTE else ()),
        ),
    )


def _remarks(segments: Segments, metric: Metric) -> tuple[str, ...]:
    """Remarks of a metric on what is explained; those of the variants count each of them."""
    before = metric.counted_remarks()
    if not before:
        return ()
    metric.checked_statistics(segments)
    return render_remarks(remarks_since(before, metric.counted_remarks()))


def _numbers(systems: Sequence[str]) -> list[int]:
    """The number of each segment within its system, from 1."""
    counts: dict[str, int] = {}
    numbers = []
    for name in systems:
        counts[name] = counts.get(name, 0) + 1
        numbers.append(counts[name])
    return numbers


def _worst_rows(
    segments: Segments, metric: Metric, worst: int | None, compute: ComputeStatistics
) -> list[int]:
    """The rows to explain: all, or those with the worst scores, the worst first."""
    if worst is None:
        return list(range(len(segments)))
    scores = metric.segment_scores(compute(metric, segments))
    sign = 1.0 if metric.higher_is_better else -1.0
    order = np.argsort(sign * scores, kind="stable")
    return [int(row) for row in order[:worst]]


def _scale(segments: Segments, metric: Metric, compute: ComputeStatistics) -> float:
    """The range of a metric's scores; for one without bounds, from no text to the reference."""
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


def _alignments(segments: Segments, closest: Mapping[int, int]) -> dict[int, Alignment]:
    """The alignment of each row with its closest reference; equal texts are aligned once."""
    pairs, inverse = distinct(
        [(segments.hypotheses[row], segments.references[row][at]) for row, at in closest.items()]
    )
    aligned = [align_to_repair(*pair) for pair in pairs]
    return {row: aligned[index] for row, index in zip(closest, inverse.tolist(), strict=True)}


def _pieces(
    alignment: Alignment,
    texts: tuple[str, str],
    costs: RepairCosts,
    language: str | None,
    scale: float,
) -> tuple[Piece, ...]:
    """The pieces of a segment, the costliest first; `scale` is the range of the metric.

    A piece is not more severe than all of them together: beside costs below zero, others are larger
    than what a full repair gains.
    """
    rules = KindRules.of(alignment, texts, language)
    pieces = []
    for difference, cost in zip(alignment.differences, costs.costs.tolist(), strict=True):
        spans = alignment.spans(difference)
        kind = kind_of(alignment, difference, rules)
        words, other_words = (
            text[start:end] for text, (start, end) in zip(texts, spans, strict=True)
        )
        relative = min(cost, abs(costs.repaired - costs.score)) / scale
        severity = SEVERITY_THRESHOLDS.severity(relative, alignment.words, kind)
        pieces.append(Piece(words, other_words, kind, cost, severity, *spans))
    return tuple(sorted(pieces, key=lambda each: (-each.cost, each.hypothesis_span)))


def _notes(segments: Sequence[ExplainedSegment]) -> list[str]:
    joined = sum(each.is_joined for each in segments)
    if not joined:
        return []
    return [
        f"{counted(joined, 'segment')} of {len(segments):,} with too many differences to repair "
        "one by one: neighbouring ones are joined."
    ]
