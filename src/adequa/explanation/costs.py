"""What each difference costs, by repair: variants of a hypothesis, their scores, and the costs.

A difference is repaired by putting the words of the reference in the place of those of the
hypothesis. Two scores say what it costs: the gain where it alone is repaired, and the loss where
all others are and it is not. The first is what a translator would gain, in a text that has other
errors as well; the second is what the error does to a text that is right otherwise. The cost is a
weighted mean of both, an approximation of the Shapley value with two orders.

Each difference is left unrepaired once. Those with the largest losses are also repaired alone, as
many as the budget of a segment allows; the gains of others are estimated in proportion to their
losses. Costs are rescaled so that they add up to the gain of a full repair. `thorough` computes the
mean over several orders in place of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import TypeAlias

import numpy as np

from adequa.explanation.alignment import Alignment, Difference, align
from adequa.metrics.base import ComputeStatistics, Metric
from adequa.runtime.batching import distinct
from adequa.segments import FloatArray, Segments

# Differences of a segment that are scored: as a fraction of its words, and within these bounds.
_PER_WORD = 0.4
_FEWEST, MAX_DIFFERENCES = 8, 40
_WORD_BUDGET = 6000  # upper bound of differences times words
_BUDGET = 8  # variants per segment, shared by leave-one-out and single repairs
_MIN_ALONE = 2  # single repairs per segment, whatever the budget
_ALONE_WEIGHT = 0.7  # of the gain of a single repair; chosen on development data
_ORDERS = 8  # of a thorough explanation: four and their reverses

Repair: TypeAlias = frozenset[int]  # the differences that are repaired


def align_to_repair(hypothesis: str, reference: str, limit: int | None = None) -> Alignment:
    """An alignment whose nearest differences are joined until there are no more than `limit`.

    The default limit depends on the length of the reference and bounds the time of a segment.

    >>> len(align_to_repair("a x b c d e f y z g", "a b c d e f g").differences)
    2
    >>> len(align_to_repair("a x b c d e f y z g", "a b c d e f g", limit=1).differences)
    1
    """
    alignment = align(hypothesis, reference)
    if limit is None:
        words = max(alignment.words, 1)
        limit = max(_FEWEST, min(round(_PER_WORD * words), MAX_DIFFERENCES, _WORD_BUDGET // words))
    if len(alignment.differences) <= limit:
        return alignment
    alignment = align(hypothesis, reference, moves=False)
    differences = alignment.differences
    gaps = [
        following.columns[0] - before.columns[-1] for before, following in pairwise(differences)
    ]
    widest = sorted(range(len(gaps)), key=lambda index: -gaps[index])[: limit - 1]
    starts = sorted([0, *(index + 1 for index in widest)])
    ends = [*starts[1:], len(differences)]
    joined = (_joined(differences[start:end]) for start, end in zip(starts, ends, strict=True))
    return replace(alignment, differences=tuple(joined), is_joined=True)


def _joined(differences: Sequence[Difference]) -> Difference:
    """Differences as one, with what lies between them."""
    if len(differences) == 1:
        return differences[0]
    return Difference(tuple(range(differences[0].columns[0], differences[-1].columns[-1] + 1)))


@dataclass(frozen=True, slots=True, eq=False)
class RepairCosts:
    """Score before and after the full repair, and the cost of each difference.

    Scores are in the metric's own direction. The gain and the costs are above zero where the repair
    makes the translation better; costs add up to the gain.
    """

    score: float
    repaired: float
    gain: float  # of the full repair
    costs: FloatArray  # by difference


class _RepairScores:
    """The scores of the repairs of one segment, higher is better."""

    def __init__(self, row: int, alignment: Alignment, reference: str, score: float) -> None:
        self.row, self.alignment, self.reference = row, alignment, reference
        self.count = len(alignment.differences)
        self.everything: Repair = frozenset(range(self.count))
        self.values: dict[Repair, float] = {frozenset(): score}
        self.missing: list[Repair] = []

    def request(self, repairs: Iterable[Repair]) -> None:
        """Add repairs to those whose scores are missing."""
        known = {*self.values, *self.missing}
        self.missing += dict.fromkeys(each for each in repairs if each not in known)

    def text(self, repair: Repair) -> str:
        """The hypothesis with these differences repaired."""
        return self.reference if repair == self.everything else self.alignment.repair(repair)

    def without(self, index: int) -> Repair:
        """The repair of all differences but one."""
        return self.everything - {index}

    @property
    def gain(self) -> float:
        """The gain of a full repair."""
        return self.values[self.everything] - self.values[frozenset()]

    def losses(self) -> FloatArray:
        """What is lost where a difference alone is left as it is."""
        full = self.values[self.everything]
        return np.array([full - self.values[self.without(index)] for index in range(self.count)])

    def alone(self) -> FloatArray:
        """What the repair of a difference alone gains; NaN where that was not scored."""
        score = self.values[frozenset()]
        return np.array(
            [self.values.get(frozenset([index]), np.nan) - score for index in range(self.count)]
        )


def repair_costs(
    metric: Metric,
    segments: Segments,
    alignments: Mapping[int, Alignment],
    references: Mapping[int, str],
    scores: Mapping[int, float],
    *,
    thorough: bool = False,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> list[RepairCosts]:
    """The costs of all differences of some rows, given their alignments, references and scores.

    Equal variants are scored once, and all variants in two calls of the metric.
    """
    sign = 1.0 if metric.higher_is_better else -1.0
    tables = [
        _RepairScores(row, each, references[row], sign * scores[row])
        for row, each in alignments.items()
    ]
    for table in tables:
        table.request([table.everything, *map(table.without, range(table.count))])
    _score(metric, segments, tables, compute)
    for table in tables:
        table.request(_in_orders(table) if thorough else _largest_alone(table))
    _score(metric, segments, tables, compute)
    return [
        RepairCosts(
            sign * table.values[frozenset()],
            sign * table.values[table.everything],
            table.gain,
            scaled(_mean_over_orders(table) if thorough else _weighted_mean(table), table.gain),
        )
        for table in tables
    ]


def _largest_alone(table: _RepairScores) -> list[Repair]:
    """Repairs of single differences, those with the largest loss, within the budget."""
    count = max(_MIN_ALONE, _BUDGET - table.count)
    return [frozenset([int(index)]) for index in np.argsort(-table.losses(), kind="stable")[:count]]


def _weighted_mean(table: _RepairScores) -> FloatArray:
    """The weighted mean of gain and loss, where gains that are not known are estimated."""
    losses, alone = table.losses(), table.alone()
    known = ~np.isnan(alone)
    loss = losses[known].sum()
    ratio = max(float(alone[known].sum()), 0.0) / loss if loss > 0 else 0.0
    gains = np.where(known, alone, ratio * np.maximum(losses, 0))
    return np.asarray(_ALONE_WEIGHT * gains + (1 - _ALONE_WEIGHT) * losses)


def _orders(count: int) -> list[list[int]]:
    """Orders in which differences are repaired: random ones, and the same backwards."""
    random = Random(count)  # noqa: S311  # the same for equal numbers, whatever else is explained
    forwards = [random.sample(range(count), count) for _ in range(_ORDERS // 2)]
    return [*forwards, *(order[::-1] for order in forwards)]


def _in_orders(table: _RepairScores) -> list[Repair]:
    return [
        frozenset(order[:length])
        for order in _orders(table.count)
        for length in range(1, table.count)
    ]


def _mean_over_orders(table: _RepairScores) -> FloatArray:
    """The mean gain of each difference over the orders, which adds up to the full gain."""
    costs = np.zeros(table.count)
    for order in _orders(table.count):
        values = [table.values[frozenset(order[:length])] for length in range(table.count + 1)]
        costs[order] += np.diff(values)
    return costs / _ORDERS


def scaled(costs: FloatArray, total: float) -> FloatArray:
    """Rescale costs so that they sum to `total`.

    The residual is distributed in proportion to the positive costs, up to their sum; what exceeds
    it is distributed equally, since costs so small say little about proportions.

    >>> scaled(np.array([1.0, 3.0, -1.0]), 6.0)
    array([ 1.75,  5.25, -1.  ])
    >>> scaled(np.array([0.0, 1e-9, 0.0]), 0.9)
    array([0.3, 0.3, 0.3])
    """
    if not len(costs):
        return costs
    positive = np.maximum(costs, 0)
    residual = total - costs.sum()
    available = float(positive.sum())
    proportional = float(np.clip(residual, -available, available))
    weights = positive / available if available > 0 else positive
    return np.asarray(costs + proportional * weights + (residual - proportional) / len(costs))


# Scores of variants


def _score(
    metric: Metric, segments: Segments, tables: Sequence[_RepairScores], compute: ComputeStatistics
) -> None:
    """Score the missing repairs of all segments."""
    repairs = [(table, repair) for table in tables for repair in table.missing]
    twins = _first_rows(metric, segments, tables)
    variants, inverse = distinct(
        [(twins[table.row], table.text(repair)) for table, repair in repairs]
    )
    scores = score_variants(metric, segments, variants, compute)[inverse]
    sign = 1.0 if metric.higher_is_better else -1.0
    for (table, repair), score in zip(repairs, scores.tolist(), strict=True):
        table.values[repair] = sign * score
    for table in tables:
        table.missing = []


def _first_rows(
    metric: Metric, segments: Segments, tables: Sequence[_RepairScores]
) -> dict[int, int]:
    """For each row the first with the same references and source, whose variants score the same."""
    rows = [table.row for table in tables]
    if metric.needs_whole_corpus:
        return dict(zip(rows, rows, strict=True))
    sources = segments.sources
    first: dict[tuple[tuple[str, ...], str | None], int] = {}
    keys = [(segments.references[row], sources[row] if sources else None) for row in rows]
    return {row: first.setdefault(key, row) for row, key in zip(rows, keys, strict=True)}


def score_variants(
    metric: Metric,
    segments: Segments,
    variants: Sequence[tuple[int, str]],
    compute: ComputeStatistics = Metric.checked_statistics,
) -> FloatArray:
    """Segment scores of other hypotheses for the segments of these rows.

    A metric whose segments depend on one another scores whole corpora, in each of which a segment
    is replaced by one variant at most.
    """
    if not variants:
        return np.zeros(0)
    if metric.needs_whole_corpus:
        return _score_corpora(metric, segments, variants, compute)
    rows = [row for row, _ in variants]
    texts = replace(segments.select(rows), hypotheses=tuple(text for _, text in variants))
    return metric.segment_scores(compute(metric, texts))


def _score_corpora(
    metric: Metric,
    segments: Segments,
    variants: Sequence[tuple[int, str]],
    compute: ComputeStatistics,
) -> FloatArray:
    scores = np.empty(len(variants))
    by_row: dict[int, list[int]] = {}
    for index, (row, _) in enumerate(variants):
        by_row.setdefault(row, []).append(index)
    for turn in range(max(map(len, by_row.values()))):
        chosen = {row: part[turn] for row, part in by_row.items() if turn < len(part)}
        texts = list(segments.hypotheses)
        for row, index in chosen.items():
            texts[row] = variants[index][1]
        corpus = replace(segments, hypotheses=tuple(texts))
        corpus_scores = metric.segment_scores(compute(metric, corpus))
        for row, index in chosen.items():
            scores[index] = corpus_scores[row]
    return scores
