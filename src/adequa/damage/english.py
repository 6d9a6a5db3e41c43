"""What the kinds of damage know of English: words, clauses, sentences, verb forms, word lists.

Positions are spans: pairs of start and end in characters.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeAlias

Span: TypeAlias = tuple[int, int]

_DATA = Path(__file__).parent / "data"


def word_lists(chapter: str) -> dict[str, Any]:
    """The word lists of one chapter by name, from `data/<chapter>.json`."""
    lists: dict[str, Any] = json.loads((_DATA / f"{chapter}.json").read_text(encoding="utf-8"))
    return lists


_LISTS = word_lists("english")
FUNCTION_WORDS: frozenset[str] = frozenset(_LISTS["function_words"])

# Letters and digits, with what joins them: "20-year-old", "3,500", "U.S", "don't".
WORD = re.compile(r"[^\W_]+(?:[-'’.,:][^\W_]+)*")
_CLAUSE_BREAK = re.compile(
    r"(?<=[,;:.!?])[\"”’)]*\s|\s[-–—]\s"
    r"|\s(?=(?:and|but|because|which|who|while|when|although|though|if|where|so that)\s)"
)
_SENTENCE_ENDS = frozenset(".!?:;…\"“”„«»'‘([-–—•*|/<>")
_FINAL_PUNCTUATION = ' \t\n.!?…"”’»)]'


def word_spans(text: str) -> list[Span]:
    """The span of each word.

    >>> word_spans("It's 3,500 m.")
    [(0, 4), (5, 10), (11, 12)]
    """
    return [match.span() for match in WORD.finditer(text)]


def content_spans(text: str) -> list[Span]:
    """The spans of the content words: no function words, at least three characters.

    >>> [("The cat is on the mat")[start:end] for start, end in content_spans("The cat is on it")]
    ['cat']
    """
    return [
        match.span()
        for match in WORD.finditer(text)
        if len(match[0]) > 2 and match[0].lower() not in FUNCTION_WORDS  # noqa: PLR2004
    ]


def content_words(text: str) -> frozenset[str]:
    """The words of a text that are no function words, in lower case."""
    return frozenset(match[0] for match in WORD.finditer(text.lower())) - FUNCTION_WORDS


def begins_sentence(text: str, start: int) -> bool:
    """Whether the word that starts here is, or may be, the first of a sentence.

    >>> [begins_sentence("Yes. No, (Ann)", start) for start in (0, 5, 10)]
    [True, True, True]
    >>> begins_sentence("the Czech team", 4)
    False
    """
    while start and text[start - 1].isspace():
        start -= 1
    return start == 0 or text[start - 1] in _SENTENCE_ENDS


def clause_spans(text: str) -> list[Span]:
    """The span of each clause: split after punctuation, at dashes and before conjunctions.

    >>> ["He came, and she left."[slice(*span)] for span in clause_spans("He came, and she left.")]
    ['He came,', 'and she left.']
    """
    breaks = [match.span() for match in _CLAUSE_BREAK.finditer(text)]
    starts = [0, *(end for _, end in breaks)]
    ends = [*(start for start, _ in breaks), len(text)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if end > start]


def split_final_punctuation(text: str) -> tuple[str, str]:
    """The text without its final punctuation, and that punctuation.

    >>> split_final_punctuation('He said: "yes."')
    ('He said: "yes', '."')
    """
    body = text.rstrip(_FINAL_PUNCTUATION)
    return body, text[len(body) :]


def third_person(base: str) -> str:
    """The form of a verb after "she".

    >>> [third_person(base) for base in ("go", "try", "say", "catch", "have")]
    ['goes', 'tries', 'says', 'catches', 'has']
    """
    if base == "have":
        return "has"
    if base[-1] == "y" and base[-2] not in "aeiou":
        return f"{base[:-1]}ies"
    return f"{base}es" if base.endswith(("o", "s", "x", "z", "ch", "sh")) else f"{base}s"


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return f"{base}d"
    if base[-1] == "y" and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    return f"{base}{base[-1]}ed" if base in {"plan", "stop"} else f"{base}ed"


# Irregular verbs whose past is no noun, adjective or base form, and regular verbs that are followed
# by what is said, wanted or done, so that "-ed" is rarely a passive.
PAST: dict[str, str] = _LISTS["irregular_verbs"] | {
    base: _regular_past(base) for base in _LISTS["regular_verbs"]
}
BASE_OF_PAST = {past: base for base, past in PAST.items()}
# Verbs whose third person is often a plural noun: "looks", "plans", "works".
_THIRD_PERSON_NOUNS = frozenset(_LISTS["third_person_nouns"])
BASE_OF_THIRD_PERSON = {
    third_person(base): base for base in PAST if base not in _THIRD_PERSON_NOUNS
}
