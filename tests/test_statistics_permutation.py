"""Permutation tests against plain Python, scipy, all swaps there are, and their own laws."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import plain_agreement as plain
from adequa.errors import AdequaError
from adequa.segments import FloatArray, IntArray
from adequa.statistics import permutation
from adequa.statistics.correlation import pearson, spearman
from adequa.statistics.permutation import (
    Differences,
    average,
    general_differences,
    p_values,
    pearson_differences,
    ratio_differences,
    standardised,
    swap_units,
    system_differences,
)

METHODS = ("inputs", "systems", "both")
SYSTEMS, SEGMENTS, RESAMPLES, SEED = 5, 12, 130, 11


def judged(metrics: int = 4) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Human scores, metric scores, segment and system codes; a sixth of the outputs is missing."""
    generator = np.random.default_rng(2)
    rows = np.flatnonzero(generator.random(SYSTEMS * SEGMENTS) > 1 / 6)
    segments, systems = np.divmod(rows, SYSTEMS)
    human = generator.normal(size=len(rows)) + systems
    noise = generator.normal(size=(metrics, len(rows))) * np.arange(1, metrics + 1)[:, None]
    return human, 10 * (human + noise) + 50, segments, systems


def human_means(human: FloatArray, systems: IntArray) -> FloatArray:
    return np.asarray(np.bincount(systems, weights=human) / np.bincount(systems))


