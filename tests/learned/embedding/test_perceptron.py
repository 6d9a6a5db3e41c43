"""Perceptrons learn, are chosen on development rows, and predict in numpy what torch predicts."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.learned.embedding.distances import Features
from adequa.learned.embedding.mlp_training import (
    PAPER,
    SHORT,
    PerceptronGrid,
    PerceptronSearch,
    PerceptronSetting,
    forward,
    search_perceptrons,
)
from adequa.learned.embedding.perceptron import Perceptron
from adequa.learned.folds import Mask, split_off
from adequa.segments import FloatArray

torch = pytest.importorskip("torch", reason="PyTorch comes with the [train] extra")

# A tenfold learning rate, because there are so few steps.
TINY = PerceptronGrid((16, 64), (0.0, 0.2), (1, 2), (24,), True, epochs=8, learning_rate=1e-2)
ONE = PerceptronGrid((16,), (0.1,), (2,), (24,), scaled=True, epochs=5)


def made_up(rows: int = 200, dimension: int = 6) -> tuple[Features, FloatArray, Mask]:
    generator = np.random.default_rng(5)
    features = (3 + 2 * generator.normal(size=(rows, dimension))).astype(np.float32)
    targets = 70 + 9 * np.abs(features[:, 0] - 3) + generator.normal(size=rows)
    return features, targets, split_off(rows, 0.2, seed=1)


def as_module(found: PerceptronSearch) -> Any:
    """The same layers in torch's own modules."""
    steps: list[Any] = []
    for weights, biases in found.layers:
        linear = torch.nn.Linear(weights.shape[1], weights.shape[0])
        linear.weight.data, linear.bias.data = torch.tensor(weights), torch.tensor(biases)
        steps += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*steps[:-1])


@pytest.fixture(scope="module")
def found() -> PerceptronSearch:
    return search_perceptrons(*made_up(), TINY, seed=1, device="cpu")


def test_a_bend_is_learnt_in_the_scale_of_the_targets(found: PerceptronSearch) -> None:
    features, targets, development = made_up()
    predicted = Perceptron(found.layers, found.standardisation).predict(features)[development]
    assert found.correlations.max() > 0.8
    assert np.abs(predicted.mean() - targets[development].mean()) < 3


def test_the_choice_is_the_best_epoch_of_the_best_setting(found: PerceptronSearch) -> None:
    features, targets, development = made_up()
    assert found.correlations.shape == (8, 8)
    best = found.correlations[found.best_index, found.best_epoch - 1]
    assert best == found.correlations.max()
    predicted = Perceptron(found.layers, found.standardisation).predict(features[development])
    expected = np.corrcoef(predicted, targets[development])[0, 1]
    np.testing.assert_allclose(best, expected, rtol=0, atol=1e-5)


def test_an_early_epoch_is_kept_where_it_is_the_best() -> None:
    # Development targets are those of training turned round: the better learnt, the worse.
    features, targets, _ = made_up(60)
    features, targets = np.tile(features, (2, 1)), np.concatenate([targets, -targets])
    development = np.arange(120) >= 60
    grid = PerceptronGrid((8,), (0.0,), (1,), (64,), scaled=True, epochs=12)
    found = search_perceptrons(features, targets, development, grid, seed=1, device="cpu")
    assert found.correlations[0, 0] > found.correlations[0, -1]
    predicted = Perceptron(found.layers, found.standardisation).predict(features[development])
    chosen = np.corrcoef(predicted, targets[development])[0, 1]
    np.testing.assert_allclose(chosen, found.correlations.max(), rtol=0, atol=1e-5)


def test_numpy_predicts_what_torch_predicts(found: PerceptronSearch) -> None:
    features, *_ = made_up()
    ours = Perceptron(found.layers, found.standardisation)
    assert found.standardisation is not None
    with torch.no_grad():
        expected = as_module(found)(torch.tensor(found.standardisation(features)))[:, 0].numpy()
    np.testing.assert_allclose(ours.predict(features), expected, rtol=1e-5)
    alone = [ours.predict(row[None])[0] for row in features[:20]]
    np.testing.assert_allclose(alone, ours.predict(features[:20]), rtol=1e-12)
    assert ours.predict(features[:0]).shape == (0,)


