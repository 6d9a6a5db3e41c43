"""Names: another name in the place of one, and two names of a text that change places."""

from __future__ import annotations

import re
from random import Random
from typing import NamedTuple

from adequa.damage.base import Context
from adequa.damage.edits import Edit, applied, by_share
from adequa.damage.gazetteer import GIVEN_NAMES, NO_NAMES, SORTS, SURNAMES
from adequa.damage.wording import begins_sentence, content_spans

# A capital letter with small letters after it, or letters and hyphens; an ending 's is not in it.
_CAPITAL = re.compile(r"(?<![^\W_])(?<!['’.&@#/-])[^\W\d_a-z][^\W\d_]*(?:[-’'](?!s\b)[^\W\d_]+)*")
_GOES_ON = re.compile(r"[-./@]\w")  # as in "Russia-1" or "Yahoo.com"
_WORD = re.compile(r"[^\W\d_]+")
_SORT_OF = {name: sort for sort in SORTS for name in sort}
_LONGEST = 3  # words of a person's name
_SMALL = 3  # with fewer than one small word to so many capitals, a text is a headline


class Name(NamedTuple):
    """A name of one or more words, by its place."""

    start: int
    end: int
    words: tuple[str, ...]


def names(text: str) -> list[Name]:
    """The names of a text: words with a capital, other than titles and beginnings of sentences.

    >>> [" ".join(name.words) for name in names("The Czech team met President Jan Novak in Brno.")]
    ['Czech', 'Jan Novak', 'Brno']
    """
    found: list[Name] = []
    capitals = 0
    for match in _CAPITAL.finditer(text):
        start, end = match.span()
        if not match[0][0].isupper() or begins_sentence(text, start):
            continue
        capitals += 1
        if match[0] in NO_NAMES or match[0][1:2] in {"", "'", "’"} or _GOES_ON.match(text, end):
            continue
        if found and text[found[-1].end : start] == " " and not _sorted_name(found[-1], match[0]):
            found[-1] = Name(found[-1].start, end, (*found[-1].words, match[0]))
        else:
            found.append(Name(start, end, (match[0],)))
    return found if found and not _is_headline(text, capitals) else []


def _is_headline(text: str, capitals: int) -> bool:
    """Whether most words that carry content have capitals, which then tell nothing."""
    small = sum(text[start:end].islower() for start, end in content_spans(text))
    return _SMALL * small < capitals


def _sorted_name(name: Name, word: str) -> bool:
    """Whether one of two neighbours is of a known sort, and so a name of its own."""
    return word in _SORT_OF or name.words[-1] in _SORT_OF


@by_share
def name_swapped(text: str, random: Random, _context: Context) -> list[Edit]:
    """Names become others: a country, city or people of the same sort, else a person's name."""
    return [Edit(name.start, name.end, _other(text, name, random)) for name in names(text)]


def _other(text: str, name: Name, random: Random) -> str:
    sort = _SORT_OF.get(name.words[0]) if len(name.words) == 1 else None
    options = sort or SURNAMES
    surname = random.choice(options)
    while surname in name.words:
        surname = random.choice(options)
    if len(name.words) == 1:
        return surname
    if len(name.words) > _LONGEST or text.endswith(("the ", "The "), 0, name.start):
        return " ".join([surname, *name.words[1:]])  # an institution: "the Novak Film Academy"
    return f"{random.choice(GIVEN_NAMES)} {surname}"


_JOINING = frozenset({"and", "or", "nor", "as", "well", "with", "of", "the"})


def names_exchanged(text: str, _severity: float, random: Random, _context: Context) -> str | None:
    """Two names change places: "Ann sued Bob" -> "Bob sued Ann"; never two of one list."""
    found = names(text)
    pairs = [
        (one, other)
        for at, one in enumerate(found)
        for other in found[at + 1 : at + 6]
        if _exchangeable(text, one, other)
    ]
    if not pairs:
        return None
    one, other = random.choice(pairs)
    return applied(
        text,
        [
            Edit(one.start, one.end, text[other.start : other.end]),
            Edit(other.start, other.end, text[one.start : one.end]),
        ],
    )


def _exchangeable(text: str, one: Name, other: Name) -> bool:
    """Whether the exchange changes the meaning: "Ann and Bob" says the same either way round."""
    if {word.lower() for word in one.words} & {word.lower() for word in other.words}:
        return False
    between = [word[0] for word in _WORD.finditer(text[one.end : other.start])]
    return any(word.islower() and word not in _JOINING for word in between)
