"""Training of the pairwise ranker: AdaGrad, small batches, weight decay, and early stopping.

After each epoch the strict Kendall's tau on validation data is computed. The epoch with the highest
tau is kept, the latest of several (Guzmán et al., 2015, §4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import nn

from adequa.errors import AdequaError
from adequa.learned.pairwise.network import Cost, Features, NetworkShape, PairwiseNetwork, Triples
from adequa.learned.training import DivergedError, Evaluation, Stage, Trial, train
from adequa.segments import FloatArray


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Settings of a training: the paper's values (§4.4) down to `decay`, and three of our own.

    The paper trains for up to 10,000 epochs and names no patience; tau stops rising long before.
    Its network may decide otherwise when the two hypotheses are exchanged, which is
    `symmetric=False`.
    """

    hidden: int = 4
    learning_rate: float = 0.01
    batch: int = 30
    decay: float = 1e-4  # λ of L2 regularisation
    epochs: int = 200  # at most, for each cost
    patience: int = 25  # epochs without a higher tau before the training ends
    symmetric: bool = True


@dataclass(frozen=True, slots=True)
class Epoch:
    """The result of an epoch."""

    cost: int  # index of the cost
    epoch: int  # of this cost, from 1
    mean_cost: float
    tau: float  # on validation data


@dataclass(frozen=True, slots=True, eq=False)
class TrainedNetwork:
    """The network of the best epoch, and all epochs."""

    network: PairwiseNetwork
    best: Epoch
    history: tuple[Epoch, ...]


def train_network(
    features: Features,
    better_first: Triples,
    validate: Callable[[PairwiseNetwork], float],
    *,
    costs: Sequence[Cost],
    settings: TrainingSettings,
    seed: int,
    epoch_done: Callable[[Epoch], None] = lambda _: None,
) -> TrainedNetwork:
    """Train a network on triples whose first hypothesis is the better one.

    `validate` returns the tau of a network. The second of two costs starts from the best network of
    the first one and from its optimiser state: AdaGrad's first steps would be so large that the
    training started anew.
    """
    learner = _Learner(features, better_first, settings, seed)
    names = [f"cost {number}" for number in range(1, len(costs) + 1)]
    stages = [
        Stage(name, (learner.trial(cost, validate),), resumes_best=name != names[0])
        for name, cost in zip(names, costs, strict=True)
    ]
    history: list[Epoch] = []

    def evaluated(entry: Mapping[str, Any]) -> None:
        epoch = entry["step"] // learner.batches
        history.append(Epoch(names.index(entry["stage"]), epoch, entry["loss"], entry["tau"]))
        epoch_done(history[-1])

    try:
        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            outcome = train(learner.parameters, stages, evaluated=evaluated)
    except DivergedError as error:
        raise learner.diverged() from error
    if outcome.diverged:
        raise learner.diverged()
    best = max(reversed(history), key=lambda epoch: epoch.tau)
    return TrainedNetwork(learner.network, best, tuple(history))


class _Parameters(nn.Module):
    """Theta as a parameter of PyTorch, in the memory of the NumPy array."""

    def __init__(self, theta: FloatArray) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.from_numpy(theta))


