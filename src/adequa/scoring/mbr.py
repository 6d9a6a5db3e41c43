"""Minimum Bayes risk: of the candidates for a sentence, the one that the others agree with most.

The expected utility of a candidate is the mean of its scores against the other candidates, each of
them in turn as a pseudo-reference, and with the source of the sentence where the metric reads
it. A candidate that occurs several times counts as often. Blank
ones are no references, and are chosen only if there is nothing else. Ties go to the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from typing import Any, overload

import numpy as np
from scipy import sparse

from adequa.errors import AdequaError, counted
from adequa.io.candidates import CandidateList
from adequa.languages import UNKNOWN_LANGUAGE, TargetLanguage
from adequa.metrics.base import Metric, Part
from adequa.metrics.registry import load_metric
from adequa.metrics.sacrebleu_metrics import CHRF
from adequa.runtime.batching import distinct
from adequa.scoring.rerank import (
    candidate_language,
    cell_of,
    check_pairwise,
    checked_candidates,
    choice_notes,
    metric_column,
    metric_facts,
    metric_for_candidates,
    numbered_candidates,
    sources_for,
)
from adequa.segments import FloatArray, Segments
from adequa.tables import Column, Result, Table, finite

_PAIRS = 16_384  # pairs that are scored together, of several sentences if these have few candidates
_READ_PARTS: tuple[Part, ...] = ("source",)  # of sentences; candidates take turns as references
CHECK_EVERY = 20  # sentences, one of which is also decided without pruning


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The choice among the candidates of one sentence."""

    id: Any
    candidates: tuple[str, ...]
    index: int
    utility: float  # expected utility; NaN if there is no other candidate
    utilities: FloatArray  # by candidate; NaN for pruned ones

    @property
    def best(self) -> str:
        """The chosen candidate."""
        return self.candidates[self.index]

    def to_dict(self, metric: str) -> dict[str, Any]:
        """The object that JSONL has of a sentence; candidates are numbered from 1."""
        return {
            "id": self.id,
            "mt": self.best,
            "candidate": self.index + 1,
            metric: finite(float(self.utility)),
        }


@dataclass(slots=True)
class PruningLoss:
    """The cost of pruning, over the sentences that were also decided without it."""

    checked: int = 0
    same: int = 0  # sentences with the same choice
    total: float = 0.0  # utility lost, in the metric's direction
    largest: float = 0.0

    def add(self, loss: float, *, same: bool) -> None:
        """Add the loss of one sentence."""
        self.checked += 1
        self.same += same
        self.total += loss
        self.largest = max(self.largest, loss)

    @property
    def mean(self) -> float:
        """Mean utility lost in a sentence."""
        return self.total / self.checked if self.checked else 0.0


@dataclass(frozen=True, slots=True)
class Pruning:
    """Score only the `keep` best candidates by a cheaper metric, and measure what that costs."""

    keep: int
    metric: Metric
    check_every: int = CHECK_EVERY  # 0 for no checks
    loss: PruningLoss = field(default_factory=PruningLoss)

    def summary(self, metric: str) -> str:
        """A note on what pruning cost in utility."""
        scored = f"scored {counted(self.keep, 'candidate')} per sentence"
        loss = self.loss
        if not loss.checked:
            return f"{scored}; the loss was not checked"
        return (
            f"{scored}; checked on {counted(loss.checked, 'sentence')}: "
            f"{loss.same:,} with the same choice as without pruning; mean loss {loss.mean:.4g} "
            f"{metric}, largest {loss.largest:.4g}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Choices(Result, Sequence[Choice]):
    """The choices for all sentences; a sequence of `Choice`."""

    choices: tuple[Choice, ...]
    metric: Metric
    pruning: Pruning | None = None
    language: TargetLanguage = UNKNOWN_LANGUAGE  # of the candidates

    @overload
    def __getitem__(self, index: int) -> Choice: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Choice, ...]: ...
    def __getitem__(self, index: int | slice) -> Choice | tuple[Choice, ...]:
        """The choice for a sentence."""
        return self.choices[index]

    def __len__(self) -> int:
        return len(self.choices)

    @property
    def signature(self) -> str:
        """The signature of the scores, each against one other candidate."""
        return str(self.metric.segment_signature(1))

    def tables(self) -> tuple[Table, ...]:
        """One row per sentence."""
        return (self.long_table(),)

    def long_table(self) -> Table:
        """One row per sentence: the chosen candidate, its number and its expected utility."""
        columns = (
            Column("id"),
            Column("candidate", "integer"),
            metric_column(self.metric, self.language),
            Column("mt"),
        )
        rows = [
            (cell_of(each.id), each.index + 1, finite(float(each.utility)), each.best)
            for each in self.choices
        ]
        return Table(columns, rows, notes=choice_notes(self.metric, self.language, self.signature))

    def to_dict(self) -> dict[str, Any]:
        """The metric, its signature, and a list with one object per sentence, as JSONL has it."""
        return {
            **metric_facts(self.metric, self.language, self.signature),
            "sentences": [each.to_dict(self.metric.name) for each in self.choices],
        }


