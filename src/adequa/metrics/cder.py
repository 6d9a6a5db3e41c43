"""CDER: edit distance with block movements (Leusch, Ueffing and Ney, 2006)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from adequa.metrics.error_rate import ErrorRate


@dataclass(frozen=True)
class Cder(ErrorRate):
    """Word edits and long jumps per reference word; 0 and up, lower is better.

    Like WER, but at any reference position the alignment may jump to any hypothesis position at
    cost 1. So every reference word is covered exactly once, from left to right, while hypothesis
    words may be read in blocks of any order, twice, or not at all. The path runs from the start of
    both sentences to the end of both; the paper's optional penalty for miscoverage is left out, as
    in Moses' scorer, which the WMT metrics task runs (Moses reports 1 - CDER).

    >>> from adequa.segments import Segments
    >>> pair = Segments(("on the mat the cat sat",), (("the cat sat on the mat",),))
    >>> round(Cder().score(pair).system, 4)  # jump to "the cat", back to "on", on to the end
    0.5
    """

    name = "cder"

    @staticmethod
    def edits(hypothesis: list[str], reference: list[str]) -> int:
        return cover_disjoint_distance(hypothesis, reference)


def cover_disjoint_distance(hypothesis: list[str], reference: list[str]) -> int:
    """The cost d_CD of the cheapest path through the alignment grid with long jumps.

    D(i, l), the cost of reaching hypothesis position i after l reference words, is the least of

        D(i-1, l-1) + [h_i ≠ r_l],  D(i, l-1) + 1,  D(i-1, l) + 1,  min_i' D(i', l) + 1.

    Since a jump costs 1, a row holds two values only, its minimum m and m + 1, and a skipped
    hypothesis word is never cheaper than a jump. So a row is m and the set of positions that cost
    m, kept as the bits of one integer: a step costs a few operations on |h|/64 machine words.

    >>> cover_disjoint_distance("b a".split(), "a b".split())
    2
    """
    positions: dict[str, int] = defaultdict(int)  # word -> positions just after its occurrences
    for i, word in enumerate(hypothesis, 1):
        positions[word] |= 1 << i
    everywhere = (1 << (len(hypothesis) + 1)) - 1
    m, cheapest = 0, 1  # before the first reference word: position 0 is free, any other a jump
    for word in reference:
        after_match = positions.get(word, 0)
        onward = cheapest << 1
        if matched := onward & after_match:
            cheapest = matched
        else:
            # m + 1 is reached by an insertion (stay), by a substitution (onward), or by a match
            # from a position that already cost m + 1.
            m += 1
            cheapest = (cheapest | onward | after_match) & everywhere
    return m if cheapest >> len(hypothesis) & 1 else m + 1
