"""The Python entry point: score lists of strings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adequa.errors import AdequaError
from adequa.metrics.base import Metric
from adequa.metrics.registry import load_metric
from adequa.segments import Scores, Segments


def score(
    hypotheses: Iterable[str],
    references: Iterable[str] | Iterable[Sequence[str]],
    metric: str | Metric = "adequa",
    *,
    sources: Iterable[str] | None = None,
) -> Scores:
    """Score translations against references with one metric.

    `references` holds one string a segment, or one list of strings a segment where there are
    several references. `metric` is a name with optional settings, as on the command line
    (`"bleu:tokenize=intl"`), or a metric object; without it, the one that ships, for English.

    >>> scores = score(["The cat sat on the mat."], ["The cat sat on a mat."], metric="chrf")
    >>> round(scores.system, 2)
    71.42
    >>> scores.segments.round(2)
    array([71.42])
    >>> scores = score(["Hello there."], [["Hi there.", "Hello there."]], metric="ter")
    >>> scores.system, str(scores.signature).split("|")[1]
    (0.0, 'nrefs:2')
    """
    chosen = load_metric(metric) if isinstance(metric, str) else metric
    if not isinstance(chosen, Metric):
        raise AdequaError(f"metric must be a metric's name or a metric, not {metric!r}.")
    return chosen.score(as_segments(hypotheses, references, sources))


def as_segments(
    hypotheses: Iterable[str],
    references: Iterable[str] | Iterable[Sequence[str]],
    sources: Iterable[str] | None = None,
) -> Segments:
    """Segments from plain Python lists, checked."""
    translated = _strings("hypotheses", hypotheses)
    listed = _rows("references", references)
    if len(listed) != len(translated):
        raise AdequaError(
            f"There are {len(translated)} hypotheses but references for {len(listed)} segments."
            + _transposition_hint(listed, len(translated))
        )
    return Segments(
        hypotheses=translated,
        references=tuple(
            (each,) if isinstance(each, str) else _strings(f"references[{row}]", each)
            for row, each in enumerate(listed)
        ),
        sources=None if sources is None else _strings("sources", sources),
    )


def _rows(name: str, values: Iterable[object]) -> tuple[object, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise AdequaError(f"{name} must be a list, not one {type(values).__name__}.")
    return tuple(values)


def _strings(name: str, values: object) -> tuple[str, ...]:
    rows = _rows(name, values)  # type: ignore[arg-type]  # _rows checks it
    for row, value in enumerate(rows):
        if not isinstance(value, str):
            kind = type(value).__name__
            raise AdequaError(f"{name}[{row}] must be a string, but it is of type {kind}.")
    return rows  # type: ignore[return-value]  # checked just above


def _transposition_hint(references: tuple[object, ...], segments: int) -> str:
    """sacreBLEU takes one list a reference; here it is one list a segment."""
    streams = [each for each in references if isinstance(each, (list, tuple))]
    if streams and all(len(each) == segments for each in streams):
        return (
            " They look like one list for each reference; give one list for each segment:"
            " list(zip(*references))."
        )
    return ""
