"""Training of ReVal's network: the settings, the pairs of trees, and the loss of a batch.

`PAPER` is what Gupta et al. (2015) give, with AdaGrad as in Tai et al. (2015), whose implementation
they used; `MODERN` agrees better with people on development data. Both minimise the divergence of
equation 3, and the epoch that does best on development data is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from adequa.encoders.device import to_device
from adequa.learned.reval.forest import Forest
from adequa.learned.reval.network import (
    Structure,
    TreeNetwork,
    TreeShape,
    compare_trees,
    compose_trees,
    kl_divergence,
    target_distributions,
)
from adequa.learned.training import Evaluation, Stage, Trial, isolated_randomness, train
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, IntArray

Optimiser: TypeAlias = Literal["adagrad", "adam"]
Criterion: TypeAlias = Callable[[FloatArray], float]  # of the predictions for development pairs


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """Settings of a training."""

    optimiser: Optimiser
    learning_rate: float
    batch: int  # pairs
    epochs: int
    penalty: float  # λ of L2; with Adam, decoupled weight decay (AdamW)
    # Fraction of the steps in which the rate rises; then it falls linearly to 0. None: constant.
    warm_up: float | None = None
    largest_gradient: float | None = None  # norm that gradients are clipped to
    table_rate: float = 0.1  # factor of the learning rate for word vectors that are tuned


PAPER = TreeSettings("adagrad", learning_rate=0.05, batch=25, epochs=10, penalty=1e-4)
MODERN = TreeSettings(
    "adam",
    learning_rate=1e-3,
    batch=32,
    epochs=4,
    penalty=0.01,
    warm_up=0.05,
    largest_gradient=5.0,
)

PRESETS: dict[str, tuple[TreeSettings, dict[str, Any]]] = {  # settings, and fields of TreeShape
    "paper": (PAPER, {}),
    "modern": (MODERN, {"dropout": 0.1, "word_dropout": 0.1}),
}


def preset_settings(preset: str, epochs: int | None = None) -> TreeSettings:
    """Return the settings of a preset, with another number of epochs if one is given."""
    settings, _ = PRESETS[preset]
    return settings if epochs is None else replace(settings, epochs=epochs)


def preset_shape(preset: str, dimension: int, structure: Structure) -> TreeShape:
    """Return the shape of a preset's network."""
    _, fields = PRESETS[preset]
    return TreeShape(dimension, structure=structure, **fields)


@dataclass(frozen=True, slots=True, eq=False)
class TreePairs:
    """Pairs of trees of one forest, and their human similarity from 1 to 5."""

    references: IntArray  # indices of trees
    translations: IntArray
    similarity: FloatArray

    def __len__(self) -> int:
        return len(self.similarity)


@dataclass(frozen=True, slots=True, eq=False)
class TreeData:
    """All trees with the vectors of their words, and the pairs to train and to choose on."""

    forest: Forest
    table: np.ndarray  # word vectors, in 16 or 32 bits
    training: TreePairs
    development: TreePairs


@dataclass(frozen=True, slots=True, eq=False)
class TrainedTrees:
    """The network after its best epoch, and the course of the training."""

    network: TreeNetwork
    table: np.ndarray | None  # word vectors, where they were tuned
    epoch: int  # the best, from 1
    criterion: float  # of that epoch
    predictions: FloatArray  # of that epoch, for the development pairs
    history: tuple[Mapping[str, float], ...]  # loss and criterion of each epoch


def train_trees(
    data: TreeData,
    shape: TreeShape,
    settings: TreeSettings,
    criterion: Criterion,
    *,
    tuned: bool = False,
    seed: int = 0,
    device: torch.device | None = None,
    progress: Progress = NO_PROGRESS,
) -> TrainedTrees:
    """Train for all epochs, and return the network of the epoch with the highest criterion."""
    device = device or torch.device("cpu")
    model = _TreeModel(
        TreeNetwork(shape, seed).to(device), to_device(data.table, device), tuned=tuned
    )
    batches = _TreeBatches(model, data, settings.batch, seed)

    def evaluate() -> Evaluation:
        predictions = predict(model.network, model.table, data.forest, data.development)
        value = criterion(predictions) if np.isfinite(predictions).all() else float("nan")
        return Evaluation(value, {"criterion": value})

    def evaluated(entry: Mapping[str, Any]) -> None:
        epoch, loss, value = entry["step"] // batches.per_epoch, entry["loss"], entry["criterion"]
        progress.status(f"epoch {epoch}, loss {loss:.4f}, agreement {value:.3f}")

    steps = settings.epochs * batches.per_epoch
    trial = Trial(
        steps=steps,
        optimizer=lambda: _optimizer(model, settings),
        gradients=batches.gradients,
        evaluate=evaluate,
        evaluate_after=range(batches.per_epoch, steps + 1, batches.per_epoch),
        learning_rate=lambda step: _learning_rate(step, steps, settings.warm_up),
        max_norm=settings.largest_gradient,
        advice="train with other settings, or with other word vectors",
    )
    with isolated_randomness(device):
        outcome = train(
            model,
            [Stage("the Tree-LSTM", (trial,), ties="first")],
            report=lambda state: progress.step(state.step, state.steps),
            evaluated=evaluated,
            note=progress.note,
        )
    return TrainedTrees(
        model.network,
        model.table.detach().cpu().numpy() if tuned else None,
        outcome.best_step // batches.per_epoch,
        outcome.best.criterion,
        predict(model.network, model.table, data.forest, data.development),
        tuple({key: entry[key] for key in ("loss", "criterion")} for entry in outcome.history),
    )


