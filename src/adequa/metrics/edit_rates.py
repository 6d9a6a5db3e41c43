"""Word and character error rates: WER, PER, CDER and CharacTER.

Edits are counted against the nearest reference, over the length of the reference.
"""

from __future__ import annotations

import heapq
import math
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

import numpy as np
import sacrebleu
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from adequa.metrics.base import SPACE_TOKENIZERS, MeanMetric, Metric
from adequa.segments import FloatArray, Segments

TOKENIZERS = ("13a", "intl", "zh", "char", "none")  # those of sacreBLEU that need no download


@cache  # sacreBLEU's tokenizers cache texts, so that a new one per batch would cache in vain
def word_splitter(tokenize: str, *, lowercase: bool) -> Callable[[str], list[str]]:
    """A function from a text to its words.

    >>> word_splitter("13a", lowercase=True)("It costs 3.50, right?")
    ['it', 'costs', '3.50', ',', 'right', '?']
    >>> word_splitter("none", lowercase=False)("It costs 3.50, right?")
    ['It', 'costs', '3.50,', 'right?']
    """
    tokenizer: Callable[[str], str] = sacrebleu.BLEU(tokenize=tokenize).tokenizer
    if lowercase:
        return lambda text: tokenizer(text.lower()).split()
    return lambda text: tokenizer(text).split()


def word_overlap(hypothesis: Sequence[str], reference: Sequence[str]) -> float:
    """The F1 of the words of two texts, repeated words counted as often as they occur.

    Twice the common words over the words of both, so that neither a short nor a long text gains.

    >>> word_overlap(["the", "the", "cat"], ["the", "cat", "sat"])
    0.6666666666666666
    """
    words = len(hypothesis) + len(reference)
    common = sum((Counter(hypothesis) & Counter(reference)).values())
    return 2 * common / words if words else 0.0


@dataclass(frozen=True)
class ErrorRate(Metric):
    """Edits per reference word, 0 for a perfect match and without an upper bound.

    With several references the one with the fewest edits counts, and the edits are divided by the
    average reference length, as TER does: were they divided by the length of the nearest one, a
    long reference with more edits could win over a nearer short one. This is what Nießen et al.
    (2000) name mWER, here for every error rate. The system score is the sum of the edits over the
    sum of the reference lengths.

    Statistics per segment: edits, average reference length.
    """

    higher_is_better = False
    range = (0, math.inf)
    versioned_packages = ("sacrebleu",)  # its tokenizers
    choices = {"tokenize": TOKENIZERS}  # noqa: RUF012 - never changed

    tokenize: str = "13a"
    lowercase: bool = False

    @staticmethod
    @abstractmethod
    def edits(hypothesis: list[str], reference: list[str]) -> int:
        """Edits that turn the words of the hypothesis into those of the reference."""

    @property
    def splits_at_spaces(self) -> bool:
        return self.tokenize in SPACE_TOKENIZERS

    def statistics(self, segments: Segments) -> FloatArray:
        split = word_splitter(self.tokenize, lowercase=self.lowercase)
        rows = np.empty((len(segments), 2))
        texts = zip(segments.hypotheses, segments.references, strict=True)
        for row, (hypothesis_text, reference_texts) in enumerate(texts):
            hypothesis = split(hypothesis_text)
            references = [split(text) for text in reference_texts]
            rows[row, 0] = min(self.edits(hypothesis, reference) for reference in references)
            rows[row, 1] = sum(map(len, references)) / len(references)
        return rows

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        edits, length = statistics[:, 0], statistics[:, 1]
        # A tokenizer may leave no word of a reference ("<skipped>"); as in sacreBLEU's TER, any
        # number of edits against nothing is then one whole error.
        empty = length == 0
        return np.where(empty, np.minimum(edits, 1), edits / np.where(empty, 1, length))

    def system_scores(self, totals: FloatArray) -> FloatArray:
        return self.segment_scores(totals)


@dataclass(frozen=True)
class WER(ErrorRate):
    """Inserted, deleted and substituted words per reference word; 0 and up, lower is better.

    The measure of speech recognition, used for translation since Nießen et al. (2000), whose mWER
    is followed for several references: the fewest edits, over the average reference length.

    >>> pair = Segments(("on the mat the cat sat",), (("the cat sat on the mat",),))
    >>> round(WER().score(pair).system, 4)  # six edits, six reference words
    1.0
    """

    name = "wer"

    @staticmethod
    def edits(hypothesis: list[str], reference: list[str]) -> int:
        return Levenshtein.distance(hypothesis, reference)


