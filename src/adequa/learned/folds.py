"""Folds and development splits that keep rows of one group together.

Rows that share a reference, or a source sentence, look alike; where one is trained on and the
other one held out, the held-out figure flatters. Rows of one group therefore never part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.segments import IntArray

Mask: TypeAlias = npt.NDArray[np.bool_]

_FEWEST_FOLDS = 2


def grouped_folds(groups: Sequence[str], folds: int, seed: int) -> IntArray:
    """The fold of each row, from 0: all rows of a group in one, and folds about equal in rows.

    Groups come in an order shuffled by the seed, the largest first, and each goes to the fold
    that has the fewest rows so far. Where every row is a group of its own, no two folds differ by
    more than one row.

    >>> grouped_folds(["a", "a", "b", "c", "c", "d"], folds=2, seed=1).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if folds < _FEWEST_FOLDS:
        raise AdequaError(f"Cross-validation needs at least 2 folds, not {folds}.")
    codes, sizes = _group_codes(groups)
    if sizes.size < folds:
        raise AdequaError(
            f"{folds} folds need at least {folds} groups of rows (rows of one reference are a "
            f"group), but there {'is' if sizes.size == 1 else 'are'} {sizes.size}; ask for fewer "
            "folds, or give more judgements."
        )
    fold_of_group = np.empty(sizes.size, np.intp)
    rows_in_fold = np.zeros(folds, np.intp)
    for group in _largest_first(sizes, seed):
        fold = int(np.argmin(rows_in_fold))
        fold_of_group[group] = fold
        rows_in_fold[fold] += sizes[group]
    return fold_of_group[codes]


def split_off(rows: int, share: float, seed: int, groups: Sequence[str] | None = None) -> Mask:
    """Which rows are held out for development: about the given share of them.

    Without groups, rows are drawn one by one, as published splits do. With groups, whole groups
    are drawn in an order shuffled by the seed, and those that would pass the share are left
    alone. At least one row or group lies on either side.

    >>> int(split_off(10, 0.2, seed=1).sum())
    2
    """
    if not 0 < share < 1:
        raise AdequaError(f"The share of rows to hold out lies between 0 and 1, but it is {share}.")
    if groups is not None and len(groups) != rows:
        raise AdequaError(f"Every row needs a group, but {rows} rows have {len(groups)} groups.")
    codes, sizes = (
        (np.arange(rows), np.ones(rows, np.intp)) if groups is None else _group_codes(groups)
    )
    if sizes.size < _FEWEST_FOLDS:
        raise AdequaError(
            "Holding out rows for development needs at least 2 groups of rows, but there "
            f"{'is' if sizes.size == 1 else 'are'} {sizes.size}; give more judgements."
        )
    return np.isin(codes, _drawn(sizes, max(1, round(share * rows)), seed))


def _drawn(sizes: IntArray, wanted: int, seed: int) -> list[int]:
    """Groups of about the wanted number of rows in all, at least one of them and never all."""
    drawn: list[int] = []
    for group in np.random.default_rng(seed).permutation(sizes.size).tolist():
        if sizes[group] <= wanted and len(drawn) < sizes.size - 1:
            drawn.append(group)
            wanted -= int(sizes[group])
    return drawn or [int(np.argmin(sizes))]


def _group_codes(groups: Sequence[str]) -> tuple[IntArray, IntArray]:
    """A number for the group of each row, and the number of rows of each group.

    Groups are numbered as they first come, so that their names do not matter.
    """
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(group, len(numbers)) for group in groups], np.intp)
    return codes, np.bincount(codes, minlength=len(numbers))


def _largest_first(sizes: IntArray, seed: int) -> list[int]:
    shuffled = np.random.default_rng(seed).permutation(sizes.size)
    ordered: list[int] = shuffled[np.argsort(-sizes[shuffled], kind="stable")].tolist()
    return ordered
