"""BLEU (Papineni et al., 2002), computed by sacreBLEU (Post, 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import sacrebleu

from adequa.errors import AdequaError
from adequa.metrics.registry import check_between, check_choice, check_order
from adequa.metrics.sacrebleu_adapter import SacrebleuMetric
from adequa.metrics.sacrebleu_formulas import bleu_scores
from adequa.segments import FloatArray


@dataclass(frozen=True)
class Bleu(SacrebleuMetric):
    """n-gram precision with a brevity penalty, 0 to 100.

    Segment scores leave out n-gram orders for which the hypothesis is too short
    (`effective_order`), as sacreBLEU's sentence BLEU does; the system score follows the setting.
    Without a `smooth_value`, it is sacreBLEU's for the method: 0.1 for floor, and 1 for add-k.
    Statistics a segment: hypothesis length, reference length, matches for each order, totals for
    each order.

    >>> from adequa.segments import Segments
    >>> pair = Segments(("the cat sat on the mat",), (("the cat sat on a mat",),))
    >>> round(Bleu().score(pair).system, 2)
    53.73
    >>> str(Bleu().score(pair).signature).rsplit("|", 1)[0]
    'bleu|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp'
    """

    name = "bleu"
    higher_is_better = True
    range = (0, 100)
    decimals = 2

    lowercase: bool = False
    tokenize: str = "13a"
    smooth_method: str = "exp"
    smooth_value: float | None = None
    max_ngram_order: int = 4
    effective_order: bool = False

    def __post_init__(self) -> None:
        check_choice("tokenize", self.tokenize, sacrebleu.BLEU.TOKENIZERS)
        check_choice("smooth_method", self.smooth_method, sacrebleu.BLEU.SMOOTH_DEFAULTS)
        check_order("max_ngram_order", self.max_ngram_order)
        if self.smooth_value is not None:
            check_between("smooth_value", self.smooth_value, 0, 1000)

    def make_scorer(self, *, for_segments: bool) -> sacrebleu.BLEU:
        try:
            return sacrebleu.BLEU(
                lowercase=self.lowercase,
                force=True,  # its advice on tokenised text goes to a log that nobody reads
                tokenize=self.tokenize,
                smooth_method=self.smooth_method,
                smooth_value=self.smooth_value,
                max_ngram_order=self.max_ngram_order,
                effective_order=self.effective_order or for_segments,
            )
        except (ImportError, OSError, RuntimeError) as error:  # a tokenizer's own needs
            reason = " ".join(str(error).split())
            raise AdequaError(
                f'The tokenizer "{self.tokenize}" cannot be used here: {reason}'
            ) from error

    def formula(self, totals: FloatArray) -> FloatArray:
        default = sacrebleu.BLEU.SMOOTH_DEFAULTS[self.smooth_method]
        return bleu_scores(
            totals,
            smooth_method=self.smooth_method,
            smooth_value=default if self.smooth_value is None else self.smooth_value,
            effective_order=self.effective_order,
        )

    def unsigned_settings(self) -> dict[str, str]:
        settings = {}
        if self.max_ngram_order != sacrebleu.BLEU().max_ngram_order:
            settings["order"] = str(self.max_ngram_order)
        if self.smooth_value is not None and self.smooth_value != round(self.smooth_value, 2):
            # sacreBLEU signs two decimals.
            settings["smooth_value"] = repr(self.smooth_value)
        return settings
