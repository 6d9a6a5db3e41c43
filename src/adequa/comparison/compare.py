"""Compare systems: outputs and metrics in, one `Comparison` out.

Each metric scores every output once. What follows (intervals, tests, buckets) is arithmetic on the
statistics, which add up over segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from adequa.agreement.protocol import settings_or_default
from adequa.agreement.sources import Source, Specifications, scoring_notes
from adequa.agreement.sources import sources as metric_sources
from adequa.comparison.buckets import score_buckets, segment_features, vocabulary
from adequa.comparison.explained import explain_sample, explaining_metric
from adequa.comparison.results import Comparison, Dimension
from adequa.comparison.significance import (
    AgreementBins,
    SignedTexts,
    compare_metrics,
    read_agreement,
    shipped_agreement,
    too_few_differences,
)
from adequa.errors import AdequaError, counted, nearest
from adequa.explanation.explain import NEEDS_REFERENCES
from adequa.explanation.results import Explanation
from adequa.languages import TargetLanguage
from adequa.metrics.base import ComputeStatistics, Metric
from adequa.metrics.language import (
    default_metrics,
    default_notes,
    empty_note,
    empty_outputs,
    identical_outputs,
    read_language,
    remaining_remarks,
    system_notes,
    warn_of_languages,
)
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import (
    UNNAMED,
    FloatArray,
    Frame,
    ReferenceLayout,
    Segments,
    as_segments,
    check_finite,
    concatenate,
    segments_by_system,
)
from adequa.statistics.settings import ComparisonSettings

if TYPE_CHECKING:
    from adequa.io.score_files import ScoreFile

MIN_SYSTEMS = 2
MIN_SEGMENTS = 2
# All systems are scored on a batch of segments before the next one: metrics keep what they have
# computed of recent references.
_BATCH = 256  # segments; small enough that progress shows in slow metrics
_SCORE_KEY = {"system", "segment"}  # columns by which a comparison looks up scores in a file


# Outputs by the name of a system, or segments with the system of each among their ids.
Systems: TypeAlias = Mapping[str, Iterable[str]] | Segments | Frame


def compare(
    systems: Systems,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    metrics: Specifications | None = None,
    *,
    sources: Iterable[str] | None = None,
    documents: Iterable[str] | None = None,
    settings: ComparisonSettings | None = None,
    known_words: Iterable[str] | None = None,
    people: str | Path | None = None,
    layout: ReferenceLayout | None = None,
    language: str | TargetLanguage | None = None,
    explain: int | None = 0,
) -> Comparison:
    """Compare systems, given by name with one output per segment; the first is the baseline.

    In place of a dictionary, `systems` may be `Segments` of several systems, as `adequa.read`
    returns them, or a data frame with the columns `system`, `mt` and `ref`.

    `references`, `sources`, `layout` and `language` are those of `score`; without references, what
    is computed from them is left out. `metrics` are names with settings, folders, files of scores,
    or objects; by default those that ship and know the language.
    `known_words` are texts whose words are known, such as training data, and `people` is a file
    that `adequa differences --level system --format json` wrote. `explain` is the number of random
    segments in which the result says what each difference from the reference costs, under
    `comparison.explanation`; None stands for as many as the report of the command line has.

    >>> systems = {"old": ["a cat", "a dog", "a cow"], "new": ["the cat", "a dog", "one cow"]}
    >>> comparison = compare(systems, ["the cat", "a dog", "a cow"], metrics=["wer"])
    >>> comparison.metrics[0].scores.round(3).tolist(), comparison.metrics[0].pairs[0].p
    ([0.167, 0.167], 1.0)
    """
    outputs = outputs_of(systems, references, sources=sources, documents=documents, layout=layout)
    comparison = compare_outputs(
        outputs, metrics, settings, known_words=known_words, people=people, language=language,
        explain=explain,
    )  # fmt: skip
    warn_of_languages((each.warning for each in comparison.metrics), comparison.notes)
    return comparison


def compare_outputs(
    outputs: Outputs,
    metrics: Specifications | None,
    settings: ComparisonSettings | None = None,
    *,
    language: str | TargetLanguage | None = None,
    known_words: Iterable[str] | None = None,
    people: str | Path | None = None,
    explain: int | None = 0,
    progress: Progress = NO_PROGRESS,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> Comparison:
    """Compare systems whose outputs are in memory, by default with the metrics of their language.

    `compute` may score elsewhere, such as in the queues of a server, with the metrics as they are.
    Remarks of metrics are then left out, since they count over all that a metric has scored.
    """
    requested = settings_or_default(ComparisonSettings, settings, "settings")
    settings = requested.for_systems(len(outputs.names))
    every_segment = outputs.batch(0, slice(None), outputs.references)
    stream = read_language([every_segment], language)
    target = stream.target
    resolved = metric_sources(default_metrics(target) if metrics is None else metrics)
    if compute is Metric.checked_statistics:
        resolved = tuple(source.for_language(target) for source in resolved)
    # What cannot be scored or read is refused before the long work.
    for metric in (source.metric for source in resolved):
        if metric is not None:
            metric.check_reads(every_segment)
    if not outputs.has_references:
        _check_no_references_needed(known_words, explain)
        explain = 0
    agreement = _agreement(resolved, people)
    explaining = explaining_metric(resolved, explain)
    words = None if known_words is None else vocabulary(outputs, known_words)
    statistics = [metric_statistics(source, outputs, progress, compute) for source in resolved]
    progress.stage("Resampling")
    counts = set(map(len, outputs.references))
    texts = SignedTexts(
        counts.pop() if len(counts) == 1 else None, sources=outputs.sources is not None
    )
    warnings = [source.language_warning(target) for source in resolved]
    compared = tuple(
        replace(metric, warning=warning)
        for metric, warning in zip(
            compare_metrics(statistics, settings, agreement, texts, progress.step),
            warnings,
            strict=True,
        )
    )
    checks = tuple(chain.from_iterable(outputs.language_notes(target)))
    remarks = tuple(scoring_notes(resolved)) if compute is Metric.checked_statistics else ()

    explanation: Explanation | None = None
    failures: tuple[str, ...] = ()
    if explaining is not None:
        progress.stage("Explaining")
        name, metric = explaining
        try:
            explanation = explain_sample(
                outputs, metric, explain, requested,
                language=target, progress=progress, compute=compute,
            )  # fmt: skip
            explanation = replace(explanation, metric=name)
        except AdequaError as error:
            if explain is not None:
                raise
            failures = (f"No differences are explained: {error}",)

    def split() -> tuple[Dimension, ...]:
        return score_buckets(statistics, segment_features(outputs, words), settings)

    return Comparison(
        outputs=outputs,
        settings=settings,
        metrics=compared,
        split=split,
        language=target,
        notes=(
            *stream.notes,
            *(default_notes(target) if metrics is None else ()),
            *checks,
            *_notes(outputs, statistics),
            *remaining_remarks(remarks, warnings, checks),
            *_too_few_swaps(outputs, settings),
            *too_few_differences(compared, outputs.names, settings),
            *failures,
        ),
        frequencies=words,
        explanation=explanation,
    )


def _check_no_references_needed(known_words: Iterable[str] | None, explain: int | None) -> None:
    """Raise where an option was given that has no meaning without references."""
    if known_words is not None:
        raise AdequaError(
            "Known words are compared with the words of references, and there are no references; "
            "leave them out."
        )
    if explain:
        raise AdequaError(NEEDS_REFERENCES)


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
    notes = [empty_note(name, count, len(outputs)) for name, count in outputs.empty_counts.items()]
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


# Outputs of systems


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of every system for the same segments; the first system is the baseline."""

    names: tuple[str, ...]
    hypotheses: tuple[tuple[str, ...], ...]  # of each system, one per segment
    references: tuple[tuple[str, ...], ...]  # of each segment; all empty where there are none
    sources: tuple[str, ...] | None = None
    documents: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.names) < MIN_SYSTEMS:
            raise AdequaError(
                f"A comparison is between two systems or more, and there is {len(self.names)}: "
                f"{', '.join(self.names) or 'none'}."
            )
        if len(self) < MIN_SEGMENTS:
            raise AdequaError(
                f"A comparison needs two segments or more, and there is {len(self)}: nothing can "
                "be said of how sure a difference is."
            )

    @classmethod
    def of(cls, systems: Mapping[str, Segments]) -> Outputs:
        """The outputs of systems, which must have the same segments in the same order."""
        check_same_segments(systems)
        first = next(iter(systems.values()), Segments((), ()))
        return cls(
            tuple(systems),
            tuple(segments.hypotheses for segments in systems.values()),
            first.references,
            first.sources,
            first.ids.get("doc"),
        )

    def __len__(self) -> int:
        return len(self.references)

    @property
    def has_references(self) -> bool:
        """Whether there are references, and not sources alone."""
        return any(self.references)

    def batch(self, system: int, rows: slice, references: tuple[tuple[str, ...], ...]) -> Segments:
        """A slice of a system's segments, with references that all systems share."""
        return Segments(
            self.hypotheses[system][rows],
            references,
            None if self.sources is None else self.sources[rows],
            {} if self.documents is None else {"doc": self.documents[rows]},
        )

    def language_notes(self, target: TargetLanguage) -> Iterator[Iterator[str]]:
        """Notes on each system that is the reference, or is not of the target language."""
        for index, name in enumerate(self.names):
            segments = self.batch(index, slice(None), self.references)
            identical = identical_outputs(segments)
            yield system_notes(name, segments, target, identical=identical, count=len(self))

    @property
    def empty_counts(self) -> dict[str, int]:
        """Number of empty outputs of each system that has any."""
        counts = map(empty_outputs, self.hypotheses)
        return {name: count for name, count in zip(self.names, counts, strict=True) if count}


