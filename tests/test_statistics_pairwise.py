"""Pairwise accuracy and its soft form, against loops over pairs and over all permutations."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from adequa.segments import FloatArray
from adequa.statistics.kendall import (
    better_probabilities,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)

small_numbers = st.integers(-3, 3).map(float)
counts = st.integers(0, 2).map(float)


@given(data=st.data(), systems=st.integers(0, 7))
def test_accuracy_compares_signs(data: st.DataObject, systems: int) -> None:
    human, metric = (data.draw(arrays(float, systems, elements=small_numbers)) for _ in range(2))
    weights = data.draw(arrays(float, (2, systems), elements=counts))
    found = np.asarray(pairwise_accuracy(human, metric, weights))
    for row, weighting in enumerate(weights):
        right = pairs = 0.0
        for i, j in combinations(range(systems), 2):
            same = np.sign(human[i] - human[j]) == np.sign(metric[i] - metric[j])
            right += same * weighting[i] * weighting[j]
            pairs += weighting[i] * weighting[j]
        assert found[row] == pytest.approx(right / pairs if pairs else np.nan, nan_ok=True)


def test_one_system_has_no_accuracy() -> None:
    assert np.isnan(pairwise_accuracy(np.ones(1), np.ones(1)))
    alone = better_probabilities(np.ones((1, 5)), resamples=10, seed=1)
    assert np.isnan(soft_pairwise_accuracy(alone, alone))


def all_permutations(scores: FloatArray) -> FloatArray:
    """p[i, j] of every way to swap, from the definition of the paired permutation test."""
    systems, segments = scores.shape
    found = np.zeros((systems, systems))
    for signs in product([1, -1], repeat=segments):
        for i in range(systems):
            for j in range(systems):
                difference = scores[i] - scores[j]
                found[i, j] += np.dot(signs, difference) >= difference.sum()
    return np.asarray(found / 2**segments)


def test_probabilities_are_those_of_a_permutation_test() -> None:
    scores = np.random.default_rng(1).integers(0, 5, size=(4, 7)).astype(float)
    found = better_probabilities(scores, resamples=20_000, seed=2)
    np.testing.assert_allclose(found, all_permutations(scores), atol=0.02)
    np.testing.assert_array_equal(np.diag(found), 1)
    np.testing.assert_array_equal(found, better_probabilities(scores, 20_000, seed=2))


def test_identical_systems_are_identical_whatever_rounding_does() -> None:
    scores = np.random.default_rng(3).normal(size=(1, 1000)).repeat(7, axis=0)
    scores[1:, :500] += 1.0
    scores[1:, :500] -= 1.0
    np.testing.assert_array_equal(better_probabilities(scores, resamples=50, seed=1), 1)


def test_soft_accuracy_by_hand() -> None:
    human = np.array([[1.0, 0.05, 0.2], [0.95, 1.0, 0.5], [0.8, 0.5, 1.0]])
    metric = np.array([[1.0, 0.15, 0.2], [0.85, 1.0, 0.1], [0.8, 0.9, 1.0]])
    assert soft_pairwise_accuracy(human, metric) == pytest.approx(1 - (0.1 + 0 + 0.4) / 3)
    assert soft_pairwise_accuracy(human, human) == 1


def test_soft_accuracy_knows_no_order_of_systems() -> None:
    generator = np.random.default_rng(4)
    human, metric = generator.normal(size=(2, 5, 40))
    metric[3] = metric[1]  # a tie
    order = generator.permutation(5)
    plain, shuffled = (
        soft_pairwise_accuracy(
            better_probabilities(human[rows], 300, seed=1),
            better_probabilities(metric[rows], 300, seed=1),
        )
        for rows in (np.arange(5), order)
    )
    assert shuffled == pytest.approx(plain)