@dataclass(frozen=True)
class PER(ErrorRate):
    """Word errors regardless of order, per reference word; 0 and up, lower is better.

    max(|hypothesis|, |reference|) - matches: a word without partner on either side is paired with
    one on the other side as a substitution, and what the longer side has left is inserted or
    deleted. This is the variant that counts surplus hypothesis words as errors, never above WER;
    it equals the form ½(| |h| - |r| | + Σ |n_h(w) - n_r(w)|) of Leusch et al. (2003).

    >>> pair = Segments(("on the mat the cat sat down",), (("the cat sat on the mat",),))
    >>> round(PER().score(pair).system, 4)  # one surplus word, six reference words
    0.1667
    """

    name = "per"

    @staticmethod
    def edits(hypothesis: list[str], reference: list[str]) -> int:
        matches = (Counter(hypothesis) & Counter(reference)).total()
        return max(len(hypothesis), len(reference)) - matches


@dataclass(frozen=True)
class CDER(ErrorRate):
    """Word edits and long jumps per reference word; 0 and up, lower is better.

    Like WER, but at any reference position the alignment may jump to any hypothesis position at
    cost 1. So every reference word is covered exactly once, from left to right, while hypothesis
    words may be read in blocks of any order, twice, or not at all. The path runs from the start of
    both sentences to the end of both; the paper's optional penalty for miscoverage is left out, as
    in Moses' scorer, which the WMT metrics task runs (Moses reports 1 - CDER).

    >>> pair = Segments(("on the mat the cat sat",), (("the cat sat on the mat",),))
    >>> round(CDER().score(pair).system, 4)  # jump to "the cat", back to "on", on to the end
    0.5
    """

    name = "cder"

    @staticmethod
    def edits(hypothesis: list[str], reference: list[str]) -> int:
        return cover_disjoint_distance(hypothesis, reference)


def cover_disjoint_distance(hypothesis: list[str], reference: list[str]) -> int:
    """The cost d_CD of the cheapest path through the alignment grid with long jumps.

    D(i, l), the cost of reaching hypothesis position i after l reference words, is the least of

        D(i-1, l-1) + [h_i ≠ r_l],  D(i, l-1) + 1,  D(i-1, l) + 1,  min_i' D(i', l) + 1.

    Since a jump costs 1, a row holds two values only, its minimum m and m + 1, and a skipped
    hypothesis word is never cheaper than a jump. So a row is m and the set of positions that cost
    m, kept as the bits of one integer: a step costs a few operations on |h|/64 machine words.

    >>> cover_disjoint_distance("b a".split(), "a b".split())
    2
    """
    positions: dict[str, int] = defaultdict(int)  # word -> positions just after its occurrences
    for i, word in enumerate(hypothesis, 1):
        positions[word] |= 1 << i
    everywhere = (1 << (len(hypothesis) + 1)) - 1
    m, cheapest = 0, 1  # before the first reference word: position 0 is free, any other a jump
    for word in reference:
        after_match = positions.get(word, 0)
        onward = cheapest << 1
        if matched := onward & after_match:
            cheapest = matched
        else:
            # m + 1 is reached by an insertion (stay), by a substitution (onward), or by a match
            # from a position that already cost m + 1.
            m += 1
            cheapest = (cheapest | onward | after_match) & everywhere
    return m if cheapest >> len(hypothesis) & 1 else m + 1


# Cells of edit-distance tables that the search for shifts may fill for one segment. A hundred
# words need about ten million; only segments of many hundreds of words reach the limit, and then
# the longest phrases are tried first. TER bounds its search too.
MOST_CELLS = 10_000_000_000


@dataclass(frozen=True)
class CharacTER(MeanMetric):
    """Character edits after word shifts, per hypothesis character; 0 and up, lower is better.

    Phrases of the hypothesis that the reference has elsewhere are shifted, best first, while that
    lowers the word edit distance. Then come the character edits between the shifted hypothesis and
    the reference, plus for each shifted phrase the average length of its words, over the number of
    hypothesis characters (spaces between words included).

    The definition is the authors' script CharacTER.py: shifted words must be equal (the paper also
    allows similar ones), words are what white space separates, an empty hypothesis scores 1, and
    scores may exceed 1 (the package `cer` cuts them there). The system score is the mean of the
    segments, as in the script. It is defined for one reference.

    >>> pair = Segments(("the cat sat quietly on a mat",), (("quietly the cat sat on a mat",),))
    >>> round(CharacTER().score(pair).system, 4)  # 9 / 3 for "the cat sat", over 28 characters
    0.1071
    """

    name = "character"
    higher_is_better = False
    range = (0, math.inf)
    max_references = 1
    versioned_packages = ("sacrebleu",)  # its tokenizers
    choices = {"tokenize": TOKENIZERS}  # noqa: RUF012 - never changed

    tokenize: str = "none"
    lowercase: bool = False

    @property
    def splits_at_spaces(self) -> bool:
        return self.tokenize in SPACE_TOKENIZERS

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        split = word_splitter(self.tokenize, lowercase=self.lowercase)
        return np.array(
            [
                character_rate(split(hypothesis), split(reference))
                for hypothesis, (reference,) in zip(
                    segments.hypotheses, segments.references, strict=True
                )
            ]
        )


