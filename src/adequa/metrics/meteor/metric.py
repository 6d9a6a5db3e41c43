"""METEOR (Denkowski and Lavie 2014) as Meteor 1.5's English scorer computes it, without Java."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from adequa.errors import AdequaError, nearest
from adequa.languages import language_name
from adequa.metrics.base import Metric, Remark, budget_remarks
from adequa.metrics.meteor.alignment import (
    MODULES,
    Candidates,
    Matcher,
    Text,
    best_alignment,
    chunk_count,
)
from adequa.metrics.meteor.tables import (
    JAR,
    PARAPHRASES,
    Pairs,
    load_paraphrases,
    load_synonyms,
    paraphrase_digest,
    synonym_digest,
    table_file,
)
from adequa.metrics.meteor.words import NORMALISATIONS, words_of
from adequa.segments import FloatArray, Segments
from adequa.version import __version__

# Meteor 1.5's values for English, tuned to the WMT rankings of systems (its task "rank").
ALPHA: Final = 0.85
BETA: Final = 0.2
GAMMA: Final = 0.6
DELTA: Final = 0.75
# Weights go by place and not by module: with "exact+synonym" a synonym weighs 0.6, as in the jar.
WEIGHTS: Final = (1.0, 0.6, 0.8, 0.6)

_BATCH: Final = 1024  # segments that share one question to the paraphrase table, to bound memory
_LENGTHS: Final = 4  # words and function words of the hypothesis and of the reference


@dataclass(frozen=True)
class METEOR(Metric):
    """Weighted precision and recall of an alignment, less a penalty for its fragmentation.

    `modules` names what may match, in this order: `exact` words, words of one `stem`, words that
    share a WordNet `synonym` set, and `paraphrase` phrases. The last two read the official tables
    from the folder `tables`, or from the installed package `pycocoevalcap` where that is empty.
    `normalize` is one of `norm` (Meteor's flag `-norm`, as in the WMT metrics tasks),
    `norm_nopunct`, `lc_only` and `no_norm`.

    >>> metric = METEOR()
    >>> pair = Segments(("the cats sat on a mat",), (("the cat sat on the mat",),))
    >>> scores = metric.score(pair)
    >>> print(f"{scores.system:.4f}")
    0.4087
    >>> print(scores.signature)  # doctest: +ELLIPSIS
    meteor|nrefs:1|id:meteor-1.5-wo-en-norm-0.85_0.2_0.6_0.75-ex_st-1.0_0.6|version:...
    """

    name = "meteor"
    higher_is_better = True
    range = (0.0, 1.0)
    languages = frozenset({"en"})
    choices = {"normalize": NORMALISATIONS}  # noqa: RUF012 - never changed
    forms = {"modules": f"{', '.join(MODULES)}; several with + in this order"}  # noqa: RUF012

    modules: str = "exact+stem"
    normalize: str = "norm"
    tables: str = ""

    def __post_init__(self) -> None:
        names = self._modules
        for name in names:
            if name not in MODULES:
                raise AdequaError(
                    f'METEOR has no module "{name}", only {", ".join(MODULES)}.'
                    + nearest(name, MODULES)
                )
        if names[0] != "exact" or names != tuple(name for name in MODULES if name in names):
            raise AdequaError(
                f"METEOR takes its modules in the order {'+'.join(MODULES)} and always with exact, "
                f'not as "{self.modules}".'
            )
        super().__post_init__()
        self._digests()  # a missing table is an error now and not after a corpus has been read

    def for_language(self, code: str | None) -> METEOR:
        if code not in {None, "en"}:
            raise AdequaError(
                f"meteor is defined here for English alone: its stems, function words and weights "
                f"are English, and the translations are {language_name(code or '')}. Leave it out "
                "(chrf is for every language), or say -l en where they are English after all."
            )
        return self

    @property
    def _modules(self) -> tuple[str, ...]:
        return tuple(self.modules.split("+"))

    @property
    def _weights(self) -> tuple[float, ...]:
        return WEIGHTS[: len(self._modules)]

    def _digests(self) -> tuple[tuple[str, str], ...]:
        """What identifies the tables in use, wherever they lie."""
        digests = []
        if "synonym" in self._modules:
            digests.append(("synonyms", synonym_digest(table_file(self.tables, JAR))))
        if "paraphrase" in self._modules:
            path = table_file(self.tables, PARAPHRASES)
            digests.append(("paraphrases", paraphrase_digest(path)))
        return tuple(digests)

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        """The id that the jar prints for the same settings, the tables' digests, our version."""
        parts = (
            "meteor-1.5-wo-en",
            self.normalize,
            "_".join(map(str, (ALPHA, BETA, GAMMA, DELTA))),
            "_".join(name[:2] for name in self._modules),
            "_".join(map(str, self._weights)),
        )
        return (("id", "-".join(parts)), *self._digests(), ("version", __version__))

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(
            self._modules,
            load_synonyms(table_file(self.tables, JAR)) if "synonym" in self._modules else None,
            load_paraphrases(table_file(self.tables, PARAPHRASES))
            if "paraphrase" in self._modules
            else None,
        )

    def statistics(self, segments: Segments) -> FloatArray:
        """Counts of the best reference: lengths, matches by module, chunks.

        Columns: words of hypothesis and reference, function words of both; for each module the
        matched content words of hypothesis and reference, then the matched function words of
        both; chunks, 0 where the texts match completely in one.
        """
        matcher = self._matcher
        rows = range(len(segments))
        return np.concatenate(
            [
                self._batch_statistics(matcher, segments.select(rows[start : start + _BATCH]))
                for start in rows[::_BATCH]
            ]
        )

    def _batch_statistics(self, matcher: Matcher, segments: Segments) -> FloatArray:
        distinct = dict.fromkeys(segments.hypotheses)
        distinct |= dict.fromkeys(text for texts in segments.references for text in texts)
        in_order, pairs = matcher.read([words_of(text, self.normalize) for text in distinct])
        texts = dict(zip(distinct, in_order, strict=True))
        rows = np.array(
            [
                self._counts(matcher, texts[hypothesis], texts[reference], pairs)
                for hypothesis, references in zip(
                    segments.hypotheses, segments.references, strict=True
                )
                for reference in references
            ],
            np.float64,
        )
        return rows[_best_rows(self.segment_scores(rows), segments.references)]

    def _counts(
        self, matcher: Matcher, hypothesis: Text, reference: Text, pairs: Pairs
    ) -> list[int]:
        """One row of statistics: a hypothesis against one reference."""
        candidates, are_all = matcher.candidates(hypothesis, reference, pairs)
        self._limited.update(limited=not are_all)
        return _counts(matcher, hypothesis, reference, candidates)

    @cached_property
    def _limited(self) -> Counter[str]:
        """How many pairs of texts had more matches than are looked at."""
        return Counter()

    def counted_remarks(self) -> tuple[Remark, ...]:
        return budget_remarks(self.name, "matches", self._limited["limited"])

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        """The score of each row, by the equations of Denkowski and Lavie (2014).

        P and R are the weighted matches over the weighted lengths; F_mean is their weighted
        harmonic mean; frag is chunks over matches; Pen = gamma * frag^beta.
        """
        lengths, function_words = statistics[:, :2], statistics[:, 2:4]
        matches = statistics[:, _LENGTHS:-1].reshape(len(statistics), -1, 2, 2)
        chunks = statistics[:, -1]
        weighted_matches = np.zeros_like(lengths)
        # Summed in the jar's order, so that references which tie there tie here.
        for kind, delta in enumerate((DELTA, 1 - DELTA)):
            for module, weight in enumerate(self._weights):
                weighted_matches += matches[:, module, kind] * weight * delta
        weighted_lengths = DELTA * (lengths - function_words) + (1 - DELTA) * function_words
        with np.errstate(divide="ignore", invalid="ignore"):  # no words or no matches: score 0
            P, R = (weighted_matches / weighted_lengths).T  # noqa: N806  # the paper's letters
            F_mean = 1 / ((1 - ALPHA) / P + ALPHA / R)  # noqa: N806
            frag = chunks / (matches.sum(axis=(1, 2, 3)) / 2)
            Pen = GAMMA * frag**BETA  # noqa: N806
            scores: FloatArray = np.maximum(F_mean * (1 - Pen), 0.0)
        return np.nan_to_num(scores, nan=0.0)

    def system_scores(self, totals: FloatArray) -> FloatArray:
        return self.segment_scores(totals)


def _counts(
    matcher: Matcher, hypothesis: Text, reference: Text, candidates: Candidates
) -> list[int]:
    """One row of statistics from the candidates of two texts."""
    aligned = best_alignment(candidates, len(hypothesis.words))
    in_hypothesis, in_reference = hypothesis.function_words, reference.function_words
    matches = [[0] * 4 for _ in matcher.modules]
    for position, match in aligned:
        counts = matches[match.module]
        for word in in_hypothesis[match.begin : match.end]:
            counts[2 * word] += 1
        for word in in_reference[position : position + match.length]:
            counts[2 * word + 1] += 1
    lengths = [len(in_hypothesis), len(in_reference)]
    chunks = chunk_count(aligned)
    covered = [sum(counts[side] + counts[side + 2] for counts in matches) for side in (0, 1)]
    return [
        *lengths,
        sum(in_hypothesis),
        sum(in_reference),
        *(count for counts in matches for count in counts),
        0 if chunks == 1 and covered == lengths else chunks,
    ]


def _best_rows(scores: FloatArray, references: tuple[tuple[str, ...], ...]) -> list[int]:
    """Of each segment the row of its best reference, the first of equals."""
    best = []
    row = 0
    for texts in references:
        best.append(row + int(scores[row : row + len(texts)].argmax()))
        row += len(texts)
    return best
