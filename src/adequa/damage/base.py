"""The contract of a kind of damage, and the text edits that most kinds are made of.

A kind is a pure function of a text, a severity, a random generator and a context. Most kinds list
every edit that is possible in the text; the severity then decides which fraction is applied. The
edits are ranked in one random order, so a higher severity includes all edits of a lower one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from math import ceil
from random import Random
from typing import NamedTuple, TypeAlias


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
    held_out_reason: str = ""  # why the kind is never trained on; empty where it may be

    @property
    def critical(self) -> bool:
        """Whether the kind belongs to a group that a metric must not miss."""
        return self.group in CRITICAL_GROUPS

    @property
    def held_out(self) -> bool:
        """Whether the kind is never trained on, only reported."""
        return bool(self.held_out_reason)


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
