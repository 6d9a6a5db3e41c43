"""Pronouns: another gender or another person."""

from __future__ import annotations

import re
from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, any_of, by_share, like, replacements
from adequa.damage.wording import FUNCTION_WORDS

_GENDERS = (
    ("he", "she"), ("himself", "herself"), ("man", "woman"), ("men", "women"), ("boy", "girl"),
    ("boys", "girls"), ("father", "mother"), ("son", "daughter"), ("sons", "daughters"),
    ("brother", "sister"), ("brothers", "sisters"), ("husband", "wife"), ("uncle", "aunt"),
    ("mr", "mrs"), ("king", "queen"), ("actor", "actress"), ("grandfather", "grandmother"),
)  # fmt: skip
_PERSONS = (("we", "they"), ("us", "them"), ("our", "their"), ("ourselves", "themselves"))
_OTHER = {
    word: partner
    for one, other in (*_GENDERS, *_PERSONS)
    for word, partner in ((one, other), (other, one))
} | {"his": "her", "him": "her", "ours": "theirs", "theirs": "ours", "my": "your", "your": "my"}
_PRONOUN = re.compile(rf"(?<![-\w])(?:her|{any_of(_OTHER)})(?!-?\w)", re.IGNORECASE)
_NEXT = re.compile(r" ([^\W\d_]+)")
_COUNTRY = "US"  # "US" is no pronoun


@by_share
def pronoun_swapped(text: str, _random: Random, _context: Context) -> list[Edit]:
    """He becomes she, his her, we they, mother father: the text speaks of somebody else."""
    return replacements(text, _PRONOUN, _swapped)


def _swapped(match: re.Match[str]) -> str | None:
    word = match[0]
    if word == _COUNTRY:
        return None
    if word.lower() == "her":
        following = _NEXT.match(match.string, match.end())
        owns = following is not None and following[1].lower() not in FUNCTION_WORDS
        return like(word, "his" if owns else "him")
    return like(word, _OTHER[word.lower()])
