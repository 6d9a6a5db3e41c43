"""The Python entry point: score lists of strings, segments or a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import overload

from adequa.errors import AdequaError
from adequa.metrics.base import Metric, Scores, remarks_since, render_remarks
from adequa.metrics.registry import distinct_labels, shared_metric
from adequa.scoring.results import ScoringResult, score_stream
from adequa.segments import Frame, ReferenceLayout, Segments, as_segments, as_tuple

DEFAULT_METRIC = "adequa"


@overload
def score(
    hypotheses: Iterable[str] | Segments | Frame,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    metric: str | Metric = DEFAULT_METRIC,
    *,
    metrics: None = None,
    sources: Iterable[str] | None = None,
    layout: ReferenceLayout | None = None,
) -> Scores: ...


@overload
def score(
    hypotheses: Iterable[str] | Segments | Frame,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    *,
    metrics: Sequence[str | Metric],
    sources: Iterable[str] | None = None,
    layout: ReferenceLayout | None = None,
) -> ScoringResult: ...


def score(
    hypotheses: Iterable[str] | Segments | Frame,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    metric: str | Metric = DEFAULT_METRIC,
    *,
    metrics: Sequence[str | Metric] | None = None,
    sources: Iterable[str] | None = None,
    layout: ReferenceLayout | None = None,
) -> Scores | ScoringResult:
    """Score translations against references with one metric, or with several.

    `hypotheses` and `references` are lists of strings; a segment with several references has a list
    of them. References may also come as sacreBLEU has them, one list for each reference; where the
    lengths fit both readings, `layout="segments"` or `layout="streams"` says which it is. In place
    of lists, `hypotheses` may be `Segments`, or a data frame with the columns `mt`, `ref` and,
    optionally, `src` and `system`.

    A metric is a name with optional settings, as on the command line (`"bleu:tokenize=intl"`), the
    folder of a trained metric, or a metric object. Metrics stay in memory for the next call;
    `adequa.clear_caches()` frees it.

    - With `metric` (by default the one that ships, for English): `Scores`, whose `system` is a
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
    if metrics is not None and metric != DEFAULT_METRIC:
        raise AdequaError("Give one metric as metric, or several as metrics; not both.")
    segments = as_segments(hypotheses, references, sources, layout=layout)
    if metrics is None:
        return _score_one(segments, metric)
    listed = [metrics] if isinstance(metrics, str | Metric) else as_tuple("metrics", metrics)
    return _score_all(segments, listed)


def _score_one(segments: Segments, metric: str | Metric) -> Scores:
    systems = len(set(segments.ids.get("system", ())))
    if systems > 1:
        raise AdequaError(
            f"The segments are those of {systems} systems; metrics=[{str(metric)!r}] scores each."
        )
    with ExitStack() as stack:
        return stack.enter_context(shared_metric(metric)).score(segments)


def _score_all(segments: Segments, metrics: Sequence[str | Metric]) -> ScoringResult:
    if not metrics:
        raise AdequaError("metrics is empty; name at least one.")
    with ExitStack() as stack:
        entered = [stack.enter_context(shared_metric(each)) for each in metrics]
        specifications = [
            each if isinstance(each, str) else f"{metric.name} {number}"
            for number, (each, metric) in enumerate(zip(metrics, entered, strict=True), 1)
        ]
        labels = distinct_labels(specifications, [each.name for each in entered])
        loaded = dict(zip(labels, entered, strict=True))
        before = {label: metric.counted_remarks() for label, metric in loaded.items()}
        result = score_stream([segments], loaded, keep_segments=True)
        remarks = (
            remark
            for label, metric in loaded.items()
            for remark in render_remarks(remarks_since(before[label], metric.counted_remarks()))
        )
        return replace(result, lists_segments=False, remarks=tuple(dict.fromkeys(remarks)))