def mbr(
    candidates: Iterable[Sequence[str]],
    metric: str | Metric | None = None,
    *,
    sources: Iterable[str] | None = None,
    language: str | TargetLanguage | None = None,
    keep: int | None = None,
    keep_by: str | Metric = "chrf",
    check_every: int = CHECK_EVERY,
) -> Choices:
    """Choose among the candidates of each sentence by minimum Bayes risk.

    `language` and the default of `metric` are those of `score`. `sources` are texts, one for each
    sentence, for metrics that also read them.
    With `keep`, only the best candidates by the metric `keep_by` are scored, against all others.
    Every so many sentences are also decided in full; `Choices.pruning.loss` has what pruning cost.

    >>> texts = [["Dogs!", "A cat sat there.", "A cat sat."]]
    >>> [choice.best for choice in mbr(texts, "chrf")]
    ['A cat sat there.']
    """
    target, sentences = candidate_language(numbered_candidates(candidates, sources), language)
    scorer = metric_for_candidates(metric, target)
    pruning = None
    if keep is not None:
        pruning = Pruning(keep, load_metric(keep_by).for_language(target.code), check_every)
    return Choices(tuple(choices(sentences, scorer, pruning)), scorer, pruning, target)


def choices(
    sentences: Iterable[CandidateList], metric: Metric, pruning: Pruning | None = None
) -> Iterator[Choice]:
    """Choose for sentences as they come; several sentences are scored at a time."""
    check_pairwise(metric)
    if "reference" not in metric.reads:
        raise AdequaError(
            f"{metric.name} reads no references, and minimum Bayes risk takes candidates for "
            "references of each other; order them with `adequa rerank`, or name another metric."
        )
    if pruning is not None:
        check_pairwise(pruning.metric)
        if pruning.keep < 1:
            raise AdequaError(f"Pruning must keep 1 candidate or more, not {pruning.keep}.")
        sentences = checked_candidates(sentences, pruning.metric, _READ_PARTS)
    sentences = checked_candidates(sentences, metric, _READ_PARTS)
    first = 0
    for batch in _batches(sentences):
        yield from _chosen(batch, first, metric, pruning)
        first += len(batch)


@dataclass(frozen=True, slots=True, eq=False)
class _Sentence:
    """The distinct candidates of a sentence, and how often each occurs."""

    source: CandidateList
    texts: list[str]
    text_of: list[int]  # by candidate, the index of its text
    counts: list[int]  # by text
    references: list[int]  # texts that can be references

    @classmethod
    def of(cls, source: CandidateList) -> _Sentence:
        if not source.candidates:
            raise AdequaError("A sentence has no candidates to choose from.")
        texts, text_of = distinct(list(source.candidates))
        counts = np.bincount(text_of, minlength=len(texts)).tolist()
        references = [index for index, text in enumerate(texts) if text.strip()]
        return cls(source, texts, text_of.tolist(), counts, references)


