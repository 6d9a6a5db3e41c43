"""Concordance is that of all pairs, one by one; tau-b and tau-c are scipy's."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from adequa.segments import FloatArray
from adequa.statistics.arrays import Values
from adequa.statistics.kendall import Concordance, concordance, inversions, kendall_b, kendall_c

small_numbers = st.integers(-3, 3).map(float)
counts = st.integers(0, 3).map(float)


def of_all_pairs(human: FloatArray, metric: FloatArray) -> list[float]:
    """Concordant, discordant, tied by people, tied by the metric, tied by both."""
    found = [0.0] * 5
    for (h, m), (other_h, other_m) in combinations(zip(human, metric, strict=True), 2):
        product = (h - other_h) * (m - other_m)
        if product:
            found[0 if product > 0 else 1] += 1
        else:
            found[4 if h == other_h and m == other_m else 2 if h == other_h else 3] += 1
    return found


def as_list(pairs: Concordance) -> list[FloatArray]:
    return [
        pairs.concordant, pairs.discordant, pairs.human_ties, pairs.metric_ties, pairs.both_ties
    ]  # fmt: skip


@given(data=st.data(), items=st.integers(0, 9))
def test_every_pair_is_counted(data: st.DataObject, items: int) -> None:
    human, metric = (data.draw(arrays(float, items, elements=small_numbers)) for _ in range(2))
    weights = data.draw(arrays(float, (2, items), elements=counts))
    found = concordance(human, metric, weights)
    for row, weighting in enumerate(weights.astype(int)):
        expected = of_all_pairs(np.repeat(human, weighting), np.repeat(metric, weighting))
        assert [column[row] for column in as_list(found)] == expected
        assert found.pairs[row] == sum(expected)


@pytest.mark.parametrize("items", [2, 7, 33, 1000])
def test_scipy_agrees(items: int) -> None:
    generator = np.random.default_rng(items)
    human = generator.integers(0, 5, size=items).astype(float)
    metrics = generator.integers(0, items, size=(4, items)).astype(float)
    human[0] = 9
    metrics[:, 0] = items
    for variant, ours in (("b", kendall_b), ("c", kendall_c)):
        expected = [stats.kendalltau(human, metric, variant=variant)[0] for metric in metrics]
        np.testing.assert_allclose(np.asarray(ours(human, metrics)), expected, atol=1e-12)
        one = ours(human, metrics[0])
        assert isinstance(one, float)
        assert one == pytest.approx(expected[0], abs=1e-12)


def test_weights_are_counts_on_every_axis() -> None:
    generator = np.random.default_rng(5)
    human = generator.integers(0, 6, size=(3, 40)).astype(float)
    metric = generator.normal(size=(3, 40)).round(1)
    weights = generator.integers(0, 3, size=(4, 3, 40)).astype(float)
    shared = generator.integers(0, 3, size=(4, 1, 40)).astype(float)
    for variant, ours in (("b", kendall_b), ("c", kendall_c)):
        for weighting in (weights, shared):
            found = np.asarray(ours(human, metric, weighting))
            often = np.broadcast_to(weighting, weights.shape).astype(int)
            expected = [
                [
                    stats.kendalltau(
                        np.repeat(human[r], w[r]), np.repeat(metric[r], w[r]), variant=variant
                    )[0]
                    for r in range(3)
                ]
                for w in often
            ]
            np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("ours", [kendall_b, kendall_c])
def test_undefined_is_nan(ours: Callable[..., Values]) -> None:
    varied, constant = np.arange(5.0), np.full(5, 0.1)
    for human, metric in ((varied, constant), (constant, varied), (constant, constant)):
        assert np.isnan(ours(human, metric))
    assert np.isnan(ours(varied[:1], varied[:1]))
    assert np.isnan(ours(varied[:0], varied[:0]))
    only_one = np.array([[0.0, 2, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 1, 0, 0]])
    np.testing.assert_array_equal(np.asarray(ours(varied, varied, only_one)), [np.nan, np.nan, 1.0])


@given(data=st.data(), items=st.integers(1, 20))
def test_reversing_the_metric_reverses_tau(data: st.DataObject, items: int) -> None:
    human, metric = (data.draw(arrays(float, items, elements=small_numbers)) for _ in range(2))
    np.testing.assert_allclose(kendall_b(human, -metric), -np.asarray(kendall_b(human, metric)))
    np.testing.assert_allclose(kendall_b(metric, human), kendall_b(human, metric))


@given(data=st.data(), rows=st.integers(1, 3), items=st.integers(1, 9))
def test_inversions_are_those_of_all_pairs(data: st.DataObject, rows: int, items: int) -> None:
    codes = data.draw(arrays(np.intp, (rows, items), elements=st.integers(0, 6)))
    earlier = data.draw(arrays(float, (2, rows, items), elements=counts))
    later = data.draw(arrays(float, (2, 1, items), elements=counts))
    found = inversions(codes, earlier, later)
    for weighting in range(2):
        for row in range(rows):
            assert found[weighting, row] == sum(
                earlier[weighting, row, i] * later[weighting, 0, j]
                for i, j in combinations(range(items), 2)
                if codes[row, i] > codes[row, j]
            )


def test_many_rows_and_weightings_are_counted_in_parts() -> None:
    generator = np.random.default_rng(8)
    human, metric = generator.normal(size=(2, 300, 250)).round(1)
    weights = generator.integers(0, 3, size=(70, 1, 250)).astype(float)
    found = np.asarray(kendall_b(human, metric, weights))
    for weighting, row in ((0, 0), (33, 120), (69, 299)):
        one = kendall_b(human[row], metric[row], weights[weighting, 0])
        assert found[weighting, row] == pytest.approx(one)
