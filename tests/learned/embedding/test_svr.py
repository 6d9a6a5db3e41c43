"""The grid search agrees with scikit-learn's, and support vectors predict as its SVR does."""

from __future__ import annotations

import io
import os
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.distance import cdist

from adequa.errors import AdequaError
from adequa.learned.embedding import features as features_module
from adequa.learned.embedding import svr
from adequa.learned.embedding.features import Features, Standardisation
from adequa.learned.embedding.svr import (
    GIBIBYTE,
    SVR_GRIDS,
    SupportVectors,
    SVRGrid,
    SVRSearch,
    SVRSetting,
    affordable_workers,
    fit_support_vectors,
    fold_pearson,
    search_svr,
    solve_dual,
    squared_distances,
)
from adequa.segments import FloatArray, IntArray

PAPER, SCALED = SVR_GRIDS["paper"], SVR_GRIDS["scaled"]
SMALL = SVRGrid(C=(0.1, 1, 10), epsilon=(0.05, 0.5), gamma=(0.1, 1), scaled=False)


def search_data(rows: int = 90, dimension: int = 12) -> tuple[Features, FloatArray, IntArray]:
    generator = np.random.default_rng(7)
    features = (generator.normal(size=(rows, dimension)) / 4).astype(np.float32)
    targets = np.tanh(3 * features[:, 0]) + features[:, 1] * features[:, 2]
    targets = targets + generator.normal(size=rows) / 5
    return features, targets.astype(np.float64), np.arange(rows) % 3


def scikit_learn_search(
    features: Features, targets: FloatArray, fold_of_row: IntArray, grid: SVRGrid
) -> Any:
    from sklearn.model_selection import GridSearchCV, PredefinedSplit
    from sklearn.svm import SVR

    def scorer(model: Any, in_fold: Features, human: FloatArray) -> float:
        predicted = model.predict(in_fold)
        return float(np.corrcoef(predicted, human)[0, 1]) if np.ptp(predicted) else 0.0

    values = {"C": grid.C, "epsilon": grid.epsilon, "gamma": grid.gamma}
    folds = PredefinedSplit(fold_of_row)
    return GridSearchCV(SVR(), values, scoring=scorer, cv=folds).fit(features, targets)


@pytest.mark.parametrize("block", [1, 40, 1 << 22])
def test_distances_are_those_of_scipy(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features_module, "_BLOCK_NUMBERS", block)
    generator = np.random.default_rng(1)
    # Far from the origin and near each other: what single precision would get wrong.
    features = (30 + generator.normal(size=(23, 17)) / 10).astype(np.float32)
    features[5] = features[9]
    result = squared_distances(features)
    wide = features.astype(np.float64)
    np.testing.assert_allclose(result, cdist(wide, wide, "sqeuclidean"), rtol=0, atol=1e-10)
    assert (result >= 0).all()
    assert (result == result.T).all()
    assert not result.diagonal().any()


def test_too_many_rows_for_the_memory_are_refused_before_allocation() -> None:
    features = np.zeros((40_000, 1), np.float32)
    with pytest.raises(AdequaError, match="between 40,000 rows would take 11.9 GiB .* 8.0 GiB"):
        squared_distances(features, 8 * GIBIBYTE)
    rows = np.arange(20_000)
    problem = features[rows], rows.astype(float), rows % 10, PAPER
    with pytest.raises(AdequaError, match="20,000 rows with 2 workers would take 8.7 GiB"):
        search_svr(*problem, workers=2, max_bytes=8 * GIBIBYTE)
    with pytest.raises(AdequaError, match=r"with 1 worker would take 5\.8 GiB .* \(--sample\)"):
        search_svr(*problem, max_bytes=5 * GIBIBYTE)


def test_the_number_of_workers_fits_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    shared, each = 8 * 100 * 100, 8 * 100 * 90 + 4 * 90 * 90  # distances; a kernel, and a cache
    for count in (1, 2, 3, 4):
        assert affordable_workers(100, 10, max_bytes=shared + count * each) == count
    assert affordable_workers(100, 10, max_bytes=shared + 2 * each - 1) == 1
    assert affordable_workers(100, 10, max_bytes=shared + 9 * each) == 4
    assert affordable_workers(100, 10, 6, shared + 6 * each) == 6  # more than cores, as asked for
    for workers, most in ((None, shared + each - 1), (2, shared + 2 * each - 1)):
        with pytest.raises(AdequaError, match=f"100 rows with {workers or 1} worker"):
            affordable_workers(100, 10, workers, most)


