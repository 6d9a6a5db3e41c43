"""Support vectors predict what scikit-learn predicts, and survive a file."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from adequa.errors import AdequaError
from adequa.learned.embedding import distances
from adequa.learned.embedding.distances import Features
from adequa.learned.embedding.standardisation import standardisation
from adequa.learned.embedding.support_vectors import SupportVectors, fit_support_vectors
from adequa.learned.embedding.svr import Setting
from adequa.segments import FloatArray

SETTING = Setting(C=3, epsilon=0.1, gamma=0.2)


def made_up(rows: int = 80, dimension: int = 10) -> tuple[Features, FloatArray]:
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

    monkeypatch.setattr(distances, "_BLOCK_NUMBERS", block)
    features, targets = made_up()
    model = SVR(C=10, epsilon=0.05, gamma=gamma).fit(features[:60], targets[:60])
    vectors = model.support_vectors_.astype(np.float32)
    ours = SupportVectors(vectors, model.dual_coef_[0], float(model.intercept_[0]), gamma)
    np.testing.assert_allclose(ours.predict(features), model.predict(features), rtol=0, atol=1e-9)


@pytest.mark.parametrize("scaled", [False, True], ids=["as they are", "standardised"])
def test_a_fit_is_that_of_scikit_learn(scaled: bool) -> None:
    from sklearn.svm import SVR

    features, targets = made_up()
    ours = fit_support_vectors(features[:60], targets[:60], SETTING, scaled=scaled)
    scaling = standardisation(features[:60])
    seen = scaling(features) if scaled else features
    model = SVR(C=3, epsilon=0.1, gamma=0.2).fit(seen[:60], targets[:60])
    np.testing.assert_allclose(ours.predict(features), model.predict(seen), rtol=0, atol=1e-9)
    assert len(ours.vectors) == len(model.support_)


def test_the_same_rows_give_the_same_regressor() -> None:
    one, two = (fit_support_vectors(*made_up(), SETTING, scaled=True).arrays() for _ in range(2))
    assert all((one[name] == two[name]).all() for name in one)


def test_what_is_saved_is_what_was_fitted() -> None:
    features, targets = made_up()
    for scaled in (False, True):
        ours = fit_support_vectors(features, targets, SETTING, scaled=scaled)
        again = SupportVectors.from_arrays(saved_and_loaded(ours.arrays()))
        assert (again.predict(features) == ours.predict(features)).all()
        assert again.vectors.dtype == np.float32


def test_a_row_scores_the_same_alone() -> None:
    features, targets = made_up()
    ours = fit_support_vectors(features, targets, SETTING, scaled=True)
    alone = [ours.predict(row[None])[0] for row in features]
    np.testing.assert_allclose(alone, ours.predict(features), rtol=0, atol=1e-12)
    assert ours.predict(features[:0]).shape == (0,)


def test_a_tube_around_all_targets_leaves_a_constant() -> None:
    features, targets = made_up()
    ours = fit_support_vectors(features, targets, Setting(1, 100, 1), scaled=False)
    again = SupportVectors.from_arrays(saved_and_loaded(ours.arrays()))
    middle = (targets.min() + targets.max()) / 2
    assert again.predict(features).tolist() == [middle] * len(features)


@pytest.mark.parametrize("width", [9, 11])
def test_another_number_of_features_is_told_with_both_numbers(width: int) -> None:
    ours = fit_support_vectors(*made_up(), SETTING, scaled=False)
    with pytest.raises(AdequaError, match=f"rows of 10 features, but these have {width}"):
        ours.predict(np.zeros((2, width), np.float32))


@pytest.mark.parametrize(
    ("name", "spoil", "sentence"),
    [
        ("gamma", lambda _: None, 'm.npz has no array named "gamma"'),
        ("scale", lambda _: None, 'has no array named "scale"'),
        ("vectors", lambda array: array[0], "should have 2 dimensions, but it has 1"),
        ("coefficients", lambda array: array[1:], '"coefficients" has size'),
        ("mean", lambda array: array[1:], '"mean" has size 9 where the others need 10'),
        ("coefficients", lambda array: array * np.nan, '"coefficients" holds something'),
        ("vectors", lambda array: array.astype(str), '"vectors" holds something'),
        ("gamma", lambda array: -array, "γ is -0.2"),
        ("scale", lambda array: array * 0, '"scale" is not above 0'),
    ],
    ids=[
        "no gamma", "no scale", "flat", "coefficients", "mean", "NaN", "text", "negative", "zero"
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_told_in_a_sentence(
    name: str, spoil: Any, sentence: str
) -> None:
    arrays = fit_support_vectors(*made_up(), SETTING, scaled=True).arrays()
    spoilt = spoil(arrays.pop(name))
    if spoilt is not None:
        arrays[name] = spoilt
    with pytest.raises(AdequaError, match=sentence):
        SupportVectors.from_arrays(arrays, "m.npz")
