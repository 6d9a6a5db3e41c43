"""Systems in order, from decisions between their outputs of every segment.

A system's expected wins are how likely it beats another one, that one and the segment being drawn
at random; a tie is half a win. Beside them stand Bradley-Terry strengths. Intervals come from
drawing segments with replacement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from adequa.errors import AdequaError
from adequa.learned.pairwise.data import UniqueTexts
from adequa.learned.pairwise.metric import PairwiseRanker
from adequa.metrics.base import ComputeStatistics, Metric
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, Segments
from adequa.statistics.paired import Done
from adequa.statistics.resampling import bootstrap_chunks, interval
from adequa.statistics.standings import bradley_terry

TIE = 0.5
_COPIES = 4  # of a resample's wins that are held at once, at least
_SAME = 1e-12  # expected wins that differ by no more are the same, summed in another order


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, and where it lies with the confidence that was asked for."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Systems from the best to the worst."""

    systems: tuple[str, ...]
    expected_wins: tuple[Figure, ...]
    strengths: tuple[Figure, ...]  # Bradley-Terry
    # How likely the system of a row is better than that of a column on a segment, on average.
    probabilities: FloatArray
    # Of each segment and system: the mean probability to win against the others.
    segments: FloatArray
    confidence: float

    @property
    def ranks(self) -> tuple[int, ...]:
        """The place of each system, from 1; systems that win as much share one."""
        wins = [figure.value for figure in self.expected_wins]
        return tuple(1 + sum(other > own + _SAME for other in wins) for own in wins)


def win_probabilities(
    metric: Metric,
    outputs: Sequence[Segments],
    training: Progress = NO_PROGRESS,
    compute: ComputeStatistics = Metric.checked_statistics,
) -> FloatArray:
    """How likely each system's output is better than each other's: (segments, systems, systems).

    All systems have the same segments. What a ranker sees is computed once an output, and all
    pairs are decided in one batch. Of any other metric the higher score wins; `compute` may score
    elsewhere, such as in the queue of a server.
    """
    _check(outputs)
    count, rows = len(outputs), len(outputs[0])
    won = np.full((rows, count, count), TIE)
    pairs = list(combinations(range(count), 2))
    if isinstance(metric, PairwiseRanker):
        decided = _decided(metric, outputs, pairs, training)
    else:
        decided = _compared(metric, outputs, pairs, training, compute)
    for (one, other), probability in zip(pairs, decided, strict=True):
        won[:, one, other], won[:, other, one] = probability, 1 - probability
    return won


def _decided(
    metric: PairwiseRanker,
    outputs: Sequence[Segments],
    pairs: Sequence[tuple[int, int]],
    training: Progress,
) -> FloatArray:
    metric.check_fitted()
    parts = [(output, [""] * len(output)) for output in outputs]
    texts, rows = UniqueTexts.collect(parts, metric.columns)
    first = np.concatenate([rows[one] for one, _ in pairs])
    second = np.concatenate([rows[other] for _, other in pairs])
    return metric.decide_rows(texts, first, second, training).reshape(len(pairs), -1)


def _compared(
    metric: Metric,
    outputs: Sequence[Segments],
    pairs: Sequence[tuple[int, int]],
    training: Progress,
    compute: ComputeStatistics,
) -> FloatArray:
    training.stage(f"Scoring with {metric.name}")
    sign = 1.0 if metric.higher_is_better else -1.0
    scores = [sign * metric.segment_scores(compute(metric, output)) for output in outputs]
    return np.stack([(1 + np.sign(scores[one] - scores[other])) / 2 for one, other in pairs])


def rank(
    systems: Sequence[str],
    won: FloatArray,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    done: Done = lambda *_: None,
) -> Ranking:
    """The ranking by probabilities of winning, shape (segments, systems, systems)."""
    count = len(systems)
    decisions = (1 + np.sign(won - TIE)) / 2
    flat = decisions.reshape(len(won), -1)
    means, strengths = _standings(flat.mean(axis=0).reshape(1, count, count), len(won))
    drawn, at = [], 0
    for weights in bootstrap_chunks(len(won), resamples, seed, made=_COPIES * count**2):
        done(at, resamples)
        shares = (weights @ flat / len(won)).reshape(-1, count, count)
        drawn.append(_standings(shares, len(won)))
        at += len(weights)
    done(resamples, resamples)
    expected = _figures(means[0], np.concatenate([part[0] for part in drawn]), confidence)
    strong = _figures(strengths[0], np.concatenate([part[1] for part in drawn]), confidence)
    order = sorted(range(count), key=lambda at: (-expected[at].value, -strong[at].value, at))
    against = won.sum(axis=2) - TIE  # without the system itself
    return Ranking(
        systems=tuple(systems[at] for at in order),
        expected_wins=tuple(expected[at] for at in order),
        strengths=tuple(strong[at] for at in order),
        probabilities=won.mean(axis=0)[np.ix_(order, order)],
        segments=against[:, order] / (count - 1),
        confidence=confidence,
    )


def _standings(shares: FloatArray, segments: int) -> tuple[FloatArray, FloatArray]:
    """Expected wins and strengths, from the shares of segments that were won."""
    count = shares.shape[-1]
    expected = (shares.sum(axis=-1) - TIE) / (count - 1)
    return expected, bradley_terry(shares * segments)


def _figures(values: FloatArray, drawn: FloatArray, confidence: float) -> list[Figure]:
    between = [interval(column, confidence) for column in drawn.T]
    return [
        Figure(float(value), each.low, each.high)
        for value, each in zip(values, between, strict=True)
    ]


def _check(outputs: Sequence[Segments]) -> None:
    if len(outputs) < 2:  # noqa: PLR2004  # a pair
        raise AdequaError("A ranking needs at least two systems; name more with -t.")
    first = outputs[0]
    if not len(first):
        raise AdequaError("There are no segments to rank systems by.")
    for output in outputs[1:]:
        if output.references != first.references:
            raise AdequaError(
                "Systems are ranked on the same segments, and these have different references or "
                "another number of segments."
            )
