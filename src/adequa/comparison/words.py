"""Words and n-grams of the references that systems reproduce, as compare-mt counts them.

An n-gram of an output *matches* where the reference of the segment has it, at most as often as the
reference does. Two tables follow from these counts: the n-grams that one system matches more often
than another, and the accuracy of words by how frequent they are. Words are those of the first
reference, with punctuation split off (characters where a script has no spaces), and case counts.

Words and n-grams are integers in arrays, from tokenization on: ten thousand segments of twenty
systems have twenty million n-grams.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adequa.comparison.buckets import tokenizer_of
from adequa.errors import AdequaError
from adequa.metrics.edit_rates import word_splitter
from adequa.segments import FloatArray, IntArray
from adequa.tables import plain

if TYPE_CHECKING:
    from adequa.comparison.compare import Outputs

MAX_LENGTH = 4  # words of an n-gram
SMOOTHING = 1.0  # added to both counts of a ratio
MAX_NGRAMS = 20  # listed for each of two systems
FREQUENCIES = (1, 2, 3, 4, 5, 10, 100, 1000)  # at which a class of words begins, after "never"


class NgramDifference(NamedTuple):
    """An n-gram of the references that one of two systems matches more often."""

    ngram: str
    reference: int  # occurrences in the references
    first: int  # matches of the first system
    second: int
    ratio: float  # fraction of the matches that are the second system's, smoothed


@dataclass(frozen=True, slots=True, eq=False)
class NgramMatches:
    """How often each system matches each n-gram of the references."""

    words: list[str]  # of all references, one after the other
    starts: IntArray  # of each n-gram, its first occurrence in the words
    lengths: IntArray
    reference: IntArray  # occurrences in the references
    matches: IntArray  # (systems, n-grams)

    def text(self, index: int) -> str:
        """The words of an n-gram with spaces between them."""
        start = int(self.starts[index])
        return " ".join(self.words[start : start + int(self.lengths[index])])

    def ratios(self, first: int, second: int) -> FloatArray:
        """For each n-gram, the smoothed fraction of matches that are the second system's."""
        one, other = self.matches[first], self.matches[second]
        return np.asarray((other + SMOOTHING) / (one + other + 2 * SMOOTHING))

    def largest_ratios(self, first: int, second: int, count: int = MAX_NGRAMS) -> list[int]:
        """Indices of the n-grams that the second system matches more often, largest ratio first.

        Of equal ratios the n-gram with more matches comes first, then the longer one.
        """
        indices = np.flatnonzero(self.matches[second] > self.matches[first])
        ratios = self.ratios(first, second)[indices]
        if len(indices) > count:
            smallest = np.partition(ratios, -count)[-count]
            indices, ratios = indices[ratios >= smallest], ratios[ratios >= smallest]
        order = np.lexsort(
            (self.starts[indices], -self.lengths[indices], -self.matches[second, indices], -ratios)
        )
        return [int(index) for index in indices[order[:count]]]

    def differences(
        self, first: int, second: int, count: int = MAX_NGRAMS
    ) -> tuple[list[NgramDifference], list[NgramDifference]]:
        """N-grams that the second system matches more often, and those of the first."""
        ratios = self.ratios(first, second)
        for_second, for_first = (
            [
                NgramDifference(
                    self.text(index),
                    int(self.reference[index]),
                    int(self.matches[first, index]),
                    int(self.matches[second, index]),
                    float(ratios[index]),
                )
                for index in self.largest_ratios(*pair, count)
            ]
            for pair in ((first, second), (second, first))
        )
        return for_second, for_first


@dataclass(frozen=True, slots=True, eq=False)
class WordClass:
    """Words of about one frequency: how many there are, and how many each system matches."""

    label: str
    reference: int  # words of the references
    outputs: IntArray  # words of each system
    matches: IntArray  # of them, those that the reference has too

    @property
    def precision(self) -> FloatArray:
        """For each system, matches over words of the outputs; NaN without any."""
        return _fraction(self.matches, self.outputs)

    @property
    def recall(self) -> FloatArray:
        """For each system, matches over words of the references; NaN without any."""
        return _fraction(self.matches, np.full_like(self.outputs, self.reference))

    @property
    def f1(self) -> FloatArray:
        """For each system, the harmonic mean of precision and recall."""
        return _fraction(2 * self.matches, self.outputs + self.reference)

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """The class with the names of systems, ready for JSON."""
        columns = (self.outputs, self.matches, self.precision, self.recall, self.f1)
        keys = ("name", "words", "matches", "precision", "recall", "f1")
        rows = zip(names, *map(plain, columns), strict=True)
        return {
            "frequency": self.label,
            "reference_words": self.reference,
            "systems": [dict(zip(keys, row, strict=True)) for row in rows],
        }


@dataclass(frozen=True, slots=True, eq=False)
class WordStatistics:
    """N-grams and words that systems match."""

    ngrams: NgramMatches
    classes: tuple[WordClass, ...]


