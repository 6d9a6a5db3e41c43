"""From statistics to results: intervals, tests between all pairs of systems, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from adequa.comparison.people import Meanings
from adequa.comparison.results import MetricResult, PairResult
from adequa.comparison.scored import Scored
from adequa.comparison.settings import ComparisonSettings
from adequa.segments import FloatArray, IntArray
from adequa.statistics.paired import (
    Done,
    Swapped,
    bootstrap_p_values,
    bootstrap_scores,
    randomisation,
    score_scale,
)
from adequa.statistics.resampling import interval
from adequa.statistics.significance import holm, ranks

SAME = 1e-9  # share of the largest score by which two are one number, computed in another order
DECIMALS = 4  # of a score file


def tested(
    scored: Sequence[Scored],
    settings: ComparisonSettings,
    meanings: Sequence[Meanings | None],
    reference_count: int | None,
    done: Done,
) -> tuple[MetricResult, ...]:
    """Every metric's result. All metrics have the same resamples, which come from one product."""
    known = [(each, each.statistics) for each in scored if each.statistics is not None]
    tests: dict[str, _Tests] = {}
    if known:
        statistics = [of for _, of in known]
        functions = [each.score for each, _ in known]
        drawn = bootstrap_scores(
            statistics, functions, settings.resamples, settings.seed, done=done
        )
        ties = not settings.like_sacrebleu
        swapped = randomisation(
            statistics, functions, settings.swap_count, settings.seed, ties=ties, done=done
        )
        for (each, of), scores, swap in zip(known, drawn, swapped, strict=True):
            scale = score_scale(of, each.score)
            by_bootstrap = bootstrap_p_values(each.systems, scores, scale=scale, ties=ties)
            tests[each.source.name] = _Tests(each, of, scores, swap, by_bootstrap)
    return tuple(
        _result(each, tests.get(each.source.name), settings, meaning, reference_count)
        for each, meaning in zip(scored, meanings, strict=True)
    )


class _Tests:
    """What resampling says of one metric, in the direction in which higher is better."""

    def __init__(
        self,
        scored: Scored,
        statistics: FloatArray,
        drawn: FloatArray,
        swapped: Swapped,
        p_bootstrap: FloatArray,
    ) -> None:
        self.sign = scored.source.sign
        self.statistics, self.drawn = statistics, drawn
        self.p, self.p_adjusted = swapped.two_sided, _adjusted(swapped.two_sided)
        self.p_drop = swapped.leading
        self.p_bootstrap, self.p_bootstrap_adjusted = p_bootstrap, _adjusted(p_bootstrap)
        self.segments = scored.segment_scores(statistics)

    def pair(self, first: int, second: int, settings: ComparisonSettings) -> dict[str, float]:
        """The numbers of a pair that need segments."""
        moved = interval(self.sign * (self.drawn[second] - self.drawn[first]), settings.confidence)
        gains = gains_of(self.segments, first, second)
        place = (first, second)
        return {
            "low": moved.low,
            "high": moved.high,
            "p": float(self.p[place]),
            "p_adjusted": float(self.p_adjusted[place]),
            "p_drop": float(self.p_drop[place]),  # the first leads
            "p_bootstrap": float(self.p_bootstrap[place]),
            "p_bootstrap_adjusted": float(self.p_bootstrap_adjusted[place]),
            "effect": effect_size(gains),
            "wins": int((gains > 0).sum()),
            "ties": int((gains == 0).sum()),
            "losses": int((gains < 0).sum()),
            "differing": int((self.statistics[first] != self.statistics[second]).any(-1).sum()),
        }


def gains_of(segments: FloatArray, first: int, second: int) -> FloatArray:
    """By how much the second system is better, segment by segment; what is rounding is zero.

    Scores are (systems, segments), higher is better.

    >>> gains_of(np.array([[0.1 + 0.2, 1.0], [0.3, 2.0]]), 0, 1)
    array([0., 1.])
    """
    gains = segments[second] - segments[first]
    return np.where(np.abs(gains) <= rounding(segments), 0.0, gains)


def rounding(segments: FloatArray) -> float:
    """The size up to which differences of these scores are rounding."""
    return SAME * float(np.abs(segments).max(initial=0))


def effect_size(gains: FloatArray) -> float:
    """The mean of the gains over their standard deviation (Cohen's d of paired samples).

    0 where nothing differs, and infinite where all segments gain the same.

    >>> round(effect_size(np.array([1.0, 2.0, 3.0])), 3), effect_size(np.zeros(3))
    (2.0, 0.0)
    """
    mean = float(gains.mean())
    if np.ptp(gains) == 0:
        return float(np.copysign(np.inf, mean)) if mean else 0.0
    return mean / float(gains.std(ddof=1))


def _adjusted(p: FloatArray) -> FloatArray:
    """Holm's correction over the pairs of a symmetric matrix."""
    pairs = np.triu_indices(len(p), k=1)
    adjusted = np.ones_like(p)
    adjusted[pairs] = holm(p[pairs])
    return np.minimum(adjusted, adjusted.T) if len(p) else adjusted


def _result(
    scored: Scored,
    tests: _Tests | None,
    settings: ComparisonSettings,
    meanings: Meanings | None,
    reference_count: int | None,
) -> MetricResult:
    source, systems = scored.source, scored.systems
    low, high = _intervals(scored, tests, settings)
    segments = scored.segments
    pairs = tuple(
        _pair(scored, tests, settings, meanings, *places)
        for places in combinations(range(len(systems)), 2)
    )
    return MetricResult(
        name=source.name,
        signature=source.signature(reference_count, "system"),
        segment_signature=source.signature(reference_count),
        higher_is_better=source.higher_is_better,
        decimals=DECIMALS if source.metric is None else source.metric.decimals,
        scores=source.sign * systems,
        low=low,
        high=high,
        ranks=_ranks(systems, pairs, settings),
        pairs=pairs,
        segments=None if segments is None else source.sign * segments,
    )


def _pair(  # noqa: PLR0917 - what is known, and of which two
    scored: Scored,
    tests: _Tests | None,
    settings: ComparisonSettings,
    meanings: Meanings | None,
    first: int,
    second: int,
) -> PairResult:
    gain = float(scored.systems[second] - scored.systems[first])
    numbers = {} if tests is None else tests.pair(first, second, settings)
    return PairResult(
        first,
        second,
        difference=scored.source.sign * gain + 0.0,  # and never -0
        gain=gain,
        **numbers,  # type: ignore[arg-type]  # counts are whole numbers already
        significant=bool(gain) and numbers.get("p_adjusted", 1.0) <= settings.alpha,
        people=None if meanings is None else meanings.of(gain),
    )


def _intervals(
    scored: Scored, tests: _Tests | None, settings: ComparisonSettings
) -> tuple[FloatArray, FloatArray]:
    """Intervals of the systems' scores, in the metric's own direction."""
    if tests is None:
        return (np.full(len(scored.systems), np.nan),) * 2
    sign = scored.source.sign
    found = [interval(sign * row, settings.confidence) for row in tests.drawn]
    return np.array([each.low for each in found]), np.array([each.high for each in found])


def _ranks(
    systems: FloatArray, pairs: Sequence[PairResult], settings: ComparisonSettings
) -> IntArray:
    """Ranks, where systems of one rank are not told apart."""
    p = np.ones((len(systems), len(systems)))
    for pair in pairs:
        if pair.better is not None and pair.significant:
            worse = pair.first if pair.better == pair.second else pair.second
            p[pair.better, worse] = pair.p_adjusted
    return ranks(systems, p, settings.alpha, settings.clusters)
