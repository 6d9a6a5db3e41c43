"""Comparing systems: outputs and metrics in, one frozen result out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from adequa.agreement.sources import Source, Specification
from adequa.agreement.sources import sources as metrics_of
from adequa.comparison.buckets import dimensions
from adequa.comparison.defaults import METRICS
from adequa.comparison.features import features, vocabulary
from adequa.comparison.outputs import Outputs, outputs_of
from adequa.comparison.people import Meanings, is_of, meanings_beside, read_meanings
from adequa.comparison.reach import unreachable
from adequa.comparison.results import Comparison, Dimension
from adequa.comparison.scored import Scored, scored
from adequa.comparison.settings import ComparisonSettings
from adequa.comparison.tested import tested
from adequa.errors import AdequaError
from adequa.metrics.base import ComputeStatistics, Metric
from adequa.progress import NO_PROGRESS, Progress


def compare(
    systems: Mapping[str, Iterable[str]],
    references: Iterable[str] | Iterable[Sequence[str]],
    metrics: str | Sequence[Specification] = METRICS,
    *,
    sources: Iterable[str] | None = None,
    documents: Iterable[str] | None = None,
    settings: ComparisonSettings | None = None,
    known: Iterable[str] | None = None,
    people: str | Path | None = None,
) -> Comparison:
    """Compare systems, given by name with one output a segment; the first is the baseline.

    `references` holds one string a segment, or a list where there are several. `metrics` are names
    with settings, folders, files of scores, or objects. `known` are texts whose words are known,
    such as training data, and `people` a file of `adequa differences --level system --format json`.

    >>> said = {"old": ["a cat", "a dog", "a cow"], "new": ["the cat", "a dog", "one cow"]}
    >>> found = compare(said, ["the cat", "a dog", "a cow"], metrics=["wer"])
    >>> found.metrics[0].scores.round(3).tolist(), found.metrics[0].pairs[0].p
    ([0.167, 0.167], 1.0)
    """
    outputs = outputs_of(systems, references, sources=sources, documents=documents)
    return compared(outputs, metrics, settings, known=known, people=people)


def compared(
    outputs: Outputs,
    metrics: str | Sequence[Specification],
    settings: ComparisonSettings | None = None,
    *,
    known: Iterable[str] | None = None,
    people: str | Path | None = None,
    progress: Progress = NO_PROGRESS,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> Comparison:
    """Compare outputs that were read already.

    `compute` may score elsewhere, such as in the queues of a server. Remarks of metrics are then
    left out, since they count over all that a metric has scored.
    """
    asked = (settings or ComparisonSettings()).of(len(outputs.names))
    named = [metrics] if isinstance(metrics, str) else metrics
    found = metrics_of(named)
    if not found:
        raise AdequaError("Name at least one metric or score file.")
    meanings = _meanings(found, people)
    # Read before the long work, so that a file that cannot be read costs none.
    words = None if known is None else vocabulary(outputs, known)
    results = [scored(source, outputs, progress, compute) for source in found]
    progress.stage("Resampling")
    counts = set(map(len, outputs.references))
    count = counts.pop() if len(counts) == 1 else None
    shown = tested(results, asked, meanings, count, progress.step)
    return Comparison(
        outputs=outputs,
        settings=asked,
        metrics=shown,
        part=partial(_parts, results, outputs, words, asked),
        notes=(
            *_notes(outputs, results),
            *(_remarks(found) if compute is Metric.checked_statistics else ()),
            *_too_few(outputs, asked),
            *unreachable(shown, outputs.names, asked),
        ),
    )


def _parts(
    results: Sequence[Scored],
    outputs: Outputs,
    words: frozenset[str] | None,
    settings: ComparisonSettings,
) -> tuple[Dimension, ...]:
    return dimensions(results, features(outputs, words), settings)


def _meanings(found: Sequence[Source], people: str | Path | None) -> list[Meanings | None]:
    """What differences of each metric have meant for people, where it is known."""
    read = () if people is None else read_meanings(Path(people))
    meanings = []
    for source in found:
        metric = source.metric
        given = (each for each in read if metric is not None and is_of(each, metric))
        beside = None if metric is None else meanings_beside(metric)
        meanings.append(next(given, beside))
    if people is not None and not any(meanings):
        raise AdequaError(
            f"{people} tells of none of these metrics; it was measured with "
            f"{' and '.join(each.signature for each in read) or 'none'}."
        )
    return meanings


def _too_few(outputs: Outputs, settings: ComparisonSettings) -> list[str]:
    """That so few swaps cannot show what they are asked for."""
    pairs = len(outputs.names) * (len(outputs.names) - 1) // 2
    swaps = settings.swap_count
    if pairs / (swaps + 1) <= settings.alpha:
        return []
    return [
        f"{swaps:,} swaps are too few for {pairs:,} pairs of systems: after Holm's correction none "
        f"can be significant at {settings.alpha:g}."
    ]


def _notes(outputs: Outputs, results: Sequence[Scored]) -> list[str]:
    """What a reader of the numbers should know."""
    notes = [
        f"{count} of {len(outputs)} hypotheses of {name} are empty; they are scored as they are."
        for name, count in outputs.empty.items()
    ]
    for place, name in enumerate(outputs.names):
        same = [
            other
            for other, texts in zip(outputs.names[:place], outputs.hypotheses, strict=False)
            if texts == outputs.hypotheses[place]
        ]
        if same:
            notes.append(f"{name} has the same outputs as {same[0]} in every segment.")
    notes += [
        f"{each.source.name} has scores of whole systems only: there are no intervals and no tests "
        "without scores of segments."
        for each in results
        if each.statistics is None
    ]
    return notes


def _remarks(found: Sequence[Source]) -> list[str]:
    """What metrics say of the texts that they scored, each sentence once."""
    remarks = (source.metric.remarks() for source in found if source.metric is not None)
    return list(dict.fromkeys(chain.from_iterable(remarks)))
