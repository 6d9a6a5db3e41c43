"""The training objectives of the pair regressor: ratings, distillation, preferences and damage.

An objective has items to draw batches from. Each item needs the scores of a few pairs of texts, and
a loss is computed from those scores:

ratings       squared error to the human score; Shimanaka et al. (2019) name no loss. Rows can have
              weights, and datasets output scales of their own
distillation  squared error to the score of a teacher, a larger metric or the mean of several
preferences   logistic loss: the better of two outputs should score higher (Guzmán et al., 2015, §3)
damage        hinge loss: a text should score higher than its damaged copy by a margin

The pairs of a step are split into micro-batches of similar length, so that there is little padding.
If all micro-batches together do not fit into memory, gradient caching is used: they are scored one
by one without gradients, the loss gives its derivative by each score, and every micro-batch is
scored again with gradients. The result is that of one large batch, also for losses that compare
scores; it costs one more forward pass, and only the dropout masks differ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import softplus

from adequa.encoders.device import to_device
from adequa.learned.pair.devices import explained_memory_errors
from adequa.learned.pair.network import PairInputs, PairNetwork
from adequa.learned.training import seed_torch
from adequa.runtime.batching import cheapest_batches
from adequa.segments import FloatArray, IntArray

Loss: TypeAlias = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Pairs to score, and the loss of their scores.

    The loss is a sum over items; dividing it by `weight` makes it a mean. The losses of several
    processes that each take a part of a batch therefore add up to the loss of the batch.
    """

    pairs: IntArray
    loss: Loss
    weight: float
    scales: IntArray | None = None  # output scale of each score, if not all are the network's own


class Objective(ABC):
    """Items to learn from, each with a few pairs of texts."""

    name: ClassVar[str]

    @abstractmethod
    def __len__(self) -> int:
        """Number of items."""

    @abstractmethod
    def lengths(self, tokens: IntArray) -> IntArray:
        """Length of the longest pair of each item, given the number of tokens of every pair."""

    @abstractmethod
    def task(self, items: IntArray) -> Task:
        """The pairs and the loss of these items."""


@dataclass(frozen=True, slots=True, eq=False)
class RatingRegression(Objective):
    """Squared error of the score; every item is one pair with its human rating."""

    pairs: IntArray
    targets: FloatArray
    weights: FloatArray | None = None  # of each item; None if all are 1
    scales: IntArray | None = None  # output scale of each item; None if all are 0, the network's

    name: ClassVar[str] = "ratings"

    def __len__(self) -> int:
        return len(self.pairs)

    def lengths(self, tokens: IntArray) -> IntArray:
        return tokens[self.pairs]

    def task(self, items: IntArray) -> Task:
        targets = self.targets[items].astype(np.float32)
        weights = None if self.weights is None else self.weights[items]

        def loss(scores: Tensor) -> Tensor:
            squares = (scores - to_device(targets, scores.device)).square()
            if weights is not None:
                squares = squares * to_device(weights.astype(np.float32), scores.device)
            return squares.sum()

        return Task(
            pairs=self.pairs[items],
            loss=loss,
            weight=float(len(items) if weights is None else weights.sum()),
            scales=None if self.scales is None else self.scales[items],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Distillation(RatingRegression):
    """Squared error to a teacher's score; the pairs need no human judgement."""

    name: ClassVar[str] = "distillation"


@dataclass(frozen=True, slots=True, eq=False)
class PreferenceOrder(Objective):
    """Logistic loss on preferences: P(a preferred to b) = sigmoid(score(a) - score(b)).

    An item holds one or more preferences. When all preferences on the outputs of a segment form one
    item, the network reads each output once for all its comparisons.
    """

    pairs: IntArray  # of all items, item after item
    pair_starts: IntArray  # first index in `pairs` of each item, then the total
    better: IntArray  # of all items: indices in `pairs`
    worse: IntArray
    weights: FloatArray  # number of times each preference was given
    starts: IntArray  # first index in `better`, `worse` and `weights` of each item, then the total

    name: ClassVar[str] = "preferences"

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self, tokens: IntArray) -> IntArray:
        return np.maximum.reduceat(tokens[self.pairs], self.pair_starts[:-1])

    def task(self, items: IntArray) -> Task:
        items = np.sort(items)
        pair_rows, rows = _ranges(self.pair_starts, items), _ranges(self.starts, items)
        better, worse = (
            np.searchsorted(pair_rows, side[rows]) for side in (self.better, self.worse)
        )
        weights = self.weights[rows]

        def loss(scores: Tensor) -> Tensor:
            sides = to_device(np.stack([better, worse]), scores.device)
            counts = to_device(weights.astype(np.float32), scores.device)
            return (self.losses(scores[sides[0]] - scores[sides[1]]) * counts).sum()

        return Task(self.pairs[pair_rows], loss, float(weights.sum()))

    def losses(self, differences: Tensor) -> Tensor:
        """Loss of each preference, given score(better) - score(worse)."""
        return softplus(-differences)


@dataclass(frozen=True, slots=True, eq=False)
class DamageOrder(PreferenceOrder):
    """Hinge loss on a text and its damaged copy, two pairs an item.

    Which of the two is better is certain, but not by how much. A difference above the margin adds
    no loss, so that the human ratings alone decide the scale of the scores. The margin is in
    standard deviations of the ratings.
    """

    margin: float = 0.3

    name: ClassVar[str] = "damage"

    def losses(self, differences: Tensor) -> Tensor:
        return (self.margin - differences).clamp(min=0)


