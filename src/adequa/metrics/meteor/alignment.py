"""Which words and phrases match, and the alignment that Meteor's beam search takes.

Words match by form, stem, synonym or paraphrase. The order of the candidates at a word of the
reference decides between equal alignments: module by module, and within a module by the position in
the hypothesis; paraphrases first as the table pairs the reference with the hypothesis, then the
other way round.

An alignment uses every word at most once. Meteor looks for the one that covers the most words,
then has the fewest chunks, then the least distance between matched positions (Denkowski and Lavie
2011), keeping the 40 best partial alignments at each word of the reference. Its result depends on
the details below, so they follow its program and not only its description:

- When candidates are compared, an exact match covers its words fully and any other match half of
  them, rounded down on each side: a stem or synonym match of one word counts nothing.
- The distance of a match is charged to the partial alignments made after it at the same word, and
  not to the one that takes it.
- Among equals the one made earlier is better.

Matches that compete with no other are settled beforehand. Between two contested words all partial
alignments take the same settled matches, so that only the first of these can change their order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.metrics.meteor.tables import (
    LONGEST_PHRASE,
    Pairs,
    Paraphrases,
    Synonyms,
    phrase_hash,
)
from adequa.metrics.meteor.words import stem

BEAM_SIZE: Final = 40
# Matches of all words of two texts that are looked at; a thousand words of a usual text have some
# ten thousand. So many take about five seconds.
MOST_MATCHES: Final = 400_000

# The rank of a partial alignment as one integer, lower is better: covered words (negative), then
# chunks, then distance.
_CHUNK: Final = 1 << 32
_COVERED: Final = 1 << 52
_LAST: Final = 1 << 200  # behind every rank
_NOWHERE: Final = -1  # no match ends where the next word begins
_CROWD: Final = 2 * BEAM_SIZE  # so many partial alignments are worth a sort to find the best
_rank = itemgetter(0)


class Match(NamedTuple):
    """Words `begin` to `end` of the hypothesis against `length` words of the reference."""

    begin: int
    end: int
    length: int
    module: int
    mask: int  # the words of the hypothesis as bits
    gain: int  # what covering these words is worth in the rank


Candidates: TypeAlias = Sequence[Sequence[Match]]
# A chain of matches, the latest first: position in the reference, match, what came before.
_Chain: TypeAlias = tuple[int, Match, Any] | None
# Rank, end of the last match, used words of the hypothesis as bits, first word of the reference
# that is still free, matches.
_Partial: TypeAlias = tuple[int, int, int, int, _Chain]


@lru_cache(maxsize=1 << 14)
def new_match(begin: int, words: int, length: int, module: int) -> Match:
    """A match of so many words of the hypothesis; module 0 is the exact one."""
    covered = words + length if module == 0 else words // 2 + length // 2
    mask = ((1 << words) - 1) << begin
    return Match(begin, begin + words, length, module, mask, covered * _COVERED)


def best_alignment(candidates: Candidates, hypothesis_length: int) -> list[tuple[int, Match]]:
    """The matches that the beam search takes, each with its position in the reference, in order.

    `candidates` holds for each word of the reference the matches that begin there.
    """
    settled, contested = _settled(candidates, hypothesis_length)
    beam: list[_Partial] = [(0, _NOWHERE, 0, 0, None)]
    common: int | None = _NOWHERE  # where all partial alignments stand after a settled word
    position = 0
    while position < len(candidates):
        if contested[position]:
            beam = _extended(beam, common, position, candidates[position])
            common = None
            position += 1
        else:
            match = settled.get(position)
            if common is None:
                beam = _advanced(beam, match.begin if match else _NOWHERE)
            common = match.end if match else _NOWHERE
            position += match.length if match else 1
    if common is None:
        beam = _advanced(beam, _NOWHERE)
    chain = beam[0][-1]
    while chain:
        position, settled[position], chain = chain
    return sorted(settled.items())


def _settled(candidates: Candidates, hypothesis_length: int) -> tuple[dict[int, Match], list[bool]]:
    """The matches whose words no other match covers, and which words of the reference are left."""
    in_hypothesis = [0] * hypothesis_length
    in_reference = [0] * len(candidates)
    for position, matches in enumerate(candidates):
        for begin, end, length, *_ in matches:
            for word in range(begin, end):
                in_hypothesis[word] += 1
            for word in range(position, position + length):
                in_reference[word] += 1
    contested = [count > 0 for count in in_reference]
    settled = {}
    for position, matches in enumerate(candidates):
        if len(matches) == 1:
            begin, end, length, *_ = matches[0]
            covering = in_hypothesis[begin:end] + in_reference[position : position + length]
            if max(covering) == 1:
                settled[position] = matches[0]
                contested[position : position + length] = [False] * length
    return settled, contested


def _extended(
    beam: list[_Partial], common: int | None, position: int, matches: Sequence[Match]
) -> list[_Partial]:
    """The best partial alignments after a contested word: with each of its matches and without.

    Once there are enough, those that cannot become one of the best are not even made. That changes
    nothing in the result, and it bounds the work on long texts of few different words.
    """
    extended: list[_Partial] = []
    most = max([match.gain for match in matches], default=0)
    worst = _LAST
    for partial in beam:
        rank, last, used, resume, chain = partial
        if common is not None:
            last = common
        elif resume > position:
            extended.append(partial)
            continue
        for match in matches:
            begin, end, length, _, mask, gain = match
            if used & mask:
                continue
            if rank - most >= worst:
                break
            new_rank = rank - gain
            if last not in (_NOWHERE, begin):
                new_rank += _CHUNK
            if new_rank < worst:
                longer = (position, match, chain)
                extended.append((new_rank, end, used | mask, position + length, longer))
            rank += abs(position - begin)
        else:
            if last != _NOWHERE:
                rank += _CHUNK
            if rank < worst:
                extended.append((rank, _NOWHERE, used, 0, chain))
        if len(extended) >= _CROWD:
            extended.sort(key=_rank)
            del extended[BEAM_SIZE:]
            worst = extended[-1][0]
    extended.sort(key=_rank)
    return extended[:BEAM_SIZE]


def _advanced(beam: list[_Partial], begin: int) -> list[_Partial]:
    """The beam after a word that all treat alike: a chunk ends unless its match goes on from it."""
    advanced: list[_Partial] = [
        (rank if last in (_NOWHERE, begin) else rank + _CHUNK, begin, used, 0, chain)
        for rank, last, used, _, chain in beam
    ]
    advanced.sort(key=_rank)
    return advanced


def chunk_count(matches: Sequence[tuple[int, Match]]) -> int:
    """Runs of matches that are adjacent and in the same order in both texts."""
    chunks = 0
    expected = (_NOWHERE, _NOWHERE)
    for position, match in matches:
        chunks += expected != (position, match.begin)
        expected = (position + match.length, match.end)
    return chunks


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
            in_table = pairs.keys() | {other for others in pairs.values() for other in others}
            phrases = [_table_phrases(text, in_table) for text in hashed]
        stemmed = "stem" in self.modules
        return [
            Text(
                words=words,
                function_words=[word.lower() in FUNCTION_WORDS for word in words],
                stems=list(map(stem, words)) if stemmed else (),
                synsets=list(map(self.synonyms.synsets_of, words)) if self.synonyms else (),
                phrases=of_text,
            )
            for words, of_text in zip(texts, phrases, strict=True)
        ], pairs

    def candidates(
        self, hypothesis: Text, reference: Text, pairs: Pairs
    ) -> tuple[list[list[Match]], bool]:
        """For each word of the reference the matches that begin there, and whether they are all.

        Long texts of few different words have too many: then the nearest are taken.
        """
        if hypothesis.words == reference.words:
            # The search would take the diagonal: it covers every word in one chunk and is always
            # made first. Saying so at once spares long texts a long search.
            return [
                [new_match(position, 1, 1, 0)] for position in range(len(reference.words))
            ], True
        matches = _word_matches(self.modules, hypothesis, reference)
        if pairs:
            module = self.modules.index("paraphrase")
            _add_paraphrases(matches, hypothesis, reference, pairs, module)
        if sum(map(len, matches)) > MOST_MATCHES:
            return _nearest(matches, max(1, MOST_MATCHES // len(matches))), False
        return matches, True


def _nearest(matches: list[list[Match]], most: int) -> list[list[Match]]:
    """At most so many matches of each word, the nearest by position, in the order that they had."""
    begins: dict[int, npt.NDArray[np.intp]] = {}  # by list: equal words share one
    nearest = []
    for position, row in enumerate(matches):
        if len(row) <= most:
            nearest.append(row)
            continue
        if id(row) not in begins:
            begins[id(row)] = np.array([match.begin for match in row], np.intp)
        order = np.argsort(np.abs(begins[id(row)] - position), kind="stable")
        nearest.append([row[index] for index in np.sort(order[:most]).tolist()])
    return nearest


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


def _table_phrases(hashed: list[list[int]], in_table: Set[int]) -> list[Phrase]:
    """The phrases of a text that the table has, by position and then by length."""
    return [
        Phrase(begin, length, one)
        for begin, row in enumerate(hashed)
        for length, one in enumerate(row, 1)
        if one in in_table
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
        of_word = matches[word] = []
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
            of_word += [
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
        for hashed in sorted(ranks.keys() & occurrences.keys(), key=ranks.__getitem__):
            for occurrence in occurrences[hashed]:
                yield phrase, occurrence


_WRITTEN: Final = (
    "the , . to of and a in that for \" is on 's it with was as said at he by be from have has are "
    "his but an this not i will ’ they ) -rrb- ( -lrb- who their had we which were been more or s "
    "its would about new one after you : also up when there than $ all out her people she year two "
    "- can if last first “ over other ” into some what so -- no time years could ? 't — '"
)
FUNCTION_WORDS: Final = frozenset(_WRITTEN.split())
