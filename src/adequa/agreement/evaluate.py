"""Metrics against human judgements: from judgements and scores to one table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adequa.agreement.groups import column_names, rows_by, selected
from adequa.agreement.measured import Measured
from adequa.agreement.preferences import measure_preferences, preferred, preferred_by_rating
from adequa.agreement.protocol import DARR, Protocol, completed, seeded
from adequa.agreement.ranked import ranked_systems
from adequa.agreement.ratings import measure_ratings, rated
from adequa.agreement.results import Agreement, MetricInfo, Points, column, macro_average
from adequa.agreement.sources import Report, Source, Texts, both_sides, sources, statistics_of
from adequa.agreement.systems import measure_systems
from adequa.errors import AdequaError
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings
from adequa.segments import FloatArray


def evaluate(
    judgements: Judgements,
    metrics: Sequence[str],
    protocol: Protocol | None = None,
    *,
    name: str = "",
    report: Report = lambda _: None,
) -> Agreement:
    """How well metrics agree with people.

    `metrics` are metrics with their settings or score files, as on the command line. What the
    protocol leaves open is chosen for the judgements, by the `name` of their dataset where that
    is one we know.

    >>> from adequa.segments import Segments
    >>> texts = Segments(("a b c d", "a b", "x y"), (("a b c d",), ("a b c",), ("a b c",)))
    >>> human = Ratings(np.array([2.0, 1.0, 0.0]), {"lp": ("cs-en",) * 3}, texts)
    >>> found = evaluate(human, ["chrf", "wer"], Protocol(statistic="kendall-b"))
    >>> found.average.values
    array([1., 1.])
    """
    chosen = completed(protocol or Protocol(), name, judgements)
    found = sources(metrics)
    if not found:
        raise AdequaError("Name at least one metric or score file to evaluate.")
    if isinstance(judgements, RatedSystems) or chosen.level == "system":
        parts, points = _system_level(judgements, found, chosen, report)
    else:
        parts, points = _segment_level(judgements, found, chosen, report)
    columns = tuple(column(part, chosen) for part in parts)
    return Agreement(
        dataset=name,
        protocol=chosen,
        metrics=tuple(
            MetricInfo(source.name, source.signature(reference_count(judgements), chosen.level))
            for source in found
        ),
        columns=columns,
        average=columns[0] if len(columns) == 1 else macro_average(parts, chosen),
        points=points,
        notes=tuple(note for part in parts for note in part.notes),
    )


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
    judgements: Ratings | Preferences, found: Sequence[Source], report: Report = lambda _: None
) -> FloatArray:
    """Every metric's scores in the order of the judgements, higher is better.

    Of shape (K, n) for ratings and (K, n, 2) for preferences: better and worse.
    """
    names = column_names(judgements.ids, len(judgements))
    if isinstance(judgements, Preferences):
        scores = _scored(found, both_sides(judgements), names * 2, report)
        return np.stack(np.split(scores, 2, axis=1), axis=-1)
    texts = Texts(judgements.ids, judgements.segments, judgements.kept)
    return _scored(found, texts, names, report)


def _segment_level(
    judgements: Ratings | Preferences, found: Sequence[Source], protocol: Protocol, report: Report
) -> tuple[list[Measured], tuple[Points, ...]]:
    scores = segment_scores(judgements, found, report)
    if isinstance(judgements, Preferences):
        return _preferences(judgements, scores[..., 0] - scores[..., 1], protocol)
    return _ratings(judgements, scores, protocol)


def _ratings(
    ratings: Ratings, scores: FloatArray, protocol: Protocol
) -> tuple[list[Measured], tuple[Points, ...]]:
    parts, points = [], []
    for pair, rows in rows_by(column_names(ratings.ids, len(ratings))).items():
        human, metrics, ids = ratings.scores[rows], scores[:, rows], selected(ratings.ids, rows)
        settled = seeded(protocol, pair)
        points.append(Points(pair, human, metrics))
        if protocol.statistic == DARR:
            by_rating = preferred_by_rating(pair, human, metrics, ids, settled)
            parts.append(measure_preferences(by_rating, settled))
        else:
            parts.append(measure_ratings(rated(pair, human, metrics, ids, settled), settled))
    return parts, tuple(points)


def _preferences(
    preferences: Preferences, margins: FloatArray, protocol: Protocol
) -> tuple[list[Measured], tuple[Points, ...]]:
    parts, points = [], []
    for pair, rows in rows_by(column_names(preferences.ids, len(preferences))).items():
        data = preferred(pair, margins[:, rows], selected(preferences.ids, rows))
        points.append(Points(pair, None, data.margins))
        parts.append(measure_preferences(data, seeded(protocol, pair)))
    return parts, tuple(points)


def _scored(
    found: Sequence[Source], texts: Texts, corpora: Sequence[str], report: Report
) -> FloatArray:
    """Segment scores of every metric, (K, n), higher is better."""
    return np.stack(
        [source.segment_scores(statistics_of(source, texts, corpora, report)) for source in found]
    )


def _system_level(
    judgements: Judgements, found: Sequence[Source], protocol: Protocol, report: Report
) -> tuple[list[Measured], tuple[Points, ...]]:
    ranked = ranked_systems(judgements, found, protocol, report)
    points = tuple(Points(data.name, data.human, data.scores) for data in ranked)
    return [measure_systems(data, seeded(protocol, data.name)) for data in ranked], points
