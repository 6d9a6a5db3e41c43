"""NIST (Doddington, 2002): n-gram matches weighted by how much they tell, as mteval-v13a does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.metrics.base import HIGHEST_ORDER, SPACE_TOKENIZERS, Metric
from adequa.metrics.edit_rates import TOKENIZERS, word_splitter
from adequa.segments import FloatArray, Segments

IntArray: TypeAlias = npt.NDArray[np.int64]

# A hypothesis with two thirds of the reference's words loses half of its score.
BETA = -math.log(0.5) / math.log(1.5) ** 2

_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


@dataclass(frozen=True)
class NIST(Metric):
    """Information of the matched n-grams per n-gram, times a length penalty; 0 and up, higher best.

    An n-gram w1...wn tells Info = log2(count(w1...wn-1) / count(w1...wn)) bits, counted over all
    references of all segments, so rare n-grams weigh more. For each order up to 5 the information
    of the matches (clipped by the highest count of any reference) is divided by the number of
    hypothesis n-grams; the sum over orders is multiplied by exp(-β ln²(min(1, length ratio))), with
    the average reference length. A perfect translation's score depends on the text.

    The definition is NIST's script mteval-v13a.pl, segment and system scores alike, to its last
    particular: under the tokenizer 13a only the letters A to Z are lower-cased, and the information
    of a bigram that begins with the word "0" is counted as if it had no context.

    Statistics per segment: average reference length, then for each order the matched information,
    then for each order the hypothesis n-grams. They depend on the references of the whole corpus.

    >>> two = Segments(("the cat sat", "a dog ran"), (("the cat sat",), ("the dog ran",)))
    >>> NIST().score(two).segments.round(4).tolist()
    [2.7516, 1.7233]
    """

    name = "nist"
    higher_is_better = True
    range = (0, math.inf)
    needs_whole_corpus = True
    versioned_packages = ("sacrebleu",)  # its tokenizers
    choices = {"tokenize": TOKENIZERS}  # noqa: RUF012 - never changed
    limits = {"max_ngram_order": (1, HIGHEST_ORDER)}  # noqa: RUF012

    lowercase: bool = True
    tokenize: str = "13a"
    max_ngram_order: int = 5

    @property
    def splits_at_spaces(self) -> bool:
        return self.tokenize in SPACE_TOKENIZERS

    def statistics(self, segments: Segments) -> FloatArray:
        split = self._splitter()
        vocabulary: dict[str, int] = {}
        references = _laid_end_to_end(
            ([vocabulary.setdefault(w, len(vocabulary)) for w in split(text)] for text in texts)
            for texts in segments.references
        )
        hypotheses = _laid_end_to_end(
            [[vocabulary.get(word, -1) for word in split(text)]] for text in segments.hypotheses
        )
        information = np.zeros((len(segments), self.max_ngram_order))
        for n, (segment, bits) in enumerate(
            _matched_information(hypotheses, references, vocabulary, self.max_ngram_order)
        ):
            information[:, n] = np.bincount(segment, bits, len(segments))
        lengths = np.bincount(hypotheses.segment, minlength=len(segments))
        totals = np.maximum(lengths[:, None] - np.arange(self.max_ngram_order), 0)
        reference_words = np.bincount(references.segment, minlength=len(segments))
        reference_length = reference_words / [len(texts) for texts in segments.references]
        return np.column_stack([reference_length, information, totals])

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        reference_length = statistics[:, 0]
        information, totals = np.hsplit(statistics[:, 1:], 2)
        bits: FloatArray = (information / np.maximum(totals, 1)).sum(axis=1)
        return bits * length_penalty(totals[:, 0], reference_length)

    def system_scores(self, totals: FloatArray) -> FloatArray:
        return self.segment_scores(totals)

    def _splitter(self) -> Callable[[str], list[str]]:
        if self.lowercase and self.tokenize == "13a":
            split = word_splitter(self.tokenize, lowercase=False)
            return lambda text: " ".join(split(text)).translate(_ASCII_LOWER).split()
        return word_splitter(self.tokenize, lowercase=self.lowercase)


def length_penalty(hypothesis_length: FloatArray, reference_length: FloatArray) -> FloatArray:
    """exp(-β ln²(min(1, ratio))): 1 for hypotheses as long as the reference or longer.

    >>> length_penalty(np.array([0.0, 2.0, 3.0, 4.0]), np.full(4, 3.0)).round(3).tolist()
    [0.0, 0.5, 1.0, 1.0]
    """
    shorter = hypothesis_length < reference_length
    ratio = np.where(shorter, hypothesis_length, 1) / np.where(shorter, reference_length, 1)
    penalty = np.exp(-BETA * np.log(np.where(ratio > 0, ratio, 1)) ** 2)
    return np.where(ratio > 0, penalty, 0.0)


class _Words(NamedTuple):
    """Texts as word numbers, laid end to end; one entry per word."""

    word: IntArray
    room: IntArray  # words from this one to the end of its text, itself included
    text: IntArray  # number of its text
    segment: IntArray  # number of its segment


class _Grams(NamedTuple):
    """n-grams of one order: where they start among the words, and which they are."""

    start: IntArray
    number: IntArray


def _laid_end_to_end(segments: Iterable[Iterable[list[int]]]) -> _Words:
    words: list[int] = []
    lengths: list[int] = []
    owners: list[int] = []
    for segment, texts in enumerate(segments):
        for numbers in texts:
            words += numbers
            lengths.append(len(numbers))
            owners.append(segment)
    text = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    return _Words(
        word=np.array(words, dtype=np.int64),
        room=np.cumsum(lengths)[text] - np.arange(len(words)),
        text=text,
        segment=np.array(owners, dtype=np.int64)[text],
    )


def _matched_information(
    hypotheses: _Words, references: _Words, vocabulary: dict[str, int], orders: int
) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each order, segments and the bits that a matched n-gram of theirs tells, in all matches.

    An n-gram is numbered by the number of its first n-1 words and its last word, so each order
    needs one sort of whole numbers. A hypothesis n-gram that no reference holds is dropped, and
    with it every longer one that begins with it.
    """
    of_hypotheses, of_references = _empty_contexts(hypotheses), _empty_contexts(references)
    context_count = np.array([len(references.word)])
    for n in range(1, orders + 1):
        of_references = _extended(references, of_references, n, len(vocabulary))
        if not len(of_references.start):
            return
        grams, number, count = np.unique(
            of_references.number, return_inverse=True, return_counts=True
        )
        of_references = _Grams(of_references.start, number)
        information = np.log2(context_count[grams // len(vocabulary)] / count)

        of_hypotheses = _extended(hypotheses, of_hypotheses, n, len(vocabulary))
        index, mask = _lookup(of_hypotheses.number, grams)
        of_hypotheses = _Grams(of_hypotheses.start[mask], index)

        segment, gram, matches = _clipped(
            hypotheses, of_hypotheses, references, of_references, len(grams)
        )
        yield segment, information[gram] * matches

        context_count = count
        if n == 1 and "0" in vocabulary:
            # mteval asks Perl whether the context is a true string, and "0" is not.
            context_count[vocabulary["0"]] = len(references.word)


def _empty_contexts(words: _Words) -> _Grams:
    """The 0-grams: every word follows the same nothing."""
    return _Grams(
        np.arange(len(words.word), dtype=np.int64), np.zeros(len(words.word), dtype=np.int64)
    )


def _extended(words: _Words, grams: _Grams, n: int, vocabulary_size: int) -> _Grams:
    """The n-grams that begin with these (n-1)-grams, numbered sparsely; -1 for an unknown word."""
    fits = words.room[grams.start] >= n
    start = grams.start[fits]
    last = words.word[start + n - 1]
    return _Grams(start, np.where(last >= 0, grams.number[fits] * vocabulary_size + last, -1))


def _lookup(keys: IntArray, table: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Indices in a sorted table of those keys that are in it, and a mask of these keys."""
    index = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    mask = table[index] == keys
    return index[mask], mask


def _clipped(
    hypotheses: _Words,
    of_hypotheses: _Grams,
    references: _Words,
    of_references: _Grams,
    grams: int,
) -> tuple[IntArray, IntArray, IntArray]:
    """Segment, n-gram and matches of every n-gram of every hypothesis.

    Matches are clipped by the highest count that any one reference of the segment has.
    """
    keys, counts = np.unique(
        hypotheses.segment[of_hypotheses.start] * grams + of_hypotheses.number, return_counts=True
    )
    if not len(keys):
        return keys, keys, counts
    index, mask = _lookup(
        references.segment[of_references.start] * grams + of_references.number, keys
    )
    texts = references.text[of_references.start[mask]]
    in_text, text_counts = np.unique(texts * len(keys) + index, return_counts=True)
    most = np.zeros_like(counts)
    np.maximum.at(most, in_text % len(keys), text_counts)
    return keys // grams, keys % grams, np.minimum(counts, most)
