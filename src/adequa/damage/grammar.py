"""Grammar: articles, word forms, prepositions and word order."""

from __future__ import annotations

import re
from random import Random

from adequa.damage.base import (
    FUNCTION_WORDS,
    PAST,
    Context,
    Edit,
    alternation,
    apply_edits,
    begins_sentence,
    by_fraction,
    capitalize_like,
    deletion,
    fraction_count,
    match_case,
    replace_matches,
    select_edits,
    word_lists,
    word_spans,
)

_LISTS = word_lists("grammar")

# Articles

_ARTICLE = re.compile(r"(?<![-\w.])(?P<article>a|an|the)(?P<space> )(?=[^\W_])", re.IGNORECASE)


def article_wrong(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Drop or change articles: "an hour" -> "a hour", "the house" -> "house"."""
    edits = replace_matches(text, _ARTICLE, lambda match: _wrong_article(match, random))
    if not edits:
        return None
    return capitalize_like(text, apply_edits(text, select_edits(edits, severity, random)))


def _wrong_article(match: re.Match[str], random: Random) -> str | None:
    article, following = match["article"], match.string[match.end()]
    if article == "A" and following.isupper():
        return None  # a letter, as in "Vitamin A Deficiency"
    if random.random() < 0.5:  # noqa: PLR2004
        return ""
    if article.lower() == "the":
        return match_case(article, "a " if following.lower() in "aeiou" else "an ")
    return match_case(article, "an " if article.lower() == "a" else "a ")


# Word forms

_DISAGREEING: dict[str, str] = _LISTS["disagreeing_forms"]
_FORM = re.compile(
    rf"(?<![-\w])(?:(?P<agreeing>{alternation(_DISAGREEING)})(?![-\w'’])"
    rf"|(?:to|will|would|can|could|should|must|may|might) (?P<base>{alternation(PAST)})(?![-\w])"
    r"|(?:these|those|many|several|few|both|two|three|four|five|six|seven|eight|nine|ten|\d+)"
    r" (?P<plural>[a-z]{2,}[^siu\W\d_]s)(?![-\w])"
    r"|(?P<adverb>[a-z]+(?:al|ive|ous|ent|ful))ly(?![-\w]))"
)


@by_fraction
def word_form_wrong(text: str, random: Random, _context: Context) -> list[Edit]:
    """Use wrong word forms: "they is", "to went", "three car", "happened sudden"."""
    edits = []
    for match in _FORM.finditer(text):
        if match["agreeing"]:
            edits.append(Edit(*match.span(), _DISAGREEING[match[0].replace("’", "'")]))
        elif match["base"]:
            base = match["base"]
            wrong = random.choice([PAST[base], f"{base.removesuffix('e')}ing"])
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


# Prepositions

_PREPOSITIONS: dict[str, list[str]] = _LISTS["prepositions"]
# A preposition has a noun after it; before punctuation it is a part of its verb ("carried on,").
_PREPOSITION = re.compile(rf"(?<![-\w])(?:{alternation(_PREPOSITIONS)})(?= [^\W_])", re.IGNORECASE)


@by_fraction
def preposition_swapped(text: str, random: Random, _context: Context) -> list[Edit]:
    """Change prepositions: "from Prague to Brno" -> "with Prague to Brno"."""
    return replace_matches(
        text,
        _PREPOSITION,
        lambda match: match_case(match[0], random.choice(_PREPOSITIONS[match[0].lower()])),
    )


# Word order

_MIN_WORDS = 4
_MIN_WORDS_AROUND = 6  # words of a text beside the phrase that moves
# Words that may stand before or after their neighbour without harm.
_MOVABLE = frozenset(_LISTS["movable_words"])


def word_salad(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Shuffle at least half of the words, all at the highest severity."""
    spans = word_spans(text)
    if len(spans) < _MIN_WORDS:
        return None
    order = list(range(len(spans)))
    random.shuffle(order)
    moved = order[: max(3, fraction_count(len(order), 0.5 + 0.5 * severity))]
    words = [text[slice(*spans[index])] for index in moved]
    # Each word goes to the position of the next one, so that none stays where it was.
    return apply_edits(
        text,
        (
            Edit(*spans[index], word)
            for index, word in zip(moved, [words[-1], *words], strict=False)
        ),
    )


@by_fraction
def neighbours_exchanged(text: str, random: Random, _context: Context) -> list[Edit]:
    """Exchange words with their right neighbours: "the big house" -> "big the house"."""
    spans = word_spans(text)
    edits = []
    for index in range(random.randrange(2), len(spans) - 1, 2):
        (start, end), (next_start, next_end) = spans[index], spans[index + 1]
        left, right = text[start:end], text[next_start:next_end]
        names = left[0].isupper() and right[0].isupper()  # "Jan Novak", "Novak Jan"
        if text[end:next_start] == " " and _is_fixed(left) and _is_fixed(right) and not names:
            exchanged = f"{right} {left}"
            if begins_sentence(text, start) and left.lower() in FUNCTION_WORDS and left != "I":
                exchanged = f"{right[0].upper()}{right[1:]} {left.lower()}"
            edits.append(Edit(start, next_end, exchanged))
    return edits


def _is_fixed(word: str) -> bool:
    """Whether a word has a fixed position: an adverb, or the day of a date, may stand elsewhere."""
    return word.lower() not in _MOVABLE and not word.lower().endswith("ly") and not word.isdigit()


def phrase_moved(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Move a phrase of two to five words to another position inside the text."""
    spans = word_spans(text)
    count = 2 + round(3 * severity)
    if len(spans) < count + _MIN_WORDS_AROUND:
        return None
    # From after the first word to before the last, and at least two words away.
    first = 1 + random.randrange(len(spans) - count - 1)
    targets = [
        index for index in range(1, len(spans) - 1) if not first - 2 < index < first + count + 2
    ]
    if not targets:
        return None
    start, end = spans[first][0], spans[first + count - 1][1]
    target = spans[random.choice(targets)][0]
    edits = [deletion(text, start, end), Edit(target, target, f"{text[start:end]} ")]
    return capitalize_like(text, apply_edits(text, edits))
