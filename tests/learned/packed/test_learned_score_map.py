"""The map from raw scores to 0–1: always upwards, always inside, no corner anywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.learned.packed.score_map import BEND, EDGE, ScoreMap, bent

RAW = st.floats(-100, 100)
MAPS = st.builds(
    lambda low, width: ScoreMap(low, low + width), st.floats(-5, 5), st.floats(0.01, 10)
)


def by_hand(x: float) -> float:
    """The definition, case by case."""
    if x > 0.95:
        return 0.95 + 0.05 * (1 - math.exp(-(x - 0.95) / 0.05))
    return x if x >= 0.05 else 0.05 * math.exp((x - 0.05) / 0.05)


@given(st.lists(st.floats(-10, 10), min_size=1))
def test_the_definition(numbers: list[float]) -> None:
    np.testing.assert_allclose(bent(np.array(numbers)), [by_hand(x) for x in numbers], atol=1e-15)


@given(MAPS, st.lists(RAW, min_size=1))
def test_scores_are_inside_whatever_comes(by: ScoreMap, raw: list[float]) -> None:
    scores = by(np.array(raw))
    assert (scores > 0).all()
    assert (scores < 1).all()


def test_numbers_beyond_all_measure_make_no_warning() -> None:
    scores = ScoreMap(0.0, 1e-3)(np.array([-1e300, 1e300]))
    assert scores.tolist() == [EDGE, 1 - EDGE]


@given(MAPS, st.floats(-3, 3), st.floats(1e-6, 2))
def test_more_is_never_less_and_more_between_the_edges(by: ScoreMap, x: float, more: float) -> None:
    """Beyond the edges, where the bent line comes within `EDGE` of 0 or 1, all are alike."""
    low, high = by(by.unrelated + (by.reference - by.unrelated) * np.array([x, x + more]))
    assert low <= high
    reach = BEND * math.log(BEND / EDGE)
    lowest, highest = BEND - reach, 1 - BEND + reach
    if x + more > lowest + 1e-6 and x < highest - 1e-6:
        assert low < high
    elif abs(x + more - lowest) > 1e-6 and abs(x - highest) > 1e-6:
        assert low == high


@pytest.mark.parametrize("joint", [BEND, 1 - BEND])
def test_there_is_no_corner_where_the_parts_meet(joint: float) -> None:
    step = 1e-6
    before, at, behind = bent(np.array([joint - step, joint, joint + step]))
    assert at == pytest.approx(joint, abs=1e-15)
    assert (at - before) / step == pytest.approx(1, abs=1e-4)
    assert (behind - at) / step == pytest.approx(1, abs=1e-4)


@given(MAPS)
def test_the_middle_is_a_straight_line(by: ScoreMap) -> None:
    shares = np.linspace(0.05, 0.95, 19)
    raw = by.unrelated + shares * (by.reference - by.unrelated)
    np.testing.assert_allclose(by(raw), shares, atol=1e-9)


def test_shapes_are_kept() -> None:
    assert ScoreMap(0.0, 1.0)(np.zeros((2, 3))).shape == (2, 3)
    assert ScoreMap(0.0, 1.0)(np.empty(0)).shape == (0,)


@pytest.mark.parametrize("ends", [(1.0, 1.0), (1.0, 0.0), (0.0, math.inf), (math.nan, 1.0)])
def test_a_map_that_goes_nowhere(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="goes nowhere"):
        ScoreMap(*ends)
    with pytest.raises(ValueError, match="goes nowhere"):
        ScoreMap.of({"unrelated": ends[0], "reference": ends[1]})
