"""Holm's adjustment: worked out by hand, and against the procedure as published."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from adequa.statistics.significance import holm

PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def rejected(p_values: list[float], alpha: float) -> set[int]:
    """The sequentially rejective procedure itself: stop at the first that is not small enough."""
    out: set[int] = set()
    for step, position in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[position] * (len(p_values) - step) > alpha:
            break
        out.add(position)
    return out


def test_worked_out_by_hand() -> None:
    # Ascending: 4 · .005, 3 · .01, 2 · .03, then 1 · .04, which may not fall below .06.
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(PROBABILITIES, st.floats(0.001, 0.999))
def test_rejects_what_the_procedure_rejects(p_values: list[float], alpha: float) -> None:
    adjusted = holm(np.array(p_values))
    assert {int(row) for row in np.flatnonzero(adjusted <= alpha)} == rejected(p_values, alpha)


@given(PROBABILITIES)
def test_adjusted_values_keep_order_and_never_shrink(p_values: list[float]) -> None:
    given_, adjusted = np.array(p_values), holm(np.array(p_values))
    order = np.argsort(given_, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
    assert (adjusted >= given_).all()
    assert (adjusted <= 1).all()


def test_nan_counts_as_no_test() -> None:
    adjusted = holm(np.array([np.nan, 0.02, np.nan, 0.03]))
    assert np.isnan(adjusted[[0, 2]]).all()
    assert adjusted[[1, 3]] == pytest.approx([0.04, 0.04])
    assert np.isnan(holm(np.full(3, np.nan))).all()
    assert holm(np.empty(0)).shape == (0,)


def test_a_matrix_tests_each_pair_once_and_doubles_the_smaller_p() -> None:
    nan = np.nan
    p_values = np.array([[nan, 0.01, 0.98], [0.99, nan, 0.6], [0.02, 0.4, nan]])
    # Three tests, .02, .04 and .8: 3 · .02, 2 · .04 and .8.
    assert holm(p_values) == pytest.approx(
        np.array([[nan, 0.06, 0.98], [0.99, nan, 0.8], [0.08, 0.8, nan]]), nan_ok=True
    )


def test_a_matrix_keeps_the_level_for_all_pairs_together() -> None:
    """Equally good metrics: in how many matrices is any pair told apart?"""
    generator = np.random.default_rng(1)
    found = 0
    for _ in range(2000):
        scores = generator.normal(size=4)
        p_values = stats.norm.sf((scores[:, None] - scores) / np.sqrt(2))
        np.fill_diagonal(p_values, np.nan)
        found += bool((holm(p_values) <= 0.05).any())
    assert found / 2000 == pytest.approx(0.045, abs=0.015)


def test_the_untested_direction_is_never_the_more_significant() -> None:
    p_values = np.array([[np.nan, 0.45, 0.4], [0.55, np.nan, 0.3], [0.6, 0.7, np.nan]])
    adjusted = holm(p_values)
    assert (adjusted >= adjusted.T - 1e-12)[[1, 2, 2], [0, 0, 1]].all()


def test_pairs_without_a_test_stay_nan_in_a_matrix() -> None:
    nan = np.nan
    adjusted = holm(np.array([[nan, 0.02, nan], [0.98, nan, nan], [nan, nan, nan]]))
    assert adjusted[0, 1] == 0.04
    assert np.isnan(adjusted[2]).all()
    assert np.isnan(adjusted[:, 2]).all()
    assert np.isnan(holm(np.full((1, 1), nan))).all()
