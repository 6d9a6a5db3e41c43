"""The grid search finds what scikit-learn's finds; distances are those of scipy."""

from __future__ import annotations

import os
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from adequa.errors import AdequaError
from adequa.learned.embedding import distances as distances_module
from adequa.learned.embedding.distances import GIBIBYTE, Features, squared_distances
from adequa.learned.embedding.standardisation import standardisation
from adequa.learned.embedding.svr import Setting, fitted
from adequa.learned.embedding.svr_search import (
    PAPER,
    SCALED,
    Grid,
    Search,
    agreement,
    check_search_memory,
    search,
)
from adequa.segments import FloatArray, IntArray

SMALL = Grid(C=(0.1, 1, 10), epsilon=(0.05, 0.5), gamma=(0.1, 1), scaled=False)


def made_up(rows: int = 90, dimension: int = 12) -> tuple[Features, FloatArray, IntArray]:
    generator = np.random.default_rng(7)
    features = (generator.normal(size=(rows, dimension)) / 4).astype(np.float32)
    targets = np.tanh(3 * features[:, 0]) + features[:, 1] * features[:, 2]
    targets = targets + generator.normal(size=rows) / 5
    return features, targets.astype(np.float64), np.arange(rows) % 3


def scikit_learn_search(
    features: Features, targets: FloatArray, fold_of_row: IntArray, grid: Grid
) -> Any:
    from sklearn.model_selection import GridSearchCV, PredefinedSplit
    from sklearn.svm import SVR

    def scorer(model: Any, held_out: Features, human: FloatArray) -> float:
        predicted = model.predict(held_out)
        return float(np.corrcoef(predicted, human)[0, 1]) if np.ptp(predicted) else 0.0

    values = {"C": grid.C, "epsilon": grid.epsilon, "gamma": grid.gamma}
    folds = PredefinedSplit(fold_of_row)
    return GridSearchCV(SVR(), values, scoring=scorer, cv=folds).fit(features, targets)


@pytest.mark.parametrize("block", [1, 40, 1 << 22])
def test_distances_are_those_of_scipy(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances_module, "_BLOCK_NUMBERS", block)
    generator = np.random.default_rng(1)
    # Far from the origin and near each other: what single precision would get wrong.
    features = (30 + generator.normal(size=(23, 17)) / 10).astype(np.float32)
    features[5] = features[9]
    found = squared_distances(features)
    wide = features.astype(np.float64)
    np.testing.assert_allclose(found, cdist(wide, wide, "sqeuclidean"), rtol=0, atol=1e-10)
    assert (found >= 0).all()
    assert (found == found.T).all()
    assert not found.diagonal().any()


def test_too_many_rows_for_the_memory_are_refused_before_any_is_taken() -> None:
    features = np.zeros((40_000, 1), np.float32)
    with pytest.raises(AdequaError, match="between 40,000 rows would take 11.9 GiB .* 8.0 GiB"):
        squared_distances(features, 8 * GIBIBYTE)
    rows = np.arange(20_000)
    problem = features[rows], rows.astype(float), rows % 10, PAPER
    with pytest.raises(AdequaError, match="20,000 rows with 2 workers would take 8.7 GiB"):
        search(*problem, workers=2, most_bytes=8 * GIBIBYTE)
    with pytest.raises(AdequaError, match=r"with 1 worker would take 5\.8 GiB .* \(--sample\)"):
        search(*problem, most_bytes=5 * GIBIBYTE)


def test_there_are_as_many_workers_as_have_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    shared, each = 8 * 100 * 100, 8 * 100 * 90 + 4 * 90 * 90  # distances; a kernel, and a cache
    for count in (1, 2, 3, 4):
        assert check_search_memory(100, 10, most_bytes=shared + count * each) == count
    assert check_search_memory(100, 10, most_bytes=shared + 2 * each - 1) == 1
    assert check_search_memory(100, 10, most_bytes=shared + 9 * each) == 4
    assert check_search_memory(100, 10, 6, shared + 6 * each) == 6  # more than cores, as asked for
    for workers, most in ((None, shared + each - 1), (2, shared + 2 * each - 1)):
        with pytest.raises(AdequaError, match=f"100 rows with {workers or 1} worker"):
            check_search_memory(100, 10, workers, most)


@pytest.mark.skipif(sys.platform != "linux", reason="the memory is read from Linux's /proc")
def test_half_of_the_memory_is_used_at_most() -> None:
    total = Path("/proc/meminfo").read_text().split()[1]  # MemTotal, in KiB
    assert pytest.approx(int(total) * 1024 / 2, rel=1e-3) == distances_module.MOST_BYTES


def test_standardised_columns_have_mean_0_and_deviation_1() -> None:
    features, *_ = made_up()
    features[:, 3] = 0.1
    scaled = standardisation(features)(features)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.delete(scaled.std(axis=0), 3), 1, atol=1e-6)
    assert not scaled[:, 3].round(6).any()


