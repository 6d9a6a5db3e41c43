"""Logistic loss on preferences: the better of two should score higher (Guzmán et al., 2015, §3).

The probability that people prefer one to the other is taken to be sig(score of the one − score of
the other). All preferences on the outputs of one segment can be one item: each output is then read
once for all its comparisons, not once for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from torch import Tensor
from torch.nn.functional import softplus

from adequa.learned.device import to_device
from adequa.learned.pair.objectives.contract import Objective, Task
from adequa.segments import FloatArray, IntArray


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
            return (self.losses(scores[ends[0]] - scores[ends[1]]) * counts).sum()

        return Task(self.pairs[taken], loss, float(weights.sum()))

    def losses(self, leads: Tensor) -> Tensor:
        """The loss of each preference, from how far the better one is ahead."""
        return softplus(-leads)


def preference_order(better: IntArray, worse: IntArray, groups: npt.ArrayLike) -> PreferenceOrder:
    """Preferences between pairs, given by their numbers, as items: one for each group.

    Groups are numbers or names, one a preference; their items are in the order in which they come.
    The same preference said twice in a group counts double and takes no more work.
    """
    codes, count = _numbered(groups)
    (item, better, worse), counts = _distinct(codes, better, worse)
    width = int(max(better.max(), worse.max())) + 1 if len(item) else 1
    better, worse = item * width + better, item * width + worse
    ends = np.unique(np.concatenate([better, worse]))  # the different pairs of each item
    return PreferenceOrder(
        pairs=ends % width,
        pair_starts=np.searchsorted(ends, np.arange(count + 1) * width),
        better=np.searchsorted(ends, better),
        worse=np.searchsorted(ends, worse),
        weights=counts.astype(np.float64),
        starts=np.searchsorted(item, np.arange(count + 1)),
    )


def _numbered(groups: npt.ArrayLike) -> tuple[IntArray, int]:
    """A number for each group, in the order in which they come first; and how many there are."""
    _, first, codes = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes], len(first)


def _distinct(*columns: IntArray) -> tuple[list[IntArray], IntArray]:
    """The different rows of some columns, sorted, and how often each is there."""
    order = np.lexsort(columns[::-1])
    ordered = [column[order] for column in columns]
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([column[1:] != column[:-1] for column in ordered], axis=0)
    starts = np.flatnonzero(new)
    return [column[starts] for column in ordered], np.diff(starts, append=len(order))


def _ranges(starts: IntArray, items: IntArray) -> IntArray:
    """The positions of all items, from where each starts to where the next one does."""
    counts = starts[items + 1] - starts[items]
    behind = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(starts[items], counts) + behind)
