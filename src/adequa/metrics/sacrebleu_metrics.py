"""The metrics that sacreBLEU counts: BLEU, SentBLEU, chrF, chrF++ and TER.

sacreBLEU (Post, 2018) is used, not rewritten: text goes through the hooks of its metric base class
(prepare a segment, collect reference information, count one segment, score counts), so that every
number and every signature is its own. What is added is that counts stay as arrays, that references
shared by several systems are prepared once, and that the many rows of summed counts which
resampling has are scored together: sacreBLEU takes some ten microseconds a row, which would be an
hour for a large comparison. The formulas on arrays are tested against sacreBLEU's own, row by row.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import sacrebleu
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
from sacrebleu.utils import SACREBLEU_DIR

from adequa.errors import AdequaError
from adequa.metrics.base import (
    HIGHEST_ORDER,
    SPACE_TOKENIZERS,
    MeanMetric,
    Metric,
    Remark,
    budget_remarks,
)
from adequa.metrics.ter_edits import fewest_edits
from adequa.segments import FloatArray, Segments, Signature

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacrebleuScorer

# Prepared references of at most this many segments stay in memory for the next system. A batch of a
# stream is far below it; a whole corpus passed at once is not worth its memory.
CACHED_REFERENCES = 1024
# More rows of totals than these are resamples and not systems: they are scored on arrays.
_FEW = 64
_EPS = 1e-16  # sacreBLEU's, in chrF's smoothing


# The tokenizers that sacreBLEU recommends, by language; 13a for all others.
AUTO = "auto"  # the tokenizer of the language, unless the user has chosen one
LANGUAGE_TOKENIZERS = {"ja": "ja-mecab", "ko": "ko-mecab", "yue": "zh", "zh": "zh"}
_DEFAULT_TOKENIZER = "13a"
_TOKENIZERS = (AUTO, *sacrebleu.BLEU.TOKENIZERS)
# Extras of this package that install what a tokenizer needs.
_EXTRAS = {"ja-mecab": "ja", "ko-mecab": "ko"}


def language_tokenizer(code: str | None) -> str:
    """The tokenizer that sacreBLEU recommends for a language.

    >>> language_tokenizer("zh"), language_tokenizer("de"), language_tokenizer(None)
    ('zh', '13a', '13a')
    """
    return LANGUAGE_TOKENIZERS.get(code or "", _DEFAULT_TOKENIZER)


def check_tokenizer(tokenize: str) -> None:
    """Raise with the line that installs what a tokenizer needs, where it is missing."""
    _refuse_download(tokenize)
    try:
        sacrebleu.BLEU(tokenize=tokenize)
    except (ImportError, OSError, RuntimeError) as error:
        raise _unusable(tokenize, error) from error


def _refuse_download(tokenize: str) -> None:
    """Raise where sacreBLEU would download the model of a tokenizer, which users do themselves."""
    model = SPM_MODELS.get(tokenize)
    if model is None or Path(SACREBLEU_DIR, "models", Path(model["url"]).name).exists():
        return
    raise AdequaError(
        f'The tokenizer "{tokenize}" needs a model that is not on this machine. sacreBLEU '
        'downloads it once with: python -c "import sacrebleu; '
        f"sacrebleu.BLEU(tokenize='{tokenize}')\""
    )


def _unusable(tokenize: str, error: Exception) -> AdequaError:
    if tokenize in _EXTRAS:
        return AdequaError(
            f'The tokenizer "{tokenize}" needs packages that are not installed: pip install '
            f"'adequa[{_EXTRAS[tokenize]}]'. Without them, chrf needs no tokenizer, and "
            "bleu:tokenize=char counts characters."
        )
    reason = " ".join(str(error).split())
    return AdequaError(f'The tokenizer "{tokenize}" cannot be used here: {reason}')


class SacrebleuMetric(Metric):
    """Base of the metrics that sacreBLEU computes."""

    @abstractmethod
    def make_scorer(self, *, for_segments: bool) -> SacrebleuScorer:
        """sacreBLEU's metric object with these settings, for system or for segment scores."""

    def statistics(self, segments: Segments) -> FloatArray:
        prepare = self._system_scorer._preprocess_segment  # noqa: SLF001 - see the module's text
        count = self._system_scorer._compute_segment_statistics  # noqa: SLF001
        return np.array(
            [
                count(prepare(hypothesis), information)
                for hypothesis, information in zip(
                    segments.hypotheses,
                    self._reference_information(segments.references),
                    strict=True,
                )
            ],
            dtype=np.float64,
        )

    @abstractmethod
    def formula(self, totals: FloatArray) -> FloatArray:
        """sacreBLEU's system scores of many rows of summed counts, computed on arrays."""

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        return _scores(self._segment_scorer, statistics)

    def system_scores(self, totals: FloatArray) -> FloatArray:
        if len(totals) > _FEW:
            return self.formula(totals)
        return _scores(self._system_scorer, totals)

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return self._signed(self._system_scorer)

    def segment_signature(
        self, reference_count: int | None, *, sources: bool | None = None
    ) -> Signature:
        references = self.signature(reference_count, sources=sources).fields[:1]
        return Signature(self.name, (*references, *self._signed(self._segment_scorer)))

    def _signed(self, scorer: SacrebleuScorer) -> tuple[tuple[str, str], ...]:
        # sacreBLEU signs only once it has seen references; their number is signed by the caller.
        signed = scorer._SIGNATURE_TYPE({**vars(scorer), "num_refs": 1}).format()  # noqa: SLF001
        _, *settings, version = (_key_and_value(item) for item in signed.split("|"))
        return (*settings, *self.unsigned_settings().items(), version)

    def unsigned_settings(self) -> Mapping[str, str]:
        """Settings off their default that change the score and that sacreBLEU does not sign."""
        return {}

    @cached_property
    def _system_scorer(self) -> SacrebleuScorer:
        return self.make_scorer(for_segments=False)

    @cached_property
    def _segment_scorer(self) -> SacrebleuScorer:
        return self.make_scorer(for_segments=True)

    @cached_property
    def _last_references(self) -> list[tuple[object, list[dict[str, Any]]]]:
        return []

    def _reference_information(
        self, references: tuple[tuple[str, ...], ...]
    ) -> Iterable[dict[str, Any]]:
        """What sacreBLEU needs to know of each segment's references.

        Systems that are scored side by side share one tuple of references, recognised by identity:
        only the first system pays for the preparation.
        """
        for last, prepared in tuple(self._last_references):  # a copy: other threads may set it
            if last is references:
                return prepared
        prepare = self._system_scorer._preprocess_segment  # noqa: SLF001
        extract = self._system_scorer._extract_reference_info  # noqa: SLF001
        information = (extract([prepare(text) for text in texts]) for texts in references)
        if len(references) > CACHED_REFERENCES:
            return information
        prepared = list(information)
        self._last_references[:] = [(references, prepared)]
        return prepared


