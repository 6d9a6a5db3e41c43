"""The Python entry point: score lists of strings, segments or a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import overload

from adequa.errors import AdequaError, LanguageWarning, warn
from adequa.languages import TargetLanguage
from adequa.metrics.base import Metric, Scores, remarks_since, render_remarks
from adequa.metrics.language import (
    LanguageStream,
    identical_outputs,
    metrics_for,
    read_language,
    remaining_remarks,
    system_notes,
    warn_of_languages,
)
from adequa.metrics.registry import distinct_labels, shared_metric
from adequa.scoring.results import ScoringResult, score_stream
from adequa.segments import (
    Hypotheses,
    ReferenceLayout,
    Segments,
    as_tuple,
    concatenate,
    joined_systems,
)

DEFAULT_METRIC = "adequa"


@overload
def score(
    hypotheses: Hypotheses,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    metric: str | Metric | None = None,
    *,
    metrics: None = None,
    sources: Iterable[str] | None = None,
    layout: ReferenceLayout | None = None,
    language: str | TargetLanguage | None = None,
) -> Scores: ...


@overload
def score(
    hypotheses: Hypotheses,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    *,
    metrics: Sequence[str | Metric],
    sources: Iterable[str] | None = None,
    layout: ReferenceLayout | None = None,
    language: str | TargetLanguage | None = None,
) -> ScoringResult: ...


def score(
    hypotheses: Hypotheses,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    metric: str | Metric | None = None,
    *,
    metrics: Sequence[str | Metric] | None = None,
    sources: Iterable[str] | None = None,
    layout: ReferenceLayout | None = None,
    language: str | TargetLanguage | None = None,
) -> Scores | ScoringResult:
    """Score translations with one metric, or with several, against references or sources.

    `hypotheses` and `references` are lists of strings; a segment with several references has a list
    of them. References may also come as sacreBLEU has them, one list for each reference; where the
    lengths fit both readings, `layout="segments"` or `layout="streams"` says which it is. Outputs
    of several systems with the same references are a dictionary by system. In place of lists,
    `hypotheses` may be `Segments`, or a data frame with the columns `mt`, `ref` and,
    optionally, `src` and `system`. Metrics that need no reference take `sources` alone, or `mt`
    and `src`; `metric.reads` says what a metric reads.

    A metric is a name with optional settings, as on the command line (`"bleu:tokenize=intl"`), the
    folder of a trained metric, or a metric object. Metrics stay in memory for the next call;
    `adequa.clear_caches()` frees it.

    `language` is that of the translations, or the language pair (`"de"`, `"en-de"`). Where it is
    not given and no column `lp` has it, it is detected. It decides BLEU's tokenizer, and where a
    metric does not know it, there is a `LanguageWarning`.

    - With `metric` (by default the one that ships, for English; for other languages, chrF, and a
      warning says so): `Scores`, whose `system` is a
      number and whose `segments` is an array. All segments are those of one system.
    - With `metrics`: a `ScoringResult`, whose `system` and `segments` are dictionaries by metric;
      where segments name several systems, the values are dictionaries by system.

    >>> scores = score(["The cat sat on the mat."], ["The cat sat on a mat."], metric="chrf")
    >>> round(scores.system, 2)
    71.42
    >>> scores.segments.round(2)
    array([71.42])
    >>> score(["Hello there."], [["Hi there.", "Hello there."]], metrics=["ter", "wer"]).system
    {'ter': 0.0, 'wer': 0.0}
    """
    if metrics is not None and metric is not None:
        raise AdequaError("Give one metric as metric, or several as metrics; not both.")
    segments = joined_systems(hypotheses, references, sources, layout=layout)
    if metrics is not None:
        listed = [metrics] if isinstance(metrics, str | Metric) else as_tuple("metrics", metrics)
        if not listed:
            raise AdequaError("metrics is empty; name at least one.")
    stream = read_language([segments], language)
    segments = concatenate(list(stream.batches))
    if metrics is None:
        return _score_one(segments, metric, stream)
    return _score_all(segments, listed, stream)


def _score_one(segments: Segments, metric: str | Metric | None, stream: LanguageStream) -> Scores:
    chosen = default_metric(stream.target) if metric is None else metric
    systems = len(set(segments.ids.get("system", ())))
    if systems > 1:
        raise AdequaError(
            f"The segments are those of {systems} systems; metrics=[{str(chosen)!r}] scores each."
        )
    with ExitStack() as stack:
        scorer = stack.enter_context(shared_metric(chosen)).for_language(stream.target.code)
        scores = scorer.compute_scores(segments)
    notes = [*stream.notes, *_notes(segments, stream.target)]
    warning = scorer.language_warning(stream.target)
    warn_of_languages([warning], notes)
    return replace(
        scores,
        language=stream.target,
        warning=warning,
        remarks=remaining_remarks(scores.remarks, [warning], notes),
    )


def default_metric(target: TargetLanguage) -> str:
    """The metric where none is named; a warning where it is not the one that ships."""
    name = metric_of_language(target)
    if name == DEFAULT_METRIC:
        return name
    warn(
        f"The translations are {target}, and {DEFAULT_METRIC} knows English alone: chrf scores "
        'them. Name a metric, or give language="en" where they are English after all.',
        LanguageWarning,
    )
    return name


def metric_of_language(target: TargetLanguage) -> str:
    """The one metric for translations into a language: the one that ships, if it knows it."""
    return DEFAULT_METRIC if target.code in {None, "en"} else "chrf"


def _notes(segments: Segments, target: TargetLanguage) -> Iterator[str]:
    return system_notes(
        "the system",
        segments,
        target,
        identical=identical_outputs(segments),
        count=len(segments),
    )


def _score_all(
    segments: Segments, metrics: Sequence[str | Metric], stream: LanguageStream
) -> ScoringResult:
    with ExitStack() as stack:
        entered = [stack.enter_context(shared_metric(each)) for each in metrics]
        specifications = [
            each if isinstance(each, str) else f"{metric.name} {number}"
            for number, (each, metric) in enumerate(zip(metrics, entered, strict=True), 1)
        ]
        labels = distinct_labels(specifications, [each.name for each in entered])
        loaded = metrics_for(dict(zip(labels, entered, strict=True)), stream.target)
        before = {label: metric.counted_remarks() for label, metric in loaded.items()}
        result = score_stream([segments], loaded, keep_segments=True, language=stream.target)
        remarks = (
            remark
            for label, metric in loaded.items()
            for remark in render_remarks(remarks_since(before[label], metric.counted_remarks()))
        )
        warnings = [each.warning for each in result.metrics]
        notes = [*stream.notes, *result.checks]
        warn_of_languages(warnings, notes)
        return replace(
            result,
            lists_segments=False,
            remarks=remaining_remarks(dict.fromkeys(remarks), warnings, notes),
        )