def test_scores_are_those_of_scikit_learn() -> None:
    features, targets, fold_of_row = made_up()
    grid = Grid(C=(0.01, 1, 10), epsilon=(0.01, 0.3, 10), gamma=(0.01, 1, 10), scaled=False)
    ours = search(features, targets, fold_of_row, grid, workers=1)
    theirs = scikit_learn_search(features, targets, fold_of_row, grid)
    for fold in range(3):
        expected = theirs.cv_results_[f"split{fold}_test_score"]
        np.testing.assert_allclose(ours.correlations[:, fold], expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(ours.means, theirs.cv_results_["mean_test_score"], atol=1e-7)
    best = ours.best
    assert theirs.best_params_ == {"C": best.C, "epsilon": best.epsilon, "gamma": best.gamma}


def test_held_out_predictions_are_those_of_a_model_that_has_not_seen_them() -> None:
    from sklearn.svm import SVR

    features, targets, fold_of_row = made_up()
    found = search(features, targets, fold_of_row, SMALL, workers=1)
    best, expected = found.best, np.empty(len(targets))
    for fold in range(3):
        seen = fold_of_row != fold
        model = SVR(C=best.C, epsilon=best.epsilon, gamma=best.gamma)
        model.fit(features[seen], targets[seen])
        expected[~seen] = model.predict(features[~seen])
    np.testing.assert_allclose(found.best_predictions, expected, rtol=0, atol=1e-6)


def test_any_number_of_workers_finds_the_same() -> None:
    features, targets, fold_of_row = made_up()
    one, three = (
        search(features, targets, fold_of_row, SMALL, workers=workers) for workers in (1, 3)
    )
    assert (one.correlations == three.correlations).all()
    assert (one.predictions == three.predictions).all()


def test_a_scaled_grid_is_a_plain_one_on_standardised_features() -> None:
    features, targets, fold_of_row = made_up()
    features = (features * np.arange(1, 13) + 5).astype(np.float32)
    scaled = search(features, targets, fold_of_row, SCALED, workers=1)
    plain = Grid(SCALED.C, SCALED.epsilon, SCALED.gammas(12), scaled=False)
    by_hand = standardisation(features)(features)
    expected = search(by_hand, targets, fold_of_row, plain, workers=1)
    assert scaled.settings == expected.settings
    assert (scaled.correlations == expected.correlations).all()


def test_a_tube_around_all_targets_is_known_without_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.svm import SVR

    features, targets, fold_of_row = made_up()
    kernel, half = np.exp(-squared_distances(features)), np.ptp(targets) / 2
    model = SVR(C=1, epsilon=half, gamma=1).fit(features, targets)
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    coefficients, intercept = fitted(kernel, targets, Setting(1, half, 1))
    assert not coefficients.any()
    np.testing.assert_allclose(intercept, model.predict(features), atol=1e-12)
    grid = Grid(C=(1, 10), epsilon=(10,), gamma=(1,), scaled=False)
    assert not search(features, targets, fold_of_row, grid).correlations.any()


def test_without_scikit_learn_a_sentence_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    with pytest.raises(AdequaError, match=r"pip install 'adequa\[train\]'"):
        search(*made_up(), SMALL)


def test_equal_means_go_to_the_simplest_model() -> None:
    settings = tuple(
        Setting(C, epsilon, gamma) for C, epsilon, gamma in product((10, 1), (0.1, 0.2), (3, 2))
    )
    same = Search(settings, np.full((8, 2), 0.5), np.zeros((8, 4)))
    assert same.best == Setting(1, 0.2, 2)
    correlations = np.full((8, 2), 0.5)
    correlations[0] = 0.4, 0.7
    assert Search(settings, correlations, np.zeros((8, 4))).best == settings[0]


def test_constant_predictions_do_not_agree() -> None:
    targets = np.array([1.0, 2.0, 4.0])
    nearly = 0.1 + 1e-16 * np.array([1, 0, 2])
    found = agreement(targets, np.array([[3.0, 3, 3], nearly, [2, 4, 8]]))
    np.testing.assert_allclose(found, [0, 0, 1])
    assert agreement(np.ones(3), targets) == 0
    assert agreement(np.ones(1), np.ones(1)) == 0


def test_progress_is_told_in_fits() -> None:
    told: list[tuple[int, int]] = []
    search(*made_up(30), SMALL, workers=2, advance=lambda done, total: told.append((done, total)))
    assert told == [(done, 36) for done in range(6, 37, 6)]


def test_the_paper_has_64_settings() -> None:
    assert len(set(PAPER.settings(4800 * 4))) == 64


def test_the_scaled_grid_has_32_settings() -> None:
    found = SCALED.settings(10)
    assert len(set(found)) == 4 * 2 * 4
    assert found[0] == Setting(0.3, 0.1, 0.03 / 10)
    assert found[-1] == Setting(10, 0.4, 1 / 10)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda x, y, f: (x, y[1:], f), "features have shape 90 × 12, and there are 89 targets"),
        (lambda x, y, f: (x[:, 0], y, f), "features have shape 90,"),
        (lambda x, y, f: (x[:0], y[:0], f[:0]), "nothing to train on"),
        (lambda x, y, f: (np.where(x == x[4, 2], np.nan, x), y, f), "Row 5 of the features holds"),
        (lambda x, y, f: (x, np.where(y == y[1], np.inf, y), f), "Row 2 of the targets holds"),
        (lambda x, y, f: (x, y, f[:5]), "90 rows have 5"),
        (lambda x, y, f: (x, y, f + 1), "numbered from 0 without gaps"),
        (lambda x, y, f: (x, y, f * 0), "at least 2"),
    ],
    ids=["rows", "one column", "none", "NaN", "infinite", "folds", "numbers", "one fold"],
)
def test_bad_input_is_told_in_a_sentence(spoil: Any, sentence: str) -> None:
    features, targets, fold_of_row = spoil(*made_up())
    with pytest.raises(AdequaError, match=sentence):
        search(features, targets, fold_of_row, SMALL)


def test_a_grid_has_values_that_can_be() -> None:
    with pytest.raises(AdequaError, match="at least one value"):
        Grid(C=(), epsilon=(0.1,), gamma=(1,), scaled=False)
    with pytest.raises(AdequaError, match="greater than 0"):
        Grid(C=(0,), epsilon=(0.1,), gamma=(1,), scaled=False)
