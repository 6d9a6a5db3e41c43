"""The steps of a pass over items: drawn at random, with items of similar length together."""

from __future__ import annotations

import numpy as np

from adequa.segments import IntArray


def shuffled_steps(
    lengths: IntArray, batch: int, pool: int, seed: tuple[int, ...]
) -> list[IntArray]:
    """The items of each step of one pass; every item is in exactly one.

    Items are shuffled, sorted by length so many batches at a time, and the batches shuffled
    again: little of a batch is padding, and which items meet in one still differs from pass to
    pass. The steps depend on the seed alone, so that a resumed training finds the same.

    >>> [step.tolist() for step in shuffled_steps(np.array([3, 9, 2, 8]), 2, 50, (0,))]
    [[0, 2], [1, 3]]
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(lengths))
    steps: list[IntArray] = []
    for start in range(0, len(order), batch * pool):
        some = order[start : start + batch * pool]
        some = some[np.argsort(-lengths[some], kind="stable")]
        steps += np.split(some, range(batch, len(some), batch))
    return [steps[at] for at in random.permutation(len(steps))]


def step_count(items: int, batch: int, epochs: float) -> int:
    """Steps of so many passes, the last of which may be a part.

    >>> step_count(10, 4, 1), step_count(10, 4, 2.4)
    (3, 7)
    """
    return max(round(-(-items // batch) * epochs), 1)
