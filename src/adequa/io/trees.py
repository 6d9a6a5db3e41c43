"""Trees as flat arrays: for every word the word that it hangs from, and where each tree starts.

Parents are positions in their own tree, from 0; -1 is the root. Tree i has the words from
`starts[i]` to `starts[i + 1]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.integer[Any]]
Parents: TypeAlias = npt.NDArray[np.int32]
Starts: TypeAlias = npt.NDArray[np.intp]

ROOT = -1  # the parent of a root

_STEPS = 6  # words of a circle in an error


def starts_of(lengths: Numbers) -> Starts:
    """Where trees of these lengths start, and where the last ends.

    >>> starts_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate([np.zeros(1, np.intp), np.cumsum(lengths, dtype=np.intp)])


@dataclass(frozen=True, slots=True)
class Fault:
    """Why parents make no tree, and at which word, counted through all segments."""

    at: int
    sentence: str


def first_fault(parents: Numbers, starts: Starts) -> Fault | None:
    """What is wrong with trees, of whatever origin; None where each has one root and no circle.

    >>> first_fault(np.array([1, 0, -1]), np.array([0, 3])).sentence
    'following the heads from word 1 leads in a circle: 1 → 2 → 1.'
    """
    lengths = np.diff(starts)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    numbers = np.arange(len(parents)) - starts[rows] + 1
    outside = np.flatnonzero((parents < ROOT) | (parents >= lengths[rows]))
    if len(outside):
        at = int(outside[0])
        return Fault(
            at,
            f"the head of word {numbers[at]} is {parents[at] + 1}, but the last word is "
            f"{lengths[rows[at]]}.",
        )
    return _of_roots(parents, starts, rows, numbers) or _of_circles(parents, starts, rows, numbers)


def _of_roots(parents: Numbers, starts: Starts, rows: Starts, numbers: Starts) -> Fault | None:
    roots = np.flatnonzero(parents == ROOT)
    counts = np.bincount(rows[roots], minlength=len(starts) - 1)
    several = np.flatnonzero(counts > 1)
    if len(several):
        first, second = (int(at) for at in roots[rows[roots] == several[0]][:2])
        return Fault(
            second,
            f"words {numbers[first]} and {numbers[second]} are both roots (HEAD 0), but a tree has "
            "one; let one hang from the other, or end a sentence between them.",
        )
    rootless = np.flatnonzero((counts == 0) & (np.diff(starts) > 0))
    if len(rootless):
        return Fault(int(starts[rootless[0]]), "no word is the root; one should have the HEAD 0.")
    return None


def _of_circles(parents: Numbers, starts: Starts, rows: Starts, numbers: Starts) -> Fault | None:
    up = np.where(parents == ROOT, np.arange(len(parents)), parents + starts[rows])
    far = up
    # Each round doubles the steps, so that in the end they are more than any tree has words.
    for _ in range(int(max(np.diff(starts), default=0)).bit_length()):
        far = far[far]
    circling = far[parents[far] != ROOT]
    if not len(circling):
        return None
    begin = at = int(circling.min())
    steps = [at]
    while (at := int(up[at])) != begin:
        steps.append(at)
    if len(steps) == 1:
        return Fault(begin, f"word {numbers[begin]} is its own head.")
    shown = [str(numbers[step]) for step in steps[:_STEPS]]
    closing = [*shown, *(["…"] if len(steps) > _STEPS else []), shown[0]]
    return Fault(
        begin,
        f"following the heads from word {shown[0]} leads in a circle: {' → '.join(closing)}.",
    )
