"""chrF and chrF++ (Popović, 2015 and 2017), computed by sacreBLEU."""

from __future__ import annotations

from dataclasses import dataclass

import sacrebleu

from adequa.metrics.registry import check_between, check_order
from adequa.metrics.sacrebleu_adapter import SacrebleuMetric
from adequa.metrics.sacrebleu_formulas import chrf_scores
from adequa.segments import FloatArray


@dataclass(frozen=True)
class Chrf(SacrebleuMetric):
    """F-score over character n-grams, recall weighted beta times precision, 0 to 100.

    Statistics a segment: hypothesis, reference and matching n-gram counts for each order, against
    the reference with the best score.

    >>> from adequa.segments import Segments
    >>> pair = Segments(("the cat sat on the mat",), (("the cat sat on a mat",),))
    >>> round(Chrf().score(pair).system, 2)
    72.08
    """

    name = "chrf"
    higher_is_better = True
    range = (0, 100)
    decimals = 2

    char_order: int = 6
    word_order: int = 0
    beta: int = 2
    lowercase: bool = False
    whitespace: bool = False
    eps_smoothing: bool = False

    def __post_init__(self) -> None:
        check_order("char_order", self.char_order)
        check_order("word_order", self.word_order, 0)
        check_between("beta", self.beta, 1, 1000)

    def make_scorer(self, *, for_segments: bool) -> sacrebleu.CHRF:  # noqa: ARG002 - one formula
        return sacrebleu.CHRF(
            char_order=self.char_order,
            word_order=self.word_order,
            beta=self.beta,
            lowercase=self.lowercase,
            whitespace=self.whitespace,
            eps_smoothing=self.eps_smoothing,
        )

    def ngrams(self, text: str) -> list[dict[str, int]]:
        """How often each n-gram occurs in a text, for each order: characters first, then words."""
        scorer = self._system_scorer
        prepared = scorer._preprocess_segment(text)  # noqa: SLF001 - as in the adapter
        counted = scorer._extract_reference_info([prepared])["ref_ngrams"][0]  # noqa: SLF001
        return list(counted)

    def formula(self, totals: FloatArray) -> FloatArray:
        return chrf_scores(totals, beta=self.beta, eps_smoothing=self.eps_smoothing)

    def unsigned_settings(self) -> dict[str, str]:
        # sacreBLEU writes beta into the metric's name (chrF2) instead of its signature.
        return {} if self.beta == sacrebleu.CHRF.BETA else {"beta": str(self.beta)}


@dataclass(frozen=True)
class ChrfPlusPlus(Chrf):
    """chrF with word n-grams up to 2 beside the character n-grams, 0 to 100."""

    name = "chrf++"

    word_order: int = 2