def _scores(scorer: SacrebleuScorer, rows: FloatArray) -> FloatArray:
    # Lists, because sacreBLEU's add-k smoothing would change an array's row in place.
    score = scorer._compute_score_from_stats  # noqa: SLF001
    return np.array([score(row).score for row in rows.tolist()], dtype=np.float64)


def _key_and_value(item: str) -> tuple[str, str]:
    key, _, value = item.partition(":")
    return key, value


@dataclass(frozen=True)
class BLEU(SacrebleuMetric):
    """n-gram precision with a brevity penalty, 0 to 100.

    Segment scores leave out n-gram orders for which the hypothesis is too short
    (`effective_order`), as sacreBLEU's sentence BLEU does; the system score follows the setting.
    Without a `smooth_value`, it is sacreBLEU's for the method: 0.1 for floor, and 1 for add-k.
    Statistics per segment: hypothesis length, reference length, matches for each order, totals for
    each order.

    >>> pair = Segments(("the cat sat on the mat",), (("the cat sat on a mat",),))
    >>> round(BLEU().score(pair).system, 2)
    53.73
    >>> str(BLEU().score(pair).signature).rsplit("|", 1)[0]
    'bleu|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp'
    """

    name = "bleu"
    higher_is_better = True
    range = (0, 100)
    decimals = 2
    choices = {  # noqa: RUF012 - never changed
        "tokenize": _TOKENIZERS,
        "smooth_method": tuple(sacrebleu.BLEU.SMOOTH_DEFAULTS),
    }
    limits = {"max_ngram_order": (1, HIGHEST_ORDER), "smooth_value": (0, 1000)}  # noqa: RUF012

    lowercase: bool = False
    tokenize: str = AUTO
    smooth_method: str = "exp"
    smooth_value: float | None = None
    max_ngram_order: int = 4
    effective_order: bool = False

    def make_scorer(self, *, for_segments: bool) -> sacrebleu.BLEU:
        _refuse_download(self.tokenize)
        try:
            return sacrebleu.BLEU(
                lowercase=self.lowercase,
                force=True,  # its advice on tokenised text goes to a log that nobody reads
                tokenize=resolved_tokenizer(self.tokenize),
                smooth_method=self.smooth_method,
                smooth_value=self.smooth_value,
                max_ngram_order=self.max_ngram_order,
                effective_order=self.effective_order or for_segments,
            )
        except (ImportError, OSError, RuntimeError) as error:  # a tokenizer's own needs
            raise _unusable(self.tokenize, error) from error

    def for_language(self, code: str | None) -> BLEU:
        return with_language_tokenizer(self, code)

    @property
    def splits_at_spaces(self) -> bool:
        return resolved_tokenizer(self.tokenize) in SPACE_TOKENIZERS

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


