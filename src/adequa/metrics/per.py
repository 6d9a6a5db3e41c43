"""PER: position-independent word error rate (Tillmann et al., 1997)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from adequa.metrics.error_rate import ErrorRate


@dataclass(frozen=True)
class Per(ErrorRate):
    """Word errors regardless of order, per reference word; 0 and up, lower is better.

    max(|hypothesis|, |reference|) - matches: a word without partner on either side is paired with
    one on the other side as a substitution, and what the longer side has left is inserted or
    deleted. This is the variant that counts surplus hypothesis words as errors, never above WER;
    it equals the form ½(| |h| - |r| | + Σ |n_h(w) - n_r(w)|) of Leusch et al. (2003).

    >>> from adequa.segments import Segments
    >>> pair = Segments(("on the mat the cat sat down",), (("the cat sat on the mat",),))
    >>> round(Per().score(pair).system, 4)  # one surplus word, six reference words
    0.1667
    """

    name = "per"

    @staticmethod
    def edits(hypothesis: list[str], reference: list[str]) -> int:
        matches = (Counter(hypothesis) & Counter(reference)).total()
        return max(len(hypothesis), len(reference)) - matches
