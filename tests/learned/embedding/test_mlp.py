"""Perceptrons learn, are chosen on development rows, and predict in numpy what torch predicts."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.learned.embedding.features import Features
from adequa.learned.embedding.mlp import (
    MLP,
    MLP_GRIDS,
    MLPGrid,
    MLPSearch,
    MLPSetting,
    build_network,
    search_mlp,
)
from adequa.learned.folds import Mask, split_off
from adequa.segments import FloatArray

torch = pytest.importorskip("torch", reason="PyTorch comes with the [train] extra")

# A tenfold learning rate, because there are so few steps.
TINY = MLPGrid((16, 64), (0.0, 0.2), (1, 2), (24,), True, epochs=8, learning_rate=1e-2)
ONE = MLPGrid((16,), (0.1,), (2,), (24,), scaled=True, epochs=5)


def data(rows: int = 200, dimension: int = 6) -> tuple[Features, FloatArray, Mask]:
    generator = np.random.default_rng(5)
    features = (3 + 2 * generator.normal(size=(rows, dimension))).astype(np.float32)
    targets = 70 + 9 * np.abs(features[:, 0] - 3) + generator.normal(size=rows)
    return features, targets, split_off([f"{row:03}" for row in range(rows)], 0.2, seed=1)


def as_module(search: MLPSearch) -> Any:
    """The same layers in torch's own modules."""
    steps: list[Any] = []
    for weights, biases in search.model.layers:
        linear = torch.nn.Linear(weights.shape[1], weights.shape[0])
        linear.weight.data, linear.bias.data = torch.tensor(weights), torch.tensor(biases)
        steps += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*steps[:-1])


@pytest.fixture(scope="module")
def search() -> MLPSearch:
    return search_mlp(*data(), TINY, seed=1, device="cpu")


def test_a_bend_is_learnt_in_the_scale_of_the_targets(search: MLPSearch) -> None:
    features, targets, development = data()
    predicted = search.model.predict(features)[development]
    assert search.correlations.max() > 0.8
    assert np.abs(predicted.mean() - targets[development].mean()) < 3


def test_the_choice_is_the_best_epoch_of_the_best_setting(search: MLPSearch) -> None:
    features, targets, development = data()
    assert search.correlations.shape == (8, 8)
    best = search.correlations[search.best_index, search.best_epoch - 1]
    assert best == search.correlations.max()
    predicted = search.model.predict(features[development])
    expected = np.corrcoef(predicted, targets[development])[0, 1]
    np.testing.assert_allclose(best, expected, rtol=0, atol=1e-5)


def test_the_best_epoch_may_be_an_early_one() -> None:
    # Development targets are those of training turned round: the better learnt, the worse.
    features, targets, _ = data(60)
    features, targets = np.tile(features, (2, 1)), np.concatenate([targets, -targets])
    development = np.arange(120) >= 60
    grid = MLPGrid((8,), (0.0,), (1,), (64,), scaled=True, epochs=12)
    search = search_mlp(features, targets, development, grid, seed=1, device="cpu")
    assert search.correlations[0, 0] > search.correlations[0, -1]
    predicted = search.model.predict(features[development])
    chosen = np.corrcoef(predicted, targets[development])[0, 1]
    np.testing.assert_allclose(chosen, search.correlations.max(), rtol=0, atol=1e-5)


def test_two_development_rows_suffice() -> None:
    """Their correlation is 1 or -1, and -1 is a result too."""
    features, targets, _ = data(20)
    development = np.arange(20) < 2
    frozen = MLPGrid((16,), (0.0,), (1,), (4,), scaled=True, epochs=1, learning_rate=0.0)
    correlations = [
        search_mlp(features, sign * targets, development, frozen, 1, device="cpu").correlations
        for sign in (1, -1)
    ]
    np.testing.assert_allclose(sorted(np.concatenate(correlations).ravel()), [-1, 1])


def test_numpy_predicts_what_torch_predicts(search: MLPSearch) -> None:
    features, *_ = data()
    ours = search.model
    assert search.model.standardisation is not None
    with torch.no_grad():
        scaled = torch.tensor(search.model.standardisation(features))
        expected = as_module(search)(scaled)[:, 0].numpy()
    np.testing.assert_allclose(ours.predict(features), expected, rtol=1e-5)
    alone = [ours.predict(row[None])[0] for row in features[:20]]
    np.testing.assert_allclose(alone, ours.predict(features[:20]), rtol=1e-12)
    assert ours.predict(features[:0]).shape == (0,)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_network_is_the_one_of_plain_modules(dropout: float) -> None:
    """Without dropout while it evaluates; weights are uniform within ±1/√(inputs)."""
    generator = torch.Generator().manual_seed(1)
    network = build_network(6, MLPSetting(8, dropout, 2, 24), generator).eval()
    weights = [parameter.detach() for parameter in network.parameters()]
    assert [tuple(each.shape) for each in weights] == [
        (24, 6),
        (24,),
        (24, 24),
        (24,),
        (1, 24),
        (1,),
    ]
    for each, inputs in zip(weights, (6, 6, 24, 24, 24, 24), strict=True):
        assert each.abs().max() <= inputs**-0.5
    assert weights[2].abs().max() > 0.95 * 24**-0.5
    features = torch.tensor(data()[0])
    hidden = torch.relu(torch.nn.functional.linear(features, weights[0], weights[1]))
    hidden = torch.relu(torch.nn.functional.linear(hidden, weights[2], weights[3]))
    expected = torch.nn.functional.linear(hidden, weights[4], weights[5])[:, 0]
    torch.testing.assert_close(network(features), expected)


