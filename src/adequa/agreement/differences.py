"""How often people agree with a difference of scores, by the size of the difference.

A pair has two sides, A and B: two outputs of a segment, or two systems. `differences` are score of
A less score of B, higher being better; `preferred` is 1 where people preferred A, -1 where they
preferred B, and 0 where they preferred neither. People agree with a difference if they preferred
the side with the higher score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite, nan

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.segments import FloatArray, IntArray
from adequa.statistics.arrays import check_finite
from adequa.statistics.significance import wilson_intervals

SHARES = (0.75, 0.9, 0.95)  # of agreement that thresholds are asked for
FEWEST = 30  # pairs that a threshold rests on: the largest few agree by chance
_QUANTILES = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)  # of the sizes, which become edges
_ROUNDING = 1e-9  # 0.3 - 0.2 is a difference of 0.1 to everyone but a computer


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs whose scores differ by `low` or more, and by less than `high`."""

    low: float
    high: float  # infinite for the last
    pairs: int
    agreed: int
    share: float  # agreed / pairs, with its Wilson interval; NaN without pairs
    share_low: float
    share_high: float


@dataclass(frozen=True, slots=True)
class Threshold:
    """The smallest difference from which people agree in a share of the pairs or more."""

    share: float
    difference: float | None  # None where there is none that enough pairs reach


@dataclass(frozen=True, slots=True)
class BySize:
    """Pairs by the size of the difference, and from which size on people agree."""

    bins: tuple[Bin, ...]
    total: Bin
    thresholds: tuple[Threshold, ...]
    tied: int  # pairs with two equal scores, which are in no bin
    undecided: int  # pairs of which people preferred neither, which are in no bin either


def by_size(
    differences: FloatArray,
    preferred: IntArray | FloatArray,
    *,
    edges: Sequence[float] | None = None,
    confidence: float = 0.95,
    shares: Sequence[float] = SHARES,
    fewest: int = FEWEST,
) -> BySize:
    """How often people preferred the side with the higher score, by the size of the difference.

    Bins start at 0 and at each of the `edges`; the last is open. Without edges they are quantiles
    of the sizes, rounded down to 1, 2 or 5 times a power of ten.

    >>> found = by_size(np.array([0.2, -0.4, 3.0, 0.0]), np.array([-1, -1, 1, 1]), edges=[1])
    >>> [(each.low, each.high, each.agreed, each.pairs) for each in found.bins]
    [(0.0, 1.0, 1, 2), (1.0, inf, 1, 1)]
    >>> found.tied
    1
    """
    _check(differences, preferred)
    tied, undecided = differences == 0, preferred == 0
    told = ~tied & ~undecided
    sizes = np.abs(differences[told])
    agreed = np.sign(differences[told]) == preferred[told]
    starts = readable_edges(sizes) if edges is None else checked_edges(edges)
    places = np.searchsorted(np.array(starts) * (1 - _ROUNDING), sizes, side="right") - 1
    pairs = np.bincount(places, minlength=len(starts))
    hits = np.bincount(places[agreed], minlength=len(starts))
    (total,) = _bins((0.0,), pairs.sum(keepdims=True), hits.sum(keepdims=True), confidence)
    return BySize(
        bins=_bins(starts, pairs, hits, confidence),
        total=total,
        thresholds=tuple(
            Threshold(share, smallest_difference(sizes, agreed, share, fewest)) for share in shares
        ),
        tied=int((tied & ~undecided).sum()),
        undecided=int(undecided.sum()),
    )