def outputs_of(
    systems: Systems,
    references: Iterable[str] | Iterable[Sequence[str]] | None,
    *,
    sources: Iterable[str] | None = None,
    documents: Iterable[str] | None = None,
    layout: ReferenceLayout | None = None,
) -> Outputs:
    """Outputs from plain Python lists, by the names of systems.

    >>> systems = {"old": ["a cat", "a dog"], "new": ["the cat", "dogs"]}
    >>> outputs_of(systems, ["a cat", "a dog"]).names
    ('old', 'new')
    """
    outputs = Outputs.of(segments_from_lists(systems, references, sources, layout))
    if documents is None:
        return outputs
    names = tuple(map(str, documents))
    if len(names) != len(outputs):
        raise AdequaError(
            f"There are {counted(len(outputs), 'segment')} but {counted(len(names), 'name')} of"
            " documents."
        )
    return replace(outputs, documents=names)


def segments_from_lists(
    systems: Systems,
    references: Iterable[str] | Iterable[Sequence[str]] | None,
    sources: Iterable[str] | None = None,
    layout: ReferenceLayout | None = None,
) -> dict[str, Segments]:
    """Segments of each system from plain Python lists, checked; errors name the system."""
    if isinstance(systems, Segments) or (
        hasattr(systems, "columns") and not isinstance(systems, Mapping)
    ):
        return segments_from_batches([as_segments(systems, references, sources, layout=layout)])
    if not isinstance(systems, Mapping):
        raise AdequaError(
            "Systems are given by name with one output per segment, such as "
            f'{{"old": [...], "new": [...]}}, not as {type(systems).__name__}.'
        )
    return segments_by_system(systems, references, sources, layout=layout)


