"""Agreement of metrics with human judgements: from judgements and scores to one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from adequa.agreement.groups import codes, column_names, rows_by, segment_names
from adequa.agreement.protocol import (
    DARR,
    Protocol,
    completed,
    fewest_swaps,
    pairs_within_segments,
    seeded,
    settings_or_default,
)
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
    PreferenceMargins,
    margins_from_ratings,
    measure_grouped,
    measure_pooled,
    measure_preferences,
    rated_outputs,
)
from adequa.agreement.selection import Selection, selected
from adequa.agreement.sources import (
    Source,
    Specifications,
    Texts,
    both_sides,
    check_texts,
    scoring_notes,
    sources,
    text_statistics,
)
from adequa.agreement.system_level import measure_systems, ranked_systems
from adequa.datasets.load import JudgementData, load_dataset
from adequa.judgements import (
    Judgements,
    Preferences,
    RatedSystems,
    Ratings,
    identified,
    without_repeats,
)
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, Segments


def evaluate(
    judgements: JudgementData,
    metrics: Specifications,
    protocol: Protocol | None = None,
    *,
    selection: Selection | None = None,
    progress: Progress = NO_PROGRESS,
) -> Agreement:
    """Measure how well metrics agree with human judgements.

    `judgements` are the name of a dataset, the path of a file of ratings or preferences, a data
    frame with the columns of such a file, or an object such as `Ratings`. `metrics` are metrics
    with their settings or score files, as on the command line, or metric and `ScoreFile` objects;
    scores without ids are in the order of the judgements. What the protocol leaves open is chosen
    for the judgements, by the name of their dataset where that is a known one.

    >>> from adequa.segments import Segments
    >>> texts = Segments(("a b c d", "a b", "x y"), (("a b c d",), ("a b c",), ("a b c",)))
    >>> human = Ratings(np.array([2.0, 1.0, 0.0]), {"lp": ("cs-en",) * 3}, texts)
    >>> agreement = evaluate(human, ["chrf", "wer"], Protocol(statistic="kendall-b"))
    >>> agreement.average.values
    array([1., 1.])
    """
    protocol = settings_or_default(Protocol, protocol, "protocol")
    selection = settings_or_default(Selection, selection, "selection")
    scorers = sources(metrics)
    loaded = load_dataset(judgements)
    chosen, exclusions = selected(loaded, selection, protocol)
    notes = [*identified(loaded).file_rows.notes(), *exclusions, *judgement_notes(chosen)]
    systems_only = any(source.is_of_systems for source in scorers)
    protocol = completed(protocol, chosen, len(scorers), systems_only=systems_only)
    if isinstance(chosen, Ratings) and pairs_within_segments(protocol):
        chosen = without_repeats(chosen)  # no output is compared with itself
    pairs, points = zip(*_measured(chosen, scorers, protocol, progress), strict=True)
    columns = tuple(column(pair, protocol) for pair in pairs)
    agreement = Agreement(
        dataset=identified(loaded).name,
        protocol=protocol,
        selection=str(selection),
        metrics=metric_infos(
            scorers, reference_count(chosen), protocol.level, sources=has_sources(chosen)
        ),
        columns=columns,
        average=columns[0] if len(columns) == 1 else macro_average(pairs, protocol),
        pooled=pooled_accuracy(pairs, protocol) if protocol.statistic == "accuracy" else None,
        points=points,
    )
    notes += [
        *(note for pair in pairs for note in pair.notes),
        *scoring_notes(scorers),
        *_too_few_swaps(protocol, len(scorers)),
        *_undefined_figures(agreement),
        *_undefined_resamples(agreement),
    ]
    return replace(agreement, notes=tuple(notes))


def reference_count(judgements: Judgements) -> int | None:
    """References a text, as signatures have it; None where texts differ in it or there are none."""
    texts = _texts(judgements)
    return None if texts is None else texts.reference_count


def has_sources(judgements: Judgements) -> bool | None:
    """Whether the texts have sources; None where there are no texts."""
    texts = _texts(judgements)
    return None if texts is None else texts.sources is not None


def _texts(judgements: Judgements) -> Segments | None:
    match judgements:
        case Preferences():
            return judgements.better
        case RatedSystems():
            return judgements.outputs
        case _:
            return judgements.segments


def metric_infos(
    scorers: Sequence[Source],
    references: int | None,
    level: str = "segment",
    *,
    sources: bool | None = None,
) -> tuple[MetricInfo, ...]:
    """The name and the signature of every metric."""
    return tuple(
        MetricInfo(each.name, each.signature(references, level, sources=sources))
        for each in scorers
    )


def segment_scores(
    judgements: Ratings | Preferences, scorers: Sequence[Source], progress: Progress = NO_PROGRESS
) -> FloatArray:
    """Every metric's scores in the order of the judgements, higher is better.

    Of shape (K, n) for ratings and (K, n, 2) for preferences: better and worse.
    """
    names = column_names(judgements.ids, len(judgements))
    if isinstance(judgements, Preferences):
        scores = _scored(scorers, both_sides(judgements), names * 2, progress)
        return np.stack(np.split(scores, 2, axis=1), axis=-1)
    texts = Texts(judgements.ids, judgements.segments, judgements.file_rows)
    return _scored(scorers, texts, names, progress)


def _measured(
    judgements: Judgements, scorers: Sequence[Source], protocol: Protocol, progress: Progress
) -> Iterator[tuple[PairAgreement, Points]]:
    """Agreement on one language pair after the other, and the points that a plot shows of it."""
    if isinstance(judgements, RatedSystems) or protocol.level == "system":
        for data in ranked_systems(judgements, scorers, protocol, progress):
            progress.stage(f"Resampling {data.name}")
            points = Points(data.name, data.human, data.scores)
            yield measure_systems(data, seeded(protocol, data.name)), points
        return
    scores = segment_scores(judgements, scorers, progress)
    for pair, rows in rows_by(column_names(judgements.ids, len(judgements))).items():
        progress.stage(f"Resampling {pair}")
        part, pair_protocol = judgements.select(rows), seeded(protocol, pair)
        if isinstance(part, Ratings):
            yield _ratings(pair, part, scores[:, rows], pair_protocol)
        else:
            yield _preferences(pair, part, scores[:, rows], pair_protocol)


def _ratings(
    pair: str, ratings: Ratings, metrics: FloatArray, protocol: Protocol
) -> tuple[PairAgreement, Points]:
    points = Points(pair, ratings.scores, metrics)
    if protocol.statistic == DARR:
        margins = margins_from_ratings(pair, ratings.scores, metrics, ratings.ids, protocol)
        return measure_preferences(margins, protocol), points
    arrays = rated_outputs(pair, ratings.scores, metrics, ratings.ids, protocol)
    measure = measure_pooled if protocol.average == "pooled" else measure_grouped
    return measure(arrays, protocol), points


def _preferences(
    pair: str, preferences: Preferences, scores: FloatArray, protocol: Protocol
) -> tuple[PairAgreement, Points]:
    margins = scores[..., 0] - scores[..., 1]
    segments = codes(segment_names(preferences.ids), len(preferences))
    data = PreferenceMargins(pair, margins, segments)
    return measure_preferences(data, protocol), Points(pair, None, margins)


def _scored(
    scorers: Sequence[Source], texts: Texts, corpora: Sequence[str], progress: Progress
) -> FloatArray:
    """Segment scores of every metric, (K, n), higher is better."""
    check_texts(scorers, texts)
    statistics = (text_statistics(source, texts, corpora, progress) for source in scorers)
    return np.stack(list(map(Source.segment_scores, scorers, statistics)))


def judgement_notes(judgements: Judgements) -> Iterator[str]:
    """Notes on human ties, and on outputs that were rated more than once."""
    if isinstance(judgements, Preferences) and judgements.ties:
        count = sum(judgements.ties.values())
        yield f"human ties, which no tau counts: {count:,} beside {len(judgements):,} preferences."
    if isinstance(judgements, Ratings) and judgements.repeated:
        yield (
            f"outputs of a system and segment that are rated again: {judgements.repeated:,}; "
            "within segments their mean counts, elsewhere every rating."
        )


def _too_few_swaps(protocol: Protocol, metrics: int) -> Iterator[str]:
    """A note on a test that could not separate any metrics."""
    fewest = fewest_swaps(metrics, protocol.alpha)
    if metrics > 1 and protocol.test not in {"none", "williams"} and protocol.swap_count < fewest:
        yield (
            f"{protocol.swap_count:,} swaps are too few to tell any of {metrics} metrics apart at "
            f"{protocol.alpha:g}; it takes {fewest:,} at the least."
        )


def _undefined_figures(agreement: Agreement) -> Iterator[str]:
    """Notes on why figures are missing."""
    for each in agreement.all_columns:
        for metric, reason in zip(agreement.metrics, each.reasons, strict=True):
            if reason:
                yield (
                    f"{metric.name}, {each.name}: {agreement.protocol.statistic} is undefined, "
                    f"because {reason}."
                )


def _undefined_resamples(agreement: Agreement) -> Iterator[str]:
    """A note on intervals that rest on fewer resamples than the protocol has."""
    undefined = {
        each.name: each.undefined_resamples
        for each in agreement.all_columns
        if each.undefined_resamples
    }
    if undefined:
        yield (
            f"up to {max(undefined.values()):,} of {agreement.protocol.resamples:,} resamples have "
            f"no value and are left out of intervals ({', '.join(undefined)}); where it is more "
            "than half, there is no interval."
        )
