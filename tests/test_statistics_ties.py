"""Accuracy with ties and its calibration, against every pair and every threshold, one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from adequa.segments import FloatArray
from adequa.statistics import ties
from adequa.statistics.ties import (
    Calibration,
    accuracy_with_ties,
    calibrate,
    pooled_accuracy_with_ties,
    pooled_calibrate,
)

# Tenths: 0.3 - 0.2 and 0.2 - 0.1 differ in the last bit, so that thresholds are tested there.
tenths = st.integers(0, 6).map(lambda n: n / 10)
few = st.integers(0, 3).map(float)
present = st.integers(0, 1).map(float)


def by_definition(
    human: FloatArray, metric: FloatArray, epsilon: float, weights: FloatArray
) -> Fraction | None:
    """Deutsch et al.: (C + T_hm) / all pairs."""
    right = pairs = 0
    for i, j in combinations(range(len(human)), 2):
        weight = int(weights[i] * weights[j])
        tied = abs(metric[i] - metric[j]) <= epsilon
        pairs += weight
        if human[i] == human[j]:
            right += weight * bool(tied)
        elif not tied:
            right += weight * bool((human[i] > human[j]) == (metric[i] > metric[j]))
    return Fraction(right, pairs) if pairs else None


def mean_by_definition(
    human: FloatArray, metric: FloatArray, epsilon: float, weights: FloatArray
) -> Fraction | None:
    found = [
        accuracy
        for row in range(len(human))
        if (accuracy := by_definition(human[row], metric[row], epsilon, weights[row])) is not None
    ]
    return sum(found, Fraction(0)) / len(found) if found else None


def best_by_definition(
    human: FloatArray, metric: FloatArray, weights: FloatArray
) -> tuple[float, Fraction | None]:
    thresholds = {0.0} | {
        abs(metric[row, i] - metric[row, j])
        for row in range(len(human))
        for i, j in combinations(np.flatnonzero(weights[row]), 2)
    }
    # The best accuracy; of equal ones the smallest threshold.
    return min(
        ((e, mean_by_definition(human, metric, e, weights)) for e in sorted(thresholds)),
        key=lambda found: -(found[1] or 0),
    )


@given(data=st.data(), groups=st.integers(1, 3), items=st.integers(0, 7), epsilon=tenths)
def test_accuracy_is_that_of_all_pairs(
    data: st.DataObject, groups: int, items: int, epsilon: float
) -> None:
    human = data.draw(arrays(float, (groups, items), elements=few))
    metric = data.draw(arrays(float, (groups, items), elements=tenths))
    weights = data.draw(arrays(float, (2, groups, items), elements=few))
    for accuracy in (accuracy_with_ties, pooled_accuracy_with_ties):
        found = np.asarray(accuracy(human, metric, weights, epsilon=epsilon))
        for weighting in range(2):
            for row in range(groups):
                expected = by_definition(human[row], metric[row], epsilon, weights[weighting, row])
                if expected is None:
                    assert np.isnan(found[weighting, row])
                else:
                    assert found[weighting, row] == pytest.approx(float(expected), abs=1e-12)


@given(data=st.data(), groups=st.integers(1, 4), items=st.integers(1, 6))
def test_calibration_is_the_best_of_all_thresholds(
    data: st.DataObject, groups: int, items: int
) -> None:
    human = data.draw(arrays(float, (groups, items), elements=few))
    metric = data.draw(arrays(float, (groups, items), elements=tenths))
    weights = data.draw(arrays(float, (groups, items), elements=present))
    found = calibrate(human, metric, weights)
    epsilon, accuracy = best_by_definition(human, metric, weights)
    if accuracy is None:
        assert np.isnan(found.epsilon)
        assert np.isnan(found.accuracy)
    else:
        assert found.epsilon == epsilon
        assert found.accuracy == pytest.approx(float(accuracy), abs=1e-12)


def test_a_long_list_is_counted_like_a_short_one() -> None:
    generator = np.random.default_rng(1)
    human = generator.integers(0, 9, size=300).astype(float)
    metric = generator.normal(size=300).round(1) + human / 5
    weights = generator.integers(0, 3, size=(2, 300)).astype(float)
    for epsilon in (0.0, 0.1, 0.5, 9.0):
        found = np.asarray(accuracy_with_ties(human, metric, weights, epsilon=epsilon))
        expected = [float(by_definition(human, metric, epsilon, w) or 0) for w in weights]
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert isinstance(pooled_accuracy_with_ties(human, metric, epsilon=0.1), float)


def test_by_hand() -> None:
    # Pairs of the first segment: a tie of people 0.1 apart, and two that both order alike. Of the
    # second: the metric orders a human tie and gets one of the others wrong.
    human = np.array([[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]])
    metric = np.array([[0.0, 0.125, 1.0], [0.0, 2.0, 1.0]])
    np.testing.assert_allclose(accuracy_with_ties(human, metric, epsilon=0.0), [2 / 3, 1 / 3])
    np.testing.assert_allclose(accuracy_with_ties(human, metric, epsilon=0.125), [1, 1 / 3])
    found = calibrate(human, metric)
    assert found.epsilon == 0.125
    assert found.accuracy == pytest.approx(2 / 3)


def test_all_ties_one_system_and_nothing() -> None:
    tied = np.ones((2, 4))
    spread = np.array([[0.0, 0.25, 0.5, 1.0], [0.0, 0.0, 0.0, 0.5]])
    assert calibrate(tied, spread) == Calibration(1.0, 1.0)
    assert calibrate(tied, tied) == Calibration(0.0, 1.0)
    assert calibrate(spread, tied).epsilon == 0.0
    for nothing in (np.zeros((3, 1)), np.zeros((3, 0)), np.zeros(1)):
        assert np.isnan(calibrate(nothing, nothing).accuracy)
        assert np.isnan(accuracy_with_ties(nothing, nothing, epsilon=0.0)).all()
        assert np.isnan(pooled_accuracy_with_ties(nothing, nothing, epsilon=0.0)).all()
    assert np.isnan(pooled_calibrate(np.zeros(1), np.zeros(1), seed=1).accuracy)


def test_the_threshold_of_a_long_list_comes_from_a_seeded_sample() -> None:
    generator = np.random.default_rng(2)
    human = generator.integers(0, 4, size=700).astype(float)
    metric = human + generator.normal(size=700) / 4
    exact = calibrate(human, metric)
    sampled = pooled_calibrate(human, metric, seed=3, sample=50_000)
    assert sampled == pooled_calibrate(human, metric, seed=3, sample=50_000)
    assert sampled.accuracy == pytest.approx(
        float(by_definition(human, metric, sampled.epsilon, np.ones(700)) or 0)
    )
    assert exact.accuracy - 0.002 < sampled.accuracy <= exact.accuracy
    assert pooled_calibrate(human, metric, seed=3, sample=10**6) == exact


def test_long_groups_choose_their_threshold_on_some_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(4)
    human = generator.integers(0, 4, size=(5, 200)).astype(float)
    metric = human + generator.normal(size=(5, 200)) / 4
    exact = calibrate(human, metric)
    monkeypatch.setattr(ties, "_SAMPLED", 20_000)
    sampled = calibrate(human, metric)
    assert exact.accuracy - 0.003 < sampled.accuracy <= exact.accuracy


@given(shift=st.integers(-4, 4).map(float), scale=st.sampled_from([0.5, 2.0, 8.0]))
@settings(max_examples=20)
def test_accuracy_knows_no_scale(shift: float, scale: float) -> None:
    generator = np.random.default_rng(5)
    human = generator.integers(0, 3, size=(6, 8)).astype(float)
    metric = generator.integers(0, 32, size=(6, 8)) / 4
    plain, moved = calibrate(human, metric), calibrate(human, metric * scale + shift)
    assert moved.epsilon == plain.epsilon * scale
    assert moved.accuracy == pytest.approx(plain.accuracy)
