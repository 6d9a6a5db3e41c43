"""Grammar: wrong articles, wrong word forms, wrong prepositions."""

from __future__ import annotations

import re
from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import (
    Edit,
    any_of,
    applied,
    begun_like,
    by_share,
    chosen,
    like,
    replacements,
)
from adequa.damage.verbs import PAST

_ARTICLE = re.compile(r"(?<![-\w.])(?P<article>a|an|the)(?P<space> )(?=[^\W_])", re.IGNORECASE)
_VOWELS = "aeiou"


def article_wrong(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Articles are lost or wrong: "an hour" -> "a hour", "the house" -> "house"."""
    edits = replacements(text, _ARTICLE, lambda match: _wrong_article(match, random))
    return begun_like(text, applied(text, chosen(edits, severity, random))) if edits else None


def _wrong_article(match: re.Match[str], random: Random) -> str | None:
    article, following = match["article"], match.string[match.end()]
    if article == "A" and following.isupper():
        return None  # a letter, as in "Vitamin A Deficiency"
    if random.random() < 0.5:  # noqa: PLR2004
        return ""
    if article.lower() == "the":
        return like(article, "a " if following.lower() in _VOWELS else "an ")
    return like(article, "an " if article.lower() == "a" else "a ")


_DISAGREEING = {
    "is": "are", "are": "is", "was": "were", "were": "was", "has": "have", "have": "has",
    "does": "do", "do": "does", "am": "is", "this": "these", "these": "this", "those": "that",
    "isn't": "aren't", "aren't": "isn't", "wasn't": "weren't", "weren't": "wasn't",
    "doesn't": "don't", "don't": "doesn't", "hasn't": "haven't", "haven't": "hasn't",
}  # fmt: skip
_FORM = re.compile(
    rf"(?<![-\w])(?:(?P<agreeing>{any_of(_DISAGREEING)})(?![-\w'’])"
    rf"|(?:to|will|would|can|could|should|must|may|might) (?P<base>{any_of(PAST)})(?![-\w])"
    r"|(?:these|those|many|several|few|both|two|three|four|five|six|seven|eight|nine|ten|\d+)"
    r" (?P<plural>[a-z]{2,}[^siu\W\d_]s)(?![-\w])"
    r"|(?P<adverb>[a-z]+(?:al|ive|ous|ent|ful))ly(?![-\w]))"
)


@by_share
def word_form_wrong(text: str, random: Random, _context: Context) -> list[Edit]:
    """Forms are wrong: "they is", "to went", "three car", "happened sudden"."""
    edits = []
    for match in _FORM.finditer(text):
        if match["agreeing"]:
            edits.append(Edit(*match.span(), _DISAGREEING[match[0].replace("’", "'")]))
        elif match["base"]:
            wrong = random.choice([PAST[match["base"]], f"{match['base'].removesuffix('e')}ing"])
            edits.append(Edit(*match.span("base"), wrong))
        elif match["plural"]:
            edits.append(Edit(*match.span("plural"), _singular(match["plural"])))
        else:
            edits.append(Edit(*match.span(), match["adverb"]))
    return edits


def _singular(plural: str) -> str:
    """The singular of a regular plural.

    >>> [_singular(plural) for plural in ("days", "boxes", "cities", "houses")]
    ['day', 'box', 'city', 'house']
    """
    if plural.endswith("ies"):
        return f"{plural[:-3]}y"
    return plural[: -2 if plural.endswith(("xes", "ches", "shes", "sses")) else -1]


_PREPOSITIONS = {
    "in": ("of", "to", "by"), "on": ("of", "from", "into"), "at": ("of", "with", "into"),
    "from": ("to", "on", "with"), "with": ("of", "from", "at"), "by": ("of", "into", "at"),
    "for": ("from", "at", "by"), "into": ("from", "by", "at"), "of": ("at", "from", "to"),
    "between": ("into", "by"), "through": ("of", "at"), "during": ("into", "of"),
    "about": ("into", "by"), "against": ("from", "at"), "among": ("into", "by"),
    "towards": ("of", "by"), "within": ("of", "against"), "across": ("of", "by"),
}  # fmt: skip
# A preposition has a noun after it; before a mark it is a part of its verb ("carried on,").
_PREPOSITION = re.compile(rf"(?<![-\w])(?:{any_of(_PREPOSITIONS)})(?= [^\W_])", re.IGNORECASE)


@by_share
def preposition_swapped(text: str, random: Random, _context: Context) -> list[Edit]:
    """Prepositions become others: "from Prague to Brno" -> "with Prague to Brno"."""
    return replacements(
        text,
        _PREPOSITION,
        lambda match: like(match[0], random.choice(_PREPOSITIONS[match[0].lower()])),
    )