def segments_from_batches(batches: Iterable[Segments]) -> dict[str, Segments]:
    """All segments of each system, from batches as readers of files yield them."""
    parts: dict[str, list[Segments]] = {}
    for batch in batches:
        names = batch.ids.get("system", (UNNAMED,) * len(batch))
        for name in dict.fromkeys(names):
            rows = [row for row, system in enumerate(names) if system == name]
            whole = len(rows) == len(batch)
            parts.setdefault(name, []).append(batch if whole else batch.select(rows))
    return {name: concatenate(batches) for name, batches in parts.items()}


def check_same_segments(systems: Mapping[str, Segments]) -> None:
    """Raise where a system does not have the same segments as the first one."""
    first_name, first = next(iter(systems.items()), ("", Segments((), ())))
    for name, segments in systems.items():
        if len(segments) != len(first):
            raise AdequaError(
                f"All systems need the same segments, but {first_name} has {len(first)} "
                f"and {name} has {len(segments)}."
            )
        for what, cells, first_cells in (
            ("reference", segments.references, first.references),
            ("source", segments.sources, first.sources),
            ("document", segments.ids.get("doc"), first.ids.get("doc")),
        ):
            if cells != first_cells:
                pairs = enumerate(zip(cells or (), first_cells or (), strict=False), 1)
                row = next((row for row, (one, other) in pairs if one != other), 1)
                raise AdequaError(
                    f"All systems need the same segments in the same order, but segment {row} of "
                    f"{name} has another {what} than that of {first_name}."
                )


# Statistics of metrics


@dataclass(frozen=True, slots=True, eq=False)
class MetricStatistics:
    """The statistics and scores of all systems under a metric, or from a file of scores."""

    source: Source
    statistics: FloatArray | None  # (systems, segments, k), rows add up; None for whole systems
    systems: FloatArray  # one score per system, higher is better

    def score(self, totals: FloatArray) -> FloatArray:
        """One score per row of summed statistics, higher is better."""
        return self.source.system_scores(totals)

    @property
    def segments(self) -> FloatArray | None:
        """Scores (systems, segments), higher is better."""
        if self.statistics is None:
            return None
        systems, segments, width = self.statistics.shape
        flat = self.source.segment_scores(self.statistics.reshape(-1, width))
        return flat.reshape(systems, segments)


