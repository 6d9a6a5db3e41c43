"""The network of the pairwise ranker against PyTorch, and its costs against values by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.learned.pairwise import costs as pairwise_costs
from adequa.learned.pairwise.costs import Cost, costs_of, kendall, logistic, symmetric_logistic
from adequa.learned.pairwise.inputs import Scaling
from adequa.learned.pairwise.network import (
    Features,
    NetworkShape,
    PairwiseNetwork,
    Triples,
)
from adequa.learned.pairwise.train import TrainingSettings, cost_gradient, train_network
from adequa.segments import FloatArray

COSTS: dict[str, Cost] = {
    "logistic": logistic,
    "symmetric": symmetric_logistic,
    "kendall": kendall,
    "no ties": partial(kendall, tie_penalty=0.0),
}


def _case(hidden: int, vector: int = 5, scores: int = 3) -> tuple[Any, ...]:
    random = np.random.default_rng(7)
    inputs = Features(
        random.normal(size=(12, vector)),
        random.normal(size=(12, scores)),
        random.normal(size=(4, vector)),
    )
    triples = Triples(*(random.integers(0, most, 9) for most in (12, 12, 4)))
    network = PairwiseNetwork.initialise(NetworkShape(vector, scores, hidden), seed=3)
    network.theta += 0.1 * random.normal(size=network.theta.shape)  # no bias is 0 any more
    return network, inputs, triples, random.integers(0, 2, 9).astype(np.float64)


def _in_torch(network: PairwiseNetwork, inputs: Features, triples: Triples) -> Any:
    """z by the equations of §3.2 as they are written, with PyTorch's own gradients."""
    torch = pytest.importorskip("torch")
    part = {
        name: torch.tensor(value, requires_grad=True) for name, value in network.parameters.items()
    }

    def z(one: Any, other: Any) -> Any:
        x1, x2 = (torch.tensor(inputs.hypotheses[rows]) for rows in (one, other))
        xr = torch.tensor(inputs.references[triples.reference])
        psi = [torch.tensor(inputs.scores[rows]) for rows in (one, other)]
        if not network.shape.hidden:
            return torch.cat([x1, x2, xr, *psi], 1) @ part["wv"] + part["bv"]
        phi = [
            torch.tanh(torch.cat(sides, 1) @ part[f"W{name}"].T + part[f"b{name}"])
            for name, sides in (("12", (x1, x2)), ("1r", (x1, xr)), ("2r", (x2, xr)))
        ]
        return torch.cat([*phi, *psi], 1) @ part["wv"] + part["bv"]

    return part, z(triples.first, triples.second), z(triples.second, triples.first)


def _torch_cost(name: str, z: Any, z_reversed: Any, y: Any) -> Any:
    import torch

    if name in {"kendall", "no ties"}:
        delta = torch.sigmoid(z) - torch.sigmoid(z_reversed)
        wrong = y * torch.sigmoid(-100 * delta) + (1 - y) * torch.sigmoid(100 * delta)
        return (wrong + (name == "kendall") * torch.exp(-100 * delta**2 / 2)).mean()
    logit = z if name == "logistic" else (z - z_reversed) / 2
    return torch.nn.functional.binary_cross_entropy_with_logits(logit, y)


@pytest.mark.parametrize("hidden", [0, 1, 4])
@pytest.mark.parametrize("name", list(COSTS))
def test_costs_and_gradients_are_those_of_pytorch(hidden: int, name: str) -> None:
    torch = pytest.importorskip("torch")
    network, inputs, triples, y = _case(hidden)
    part, z, z_reversed = _in_torch(network, inputs, triples)
    expected = _torch_cost(name, z, z_reversed, torch.tensor(y))
    expected.backward()
    value, gradient = cost_gradient(network, inputs, triples, y, COSTS[name])
    assert value == pytest.approx(expected.item(), abs=1e-12)
    flat = torch.cat([each.grad.reshape(-1) for each in part.values()]).numpy()
    np.testing.assert_allclose(gradient, flat, atol=1e-12)