class _TreeModel(nn.Module):
    """All that is trained: the network, and the word vectors where they are tuned."""

    table: Tensor

    def __init__(self, network: TreeNetwork, table: Tensor, *, tuned: bool) -> None:
        super().__init__()
        self.network = network
        if tuned:
            self.table = nn.Parameter(table.float().clone())
        else:
            self.register_buffer("table", table)


class _TreeBatches:
    """Batches of training pairs, in an order drawn from the seed and the epoch.

    Dropout masks, too, depend on the seed and the epoch: this training is never resumed from a
    checkpoint.
    """

    def __init__(self, model: _TreeModel, data: TreeData, size: int, seed: int) -> None:
        self._model, self._data = model, data
        self._size, self._seed = size, seed
        self._targets = to_device(
            target_distributions(data.training.similarity), model.table.device
        )
        self._order: IntArray = np.arange(0)
        self.per_epoch = -(-len(data.training) // size)

    def gradients(self, step: int) -> tuple[Tensor, float]:
        """Compute the gradients of a step; returns its loss, and the pairs in it as the weight."""
        epoch, batch = divmod(step, self.per_epoch)
        if batch == 0:
            random = np.random.default_rng([self._seed, epoch + 1])
            torch.manual_seed(int(random.integers(1 << 31)))
            self._order = random.permutation(len(self._data.training))
        rows = self._order[batch * self._size : (batch + 1) * self._size]
        loss = kl_divergence(
            self._targets[to_device(rows, self._targets.device)], self._log_p(rows)
        )
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach(), len(rows)

    def _log_p(self, rows: IntArray) -> Tensor:
        """Return log p̂ of training pairs; a tree of more than one pair is composed once."""
        network, table, pairs = self._model.network, self._model.table, self._data.training
        both = np.concatenate([pairs.references[rows], pairs.translations[rows]])
        trees, indices = np.unique(both, return_inverse=True)
        levels = network.levels(self._data.forest.select(trees))
        return network(levels, table, to_device(indices.reshape(-1), table.device))  # type: ignore[no-any-return]


def _optimizer(model: _TreeModel, settings: TreeSettings) -> torch.optim.Optimizer:
    groups: list[dict[str, Any]] = [
        {
            "params": list(model.network.parameters()),
            "weight_decay": settings.penalty,
            "lr": settings.learning_rate,
        }
    ]
    if isinstance(model.table, nn.Parameter):
        rate = settings.learning_rate * settings.table_rate
        groups.append({"params": [model.table], "weight_decay": 0.0, "lr": rate})
    kind = torch.optim.Adagrad if settings.optimiser == "adagrad" else torch.optim.AdamW
    return kind(groups)


def _learning_rate(step: int, steps: int, warm_up: float | None) -> float:
    """Return the learning rate of a step as a fraction of the highest."""
    if warm_up is None:
        return 1.0
    rise = (step + 1) / max(warm_up * steps, 1)
    return max(min(rise, 1 - step / steps), 0.0)


def predict(network: TreeNetwork, table: Tensor, forest: Forest, pairs: TreePairs) -> FloatArray:
    """Return ŷ of pairs, from 1 to 5; every tree is composed once."""
    both = np.concatenate([pairs.references, pairs.translations])
    trees, indices = np.unique(both, return_inverse=True)
    h = compose_trees(network, table.detach(), forest.select(trees))
    h_ref, h_tra = np.split(indices.reshape(-1), 2)
    return compare_trees(network, h, h_ref, h_tra)
