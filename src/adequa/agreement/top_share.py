"""The top share of outputs by a score, and which of two metrics find what people put there.

Ties stay together: everything that scores as high as the last one that belongs to the top belongs
to it too. So neither the order of a file nor chance decides about an output.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import floor
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.segments import FloatArray, IntArray

BoolArray: TypeAlias = npt.NDArray[np.bool_]


class Verdict(str, Enum):
    """Which of two metrics, A and B, estimate the quality of a good output as high."""

    both = "both"
    only_a = "only-a"
    only_b = "only-b"
    neither = "neither"


VERDICTS = tuple(Verdict)


@dataclass(frozen=True, slots=True, eq=False)
class Top:
    """The top of one language pair by human score, the highest first, and who finds it."""

    name: str  # of the language pair
    outputs: int  # of the whole language pair
    wanted: int  # in the top, were there no ties
    rows: IntArray  # (m,), the top among the rows of the language pair
    codes: IntArray  # (m,), places in VERDICTS
    percentiles: FloatArray  # (3, m): people, A, B
    high: tuple[int, int]  # outputs in the metrics' own tops


def top_of(name: str, human: FloatArray, scores: FloatArray, share: float) -> Top:
    """The top of a language pair by human score, (n,), and which of two metrics, (2, n), find it.

    Where ties make the human top larger, those of the metrics grow with it: a metric that orders
    outputs as people do finds them all.

    >>> metrics = np.array([[9.0, 8.0, 1.0, 2.0], [1.0, 8.0, 2.0, 9.0]])
    >>> found = top_of("cs-en", np.array([70.0, 80.0, 10.0, 20.0]), metrics, 0.5)
    >>> found.rows, [VERDICTS[code].value for code in found.codes]
    (array([1, 0]), ['both', 'only-a'])
    """
    wanted = top_count(len(human), share)
    is_top = in_top(human, wanted)
    found_by_a, found_by_b = (in_top(metric, int(is_top.sum())) for metric in scores)
    order = np.argsort(-human, kind="stable")
    rows = order[is_top[order]]
    return Top(
        name=name,
        outputs=len(human),
        wanted=wanted,
        rows=rows,
        codes=verdict_codes(found_by_a, found_by_b)[rows],
        percentiles=np.stack([percentiles(each)[rows] for each in (human, *scores)]),
        high=(int(found_by_a.sum()), int(found_by_b.sum())),
    )


def top_count(count: int, share: float) -> int:
    """A share of so many outputs, rounded to the nearest whole number, a half up; at least one.

    >>> top_count(560, 0.2), top_count(108, 0.2), top_count(3, 0.1), top_count(5, 0.3)
    (112, 22, 1, 2)
    """
    # Twelve decimals, because 0.29 · 50 is 14.499999999999998 in binary.
    return max(1, floor(round(count * share, 12) + 0.5))


def in_top(scores: FloatArray, count: int) -> BoolArray:
    """Whether each score is among the `count` highest, or equal to the lowest of these.

    >>> in_top(np.array([3.0, 1.0, 2.0, 2.0]), 2)
    array([ True, False,  True,  True])
    """
    cut = np.partition(scores, len(scores) - count)[len(scores) - count]
    return np.asarray(scores >= cut)


def percentiles(scores: FloatArray) -> FloatArray:
    """The share of scores that lie below each, in percent; equal ones and itself count half.

    >>> percentiles(np.array([3.0, 1.0, 2.0, 2.0]))
    array([87.5, 12.5, 50. , 50. ])
    """
    ordered = np.sort(scores)
    below = np.searchsorted(ordered, scores, side="left")
    not_above = np.searchsorted(ordered, scores, side="right")
    return np.asarray(50.0 * (below + not_above) / len(scores))


def verdict_codes(found_by_a: BoolArray, found_by_b: BoolArray) -> IntArray:
    """The place in `VERDICTS` of each output.

    >>> yes_no = np.array([True, True, False, False]), np.array([True, False, True, False])
    >>> [VERDICTS[code].value for code in verdict_codes(*yes_no)]
    ['both', 'only-a', 'only-b', 'neither']
    """
    return 2 * (~found_by_a).astype(np.intp) + ~found_by_b


def sign_test(only_a: int, only_b: int) -> float:
    """The two-sided exact p-value of McNemar's test: are 'only A' and 'only B' equally likely?

    >>> round(sign_test(1, 5), 5)  # 2 · (1 + 6) / 2⁶
    0.21875
    """
    from scipy.stats import binomtest  # noqa: PLC0415  # takes longer to load than to run

    if not only_a + only_b:
        return 1.0
    return float(binomtest(only_a, only_a + only_b).pvalue)