def _batches(sentences: Iterable[CandidateList]) -> Iterator[list[_Sentence]]:
    """As many sentences at a time as give enough pairs for a batch."""
    batch: list[_Sentence] = []
    pairs = 0
    for each in sentences:
        batch.append(_Sentence.of(each))
        pairs += len(batch[-1].texts) ** 2
        if pairs >= _PAIRS:
            yield batch
            batch, pairs = [], 0
    if batch:
        yield batch


def _chosen(
    batch: Sequence[_Sentence], first: int, metric: Metric, pruning: Pruning | None
) -> Iterator[Choice]:
    """Choose for a batch; `first` is the number of its first sentence, from 0."""
    every = [list(range(len(sentence.texts))) for sentence in batch]
    selected, scored = every, every
    if pruning is not None:
        cheap = _expected_utilities(batch, every, pruning.metric)
        selected = [
            _ordered(sentence, utilities, texts, pruning.metric)[: pruning.keep]
            for sentence, utilities, texts in zip(batch, cheap, every, strict=True)
        ]
        step = pruning.check_every
        scored = [
            every[index] if step and (first + index) % step == 0 else selected[index]
            for index in range(len(batch))
        ]
    all_utilities = _expected_utilities(batch, scored, metric)
    for index, (sentence, utilities) in enumerate(zip(batch, all_utilities, strict=True)):
        text = _ordered(sentence, utilities, selected[index], metric)[0]
        if pruning is not None and scored[index] is every[index]:  # decided in full as well
            best = _ordered(sentence, utilities, every[index], metric)[0]
            same = best == text
            loss = 0.0 if same else abs(float(utilities[best] - utilities[text]))
            pruning.loss.add(loss, same=same)
            utilities[[each for each in every[index] if each not in selected[index]]] = np.nan
        yield Choice(
            sentence.source.id,
            sentence.source.candidates,
            sentence.text_of.index(text),
            float(utilities[text]),
            utilities[sentence.text_of],
        )


def _ordered(
    sentence: _Sentence, utilities: FloatArray, texts: Iterable[int], metric: Metric
) -> list[int]:
    """Texts, the best first: blank ones last, and ties in the order of the candidates.

    A single text that is not blank has nothing to be compared with, and is the best all the same.
    """
    sign = -1 if metric.higher_is_better else 1
    blank = set(range(len(sentence.texts))) - set(sentence.references)

    def key(text: int) -> tuple[bool, bool, float, int]:
        missing = math.isnan(utilities[text])
        return text in blank, missing, 0.0 if missing else sign * utilities[text], text

    return sorted(texts, key=key)


def _expected_utilities(
    batch: Sequence[_Sentence], scored: Sequence[Sequence[int]], metric: Metric
) -> list[FloatArray]:
    """The expected utility of the scored texts of each sentence, NaN for the others."""
    if "reference" not in metric.reads:
        return _source_scores(batch, scored, metric)
    if isinstance(metric, CHRF):
        matrices = [pairwise_chrf(metric, sentence.texts) for sentence in batch]
    else:
        matrices = _pairwise_scores(batch, scored, metric)
    return [
        _means(sentence, texts, scores)
        for sentence, texts, scores in zip(batch, scored, matrices, strict=True)
    ]


def _source_scores(
    batch: Sequence[_Sentence], scored: Sequence[Sequence[int]], metric: Metric
) -> list[FloatArray]:
    """The scores of the scored texts of each sentence against its source, NaN for the others."""
    pairs = [(index, text) for index, texts in enumerate(scored) for text in texts]
    segments = Segments(
        tuple(batch[index].texts[text] for index, text in pairs),
        ((),) * len(pairs),
        sources_for(metric, (batch[index].source for index, _ in pairs)),
    )
    utilities = [np.full(len(sentence.texts), np.nan) for sentence in batch]
    scores = metric.segment_scores(metric.checked_statistics(segments))
    for (index, text), score in zip(pairs, scores.tolist(), strict=True):
        utilities[index][text] = score
    return utilities