def test_forward_and_its_gradients_are_those_of_the_modules(found: PerceptronSearch) -> None:
    features = torch.tensor(made_up()[0])
    module = as_module(found)
    layers = [
        (torch.tensor(w, requires_grad=True), torch.tensor(b, requires_grad=True))
        for w, b in found.layers
    ]
    forward(features, layers).square().mean().backward()  # type: ignore[no-untyped-call]
    module(features)[:, 0].square().mean().backward()
    ours = [tensor.grad for layer in layers for tensor in layer]
    for gradient, parameter in zip(ours, module.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)


def test_a_step_is_that_of_adam_by_hand() -> None:
    # All rows in one batch and one epoch: Adam's first step moves each weight by the learning
    # rate against the sign of its gradient.
    features, targets, development = made_up()
    grids = [
        PerceptronGrid((500,), (0.0,), (1,), (8,), True, epochs=1, learning_rate=rate)
        for rate in (1e-3, 0.0)
    ]
    moved, still = (
        search_perceptrons(features, targets, development, grid, 1, device="cpu").layers
        for grid in grids
    )
    steps = (moved[0][0] - still[0][0]) / 1e-3
    np.testing.assert_allclose(np.abs(steps), 1, atol=1e-3)


def test_dropout_keeps_the_mean_and_zeroes_its_share() -> None:
    generator = torch.Generator().manual_seed(1)
    wide = [
        (torch.ones(20_000, 1), torch.zeros(20_000)),
        (torch.ones(1, 20_000) / 20_000, torch.zeros(1)),
    ]
    dropped = float(forward(torch.ones(1, 1), wide, 0.3, generator))
    assert dropped != 1
    assert abs(dropped - 1) < 0.03
    kept = dropped * 0.7 * 20_000  # each unit kept adds 1 / 0.7
    assert abs(kept - round(kept)) < 0.1


def test_the_same_seed_gives_the_same_weights_and_leaves_the_global_state_alone() -> None:
    state = torch.get_rng_state()
    one, two, other = (
        search_perceptrons(*made_up(), ONE, seed, device="cpu") for seed in (1, 1, 2)
    )
    assert torch.equal(state, torch.get_rng_state())
    flat = [np.concatenate([a.ravel() for ab in each.layers for a in ab]) for each in (one, two)]
    assert (flat[0] == flat[1]).all()
    assert (one.correlations == two.correlations).all()
    assert (one.correlations != other.correlations).any()


def test_a_setting_does_not_depend_on_the_others(found: PerceptronSearch) -> None:
    last = PerceptronGrid((64,), (0.2,), (2,), (24,), True, epochs=8, learning_rate=1e-2)
    alone = search_perceptrons(*made_up(), last, seed=1, device="cpu")
    assert found.settings[-1] == alone.settings[0]
    assert (found.correlations[-1] == alone.correlations[0]).all()


def test_features_are_standardised_on_training_rows_alone(found: PerceptronSearch) -> None:
    features, _, development = made_up()
    assert found.standardisation is not None
    np.testing.assert_allclose(
        found.standardisation.mean, features[~development].mean(axis=0), rtol=1e-6
    )


def test_progress_is_told_in_settings() -> None:
    told: list[tuple[int, int]] = []
    grid = PerceptronGrid((64,), (0.0, 0.1), (1,), (4,), scaled=True, epochs=1)
    search_perceptrons(
        *made_up(), grid, 1, device="cpu", advance=lambda done, total: told.append((done, total))
    )
    assert told == [(1, 2), (2, 2)]


def test_the_paper_has_180_settings_of_30_epochs() -> None:
    assert len(set(PAPER.settings())) == 180
    assert PAPER.epochs == 30
    assert len(SHORT.settings()) == 6


