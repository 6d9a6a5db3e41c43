"""Batches of sentences of similar length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError

Positions = npt.NDArray[np.intp]
Item = TypeVar("Item", bound=Hashable)


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
