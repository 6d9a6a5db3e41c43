"""What the surface of a hypothesis shares with its reference: letters, case, spacing, word order.

An encoder that lower-cases its input cannot see case, and one that cuts texts at spaces cannot see
spacing. These few numbers can, and they cost little. They are meant for the skip arcs of Guzmán et
al. (2015, Pairwise Neural Machine Translation Evaluation, §3.2), which lead similarities of a
hypothesis and its reference straight to the output: the letter ψ there.

Texts are compared as they are written, but for white space around them. A word is a run of letters
and digits between spaces and signs; a sign is a word, and so is each Chinese, Japanese or Korean
letter. Bigrams count the edges of a text as a symbol: a text of n characters has n + 1 of them,
and an empty text has one, which no other text has. So precision and recall always have something
to divide by; they are 1 where both texts are empty and 0 where one is.

The features were chosen by ridge regression on the direct assessments of WMT15 and WMT16, to which
overlaps of numbers and of punctuation, longer n-grams, the first letter, the last sign, and whether
the texts are the same added nothing. Nor does precision there; it is kept beside recall so that a
hypothesis that says too much shows as one that says too little does.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Indel
from rapidfuzz.process import cpdist

from adequa.encoders.base import Vectors, paired
from adequa.runtime.batching import distinct
from adequa.segments import FloatArray, IntArray

SURFACE: Final = (
    # 1 less the insertions and deletions between the texts, over the characters of both.
    "character_similarity",
    # Common bigrams over those of the hypothesis, and over those of the reference.
    "character_bigram_precision",
    "character_bigram_recall",
    "word_bigram_precision",
    "word_bigram_recall",
    # What the F1 of words, and of their bigrams, would gain if case did not count; 0 is ideal.
    "word_case_loss",
    "word_bigram_case_loss",
    # The F1 of words that begin with a capital; 1 where neither text has any.
    "capitalised_overlap",
    # Characters of the shorter text over those of the longer; 1 where both are empty.
    "length_ratio",
    # The logarithm of the mean length of both, 0 for no text and 1 from 1000 characters on.
    "length",
)

# Texts are taken in parts of about so many characters, so that memory does not grow with the whole.
_PART: Final = 1 << 18
# Edits are counted in the first so many characters: the time for them grows with the square.
_EDITED: Final = 10_000
_LONG: Final = 1000

# Kinds of characters. From _LETTER on they join with their neighbours to words.
_SPACE, _ALONE, _LETTER, _CAPITAL = range(4)


def surface_features(hypotheses: Sequence[str], references: Sequence[str]) -> Vectors:
    """The features of `SURFACE`, one row a pair; all are from 0 to 1.

    A row depends on its own pair alone. Where the texts are the same, every feature is 1, except
    the two losses, which are 0, and the length.

    >>> row = surface_features(["the Cat sat"], ["The cat sat"])[0]
    >>> for name, value in zip(SURFACE, row.tolist()):
    ...     print(f"{name:26} {value:.3f}")
    character_similarity       0.818
    character_bigram_precision 0.667
    character_bigram_recall    0.667
    word_bigram_precision      0.250
    word_bigram_recall         0.250
    word_case_loss             0.667
    word_bigram_case_loss      0.750
    capitalised_overlap        0.000
    length_ratio               1.000
    length                     0.360
    """
    # Hypothesis and reference by turns: the pair of a text is its place over 2, its side the rest.
    texts = [
        side.strip() for pair in paired("The surface", hypotheses, references) for side in pair
    ]
    lengths = np.fromiter(map(len, texts), dtype=np.intp, count=len(texts))
    rows = np.empty((len(texts) // 2, len(SURFACE)), dtype=np.float32)
    for first, last in _parts(lengths):
        rows[first:last] = _features(texts[2 * first : 2 * last], lengths[2 * first : 2 * last])
    return rows


def _parts(lengths: IntArray) -> Iterator[tuple[int, int]]:
    """Runs of pairs of about `_PART` characters; a longer pair is a part by itself."""
    up_to = np.cumsum(lengths[::2] + lengths[1::2] + 2)  # with the edges, which take room too
    first = 0
    while first < len(up_to):
        before = up_to[first - 1] if first else 0
        last = max(int(np.searchsorted(up_to, before + _PART, side="right")), first + 1)
        yield first, last
        first = last


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """Characters, words or bigrams of many texts in a row: a number each, and its text."""

    numbers: IntArray
    text: IntArray

    def bigrams(self, texts: int) -> _Items:
        """Neighbours in a text; every text has an edge, of number 0, before it and behind it.

        The edge between two texts belongs to both, so any two neighbours belong to one.
        """
        symbols = np.zeros(len(self.numbers) + texts + 1, dtype=np.int64)
        symbols[np.arange(1, len(self.numbers) + 1) + self.text] = self.numbers + 1
        lengths = np.bincount(self.text, minlength=texts)
        pairs = symbols[:-1] * (symbols.max() + 1) + symbols[1:]
        return _Items(pairs, np.repeat(np.arange(texts), lengths + 1))


@dataclass(frozen=True, slots=True, eq=False)
class _Overlap:
    """How many items the texts of each pair have in common, and how many each has."""

    common: FloatArray
    hypothesis: IntArray
    reference: IntArray

    @classmethod
    def of(cls, items: _Items, texts: int) -> _Overlap:
        """The overlap in each of the pairs, where the same item counts as often as in both texts.

        Sorted by pair, number and side, the same items of a pair stand together.
        """
        counts = np.bincount(items.text, minlength=texts)
        span = int(items.numbers.max(initial=0)) + 1
        # Less than 2**63 for bigrams too: a part has at most 2**17 pairs of texts, whose
        # characters number less than 2**21, or a single pair of texts, of less than 2**31 words.
        ordered = np.sort(((items.text >> 1) * span + items.numbers) * 2 + (items.text & 1))
        same = ordered >> 1
        first = np.flatnonzero(np.diff(same, prepend=-1))
        of_reference = np.add.reduceat(ordered & 1, first) if len(first) else first
        of_hypothesis = np.diff(first, append=len(same)) - of_reference
        fewer = np.minimum(of_hypothesis, of_reference)
        common = np.bincount(same[first] // span, weights=fewer, minlength=texts // 2)
        return cls(common.astype(np.float64, copy=False), counts[::2], counts[1::2])

    def shares(self) -> tuple[FloatArray, FloatArray]:
        """Precision and recall, of items that every text has."""
        return self.common / self.hypothesis, self.common / self.reference

    def f1(self) -> FloatArray:
        """Twice the common items over the items of both; 1 where there are none at all."""
        both = self.hypothesis + self.reference
        return np.where(both > 0, 2 * self.common / np.maximum(both, 1), 1.0)


def _features(texts: Sequence[str], lengths: IntArray) -> FloatArray:
    count = len(texts)
    joined = "".join(texts)
    characters = _characters(joined, lengths)
    words, capitalised, lower_cased = _words(joined, characters)
    letters = _Overlap.of(characters.bigrams(count), count)
    bigrams = _Overlap.of(words.bigrams(count), count)
    lower_cased_bigrams = _Overlap.of(lower_cased.bigrams(count), count)
    columns = (
        _similarity(texts),
        *letters.shares(),
        *bigrams.shares(),
        _Overlap.of(lower_cased, count).f1() - _Overlap.of(words, count).f1(),
        lower_cased_bigrams.f1() - bigrams.f1(),
        _Overlap.of(capitalised, count).f1(),
        _length_ratio(lengths[::2], lengths[1::2]),
        np.minimum(np.log1p((lengths[::2] + lengths[1::2]) / 2) / np.log1p(_LONG), 1.0),
    )  # in the order of SURFACE
    return np.stack(columns, axis=1)


def _similarity(texts: Sequence[str]) -> FloatArray:
    starts = [text[:_EDITED] for text in texts]
    score = Indel.normalized_similarity
    return cpdist(starts[::2], starts[1::2], scorer=score, dtype=np.float64)


def _length_ratio(hypothesis: IntArray, reference: IntArray) -> FloatArray:
    shorter, longer = np.minimum(hypothesis, reference), np.maximum(hypothesis, reference)
    return np.where(longer > 0, shorter / np.maximum(longer, 1), 1.0)


def _characters(joined: str, lengths: IntArray) -> _Items:
    """The code points of texts. Surrogates without a partner, which do occur, are taken as well."""
    encoded = joined.encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(encoded, dtype="<u4").astype(np.int64)
    return _Items(points, np.repeat(np.arange(len(lengths)), lengths))


def _words(joined: str, characters: _Items) -> tuple[_Items, _Items, _Items]:
    """The words of texts: all of them, those that begin with a capital, and all in lower case."""
    kinds, text = _kinds(characters.numbers), characters.text
    joins = kinds >= _LETTER
    linked = joins[1:] & joins[:-1] & (text[1:] == text[:-1])  # each with the character before it
    begin, end = (kinds > _SPACE for _ in range(2))
    begin[1:] &= ~linked
    end[:-1] &= ~linked
    begins, ends = np.flatnonzero(begin), np.flatnonzero(end) + 1
    spans = zip(begins.tolist(), ends.tolist(), strict=True)
    vocabulary, numbers = distinct([joined[first:last] for first, last in spans])
    lower_cased = distinct([word.lower() for word in vocabulary])[1][numbers]
    of_word, capitals = text[begins], kinds[begins] == _CAPITAL
    return (
        _Items(numbers, of_word),
        _Items(numbers[capitals], of_word[capitals]),
        _Items(lower_cased, of_word),
    )


def _kinds(points: IntArray) -> npt.NDArray[np.uint8]:
    """The kind of each code point, each different one looked up once."""
    kinds = np.zeros(int(points.max(initial=0)) + 1, dtype=np.uint8)
    kinds[points] = 1
    present = np.flatnonzero(kinds)
    kinds[present] = [_kind(point) for point in present.tolist()]
    return kinds[points]


@lru_cache(maxsize=1 << 14)
def _kind(point: int) -> int:
    """Whether a character parts words, is one by itself, or is part of one, and then its case.

    >>> [_kind(ord(character)) for character in " ,猫aÉ7"]
    [0, 1, 1, 2, 3, 2]
    """
    character = chr(point)
    if character.isspace():
        return _SPACE
    category = unicodedata.category(character)
    if category[0] in "PS" or (
        category == "Lo" and unicodedata.east_asian_width(character) in "FW"
    ):
        return _ALONE
    return _CAPITAL if category in {"Lu", "Lt"} else _LETTER