def smallest_difference(
    sizes: FloatArray, agreed: npt.ArrayLike, share: float, fewest: int = FEWEST
) -> float | None:
    """The smallest size from which the isotonic fit of agreement on size is `share` or more.

    The fit never falls as sizes grow, and of all such curves is the nearest to what people said.
    It rises to a share q after the pair at which the sum of (agreed - q), from the smallest size
    on, is lowest: before it are the blocks of the fit with a mean below q, behind it the others.
    (Groeneboom and Jongbloed, 2014, Nonparametric Estimation under Shape Constraints, call this the
    switch relation.) None where fewer than `fewest` pairs are of that size or larger.

    >>> sizes, agreed = np.arange(1, 9), np.array([1, 0, 0, 1, 0, 1, 1, 1])
    >>> smallest_difference(sizes, agreed, 0.5, fewest=1)
    4.0
    >>> smallest_difference(sizes, agreed, 0.9, fewest=1), smallest_difference(sizes, agreed, 0.9)
    (6.0, None)
    """
    order = np.argsort(sizes, kind="stable")
    distinct, first = np.unique(sizes[order], return_index=True)
    # Before each distinct size, and after the last: pairs of one size stay together.
    before = np.append(first, len(sizes))
    agreed_before = np.concatenate([[0.0], np.cumsum(np.asarray(agreed)[order])])[before]
    sums = (agreed_before - share * before).round(9)  # so that equal sums are equal
    place = int(np.argmin(sums))
    if len(sizes) - before[place] < max(fewest, 1):
        return None
    return float(distinct[place])


def readable_edges(sizes: FloatArray) -> tuple[float, ...]:
    """Where bins start: at 0 and at quantiles of the sizes, rounded down to 1, 2 or 5 of a digit.

    No bin between them is empty.

    >>> readable_edges(np.array([0.13, 0.2, 0.5, 0.7, 1.1, 1.6, 2.3, 3.1, 4.4, 7.0]))
    (0.0, 0.5, 1.0, 2.0, 5.0)
    """
    if not len(sizes):
        return (0.0,)
    found = {_rounded_down(size) for size in np.quantile(sizes, _QUANTILES, method="nearest")}
    first, *rest = sorted(found)
    return (0.0, *([first] if sizes.min() < first * (1 - _ROUNDING) else []), *rest)


def checked_edges(edges: Sequence[float]) -> tuple[float, ...]:
    """Edges as bins need them, from 0 on; or a sentence on what is wrong with them.

    >>> checked_edges([0.01, 0.1])
    (0.0, 0.01, 0.1)
    """
    given = [float(edge) for edge in edges]
    for edge in given:
        if not (isfinite(edge) and edge >= 0):
            raise AdequaError(f"An edge between differences is a number from 0 on, not {edge:g}.")
    if any(low >= high for low, high in pairwise(given)):
        listed = ", ".join(f"{edge:g}" for edge in given)
        raise AdequaError(f"Edges between differences must grow, and these do not: {listed}.")
    return (0.0, *(edge for edge in given if edge > 0))


def _check(differences: FloatArray, preferred: IntArray | FloatArray) -> None:
    if differences.shape != preferred.shape or differences.ndim != 1:
        raise AdequaError(
            "Every difference needs one preference, but there are arrays of the shapes "
            f"{differences.shape} and {preferred.shape}."
        )
    check_finite("differences", differences)
    if not np.isin(preferred, (-1, 0, 1)).all():
        raise AdequaError("Who was preferred is 1 (the first), -1 (the second) or 0 (neither).")


def _bins(
    starts: Sequence[float], pairs: IntArray, hits: IntArray, confidence: float
) -> tuple[Bin, ...]:
    there = pairs > 0
    figures = np.full((3, len(pairs)), nan)
    figures[0, there] = hits[there] / pairs[there]
    figures[1:, there] = wilson_intervals(hits[there], pairs[there], confidence)
    ends = (*starts[1:], inf)
    return tuple(
        Bin(*row)
        for row in zip(starts, ends, pairs.tolist(), hits.tolist(), *figures.tolist(), strict=True)
    )


def _rounded_down(size: float) -> float:
    digits, exponent = f"{size:.12e}".split("e")
    digit = max(d for d in (1, 2, 5) if d <= float(digits))
    return float(f"{digit}e{exponent}")
