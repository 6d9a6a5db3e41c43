"""Training of the Tree-LSTM: pairs of trees, the settings, and the epochs.

`PAPER` is what Gupta et al. (2015) give, with AdaGrad as in Tai et al. (2015), whose implementation
they used; `MODERN` is what development data prefer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import torch
from torch import Tensor, nn

from adequa.errors import AdequaError
from adequa.learned.device import to_device
from adequa.learned.reval.forest import Forest
from adequa.learned.reval.network import (
    Structure,
    TreeNetwork,
    TreeShape,
    expected_similarity,
    kl_divergence,
    target_distributions,
)
from adequa.learned.training import isolated_randomness
from adequa.runtime.batching import batches_by_length
from adequa.segments import FloatArray, IntArray

Optimiser: TypeAlias = Literal["adagrad", "adam"]
Criterion: TypeAlias = Callable[[FloatArray], float]

_TREES, _NODES = 256, 1 << 14  # composed at once when nothing is learnt
_COMPARED = 8192  # pairs


@dataclass(frozen=True, slots=True)
class TreeSetting:
    """How the network is trained."""

    optimiser: Optimiser
    learning_rate: float
    batch: int  # pairs
    epochs: int
    penalty: float  # λ of L2; with Adam, decay apart from the gradient (AdamW)
    # Share of the steps in which the rate rises; then it falls evenly to 0. None: it stays.
    warm_up: float | None = None
    largest_gradient: float | None = None  # norm to which longer ones are cut
    table_rate: float = 0.1  # of word vectors that are tuned, times the learning rate

    def check(self) -> None:
        """Raise where a value makes no sense."""
        if self.optimiser not in get_args(Optimiser):
            raise AdequaError(f'optimiser is adagrad or adam, not "{self.optimiser}".')
        if min(self.batch, self.epochs) < 1:
            raise AdequaError("A training has 1 or more pairs a batch, and 1 or more epochs.")
        if not self.learning_rate > 0 or not self.penalty >= 0:
            raise AdequaError("The learning rate is above 0, and the penalty 0 or more.")


PAPER = TreeSetting("adagrad", learning_rate=0.05, batch=25, epochs=10, penalty=1e-4)
MODERN = TreeSetting(
    "adam",
    learning_rate=1e-3,
    batch=32,
    epochs=4,
    penalty=0.01,
    warm_up=0.05,
    largest_gradient=5.0,
)


PRESETS: dict[str, tuple[TreeSetting, dict[str, Any]]] = {  # with what the network has besides
    "paper": (PAPER, {}),
    "modern": (MODERN, {"dropout": 0.1, "word_dropout": 0.1}),
}


def setting_of(preset: str, epochs: int | None = None) -> TreeSetting:
    """The settings of a name, with another number of epochs where one is given."""
    setting, _ = PRESETS[preset]
    return setting if epochs is None else replace(setting, epochs=epochs)


def shape_of(preset: str, dimension: int, structure: Structure) -> TreeShape:
    """The network that goes with the settings of a name."""
    _, more = PRESETS[preset]
    return TreeShape(dimension, structure=structure, **more)


@dataclass(frozen=True, slots=True, eq=False)
class TreePairs:
    """Pairs of trees of one forest, and how similar people find them, from 1 to 5."""

    references: IntArray  # trees
    translations: IntArray
    similarity: FloatArray

    def __len__(self) -> int:
        return len(self.similarity)


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The network after its best epoch, and what was seen on the way."""

    network: TreeNetwork
    table: np.ndarray | None  # word vectors, where they were tuned
    epoch: int  # the best, from 1
    criterion: float  # of that epoch
    predictions: FloatArray  # for the development pairs, after that epoch
    history: tuple[Mapping[str, float], ...]  # loss and criterion of each epoch


@dataclass(frozen=True, slots=True, eq=False)
class TreeData:
    """All trees with the vectors of their words; what is learnt, and what it is chosen on."""

    forest: Forest
    table: np.ndarray  # of word vectors, in 16 or 32 bits
    learnt: TreePairs
    development: TreePairs


@dataclass(frozen=True, slots=True)
class Report:
    """Where training reports to."""

    steps: Callable[[int, int], None] = lambda *_: None  # done, and in all
    told: Callable[[str], None] = lambda _: None


def train_trees(
    data: TreeData,
    shape: TreeShape,
    setting: TreeSetting,
    criterion: Criterion,
    *,
    tuned: bool = False,
    seed: int = 0,
    device: torch.device | None = None,
    report: Report | None = None,
) -> Trained:
    """Train for all epochs, and keep the one whose predictions the criterion likes best."""
    setting.check()
    where = device or torch.device("cpu")
    told = report or Report()
    network = TreeNetwork(shape, seed).to(where)
    table = to_device(data.table, where)
    own = nn.Parameter(table.float()) if tuned else None
    table = table if own is None else own
    steps = _Steps(network, own, setting, len(data.learnt), told)
    best: Trained | None = None
    history: list[dict[str, float]] = []
    for epoch in range(1, setting.epochs + 1):
        with isolated_randomness(where):
            loss = _epoch(network, table, data, steps, np.random.default_rng([seed, epoch]))
        predictions = predicted(network, table.detach(), data.forest, data.development)
        figure = criterion(predictions)
        history.append({"loss": loss, "criterion": figure})
        told.told(f"epoch {epoch}, loss {loss:.4f}, agreement {figure:.3f}")
        if best is None or figure > best.criterion:
            tables = table.detach().cpu().numpy().copy() if tuned else None
            best = Trained(deepcopy(network), tables, epoch, figure, predictions, ())
    if best is None:
        raise TypeError("a setting has an epoch at least")
    return replace(best, history=tuple(history))