def test_what_is_saved_is_what_was_trained(found: PerceptronSearch) -> None:
    features, *_ = made_up()
    ours = Perceptron(found.layers, found.standardisation)
    again = Perceptron.from_arrays(ours.arrays())
    assert (again.predict(features) == ours.predict(features)).all()
    bare = Perceptron.from_arrays(Perceptron(found.layers).arrays())
    assert bare.standardisation is None


@pytest.mark.parametrize(
    ("name", "spoil", "sentence"),
    [
        ("weights_1", lambda _: None, 'm.npz has no array named "weights_'),
        ("biases_1", lambda array: array[1:], '"biases_1" has size 23 where the others need 24'),
        ("weights_2", lambda array: array[:, 1:], '"weights_2" has size 23'),
        ("weights_1", lambda array: array[0], "should have 2 dimensions, but it has 1"),
        ("biases_2", lambda array: array * np.inf, '"biases_2" holds something'),
        ("mean", lambda array: array[1:], '"mean" has size 5 where the others need 6'),
    ],
    ids=["none", "biases", "weights", "flat", "infinite", "mean"],
)
def test_arrays_that_do_not_fit_are_told_in_a_sentence(
    found: PerceptronSearch, name: str, spoil: Any, sentence: str
) -> None:
    arrays = Perceptron(found.layers, found.standardisation).arrays()
    spoilt = spoil(arrays.pop(name))
    if spoilt is not None:
        arrays[name] = spoilt
    with pytest.raises(AdequaError, match=sentence):
        Perceptron.from_arrays(arrays, "m.npz")


def test_a_last_layer_has_one_output() -> None:
    arrays = {"weights_1": np.ones((2, 3)), "biases_1": np.ones(2)}
    with pytest.raises(AdequaError, match='"weights_1" has size 2 where the others need 1'):
        Perceptron.from_arrays(arrays)


def test_another_number_of_features_is_told_with_both_numbers(found: PerceptronSearch) -> None:
    with pytest.raises(AdequaError, match="rows of 6 features, but these have 7"):
        Perceptron(found.layers).predict(np.zeros((2, 7), np.float32))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda x, y, d: (x, y[1:], d), "there are 199 targets"),
        (lambda x, y, d: (x, y, d[1:]), "200 rows have 199 marks"),
        (lambda x, y, d: (x, y, d & False), "development rows need at least 2 different targets"),
        (lambda x, y, d: (x, np.where(d, y, 1), d), "training rows need at least 2 different"),
        (lambda x, y, d: (x * np.float32(np.nan), y, d), "Row 1 of the features"),
        (lambda x, y, d: (np.where(x > 5, 1e38, x), y, d), "beyond all bounds"),
    ],
    ids=["rows", "marks", "no development", "constant", "NaN", "huge"],
)
def test_bad_input_is_told_in_a_sentence(spoil: Any, sentence: str) -> None:
    grid = PerceptronGrid((64,), (0.0,), (1,), (4,), scaled=False, epochs=1)
    features, targets, development = spoil(*made_up())
    with pytest.raises(AdequaError, match=sentence):
        search_perceptrons(features, targets, development, grid, 1, device="cpu")


@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_a_device_that_is_not_there_is_told(device: str) -> None:
    with pytest.raises(AdequaError, match=f'no device "{device}"'):
        search_perceptrons(*made_up(), ONE, 1, device=device)


def test_without_torch_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(AdequaError, match=r"pip install 'adequa\[train\]'"):
        search_perceptrons(*made_up(), ONE, 1)


def test_a_setting_is_one_that_can_be() -> None:
    with pytest.raises(AdequaError, match="at least 1 hidden layer"):
        PerceptronSetting(batch=64, dropout=0.1, layers=0, units=512)
    with pytest.raises(AdequaError, match="from 0 to below 1"):
        PerceptronSetting(batch=64, dropout=1.0, layers=1, units=512)
