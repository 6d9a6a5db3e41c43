"""Surface: letter case, punctuation, characters and markup; the words themselves stay right."""

from __future__ import annotations

import re
from itertools import pairwise
from random import Random

from adequa.damage.base import (
    Context,
    Edit,
    apply_edits,
    begins_sentence,
    by_fraction,
    content_spans,
    deletion,
    replace_matches,
    select_edits,
    word_spans,
)

# Case

_MIN_CAPITALISED_WORDS = 2  # the first word of a sentence alone is hardly missed


def case_lowered(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Lower-case words with capitals, at least half of them."""
    edits = [
        Edit(start, end, text[start:end].lower())
        for start, end in word_spans(text)
        if text[start:end] != text[start:end].lower()
    ]
    if len(edits) < _MIN_CAPITALISED_WORDS:
        return None
    return apply_edits(text, select_edits(edits, 0.5 + 0.5 * severity, random))


@by_fraction
def case_raised(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Write words in capitals."""
    return [
        Edit(start, end, text[start:end].upper())
        for start, end in word_spans(text)
        if text[start:end] != text[start:end].upper()
    ]


@by_fraction
def case_random(text: str, random: Random, _context: Context) -> list[Edit]:
    """Mix upper and lower case at random within words: "miNiStER"."""
    return [
        Edit(start, end, mixed)
        for start, end in word_spans(text)
        for mixed in [_mixed_case(text[start:end], random)]
        if mixed != text[start:end]
    ]


def _mixed_case(word: str, random: Random) -> str:
    bits = random.getrandbits(max(1, len(word)))
    return "".join(
        letter.upper() if bits >> index & 1 else letter.lower() for index, letter in enumerate(word)
    )


# Punctuation

# Marks between words, not those inside numbers or words; a run such as "..." is one mark.
_MARK = re.compile(
    r"(?<=[^\W_])(?P<mark>[,;:.!?…]+)(?=[\s\"”’)\]]|\Z)|(?<=\s)(?P<alone>[,;:.!?]+)(?=\s|\Z)"
)
_PAIRED_MARK = re.compile(r"[\"“”„«»()\[\]]|(?<!\w)['‘](?=\w)|(?<=[.,!?])['’](?!\w)")
_WRONG_MARKS = {
    ",": ("?", "!", ";", "..."), ".": (",", "?", ":", ";"), "?": (",", ".", ";"),
    "!": (",", "?", ";"), ":": ("?", ",", "!"), ";": ("?", ":", "!"),
}  # fmt: skip
_WRONG_BRACKETS = {
    "(": ("", "]", '"'), ")": ("", "]", "("), "[": ("", "(", "{"), "]": ("", ")", "}"),
}  # fmt: skip
_SPACE_BETWEEN_WORDS = re.compile(r"(?<=[^\W\d_]) (?=[^\W\d_])")
_STRAY_MARKS = (", ", ". ", "; ", "? ", ": ")
_MIN_MARKS = 2  # a full stop alone is hardly missed


def punctuation_dropped(
    text: str, severity: float, random: Random, _context: Context
) -> str | None:
    """Drop punctuation between words and at the end, at least half of the marks."""
    edits = [
        deletion(text, *match.span()) if match["alone"] else Edit(*match.span(), "")
        for match in _MARK.finditer(text)
    ]
    if len(edits) < _MIN_MARKS:
        return None
    return apply_edits(text, select_edits(edits, 0.5 + 0.5 * severity, random))


@by_fraction
def punctuation_wrong(text: str, random: Random, _context: Context) -> list[Edit]:
    """Change punctuation marks, and add stray ones between every fourth pair of words."""
    edits = replace_matches(
        text, _MARK, lambda match: random.choice(_WRONG_MARKS.get(match[0][0], ("?", ";", ",")))
    )
    spaces = [match.span() for match in _SPACE_BETWEEN_WORDS.finditer(text)]
    stray = spaces[random.randrange(4) :: 4]
    return edits + [Edit(*span, random.choice(_STRAY_MARKS)) for span in stray]


@by_fraction
def quotes_broken(text: str, random: Random, _context: Context) -> list[Edit]:
    """Drop or change closing quotation marks and brackets, so that they do not match."""
    edits = replace_matches(
        text,
        _PAIRED_MARK,
        lambda match: random.choice(_WRONG_BRACKETS.get(match[0], ("", "(", "[", ",,"))),
    )
    return edits[1::2]  # the first of each two stays, without its partner


# Characters

_MIN_TYPO_LETTERS = 4  # in a shorter word a typo may make another word
_MIN_SPLIT_LETTERS = 6
# For each letter one that is beside it on a keyboard.
_NEIGHBOUR_KEY = dict(zip("abcdefghijklmnopqrstuvwxyz", "svxsrghjoklknmiowtayybectx", strict=True))


@by_fraction
def typos(text: str, random: Random, _context: Context) -> list[Edit]:
    """Mistype words: exchange, drop or double a letter, or hit the key beside it."""
    return [
        Edit(start, end, _mistyped(text[start:end], random))
        for start, end in word_spans(text)
        if end - start >= _MIN_TYPO_LETTERS and text[start:end].isalpha()
    ]


def _mistyped(word: str, random: Random) -> str:
    """The word with one typo inside; the first letter stays."""
    at = random.randrange(1, len(word) - 1)
    typo = random.randrange(4)
    if typo == 0 and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if typo == 1:
        return word[:at] + word[at + 1 :]
    if typo == 2 and word[at] in _NEIGHBOUR_KEY:  # noqa: PLR2004
        return word[:at] + _NEIGHBOUR_KEY[word[at]] + word[at + 1 :]
    return word[: at + 1] + word[at:]


@by_fraction
def words_split(text: str, random: Random, _context: Context) -> list[Edit]:
    """Split words: "translation" -> "trans lation"."""
    return [
        Edit(at, at, " ")
        for start, end in word_spans(text)
        if end - start >= _MIN_SPLIT_LETTERS and text[start:end].isalpha()
        for at in [random.randrange(start + 2, end - 1)]
    ]


@by_fraction
def spaces_dropped(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Drop spaces between words: "the minister said" -> "theminister said"."""
    return [
        Edit(end, start, "")
        for (_, end), (start, _) in pairwise(word_spans(text))
        if text[end:start] == " "
    ]


# Markup

# Typographic marks, which need an encoding, for the plain ones of ASCII.
_TYPOGRAPHIC = {"'": "’", '"': "”", "-": "–"}
_ENCODED = re.compile(r"[^\x00-\x7f]|(?<=\w)'(?=\w)|\"|(?<= )-(?= )")
_REPLACEMENT_CHARACTER = "\N{REPLACEMENT CHARACTER}"
_UNKNOWN_TOKENS = ("<unk>", "[UNK]", "UNK")
_MARKUP = (
    "<br>", "</b>", "<b>", "&quot;", "&amp;", "&nbsp;", "&#39;", "&lt;", "</s>", "<s>", "<p>",
    "</div>", "\\n", "{{", "}}", "<span>", "&apos;", "[/url]", "**", "##",
)  # fmt: skip
_WORDS_PER_MARKUP = 3
_SLOTS = ("{0}", "%s", "$1", "[NAME]", "__NUM__", "{{name}}", "<name>", "@@PLACEHOLDER@@", "XXX")
_MIN_PIECES_LETTERS = 5


@by_fraction
def mojibake(text: str, random: Random, _context: Context) -> list[Edit]:
    """Read accented letters and typographic marks in the wrong encoding: "é" -> "Ã©".

    In a text that has none of these, letters become the replacement character.
    """
    edits = [Edit(*match.span(), _misread(match[0])) for match in _ENCODED.finditer(text)]
    if edits:
        return edits
    return [
        Edit(at, at + 1, _REPLACEMENT_CHARACTER)
        for start, end in content_spans(text)
        if text[start:end].isalpha()
        for at in [random.randrange(start, end)]
    ]


def _misread(character: str) -> str:
    """The UTF-8 bytes of a character, decoded as Windows-1252.

    >>> _misread("é"), _misread("’")
    ('Ã©', 'â€™')
    """
    encoded = _TYPOGRAPHIC.get(character, character).encode("utf-8", "surrogatepass")
    return encoded.decode("cp1252", "replace")


@by_fraction
def unknown_words(text: str, random: Random, _context: Context) -> list[Edit]:
    """Replace content words by the token for an unknown word: "<unk>"."""
    token = random.choice(_UNKNOWN_TOKENS)
    return [Edit(start, end, token) for start, end in content_spans(text)]


@by_fraction
def markup_left(text: str, random: Random, _context: Context) -> list[Edit]:
    """Leave tags and entities between words: "&quot;", "<br>"."""
    spans = word_spans(text)
    if not spans:
        return []
    return [
        Edit(start, start, random.choice(_MARKUP) + random.choice(("", " ")))
        for start, _ in spans[
            random.randrange(min(_WORDS_PER_MARKUP, len(spans))) :: _WORDS_PER_MARKUP
        ]
    ]


@by_fraction
def slots_unfilled(text: str, random: Random, _context: Context) -> list[Edit]:
    """Replace names and numbers by unfilled slots of a template: "{0}", "[NAME]"."""
    return [
        Edit(start, end, random.choice(_SLOTS))
        for start, end in word_spans(text)
        if text[start].isdigit() or _is_name(text, start, end)
    ]


def _is_name(text: str, start: int, end: int) -> bool:
    return text[start].isupper() and end - start > 1 and not begins_sentence(text, start)


@by_fraction
def pieces_unjoined(text: str, random: Random, _context: Context) -> list[Edit]:
    """Leave subwords unjoined: "trans@@ lation"."""
    return [
        Edit(start, end, f"{text[start:at]}@@ {text[at:end]}")
        for start, end in word_spans(text)
        if end - start >= _MIN_PIECES_LETTERS and text[start:end].isalpha()
        for at in [random.randrange(start + 2, end - 1)]
    ]
