"""Surface features of a hypothesis and its reference: letters, case, spacing, order and symbols.

An encoder that lower-cases its input cannot see case, one that splits texts at spaces cannot see
spacing, and characters outside its vocabulary all look alike to it. These few numbers can see them,
and they cost little. They are meant for the skip arcs of Guzmán et al. (2015, Pairwise Neural
Machine Translation Evaluation, §3.2), which lead similarities of a hypothesis and its reference
straight to the output: ψ in the paper.

Texts are compared as they are written, without the white space around them. A word is a run of
letters and digits between spaces and punctuation; a punctuation mark is a word, and so is each
Chinese, Japanese or Korean letter. Bigrams count the edges of a text as a symbol: a text of n
characters has n + 1 of them, and an empty text has one, which no other text has. So precision and
recall never divide by zero; they are 1 where both texts are empty and 0 where one is.

The features up to the length were selected by ridge regression on the direct assessments of WMT15
and WMT16, where the overlap of numbers and of punctuation, longer n-grams, the first letter, the
last punctuation mark and the identity of the texts added nothing. Nor did precision; it is included
so that a hypothesis with too many words is seen like one with too few. The overlap of symbols was
added for emoji and other scripts, which those texts hardly have.

A symbol is a character from U+0370 on, where Greek begins, that is a letter, mark or digit of
another script than Latin, an emoji or other sign, or has no name. Punctuation, spaces, currency
signs (often written as words) and the minus sign (often a hyphen) are none. Nor are joiners and
variation selectors: "❤" with and without one is the same emoji, and a family of three that joiners
hold together is three symbols.

Saved metrics name the features that they use or say how many of the first: new features are added
at the end of `SURFACE`, and none changes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Indel
from rapidfuzz.process import cpdist

from adequa.runtime.batching import distinct, paired
from adequa.segments import FloatArray, IntArray

if TYPE_CHECKING:
    from adequa.encoders.base import Vectors

SURFACE: Final = (
    # 1 minus insertions and deletions over the characters of both texts.
    "character_similarity",
    # Common bigrams over those of the hypothesis (precision) and of the reference (recall).
    "character_bigram_precision",
    "character_bigram_recall",
    "word_bigram_precision",
    "word_bigram_recall",
    # Gain in the F1 of words, and of their bigrams, if case is ignored; 0 is ideal.
    "word_case_loss",
    "word_bigram_case_loss",
    # F1 of words that begin with a capital; 1 where neither text has any.
    "capitalised_overlap",
    # Characters of the shorter text over those of the longer; 1 where both are empty.
    "length_ratio",
    # Logarithm of the mean length, scaled: 0 for empty texts and 1 from 1000 characters on.
    "length",
    # F1 of symbols, such as emoji and letters of other scripts; 1 where neither text has any.
    "symbol_overlap",
)

_CHUNK: Final = 1 << 18  # characters processed at a time, which bounds memory
_EDITED: Final = 10_000  # first characters compared by edits, whose time is quadratic
_LONG: Final = 1000

# Kinds of characters. Letters and capitals form words with their neighbours.
_SPACE, _SINGLE, _LETTER, _CAPITAL = range(4)

_FIRST_SYMBOL: Final = 0x370  # what comes before is Latin, its accents, and common signs
_MINUS: Final = "\N{MINUS SIGN}"


def surface_features(
    hypotheses: Sequence[str], references: Sequence[str], names: Sequence[str] = SURFACE
) -> Vectors:
    """Return the features of these names, one row per pair; all are between 0 and 1.

    A row depends on its own pair alone, and a feature not on the others. For identical texts every
    feature is 1, except the two losses, which are 0, and the length.

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
    symbol_overlap             1.000
    """
    # Hypotheses have even indices and references odd ones: text // 2 is the pair.
    texts = [
        side.strip() for pair in paired("The surface", hypotheses, references) for side in pair
    ]
    lengths = np.fromiter(map(len, texts), dtype=np.intp, count=len(texts))
    rows = np.empty((len(texts) // 2, len(names)), dtype=np.float32)
    for start, end in _chunks(lengths):
        chunk = _Chunk(texts[2 * start : 2 * end], lengths[2 * start : 2 * end])
        for column, name in enumerate(names):
            rows[start:end, column] = _FEATURES[name](chunk)
    return rows


def _chunks(lengths: IntArray) -> Iterator[tuple[int, int]]:
    """Yield ranges of pairs of about `_CHUNK` characters; a longer pair is a chunk by itself."""
    total = np.cumsum(lengths[::2] + lengths[1::2] + 2)  # 2 edges
    start = 0
    while start < len(total):
        before = total[start - 1] if start else 0
        end = max(int(np.searchsorted(total, before + _CHUNK, side="right")), start + 1)
        yield start, end
        start = end


@dataclass(frozen=True, slots=True, eq=False)
class _CharacterItems:
    """Characters, words or bigrams of many texts: the id and the text of each."""

    ids: IntArray
    text: IntArray

    def bigrams(self, texts: int) -> _CharacterItems:
        """Return the bigrams of each text, with an edge, of id 0, at its start and at its end.

        Two texts share the edge between them, so that any two neighbours belong to one text.
        """
        symbols = np.zeros(len(self.ids) + texts + 1, dtype=np.int64)
        symbols[np.arange(1, len(self.ids) + 1) + self.text] = self.ids + 1
        lengths = np.bincount(self.text, minlength=texts)
        pairs = symbols[:-1] * (symbols.max() + 1) + symbols[1:]
        return _CharacterItems(pairs, np.repeat(np.arange(texts), lengths + 1))


@dataclass(frozen=True, slots=True, eq=False)
class _Overlap:
    """The number of common items of each pair, and of the items of each side."""

    common: FloatArray
    hypothesis: IntArray
    reference: IntArray

    @classmethod
    def of(cls, items: _CharacterItems, texts: int) -> _Overlap:
        """Count the overlap of each pair; an item counts as often as it is in both texts.

        Sorted by pair, id and side, the same items of a pair are adjacent.
        """
        counts = np.bincount(items.text, minlength=texts)
        span = int(items.ids.max(initial=0)) + 1
        # Below 2**63 for bigrams too: a chunk has at most 2**17 pairs, with character ids below
        # 2**21, or a single pair with less than 2**31 words.
        ordered = np.sort(((items.text >> 1) * span + items.ids) * 2 + (items.text & 1))
        keys = ordered >> 1
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        in_reference = np.add.reduceat(ordered & 1, first) if len(first) else first
        in_hypothesis = np.diff(first, append=len(keys)) - in_reference
        matches = np.minimum(in_hypothesis, in_reference)
        common = np.bincount(keys[first] // span, weights=matches, minlength=texts // 2)
        return cls(common.astype(np.float64, copy=False), counts[::2], counts[1::2])

    def precision_recall(self) -> tuple[FloatArray, FloatArray]:
        """Return precision and recall; every text must have items."""
        return self.common / self.hypothesis, self.common / self.reference

    def f1(self) -> FloatArray:
        """Return twice the common items over the items of both; 1 where there are none."""
        total = self.hypothesis + self.reference
        return np.where(total > 0, 2 * self.common / np.maximum(total, 1), 1.0)


@dataclass(frozen=True, eq=False)  # not slotted: properties are cached
class _Chunk:
    """The texts of some pairs, with what several features count."""

    texts: Sequence[str]
    lengths: IntArray

    @cached_property
    def joined(self) -> str:
        """All texts in one."""
        return "".join(self.texts)

    @cached_property
    def characters(self) -> _CharacterItems:
        """The code points of the texts."""
        return _characters(self.joined, self.lengths)

    @cached_property
    def words(self) -> tuple[_CharacterItems, _CharacterItems, _CharacterItems]:
        """The words of the texts: all, those that begin with a capital, and all in lower case."""
        return _words(self.joined, self.characters)

    @cached_property
    def character_bigrams(self) -> tuple[FloatArray, FloatArray]:
        """Precision and recall of character bigrams."""
        return self.overlap(self.characters.bigrams(len(self.texts))).precision_recall()

    @cached_property
    def word_bigrams(self) -> _Overlap:
        """The overlap of word bigrams."""
        return self.overlap(self.words[0].bigrams(len(self.texts)))

    def overlap(self, items: _CharacterItems) -> _Overlap:
        """Count the overlap of each pair."""
        return _Overlap.of(items, len(self.texts))


def _word_case_loss(chunk: _Chunk) -> FloatArray:
    words, _, lower_cased = chunk.words
    return chunk.overlap(lower_cased).f1() - chunk.overlap(words).f1()


def _word_bigram_case_loss(chunk: _Chunk) -> FloatArray:
    lower_cased = chunk.words[2].bigrams(len(chunk.texts))
    return chunk.overlap(lower_cased).f1() - chunk.word_bigrams.f1()


def _similarity(chunk: _Chunk) -> FloatArray:
    compared = [text[:_EDITED] for text in chunk.texts]
    scorer = Indel.normalized_similarity
    return cpdist(compared[::2], compared[1::2], scorer=scorer, dtype=np.float64)


def _length_ratio(chunk: _Chunk) -> FloatArray:
    hypothesis, reference = chunk.lengths[::2], chunk.lengths[1::2]
    shorter, longer = np.minimum(hypothesis, reference), np.maximum(hypothesis, reference)
    return np.where(longer > 0, shorter / np.maximum(longer, 1), 1.0)


def _length(chunk: _Chunk) -> FloatArray:
    mean = (chunk.lengths[::2] + chunk.lengths[1::2]) / 2
    return np.asarray(np.minimum(np.log1p(mean) / np.log1p(_LONG), 1.0))


def _symbol_overlap(chunk: _Chunk) -> FloatArray:
    points, text = chunk.characters.ids, chunk.characters.text
    rare = np.flatnonzero(points >= _FIRST_SYMBOL)
    symbols = rare[_looked_up(_is_symbol, points[rare]) > 0]
    return chunk.overlap(_CharacterItems(points[symbols], text[symbols])).f1()


_FEATURES: Final[Mapping[str, Callable[[_Chunk], FloatArray]]] = {
    "character_similarity": _similarity,
    "character_bigram_precision": lambda chunk: chunk.character_bigrams[0],
    "character_bigram_recall": lambda chunk: chunk.character_bigrams[1],
    "word_bigram_precision": lambda chunk: chunk.word_bigrams.precision_recall()[0],
    "word_bigram_recall": lambda chunk: chunk.word_bigrams.precision_recall()[1],
    "word_case_loss": _word_case_loss,
    "word_bigram_case_loss": _word_bigram_case_loss,
    "capitalised_overlap": lambda chunk: chunk.overlap(chunk.words[1]).f1(),
    "length_ratio": _length_ratio,
    "length": _length,
    "symbol_overlap": _symbol_overlap,
}


def _characters(joined: str, lengths: IntArray) -> _CharacterItems:
    """Return the code points of texts, unpaired surrogates included."""
    encoded = joined.encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(encoded, dtype="<u4").astype(np.int64)
    return _CharacterItems(points, np.repeat(np.arange(len(lengths)), lengths))


def _words(
    joined: str, characters: _CharacterItems
) -> tuple[_CharacterItems, _CharacterItems, _CharacterItems]:
    """Return the words of texts: all, those that begin with a capital, and all in lower case."""
    kinds, text = _looked_up(_kind, characters.ids), characters.text
    in_word = kinds >= _LETTER
    # Whether each character but the first continues the word of the character before.
    continues = in_word[1:] & in_word[:-1] & (text[1:] == text[:-1])
    is_start, is_end = (kinds > _SPACE for _ in range(2))
    is_start[1:] &= ~continues
    is_end[:-1] &= ~continues
    starts, ends = np.flatnonzero(is_start), np.flatnonzero(is_end) + 1
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    vocabulary, ids = distinct([joined[start:end] for start, end in spans])
    lower_ids = distinct([word.lower() for word in vocabulary])[1][ids]
    word_text, capitals = text[starts], kinds[starts] == _CAPITAL
    return (
        _CharacterItems(ids, word_text),
        _CharacterItems(ids[capitals], word_text[capitals]),
        _CharacterItems(lower_ids, word_text),
    )


def _looked_up(kind: Callable[[int], int], points: IntArray) -> npt.NDArray[np.uint8]:
    """Return the kind of each code point; each different one is looked up once."""
    kinds = np.zeros(int(points.max(initial=0)) + 1, dtype=np.uint8)
    kinds[points] = 1
    present = np.flatnonzero(kinds)
    kinds[present] = [kind(point) for point in present.tolist()]
    return kinds[points]


@lru_cache(maxsize=1 << 14)
def _kind(point: int) -> int:
    """Classify a character: a space, a word by itself, a letter of a word, or a capital.

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
        return _SINGLE
    return _CAPITAL if category in {"Lu", "Lt"} else _LETTER


@lru_cache(maxsize=1 << 14)
def _is_symbol(point: int) -> bool:
    """Whether a character from U+0370 on is a symbol, as the head of this file says.

    >>> "".join(character for character in "“Ω” €₂ ﬁế − 猫😀❤️‍🔥" if _is_symbol(ord(character)))
    'Ω₂猫😀❤🔥'
    """
    character = chr(point)
    category = unicodedata.category(character)
    name = unicodedata.name(character, "")
    if category[0] in "PZ" or category in {"Cc", "Cf", "Cs", "Sc"} or character == _MINUS:
        return False
    is_latin = category[0] == "L" and "LATIN" in name
    return not is_latin and not name.startswith("VARIATION SELECTOR")
