"""Training of the pairwise ranker: early stopping, a second cost, and known solutions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from adequa.learned.pairwise.network import (
    Cost,
    Features,
    Loss,
    PairwiseNetwork,
    Triples,
    costs_of,
    logistic,
    symmetric_logistic,
)
from adequa.segments import FloatArray

pytest.importorskip("torch", reason="training needs PyTorch")

from adequa.learned.pairwise.train import (  # needs PyTorch
    TrainingSettings,
    cost_gradient,
    train_network,
)

BoolArray = npt.NDArray[np.bool_]


def better_first(first_is_better: BoolArray) -> Triples:
    """Triples of hypothesis i and hypothesis i + count, in the order of their quality."""
    count = len(first_is_better)
    first, second = np.arange(count), count + np.arange(count)
    return Triples(
        np.where(first_is_better, first, second),
        np.where(first_is_better, second, first),
        np.zeros(count, np.intp),
    )


def separable(count: int) -> tuple[Features, Triples]:
    """One score decides, the other is noise."""
    random = np.random.default_rng(0)
    scores = random.uniform(-1, 1, size=(2 * count, 2))
    first, second = np.arange(count), count + np.arange(count)
    triples = better_first(scores[first, 0] > scores[second, 0])
    return Features(np.zeros((2 * count, 0)), scores, np.zeros((1, 0))), triples


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "kendall", "logistic-kendall"])
def test_separable_preferences_are_learnt(loss: Loss, symmetric: bool) -> None:
    features, triples = separable(400)
    settings = TrainingSettings(
        hidden=0, learning_rate=0.1, epochs=100, patience=100, symmetric=symmetric
    )

    def accuracy(network: PairwiseNetwork) -> float:
        # As a ranker decides: by both orders where the cost looks at both.
        both = symmetric or loss != "logistic"
        in_order = network.margins(features, triples, symmetric=both) > 0
        exchanged = network.margins(features, triples.reversed, symmetric=both) < 0
        return float(np.mean([in_order, exchanged]))

    trained = train_network(
        features,
        triples,
        accuracy,
        costs=costs_of(loss, symmetric=symmetric),
        settings=settings,
        seed=1,
    )
    assert trained.best.tau > 0.97


def test_the_flat_network_is_logistic_regression() -> None:
    sklearn = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(5)
    scores = random.normal(size=(600, 3))
    first, second = np.arange(300), 300 + np.arange(300)
    logits = (scores[first] - scores[second]) @ np.array([1.0, -0.5, 0.2])
    triples = better_first(random.uniform(size=300) < 1 / (1 + np.exp(-logits)))
    features = Features(np.zeros((600, 0)), scores, np.zeros((1, 0)))
    settings = TrainingSettings(
        hidden=0, learning_rate=0.3, batch=300, decay=0.0, epochs=300, patience=300
    )
    trained = train_network(
        features, triples, lambda _: 0.0, costs=[symmetric_logistic], settings=settings, seed=0
    )
    differences = scores[triples.first] - scores[triples.second]
    both, y = np.vstack([differences, -differences]), np.repeat([1, 0], 300)
    peer = sklearn.LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(both, y)
    psi1, psi2 = np.split(trained.network.parameters["wv"], 2)
    np.testing.assert_allclose((psi1 - psi2) / 2, peer.coef_[0], rtol=1e-3)


def test_steps_are_those_of_adagrad_with_decay_of_the_weights_alone() -> None:
    features, triples = separable(20)
    settings = TrainingSettings(
        hidden=0, learning_rate=0.1, batch=20, decay=0.5, epochs=3, symmetric=True
    )
    rising = iter([0.1, 0.2, 0.3])
    trained = train_network(
        features, triples, lambda _: next(rising), costs=[logistic], settings=settings, seed=4
    )
    network = PairwiseNetwork.initialise(trained.network.shape, seed=4)
    squares = np.zeros_like(network.theta)
    for _ in range(3):  # Duchi et al. (2011)
        _, gradient = cost_gradient(network, features, triples, np.ones(20), logistic)
        gradient[:-1] += 0.5 * network.theta[:-1]  # all but bv
        squares += gradient**2
        network.theta -= 0.1 * gradient / (np.sqrt(squares) + 1e-8)
    np.testing.assert_allclose(trained.network.theta, network.theta, rtol=1e-12)


def test_the_latest_of_equally_good_epochs_is_kept() -> None:
    features, triples = separable(30)
    taus = iter([0.1, 0.5, 0.3, 0.5, 0.2, 0.2, 0.2])
    settings = TrainingSettings(hidden=0, epochs=7, patience=5)
    trained = train_network(
        features, triples, lambda _: next(taus), costs=[logistic], settings=settings, seed=0
    )
    assert (trained.best.epoch, trained.best.tau) == (4, 0.5)
    assert len(trained.history) == 7  # 5 epochs after the second, which was the last rise


def test_a_second_cost_resumes_the_optimiser_state() -> None:
    features, triples = separable(60)
    settings = TrainingSettings(hidden=0, epochs=5, patience=5, learning_rate=0.1)

    def train(costs: int) -> PairwiseNetwork:
        taus = iter([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.0, 0.0, 0.0, 0.0])
        return train_network(
            features,
            triples,
            lambda _: next(taus),
            costs=[logistic] * costs,
            settings=settings,
            seed=0,
        ).network

    # The sixth epoch is the best one: the first of the second cost.
    moved = np.abs(train(2).theta - train(1).theta)
    assert 0 < moved.max() < 0.05  # a first step of AdaGrad would be 0.1 by itself


def test_the_same_seed_gives_the_same_network() -> None:
    features, triples = separable(60)

    def theta(seed: int) -> FloatArray:
        settings = TrainingSettings(hidden=0, epochs=2)
        costs: list[Cost] = [logistic]
        return train_network(
            features, triples, lambda _: 0.0, costs=costs, settings=settings, seed=seed
        ).network.theta

    np.testing.assert_array_equal(theta(1), theta(1))
    assert (theta(1) != theta(2)).any()
