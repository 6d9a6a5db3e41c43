"""The contract of a kind of damage, text edits, and what the kinds know of English.

A kind is a pure function of a text, a severity, a random generator and a context. Most kinds list
every edit that is possible in the text; the severity then decides which fraction is applied. The
edits are ranked in one random order, so a higher severity includes all edits of a lower one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from math import ceil
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias


@dataclass(frozen=True, slots=True)
class Context:
    """What a kind may need beside the text: its source, and other sentences of the corpus."""

    source: str | None = None
    corpus: Sequence[str] = ()


# Arguments: text, severity (above 0, at most 1), random generator, context.
# Returns None where the kind does not apply to the text.
DamageFunction: TypeAlias = Callable[[str, float, Random, Context], "str | None"]

# Groups that a metric must not miss: they change what the reader came for.
CRITICAL_GROUPS = frozenset(
    {"number", "negation", "name", "omission", "hallucination", "untranslated", "empty"}
)


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One kind of damage."""

    name: str
    group: str
    function: DamageFunction
    severity_meaning: str  # what grows with the severity; empty where the severity has no effect
    test_only_reason: str = ""  # why the kind is never trained on; empty where it may be

    @property
    def critical(self) -> bool:
        """Whether the kind belongs to a group that a metric must not miss."""
        return self.group in CRITICAL_GROUPS

    @property
    def is_test_only(self) -> bool:
        """Whether the kind is never trained on, only reported."""
        return bool(self.test_only_reason)


class Edit(NamedTuple):
    """The characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


ListEdits: TypeAlias = Callable[[str, Random, Context], Sequence[Edit]]


def by_fraction(list_edits: ListEdits) -> DamageFunction:
    """Decorator: apply the severity's fraction of the listed edits, at least one."""

    @wraps(list_edits)
    def damage(text: str, severity: float, random: Random, context: Context) -> str | None:
        edits = list_edits(text, random, context)
        return apply_edits(text, select_edits(edits, severity, random)) if edits else None

    return damage


def needs_words(least: int) -> Callable[[DamageFunction], DamageFunction]:
    """Decorator: the kind does not apply to texts of fewer words."""

    def decorate(function: DamageFunction) -> DamageFunction:
        @wraps(function)
        def damage(text: str, severity: float, random: Random, context: Context) -> str | None:
            is_short = len(word_spans(text)) < least
            return None if is_short else function(text, severity, random, context)

        return damage

    return decorate


def select_edits(edits: Sequence[Edit], severity: float, random: Random) -> list[Edit]:
    """A random fraction of the edits; a higher severity includes those of a lower one."""
    keys = [random.random() for _ in edits]
    ranked = sorted(range(len(edits)), key=keys.__getitem__)
    return [edits[index] for index in ranked[: fraction_count(len(edits), severity)]]


def fraction_count(count: int, severity: float) -> int:
    """How many of `count` items a severity selects, at least one.

    >>> [fraction_count(4, severity) for severity in (0.01, 0.25, 0.3, 1.0)]
    [1, 1, 2, 4]
    """
    return max(1, min(count, ceil(count * severity - 1e-9)))


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Apply the edits to the text; where two overlap, the one that starts first wins.

    >>> apply_edits("a b c", [Edit(4, 5, "z"), Edit(0, 1, "x")])
    'x b z'
    """
    parts, position = [], 0
    for start, end, new in sorted(edits):
        if start < position:
            if end <= position:
                continue
            start = position  # noqa: PLW2901  # two deletions share the space between them
        parts += [text[position:start], new]
        position = end
    return "".join([*parts, text[position:]])


def deletion(text: str, start: int, end: int) -> Edit:
    """An edit that deletes these characters and one of the spaces around them.

    >>> apply_edits("a b c", [deletion("a b c", 2, 3)])
    'a c'
    """
    if start and text[start - 1].isspace():
        return Edit(start - 1, end, "")
    if end < len(text) and text[end].isspace() and start == 0:
        return Edit(start, end + 1, "")
    return Edit(start, end, "")


def replace_matches(
    text: str, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str | None]
) -> list[Edit]:
    """One edit for each match of the pattern for which `replacement` returns a text."""
    pairs = ((match, replacement(match)) for match in pattern.finditer(text))
    return [Edit(*match.span(), new) for match, new in pairs if new is not None]


def alternation(words: Iterable[str]) -> str:
    """A regular expression for any of these words, the longest first.

    >>> alternation(["a", "all", "all of"])
    '(?a:all\\\\ of|all|a)'
    """
    # ASCII: without regard to case, the Turkish "ın" would else be the word "in".
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return f"(?a:{'|'.join(map(re.escape, longest_first))})"


def match_case(word: str, new: str) -> str:
    """The new word in the case of the old one: lower, Capitalised or UPPER.

    >>> match_case("The", "all"), match_case("THE", "all"), match_case("the", "all")
    ('All', 'ALL', 'all')
    >>> match_case("I", "we")
    'We'
    """
    if word.isupper() and len(word) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if word[:1].isupper() else new


_OPENING_CHARACTERS = " \t\n\"“„«'‘([¿¡"


def capitalize_like(text: str, damaged: str) -> str:
    """The damaged text with a capital at its beginning if the text begins with one.

    >>> capitalize_like("The cat sat.", "cat sat.")
    'Cat sat.'
    """
    start = len(damaged) - len(damaged.lstrip(_OPENING_CHARACTERS))
    if text.lstrip(_OPENING_CHARACTERS)[:1].isupper() and damaged[start : start + 1].islower():
        return damaged[:start] + damaged[start].upper() + damaged[start + 1 :]
    return damaged


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
