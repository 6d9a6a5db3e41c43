"""Characters: typing mistakes, words run together, words split in two."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, by_share
from adequa.damage.wording import spans

_SHORTEST = 4  # letters: in a shorter word a slip may make another word
_SPLIT = 6  # letters of a word that is split
# The letter beside each one on a keyboard.
_NEAR = dict(zip("abcdefghijklmnopqrstuvwxyz", "svxsrghjoklknmiowtayybectx", strict=True))


@by_share
def typos(text: str, random: Random, _context: Context) -> list[Edit]:
    """Words are mistyped: two letters change places, one is lost, doubled or its neighbour's."""
    return [
        Edit(start, end, _mistyped(text[start:end], random))
        for start, end in spans(text)
        if end - start >= _SHORTEST and text[start:end].isalpha()
    ]


def _mistyped(word: str, random: Random) -> str:
    """The word with one slip inside it; the first letter stays."""
    at = random.randrange(1, len(word) - 1)
    slip = random.randrange(4)
    if slip == 0 and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if slip == 1:
        return word[:at] + word[at + 1 :]
    if slip == 2 and word[at] in _NEAR:  # noqa: PLR2004
        return word[:at] + _NEAR[word[at]] + word[at + 1 :]
    return word[: at + 1] + word[at:]


@by_share
def words_split(text: str, random: Random, _context: Context) -> list[Edit]:
    """Words fall apart: "translation" -> "trans lation"."""
    return [
        Edit(at, at, " ")
        for start, end in spans(text)
        if end - start >= _SPLIT and text[start:end].isalpha()
        for at in [random.randrange(start + 2, end - 1)]
    ]


@by_share
def spaces_dropped(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Words run together: "the minister said" -> "theminister said"."""
    places = spans(text)
    return [
        Edit(end, start, "") for (_, end), (start, _) in pairwise(places) if text[end:start] == " "
    ]