def metric_statistics(
    source: Source,
    outputs: Outputs,
    progress: Progress,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> MetricStatistics:
    """The statistics of the outputs under a metric, or from a file of scores."""
    if source.metric is not None:
        progress.stage(f"Scoring with {source.name}")
        progress.expect(len(outputs.names) * len(outputs))
        statistics = _scored_in_batches(source.metric, outputs, progress, compute)
        systems = source.system_scores(statistics.sum(axis=1))
        check_finite(source.name, systems)
        segments = source.segment_scores(statistics.reshape(-1, statistics.shape[2]))
        check_finite(source.name, segments)
        return MetricStatistics(source, statistics, systems)
    if source.file is None:
        raise AdequaError(f"{source.name} is neither a metric nor a file of scores.")
    if source.is_of_systems:
        scores = _file_system_scores(source.path, source.file, outputs)
        return MetricStatistics(source, None, source.sign * scores)
    scores = _file_segment_scores(source.path, source.file, outputs)
    statistics = np.stack([scores, np.ones_like(scores)], axis=2)
    return MetricStatistics(source, statistics, source.sign * scores.mean(axis=1))


def _scored_in_batches(
    metric: Metric, outputs: Outputs, progress: Progress, compute: ComputeStatistics
) -> FloatArray:
    """Statistics (systems, segments, k), computed batch by batch, one system after the other."""
    size = len(outputs) if metric.needs_whole_corpus else _BATCH
    parts: list[list[FloatArray]] = [[] for _ in outputs.names]
    for start in range(0, len(outputs), size):
        rows = slice(start, start + size)
        references = outputs.references[rows]  # one object for all, which metrics recognise
        for system, batches in enumerate(parts):
            segments = outputs.batch(system, rows, references)
            batches.append(compute(metric, segments))
            progress.texts_scored(len(segments))
    return np.stack([np.concatenate(batches) for batches in parts])


def _file_system_scores(path: str, file: ScoreFile, outputs: Outputs) -> FloatArray:
    score_of = dict(zip(file.ids["system"], file.scores.tolist(), strict=True))
    for name in outputs.names:
        _check_system(path, file, name)
    return np.array([score_of[name] for name in outputs.names])


def _file_segment_scores(path: str, file: ScoreFile, outputs: Outputs) -> FloatArray:
    """Scores (systems, segments): by system and number of the segment, or one per line."""
    shape = (len(outputs.names), len(outputs))
    if file.scores.ndim > 1:
        raise AdequaError(
            f"{path} has two columns of scores, better and worse; a comparison takes one score an "
            "output."
        )
    if not file.ids:
        if len(file) != shape[0] * shape[1]:
            raise AdequaError(
                f"{path} has {counted(len(file), 'score')}, but {counted(shape[0], 'system')} of "
                f"{counted(shape[1], 'segment')} need {shape[0] * shape[1]:,}: one per line, one "
                "system after the other, or a header with system, segment and score."
            )
        return file.scores.reshape(shape)
    _check_columns(path, file)
    keys = zip(file.ids["system"], file.ids["segment"], strict=True)
    score_of = dict(zip(keys, file.scores.tolist(), strict=True))
    for name in outputs.names:
        _check_system(path, file, name)
    numbers = [str(number) for number in range(1, len(outputs) + 1)]
    expected = ((name, number) for name in outputs.names for number in numbers)
    missing = next((key for key in expected if key not in score_of), None)
    if missing is not None:
        raise AdequaError(
            f"{path} has no score for segment {missing[1]} of {missing[0]}; segments are numbered "
            "from 1."
        )
    return np.array([[score_of[name, number] for number in numbers] for name in outputs.names])


def _check_columns(path: str, file: ScoreFile) -> None:
    """Raise unless system and segment alone identify a score."""
    lacking = _SCORE_KEY - file.ids.keys()
    if lacking:
        raise AdequaError(
            f"{path} has no column {' and no column '.join(sorted(lacking))}; a comparison finds "
            "scores by system and segment, or takes one per line without a header."
        )
    for column, cells in file.ids.items():
        if column not in _SCORE_KEY and len(set(cells)) > 1:
            raise AdequaError(
                f"{path} has scores of more than one {column}; choose with {path}:{column}=VALUE."
            )


def _check_system(path: str, file: ScoreFile, system: str) -> None:
    names = dict.fromkeys(file.ids["system"])
    if system not in names:
        raise AdequaError(
            f'{path} has no system "{system}".{nearest(system, names)} There are: '
            f"{', '.join(names)}."
        )
