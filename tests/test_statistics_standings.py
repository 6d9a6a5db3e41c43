"""Expected wins, TrueSkill and Bradley-Terry strengths, against other ways to get them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from scipy.special import expit

from adequa.errors import AdequaError
from adequa.segments import FloatArray
from adequa.statistics.standings import bradley_terry, expected_wins, trueskill, wins

BETTER, WORSE = np.array([0, 0, 1, 0, 2, 1]), np.array([1, 1, 0, 2, 1, 2])
NOBODY = np.zeros(0, dtype=np.intp)
# TrueSkill(mu=0, sigma=1, beta=0.5, tau=0) of the package trueskill 0.4.5, whose normal
# distribution is good to seven digits; draw_probability is 0, or 0.5 where one match is a draw.
ONE_TWO_THREE_WINS = [0.5046264960355118, 0.7185473842803806, 0.838428819760057]
WIN_THEN_DRAW, DRAW_THEN_WIN = 0.18062812473398512, 0.48595295904237823
# 0 beats 1, then 1 beats 2, then 0 beats 2.
AFTER_THREE_MATCHES = [0.6893832864980515, 0.004682571249350891, -0.8535198061194388]


def test_wins_are_counted_and_weighed() -> None:
    np.testing.assert_array_equal(wins(BETTER, WORSE, 3), [[0, 2, 1], [1, 0, 1], [0, 1, 0]])
    weights = np.array([[1.0, 1, 1, 1, 1, 1], [0, 3, 0, 0, 2, 0]])
    found = wins(BETTER, WORSE, 4, weights)
    np.testing.assert_array_equal(found[0, :3, :3], wins(BETTER, WORSE, 3))
    np.testing.assert_array_equal(found[1, 0, 1], 3)
    np.testing.assert_array_equal(found[1].sum(), 5)
    assert not wins(NOBODY, NOBODY, 2).any()


def test_expected_wins_by_hand() -> None:
    # 0 beats 1 in 2 of 3 and 2 in 1 of 1; 1 beats 0 in 1 of 3 and 2 in 1 of 2; 2 has 0 and 1/2.
    expected = [(2 / 3 + 1) / 2, (1 / 3 + 1 / 2) / 2, (0 + 1 / 2) / 2]
    np.testing.assert_allclose(expected_wins(BETTER, WORSE, 3), expected)
    with_unknown = expected_wins(BETTER, WORSE, 4)
    np.testing.assert_allclose(with_unknown, [*expected, np.nan])


def test_systems_never_compared_are_left_out_of_the_mean() -> None:
    # 0 met 1 only, and 2 met 1 only.
    found = expected_wins(np.array([0, 1, 0]), np.array([1, 2, 1]), 3)
    np.testing.assert_allclose(found, [1, 0.5, 0])


def test_weights_of_preferences_are_counts() -> None:
    weights = np.array([[2.0, 0, 1, 1, 0, 3], [0, 0, 0, 0, 0, 0]])
    found = expected_wins(BETTER, WORSE, 3, weights)
    often = weights[0].astype(int)
    again = expected_wins(np.repeat(BETTER, often), np.repeat(WORSE, often), 3)
    np.testing.assert_allclose(found[0], again)
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("matches", [1, 2, 3])
def test_wins_move_skills_as_in_the_package(matches: int) -> None:
    found = trueskill(np.zeros(matches, np.intp), np.ones(matches, np.intp), 2, seed=1)
    skill = ONE_TWO_THREE_WINS[matches - 1]
    np.testing.assert_allclose(found, [skill, -skill], rtol=1e-6)


def test_the_first_update_by_hand() -> None:
    # c^2 = 1 + 1 + 2/4 and t = 0: v = sqrt(2 / pi), and the winner moves up by v / c.
    skill = math.sqrt(2 / math.pi) / math.sqrt(2.5)
    found = trueskill(np.array([1]), np.array([0]), 2, seed=1)
    np.testing.assert_allclose(found, [-skill, skill], rtol=1e-12)


def test_a_draw_brings_skills_together_as_in_the_package() -> None:
    tie = np.array([[0.0, 1.0], [0.0, 0.0]])
    runs = [
        trueskill(np.array([0]), np.array([1]), 2, seed=seed, ties=tie, runs=1)[0]
        for seed in range(20)
    ]
    np.testing.assert_allclose(
        sorted({round(skill, 9) for skill in runs}), [WIN_THEN_DRAW, DRAW_THEN_WIN], rtol=1e-6
    )
    mirrored = trueskill(np.array([0]), np.array([1]), 2, seed=3, ties=tie.T, runs=1)
    assert mirrored[0] == pytest.approx(runs[3])


def test_three_systems_as_in_the_package() -> None:
    better, worse = np.array([0, 1, 0]), np.array([1, 2, 2])
    expected = np.array(AFTER_THREE_MATCHES)
    found = [trueskill(better, worse, 3, seed=seed, runs=1) for seed in range(40)]
    nearest = min(np.abs(skills - (expected - expected.mean())).max() for skills in found)
    assert nearest < 1e-6


def test_upsets_far_out_stay_finite() -> None:
    matches = 3000
    first, second = np.zeros(matches, np.intp), np.ones(matches, np.intp)
    often_tied = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    skills = trueskill(np.append(first, 1), np.append(second, 0), 3, 1, ties=often_tied, runs=2)
    assert np.isfinite(skills).all()
    assert skills[0] > 1 > skills[1]


def test_the_order_of_matches_hardly_matters() -> None:
    generator = np.random.default_rng(6)
    one = generator.integers(6, size=1000)
    other = (one + generator.integers(1, 6, size=1000)) % 6
    first = one - other + generator.normal(size=1000) > 0
    better, worse = np.where(first, one, other), np.where(first, other, one)
    skills = [trueskill(better, worse, 6, seed=seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(skills[0], skills[1])
    assert np.abs(skills[0] - skills[2]).max() < 0.02 * np.ptp(skills[0])
    assert (np.diff(skills[0]) > 0).all()


def test_nobody_met() -> None:
    assert np.isnan(trueskill(NOBODY, NOBODY, 2, seed=1)).all()
    only_ties = trueskill(NOBODY, NOBODY, 3, seed=1, ties=np.array([[0, 4, 0], [0, 0, 0], [0] * 3]))
    np.testing.assert_array_equal(only_ties, [0, 0, np.nan])


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


def test_strengths_of_many_systems_add_up_to_zero() -> None:
    wins = np.random.default_rng(0).integers(0, 300, size=(8, 20, 20)).astype(np.float64)
    np.testing.assert_allclose(bradley_terry(wins).sum(axis=-1), 0, atol=1e-10)


def test_what_has_no_strength() -> None:
    with pytest.raises(AdequaError, match="never won has no strength without a prior"):
        bradley_terry(np.array([[0.0, 3.0], [0.0, 0.0]]), prior=0.0)
    assert bradley_terry(np.zeros((1, 1))).tolist() == [0.0]


@pytest.mark.parametrize("systems", [3, 50, 100])
@pytest.mark.parametrize("segments", [1e5, 1e7, 1e9])
def test_systems_that_always_win_have_strengths(systems: int, segments: float) -> None:
    always = np.triu(np.full((systems, systems), segments), 1)
    strengths = bradley_terry(always)
    assert (np.diff(strengths) < 0).all()
    won = np.where(np.eye(systems, dtype=bool), 0, always + 0.1)
    expected = (won + won.T) * expit(strengths[:, None] - strengths[None])
    off = np.abs(expected.sum(axis=1) - won.sum(axis=1))
    assert (off <= 1e-14 * (won + won.T).sum(axis=1)).all()


def test_wins_that_are_too_far_apart() -> None:
    wins = np.zeros((3, 3))
    wins[0, 1] = 1e100
    with pytest.raises(AdequaError, match="strengths cannot be computed"):
        bradley_terry(wins)
