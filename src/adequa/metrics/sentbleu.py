"""SentBLEU: Moses' smoothed sentence BLEU, the segment-level baseline of the WMT metrics task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adequa.metrics.base import MeanMetric
from adequa.metrics.bleu import Bleu
from adequa.metrics.bleu_components import brevity_penalty, split_counts
from adequa.segments import FloatArray, Segments


@dataclass(frozen=True)
class SentBleu(MeanMetric):
    """Sentence BLEU with one added to the matches and totals of every order; 0 to 1, higher better.

    The definition is that of Moses' `sentence-bleu`, which the WMT metrics task runs: BLEU+1 (Lin
    and Och, 2004), but smoothed for unigrams too, and with the unsmoothed brevity penalty. An
    order for which the hypothesis is too short counts as (0+1)/(0+1) = 1. With several references,
    matches are clipped by the highest count and the closest reference length is taken, the shorter
    of two equally close. A hypothesis without words scores 0.

    The system score is the mean of the segment scores. It is not corpus BLEU: for that use `bleu`.

    >>> pair = Segments(("the cat sat on the mat",), (("the cat sat on a mat",),))
    >>> round(SentBleu().score(pair).system, 4)
    0.6435
    """

    name = "sentbleu"
    higher_is_better = True
    range = (0, 1)
    counted_with = ("sacrebleu",)  # its tokenizers and n-gram counts

    lowercase: bool = True
    tokenize: str = "13a"

    def __post_init__(self) -> None:
        Bleu(tokenize=self.tokenize)  # knows which tokenizers there are

    def score_segments(self, segments: Segments) -> FloatArray:
        return smoothed_sentence_bleu(self._bleu.statistics(segments))

    @cached_property
    def _bleu(self) -> Bleu:
        return Bleu(lowercase=self.lowercase, tokenize=self.tokenize)


def smoothed_sentence_bleu(counts: FloatArray) -> FloatArray:
    """SentBLEU of each row of `Bleu`'s statistics."""
    hypothesis_length, reference_length, matches, totals = split_counts(counts)
    log_precision = np.log((matches + 1) / (totals + 1)).mean(axis=1)
    penalty = brevity_penalty(hypothesis_length, reference_length)
    scores: FloatArray = penalty * np.exp(log_precision)
    return scores
