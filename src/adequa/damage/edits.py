"""Places of a text that can be changed, how many a severity chooses, and the changed text.

A kind that works place by place lists all its edits; which of them are made depends on the
severity alone, in one random order, so that a graver damage holds every edit of a milder one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from math import ceil
from random import Random
from typing import NamedTuple, TypeAlias

from adequa.damage.base import Context, Damaging


class Edit(NamedTuple):
    """The characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


Listing: TypeAlias = Callable[[str, Random, Context], Sequence[Edit]]

_OPENING = " \t\n\"“„«'‘([¿¡"


def by_share(listing: Listing) -> Damaging:
    """The damage that makes a share of the listed edits, the severity; at least one."""

    @wraps(listing)
    def damage(text: str, severity: float, random: Random, context: Context) -> str | None:
        edits = listing(text, random, context)
        return applied(text, chosen(edits, severity, random)) if edits else None

    return damage


def chosen(edits: Sequence[Edit], severity: float, random: Random) -> list[Edit]:
    """A random share of the edits: what a lower severity chooses, a higher one chooses too."""
    order = [random.random() for _ in edits]
    ranked = sorted(range(len(edits)), key=order.__getitem__)
    return [edits[at] for at in ranked[: portion(len(edits), severity)]]


def portion(count: int, severity: float) -> int:
    """How many of `count` a severity asks for, at least one.

    >>> [portion(4, severity) for severity in (0.01, 0.25, 0.3, 1.0)]
    [1, 1, 2, 4]
    """
    return max(1, min(count, ceil(count * severity - 1e-9)))


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits made; where two overlap, the later one gives way.

    >>> applied("a b c", [Edit(4, 5, "z"), Edit(0, 1, "x")])
    'x b z'
    """
    parts, at = [], 0
    for start, end, new in sorted(edits):
        if start < at:
            if end <= at:
                continue
            start = at  # noqa: PLW2901  # two deletions share the space between them
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def deletion(text: str, start: int, end: int) -> Edit:
    """An edit that takes these characters away, and one of the spaces around them.

    >>> applied("a b c", [deletion("a b c", 2, 3)])
    'a c'
    """
    if start and text[start - 1].isspace():
        return Edit(start - 1, end, "")
    if end < len(text) and text[end].isspace() and start == 0:
        return Edit(start, end + 1, "")
    return Edit(start, end, "")


def like(word: str, new: str) -> str:
    """The new word in the case of the old: small, Capital, or ALL CAPITALS.

    >>> like("The", "all"), like("THE", "all"), like("the", "all"), like("I", "we")
    ('All', 'ALL', 'all', 'We')
    """
    if word.isupper() and len(word) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if word[:1].isupper() else new


def begun_like(text: str, damaged: str) -> str:
    """The damaged text with a capital at its beginning where the text has one.

    >>> begun_like("The cat sat.", "cat sat.")
    'Cat sat.'
    """
    at = len(damaged) - len(damaged.lstrip(_OPENING))
    if text.lstrip(_OPENING)[:1].isupper() and damaged[at : at + 1].islower():
        return damaged[:at] + damaged[at].upper() + damaged[at + 1 :]
    return damaged


def replacements(
    text: str, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str | None]
) -> list[Edit]:
    """An edit for each match for which there is something new."""
    found = ((match, new(match)) for match in pattern.finditer(text))
    return [Edit(*match.span(), made) for match, made in found if made is not None]


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of these words, the longest first.

    >>> any_of(["a", "all", "all of"])
    '(?a:all\\\\ of|all|a)'
    """
    # ASCII: without regard to case, the Turkish "ın" would else be the word "in".
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return f"(?a:{'|'.join(map(re.escape, longest_first))})"
