"""Several references: one score from several, and segments that belong together by sharing one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np

from adequa.segments import FloatArray, IntArray, Segments

OfSeveral: TypeAlias = Literal["best", "mean"]  # what counts where there are several references


def one_a_segment(scores: FloatArray, segments: Segments, of_several: OfSeveral) -> FloatArray:
    """The scores of segments from those of their hypotheses with each reference in turn.

    >>> texts = Segments(("a", "b"), (("x", "y"), ("z",)))
    >>> one_a_segment(np.array([1.0, 3.0, 5.0]), texts, "best")
    array([3., 5.])
    >>> one_a_segment(np.array([1.0, 3.0, 5.0]), texts, "mean")
    array([2., 5.])
    """
    counts = np.array([len(references) for references in segments.references])
    return reduced(scores, np.cumsum(counts) - counts, of_several)


def reduced(scores: FloatArray, starts: IntArray, of_several: OfSeveral) -> FloatArray:
    """One score for each run of scores, by where the runs start: the best of it, or the mean."""
    if of_several == "best":
        return np.asarray(np.maximum.reduceat(scores, starts))
    return np.asarray(np.add.reduceat(scores, starts) / np.diff([*starts, len(scores)]))


def reference_groups(segments: Segments) -> list[str]:
    """A name for the group of each segment: segments that share a reference are of one group.

    They may share it with a third segment only.

    >>> reference_groups(Segments(("a", "b", "c", "d"), (("x",), ("y",), ("y", "z"), ("z",))))
    ['x', 'y', 'y', 'y']
    """
    leader = reference_leaders(segments.references)
    return [leader[references[0]] for references in segments.references]


def reference_leaders(several: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Of every reference one that stands for its group: those that are together somewhere.

    >>> reference_leaders([("x",), ("y",), ("y", "z"), ("w", "z")])
    {'x': 'x', 'y': 'w', 'z': 'w', 'w': 'w'}
    """
    first: dict[str, str] = {}  # of each reference another one of its group, or itself

    def leader(reference: str) -> str:
        while first[reference] != reference:
            first[reference] = first[first[reference]]
            reference = first[reference]
        return reference

    for references in dict.fromkeys(several):
        for reference in references:
            first.setdefault(reference, reference)
            first[leader(reference)] = leader(references[0])
    return {reference: leader(reference) for reference in first}