def resolved_tokenizer(tokenize: str) -> str:
    """The tokenizer in use: the chosen one, or that of languages without one of their own."""
    return _DEFAULT_TOKENIZER if tokenize == AUTO else tokenize


BleuMetric = TypeVar("BleuMetric", "BLEU", "SentBLEU")


def with_language_tokenizer(metric: BleuMetric, code: str | None) -> BleuMetric:
    """The metric with the tokenizer of a language, unless the user has chosen one."""
    tokenize = language_tokenizer(code)
    if metric.tokenize != AUTO or tokenize == _DEFAULT_TOKENIZER:
        return metric
    check_tokenizer(tokenize)
    return replace(metric, tokenize=tokenize)


def bleu_scores(
    counts: FloatArray,
    *,
    smooth_method: str,
    smooth_value: float | None,
    effective_order: bool,
) -> FloatArray:
    """BLEU from hypothesis length, reference length, matches and totals for each order.

    >>> row = np.array([[6.0, 6.0, 5.0, 3.0, 2.0, 1.0, 6.0, 5.0, 4.0, 3.0]])
    >>> bleu_scores(row, smooth_method="exp", smooth_value=None, effective_order=False).round(2)
    array([53.73])
    """
    length, reference_length, correct, total = split_counts(counts)
    if smooth_method == "add-k":
        added = np.full(correct.shape[1], smooth_value or 0.0)
        added[0] = 0.0
        correct_now, total_now = correct + added, total + added
    else:
        correct_now, total_now = correct, total
    # An order counts if it and all lower ones have n-grams at all.
    present = np.logical_and.accumulate(total_now > 0, axis=1)
    denominators = np.where(present, total_now, 1.0)
    precisions = np.where(present, correct_now, 0.0) / denominators
    missed = present & (correct_now == 0)
    if smooth_method == "exp":
        halves = 0.5 ** np.cumsum(missed, axis=1)
        precisions = np.where(missed, halves / denominators, precisions)
    elif smooth_method == "floor":
        precisions = np.where(missed, (smooth_value or 0.0) / denominators, precisions)
    orders = np.maximum(present.sum(axis=1), 1) if effective_order else correct.shape[1]
    used = present | (not effective_order)
    positive = precisions > 0
    logarithms = np.log(np.where(positive, precisions, 1.0)) * used
    zero = (used & ~positive).any(axis=1) | ~correct.any(axis=1) | ~present[:, 0]
    scores = 100 * brevity_penalty(length, reference_length)
    return np.where(zero, 0.0, scores * np.exp(logarithms.sum(axis=1) / orders))


