"""Logistic loss on preferences: the better of two should score higher (Guzmán et al., 2015, §3).

The probability that people prefer one to the other is taken to be sig(score of the one − score of
the other). All preferences on the outputs of one segment can be one item: each output is then read
once for all its comparisons, not once for each of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor
from torch.nn.functional import softplus

from adequa.segments import FloatArray, IntArray
from adequa.training.objectives.contract import Objective, Task
from adequa.training.transfer import to_device


@dataclass(frozen=True, slots=True, eq=False)
class PreferenceOrder(Objective):
    """Items of one or more preferences each, as flat arrays with the starts of every item."""

    pairs: IntArray  # of all items, one item after the other
    pair_starts: IntArray
    better: IntArray  # of all items, positions in `pairs`
    worse: IntArray
    weights: FloatArray  # how often that was said
    starts: IntArray  # of the items in the three columns above

    name: ClassVar[str] = "preferences"

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self, tokens: IntArray) -> IntArray:
        return np.maximum.reduceat(tokens[self.pairs], self.pair_starts[:-1])

    def task(self, items: IntArray) -> Task:
        items = np.sort(items)
        taken, edges = _ranges(self.pair_starts, items), _ranges(self.starts, items)
        better, worse = (np.searchsorted(taken, side[edges]) for side in (self.better, self.worse))
        weights = self.weights[edges]

        def loss(scores: Tensor) -> Tensor:
            ends = to_device(np.stack([better, worse]), scores.device)
            counts = to_device(weights.astype(np.float32), scores.device)
            return (softplus(scores[ends[1]] - scores[ends[0]]) * counts).sum()

        return Task(self.pairs[taken], loss, float(weights.sum()))


def preference_order(
    better: IntArray, worse: IntArray, groups: Sequence[Hashable]
) -> PreferenceOrder:
    """Preferences between pairs, given by their numbers, as items: one for each group.

    The same preference said twice in a group counts double and takes no more work.
    """
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(group, len(numbers)) for group in groups], np.intp)
    edges, counts = np.unique(np.column_stack([codes, better, worse]), axis=0, return_counts=True)
    ends = np.unique(
        np.concatenate([edges[:, [0, 1]], edges[:, [0, 2]]]), axis=0
    )  # the different pairs of each item
    width = int(ends[:, 1].max()) + 1 if len(ends) else 1
    keys = ends[:, 0] * width + ends[:, 1]
    return PreferenceOrder(
        pairs=ends[:, 1],
        pair_starts=np.searchsorted(ends[:, 0], np.arange(len(numbers) + 1)),
        better=np.searchsorted(keys, edges[:, 0] * width + edges[:, 1]),
        worse=np.searchsorted(keys, edges[:, 0] * width + edges[:, 2]),
        weights=counts.astype(np.float64),
        starts=np.searchsorted(edges[:, 0], np.arange(len(numbers) + 1)),
    )


def _ranges(starts: IntArray, items: IntArray) -> IntArray:
    """The positions of all items, from where each starts to where the next one does."""
    counts = starts[items + 1] - starts[items]
    behind = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(starts[items], counts) + behind)