@pytest.mark.parametrize("hidden", [0, 4])
def test_outputs_are_those_of_the_equations(hidden: int) -> None:
    network, inputs, triples, _ = _case(hidden)
    _, z, _ = _in_torch(network, inputs, triples)
    np.testing.assert_allclose(network.forward(inputs, triples).z, z.detach().numpy(), atol=1e-12)


@given(seed=st.integers(0, 1000), hidden=st.sampled_from([0, 2, 4]))
def test_a_symmetric_network_turns_its_sign_with_the_order(seed: int, hidden: int) -> None:
    random = np.random.default_rng(seed)
    inputs = Features(
        random.normal(size=(6, 3)), random.normal(size=(6, 2)), random.normal(size=(2, 3))
    )
    triples = Triples(*(random.integers(0, most, 5) for most in (6, 6, 2)))
    network = PairwiseNetwork.initialise(NetworkShape(3, 2, hidden), seed)
    there = network.margins(inputs, triples, symmetric=True)
    back = network.margins(inputs, triples.reversed, symmetric=True)
    np.testing.assert_array_equal(there, -back)


def test_glorot_bounds() -> None:
    network = PairwiseNetwork.initialise(NetworkShape(20, 5, hidden=4), seed=0)
    bound = np.sqrt(6 / (40 + 4))  # Glorot and Bengio (2010): 40 inputs, 4 outputs
    weights = network.parameters["W1r"]
    assert np.abs(weights).max() <= bound
    assert np.abs(weights).max() > 0.9 * bound
    assert not network.parameters["b1r"].any()


def test_the_kendall_cost_by_hand() -> None:
    # σ = 0.75 and σ' = 0.25, so that Δ = 0.5: sig(-50) and exp(-12.5).
    z = np.array([np.log(3)])
    right, _, _ = kendall(z, -z, np.array([1.0]))
    wrong, _, _ = kendall(z, -z, np.array([0.0]))
    assert right == pytest.approx(np.exp(-50) + np.exp(-12.5), rel=1e-6)
    assert wrong == pytest.approx(1 + np.exp(-12.5), rel=1e-6)
    tie, slope, other = kendall(np.zeros(1), np.zeros(1), np.array([1.0]))
    assert tie == 1.5  # half a disagreement, and the whole penalty of a tie
    assert (slope.item(), other.item()) == (-100 / 4 / 4, 100 / 4 / 4)


def test_losses_by_name() -> None:
    first, second = costs_of("logistic-kendall", symmetric=False, tie_penalty=0.25)
    assert first is logistic
    assert second(np.zeros(1), np.zeros(1), np.ones(1))[0] == 0.75  # half a disagreement
    assert costs_of("logistic", symmetric=True) == (symmetric_logistic,)
    assert len(costs_of("kendall", symmetric=True)) == 1


def _separable(count: int) -> tuple[Features, Triples]:
    """One score decides, the other is noise."""
    random = np.random.default_rng(0)
    scores = random.uniform(-1, 1, size=(2 * count, 2))
    one, other = np.arange(count), count + np.arange(count)
    swap = scores[one, 0] < scores[other, 0]
    triples = Triples(
        np.where(swap, other, one), np.where(swap, one, other), np.zeros(count, np.intp)
    )
    return Features(np.zeros((2 * count, 0)), scores, np.zeros((1, 0))), triples


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "kendall", "logistic-kendall"])
def test_what_can_be_learnt_is_learnt(loss: pairwise_costs.Loss, symmetric: bool) -> None:
    inputs, triples = _separable(400)
    setting = TrainingSettings(
        hidden=0, learning_rate=0.1, epochs=100, patience=100, symmetric=symmetric
    )

    def accuracy(network: PairwiseNetwork) -> float:
        # As a ranker decides: by both orders where the cost looks at both.
        both = symmetric or loss != "logistic"
        there = network.margins(inputs, triples, symmetric=both) > 0
        back = network.margins(inputs, triples.reversed, symmetric=both) < 0
        return float(np.mean([there, back]))

    trained = train_network(
        inputs,
        triples,
        accuracy,
        costs=costs_of(loss, symmetric=symmetric),
        settings=setting,
        seed=1,
    )
    assert trained.best.tau > 0.97