class _Steps:
    """The optimiser with its schedule, and how far it is."""

    def __init__(
        self,
        network: TreeNetwork,
        table: nn.Parameter | None,
        setting: TreeSetting,
        pairs: int,
        report: Report,
    ) -> None:
        self._setting, self._report = setting, report
        self.in_all = setting.epochs * -(-pairs // setting.batch)
        self.done = 0
        weights = list(network.parameters())
        self._learnt = weights if table is None else [*weights, table]
        groups: list[dict[str, Any]] = [
            {"params": weights, "weight_decay": setting.penalty, "lr": setting.learning_rate}
        ]
        if table is not None:
            rate = setting.learning_rate * setting.table_rate
            groups.append({"params": [table], "weight_decay": 0.0, "lr": rate})
        kind = torch.optim.Adagrad if setting.optimiser == "adagrad" else torch.optim.AdamW
        self.optimiser: torch.optim.Optimizer = kind(groups)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(self.optimiser, self._rate)

    @property
    def batch(self) -> int:
        return self._setting.batch

    def _rate(self, step: int) -> float:
        """The learning rate of a step, as a share of the highest."""
        rising = self._setting.warm_up
        if rising is None:
            return 1.0
        up = (step + 1) / max(rising * self.in_all, 1)
        return max(min(up, 1 - step / self.in_all), 0.0)

    def step(self, loss: Tensor) -> None:
        """One step down the loss."""
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self._setting.largest_gradient is not None:
            nn.utils.clip_grad_norm_(self._learnt, self._setting.largest_gradient)
        self.optimiser.step()
        self._schedule.step()
        self.done += 1
        self._report.steps(self.done, self.in_all)


def _epoch(
    network: TreeNetwork,
    table: Tensor,
    data: TreeData,
    steps: _Steps,
    draw: np.random.Generator,
) -> float:
    """One pass over all pairs in a drawn order; returns the mean loss, without the penalty."""
    network.train()
    torch.manual_seed(int(draw.integers(1 << 31)))
    p = to_device(target_distributions(data.learnt.similarity), table.device)
    order = draw.permutation(len(data.learnt))
    losses = []
    for begin in range(0, len(order), steps.batch):
        rows = order[begin : begin + steps.batch]
        log_p = _log_p(network, table, data.forest, data.learnt, rows)
        loss = kl_divergence(p[to_device(rows, table.device)], log_p)
        steps.step(loss)
        losses.append(loss.detach() * len(rows))
    return float(torch.stack(losses).sum()) / len(order)


def _log_p(
    network: TreeNetwork, table: Tensor, forest: Forest, pairs: TreePairs, rows: IntArray
) -> Tensor:
    """log p̂ of some pairs; a tree that is in several of them is composed once."""
    both = np.concatenate([pairs.references[rows], pairs.translations[rows]])
    trees, at = np.unique(both, return_inverse=True)
    h = network.compose(network.levels(forest.select(trees)), table)
    h_ref, h_tra = h.index_select(0, to_device(at.reshape(-1), table.device)).chunk(2)
    return network.compare(h_ref, h_tra)


def predicted(network: TreeNetwork, table: Tensor, forest: Forest, pairs: TreePairs) -> FloatArray:
    """ŷ of pairs, from 1 to 5; every tree is composed once."""
    both = np.concatenate([pairs.references, pairs.translations])
    trees, at = np.unique(both, return_inverse=True)
    h = composed(network, table, forest.select(trees))
    h_ref, h_tra = np.split(at.reshape(-1), 2)
    return compared(network, h, h_ref, h_tra)


def composed(network: TreeNetwork, table: Tensor, forest: Forest) -> Tensor:
    """h of the roots of all trees, those of similar length together."""
    network.eval()
    h = torch.empty(len(forest), network.shape.memory, device=table.device)
    with torch.no_grad():
        for trees in batches_by_length(forest.lengths, max_tokens=_NODES, max_count=_TREES):
            order = network.levels(forest.select(trees))
            h[to_device(trees, table.device)] = network.compose(order, table)
    return h


def compared(network: TreeNetwork, h: Tensor, h_ref: IntArray, h_tra: IntArray) -> FloatArray:
    """ŷ of pairs of rows of h."""
    network.eval()
    found = []
    with torch.no_grad():
        for begin in range(0, len(h_ref), _COMPARED):
            some = slice(begin, begin + _COMPARED)
            first, second = (h[to_device(side[some], h.device)] for side in (h_ref, h_tra))
            found.append(expected_similarity(network.compare(first, second)).double().cpu().numpy())
    return np.concatenate([np.empty(0), *found])
