"""Base of the word error rates: edits to the nearest reference over the reference length."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from adequa.metrics.base import Metric
from adequa.metrics.words import check_tokenizer, word_splitter
from adequa.segments import FloatArray, Segments


@dataclass(frozen=True)
class ErrorRate(Metric):
    """Edits per reference word, 0 for a perfect match and without an upper bound.

    With several references the one with the fewest edits counts, and the edits are divided by the
    average reference length, as TER does: were they divided by the length of the nearest one, a
    long reference with more edits could win over a nearer short one. This is what Nießen et al.
    (2000) name mWER, here for every error rate. The system score is the sum of the edits over the
    sum of the reference lengths.

    Statistics a segment: edits, average reference length.
    """

    higher_is_better = False
    range = (0, math.inf)
    counted_with = ("sacrebleu",)  # its tokenizers

    tokenize: str = "13a"
    lowercase: bool = False

    def __post_init__(self) -> None:
        check_tokenizer(self.tokenize)

    @staticmethod
    @abstractmethod
    def edits(hypothesis: list[str], reference: list[str]) -> int:
        """Edits that turn the words of the hypothesis into those of the reference."""

    def statistics(self, segments: Segments) -> FloatArray:
        split = word_splitter(self.tokenize, lowercase=self.lowercase)
        rows = np.empty((len(segments), 2))
        texts = zip(segments.hypotheses, segments.references, strict=True)
        for row, (hypothesis_text, reference_texts) in enumerate(texts):
            hypothesis = split(hypothesis_text)
            references = [split(text) for text in reference_texts]
            rows[row, 0] = min(self.edits(hypothesis, reference) for reference in references)
            rows[row, 1] = sum(map(len, references)) / len(references)
        return rows

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        edits, length = statistics[:, 0], statistics[:, 1]
        # A tokenizer may leave no word of a reference ("<skipped>"); as in sacreBLEU's TER, any
        # number of edits against nothing is then one whole error.
        empty = length == 0
        return np.where(empty, np.minimum(edits, 1), edits / np.where(empty, 1, length))

    def system_scores(self, totals: FloatArray) -> FloatArray:
        return self.segment_scores(totals)
