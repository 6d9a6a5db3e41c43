"""Bradley-Terry strengths against maximum likelihood by scipy, and rankings of systems by hand."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from adequa.comparison.ranking import rank, win_probabilities
from adequa.errors import AdequaError
from adequa.metrics.registry import load_metric
from adequa.segments import FloatArray, Segments
from adequa.statistics.standings import bradley_terry


def _most_likely(wins: FloatArray) -> FloatArray:
    """By a general optimiser, from the model's likelihood as it is written."""
    count = len(wins)

    def cost(free: FloatArray) -> float:
        strength = np.append(free, -free.sum())
        lead = strength[:, None] - strength[None, :]
        return float((wins * np.logaddexp(0, -lead)).sum())

    found = minimize(cost, np.zeros(count - 1), tol=1e-12).x
    return np.append(found, -found.sum())


def test_strengths_are_the_most_likely_ones() -> None:
    wins = np.array([[0, 7, 9, 4], [3, 0, 6, 5], [1, 4, 0, 2], [6, 5, 8, 0]], np.float64)
    found = bradley_terry(wins, prior=0.0)
    np.testing.assert_allclose(found, _most_likely(wins), atol=1e-5)
    assert found.sum() == pytest.approx(0)


@given(arrays(np.float64, (3, 3), elements=st.integers(0, 20).map(float)))
def test_with_a_prior_every_strength_is_finite(wins: FloatArray) -> None:
    found = bradley_terry(wins)
    assert np.isfinite(found).all()
    turned = bradley_terry(wins.T)  # every win a loss
    np.testing.assert_allclose(turned, -found, atol=1e-6)


@pytest.mark.parametrize(("systems", "segments"), [(4, 3_000), (10, 500), (10, 3_000)])
def test_systems_that_always_win_are_as_strong_as_the_prior_has_it(
    systems: int, segments: int
) -> None:
    wins = np.triu(np.full((systems, systems), float(segments)), 1)
    found = bradley_terry(wins)
    np.testing.assert_allclose(found, -found[::-1], atol=1e-8)
    # At the summit, each has won as often as its strength makes one expect.
    won = np.where(np.eye(systems, dtype=bool), 0, wins + 0.1)
    expected = (won + won.T) / (1 + np.exp(found[None, :] - found[:, None]))
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(expected.sum(axis=1), won.sum(axis=1), rtol=1e-9)


def test_many_problems_at_once() -> None:
    wins = np.random.default_rng(0).integers(1, 9, size=(5, 3, 3)).astype(np.float64)
    alone = np.stack([bradley_terry(each) for each in wins])
    np.testing.assert_allclose(bradley_terry(wins), alone, atol=1e-8)


def test_what_has_no_strength() -> None:
    with pytest.raises(AdequaError, match="never won has no strength without a prior"):
        bradley_terry(np.array([[0.0, 3.0], [0.0, 0.0]]), prior=0.0)
    with pytest.raises(AdequaError, match="cannot be negative"):
        bradley_terry(np.array([[0.0, -1.0], [0.0, 0.0]]))
    assert bradley_terry(np.zeros((1, 1))).tolist() == [0.0]


def _won(*rows: tuple[float, float, float]) -> FloatArray:
    """Probabilities of three systems from those of a over b, a over c and b over c."""
    won = np.full((len(rows), 3, 3), 0.5)
    for at, (ab, ac, bc) in enumerate(rows):
        for one, other, value in ((0, 1, ab), (0, 2, ac), (1, 2, bc)):
            won[at, one, other], won[at, other, one] = value, 1 - value
    return won


def test_a_ranking_by_hand() -> None:
    ranking = rank(["a", "b", "c"], _won((0.9, 0.8, 0.3), (0.4, 0.5, 0.2)), resamples=50)
    # a: b lost once and won once, c lost once and tied: (1/2 + 3/4) / 2; c beats b twice.
    assert ranking.systems == ("a", "c", "b")
    assert [figure.value for figure in ranking.expected_wins] == [0.625, 0.625, 0.25]
    assert ranking.ranks == (1, 1, 3)
    np.testing.assert_allclose(ranking.probabilities[0], [0.5, 0.65, 0.65])
    np.testing.assert_allclose(ranking.segments[0], [0.85, 0.45, 0.2])
    for figure in ranking.expected_wins:
        assert figure.low <= figure.value <= figure.high


def test_certain_systems_have_narrow_intervals_and_finite_strengths() -> None:
    ranking = rank(["worse", "better"], np.tile([[0.5, 0.1], [0.9, 0.5]], (40, 1, 1)))
    assert ranking.systems == ("better", "worse")
    assert (ranking.expected_wins[0].low, ranking.expected_wins[0].high) == (1.0, 1.0)
    assert np.isfinite(ranking.strengths[0].high)


def test_memory_goes_with_systems_and_not_with_resamples() -> None:
    """Between sixty systems 3,000 resamples have 86 MB of wins, in each of several copies."""
    won = np.random.default_rng(1).random((1, 60, 60))
    seen: list[int] = []
    tracemalloc.start()
    try:
        with pytest.raises(InterruptedError):
            rank([str(at) for at in range(60)], won, resamples=3000, done=_until(300, seen))
        assert tracemalloc.get_traced_memory()[1] < 120e6
    finally:
        tracemalloc.stop()
    assert len(seen) > 1


def _until(last: int, seen: list[int]) -> Callable[[int, int], None]:
    def done(count: int, of: int) -> None:
        assert count <= of
        seen.append(count)
        if count >= last:
            raise InterruptedError

    return done


def test_any_metric_ranks_by_its_scores() -> None:
    references = (("the cat sat on the mat",), ("a dog ran far away",))
    good = Segments(("the cat sat on the mat", "a dog ran"), references)
    bad = Segments(("mat", "a dog ran"), references)
    won = win_probabilities(load_metric("ter"), [bad, good])  # where lower is better
    assert won[:, 1, 0].tolist() == [1.0, 0.5]
    assert won[:, 0, 1].tolist() == [0.0, 0.5]


def test_systems_that_cannot_be_ranked() -> None:
    one = Segments(("a",), (("x",),))
    with pytest.raises(AdequaError, match="at least two systems"):
        win_probabilities(load_metric("chrf"), [one])
    with pytest.raises(AdequaError, match="on the same segments"):
        win_probabilities(load_metric("chrf"), [one, Segments(("a",), (("y",),))])
