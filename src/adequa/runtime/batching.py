"""Batches of texts of similar length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError

Indices = npt.NDArray[np.intp]
Item = TypeVar("Item", bound=Hashable)

_CUTS = 64  # evenly spaced points where batches may end, which bounds the time to choose them


def batches_by_length(
    lengths: Sequence[int] | npt.NDArray[np.integer], *, max_tokens: int, max_count: int
) -> list[Indices]:
    """Return indices of the lengths in batches; every index is in exactly one.

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
    lengths: Sequence[int] | npt.NDArray[np.integer], *, max_tokens: int, overhead: int
) -> list[Indices]:
    """Return the batches of least cost: their tokens, with padding, and an overhead per batch.

    Few large batches have much padding, and many small ones have much overhead. The longest come
    first; no batch holds more than `max_tokens`, as in `batches_by_length`.

    >>> [batch.tolist() for batch in cheapest_batches([3, 9, 2, 3], max_tokens=99, overhead=4)]
    [[1], [0, 3, 2]]
    >>> [batch.tolist() for batch in cheapest_batches([3, 9, 2, 3], max_tokens=99, overhead=40)]
    [[1, 0, 3, 2]]
    """
    size = np.asarray(lengths, dtype=np.intp)
    order = np.argsort(-size, kind="stable")
    cuts = np.unique(np.linspace(0, len(order), min(len(order), _CUTS) + 1).astype(np.intp))
    # Dynamic programming over the cuts: the least cost up to each, and the cut before it.
    cost, previous = np.zeros(len(cuts)), np.zeros(len(cuts), dtype=np.intp)
    for end in range(1, len(cuts)):
        starts = cuts[:end]
        costs = cost[:end] + (cuts[end] - starts) * size[order[starts]] + overhead
        previous[end] = costs.argmin()
        cost[end] = costs[previous[end]]
    batches: list[Indices] = []
    end = len(cuts) - 1
    while end:
        batch = order[cuts[previous[end]] : cuts[end]]
        parts = batches_by_length(size[batch], max_tokens=max_tokens, max_count=len(batch))
        batches[:0] = [batch[part] for part in parts]
        end = previous[end]
    return batches


def equal_length_batches(
    lengths: Sequence[int] | npt.NDArray[np.integer], *, max_tokens: int
) -> list[Indices]:
    """Return indices of the lengths in batches of one length each, the longest first.

    Such batches have no padding. A batch holds no more than `max_tokens`, as in
    `batches_by_length`.

    >>> [batch.tolist() for batch in equal_length_batches([3, 9, 2, 3], max_tokens=99)]
    [[1], [0, 3], [2]]
    """
    size = np.asarray(lengths, dtype=np.intp)
    batches: list[Indices] = []
    for length in np.unique(size)[::-1]:
        rows = np.flatnonzero(size == length)
        count = max(max_tokens // max(int(length), 1), 1)
        batches += [rows[start : start + count] for start in range(0, len(rows), count)]
    return batches


def distinct(items: Sequence[Item]) -> tuple[list[Item], Indices]:
    """Return the different items by first appearance, and for each item its index among them.

    >>> texts, inverse = distinct(["b", "a", "b"])
    >>> texts, inverse.tolist()
    (['b', 'a'], [0, 1, 0])
    """
    first: dict[Item, int] = {}
    inverse = np.fromiter(
        (first.setdefault(item, len(first)) for item in items), dtype=np.intp, count=len(items)
    )
    return list(first), inverse


def paired(name: str, firsts: Sequence[str], seconds: Sequence[str]) -> list[tuple[str, str]]:
    """Zip the two sides of pairs after a check that they have the same length."""
    if len(firsts) != len(seconds):
        raise AdequaError(
            f"{name} reads sentences in pairs, but there are {len(firsts)} and {len(seconds)}."
        )
    return list(zip(firsts, seconds, strict=True))