@pytest.mark.parametrize("method", METHODS)
def test_pearson_is_that_of_plain_python(method: str) -> None:
    human, metrics, segments, systems = judged()
    units = swap_units(method, segments, systems, len(human))
    found = pearson_differences(human, metrics, units, RESAMPLES, SEED)
    masks = plain.swap_masks(int(units.max()) + 1, RESAMPLES, SEED)
    for a, b in product(range(4), repeat=2):
        expected = plain.segment_differences(
            human.tolist(), metrics[a].tolist(), metrics[b].tolist(), units.tolist(), masks.tolist()
        )
        assert found.resampled[a, b] == pytest.approx(expected, abs=1e-12)
        observed = stats.pearsonr(human, metrics[a])[0] - stats.pearsonr(human, metrics[b])[0]
        assert found.observed[a, b] == pytest.approx(observed, abs=1e-12)
        if a != b:
            expected_p = plain.p_value(observed, expected)
            assert p_values(found)[a, b] == pytest.approx(expected_p, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_systems_are_those_of_plain_python(method: str) -> None:
    human, metrics, segments, systems = judged()
    units, means = swap_units(method, segments, systems, len(human)), human_means(human, systems)
    found = system_differences(means, metrics, systems, units, pearson, RESAMPLES, SEED)
    masks = plain.swap_masks(int(units.max()) + 1, RESAMPLES, SEED)
    for a, b in ((0, 1), (1, 3), (3, 0)):
        first, second = metrics[a].tolist(), metrics[b].tolist()
        expected = plain.system_differences(
            means.tolist(), first, second, systems.tolist(), units.tolist(), masks.tolist()
        )
        assert found.resampled[a, b] == pytest.approx(expected, abs=1e-12)
        one, other = (plain.system_means(side, systems.tolist(), 5) for side in (first, second))
        observed = plain.pearson(means.tolist(), one) - plain.pearson(means.tolist(), other)
        assert found.observed[a, b] == pytest.approx(observed, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_general_is_pearson_where_the_statistic_is(method: str) -> None:
    human, metrics, segments, systems = judged()
    units = swap_units(method, segments, systems, len(human))
    fast = pearson_differences(human, metrics, units, RESAMPLES, SEED)
    general = general_differences(human, metrics, units, pearson, RESAMPLES, SEED)
    assert general.observed == pytest.approx(fast.observed, abs=1e-12)
    assert general.resampled == pytest.approx(fast.resampled, abs=1e-12)


def test_general_takes_spearman_as_scipy_does() -> None:
    human, metrics, segments, systems = judged(metrics=2)
    units = swap_units("both", segments, systems, len(human))
    found = general_differences(human, metrics, units, spearman, 20, SEED)
    first, second = (stats.zscore(row) for row in metrics)
    for resample, mask in enumerate(plain.swap_masks(len(human), 20, SEED)):
        one, other = np.where(mask, second, first), np.where(mask, first, second)
        expected = stats.spearmanr(human, one)[0] - stats.spearmanr(human, other)[0]
        assert found.resampled[0, 1, resample] == pytest.approx(expected, abs=1e-12)


def test_ratios_swap_both_parts_of_a_unit() -> None:
    generator = np.random.default_rng(0)
    above, below = generator.integers(0, 5, (3, 7)), generator.integers(5, 9, (3, 7))
    found = ratio_differences(above.astype(float), below.astype(float), 40, SEED)
    for resample, mask in enumerate(plain.swap_masks(7, 40, SEED)):
        first = np.where(mask, above[2], above[0]).sum() / np.where(mask, below[2], below[0]).sum()
        second = np.where(mask, above[0], above[2]).sum() / np.where(mask, below[0], below[2]).sum()
        assert found.resampled[0, 2, resample] == pytest.approx(first - second, abs=1e-12)
    assert found.observed[0, 1] == above[0].sum() / below[0].sum() - above[1].sum() / below[1].sum()


def test_p_values_approach_those_of_all_swaps_there_are() -> None:
    generator = np.random.default_rng(4)
    human = generator.normal(size=9)
    metrics = human + np.array([[0.5], [1.5]]) * generator.normal(size=(2, 9))
    first, second = (stats.zscore(row).tolist() for row in metrics)
    every = plain.segment_differences(
        human.tolist(), first, second, range(9), list(product([False, True], repeat=9))
    )
    exact = np.mean(np.array(every) >= every[0] - 1e-10)
    found = p_values(pearson_differences(human, metrics, np.arange(9), 40_000, SEED))
    assert found[0, 1] == pytest.approx(exact, abs=0.01)


def test_the_test_keeps_its_level() -> None:
    """Metrics that are equally good: one p-value in twenty is below .05."""
    generator = np.random.default_rng(8)
    human = generator.normal(size=60)
    metrics = human + generator.normal(size=(60, 60))
    p = p_values(pearson_differences(human, metrics, np.arange(60), 200, SEED))
    below = p[~np.eye(60, dtype=bool)] <= 0.05
    assert below.mean() == pytest.approx(0.05, abs=0.03)


@given(st.integers(2, 5), st.integers(2, 30), st.integers(1, 70), st.integers(0, 99))
def test_differences_turn_round_with_the_pair(
    metrics: int, rows: int, resamples: int, seed: int
) -> None:
    scores = np.random.default_rng(seed).normal(size=(metrics + 1, rows))
    found = pearson_differences(scores[0], scores[1:], np.arange(rows), resamples, seed)
    turned = -found.resampled.transpose(1, 0, 2)
    assert np.array_equal(found.resampled, turned, equal_nan=True)
    assert (found.observed == -found.observed.T).all()
    p = p_values(found)
    assert np.isnan(np.diag(p)).all()
    outside = ~np.eye(metrics, dtype=bool)
    assert (p[outside] >= 1 / (1 + resamples)).all()
    assert ((p + p.T)[outside] >= 1).all()


@pytest.mark.parametrize("scale", [1.0, 3.7, 1e-160, 1e160])
def test_metrics_that_are_one_up_to_scale_are_not_told_apart(scale: float) -> None:
    human, metrics, _, systems = judged(metrics=1)
    twice = np.concatenate([metrics, scale * metrics + 0.1 * scale])
    units, means = np.arange(len(human)), human_means(human, systems)
    for found in (
        pearson_differences(human, twice, units, RESAMPLES, SEED),
        system_differences(means, twice, systems, units, pearson, RESAMPLES, SEED),
    ):
        p = p_values(found)
        assert p[0, 1] == p[1, 0] == 1.0


def test_a_constant_metric_has_no_p_value() -> None:
    human, metrics, _, systems = judged(metrics=3)
    metrics[1] = 0.1
    units, means = np.arange(len(human)), human_means(human, systems)
    for found in (
        pearson_differences(human, metrics, units, RESAMPLES, SEED),
        system_differences(means, metrics, systems, units, pearson, RESAMPLES, SEED),
        general_differences(human, metrics, units, pearson, RESAMPLES, SEED),
    ):
        p = p_values(found)
        assert np.isnan(p[1]).all()
        assert np.isnan(p[:, 1]).all()
        assert np.isfinite(p[0, 2])


@pytest.mark.parametrize("human", [[], [1.0], [2.0, 2.0, 2.0]])
def test_nothing_to_compare_is_nan(human: list[float]) -> None:
    rows = len(human)
    metrics, units = np.arange(2.0 * rows).reshape(2, rows) ** 2, np.arange(rows)
    for found in (
        pearson_differences(np.array(human), metrics, units, 10, SEED),
        general_differences(np.array(human), metrics, units, pearson, 10, SEED),
    ):
        assert np.isnan(found.observed).all()
        assert np.isnan(p_values(found)).all()


def test_one_system_is_nan() -> None:
    human, metrics, *_ = judged()
    codes = np.zeros(len(human), dtype=np.intp)
    found = system_differences(np.ones(1), metrics, codes, np.arange(len(human)), pearson, 10, SEED)
    assert np.isnan(p_values(found)).all()


def test_one_metric_has_nothing_to_be_compared_with() -> None:
    human, metrics, *_ = judged(metrics=1)
    found = pearson_differences(human, metrics, np.arange(len(human)), 10, SEED)
    assert found.resampled.shape == (1, 1, 10)
    assert np.isnan(p_values(found)).all()


def test_p_values_by_hand() -> None:
    resampled = np.zeros((2, 2, 4))
    resampled[0, 1] = [0.3, 0.2, 0.2 - 1e-13, -0.4]
    resampled[1, 0] = -resampled[0, 1]
    p = p_values(Differences(np.array([[0.0, 0.2], [-0.2, 0.0]]), resampled))
    assert p[0, 1] == (1 + 3) / 5  # .2 less rounding is .2
    assert p[1, 0] == (1 + 3) / 5


def test_an_undefined_resample_counts_against_the_find() -> None:
    resampled = np.zeros((2, 2, 3))
    resampled[0, 1] = resampled[1, 0] = [np.nan, np.nan, 0.0]
    p = p_values(Differences(np.array([[0.0, 0.2], [-0.2, 0.0]]), resampled))
    assert p[0, 1] == 3 / 4


def test_the_average_is_over_language_pairs() -> None:
    human, metrics, *_ = judged()
    rows = np.arange(len(human))
    parts = [pearson_differences(human, metrics, rows, 50, [SEED, i]) for i in range(3)]
    together = average(parts, np.ones(3))
    assert together.observed == pytest.approx(parts[0].observed)
    assert together.resampled == pytest.approx(np.mean([p.resampled for p in parts], axis=0))
    assert not np.array_equal(parts[0].resampled, parts[1].resampled)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    human, metrics, *_ = judged()

    def both() -> list[Differences]:
        rows = np.arange(len(human))
        return [
            pearson_differences(human, metrics, rows, RESAMPLES, SEED),
            general_differences(human, metrics, rows, pearson, RESAMPLES, SEED),
        ]

    whole = both()
    monkeypatch.setattr(permutation, "_IN_CACHE", 3 * RESAMPLES)
    monkeypatch.setattr(permutation, "LIMIT", 20 * len(human))
    for one, other in zip(whole, both(), strict=True):
        assert other.resampled == pytest.approx(one.resampled, abs=1e-12)


def test_masks_are_fair_and_stay_with_the_seed() -> None:
    masks = plain.swap_masks(200, 500, SEED)
    assert masks.shape == (500, 200)
    assert masks.mean() == pytest.approx(0.5, abs=0.01)
    assert np.array_equal(masks, plain.swap_masks(200, 500, SEED))
    assert not np.array_equal(masks, plain.swap_masks(200, 500, SEED + 1))
    assert abs(np.corrcoef(masks[:, :20].T)[np.triu_indices(20, 1)]).max() < 0.2


def test_units_are_what_a_method_swaps() -> None:
    segments, systems = np.array([4, 4, 9, 9]), np.array([1, 0, 1, 0])
    assert swap_units("inputs", segments, systems, 4).tolist() == [0, 0, 1, 1]
    assert swap_units("systems", segments, systems, 4).tolist() == [1, 0, 1, 0]
    assert swap_units("both", segments, systems, 4).tolist() == [0, 1, 2, 3]


def test_standardised_is_the_z_score_of_scipy() -> None:
    metrics = judged()[1]
    assert standardised(metrics) == pytest.approx(stats.zscore(metrics, axis=1))
    assert (standardised(np.full((1, 3), 0.1)) == 0).all()
    assert standardised(np.array([1e300, -1e300])) == pytest.approx([1.0, -1.0])
    assert standardised(np.empty((2, 0))).shape == (2, 0)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: swap_units("inputs", None, None, 3), "the segment of every row"),
        (lambda: swap_units("systems", None, np.zeros(2, np.intp), 3), "the system of every row"),
    ],
)
def test_bad_input_is_told(call: Any, sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        call()
