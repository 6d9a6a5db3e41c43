"""Training of the pairwise ranker: AdaGrad, small batches, weight decay, and early stopping.

After each epoch the strict Kendall's tau on validation data is taken; what is kept is the epoch
where it was highest, and of several such the latest (Guzmán et al., 2015, §4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from adequa.errors import AdequaError
from adequa.learned.pairwise.costs import Cost
from adequa.learned.pairwise.network import (
    PairwiseInputs,
    PairwiseNetwork,
    PairwiseShape,
    Triples,
    backward,
    forward,
)
from adequa.segments import FloatArray

_TINY = 1e-8  # beside which AdaGrad's divisor is never zero


@dataclass(frozen=True, slots=True)
class PairwiseSetting:
    """How a network is trained; the paper's values, but for the number of epochs.

    The paper goes on for up to 10,000 epochs; tau does not rise any more long before.
    """

    hidden: int = 4
    learning_rate: float = 0.01
    batch: int = 30
    decay: float = 1e-4  # of L2 regularisation
    epochs: int = 200  # at most, of each cost
    patience: int = 25  # epochs without a higher tau after which the training ends
    symmetric: bool = True


@dataclass(frozen=True, slots=True)
class Epoch:
    """How well an epoch went."""

    cost: int  # which of the costs, from 0
    epoch: int
    mean_cost: float
    tau: float


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseTrained:
    """The network of the best epoch, and all epochs."""

    network: PairwiseNetwork
    best: Epoch
    history: tuple[Epoch, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Examples:
    """What is learnt from: triples, and y of each."""

    inputs: PairwiseInputs
    triples: Triples
    y: FloatArray


class _AdaGrad:
    """Steps that shrink with the squares of all gradients so far (Duchi et al., 2011)."""

    def __init__(
        self, network: PairwiseNetwork, squares: FloatArray, setting: PairwiseSetting
    ) -> None:
        self.network = network
        self.squares = squares
        self.setting = setting

    def step(self, gradient: FloatArray) -> None:
        theta = self.network.theta
        gradient = gradient + self.setting.decay * self.network.weights * theta
        self.squares += gradient * gradient
        theta -= self.setting.learning_rate * gradient / (np.sqrt(self.squares) + _TINY)


def train_pairwise(
    inputs: PairwiseInputs,
    better_first: Triples,
    validate: Callable[[PairwiseNetwork], float],
    *,
    costs: Sequence[Cost],
    setting: PairwiseSetting,
    seed: int,
    told: Callable[[Epoch], None] = lambda _: None,
) -> PairwiseTrained:
    """Train on triples whose first hypothesis is the better one.

    A later cost goes on from the best network of the one before, with steps as small as they had
    become there: from full ones it would have to begin anew.
    """
    shape = PairwiseShape(inputs.hypotheses.shape[1], inputs.scores.shape[1], setting.hidden)
    random = np.random.default_rng([seed, 1])
    examples = _Examples(inputs, *_ordered(better_first, random, mixed=not setting.symmetric))
    network = PairwiseNetwork.begun(shape, seed)
    history: list[Epoch] = []
    best = Epoch(0, 0, np.inf, -np.inf)
    kept, squares = network.theta.copy(), np.zeros_like(network.theta)
    for number, cost in enumerate(costs):
        network = PairwiseNetwork(shape, kept.copy())
        optimiser, last_rise = _AdaGrad(network, squares.copy(), setting), 0
        for epoch in range(1, setting.epochs + 1):
            with np.errstate(over="ignore", invalid="ignore"):  # told below
                mean = _pass(optimiser, examples, cost, random)
            if not np.isfinite(network.theta).all():
                raise AdequaError(
                    f"Training ran away in epoch {epoch:,}: its weights are no numbers any more. A "
                    f"learning rate below {setting.learning_rate:g} may help."
                )
            history.append(Epoch(number, epoch, mean, validate(network)))
            told(history[-1])
            last_rise = epoch if history[-1].tau > best.tau else last_rise
            if history[-1].tau >= best.tau:
                best = history[-1]
                kept, squares = network.theta.copy(), optimiser.squares.copy()
            if epoch - last_rise >= setting.patience:
                break
    return PairwiseTrained(PairwiseNetwork(shape, kept), best, tuple(history))


def _ordered(
    better_first: Triples, random: np.random.Generator, *, mixed: bool
) -> tuple[Triples, FloatArray]:
    """Triples and y; where the order matters, about half of them come with the better one last."""
    y = random.integers(0, 2, len(better_first)) if mixed else np.ones(len(better_first), np.intp)
    other = better_first.reversed
    ordered = Triples(
        np.where(y, better_first.first, other.first),
        np.where(y, better_first.second, other.second),
        better_first.reference,
    )
    return ordered, y.astype(np.float64)


def _pass(
    optimiser: _AdaGrad, examples: _Examples, cost: Cost, random: np.random.Generator
) -> float:
    """One epoch, in place; returns the mean cost."""
    order, total = random.permutation(len(examples.y)), 0.0
    for start in range(0, len(order), optimiser.setting.batch):
        rows = order[start : start + optimiser.setting.batch]
        batch, y = examples.triples.take(rows), examples.y[rows]
        value, gradient = gradients(optimiser.network, examples.inputs, batch, y, cost)
        optimiser.step(gradient)
        total += value * len(rows)
    return total / max(1, len(order))


def gradients(
    network: PairwiseNetwork,
    inputs: PairwiseInputs,
    triples: Triples,
    y: FloatArray,
    cost: Cost,
) -> tuple[float, FloatArray]:
    """The mean cost of a batch, and its gradient."""
    both = Triples(
        np.concatenate([triples.first, triples.second]),
        np.concatenate([triples.second, triples.first]),
        np.concatenate([triples.reference, triples.reference]),
    )
    trace = forward(network, inputs, both)
    z, z_reversed = np.split(trace.z, 2)
    value, *slopes = cost(z, z_reversed, y)
    return value, backward(network, trace, np.concatenate(slopes))
