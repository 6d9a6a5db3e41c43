"""What each difference costs, by repair: variants of a hypothesis, their scores, and the costs.

A difference is repaired by putting the words of the reference in the place of those of the
hypothesis. Two scores say what it costs: the gain where it alone is repaired, and the loss where
all others are and it is not. The first is what a translator would gain, in a text that has other
errors as well; the second is what the error does to a text that is right otherwise. The cost is a
weighted mean of both, an approximation of the Shapley value with two orders.

All differences are left out of the repair once; those with the largest loss are also repaired
alone, as many as the budget of a segment allows, and the gains of others are estimated in
proportion to their losses. Costs are scaled so that they add up to what a full repair gains.
`thorough` computes the mean over several orders in place of both.
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
_WORD_BUDGET = 6000  # differences times words: a segment of 300 words has 20, one of 750 only 8
_BUDGET = 8  # variants of a segment; of them are repaired alone
_LEAST_ALONE = 2  # so many at least, whatever the budget is
_ALONE_WEIGHT = 0.7  # of the gain of a repair alone; chosen on development data
_ORDERS = 8  # of a thorough explanation: four and their reverses

Repair: TypeAlias = frozenset[int]  # the differences that are repaired


def align_to_repair(hypothesis: str, reference: str, most: int | None = None) -> Alignment:
    """An alignment whose nearest differences are joined until there are no more than `most`.

    By default as many as are worth their time, by the length of the reference.

    >>> len(align_to_repair("a x b c d e f y z g", "a b c d e f g").differences)
    2
    >>> len(align_to_repair("a x b c d e f y z g", "a b c d e f g", most=1).differences)
    1
    """
    alignment = align(hypothesis, reference)
    if most is None:
        words = max(alignment.words, 1)
        most = max(_FEWEST, min(round(_PER_WORD * words), MAX_DIFFERENCES, _WORD_BUDGET // words))
    if len(alignment.differences) <= most:
        return alignment
    alignment = align(hypothesis, reference, moves=False)
    differences = alignment.differences
    gaps = [
        following.columns[0] - before.columns[-1] for before, following in pairwise(differences)
    ]
    widest = sorted(range(len(gaps)), key=lambda index: -gaps[index])[: most - 1]
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
    """The score of a segment, its score when everything is repaired, and what lies between.

    Scores are in the metric's own direction; costs are above zero where a difference makes the
    translation worse, and add up to what the full repair gains.
    """

    score: float
    repaired: float
    costs: FloatArray  # by difference


class _RepairScores:
    """The scores of the repairs of one segment, higher is better, as they become known."""

    def __init__(self, row: int, alignment: Alignment, hypothesis: str, reference: str) -> None:
        self.row, self.alignment = row, alignment
        self.hypothesis, self.reference = hypothesis, reference
        self.count = len(alignment.differences)
        self.everything: Repair = frozenset(range(self.count))
        self.values: dict[Repair, float] = {}
        self.missing: list[Repair] = []

    def request(self, repairs: Iterable[Repair]) -> None:
        """Add repairs to those whose scores are missing."""
        known = {*self.values, *self.missing}
        self.missing += dict.fromkeys(each for each in repairs if each not in known)

    def text(self, repair: Repair) -> str:
        """The hypothesis with these differences repaired."""
        if not repair:
            return self.hypothesis
        return self.reference if repair == self.everything else self.alignment.repair(repair)

    def without(self, index: int) -> Repair:
        """The repair of all differences but one."""
        return self.everything - {index}

    @property
    def gain(self) -> float:
        """What a full repair gains."""
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
    *,
    thorough: bool = False,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> list[RepairCosts]:
    """The costs of all differences of the segments of some rows, by alignment and reference.

    Hypotheses are scored as they are. Equal variants of a segment are scored once, and all variants
    in two calls of the metric.
    """
    tables = [
        _RepairScores(row, each, segments.hypotheses[row], references[row])
        for row, each in alignments.items()
    ]
    for table in tables:
        table.request([frozenset(), table.everything, *map(table.without, range(table.count))])
    _score(metric, segments, tables, compute)
    for table in tables:
        table.request(_in_orders(table) if thorough else _largest_alone(table))
    _score(metric, segments, tables, compute)
    sign = 1.0 if metric.higher_is_better else -1.0
    return [
        RepairCosts(
            sign * table.values[frozenset()],
            sign * table.values[table.everything],
            scaled(_mean_over_orders(table) if thorough else _weighted_mean(table), table.gain),
        )
        for table in tables
    ]


def _largest_alone(table: _RepairScores) -> list[Repair]:
    """Repairs of single differences, those with the largest loss, within the budget."""
    count = max(_LEAST_ALONE, _BUDGET - table.count)
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
    """Costs that add up to the total: what lacks or exceeds is shared by those above zero.

    >>> scaled(np.array([1.0, 3.0, -1.0]), 7.0)
    array([ 2.,  6., -1.])
    >>> scaled(np.array([0.0, -1.0]), 1.0)
    array([1., 0.])
    """
    if not len(costs):
        return costs
    positive = np.maximum(costs, 0)
    weights = positive / positive.sum() if positive.any() else np.full(len(costs), 1 / len(costs))
    return np.asarray(costs + (total - costs.sum()) * weights)


# Scores of variants


def _score(
    metric: Metric, segments: Segments, tables: Sequence[_RepairScores], compute: ComputeStatistics
) -> None:
    """Score the missing repairs of all segments."""
    repairs = [(table, repair) for table in tables for repair in table.missing]
    variants, inverse = distinct([(table.row, table.text(repair)) for table, repair in repairs])
    scores = score_variants(metric, segments, variants, compute)[inverse]
    sign = 1.0 if metric.higher_is_better else -1.0
    for (table, repair), score in zip(repairs, scores.tolist(), strict=True):
        table.values[repair] = sign * score
    for table in tables:
        table.missing = []


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
