"""The alignment of a hypothesis with a reference by Meteor's beam search.

An alignment uses every word at most once. Meteor looks for the one that covers the most words,
then has the fewest chunks, then the least distance between matched positions (Denkowski and Lavie
2011), keeping the 40 best partial alignments at each word of the reference. What it
finds depends on the details below, so they follow its program and not only its description:

- When candidates are compared, an exact match covers its words fully and any other match half of
  them, rounded down on each side: a stem or synonym match of one word counts nothing.
- The distance of a match is charged to the partial alignments made after it at the same word, and
  not to the one that takes it.
- Among equals the one made earlier is better.

Matches that compete with no other are settled beforehand. Between two contested words all partial
alignments take the same settled matches, so that only the first of these can change their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

BEAM_SIZE: Final = 40

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
    made: list[_Partial] = []
    most = max([match.gain for match in matches], default=0)
    worst = _LAST
    for partial in beam:
        rank, last, used, resume, chain = partial
        if common is not None:
            last = common
        elif resume > position:
            made.append(partial)
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
                taken = (position, match, chain)
                made.append((new_rank, end, used | mask, position + length, taken))
            rank += abs(position - begin)
        else:
            if last != _NOWHERE:
                rank += _CHUNK
            if rank < worst:
                made.append((rank, _NOWHERE, used, 0, chain))
        if len(made) >= _CROWD:
            made.sort(key=_rank)
            del made[BEAM_SIZE:]
            worst = made[-1][0]
    made.sort(key=_rank)
    return made[:BEAM_SIZE]


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
    place = (_NOWHERE, _NOWHERE)
    for position, match in matches:
        chunks += place != (position, match.begin)
        place = (position + match.length, match.end)
    return chunks
