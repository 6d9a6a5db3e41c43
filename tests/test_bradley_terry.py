"""Bradley-Terry strengths against maximum likelihood by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from adequa.errors import AdequaError
from adequa.segments import FloatArray
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
    assert bradley_terry(np.zeros((1, 1))).tolist() == [0.0]
