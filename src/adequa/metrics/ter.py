"""Translation edit rate (Snover et al., 2006), computed by sacreBLEU."""

from __future__ import annotations

import math
from dataclasses import dataclass

import sacrebleu

from adequa.metrics.sacrebleu_adapter import SacrebleuMetric
from adequa.metrics.sacrebleu_formulas import ter_scores
from adequa.segments import FloatArray


@dataclass(frozen=True)
class Ter(SacrebleuMetric):
    """Word edits with shifts of phrases, per hundred reference words; lower is better.

    Statistics a segment: fewest edits over the references, and the average reference length.

    >>> from adequa.segments import Segments
    >>> pair = Segments(("on the mat the cat sat",), (("the cat sat on the mat",),))
    >>> round(Ter().score(pair).system, 2)  # one shift, six reference words
    16.67
    """

    name = "ter"
    higher_is_better = False
    range = (0, math.inf)
    decimals = 2

    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False
    case_sensitive: bool = False

    def make_scorer(self, *, for_segments: bool) -> sacrebleu.TER:  # noqa: ARG002 - one formula
        return sacrebleu.TER(
            normalized=self.normalized,
            no_punct=self.no_punct,
            asian_support=self.asian_support,
            case_sensitive=self.case_sensitive,
        )

    def formula(self, totals: FloatArray) -> FloatArray:
        return ter_scores(totals)