@dataclass(frozen=True)
class SentBLEU(MeanMetric):
    """Sentence BLEU with one added to the matches and totals of every order; 0 to 1, higher better.

    The definition is that of Moses' `sentence-bleu`, which the WMT metrics task runs: BLEU+1 (Lin
    and Och, 2004), but smoothed for unigrams too, and with the unsmoothed brevity penalty. An
    order for which the hypothesis is too short counts as (0+1)/(0+1) = 1. With several references,
    matches are clipped by the highest count and the closest reference length is taken, the shorter
    of two equally close. A hypothesis without words scores 0.

    The system score is the mean of the segment scores. It is not corpus BLEU: for that use `bleu`.

    >>> pair = Segments(("the cat sat on the mat",), (("the cat sat on a mat",),))
    >>> round(SentBLEU().score(pair).system, 4)
    0.6435
    """

    name = "sentbleu"
    higher_is_better = True
    range = (0, 1)
    versioned_packages = ("sacrebleu",)  # its tokenizers and n-gram counts
    choices = {"tokenize": _TOKENIZERS}  # noqa: RUF012

    lowercase: bool = True
    tokenize: str = AUTO

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        return smoothed_sentence_bleu(self._bleu.statistics(segments))

    def for_language(self, code: str | None) -> SentBLEU:
        return with_language_tokenizer(self, code)

    @property
    def splits_at_spaces(self) -> bool:
        return resolved_tokenizer(self.tokenize) in SPACE_TOKENIZERS

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        tokenize = resolved_tokenizer(self.tokenize)
        return (
            super().signature_fields()
            if tokenize == self.tokenize
            else replace(self, tokenize=tokenize).signature_fields()
        )

    @cached_property
    def _bleu(self) -> BLEU:
        return BLEU(lowercase=self.lowercase, tokenize=self.tokenize)


def smoothed_sentence_bleu(counts: FloatArray) -> FloatArray:
    """SentBLEU of each row of `BLEU`'s statistics."""
    hypothesis_length, reference_length, matches, totals = split_counts(counts)
    log_precision = np.log((matches + 1) / (totals + 1)).mean(axis=1)
    penalty = brevity_penalty(hypothesis_length, reference_length)
    scores: FloatArray = penalty * np.exp(log_precision)
    return scores


# BLEU taken apart (BLEUCOMP; Guzmán et al., 2015, section 6.1): features, not a metric. A learned
# metric that sees the parts of BLEU can weigh them itself; in the paper that alone beats BLEU by
# more than one point of Kendall's τ.
ORDERS = (1, 2, 3, 4)
COLUMNS: tuple[str, ...] = (
    *(f"precision_{n}" for n in ORDERS),
    *(f"matches_{n}" for n in ORDERS),
    *(f"totals_{n}" for n in ORDERS),
    "hypothesis_length",
    "reference_length",
    "length_ratio",
    "brevity_penalty",
)


def bleu_components(
    segments: Segments, tokenize: str = "13a", lowercase: bool = True
) -> FloatArray:
    """One row per segment with the sixteen `COLUMNS`, counted by sacreBLEU.

    With several references, matches are clipped by the highest count of any reference and the
    reference length is the one closest to the hypothesis. A precision of an order for which the
    hypothesis is too short is 0.

    >>> pair = Segments(("the cat sat",), (("the cat sat down",),))
    >>> row = dict(zip(COLUMNS, bleu_components(pair)[0].tolist()))
    >>> row["precision_1"], row["matches_2"], row["totals_3"], row["length_ratio"]
    (1.0, 2.0, 1.0, 0.75)
    """
    counts = BLEU(tokenize=tokenize, lowercase=lowercase).statistics(segments)
    hypothesis_length, reference_length, matches, totals = split_counts(counts)
    return np.column_stack(
        [
            matches / np.maximum(totals, 1),
            matches,
            totals,
            hypothesis_length,
            reference_length,
            hypothesis_length / np.maximum(reference_length, 1),
            brevity_penalty(hypothesis_length, reference_length),
        ]
    )