def preference_order(better: IntArray, worse: IntArray, groups: npt.ArrayLike) -> PreferenceOrder:
    """Group preferences between pairs into items.

    `better` and `worse` are numbers of pairs; `groups` has one number or name per preference, and
    items follow the order in which groups first appear. A preference that appears twice in a group
    has a weight of two.
    """
    codes, count = _group_codes(groups)
    (item, better, worse), counts = _distinct_rows(codes, better, worse)
    width = int(max(better.max(), worse.max())) + 1 if len(item) else 1
    better, worse = item * width + better, item * width + worse
    pairs = np.unique(np.concatenate([better, worse]))  # the distinct pairs of each item
    return PreferenceOrder(
        pairs=pairs % width,
        pair_starts=np.searchsorted(pairs, np.arange(count + 1) * width),
        better=np.searchsorted(pairs, better),
        worse=np.searchsorted(pairs, worse),
        weights=counts.astype(np.float64),
        starts=np.searchsorted(item, np.arange(count + 1)),
    )


def damage_order(intact: IntArray, damaged: IntArray, margin: float) -> DamageOrder:
    """One item for each intact pair and its damaged copy, both given as numbers of pairs."""
    order = preference_order(intact, damaged, np.arange(len(intact)))
    columns = {each.name: getattr(order, each.name) for each in fields(order)}
    return DamageOrder(**columns, margin=margin)


def _group_codes(groups: npt.ArrayLike) -> tuple[IntArray, int]:
    """A code for each group in order of first appearance, and the number of groups."""
    _, first, codes = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes], len(first)


def _distinct_rows(*columns: IntArray) -> tuple[list[IntArray], IntArray]:
    """The distinct rows of a table given by its columns, sorted, and the count of each."""
    order = np.lexsort(columns[::-1])
    ordered = [column[order] for column in columns]
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([column[1:] != column[:-1] for column in ordered], axis=0)
    starts = np.flatnonzero(new)
    return [column[starts] for column in ordered], np.diff(starts, append=len(order))


def _ranges(starts: IntArray, items: IntArray) -> IntArray:
    """The concatenated index ranges of these items; each ends where the next item starts."""
    counts = starts[items + 1] - starts[items]
    offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(starts[items], counts) + offsets)


# Starting a micro-batch costs as much time as reading this many tokens: a constant on a CPU, and on
# a GPU inversely proportional to the size of the network (about 5,000 tokens for 85 million weights
# on an H200, where a step took 99 ms; 132 ms with half as many tokens and 137 ms with a quarter).
_START_COST_ON_CPU = 128
_START_COST_TIMES_WEIGHTS = 4e11


def accumulate_gradients(
    network: PairNetwork, inputs: PairInputs, pairs: IntArray, loss: Loss, seed: tuple[int, ...]
) -> Tensor:
    """Add the gradients of the loss of these pairs to `.grad`; return the loss.

    The seed decides the dropout masks.
    """
    batches = micro_batches(network, inputs, pairs)
    tokens = sum(inputs.padded_size(pairs[batch]) for batch in batches)
    if len(batches) > 1 and tokens > inputs.most_tokens:
        return _cached_gradients(network, inputs, pairs, batches, loss, seed=seed)
    seed_torch(*seed)
    # All micro-batches stay in memory until the backward pass.
    with explained_memory_errors(network.device, tokens):
        scores = torch.cat([inputs.scores(network, pairs[batch]) for batch in batches])
        order = np.argsort(np.concatenate(batches))
        value = loss(scores[to_device(order, network.device)])
        value.backward()  # type: ignore[no-untyped-call]
    return value.detach()


def micro_batches(network: PairNetwork, inputs: PairInputs, pairs: IntArray) -> list[IntArray]:
    """Split pairs into batches of similar length; returns indices in `pairs`."""
    start_cost = (
        _START_COST_ON_CPU
        if network.device.type == "cpu"
        else round(_START_COST_TIMES_WEIGHTS / network.inner_weights)
    )
    return cheapest_batches(
        inputs.lengths(pairs), max_tokens=inputs.most_tokens, overhead=start_cost
    )


def _cached_gradients(
    network: PairNetwork,
    inputs: PairInputs,
    pairs: IntArray,
    batches: list[IntArray],
    loss: Loss,
    *,
    seed: tuple[int, ...],
) -> Tensor:
    """Add the gradients of the loss to `.grad` in the memory of one micro-batch."""
    scores = torch.empty(len(pairs), device=network.device)
    with torch.no_grad():
        for number, batch in enumerate(batches):
            seed_torch(*seed, number)
            with explained_memory_errors(network.device, inputs.padded_size(pairs[batch])):
                scores[batch] = inputs.scores(network, pairs[batch])
    value = loss(scores.requires_grad_())
    value.backward()  # type: ignore[no-untyped-call]
    derivatives = scores.grad
    if derivatives is None:
        raise TypeError("a loss depends on the scores")
    for number, batch in enumerate(batches):
        seed_torch(*seed, number)  # the dropout mask of the first pass
        with explained_memory_errors(network.device, inputs.padded_size(pairs[batch])):
            again = inputs.scores(network, pairs[batch])
            (again * derivatives[batch]).sum().backward()  # type: ignore[no-untyped-call]
    return value.detach()