def word_statistics(
    outputs: Outputs, frequencies: Mapping[str, int] | None = None
) -> WordStatistics:
    """Matched n-grams and words of all systems.

    Words are classified by `frequencies`, or by their number in the references.
    """
    if not outputs.has_references:
        raise AdequaError(
            "Words and n-grams are compared with those of references, and there are no references."
        )
    split = word_splitter(tokenizer_of(outputs.references), lowercase=False)
    index = _ReferenceIndex([split(texts[0]) for texts in outputs.references])
    class_of = _word_classes(Counter(index.words) if frequencies is None else frequencies)
    count = len(FREQUENCIES) + 1
    words = len(index.vocabulary)
    codes = np.array([class_of.get(word, 0) for word in index.vocabulary], dtype=np.intp)
    matches = np.zeros((len(outputs.names), len(index.starts)), dtype=np.int64)
    totals = np.zeros((len(outputs.names), count), dtype=np.int64)
    for system, texts in enumerate(outputs.hypotheses):
        tokens = [split(text) for text in texts]
        matches[system] = index.matches(tokens)
        flat = (class_of.get(word, 0) for word in chain.from_iterable(tokens))
        totals[system] = np.bincount(np.fromiter(flat, dtype=np.intp), minlength=count)
    by_class = np.eye(count, dtype=np.int64)[codes]  # (words, classes)
    ngrams = NgramMatches(index.words, index.starts, index.lengths, index.counts, matches)
    classes = _filled_classes(
        index.counts[:words] @ by_class, totals, matches[:, :words] @ by_class
    )
    return WordStatistics(ngrams, classes)


def _word_classes(frequencies: Mapping[str, int]) -> dict[str, int]:
    """The class of each word that has a frequency; others are in class 0."""
    codes = np.searchsorted(FREQUENCIES, list(frequencies.values()), side="right")
    return dict(zip(frequencies, codes.tolist(), strict=True))


def _filled_classes(
    reference: IntArray, outputs: IntArray, matches: IntArray
) -> tuple[WordClass, ...]:
    """The classes that have any words."""
    ranges = (
        f"{low}–{high - 1:,}" if high - low > 1 else f"{low}" for low, high in pairwise(FREQUENCIES)
    )
    labels = ("never", *ranges, f"{FREQUENCIES[-1]:,} or more")
    return tuple(
        WordClass(label, int(reference[code]), outputs[:, code], matches[:, code])
        for code, label in enumerate(labels)
        if reference[code] or outputs[:, code].any()
    )


def _fraction(part: IntArray, whole: IntArray) -> FloatArray:
    fractions = np.full(len(part), np.nan)
    return np.asarray(np.divide(part, whole, out=fractions, where=whole > 0))


class _ReferenceIndex:
    """All n-grams of the references as integers, and how often each segment has them.

    An n-gram is known by the (n-1)-gram that it begins with and by its last word. N-grams that no
    reference has are -1.
    """

    def __init__(self, segments: Sequence[Sequence[str]]) -> None:
        self.words = list(chain.from_iterable(segments))
        self.vocabulary = {word: index for index, word in enumerate(dict.fromkeys(self.words))}
        self._keys: list[IntArray] = []  # of each length above 1, sorted
        self._in_segments: list[tuple[IntArray, IntArray]] = []  # of each length
        starts, counts = [], []
        tokens, segment = self._tokens(segments)
        ids = tokens
        for length in range(1, MAX_LENGTH + 1):
            if length > 1:
                keys = self._extend(ids, tokens, segment, length)
                self._keys.append(np.unique(keys[keys >= 0]))
                ids = _lookup(self._keys[-1], keys)
            unique, first, count = np.unique(ids, return_index=True, return_counts=True)
            starts.append(first[unique >= 0])
            counts.append(count[unique >= 0])
            self._in_segments.append(_count_pairs(segment, ids, len(starts[-1])))
        self.starts, self.counts = np.concatenate(starts), np.concatenate(counts)
        self.lengths = np.repeat(np.arange(1, MAX_LENGTH + 1), [len(each) for each in starts])

    def matches(self, segments: Sequence[Sequence[str]]) -> IntArray:
        """How often outputs match each n-gram: in each segment, no more than the reference."""
        tokens, segment = self._tokens(segments)
        ids, matches = tokens, []
        for length, (pairs, counts) in enumerate(self._in_segments, 1):
            if length > 1:
                keys = self._extend(ids, tokens, segment, length)
                ids = _lookup(self._keys[length - 2], keys)
            size = int((self.lengths == length).sum())
            own_pairs, own_counts = _count_pairs(segment, ids, size)
            places = _lookup(pairs, own_pairs)
            common = places >= 0
            clipped = np.minimum(own_counts[common], counts[places[common]])
            matched = np.bincount(own_pairs[common] % max(size, 1), clipped, minlength=size)
            matches.append(matched.astype(np.int64))
        return np.concatenate(matches)

    def _tokens(self, segments: Sequence[Sequence[str]]) -> tuple[IntArray, IntArray]:
        """The words of all segments as integers, and the segment of each."""
        words = (self.vocabulary.get(word, -1) for word in chain.from_iterable(segments))
        sizes = [len(words) for words in segments]
        return np.fromiter(words, dtype=np.int64), np.repeat(np.arange(len(sizes)), sizes)

    def _extend(self, ids: IntArray, tokens: IntArray, segment: IntArray, length: int) -> IntArray:
        """Keys of the n-grams that begin at each word, given those that are a word shorter."""
        keys = np.full(len(tokens), -1, dtype=np.int64)
        if len(tokens) < length:
            return keys
        head, last = slice(0, len(tokens) - length + 1), slice(length - 1, None)
        inside = (segment[head] == segment[last]) & (ids[head] >= 0) & (tokens[last] >= 0)
        keys[head] = np.where(inside, ids[head] * len(self.vocabulary) + tokens[last], -1)
        return keys


def _lookup(unique: IntArray, keys: IntArray) -> IntArray:
    """The index of each key among sorted ones; -1 where it is not among them."""
    if not len(unique):
        return np.full(len(keys), -1, dtype=np.int64)
    places = np.minimum(np.searchsorted(unique, keys), len(unique) - 1)
    return np.where(unique[places] == keys, places, -1)


def _count_pairs(segment: IntArray, ids: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """How often each segment has each n-gram: sorted pairs as integers, and their counts."""
    present = ids >= 0
    pairs, counts = np.unique(segment[present] * size + ids[present], return_counts=True)
    return pairs, counts
