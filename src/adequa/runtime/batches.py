"""Batches of sentences of similar length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError

Positions = npt.NDArray[np.intp]
Item = TypeVar("Item", bound=Hashable)

_CUTS = 64  # places where batches may end, evenly spread, which bounds the time to choose them


def batches_by_length(
    lengths: Sequence[int] | npt.NDArray[np.integer], *, max_tokens: int, max_count: int
) -> list[Positions]:
    """Positions of the lengths, cut into batches; every position is in exactly one.

    The longest come first, so that a batch that does not fit into memory shows at once. Padded to
    its longest, a batch holds no more than `max_tokens` tokens, except where a single sentence
    does, which then is a batch of its own.

    >>> [batch.tolist() for batch in batches_by_length([3, 9, 2, 3], max_tokens=9, max_count=2)]
    [[1], [0, 3], [2]]
    """
    if max_tokens < 1 or max_count < 1:
        raise AdequaError(
            f"A batch of at most {max_tokens} tokens and {max_count} sentences would hold none; "
            "both must be 1 or more."
        )
    size = np.asarray(lengths, dtype=np.intp)
    order = np.argsort(-size, kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = max(int(size[order[start]]), 1)
        count = max(min(max_tokens // longest, max_count), 1)
        batches.append(order[start : start + count])
        start += count
    return batches


def cheapest_batches(
    lengths: Sequence[int] | npt.NDArray[np.integer], *, max_tokens: int, each: int
) -> list[Positions]:
    """The batches that cost least, where one costs its tokens, padding included, and `each` more.

    Few large batches are padded much, many small ones begin often. The longest come first; no
    batch holds more than `max_tokens`, as in `batches_by_length`.

    >>> [batch.tolist() for batch in cheapest_batches([3, 9, 2, 3], max_tokens=99, each=4)]
    [[1], [0, 3, 2]]
    >>> [batch.tolist() for batch in cheapest_batches([3, 9, 2, 3], max_tokens=99, each=40)]
    [[1, 0, 3, 2]]
    """
    size = np.asarray(lengths, dtype=np.intp)
    order = np.argsort(-size, kind="stable")
    cuts = np.unique(np.linspace(0, len(order), min(len(order), _CUTS) + 1).astype(np.intp))
    cost, before = np.zeros(len(cuts)), np.zeros(len(cuts), dtype=np.intp)
    for end in range(1, len(cuts)):
        starts = cuts[:end]
        costs = cost[:end] + (cuts[end] - starts) * size[order[starts]] + each
        before[end] = costs.argmin()
        cost[end] = costs[before[end]]
    batches: list[Positions] = []
    end = len(cuts) - 1
    while end:
        some = order[cuts[before[end]] : cuts[end]]
        fitting = batches_by_length(size[some], max_tokens=max_tokens, max_count=len(some))
        batches[:0] = [some[batch] for batch in fitting]
        end = before[end]
    return batches


def batches_of_one_length(
    lengths: Sequence[int] | npt.NDArray[np.integer], *, max_tokens: int
) -> list[Positions]:
    """Positions of the lengths, cut into batches of one length each, the longest first.

    Nothing in such a batch is padded for the sake of another. A batch holds no more than
    `max_tokens`, as in `batches_by_length`.

    >>> [batch.tolist() for batch in batches_of_one_length([3, 9, 2, 3], max_tokens=99)]
    [[1], [0, 3], [2]]
    """
    size = np.asarray(lengths, dtype=np.intp)
    batches: list[Positions] = []
    for length in np.unique(size)[::-1]:
        of_length = np.flatnonzero(size == length)
        count = max(max_tokens // max(int(length), 1), 1)
        batches += [of_length[at : at + count] for at in range(0, len(of_length), count)]
    return batches


def distinct(items: Sequence[Item]) -> tuple[list[Item], Positions]:
    """The different items in the order of their first appearance, and where each item is in it.

    >>> texts, at = distinct(["b", "a", "b"])
    >>> texts, at.tolist()
    (['b', 'a'], [0, 1, 0])
    """
    first: dict[Item, int] = {}
    at = np.fromiter(
        (first.setdefault(item, len(first)) for item in items), dtype=np.intp, count=len(items)
    )
    return list(first), at
