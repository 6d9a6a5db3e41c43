"""Williams' test against published examples, Holm's correction, and ranks from tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from adequa.segments import FloatArray
from adequa.statistics.significance import holm, ranks, williams

PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=12)
MATRICES = st.integers(1, 7).flatmap(
    lambda count: arrays(np.float64, (count, count), elements=st.sampled_from([0.001, 0.5, np.nan]))
)


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


def significant(count: int, *pairs: tuple[int, int]) -> FloatArray:
    """P-values in which only these are significantly better than those."""
    p_values = np.full((count, count), 0.5)
    p_values[tuple(np.array(pairs, dtype=np.intp).reshape(-1, 2).T)] = 0.01
    np.fill_diagonal(p_values, np.nan)
    return p_values


def test_greedy_starts_a_rank_at_the_first_that_any_of_the_rank_beats() -> None:
    # 0 beats 2: a new rank at 2. 1 beats 3, but is of the rank before; 2 does not beat 3.
    p_values = significant(5, (0, 2), (0, 3), (1, 3), (3, 4))
    assert ranks(np.arange(5, 0, -1.0), p_values).tolist() == [1, 1, 2, 2, 3]


def test_separated_needs_all_above_better_than_all_below() -> None:
    p_values = significant(4, (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    assert ranks(np.arange(4, 0, -1.0), p_values, rule="separated").tolist() == [1, 1, 2, 3]
    p_values = significant(4, (0, 2), (0, 3), (1, 3), (2, 3))
    assert ranks(np.arange(4, 0, -1.0), p_values, rule="separated").tolist() == [1, 1, 1, 2]


@pytest.mark.parametrize("rule", ["greedy", "separated"])
def test_the_order_is_that_of_the_statistic(rule: str) -> None:
    p_values = significant(3, (2, 0), (2, 1), (1, 0))
    assert ranks(np.array([0.1, 0.2, 0.3]), p_values, rule=rule).tolist() == [3, 2, 1]


@pytest.mark.parametrize("rule", ["greedy", "separated"])
def test_metrics_without_a_value_come_last(rule: str) -> None:
    statistic = np.array([np.nan, 0.5, np.nan, 0.6])
    assert ranks(statistic, significant(4, (3, 1)), rule=rule).tolist() == [3, 2, 3, 1]
    assert ranks(statistic, significant(4), rule=rule).tolist() == [2, 1, 2, 1]
    assert ranks(np.full(2, np.nan), significant(2), rule=rule).tolist() == [1, 1]
    assert ranks(np.array([0.3]), significant(1), rule=rule).tolist() == [1]
    assert ranks(np.empty(0), np.empty((0, 0)), rule=rule).tolist() == []


def test_a_p_value_equal_to_the_level_is_significant() -> None:
    p_values = np.array([[np.nan, 0.05], [0.95, np.nan]])
    assert ranks(np.array([1.0, 0.0]), p_values, alpha=0.05).tolist() == [1, 2]


@given(MATRICES)
def test_ranks_follow_the_order_without_gaps(p_values: FloatArray) -> None:
    for rule in ("greedy", "separated"):
        found = ranks(-np.arange(float(len(p_values))), p_values, rule=rule)
        assert found[0] == 1
        assert set(np.diff(found)) <= {0, 1}


@given(MATRICES)
def test_wherever_separated_starts_a_rank_greedy_does(p_values: FloatArray) -> None:
    statistic = -np.arange(float(len(p_values)))
    greedy = np.diff(ranks(statistic, p_values))
    separated = np.diff(ranks(statistic, p_values, rule="separated"))
    assert (separated <= greedy).all()


@given(MATRICES)
def test_within_a_greedy_rank_nothing_beats_what_comes_later(p_values: FloatArray) -> None:
    found = ranks(-np.arange(float(len(p_values))), p_values)
    for rank in set(found):
        members = np.flatnonzero(found == rank)
        inside = p_values[np.ix_(members, members)]
        assert not (np.triu(inside <= 0.05, k=1)).any()
