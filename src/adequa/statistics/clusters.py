"""Ranks of metrics, or systems, that say which of them are told apart by significance tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError, nearest
from adequa.segments import FloatArray, IntArray

BoolArray: TypeAlias = npt.NDArray[np.bool_]


def ranks(
    statistic: FloatArray, p_values: FloatArray, alpha: float = 0.05, rule: str = "greedy"
) -> IntArray:
    """The rank of each metric, from 1, where those of one rank are not told apart.

    `p_values[a, b]` says how likely a's lead over b is by chance; a is significantly better where
    that is at most `alpha`, and NaN never is. Metrics are taken in descending order of `statistic`;
    those without a value (NaN) share the rank after all others. The literature has two rules:

    - `greedy`, of the WMT metrics tasks since 2021 (Freitag et al., 2021, Results of the WMT21
      Metrics Shared Task): a new rank starts at the first metric that any metric of the current
      rank is significantly better than.
    - `separated`, of the WMT translation tasks (Bojar et al., 2013, Findings of the 2013 Workshop
      on Statistical Machine Translation): a new rank starts where everything above is
      significantly better than everything below. It never has more ranks than `greedy`.

    Below, only the first and the last metric are told apart.

    >>> p = np.array([[np.nan, 0.3, 0.01], [0.7, np.nan, 0.2], [0.99, 0.8, np.nan]])
    >>> ranks(np.array([0.9, 0.8, 0.7]), p)
    array([1, 1, 2])
    >>> ranks(np.array([0.9, 0.8, 0.7]), p, rule="separated")
    array([1, 1, 1])
    """
    statistic = np.asarray(statistic, dtype=np.float64)
    _check(statistic, p_values, alpha, rule)
    known = int(np.count_nonzero(~np.isnan(statistic)))
    order = np.argsort(-statistic, kind="stable")  # NaN goes last
    best = order[:known]
    starts = RULES[rule](p_values[np.ix_(best, best)] <= alpha)
    found = np.empty(len(statistic), dtype=np.intp)
    found[best] = np.cumsum(starts) + 1
    found[order[known:]] = np.count_nonzero(starts) + (2 if known else 1)
    return found


def _greedy(better: BoolArray) -> BoolArray:
    """Where a new rank starts, in a matrix of who is significantly better, best first."""
    starts = np.zeros(len(better), dtype=np.bool_)
    first = 0
    for row in range(len(better)):
        if better[first:row, row].any():
            starts[row] = True
            first = row
    return starts


def _separated(better: BoolArray) -> BoolArray:
    """The same, where everything above has to be better than everything below."""
    return np.array(
        [row > 0 and better[:row, row:].all() for row in range(len(better))], dtype=np.bool_
    )


RULES: Mapping[str, Callable[[BoolArray], BoolArray]] = MappingProxyType(
    {"greedy": _greedy, "separated": _separated}
)


def _check(statistic: FloatArray, p_values: FloatArray, alpha: float, rule: str) -> None:
    if rule not in RULES:
        raise AdequaError(
            f'There is no rule "{rule}" for ranks; it is one of {", ".join(RULES)}.'
            + nearest(rule, RULES)
        )
    if not 0 < alpha < 1:
        raise AdequaError(
            f"The level of significance is a number between 0 and 1, such as 0.05, not {alpha}."
        )
    if p_values.shape != (len(statistic), len(statistic)):
        raise AdequaError(
            f"Ranks of {len(statistic)} metrics need as many rows and columns of p-values, but "
            f"their shape is {p_values.shape}."
        )
