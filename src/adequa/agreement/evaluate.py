"""Metrics against human judgements: from judgements and scores to one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from adequa.agreement import notes
from adequa.agreement.groups import column_names, rows_by
from adequa.agreement.protocol import DARR, Protocol, completed, pairs_within_segments, seeded
from adequa.agreement.results import (
    Agreement,
    MetricInfo,
    PairAgreement,
    Points,
    column,
    macro_average,
    pooled_accuracy,
)
from adequa.agreement.segment_level import (
    margins_from_ratings,
    measure_grouped,
    measure_pooled,
    measure_preferences,
    preference_margins,
    rated_outputs,
)
from adequa.agreement.selection import Selection, selected
from adequa.agreement.sources import (
    Source,
    Specification,
    Texts,
    both_sides,
    sources,
    text_statistics,
)
from adequa.agreement.system_level import measure_systems, ranked_systems
from adequa.errors import AdequaError
from adequa.judgements import (
    Judgements,
    Preferences,
    RatedSystems,
    Ratings,
    identified,
    without_repeats,
)
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray


def evaluate(
    judgements: Judgements,
    metrics: Sequence[Specification],
    protocol: Protocol | None = None,
    *,
    selection: Selection | None = None,
    progress: Progress = NO_PROGRESS,
) -> Agreement:
    """How well metrics agree with people.

    `metrics` are metrics with their settings or score files, as on the command line, or metric and
    `ScoreFile` objects; scores without ids are in the order of the judgements. What the protocol
    leaves open is chosen for the judgements, by the name of their dataset where that is one we
    know.

    >>> from adequa.segments import Segments
    >>> texts = Segments(("a b c d", "a b", "x y"), (("a b c d",), ("a b c",), ("a b c",)))
    >>> human = Ratings(np.array([2.0, 1.0, 0.0]), {"lp": ("cs-en",) * 3}, texts)
    >>> found = evaluate(human, ["chrf", "wer"], Protocol(statistic="kendall-b"))
    >>> found.average.values
    array([1., 1.])
    """
    found = sources(metrics)
    if not found:
        raise AdequaError("Name at least one metric or score file to evaluate.")
    asked, choice = protocol or Protocol(), selection or Selection()
    chosen, excluded = selected(judgements, choice, asked)
    told_of = list(notes.peculiarities(chosen))
    systems_only = any(source.is_of_systems for source in found)
    settled = completed(asked, chosen, len(found), systems_only=systems_only)
    if isinstance(chosen, Ratings) and pairs_within_segments(settled):
        chosen = without_repeats(chosen)  # no output is compared with itself
    parts, points = zip(*_measured(chosen, found, settled, progress), strict=True)
    columns = tuple(column(part, settled) for part in parts)
    agreement = Agreement(
        dataset=identified(judgements).name,
        protocol=settled,
        selection=str(choice),
        metrics=tuple(
            MetricInfo(source.name, source.signature(reference_count(chosen), settled.level))
            for source in found
        ),
        columns=columns,
        average=columns[0] if len(columns) == 1 else macro_average(parts, settled),
        pooled=pooled_accuracy(parts, settled) if settled.statistic == "accuracy" else None,
        points=points,
    )
    told = (
        *identified(judgements).file_rows.notes(),
        *excluded,
        *told_of,
        *(note for part in parts for note in part.notes),
        *(note for source in found if source.metric for note in source.metric.remarks()),
        *notes.too_few_swaps(settled, len(found)),
        *notes.undefined_figures(agreement),
        *notes.undefined_resamples(agreement),
    )
    return replace(agreement, notes=told)


def reference_count(judgements: Judgements) -> int | None:
    """References a text, as signatures tell it; None where texts differ in it or there are none."""
    match judgements:
        case Preferences():
            texts = judgements.better
        case RatedSystems():
            texts = judgements.outputs
        case _:
            texts = judgements.segments
    return None if texts is None else texts.reference_count


def segment_scores(
    judgements: Ratings | Preferences, found: Sequence[Source], progress: Progress = NO_PROGRESS
) -> FloatArray:
    """Every metric's scores in the order of the judgements, higher is better.

    Of shape (K, n) for ratings and (K, n, 2) for preferences: better and worse.
    """
    names = column_names(judgements.ids, len(judgements))
    if isinstance(judgements, Preferences):
        scores = _scored(found, both_sides(judgements), names * 2, progress)
        return np.stack(np.split(scores, 2, axis=1), axis=-1)
    texts = Texts(judgements.ids, judgements.segments, judgements.file_rows)
    return _scored(found, texts, names, progress)


def _measured(
    judgements: Judgements,
    found: Sequence[Source],
    protocol: Protocol,
    progress: Progress,
) -> Iterator[tuple[PairAgreement, Points]]:
    """Agreement on one language pair after the other, with what a plot shows of it."""
    if isinstance(judgements, RatedSystems) or protocol.level == "system":
        for data in ranked_systems(judgements, found, protocol, progress):
            progress.stage(f"Resampling {data.name}")
            settled = seeded(protocol, data.name)
            yield measure_systems(data, settled), Points(data.name, data.human, data.scores)
        return
    scores = segment_scores(judgements, found, progress)
    for pair, rows in rows_by(column_names(judgements.ids, len(judgements))).items():
        progress.stage(f"Resampling {pair}")
        part, settled = judgements.select(rows), seeded(protocol, pair)
        if isinstance(part, Ratings):
            yield _ratings(pair, part, scores[:, rows], settled)
        else:
            yield _preferences(pair, part, scores[:, rows], settled)


def _ratings(
    pair: str, ratings: Ratings, metrics: FloatArray, protocol: Protocol
) -> tuple[PairAgreement, Points]:
    points = Points(pair, ratings.scores, metrics)
    if protocol.statistic == DARR:
        data = margins_from_ratings(pair, ratings.scores, metrics, ratings.ids, protocol)
        return measure_preferences(data, protocol), points
    arrays = rated_outputs(pair, ratings.scores, metrics, ratings.ids, protocol)
    measure = measure_pooled if protocol.average == "pooled" else measure_grouped
    return measure(arrays, protocol), points


def _preferences(
    pair: str, preferences: Preferences, scores: FloatArray, protocol: Protocol
) -> tuple[PairAgreement, Points]:
    data = preference_margins(pair, scores[..., 0] - scores[..., 1], preferences.ids)
    return measure_preferences(data, protocol), Points(pair, None, data.margins)


def _scored(
    found: Sequence[Source], texts: Texts, corpora: Sequence[str], progress: Progress
) -> FloatArray:
    """Segment scores of every metric, (K, n), higher is better."""
    statistics = (text_statistics(source, texts, corpora, progress) for source in found)
    return np.stack(list(map(Source.segment_scores, found, statistics)))
