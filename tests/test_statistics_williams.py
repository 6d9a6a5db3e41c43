"""Williams' test against published examples, scipy's distribution and its own laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from adequa.statistics.significance import williams


@pytest.mark.parametrize(
    ("correlations", "count", "t", "rounding"),
    [
        ((0.3, 0.4, 0.5), 100, -1.0767, 5e-5),  # DEPCOR, Silver, Hittner and May, 2006
        ((0.2, 0.45, 0.8), 100, -4.56, 5e-3),  # documentation of R's bruceR::cor_diff
        # By hand: K = 1 - .64 - .04 = .32, so t = .6 sqrt(4) / sqrt(2 · .32 · 2 + 1 / 4).
        ((0.8, 0.2, 0.0), 5, 1.2 / np.sqrt(1.53), 1e-12),
    ],
)
def test_published_examples(
    correlations: tuple[float, float, float], count: int, t: float, rounding: float
) -> None:
    a, b, c = correlations
    found = williams(a, b, c, count)
    assert stats.t.isf(found, count - 3) == pytest.approx(t, abs=rounding)
    assert williams(b, a, c, count) == pytest.approx(1 - float(found))


def test_depcor_two_sided_probability() -> None:
    assert 2 * float(williams(0.4, 0.3, 0.5, 100)) == pytest.approx(0.2843, abs=5e-5)


def test_the_test_keeps_its_level() -> None:
    """Two equally good metrics: one-sided p-values are uniform."""
    generator = np.random.default_rng(5)
    human = generator.normal(size=(4000, 30))
    first, second = (human + generator.normal(size=human.shape) for _ in range(2))

    pairs = ((human, first), (human, second), (first, second))
    a, b, c = (
        np.array([np.corrcoef(x, y)[0, 1] for x, y in zip(*pair, strict=True)]) for pair in pairs
    )
    p = williams(a, b, c, count=30)
    assert np.mean(np.asarray(p) < 0.05) == pytest.approx(0.05, abs=0.015)
    assert np.mean(p) == pytest.approx(0.5, abs=0.02)


@given(st.floats(-1, 1), st.integers(4, 10_000))
def test_metrics_that_are_one_give_a_half(correlation: float, count: int) -> None:
    assert williams(correlation, correlation, 1.0, count) == 0.5
    assert williams(correlation, correlation + 1e-15, 1 - 1e-16, count) == 0.5


def test_undefined_is_nan() -> None:
    assert np.isnan(williams(0.5, 0.4, 0.3, 3))
    assert np.isnan(williams(np.nan, 0.4, 0.3, 50))
    assert np.isnan(williams(0.5, 0.4, np.nan, 50))
    assert np.isnan(williams(0.5, -0.5, -1.0, 50))


def test_a_metric_that_is_the_human_score_wins() -> None:
    assert float(williams(1.0, 0.5, 0.5, 30)) < 0.001


def test_arrays_broadcast() -> None:
    found = williams(np.array([[0.5], [np.nan]]), np.array([0.4, 0.5, 0.6]), 0.2, 40)
    assert isinstance(found, np.ndarray)
    assert found.shape == (2, 3)
    assert found[0, 1] == 0.5
    assert found[0, 0] == williams(0.5, 0.4, 0.2, 40)
    assert np.isnan(found[1]).all()
