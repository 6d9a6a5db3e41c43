"""Multiple references: one score from those of all references, and segments that share one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np

from adequa.segments import FloatArray, IntArray, Segments

# How the scores of a hypothesis with each of its references become one score.
Reduction: TypeAlias = Literal["best", "mean"]


def reduce_pairs(scores: FloatArray, segment: IntArray, reduction: Reduction) -> FloatArray:
    """Return the best or the mean score of each segment, from the scores of `Segments.pairs`.

    `segment` is the index of the segment of each pair; the pairs of a segment are in a row.
    `scores` has one row a pair; further axes stay as they are.

    >>> pairs = Segments(("a", "b"), (("x", "y"), ("z",))).pairs()
    >>> reduce_pairs(np.array([1.0, 3.0, 5.0]), pairs.segment, "best")
    array([3., 5.])
    >>> reduce_pairs(np.array([1.0, 3.0, 5.0]), pairs.segment, "mean")
    array([2., 5.])
    """
    starts = np.flatnonzero(np.diff(segment, prepend=-1))
    if reduction == "best":
        return np.asarray(np.maximum.reduceat(scores, starts))
    counts = np.diff([*starts, len(scores)])
    return np.asarray((np.add.reduceat(scores, starts).T / counts).T)


def reference_groups(segments: Segments) -> list[str]:
    """Return a group name for each segment; segments that share a reference share the group.

    Sharing is transitive: two segments may be connected through a third.

    >>> reference_groups(Segments(("a", "b", "c", "d"), (("x",), ("y",), ("y", "z"), ("z",))))
    ['x', 'y', 'y', 'y']
    """
    leader = reference_leaders(segments.references)
    return [leader[references[0]] for references in segments.references]


def reference_leaders(reference_sets: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Map every reference to one that represents its group (union-find).

    Two references are of one group where they occur in one set.

    >>> reference_leaders([("x",), ("y",), ("y", "z"), ("w", "z")])
    {'x': 'x', 'y': 'w', 'z': 'w', 'w': 'w'}
    """
    parent: dict[str, str] = {}

    def leader(reference: str) -> str:
        while parent[reference] != reference:
            parent[reference] = parent[parent[reference]]
            reference = parent[reference]
        return reference

    for references in dict.fromkeys(reference_sets):
        for reference in references:
            parent.setdefault(reference, reference)
            parent[leader(reference)] = leader(references[0])
    return {reference: leader(reference) for reference in parent}