def _means(sentence: _Sentence, scored: Sequence[int], scores: FloatArray) -> FloatArray:
    means = np.full(len(sentence.texts), np.nan)
    for text in scored:
        weighted = [
            (scores[text, other], sentence.counts[other] - (text == other))
            for other in sentence.references
        ]
        total = sum(count for _, count in weighted)
        if total:
            # An exact sum, so that the order of candidates cannot break a tie.
            values = chain.from_iterable(repeat(float(score), count) for score, count in weighted)
            means[text] = math.fsum(values) / total
    return means


def _pairwise_scores(
    batch: Sequence[_Sentence], scored: Sequence[Sequence[int]], metric: Metric
) -> list[FloatArray]:
    """Scores of texts against each other, pairs of several sentences in one call of the metric."""
    pairs = (
        (index, text, other)
        for index, sentence in enumerate(batch)
        for other in sentence.references
        for text in scored[index]
        if text != other or sentence.counts[other] > 1
    )
    matrices = [np.full((len(each.texts), len(each.texts)), np.nan) for each in batch]
    while part := list(islice(pairs, _PAIRS)):
        segments = Segments(
            tuple(batch[index].texts[text] for index, text, _ in part),
            tuple((batch[index].texts[other],) for index, _, other in part),
            sources_for(metric, (batch[index].source for index, _, _ in part)),
        )
        scores = metric.segment_scores(metric.checked_statistics(segments))
        for (index, text, other), score in zip(part, scores.tolist(), strict=True):
            matrices[index][text, other] = score
    return matrices


_MAX_COUNTS = 1 << 22  # n-gram counts in memory at a time: some rows of the pairs


def pairwise_chrf(metric: CHRF, texts: Sequence[str]) -> FloatArray:
    """Scores, shape (texts, texts): row i, column j is text i against text j as its reference.

    >>> pairwise_chrf(CHRF(), ["the cat", "a cat", "dogs"]).round(1)
    array([[100. ,  42.3,   0. ],
           [ 31.2, 100. ,   0. ],
           [  0. ,   0. , 100. ]])
    """
    counted = [metric.ngrams(text) for text in texts]
    size, orders = len(texts), metric.char_order + metric.word_order
    by_order = [[ngrams[order] for ngrams in counted] for order in range(orders)]
    totals = [np.array([sum(each.values()) for each in ngrams], np.float64) for ngrams in by_order]
    occurrences = [_occurrences(ngrams) for ngrams in by_order]
    scores = np.empty((size, size))
    rows = max(1, _MAX_COUNTS // max(size * 3 * orders, 1))
    for start in range(0, size, rows):
        part = slice(start, start + rows)
        counts = np.empty((len(totals[0][part]), size, 3 * orders))
        for order in range(orders):
            of_order = totals[order]
            # As in sacreBLEU, an order that the reference lacks does not count for a hypothesis.
            counts[:, :, 3 * order] = np.where(of_order[None, :] > 0, of_order[part, None], 0.0)
            counts[:, :, 3 * order + 1] = of_order[None, :]
            counts[:, :, 3 * order + 2] = (
                occurrences[order][part] @ occurrences[order].T
            ).toarray()
        scores[part] = metric.formula(counts.reshape(-1, 3 * orders)).reshape(-1, size)
    return scores


def _occurrences(counted: Sequence[dict[str, int]]) -> Any:
    """A sparse matrix, texts by n-grams; each repetition of an n-gram has its own column."""
    column_of: dict[object, int] = {}
    columns: list[int] = []
    ends = [0]
    for ngrams in counted:
        for ngram, count in ngrams.items():
            columns.append(column_of.setdefault(ngram, len(column_of)))
            if count > 1:
                further = [(ngram, occurrence) for occurrence in range(1, count)]
                columns += [column_of.setdefault(key, len(column_of)) for key in further]
        ends.append(len(columns))
    return sparse.csr_matrix(
        (np.ones(len(columns)), columns, ends), shape=(len(counted), max(len(column_of), 1))
    )
