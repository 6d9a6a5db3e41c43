"""Explanations in a comparison: which segments and metric, and where systems lose their scores.

All systems are explained on the same random segments, so that their losses can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adequa.agreement.sources import Source
from adequa.errors import AdequaError
from adequa.explanation.explain import explain_segments
from adequa.explanation.pieces import KINDS, SEVERITIES
from adequa.explanation.results import GROUPS, LOSS_TITLE, ExplainedSegment, Explanation
from adequa.languages import TargetLanguage
from adequa.metrics.base import ComputeStatistics, Metric
from adequa.progress import NO_PROGRESS, Progress
from adequa.scoring.api import DEFAULT_METRIC
from adequa.segments import Segments, concatenate
from adequa.statistics.settings import ComparisonSettings, sample_size
from adequa.tables import Table

if TYPE_CHECKING:
    from adequa.comparison.compare import Outputs
    from adequa.comparison.results import Comparison


def explaining_metric(sources: Sequence[Source], count: int | None) -> tuple[str, Metric] | None:
    """The metric that explains and its name: the one that ships, or else the first.

    Metrics that read no references or need the whole test set come after all others. None where
    there is no metric or nothing to explain. `count` is the number of segments that the user asked
    for, or None.
    """
    if count == 0:
        return None
    if count is not None and count < 0:
        raise AdequaError(f"The number of explained segments is 0 or more, not {count}.")
    metrics = [(source.name, source.metric) for source in sources if source.metric is not None]
    if not metrics and count is not None:
        raise AdequaError(
            "Files of scores cannot explain what differences cost; compare with a metric as well, "
            "such as chrf, or leave the explanation out."
        )
    return min(metrics, key=_preference, default=None)


def _preference(named: tuple[str, Metric]) -> tuple[bool, bool, bool]:
    _, metric = named
    reads_references = "reference" in metric.reads
    return metric.needs_whole_corpus, not reads_references, metric.name != DEFAULT_METRIC


def explain_sample(
    outputs: Outputs,
    metric: Metric,
    count: int | None,
    settings: ComparisonSettings,
    *,
    language: TargetLanguage,
    progress: Progress = NO_PROGRESS,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> Explanation:
    """What differences from the reference cost all systems in a random sample of the segments.

    `count` is the number of segments, or None for as many as a report has.
    """
    rows = sample_rows(len(outputs), len(outputs.names), count, settings.seed)
    explanation = explain_rows(
        outputs, metric, rows, language=language, progress=progress, compute=compute
    )
    return replace(explanation, settings=settings)


def explain_rows(
    outputs: Outputs,
    metric: Metric,
    rows: Sequence[int],
    *,
    language: TargetLanguage,
    progress: Progress = NO_PROGRESS,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> Explanation:
    """What differences from the reference cost all systems in the segments of these rows.

    Raises for a metric that needs the whole test set, since these segments alone have other scores
    than in the comparison.
    """
    if metric.needs_whole_corpus:
        raise AdequaError(
            f"{metric.name} scores a segment by the whole test set, and a part of the segments has "
            "other scores; explain with another metric, such as chrf."
        )
    explanation = explain_segments(
        _selected(outputs, rows), metric, language=language, progress=progress, compute=compute
    )
    numbered = (replace(each, segment=rows[each.segment - 1] + 1) for each in explanation.segments)
    return replace(explanation, segments=tuple(numbered))


def sample_rows(segments: int, systems: int, count: int | None, seed: int) -> list[int]:
    """The rows of a random sample of segments, in order.

    >>> sample_rows(3, 2, 5, seed=1), len(sample_rows(1000, 2, None, seed=1))
    ([0, 1, 2], 100)
    """
    size = min(sample_size(systems) if count is None else count, segments)
    rows = np.random.default_rng(seed).choice(segments, size, replace=False)
    return sorted(rows.tolist())


def _selected(outputs: Outputs, rows: Sequence[int]) -> Segments:
    """These segments of all systems, one system after the other."""
    parts = [
        outputs.batch(system, slice(None), outputs.references).select(rows)
        for system in range(len(outputs.names))
    ]
    names = [(name,) * len(rows) for name in outputs.names]
    return concatenate(
        [
            replace(part, ids={**part.ids, "system": systems})
            for part, systems in zip(parts, names, strict=True)
        ]
    )


# Dictionaries: for JSON, and for the page, whose segments are in columns


def explanation_dict(explanation: Explanation) -> dict[str, Any]:
    """The explanation without what the comparison has itself."""
    content = explanation.to_dict()
    for key in ("signature", "higher_is_better", "language", "warning", "scored"):
        content.pop(key, None)
    return content


def losses_on_page(explanation: Explanation) -> dict[str, Any]:
    """Where each system loses its score, and how systems differ."""
    losses = explanation.losses
    return {
        "metric": explanation.metric,
        "segments": int(losses.segments[0]),
        "groups": list(GROUPS),
        "losses": losses.groups.tolist(),
        "fractions": [losses.fractions(index).tolist() for index in range(len(losses.systems))],
        "severities": losses.severities.tolist(),
        "main_groups": [losses.main_groups(index) for index in range(len(losses.systems))],
        "swaps": losses.settings.swap_count,
        "too_few": list(losses.notes),
        # First and second system, group, difference, adjusted p, and whether it is significant.
        "differences": [
            [each.first, each.second, each.group, each.difference, each.p_adjusted,
             each.is_significant]
            for each in losses.differences
        ],
        "notes": list(explanation.notes),
    }  # fmt: skip


def pieces_on_page(explanation: Explanation) -> dict[str, Any]:
    """The pieces of explained segments in columns: by system and row, each piece as numbers."""
    systems = explanation.losses.systems
    parts = [[each for each in explanation.segments if each.system == name] for name in systems]
    content: dict[str, Any] = {
        "rows": [each.segment - 1 for each in parts[0]],
        "kinds": list(KINDS),
        "pieces": [[_packed(each, explanation.decimals) for each in part] for part in parts],
    }
    if any(each.reference_count > 1 for each in explanation.segments):
        content["references"] = [[each.reference_number for each in part] for part in parts]
    return content


def _packed(segment: ExplainedSegment, decimals: int) -> list[list[float]]:
    """Spans of each piece, its kind, its severity and its cost."""
    return [
        [
            *piece.hypothesis_span,
            *piece.reference_span,
            KINDS.index(piece.kind),
            SEVERITIES.index(piece.severity),
            round(piece.cost, decimals + 1),
        ]
        for piece in segment.pieces
    ]


# Tables


def loss_tables(comparison: Comparison) -> tuple[Table, ...]:
    """Where each system loses its score in the explained segments, and how systems differ."""
    explanation = comparison.explanation
    if explanation is None:
        return ()
    count, total = int(explanation.losses.segments[0]), len(comparison.outputs)
    sample = f"{count:,} of {total:,} segments" if count < total else f"{total:,} segments"
    return explanation.loss_tables(f"{LOSS_TITLE}: {explanation.metric} in {sample}")