def split_counts(counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """`BLEU`'s statistics by name: both lengths, then matches and totals, one column per order."""
    matches, totals = np.hsplit(counts[:, 2:], 2)
    return counts[:, 0], counts[:, 1], matches, totals


def brevity_penalty(hypothesis_length: FloatArray, reference_length: FloatArray) -> FloatArray:
    """exp(1 - r/c) where the hypothesis is shorter than the reference, 1 elsewhere.

    >>> brevity_penalty(np.array([0.0, 2.0, 4.0]), np.array([4.0, 4.0, 4.0])).round(3).tolist()
    [0.0, 0.368, 1.0]
    """
    c, r = np.maximum(hypothesis_length, 1), reference_length
    penalty = np.exp(np.minimum(1 - r / c, 0))
    # The penalty's limit for a hypothesis without words.
    return np.where((hypothesis_length == 0) & (r > 0), 0.0, penalty)


@dataclass(frozen=True)
class CHRF(SacrebleuMetric):
    """F-score over character n-grams, recall weighted beta times precision, 0 to 100.

    Statistics per segment: hypothesis, reference and matching n-gram counts for each order, against
    the reference with the best score.

    >>> pair = Segments(("the cat sat on the mat",), (("the cat sat on a mat",),))
    >>> round(CHRF().score(pair).system, 2)
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

    limits = {  # noqa: RUF012 - never changed
        "char_order": (1, HIGHEST_ORDER),
        "word_order": (0, HIGHEST_ORDER),
        "beta": (1, 1000),
    }

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
class CHRFPlusPlus(CHRF):
    """chrF with word n-grams up to 2 beside the character n-grams, 0 to 100."""

    name = "chrf++"

    word_order: int = 2


def chrf_scores(counts: FloatArray, *, beta: int, eps_smoothing: bool) -> FloatArray:
    """chrF from the counts of hypothesis, reference and matching n-grams for each order.

    >>> chrf_scores(np.array([[4.0, 4.0, 2.0]]), beta=2, eps_smoothing=False)
    array([50.])
    """
    hypothesis, reference, match = (counts[:, start::3] for start in range(3))
    factor = beta**2
    if eps_smoothing:
        precision = _quotient(match, hypothesis, _EPS)
        recall = _quotient(match, reference, _EPS)
        both = (1 + factor) * precision * recall
        each = _quotient(both, factor * precision + recall, _EPS)
        return np.asarray(100 * _sum_in_order(each) / each.shape[1])
    present = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(present.sum(axis=1), 1)
    precision = _sum_in_order(_quotient(match, hypothesis, 0.0) * present) / orders
    recall = _sum_in_order(_quotient(match, reference, 0.0) * present) / orders
    return 100 * _quotient((1 + factor) * precision * recall, factor * precision + recall, 0.0)


def _sum_in_order(columns: FloatArray) -> FloatArray:
    """The sum of columns, one after the other as sacreBLEU adds them: the same to the last bit."""
    return np.asarray(np.add.accumulate(columns, axis=1)[:, -1])


@dataclass(frozen=True)
class TER(SacrebleuMetric):
    """Word edits with shifts of phrases, per hundred reference words; lower is better.

    Statistics per segment: fewest edits over the references, and the average reference length.

    >>> pair = Segments(("on the mat the cat sat",), (("the cat sat on the mat",),))
    >>> round(TER().score(pair).system, 2)  # one shift, six reference words
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

    def statistics(self, segments: Segments) -> FloatArray:
        prepare = self._system_scorer._preprocess_segment  # noqa: SLF001 - see the module's text
        information = self._reference_information(segments.references)
        rows = [
            fewest_edits(prepare(hypothesis).split(), each["ref_words"])
            for hypothesis, each in zip(segments.hypotheses, information, strict=True)
        ]
        self._limited.update(limited=sum(not is_complete for *_, is_complete in rows))
        return np.array([(edits, length) for edits, length, _ in rows], dtype=np.float64)

    @cached_property
    def _limited(self) -> Counter[str]:
        """How many segments had more shifts to try than the budget allows."""
        return Counter()

    def counted_remarks(self) -> tuple[Remark, ...]:
        return budget_remarks(self.name, "shifts", self._limited["limited"])

    @property
    def splits_at_spaces(self) -> bool:
        return not (self.normalized and self.asian_support)

    def formula(self, totals: FloatArray) -> FloatArray:
        return ter_scores(totals)


def ter_scores(counts: FloatArray) -> FloatArray:
    """TER from edits and reference words, per hundred words.

    >>> ter_scores(np.array([[1.0, 4.0], [2.0, 0.0], [0.0, 0.0]]))
    array([ 25., 100.,   0.])
    """
    edits, words = counts[:, 0], counts[:, 1]
    return 100 * np.where(words > 0, _quotient(edits, words, 0.0), np.where(edits > 0, 1.0, 0.0))


def _quotient(numerator: FloatArray, denominator: FloatArray, otherwise: float) -> FloatArray:
    """The quotient where the denominator is above zero, and `otherwise` elsewhere."""
    quotients = np.full(numerator.shape, otherwise)
    np.divide(numerator, denominator, out=quotients, where=denominator > 0)
    return quotients
