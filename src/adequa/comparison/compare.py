"""Compare systems: outputs and metrics in, one `Comparison` out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from adequa.agreement.sources import Source, Specifications, scoring_notes
from adequa.agreement.sources import sources as metric_sources
from adequa.comparison.buckets import score_buckets, segment_features, vocabulary
from adequa.comparison.results import Comparison, Dimension
from adequa.comparison.settings import METRICS, ComparisonSettings
from adequa.comparison.significance import (
    AgreementBins,
    compare_metrics,
    read_agreement,
    shipped_agreement,
    too_few_differences,
)
from adequa.comparison.systems import MetricStatistics, Outputs, metric_statistics, outputs_of
from adequa.errors import AdequaError
from adequa.metrics.base import ComputeStatistics, Metric
from adequa.progress import NO_PROGRESS, Progress


def compare(
    systems: Mapping[str, Iterable[str]],
    references: Iterable[str] | Iterable[Sequence[str]],
    metrics: Specifications = METRICS,
    *,
    sources: Iterable[str] | None = None,
    documents: Iterable[str] | None = None,
    settings: ComparisonSettings | None = None,
    known_words: Iterable[str] | None = None,
    people: str | Path | None = None,
) -> Comparison:
    """Compare systems, given by name with one output a segment; the first is the baseline.

    `references` holds one string a segment, or a list of strings where there are several. `metrics`
    are names with settings, folders, files of scores, or objects. `known_words` are texts whose
    words are known, such as training data, and `people` is a file that `adequa differences --level
    system --format json` wrote.

    >>> systems = {"old": ["a cat", "a dog", "a cow"], "new": ["the cat", "a dog", "one cow"]}
    >>> comparison = compare(systems, ["the cat", "a dog", "a cow"], metrics=["wer"])
    >>> comparison.metrics[0].scores.round(3).tolist(), comparison.metrics[0].pairs[0].p
    ([0.167, 0.167], 1.0)
    """
    outputs = outputs_of(systems, references, sources=sources, documents=documents)
    return compare_outputs(outputs, metrics, settings, known_words=known_words, people=people)


def compare_outputs(
    outputs: Outputs,
    metrics: Specifications,
    settings: ComparisonSettings | None = None,
    *,
    known_words: Iterable[str] | None = None,
    people: str | Path | None = None,
    progress: Progress = NO_PROGRESS,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> Comparison:
    """Compare systems whose outputs are in memory.

    `compute` may score elsewhere, such as in the queues of a server. Remarks of metrics are then
    left out, since they count over all that a metric has scored.
    """
    settings = (settings or ComparisonSettings()).for_systems(len(outputs.names))
    resolved = metric_sources(metrics)
    # Files are read before the long work, so that one that cannot be read costs none.
    agreement = _agreement(resolved, people)
    words = None if known_words is None else vocabulary(outputs, known_words)
    statistics = [metric_statistics(source, outputs, progress, compute) for source in resolved]
    progress.stage("Resampling")
    counts = set(map(len, outputs.references))
    reference_count = counts.pop() if len(counts) == 1 else None
    compared = compare_metrics(statistics, settings, agreement, reference_count, progress.step)

    def split() -> tuple[Dimension, ...]:
        return score_buckets(statistics, segment_features(outputs, words), settings)

    return Comparison(
        outputs=outputs,
        settings=settings,
        metrics=compared,
        split=split,
        notes=(
            *_notes(outputs, statistics),
            *(scoring_notes(resolved) if compute is Metric.checked_statistics else ()),
            *_too_few_swaps(outputs, settings),
            *too_few_differences(compared, outputs.names, settings),
        ),
    )


def _agreement(sources: Sequence[Source], people: str | Path | None) -> list[AgreementBins | None]:
    """How often people agreed with differences of each metric, where that was measured."""
    measured = () if people is None else read_agreement(Path(people))
    agreement = []
    for metric in (source.metric for source in sources):
        fitting = (each for each in measured if metric is not None and each.fits(metric))
        shipped = None if metric is None else shipped_agreement(metric)
        agreement.append(next(fitting, shipped))
    if people is not None and not any(agreement):
        raise AdequaError(
            f"{people} tells of none of these metrics; it was measured with "
            f"{' and '.join(each.signature for each in measured) or 'none'}."
        )
    return agreement


def _too_few_swaps(outputs: Outputs, settings: ComparisonSettings) -> list[str]:
    """A note where no p-value can be significant with so few swaps."""
    pairs = len(outputs.names) * (len(outputs.names) - 1) // 2
    swaps = settings.swap_count
    if pairs / (swaps + 1) <= settings.alpha:
        return []
    return [
        f"{swaps:,} swaps are too few for {pairs:,} pairs of systems: after Holm's correction none "
        f"can be significant at {settings.alpha:g}."
    ]


def _notes(outputs: Outputs, statistics: Sequence[MetricStatistics]) -> list[str]:
    """What a reader of the numbers should know."""
    notes = [
        f"empty hypotheses of {name}: {count:,} of {len(outputs):,}, scored as they are."
        for name, count in outputs.empty_counts.items()
    ]
    for index, name in enumerate(outputs.names):
        earlier = zip(outputs.names[:index], outputs.hypotheses, strict=False)
        same = [other for other, texts in earlier if texts == outputs.hypotheses[index]]
        if same:
            notes.append(f"{name} has the same outputs as {same[0]} in every segment.")
    notes += [
        f"{each.source.name} has scores of whole systems only: there are no intervals and no tests "
        "without scores of segments."
        for each in statistics
        if each.statistics is None
    ]
    return notes
