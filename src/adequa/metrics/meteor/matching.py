"""Which words and phrases can match, by form, stem, synonym or paraphrase.

The order of the candidates at a word of the reference decides between equal alignments: module by
module, and within a module by the position in the hypothesis; paraphrases first as the table pairs
the reference with the hypothesis, then the other way round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final, NamedTuple

from adequa.metrics.meteor.alignment import Match, new_match
from adequa.metrics.meteor.paraphrases import LONGEST_PHRASE, Pairs, Paraphrases, phrase_hash
from adequa.metrics.meteor.stemmer import stem
from adequa.metrics.meteor.synonyms import Synonyms

MODULES: Final = ("exact", "stem", "synonym", "paraphrase")


class Phrase(NamedTuple):
    """A phrase of the paraphrase table where it occurs in a text."""

    begin: int
    length: int
    hashed: int


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """The words of a hypothesis or reference with what the modules know of them."""

    words: list[str]
    function_words: list[bool]
    stems: Sequence[str]
    synsets: Sequence[tuple[str, ...]]
    phrases: Sequence[Phrase]


@dataclass(frozen=True, slots=True, eq=False)
class Matcher:
    """The modules in use, in their order, and their tables."""

    modules: tuple[str, ...]
    synonyms: Synonyms | None = None
    paraphrases: Paraphrases | None = None

    def read(self, texts: Sequence[list[str]]) -> tuple[list[Text], Pairs]:
        """Texts with what the modules know of them, and the paraphrases among all their phrases."""
        phrases: list[list[Phrase]] = [[] for _ in texts]
        pairs: Pairs = {}
        if self.paraphrases is not None:
            hashed = list(map(_phrase_hashes, texts))
            pairs = self.paraphrases.among({one for text in hashed for row in text for one in row})
            known = pairs.keys() | {other for others in pairs.values() for other in others}
            phrases = [_known_phrases(text, known) for text in hashed]
        stemmed = "stem" in self.modules
        return [
            Text(
                words=words,
                function_words=[word.lower() in FUNCTION_WORDS for word in words],
                stems=list(map(stem, words)) if stemmed else (),
                synsets=list(map(self.synonyms.synsets_of, words)) if self.synonyms else (),
                phrases=found,
            )
            for words, found in zip(texts, phrases, strict=True)
        ], pairs

    def candidates(self, hypothesis: Text, reference: Text, pairs: Pairs) -> list[list[Match]]:
        """For each word of the reference the matches that begin there."""
        if hypothesis.words == reference.words:
            # The search would take the diagonal: it covers every word in one chunk and is always
            # made first. Saying so at once spares long texts a long search.
            return [[new_match(position, 1, 1, 0)] for position in range(len(reference.words))]
        matches = _word_matches(self.modules, hypothesis, reference)
        if pairs:
            module = self.modules.index("paraphrase")
            _add_paraphrases(matches, hypothesis, reference, pairs, module)
        return matches


def _phrase_hashes(words: list[str]) -> list[list[int]]:
    """For each word the hashes of the phrases that begin there, from one word to the most."""
    encoded = [word.encode(errors="surrogatepass") for word in words]
    hashed = []
    for begin, phrase in enumerate(encoded):
        row = [phrase_hash(phrase)]
        for word in encoded[begin + 1 : begin + LONGEST_PHRASE]:
            phrase += b" " + word  # noqa: PLW2901
            row.append(phrase_hash(phrase))
        hashed.append(row)
    return hashed


def _known_phrases(hashed: list[list[int]], known: Set[int]) -> list[Phrase]:
    """The phrases of a text that the table has, by position and then by length."""
    return [
        Phrase(begin, length, one)
        for begin, row in enumerate(hashed)
        for length, one in enumerate(row, 1)
        if one in known
    ]


def _word_matches(modules: Sequence[str], hypothesis: Text, reference: Text) -> list[list[Match]]:
    """Matches of one word with one word. Equal words have equal matches, so they share one list."""
    exact = _positions(enumerate(hypothesis.words))
    stems = _positions(enumerate(hypothesis.stems))
    synsets = _positions(
        (position, synset) for position, ids in enumerate(hypothesis.synsets) for synset in ids
    )
    matches: dict[str, list[Match]] = {}
    for position, word in enumerate(reference.words):
        if word in matches:
            continue
        found = matches[word] = []
        for module, name in enumerate(modules):
            positions: Iterable[int] = ()
            if name == "exact":
                positions = exact.get(word, ())
            elif name == "stem":
                positions = stems.get(reference.stems[position], ())
            elif name == "synonym":
                positions = sorted(
                    {
                        other
                        for synset in reference.synsets[position]
                        for other in synsets.get(synset, ())
                    }
                )
            found += [
                new_match(other, 1, 1, module)
                for other in positions
                if name == "exact" or hypothesis.words[other] != word
            ]
    return [matches[word] for word in reference.words]


def _positions(keys: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    """Where each key occurs, in order."""
    positions = defaultdict(list)
    for position, key in keys:
        positions[key].append(position)
    return positions


def _add_paraphrases(
    matches: list[list[Match]], hypothesis: Text, reference: Text, pairs: Pairs, module: int
) -> None:
    """Add the matches of phrases, which may be longer than one word on either side."""
    added = defaultdict(list)
    for phrase, other in _paraphrased(reference, hypothesis, pairs):
        match = new_match(other.begin, other.length, phrase.length, module)
        added[phrase.begin].append(match)
    for phrase, other in _paraphrased(hypothesis, reference, pairs):
        match = new_match(phrase.begin, phrase.length, other.length, module)
        added[other.begin].append(match)
    for position, phrases in added.items():
        matches[position] = matches[position] + phrases  # a new list, since equal words share one


def _paraphrased(text: Text, other: Text, pairs: Pairs) -> Iterator[tuple[Phrase, Phrase]]:
    """Phrases of a text with those phrases of the other text that the table has for them."""
    occurrences = defaultdict(list)
    for phrase in other.phrases:
        occurrences[phrase.hashed].append(phrase)
    for phrase in text.phrases:
        ranks = pairs.get(phrase.hashed, {})
        for found in sorted(ranks.keys() & occurrences.keys(), key=ranks.__getitem__):
            for occurrence in occurrences[found]:
                yield phrase, occurrence


_WRITTEN: Final = (
    "the , . to of and a in that for \" is on 's it with was as said at he by be from have has are "
    "his but an this not i will ’ they ) -rrb- ( -lrb- who their had we which were been more or s "
    "its would about new one after you : also up when there than $ all out her people she year two "
    "- can if last first “ over other ” into some what so -- no time years could ? 't — '"
)
FUNCTION_WORDS: Final = frozenset(_WRITTEN.split())
