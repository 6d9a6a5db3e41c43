"""Minimum Bayes risk: of several candidates for a sentence, the one that the others agree with.

The expected utility of a candidate is the mean of its scores against the other candidates, each of
them in turn as a pseudo-reference. Candidates that occur several times count as often. Blank ones
are no references, and are chosen only where there is nothing else. Of equally good candidates the
first is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
from scipy import sparse

from adequa.errors import AdequaError
from adequa.metrics.base import Metric
from adequa.metrics.chrf import Chrf
from adequa.metrics.registry import load_metric
from adequa.runtime.batching import distinct
from adequa.segments import FloatArray, Segments

_PAIRS = 16_384  # that are scored together: of several sentences where they have few candidates
CHECK_EVERY = 20  # sentences, of which one is also chosen for without pruning


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The choice among the candidates of one sentence."""

    index: int
    utility: float  # expected; NaN where there is nothing to compare with
    utilities: FloatArray  # of all candidates; NaN for those that were pruned


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which candidates are worth scoring: the best by a cheaper metric."""

    keep: int
    metric: Metric
    check_every: int = CHECK_EVERY  # 0 for no checks


@dataclass(slots=True)
class PruningLoss:
    """What pruning cost, over the sentences that were also chosen for without it."""

    checked: int = 0
    same: int = 0  # choices
    total: float = 0.0  # utility, in the metric's direction
    most: float = 0.0

    def add(self, lost: float, *, same: bool) -> None:
        """Count one sentence in."""
        self.checked += 1
        self.same += same
        self.total += lost
        self.most = max(self.most, lost)

    @property
    def mean(self) -> float:
        """Utility lost in a sentence."""
        return self.total / self.checked if self.checked else 0.0


def mbr(
    candidates: Iterable[Sequence[str]],
    metric: str | Metric = "adequa",
    *,
    keep: int | None = None,
    keep_by: str | Metric = "chrf",
    check_every: int = CHECK_EVERY,
    loss: PruningLoss | None = None,
) -> list[Choice]:
    """Choose among the candidates of each sentence by minimum Bayes risk.

    With `keep`, only so many candidates of a sentence, the best by the metric `keep_by`, are
    scored, against all others. What that cost is added to `loss`, from every so many sentences.

    >>> texts = [["Dogs!", "A cat sat there.", "A cat sat."]]
    >>> [choice.index for choice in mbr(texts, "chrf")]
    [1]
    """
    chosen = load_metric(metric) if isinstance(metric, str) else metric
    pruning = None
    if keep is not None:
        cheap = load_metric(keep_by) if isinstance(keep_by, str) else keep_by
        pruning = Pruning(keep, cheap, check_every)
    return list(choices(candidates, chosen, pruning, loss))


def choices(
    sentences: Iterable[Sequence[str]],
    metric: Metric,
    pruning: Pruning | None = None,
    loss: PruningLoss | None = None,
) -> Iterator[Choice]:
    """The choice for each sentence, as they come; several of them are scored at a time."""
    for each in (metric, *([] if pruning is None else [pruning.metric])):
        if each.needs_whole_corpus or each.columns:
            raise AdequaError(f"{each.name} scores no single pairs of texts; choose by another.")
    if pruning is not None and pruning.keep < 1:
        raise AdequaError(f"Pruning must keep 1 candidate or more, not {pruning.keep}.")
    number = 0
    for some in _together(sentences):
        numbers = range(number, number + len(some))
        number += len(some)
        yield from _chosen(some, numbers, metric, pruning, PruningLoss() if loss is None else loss)


@dataclass(frozen=True, slots=True, eq=False)
class _Sentence:
    """The different candidates of a sentence, how often each occurs, and where each is from."""

    texts: list[str]
    at: list[int]  # by candidate, its text
    times: list[int]  # by text
    references: list[int]  # texts that can be references

    @classmethod
    def of(cls, candidates: Sequence[str]) -> _Sentence:
        if not candidates:
            raise AdequaError("A sentence has no candidates to choose from.")
        texts, at = distinct(list(candidates))
        times = np.bincount(at, minlength=len(texts)).tolist()
        references = [place for place, text in enumerate(texts) if text.strip()]
        return cls(texts, at.tolist(), times, references)


def _together(sentences: Iterable[Sequence[str]]) -> Iterator[list[_Sentence]]:
    """As many sentences at a time as make a good number of pairs."""
    held: list[_Sentence] = []
    pairs = 0
    for number, candidates in enumerate(sentences):
        if isinstance(candidates, str) or not all(isinstance(each, str) for each in candidates):
            raise AdequaError(f"candidates[{number}] must be a list of strings.")
        held.append(_Sentence.of(candidates))
        pairs += len(held[-1].texts) ** 2
        if pairs >= _PAIRS:
            yield held
            held, pairs = [], 0
    if held:
        yield held


def _chosen(
    some: Sequence[_Sentence],
    numbers: Sequence[int],
    metric: Metric,
    pruning: Pruning | None,
    loss: PruningLoss,
) -> Iterator[Choice]:
    kept = [list(range(len(sentence.texts))) for sentence in some]
    checked: set[int] = set()
    if pruning is not None:
        cheap = _expected(some, kept, pruning.metric)
        pruned = [
            _best(sentence, values, everything, pruning.metric)[: pruning.keep]
            for sentence, values, everything in zip(some, cheap, kept, strict=True)
        ]
        if pruning.check_every:
            checked = {at for at, number in enumerate(numbers) if number % pruning.check_every == 0}
        kept = [
            everything if at in checked else few
            for at, (everything, few) in enumerate(zip(kept, pruned, strict=True))
        ]
    for at, values in enumerate(_expected(some, kept, metric)):
        among = kept[at]
        if at in checked:
            among = pruned[at]
            _count_loss(loss, some[at], values, among, metric)
            values[[text for text in range(len(values)) if text not in among]] = np.nan
        text = _best(some[at], values, among, metric)[0]
        yield Choice(some[at].at.index(text), float(values[text]), values[some[at].at])


def _count_loss(
    loss: PruningLoss, sentence: _Sentence, values: FloatArray, kept: Sequence[int], metric: Metric
) -> None:
    best = _best(sentence, values, range(len(sentence.texts)), metric)[0]
    found = _best(sentence, values, kept, metric)[0]
    if best == found:
        loss.add(0.0, same=True)
    else:
        loss.add(abs(float(values[best] - values[found])), same=False)


def _best(
    sentence: _Sentence, values: FloatArray, among: Iterable[int], metric: Metric
) -> list[int]:
    """Texts, the best first: blank ones last, and of equals the one of the first candidate.

    The only text that is not blank has nothing to be compared with, and is the best all the same.
    """
    sign = -1 if metric.higher_is_better else 1
    blank = set(range(len(sentence.texts))) - set(sentence.references)

    def rank(text: int) -> tuple[bool, bool, float, int]:
        unknown = math.isnan(values[text])
        return text in blank, unknown, 0.0 if unknown else sign * values[text], text

    return sorted(among, key=rank)


def _expected(
    some: Sequence[_Sentence], kept: Sequence[Sequence[int]], metric: Metric
) -> list[FloatArray]:
    """The expected utility of the texts that are kept of each sentence, NaN for the others."""
    if isinstance(metric, Chrf):
        scores = [pairwise_chrf(metric, sentence.texts) for sentence in some]
    else:
        scores = _scored_together(some, kept, metric)
    return [
        _means(sentence, texts, matrix)
        for sentence, texts, matrix in zip(some, kept, scores, strict=True)
    ]


def _means(sentence: _Sentence, kept: Sequence[int], scores: FloatArray) -> FloatArray:
    found = np.full(len(sentence.texts), np.nan)
    for text in kept:
        times = [
            (scores[text, other], sentence.times[other] - (text == other))
            for other in sentence.references
        ]
        count = sum(often for _, often in times)
        if count:
            # Exact, so that the order of candidates cannot make two equals differ.
            values = chain.from_iterable(repeat(float(value), often) for value, often in times)
            found[text] = math.fsum(values) / count
    return found


def _scored_together(
    some: Sequence[_Sentence], kept: Sequence[Sequence[int]], metric: Metric
) -> list[FloatArray]:
    """Scores of texts against each other, for several sentences in one call of the metric."""
    pairs = (
        (at, text, other)
        for at, sentence in enumerate(some)
        for other in sentence.references
        for text in kept[at]
        if text != other or sentence.times[other] > 1
    )
    matrices = [np.full((len(s.texts), len(s.texts)), np.nan) for s in some]
    while part := list(islice(pairs, _PAIRS)):
        segments = Segments(
            tuple(some[at].texts[text] for at, text, _ in part),
            tuple((some[at].texts[other],) for at, _, other in part),
        )
        scores = metric.segment_scores(metric.checked_statistics(segments))
        for (at, text, other), score in zip(part, scores.tolist(), strict=True):
            matrices[at][text, other] = score
    return matrices


_COUNTS = 1 << 22  # that are held at a time: some rows of the pairs


def pairwise_chrf(metric: Chrf, texts: Sequence[str]) -> FloatArray:
    """Scores, shape (texts, texts): row i, column j is text i against text j as its reference.

    >>> pairwise_chrf(Chrf(), ["the cat", "a cat", "dogs"]).round(1)
    array([[100. ,  42.3,   0. ],
           [ 31.2, 100. ,   0. ],
           [  0. ,   0. , 100. ]])
    """
    counted = [metric.ngrams(text) for text in texts]
    size, orders = len(texts), metric.char_order + metric.word_order
    by_order = [[ngrams[order] for ngrams in counted] for order in range(orders)]
    totals = [np.array([sum(each.values()) for each in ngrams], np.float64) for ngrams in by_order]
    ones = [_ones(ngrams) for ngrams in by_order]
    scores = np.empty((size, size))
    rows = max(1, _COUNTS // max(size * 3 * orders, 1))
    for start in range(0, size, rows):
        part = slice(start, start + rows)
        counts = np.empty((len(totals[0][part]), size, 3 * orders))
        for order in range(orders):
            of_order = totals[order]
            # As sacreBLEU has it: a hypothesis is not charged for an order its reference lacks.
            counts[:, :, 3 * order] = np.where(of_order[None, :] > 0, of_order[part, None], 0.0)
            counts[:, :, 3 * order + 1] = of_order[None, :]
            counts[:, :, 3 * order + 2] = (ones[order][part] @ ones[order].T).toarray()
        scores[part] = metric.formula(counts.reshape(-1, 3 * orders)).reshape(-1, size)
    return scores


def _ones(counted: Sequence[dict[str, int]]) -> Any:
    """A sparse matrix: by text, a one for each time that an n-gram occurs in it."""
    places: dict[object, int] = {}
    columns: list[int] = []
    ends = [0]
    for ngrams in counted:
        for ngram, count in ngrams.items():
            columns.append(places.setdefault(ngram, len(places)))
            if count > 1:
                again = [(ngram, time) for time in range(1, count)]
                columns += [places.setdefault(key, len(places)) for key in again]
        ends.append(len(columns))
    return sparse.csr_matrix(
        (np.ones(len(columns)), columns, ends), shape=(len(counted), max(len(places), 1))
    )
