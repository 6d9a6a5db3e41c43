"""Names and pronouns: who and what the text is about."""

from __future__ import annotations

import re
from random import Random
from typing import NamedTuple

from adequa.damage.base import (
    Context,
    Edit,
    alternation,
    apply_edits,
    by_fraction,
    match_case,
    replace_matches,
)
from adequa.damage.english import FUNCTION_WORDS, begins_sentence, content_spans, word_lists

_LISTS = word_lists("names")

# Names

# The people and their combinations are nobody in particular.
_FIRST_NAMES: list[str] = _LISTS["first_names"]
_SURNAMES: list[str] = _LISTS["surnames"]
# A name is replaced by another of its list, if it is in one.
_NAMES_LIKE: dict[str, list[str]] = {
    name: _LISTS[category]
    for category in ("countries", "cities", "nationalities", "institutions")
    for name in _LISTS[category]
}
# Words with a capital that go before a name, or that are no name at all.
_NOT_NAMES = frozenset(_LISTS["not_names"])

# A capital letter with small letters after it, or letters and hyphens; an ending 's is not in it.
_CAPITALISED = re.compile(
    r"(?<![^\W_])(?<!['’.&@#/-])[^\W\d_a-z][^\W\d_]*(?:[-’'](?!s\b)[^\W\d_]+)*"
)
_CONTINUES = re.compile(r"[-./@]\w")  # as in "Russia-1" or "Yahoo.com"
_LETTERS = re.compile(r"[^\W\d_]+")
_MAX_PERSON_WORDS = 3
_HEADLINE_RATIO = 3  # a headline has fewer than one lower-case word for so many capitalised ones
_MAX_NAMES_APART = 5


class Name(NamedTuple):
    """A name of one or more words, and its span."""

    start: int
    end: int
    words: tuple[str, ...]


def find_names(text: str) -> list[Name]:
    """The names of a text: words with a capital, other than titles and beginnings of sentences.

    >>> text = "The Czech team met President Jan Novak in Brno."
    >>> [" ".join(name.words) for name in find_names(text)]
    ['Czech', 'Jan Novak', 'Brno']
    """
    names: list[Name] = []
    capitals = 0
    for match in _CAPITALISED.finditer(text):
        start, end = match.span()
        if not match[0][0].isupper() or begins_sentence(text, start):
            continue
        capitals += 1
        if match[0] in _NOT_NAMES or match[0][1:2] in {"", "'", "’"} or _CONTINUES.match(text, end):
            continue
        if names and text[names[-1].end : start] == " " and not _separate(names[-1], match[0]):
            names[-1] = Name(names[-1].start, end, (*names[-1].words, match[0]))
        else:
            names.append(Name(start, end, (match[0],)))
    return names if names and not _is_headline(text, capitals) else []


def _is_headline(text: str, capitals: int) -> bool:
    """Whether most content words have capitals, which then do not mark names."""
    lower_case = sum(text[start:end].islower() for start, end in content_spans(text))
    return _HEADLINE_RATIO * lower_case < capitals


def _separate(name: Name, word: str) -> bool:
    """Whether a name and the word after it are two names, since one of them is in a list."""
    return word in _NAMES_LIKE or name.words[-1] in _NAMES_LIKE


@by_fraction
def name_swapped(text: str, random: Random, _context: Context) -> list[Edit]:
    """Replace names: a country, city or nationality by another, else by a person's name."""
    return [
        Edit(name.start, name.end, _different_name(text, name, random)) for name in find_names(text)
    ]


def _different_name(text: str, name: Name, random: Random) -> str:
    options = _SURNAMES
    if len(name.words) == 1:
        options = _NAMES_LIKE.get(name.words[0], _SURNAMES)
    replacement = random.choice(options)
    while replacement in name.words:
        replacement = random.choice(options)
    if len(name.words) == 1:
        return replacement
    if len(name.words) > _MAX_PERSON_WORDS or text.endswith(("the ", "The "), 0, name.start):
        return " ".join([replacement, *name.words[1:]])  # an institution: "the Novak Film Academy"
    return f"{random.choice(_FIRST_NAMES)} {replacement}"


_COORDINATING = frozenset({"and", "or", "nor", "as", "well", "with", "of", "the"})


def names_exchanged(text: str, _severity: float, random: Random, _context: Context) -> str | None:
    """Exchange two names: "Ann sued Bob" -> "Bob sued Ann"; never two of one enumeration."""
    names = find_names(text)
    pairs = [
        (first, second)
        for index, first in enumerate(names)
        for second in names[index + 1 : index + 1 + _MAX_NAMES_APART]
        if _exchangeable(text, first, second)
    ]
    if not pairs:
        return None
    first, second = random.choice(pairs)
    return apply_edits(
        text,
        [
            Edit(first.start, first.end, text[second.start : second.end]),
            Edit(second.start, second.end, text[first.start : first.end]),
        ],
    )


def _exchangeable(text: str, first: Name, second: Name) -> bool:
    """Whether an exchange changes the meaning: "Ann and Bob" means the same either way round."""
    if {word.lower() for word in first.words} & {word.lower() for word in second.words}:
        return False
    between = [word[0] for word in _LETTERS.finditer(text[first.end : second.start])]
    return any(word.islower() and word not in _COORDINATING for word in between)


# Pronouns

_PARTNER = {
    word: partner
    for first, second in (*_LISTS["gender_pairs"], *_LISTS["person_pairs"])
    for word, partner in ((first, second), (second, first))
} | {"his": "her", "him": "her", "ours": "theirs", "theirs": "ours", "my": "your", "your": "my"}
_PRONOUN = re.compile(rf"(?<![-\w])(?:her|{alternation(_PARTNER)})(?!-?\w)", re.IGNORECASE)
_NEXT_WORD = re.compile(r" ([^\W\d_]+)")


@by_fraction
def pronoun_swapped(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Change gender or person: "he" -> "she", "his" -> "her", "we" -> "they"."""
    return replace_matches(text, _PRONOUN, _swapped_pronoun)


def _swapped_pronoun(match: re.Match[str]) -> str | None:
    word = match[0]
    if word == "US":  # the country
        return None
    if word.lower() == "her":
        following = _NEXT_WORD.match(match.string, match.end())
        possessive = following is not None and following[1].lower() not in FUNCTION_WORDS
        return match_case(word, "his" if possessive else "him")
    return match_case(word, _PARTNER[word.lower()])