def character_rate(hypothesis: Sequence[str], reference: Sequence[str]) -> float:
    """CharacTER of the words of one hypothesis against those of one reference."""
    if not hypothesis:
        return 1.0 if reference else 0.0
    shifted = _shifted(hypothesis, reference)
    shifted_characters, reference_characters = " ".join(shifted), " ".join(reference)
    edits = Levenshtein.distance(shifted_characters, reference_characters)
    return (edits + _shift_cost(hypothesis, shifted)) / len(shifted_characters)


def _shifted(hypothesis: Sequence[str], reference: Sequence[str]) -> list[str]:
    """The hypothesis after every shift that lowers the word edit distance, best first.

    Words become characters of a string, in the words' order, so that the compiled edit distance
    runs on strings and, of equally good shifts, the greatest string is the authors' choice.
    """
    vocabulary = sorted({*hypothesis, *reference})
    letter = {word: chr(number) for number, word in enumerate(vocabulary)}
    current = "".join(letter[word] for word in hypothesis)
    goal = "".join(letter[word] for word in reference)
    distance = Levenshtein.distance(current, goal)
    # No order of the words comes nearer than this.
    nearest = max(len(current), len(goal)) - (Counter(current) & Counter(goal)).total()
    comparisons = MOST_CELLS // (len(current) * max(len(goal), 1))
    while distance > nearest and comparisons > 0:
        candidates = _candidates(current, goal, comparisons)
        comparisons -= len(candidates)
        if not candidates:
            break
        distances = process.cdist(
            [goal], candidates, scorer=Levenshtein.distance, score_cutoff=distance - 1
        )[0]
        best = int(distances.min())
        if best >= distance:
            break
        current = max(candidates[index] for index in np.flatnonzero(distances == best))
        distance = best
    return [vocabulary[ord(character)] for character in current]


def _candidates(current: str, goal: str, most: int) -> list[str]:
    """Every string that one shift makes of `current`; where over `most`, of the longest phrases.

    A shift takes the longest phrase that begins at i here and at j in the goal, and puts it at j.
    """
    candidates = {}
    for length, i, j in heapq.nlargest(most, _common_phrases(current, goal)):
        rest = current[:i] + current[i + length :]
        candidates[rest[:j] + current[i : i + length] + rest[j:]] = True
    candidates.pop(current, None)
    return list(candidates)


def _common_phrases(current: str, goal: str) -> Iterator[tuple[int, int, int]]:
    """Length of the longest common phrase that begins at i in one and at another j in the other.

    Row by row from the last, so that only two rows of lengths are kept.
    """
    positions = defaultdict(list)
    for j, character in enumerate(goal):
        positions[character].append(j)
    lengths: dict[int, int] = {}  # by j, of the phrases that begin at i + 1
    for i in range(len(current) - 1, -1, -1):
        lengths = {j: lengths.get(j + 1, 0) + 1 for j in positions[current[i]]}
        for j, length in lengths.items():
            if i != j:
                yield length, i, j


def _shift_cost(original: Sequence[str], shifted: Sequence[str]) -> float:
    """For each phrase found further right after the shifts, the average length of its words."""
    cost, i = 0.0, 0
    while i < len(original):
        moved_to = original[i] != shifted[i] and _index(shifted, original[i], i + 1)
        if not moved_to:
            i += 1
            continue
        following = zip(original[i:], shifted[moved_to:], strict=False)
        pairs = takewhile(lambda pair: pair[0] == pair[1], following)
        lengths = [len(word) for word, _ in pairs]
        cost += sum(lengths) / len(lengths)
        i += len(lengths)
    return cost


def _index(words: Sequence[str], word: str, start: int) -> int | None:
    """Where a word first occurs from `start` on."""
    try:
        return words.index(word, start)
    except ValueError:
        return None
