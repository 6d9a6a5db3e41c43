"""The network of the pairwise ranker against its equations in PyTorch."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.learned.pairwise.network import (
    Cost,
    Features,
    NetworkShape,
    PairwiseNetwork,
    Triples,
    kendall,
    logistic,
    symmetric_logistic,
)

COSTS: dict[str, Cost] = {
    "logistic": logistic,
    "symmetric": symmetric_logistic,
    "kendall": kendall,
    "no ties": partial(kendall, tie_penalty=0.0),
}


def random_case(hidden: int, vector: int = 5, scores: int = 3) -> tuple[Any, ...]:
    random = np.random.default_rng(7)
    features = Features(
        random.normal(size=(12, vector)),
        random.normal(size=(12, scores)),
        random.normal(size=(4, vector)),
    )
    triples = Triples(*(random.integers(0, high, 9) for high in (12, 12, 4)))
    network = PairwiseNetwork.initialise(NetworkShape(vector, scores, hidden), seed=3)
    network.theta += 0.1 * random.normal(size=network.theta.shape)  # so that biases are not 0
    return network, features, triples, random.integers(0, 2, 9).astype(np.float64)


def equations_in_torch(network: PairwiseNetwork, features: Features, triples: Triples) -> Any:
    """z by the equations of §3.2 as they are written, with PyTorch's own gradients."""
    torch = pytest.importorskip("torch")
    parameters = {
        name: torch.tensor(value, requires_grad=True) for name, value in network.parameters.items()
    }

    def z(first: Any, second: Any) -> Any:
        x1, x2 = (torch.tensor(features.hypotheses[rows]) for rows in (first, second))
        xr = torch.tensor(features.references[triples.reference])
        psi = [torch.tensor(features.scores[rows]) for rows in (first, second)]
        if not network.shape.hidden:
            return torch.cat([x1, x2, xr, *psi], 1) @ parameters["wv"] + parameters["bv"]
        phi = [
            torch.tanh(torch.cat(vectors, 1) @ parameters[f"W{group}"].T + parameters[f"b{group}"])
            for group, vectors in (("12", (x1, x2)), ("1r", (x1, xr)), ("2r", (x2, xr)))
        ]
        return torch.cat([*phi, *psi], 1) @ parameters["wv"] + parameters["bv"]

    return parameters, z(triples.first, triples.second), z(triples.second, triples.first)


def cost_in_torch(name: str, z: Any, z_exchanged: Any, y: Any) -> Any:
    import torch

    if name in {"kendall", "no ties"}:
        delta = torch.sigmoid(z) - torch.sigmoid(z_exchanged)
        disagreement = y * torch.sigmoid(-100 * delta) + (1 - y) * torch.sigmoid(100 * delta)
        return (disagreement + (name == "kendall") * torch.exp(-100 * delta**2 / 2)).mean()
    logit = z if name == "logistic" else (z - z_exchanged) / 2
    return torch.nn.functional.binary_cross_entropy_with_logits(logit, y)


@pytest.mark.parametrize("hidden", [0, 1, 4])
@pytest.mark.parametrize("name", list(COSTS))
def test_costs_and_gradients_equal_those_of_pytorch(hidden: int, name: str) -> None:
    torch = pytest.importorskip("torch")
    from adequa.learned.pairwise.train import cost_gradient  # needs PyTorch

    network, features, triples, y = random_case(hidden)
    parameters, z, z_exchanged = equations_in_torch(network, features, triples)
    expected = cost_in_torch(name, z, z_exchanged, torch.tensor(y))
    expected.backward()
    mean_cost, gradient = cost_gradient(network, features, triples, y, COSTS[name])
    assert mean_cost == pytest.approx(expected.item(), abs=1e-12)
    flat = torch.cat([each.grad.reshape(-1) for each in parameters.values()]).numpy()
    np.testing.assert_allclose(gradient, flat, atol=1e-12)


@pytest.mark.parametrize("hidden", [0, 4])
def test_outputs_equal_the_equations(hidden: int) -> None:
    network, features, triples, _ = random_case(hidden)
    _, z, _ = equations_in_torch(network, features, triples)
    np.testing.assert_allclose(network.forward(features, triples).z, z.detach().numpy(), atol=1e-12)


@given(seed=st.integers(0, 1000), hidden=st.sampled_from([0, 2, 4]))
def test_exchanged_hypotheses_flip_the_sign_of_symmetric_margins(seed: int, hidden: int) -> None:
    random = np.random.default_rng(seed)
    features = Features(
        random.normal(size=(6, 3)), random.normal(size=(6, 2)), random.normal(size=(2, 3))
    )
    triples = Triples(*(random.integers(0, high, 5) for high in (6, 6, 2)))
    network = PairwiseNetwork.initialise(NetworkShape(3, 2, hidden), seed)
    margins = network.margins(features, triples, symmetric=True)
    exchanged = network.margins(features, triples.reversed, symmetric=True)
    np.testing.assert_array_equal(margins, -exchanged)


def test_glorot_bounds() -> None:
    network = PairwiseNetwork.initialise(NetworkShape(20, 5, hidden=4), seed=0)
    bound = np.sqrt(6 / (40 + 4))  # Glorot and Bengio (2010): 40 inputs, 4 outputs
    weights = network.parameters["W1r"]
    assert np.abs(weights).max() <= bound
    assert np.abs(weights).max() > 0.9 * bound
    assert not network.parameters["b1r"].any()