class _AdaGrad:
    """AdaGrad (Duchi et al., 2011) in NumPy.

    A step of `torch.optim.Adagrad` takes about 100 µs, longer than the gradient of a flat network
    for a batch of 30 triples.
    """

    def __init__(self, theta: nn.Parameter, learning_rate: float) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": [theta], "lr": learning_rate}]
        self._theta = theta
        self._values = theta.detach().numpy()  # the same memory
        self._squares = np.zeros(theta.shape)

    def step(self) -> None:
        """Divide each step by the root of the sum of all squared gradients so far."""
        if self._theta.grad is None:
            raise TypeError("a step needs a gradient")
        gradient = self._theta.grad.numpy()
        self._squares += gradient * gradient
        self._values -= self.param_groups[0]["lr"] * gradient / (np.sqrt(self._squares) + 1e-8)

    def state_dict(self) -> dict[str, Any]:
        """Return the sums of squares."""
        return {"state": {0: {"sum": torch.from_numpy(self._squares)}}}

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Restore the sums of squares."""
        self._squares[:] = state_dict["state"][0]["sum"].numpy()


class _Learner:
    """A network in training, and the order of its examples."""

    def __init__(
        self, features: Features, better_first: Triples, settings: TrainingSettings, seed: int
    ) -> None:
        self.features = features
        self.settings = settings
        # One stream for all epochs: this training is short and never resumed from a checkpoint.
        self.random = np.random.default_rng([seed, 1])
        self.triples, self.y = better_first, np.ones(len(better_first))
        if not settings.symmetric:
            self.triples, self.y = _randomly_ordered(better_first, self.random)
        vector, scores = features.hypotheses.shape[1], features.scores.shape[1]
        shape = NetworkShape(vector, scores, settings.hidden)
        self.network = PairwiseNetwork.initialise(shape, seed)
        self.decay = settings.decay * self.network.weight_mask
        self.parameters = _Parameters(self.network.theta)
        self.batches = -(-len(self.y) // settings.batch)  # in an epoch
        self.epoch = 0
        self.order = np.arange(len(self.y))

    def trial(self, cost: Cost, validate: Callable[[PairwiseNetwork], float]) -> Trial:
        """Return the training by one cost."""
        settings = self.settings
        steps = settings.epochs * self.batches

        def evaluate() -> Evaluation:
            if not np.isfinite(self.network.theta).all():
                return Evaluation(np.nan)
            tau = validate(self.network)
            return Evaluation(tau, {"tau": tau})

        return Trial(
            steps=steps,
            optimizer=lambda: _AdaGrad(self.parameters.theta, settings.learning_rate),
            gradients=lambda step: self.gradients(cost, step),
            evaluate=evaluate,
            evaluate_after=range(self.batches, steps + 1, self.batches),
            patience=settings.patience,
        )

    def gradients(self, cost: Cost, step: int) -> tuple[float, float]:
        """Compute the gradient of a batch; return its mean cost and its number of triples."""
        index = step % self.batches
        if not index:
            self.epoch = step // self.batches + 1
            self.order = self.random.permutation(len(self.y))
        rows = self.order[index * self.settings.batch : (index + 1) * self.settings.batch]
        mean_cost, gradient = cost_gradient(
            self.network, self.features, self.triples.select(rows), self.y[rows], cost
        )
        gradient += self.decay * self.network.theta
        self.parameters.theta.grad = torch.from_numpy(gradient)
        return mean_cost, len(rows)

    def diverged(self) -> AdequaError:
        """Return the error of a training whose weights are not finite."""
        return AdequaError(
            f"Training ran away in epoch {self.epoch:,}: its weights are no numbers any more. A "
            f"learning rate below {self.settings.learning_rate:g} may help."
        )


def _randomly_ordered(
    better_first: Triples, random: np.random.Generator
) -> tuple[Triples, FloatArray]:
    """Exchange the hypotheses of about half the triples; return the triples and y."""
    y = random.integers(0, 2, len(better_first))
    exchanged = better_first.reversed
    triples = Triples(
        np.where(y, better_first.first, exchanged.first),
        np.where(y, better_first.second, exchanged.second),
        better_first.reference,
    )
    return triples, y.astype(np.float64)


def cost_gradient(
    network: PairwiseNetwork, features: Features, triples: Triples, y: FloatArray, cost: Cost
) -> tuple[float, FloatArray]:
    """Return the mean cost of a batch, and its gradient in theta."""
    hypotheses = np.concatenate([triples.first, triples.second])
    batch = Features(
        features.hypotheses[hypotheses],
        features.scores[hypotheses],
        features.references[triples.reference],
    )
    both = _both_orders(len(triples))
    activations = network.forward(batch, both)
    z, z_exchanged = activations.z[: len(y)], activations.z[len(y) :]
    mean_cost, slopes, slopes_exchanged = cost(z, z_exchanged, y)
    slopes = np.concatenate([slopes, slopes_exchanged])
    return mean_cost, network.backward(batch, both, activations, slopes)


@cache
def _both_orders(count: int) -> Triples:
    """Triples of a batch in both orders: hypothesis i against i + count, by reference i."""
    first, second = np.arange(count), np.arange(count, 2 * count)
    return Triples(
        np.concatenate([first, second]),
        np.concatenate([second, first]),
        np.concatenate([first, first]),
    )
