"""Pearson and Spearman are scipy's, for any weights that are counts and any leading axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from adequa.segments import FloatArray
from adequa.statistics.arrays import Values, ranked, weight_by_rank
from adequa.statistics.correlation import pearson, spearman

Correlation = Callable[..., Values]
BOTH: list[tuple[Correlation, Callable[..., tuple[float, float]]]] = [
    (pearson, stats.pearsonr),
    (spearman, stats.spearmanr),
]
small_numbers = st.integers(-4, 4).map(float)


def repeated(values: FloatArray, counts: FloatArray) -> FloatArray:
    return np.repeat(values, counts.astype(int))


def varies(values: FloatArray) -> bool:
    return values.size > 1 and bool(np.ptp(values) > 0)


@pytest.mark.parametrize(("ours", "theirs"), BOTH)
@given(data=st.data(), items=st.integers(2, 12))
def test_weights_are_counts(
    ours: Correlation, theirs: Callable[..., tuple[float, float]], data: st.DataObject, items: int
) -> None:
    human, metric = (data.draw(arrays(float, items, elements=small_numbers)) for _ in range(2))
    weights = data.draw(arrays(float, (3, items), elements=st.integers(0, 3).map(float)))
    for counts, found in zip(weights, np.asarray(ours(human, metric, weights)), strict=True):
        one, other = repeated(human, counts), repeated(metric, counts)
        if varies(one) and varies(other):
            assert found == pytest.approx(theirs(one, other)[0], abs=1e-12)
        else:
            assert np.isnan(found)


@pytest.mark.parametrize(("ours", "theirs"), BOTH)
def test_leading_axes_broadcast(
    ours: Correlation, theirs: Callable[..., tuple[float, float]]
) -> None:
    generator = np.random.default_rng(1)
    human = generator.normal(size=(3, 1, 30)).round(1)
    metrics = generator.normal(size=(4, 30)).round(1)
    found = np.asarray(ours(human, metrics))
    expected = [[theirs(people[0], metric)[0] for metric in metrics] for people in human]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    weights = generator.integers(0, 4, size=(5, 1, 1, 30)).astype(float)
    each = [[[float(ours(h[0], m, w[0, 0])) for m in metrics] for h in human] for w in weights]
    np.testing.assert_allclose(np.asarray(ours(human, metrics, weights)), each, atol=1e-12)
    assert isinstance(ours(human[0, 0], metrics[0]), float)


def test_real_weights() -> None:
    generator = np.random.default_rng(2)
    human, metric, weights = generator.random((3, 50))
    covariance = np.cov(human, metric, aweights=weights)
    expected = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert pearson(human, metric, weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("offset", [1e9, -1e12, 1e15])
def test_a_large_offset_loses_nothing(offset: float) -> None:
    human, metric = np.array([0.0, 1.0, 2.0, 5.0, 7.0]), np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    expected = stats.pearsonr(human, metric)[0]
    assert pearson(human + offset, metric) == pytest.approx(expected, abs=1e-13)
    padded = np.append(human + offset, [0.0, -3.0])
    weights = np.array([1.0, 1, 1, 1, 1, 0, 0])
    assert pearson(padded, np.append(metric, [9.0, 9.0]), weights) == pytest.approx(
        expected, abs=1e-13
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_neither_overflow_nor_underflow(scale: float) -> None:
    human, metric = np.array([0.0, 1.0, 2.0, 5.0]), np.array([3.0, 1.0, 4.0, 1.5])
    expected = stats.pearsonr(human, metric)[0]
    assert pearson(human * scale, metric / scale) == pytest.approx(expected, abs=1e-12)
    padded, weights = np.append(human, 1e300), np.array([1.0, 1, 1, 1, 0])
    assert pearson(padded, np.append(metric, 0), weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ours", [pearson, spearman])
def test_undefined_is_nan(ours: Correlation) -> None:
    # 0.1 has rounding errors in its mean: a variance would not be zero.
    constant, varied = np.full(7, 0.1), np.arange(7.0)
    assert np.isnan(ours(constant, varied))
    assert np.isnan(ours(varied, constant))
    assert np.isnan(ours(varied[:1], varied[:1]))
    assert np.isnan(ours(varied[:0], varied[:0]))
    weights = np.array([[1.0, 1, 0, 0, 0, 0, 0], [0, 0, 3, 0, 0, 0, 0], [0] * 7])
    np.testing.assert_array_equal(
        np.isnan(np.asarray(ours(varied, varied, weights))), [False, True, True]
    )
    assert np.asarray(ours(np.zeros((3, 1)), np.zeros(1))).shape == (3,)


@pytest.mark.parametrize("ours", [pearson, spearman])
def test_within_bounds_and_exact_at_them(ours: Correlation) -> None:
    values = np.random.default_rng(3).normal(size=(50, 9))
    assert np.asarray(ours(values, 3 * values + 1)) == pytest.approx(1)
    assert np.max(np.asarray(ours(values, 3 * values + 1))) <= 1
    assert np.min(np.asarray(ours(values, -values))) >= -1


@given(
    values=arrays(float, (2, 7), elements=small_numbers),
    weights=arrays(float, (3, 1, 7), elements=st.integers(0, 3).map(float)),
)
def test_weight_by_rank_is_the_weight_of_equal_values(
    values: FloatArray, weights: FloatArray
) -> None:
    ranks = ranked(values)
    found = weight_by_rank(ranks, weights)
    for weighting in range(3):
        for row in range(2):
            distinct = np.unique(values[row])
            np.testing.assert_array_equal(distinct[ranks.codes[row]], values[row])
            expected = [weights[weighting, 0][values[row] == v].sum() for v in distinct]
            np.testing.assert_array_equal(found[weighting, row, : len(distinct)], expected)
            assert not found[weighting, row, len(distinct) :].any()