def test_a_step_is_that_of_adam_by_hand() -> None:
    # All rows in one batch and one epoch: Adam's first step moves each weight by the learning
    # rate against the sign of its gradient.
    features, targets, development = data()
    grids = [
        MLPGrid((500,), (0.0,), (1,), (8,), True, epochs=1, learning_rate=rate)
        for rate in (1e-3, 0.0)
    ]
    moved, still = (
        search_mlp(features, targets, development, grid, 1, device="cpu").model.layers
        for grid in grids
    )
    steps = (moved[0][0] - still[0][0]) / 1e-3
    np.testing.assert_allclose(np.abs(steps), 1, atol=1e-3)


def test_dropout_keeps_the_mean_and_zeroes_its_fraction() -> None:
    generator = torch.Generator().manual_seed(1)
    network = build_network(1, MLPSetting(8, 0.3, 1, 20_000), generator)
    with torch.no_grad():
        for parameter, value in zip(network.parameters(), (1, 0, 1 / 20_000, 0), strict=True):
            parameter.fill_(value)
    dropped = float(network(torch.ones(1, 1)).detach())
    assert dropped != 1
    assert abs(dropped - 1) < 0.03
    active = dropped * 0.7 * 20_000  # each unit kept adds 1 / 0.7
    assert abs(active - round(active)) < 0.1


def test_a_diverged_setting_is_never_the_best() -> None:
    features, targets, development = data()
    # Where dropout multiplies units by 1000, squared errors are beyond float32.
    grid = MLPGrid((16,), (0.999, 0.0), (1,), (24,), scaled=False, epochs=5)
    search = search_mlp(features * np.float32(1e18), targets, development, grid, 1, device="cpu")
    assert (search.correlations[0] == -np.inf).all()
    assert search.best_index == 1
    assert np.isfinite(search.model.predict(features)).all()


def test_the_same_seed_gives_the_same_weights_and_leaves_the_global_state_alone() -> None:
    state = torch.get_rng_state()
    one, two, other = (search_mlp(*data(), ONE, seed, device="cpu") for seed in (1, 1, 2))
    assert torch.equal(state, torch.get_rng_state())
    flat = [
        np.concatenate([a.ravel() for ab in each.model.layers for a in ab]) for each in (one, two)
    ]
    assert (flat[0] == flat[1]).all()
    assert (one.correlations == two.correlations).all()
    assert (one.correlations != other.correlations).any()


def test_a_setting_does_not_depend_on_the_others(search: MLPSearch) -> None:
    last = MLPGrid((64,), (0.2,), (2,), (24,), True, epochs=8, learning_rate=1e-2)
    alone = search_mlp(*data(), last, seed=1, device="cpu")
    assert search.settings[-1] == alone.settings[0]
    assert (search.correlations[-1] == alone.correlations[0]).all()


def test_features_are_standardised_on_training_rows_alone(search: MLPSearch) -> None:
    features, _, development = data()
    assert search.model.standardisation is not None
    np.testing.assert_allclose(
        search.model.standardisation.mean, features[~development].mean(axis=0), rtol=1e-6
    )


def test_progress_counts_settings() -> None:
    progress: list[tuple[int, int]] = []
    grid = MLPGrid((64,), (0.0, 0.1), (1,), (4,), scaled=True, epochs=1)
    search_mlp(
        *data(), grid, 1, device="cpu", advance=lambda done, total: progress.append((done, total))
    )
    assert progress == [(1, 2), (2, 2)]


def test_the_paper_has_180_settings_of_30_epochs() -> None:
    assert len(set(MLP_GRIDS["paper"].settings())) == 180
    assert MLP_GRIDS["paper"].epochs == 30
    assert len(MLP_GRIDS["scaled"].settings()) == 6


def test_what_is_saved_is_what_was_trained(search: MLPSearch) -> None:
    features, *_ = data()
    ours = search.model
    again = MLP.from_arrays(ours.arrays())
    assert (again.predict(features) == ours.predict(features)).all()
    bare = MLP.from_arrays(MLP(search.model.layers).arrays())
    assert bare.standardisation is None


@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_an_unknown_device_is_refused(device: str) -> None:
    with pytest.raises(AdequaError, match=f'no device "{device}"'):
        search_mlp(*data(), ONE, 1, device=device)


def test_without_torch_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(AdequaError, match=r"pip install 'adequa\[train\]'"):
        search_mlp(*data(), ONE, 1)
