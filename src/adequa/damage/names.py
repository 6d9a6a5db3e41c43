"""Names and roles: names, pronouns, and who does what to whom."""

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
    capitalize_like,
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


# Subject and object

_NOUN = r"(?!(?:to|of|and|or|in|on|at|for|with|by|as|that|who|which|is|was|so|own)\b)[a-z]{3,}"
_NOUN_PHRASE = (
    rf"(?:(?:[Tt]he|[Aa]n?|[Hh]is|[Hh]er|[Tt]heir|[Oo]ur|[Mm]y|[Ii]ts)(?: {_NOUN}){{1,3}}?"
    r"|(?!(?:This|That|It|There|Here|What|Who|These|Those|Both|Each|None)\b)"
    r"[A-Z][a-z][\w’'-]*(?: [A-Z][\w’'-]+){0,2}|[Hh]e|[Ss]he|[Tt]hey|[Ww]e|I|him|them|us|me)"
)
# A verb with its object right after it: one in "-ed", a common irregular one, or a passive.
_VERB = (
    r"(?:(?:(?:will|would|can|could|must|should|may) be|(?:has|have|had) been|was|were|is|are)"
    r" [a-z]+(?:ed|en|wn|lt|nt|ht) by"
    r"|(?:will|would|could|can|must|should|may|might) (?:not )?(?!be\b|have\b)[a-z]{3,}"
    rf"|(?:has |have |had |did not )?(?:(?!need|inde|happen|last|di)[a-z]{{2,}}ed"
    rf"|{alternation(_LISTS['transitive_verbs'])}))"
)
_SUBJECT_VERB_OBJECT = re.compile(
    rf"(?<![\w’'-])(?P<subject>{_NOUN_PHRASE}) (?P<verb>{_VERB})"
    rf" (?P<object>{_NOUN_PHRASE})(?=[,.;:!?\"”]| (?:in|on|at|for|with|by|after|before|because|and"
    r"|but|when|while|from|during|over|as|to|that|who|last|this|yesterday|into|about)\b|\s*\Z)"
)
_OBJECT_FORM = {"he": "him", "she": "her", "they": "them", "we": "us", "i": "me"}
_SUBJECT_FORM = {"him": "he", "them": "they", "us": "we", "me": "I", "her": "she"}
# What may stand before a subject; after "of" or "a" it is a part of something longer.
_BEFORE_SUBJECT = re.compile(
    r"(?:\A|[,.;:!?\"“”(–—-] ?|\d |\b(?:that|but|when|because|if|while|where|although|since|until"
    r"|then|so|how|why|what|said|says|yesterday|today|Monday|Tuesday|Wednesday|Thursday|Friday"
    r"|Saturday|Sunday|year|month|week|day|time|which|whom|once|meanwhile|however) )\Z",
    re.IGNORECASE,
)
_TIME_EXPRESSION = re.compile(
    r"\b(?:days?|weeks?|months?|years?|time|night|morning|evening|weekend|way)\b"
)
_DETERMINERS = frozenset(_LISTS["determiners"])


def subject_object_exchanged(
    text: str, _severity: float, random: Random, _context: Context
) -> str | None:
    """Exchange subject and object: "A dog bit him" -> "He bit a dog"."""
    matches = [match for match in _SUBJECT_VERB_OBJECT.finditer(text) if _has_two_roles(match)]
    if not matches:
        return None
    match = random.choice(matches)
    subject, verb, object_ = match["subject"], match["verb"], match["object"]
    new_subject = _SUBJECT_FORM.get(object_.lower(), object_)
    if begins_sentence(text, match.start()):
        new_subject = new_subject[0].upper() + new_subject[1:]
        if subject.partition(" ")[0].lower() in _DETERMINERS | set(_OBJECT_FORM):
            subject = subject[0].lower() + subject[1:]
    new_object = _OBJECT_FORM.get(subject.lower(), subject)
    exchanged = f"{new_subject} {verb} {new_object}"
    return capitalize_like(text, apply_edits(text, [Edit(*match.span(), exchanged)]))


def _has_two_roles(match: re.Match[str]) -> bool:
    """Whether subject and object are two participants that can change roles."""
    subject, object_ = match["subject"], match["object"]
    if subject.lower() == object_.lower() or object_.lower() in _OBJECT_FORM:
        return False
    if _TIME_EXPRESSION.search(object_) or subject.lower() in _SUBJECT_FORM:
        return False
    before = match.string[max(0, match.start() - 12) : match.start()]
    return bool(_BEFORE_SUBJECT.search(before)) and not match["verb"].endswith("eed")
