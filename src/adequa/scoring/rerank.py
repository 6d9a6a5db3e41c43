"""Candidates put in order against references: the best first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from adequa.errors import AdequaError
from adequa.metrics.base import Metric
from adequa.metrics.registry import load_metric
from adequa.segments import FloatArray, Segments

_TOGETHER = 4096  # candidates that are scored in one call of the metric


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The candidates of a sentence in order."""

    order: tuple[int, ...]  # candidates, the best first; equals as they came
    scores: FloatArray  # by candidate


def rerank(
    candidates: Iterable[Sequence[str]],
    references: Iterable[str] | Iterable[Sequence[str]],
    metric: str | Metric = "adequa",
) -> list[Ranking]:
    """Order the candidates of each sentence by their scores against its references.

    >>> (ranking,) = rerank([["A dog sat.", "The cat sat."]], ["The cat sat."], "chrf")
    >>> ranking.order, ranking.scores.round(1)
    ((1, 0), array([ 19.7, 100. ]))
    """
    chosen = load_metric(metric) if isinstance(metric, str) else metric
    lists, of_each = [tuple(each) for each in candidates], list(references)
    if len(lists) != len(of_each):
        raise AdequaError(
            f"There are {len(lists)} lists of candidates but references for {len(of_each)}."
        )
    several = [(each,) if isinstance(each, str) else tuple(each) for each in of_each]
    return list(rankings(zip(lists, several, strict=True), chosen))


def rankings(
    sentences: Iterable[tuple[Sequence[str], tuple[str, ...]]], metric: Metric
) -> Iterator[Ranking]:
    """The order of each sentence's candidates, as they come; several are scored at a time."""
    held: list[tuple[Sequence[str], tuple[str, ...]]] = []
    count = 0
    if metric.needs_whole_corpus or metric.columns:
        raise AdequaError(f"{metric.name} scores no single pairs of texts; order by another.")
    for candidates, references in sentences:
        if not candidates:
            raise AdequaError("A sentence has no candidates to put in order.")
        held.append((candidates, references))
        count += len(candidates)
        if count >= _TOGETHER:
            yield from _ranked(held, metric)
            held, count = [], 0
    if held:
        yield from _ranked(held, metric)


def _ranked(
    held: Sequence[tuple[Sequence[str], tuple[str, ...]]], metric: Metric
) -> Iterator[Ranking]:
    segments = Segments(
        tuple(chain.from_iterable(candidates for candidates, _ in held)),
        tuple(references for candidates, references in held for _ in candidates),
    )
    scores = metric.segment_scores(metric.checked_statistics(segments))
    ends = np.cumsum([len(candidates) for candidates, _ in held])
    for part in np.split(scores, ends[:-1]):
        sign = -1 if metric.higher_is_better else 1
        yield Ranking(tuple(np.argsort(sign * part, kind="stable").tolist()), part)
