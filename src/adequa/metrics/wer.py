"""WER: word error rate, the word Levenshtein distance over the reference length."""

from __future__ import annotations

from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from adequa.metrics.error_rate import ErrorRate


@dataclass(frozen=True)
class Wer(ErrorRate):
    """Inserted, deleted and substituted words per reference word; 0 and up, lower is better.

    The measure of speech recognition, used for translation since Nießen et al. (2000), whose mWER
    is followed for several references: the fewest edits, over the average reference length.

    >>> from adequa.segments import Segments
    >>> pair = Segments(("on the mat the cat sat",), (("the cat sat on the mat",),))
    >>> round(Wer().score(pair).system, 4)  # six edits, six reference words
    1.0
    """

    name = "wer"

    @staticmethod
    def edits(hypothesis: list[str], reference: list[str]) -> int:
        return Levenshtein.distance(hypothesis, reference)
