"""Ranks from significance: both rules worked out by hand, and how they relate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from adequa.segments import FloatArray
from adequa.statistics.significance import ranks

MATRICES = st.integers(1, 7).flatmap(
    lambda count: arrays(np.float64, (count, count), elements=st.sampled_from([0.001, 0.5, np.nan]))
)


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
