"""CharacTER: translation edit rate on character level (Wang et al., 2016)."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from adequa.metrics.base import MeanMetric
from adequa.metrics.words import check_tokenizer, word_splitter
from adequa.segments import FloatArray, Segments

# Cells of edit-distance tables that the search for shifts may fill for one segment. A hundred
# words need about ten million; only segments of many hundreds of words reach the limit, and then
# the longest phrases are tried first. TER bounds its search too.
MOST_CELLS = 10_000_000_000


@dataclass(frozen=True)
class Character(MeanMetric):
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
    >>> round(Character().score(pair).system, 4)  # 9 / 3 for "the cat sat", over 28 characters
    0.1071
    """

    name = "character"
    higher_is_better = False
    range = (0, math.inf)
    max_references = 1
    counted_with = ("sacrebleu",)  # its tokenizers

    tokenize: str = "none"
    lowercase: bool = False

    def __post_init__(self) -> None:
        check_tokenizer(self.tokenize)

    def score_segments(self, segments: Segments) -> FloatArray:
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
    made = {}
    for length, i, j in heapq.nlargest(most, _common_phrases(current, goal)):
        rest = current[:i] + current[i + length :]
        made[rest[:j] + current[i : i + length] + rest[j:]] = True
    made.pop(current, None)
    return list(made)


def _common_phrases(current: str, goal: str) -> Iterator[tuple[int, int, int]]:
    """Length of the longest common phrase that begins at i in one and at another j in the other.

    Row by row from the last, so that only two rows of lengths are kept.
    """
    places = defaultdict(list)
    for j, character in enumerate(goal):
        places[character].append(j)
    lengths: dict[int, int] = {}  # by j, of the phrases that begin at i + 1
    for i in range(len(current) - 1, -1, -1):
        lengths = {j: lengths.get(j + 1, 0) + 1 for j in places[current[i]]}
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
