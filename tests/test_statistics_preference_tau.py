"""The taus of WMT on preferences, against WMT's own tables and counts made by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from adequa.metrics.registry import load_metric
from adequa.segments import FloatArray, Segments
from adequa.statistics.preference_tau import (
    PREFERENCE_TAUS,
    contributions,
    preferences_from_ratings,
    tau,
)
from judgements import needs_judgements, read_judgements, strict_tau

# What the organisers' scripts add for a pair where the metric says better, equal, worse; None is
# a pair that is left out.
WMT_TABLES = {
    "tau-wmt12": (1, -1, -1),
    "tau-wmt13": (1, None, -1),
    "tau-wmt14": (1, 0, -1),
    "tau-darr": (1, -1, -1),
}
margins_of_any_sign = arrays(float, st.integers(0, 12), elements=st.integers(-2, 2).map(float))


@pytest.mark.parametrize("name", WMT_TABLES)
@given(margins=margins_of_any_sign)
def test_the_tables_of_wmt(name: str, margins: FloatArray) -> None:
    added = [WMT_TABLES[name][1 - int(np.sign(margin))] for margin in margins]
    counted = [coefficient for coefficient in added if coefficient is not None]
    found = tau(name, margins)
    if counted:
        assert found == pytest.approx(sum(counted) / len(counted))
    else:
        assert np.isnan(found)


def test_by_hand() -> None:
    margins = np.array([3.0, 0.1, 2.0, -1.0, 0.0, 0.0])
    assert tau("tau-wmt12", margins) == 0.0  # (3 - 1 - 2) / 6
    assert tau("tau-wmt13", margins) == 0.5  # (3 - 1) / 4
    assert tau("tau-wmt14", margins) == pytest.approx(1 / 3)  # (3 - 1) / 6
    assert tau("tau-darr", margins) == 0.0  # (3 - 3) / 6


@pytest.mark.parametrize("name", WMT_TABLES)
def test_weights_are_counts(name: str) -> None:
    generator = np.random.default_rng(1)
    margins = generator.integers(-2, 3, size=(2, 20)).astype(float)
    weights = generator.integers(0, 3, size=(5, 1, 20)).astype(float)
    found = np.asarray(tau(name, margins, weights))
    for row, weighting in enumerate(weights[:, 0].astype(int)):
        for problem in range(2):
            again = tau(name, np.repeat(margins[problem], weighting))
            assert found[row, problem] == pytest.approx(again)


def test_a_resample_is_a_ratio_of_sums() -> None:
    margins = np.array([1.0, 0.0, -1.0, 2.0])
    weights = np.array([[0.0, 2.0, 1.0, 1.0], [4.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0]])
    for name in PREFERENCE_TAUS:
        numerators, denominators = contributions(name, margins)
        with np.errstate(invalid="ignore"):
            expected = (weights @ numerators) / (weights @ denominators)
        np.testing.assert_allclose(np.asarray(tau(name, margins, weights)), expected)
    assert np.isnan(np.asarray(tau("tau-wmt13", margins, weights))[2])


@given(
    scores=arrays(float, 12, elements=st.integers(0, 8).map(lambda n: n * 12.5)),
    groups=arrays(np.intp, 12, elements=st.integers(-1, 4)),
    least=st.sampled_from([0.0, 12.5, 25.0]),
)
def test_preferences_are_pairs_of_a_group_far_enough_apart(
    scores: FloatArray, groups: np.ndarray[tuple[int], np.dtype[np.intp]], least: float
) -> None:
    better, worse = preferences_from_ratings(scores, groups, least)
    expected = {
        (i, j) if scores[i] > scores[j] else (j, i)
        for i, j in combinations(range(12), 2)
        if groups[i] == groups[j] and abs(scores[i] - scores[j]) >= least and scores[i] != scores[j]
    }
    assert len(better) == len(expected)
    assert set(zip(better.tolist(), worse.tolist(), strict=True)) == expected


def test_no_ratings_no_preferences() -> None:
    better, worse = preferences_from_ratings(np.zeros(0), np.zeros(0, dtype=np.intp), 25.0)
    assert better.size == worse.size == 0


@needs_judgements
def test_strict_tau_of_wmt12() -> None:
    rows = read_judgements("wmt12-rr")["cs-en"][:2000]
    metric = load_metric("chrf")
    sides = (
        Segments(tuple(row[side] for row in rows), tuple((row["ref"],) for row in rows))
        for side in ("better", "worse")
    )
    better, worse = (metric.score(side).segments for side in sides)
    found = tau("tau-wmt12", better - worse)
    assert 100 * float(found) == pytest.approx(strict_tau(metric, rows))