def test_the_flat_network_is_logistic_regression() -> None:
    sklearn = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(5)
    scores = random.normal(size=(600, 3))
    one, other = np.arange(300), 300 + np.arange(300)
    likely = 1 / (1 + np.exp(-(scores[one] - scores[other]) @ np.array([1.0, -0.5, 0.2])))
    wins = random.uniform(size=300) < likely
    triples = Triples(
        np.where(wins, one, other), np.where(wins, other, one), np.zeros(300, np.intp)
    )
    inputs = Features(np.zeros((600, 0)), scores, np.zeros((1, 0)))
    setting = TrainingSettings(
        hidden=0, learning_rate=0.1, batch=300, decay=0.0, epochs=3000, patience=3000
    )
    trained = train_network(
        inputs, triples, lambda _: 0.0, costs=[symmetric_logistic], settings=setting, seed=0
    )
    seen = scores[triples.first] - scores[triples.second]
    both, said = np.vstack([seen, -seen]), np.repeat([1, 0], 300)
    peer = sklearn.LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(both, said)
    psi1, psi2 = np.split(trained.network.parameters["wv"], 2)
    np.testing.assert_allclose((psi1 - psi2) / 2, peer.coef_[0], rtol=1e-3)


def test_of_equal_epochs_the_latest_is_kept() -> None:
    inputs, triples = _separable(30)
    taus = iter([0.1, 0.5, 0.3, 0.5, 0.2, 0.2, 0.2])
    setting = TrainingSettings(hidden=0, epochs=7, patience=5)
    trained = train_network(
        inputs, triples, lambda _: next(taus), costs=[logistic], settings=setting, seed=0
    )
    assert (trained.best.epoch, trained.best.tau) == (4, 0.5)
    assert len(trained.history) == 7  # 5 epochs after the second, which was the last rise


def test_a_second_cost_goes_on_with_steps_as_small_as_they_had_become() -> None:
    inputs, triples = _separable(60)
    setting = TrainingSettings(hidden=0, epochs=5, patience=5, learning_rate=0.1)

    def train(costs: int) -> PairwiseNetwork:
        taus = iter([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.0, 0.0, 0.0, 0.0])
        return train_network(
            inputs,
            triples,
            lambda _: next(taus),
            costs=[logistic] * costs,
            settings=setting,
            seed=0,
        ).network

    # The sixth epoch is the best one: the first of the second cost.
    moved = np.abs(train(2).theta - train(1).theta)
    assert 0 < moved.max() < 0.05  # a first step of AdaGrad would be 0.1 by itself


def test_the_same_seed_gives_the_same_network() -> None:
    inputs, triples = _separable(60)

    def theta(seed: int) -> FloatArray:
        setting = TrainingSettings(hidden=0, epochs=2)
        costs: list[Cost] = [logistic]
        return train_network(
            inputs, triples, lambda _: 0.0, costs=costs, settings=setting, seed=seed
        ).network.theta

    np.testing.assert_array_equal(theta(1), theta(1))
    assert (theta(1) != theta(2)).any()


def test_scaling_by_range_and_by_spread() -> None:
    features = np.array([[0.0, 2.0], [10.0, 2.0], [2.0, 2.0]])
    by_range = Scaling.fit(features)
    assert by_range.apply(features).tolist() == [[-1.0, 0.0], [1.0, 0.0], [-0.6, 0.0]]
    assert by_range.apply(np.array([[99.0, -9.0]])).tolist() == [[1.0, -1.0]]
    by_spread = Scaling.fit(features, "spread")
    np.testing.assert_allclose(by_spread.half_width[0], 4 * features[:, 0].std())
    assert Scaling.fit(np.zeros((0, 2))).apply(np.array([[0.5, 0.5]])).tolist() == [[0.5, 0.5]]
