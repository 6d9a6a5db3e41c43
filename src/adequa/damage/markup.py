"""Markup: what programs leave behind in text, from broken encodings to unfilled templates."""

from __future__ import annotations

import re
from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, by_share
from adequa.damage.wording import begins_sentence, content_spans, spans

_REMAINS = (
    "<br>", "</b>", "<b>", "&quot;", "&amp;", "&nbsp;", "&#39;", "&lt;", "</s>", "<s>", "<p>",
    "</div>", "\\n", "{{", "}}", "<span>", "&apos;", "[/url]", "**", "##",
)  # fmt: skip
_SLOTS = ("{0}", "%s", "$1", "[NAME]", "__NUM__", "{{name}}", "<name>", "@@PLACEHOLDER@@", "XXX")
_UNKNOWN = ("<unk>", "[UNK]", "UNK")
_EVERY = 3  # words between two places where remains may stand
_SHORTEST = 5  # letters of a word in pieces

# What typographic marks stand for the plain ones, which had to be encoded in the first place.
_TYPOGRAPHIC = {"'": "’", '"': "”", "-": "–"}
_ENCODED = re.compile(r"[^\x00-\x7f]|(?<=\w)'(?=\w)|\"|(?<= )-(?= )")
_LOST = "\N{REPLACEMENT CHARACTER}"


@by_share
def mojibake(text: str, random: Random, _context: Context) -> list[Edit]:
    """Letters with accents and typographic marks are read in the wrong encoding: "é" -> "Ã©".

    In a text that has none of these, letters are lost to the replacement character.
    """
    found = [Edit(*match.span(), _misread(match[0])) for match in _ENCODED.finditer(text)]
    if found:
        return found
    return [
        Edit(at, at + 1, _LOST)
        for start, end in content_spans(text)
        if text[start:end].isalpha()
        for at in [random.randrange(start, end)]
    ]


def _misread(character: str) -> str:
    """The bytes of UTF-8 taken for those of Windows-1252, as many programs do.

    >>> _misread("é"), _misread("’")
    ('Ã©', 'â€™')
    """
    encoded = _TYPOGRAPHIC.get(character, character).encode("utf-8", "surrogatepass")
    return encoded.decode("cp1252", "replace")


@by_share
def unknown_words(text: str, random: Random, _context: Context) -> list[Edit]:
    """Words that carry content become the mark for an unknown word: "<unk>"."""
    mark = random.choice(_UNKNOWN)
    return [Edit(start, end, mark) for start, end in content_spans(text)]


@by_share
def markup_left(text: str, random: Random, _context: Context) -> list[Edit]:
    """Tags and entities stand between words: "&quot;", "<br>"."""
    places = spans(text)
    return (
        [
            Edit(start, start, random.choice(_REMAINS) + random.choice(("", " ")))
            for start, _ in places[random.randrange(min(_EVERY, len(places))) :: _EVERY]
        ]
        if places
        else []
    )


@by_share
def slots_unfilled(text: str, random: Random, _context: Context) -> list[Edit]:
    """Names and numbers become unfilled slots of a template: "{0}", "[NAME]"."""
    return [
        Edit(start, end, random.choice(_SLOTS))
        for start, end in spans(text)
        if text[start].isdigit() or _is_name(text, start, end)
    ]


def _is_name(text: str, start: int, end: int) -> bool:
    return text[start].isupper() and end - start > 1 and not begins_sentence(text, start)


@by_share
def pieces_unjoined(text: str, random: Random, _context: Context) -> list[Edit]:
    """Pieces of words are not joined again: "trans@@ lation", "▁trans lation"."""
    return [
        Edit(start, end, f"{text[start:at]}@@ {text[at:end]}")
        for start, end in spans(text)
        if end - start >= _SHORTEST and text[start:end].isalpha()
        for at in [random.randrange(start + 2, end - 1)]
    ]