@pytest.mark.skipif(sys.platform != "linux", reason="the memory is read from Linux's /proc")
def test_half_of_the_memory_is_used_at_most() -> None:
    total = Path("/proc/meminfo").read_text().split()[1]  # MemTotal, in KiB
    assert pytest.approx(int(total) * 1024 / 2, rel=1e-3) == svr.MAX_BYTES


def test_standardised_columns_have_mean_0_and_deviation_1() -> None:
    features, *_ = search_data()
    features[:, 3] = 0.1
    scaled = Standardisation.fit(features)(features)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.delete(scaled.std(axis=0), 3), 1, atol=1e-6)
    assert not scaled[:, 3].round(6).any()


def test_scores_are_those_of_scikit_learn() -> None:
    features, targets, fold_of_row = search_data()
    grid = SVRGrid(C=(0.01, 1, 10), epsilon=(0.01, 0.3, 10), gamma=(0.01, 1, 10), scaled=False)
    ours = search_svr(features, targets, fold_of_row, grid, workers=1)
    theirs = scikit_learn_search(features, targets, fold_of_row, grid)
    for fold in range(3):
        expected = theirs.cv_results_[f"split{fold}_test_score"]
        np.testing.assert_allclose(ours.correlations[:, fold], expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(ours.means, theirs.cv_results_["mean_test_score"], atol=1e-7)
    best = ours.best
    assert theirs.best_params_ == {"C": best.C, "epsilon": best.epsilon, "gamma": best.gamma}


def test_held_out_predictions_are_those_of_a_model_that_has_not_seen_them() -> None:
    from sklearn.svm import SVR

    features, targets, fold_of_row = search_data()
    result = search_svr(features, targets, fold_of_row, SMALL, workers=1)
    best, expected = result.best, np.empty(len(targets))
    for fold in range(3):
        seen = fold_of_row != fold
        model = SVR(C=best.C, epsilon=best.epsilon, gamma=best.gamma)
        model.fit(features[seen], targets[seen])
        expected[~seen] = model.predict(features[~seen])
    np.testing.assert_allclose(result.best_predictions, expected, rtol=0, atol=1e-6)


def test_any_number_of_workers_finds_the_same() -> None:
    features, targets, fold_of_row = search_data()
    one, three = (
        search_svr(features, targets, fold_of_row, SMALL, workers=workers) for workers in (1, 3)
    )
    assert (one.correlations == three.correlations).all()
    assert (one.predictions == three.predictions).all()


def test_a_scaled_grid_is_a_plain_one_on_standardised_features() -> None:
    features, targets, fold_of_row = search_data()
    features = (features * np.arange(1, 13) + 5).astype(np.float32)
    scaled = search_svr(features, targets, fold_of_row, SCALED, workers=1)
    plain = SVRGrid(SCALED.C, SCALED.epsilon, SCALED.gammas(12), scaled=False)
    by_hand = Standardisation.fit(features)(features)
    expected = search_svr(by_hand, targets, fold_of_row, plain, workers=1)
    assert scaled.settings == expected.settings
    assert (scaled.correlations == expected.correlations).all()


def test_a_tube_around_all_targets_needs_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.svm import SVR

    features, targets, fold_of_row = search_data()
    kernel, half = np.exp(-squared_distances(features)), np.ptp(targets) / 2
    model = SVR(C=1, epsilon=half, gamma=1).fit(features, targets)
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    coefficients, intercept = solve_dual(kernel, targets, SVRSetting(1, half, 1))
    assert not coefficients.any()
    np.testing.assert_allclose(intercept, model.predict(features), atol=1e-12)
    grid = SVRGrid(C=(1, 10), epsilon=(10,), gamma=(1,), scaled=False)
    assert not search_svr(features, targets, fold_of_row, grid).correlations.any()


def test_without_scikit_learn_a_sentence_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    with pytest.raises(AdequaError, match=r"pip install 'adequa\[train\]'"):
        search_svr(*search_data(), SMALL)


def test_equal_means_go_to_the_simplest_model() -> None:
    settings = tuple(
        SVRSetting(C, epsilon, gamma) for C, epsilon, gamma in product((10, 1), (0.1, 0.2), (3, 2))
    )
    same = SVRSearch(settings, np.full((8, 2), 0.5), np.zeros((8, 4)))
    assert same.best == SVRSetting(1, 0.2, 2)
    correlations = np.full((8, 2), 0.5)
    correlations[0] = 0.4, 0.7
    assert SVRSearch(settings, correlations, np.zeros((8, 4))).best == settings[0]


def test_constant_predictions_do_not_agree() -> None:
    targets = np.array([1.0, 2.0, 4.0])
    nearly = 0.1 + 1e-16 * np.array([1, 0, 2])
    result = fold_pearson(targets, np.array([[3.0, 3, 3], nearly, [2, 4, 8]]))
    np.testing.assert_allclose(result, [0, 0, 1])
    assert fold_pearson(np.ones(3), targets) == 0
    assert fold_pearson(np.ones(1), np.ones(1)) == 0


def test_progress_counts_fits() -> None:
    progress: list[tuple[int, int]] = []
    search_svr(*search_data(30), SMALL, workers=2, advance=lambda *counts: progress.append(counts))
    assert progress == [(done, 36) for done in range(6, 37, 6)]


def test_the_paper_has_64_settings() -> None:
    assert len(set(PAPER.settings(4800 * 4))) == 64


def test_the_scaled_grid_has_32_settings() -> None:
    result = SCALED.settings(10)
    assert len(set(result)) == 4 * 2 * 4
    assert result[0] == SVRSetting(0.3, 0.1, 0.03 / 10)
    assert result[-1] == SVRSetting(10, 0.4, 1 / 10)


SETTING = SVRSetting(C=3, epsilon=0.1, gamma=0.2)


def model_data(rows: int = 80, dimension: int = 10) -> tuple[Features, FloatArray]:
    generator = np.random.default_rng(3)
    features = (2 + generator.normal(size=(rows, dimension))).astype(np.float32)
    return features, np.sin(features[:, 0]) + generator.normal(size=rows) / 4


def saved_and_loaded(arrays: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        return dict(loaded)


@pytest.mark.parametrize("block", [1, 70, 1 << 22])
@pytest.mark.parametrize("gamma", [0.001, 0.2, 10.0])
def test_the_arrays_of_scikit_learn_predict_as_it_does(
    block: int, gamma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sklearn.svm import SVR

    monkeypatch.setattr(features_module, "_BLOCK_NUMBERS", block)
    features, targets = model_data()
    model = SVR(C=10, epsilon=0.05, gamma=gamma).fit(features[:60], targets[:60])
    vectors = model.support_vectors_.astype(np.float32)
    ours = SupportVectors(vectors, model.dual_coef_[0], float(model.intercept_[0]), gamma)
    np.testing.assert_allclose(ours.predict(features), model.predict(features), rtol=0, atol=1e-9)


@pytest.mark.parametrize("scaled", [False, True], ids=["as they are", "standardised"])
def test_a_fit_is_that_of_scikit_learn(scaled: bool) -> None:
    from sklearn.svm import SVR

    features, targets = model_data()
    ours = fit_support_vectors(features[:60], targets[:60], SETTING, scaled=scaled)
    scaling = Standardisation.fit(features[:60])
    seen = scaling(features) if scaled else features
    model = SVR(C=3, epsilon=0.1, gamma=0.2).fit(seen[:60], targets[:60])
    np.testing.assert_allclose(ours.predict(features), model.predict(seen), rtol=0, atol=1e-9)
    assert len(ours.vectors) == len(model.support_)


def test_the_same_rows_give_the_same_regressor() -> None:
    one, two = (fit_support_vectors(*model_data(), SETTING, scaled=True).arrays() for _ in range(2))
    assert all((one[name] == two[name]).all() for name in one)


def test_what_is_saved_is_what_was_fitted() -> None:
    features, targets = model_data()
    for scaled in (False, True):
        ours = fit_support_vectors(features, targets, SETTING, scaled=scaled)
        again = SupportVectors.from_arrays(saved_and_loaded(ours.arrays()))
        assert (again.predict(features) == ours.predict(features)).all()
        assert again.vectors.dtype == np.float32


def test_a_row_scores_the_same_alone() -> None:
    features, targets = model_data()
    ours = fit_support_vectors(features, targets, SETTING, scaled=True)
    alone = [ours.predict(row[None])[0] for row in features]
    np.testing.assert_allclose(alone, ours.predict(features), rtol=0, atol=1e-12)
    assert ours.predict(features[:0]).shape == (0,)


def test_a_tube_around_all_targets_leaves_a_constant() -> None:
    features, targets = model_data()
    ours = fit_support_vectors(features, targets, SVRSetting(1, 100, 1), scaled=False)
    again = SupportVectors.from_arrays(saved_and_loaded(ours.arrays()))
    middle = (targets.min() + targets.max()) / 2
    assert again.predict(features).tolist() == [middle] * len(features)
