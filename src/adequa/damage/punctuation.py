"""Punctuation: marks are lost, marks are wrong, quotation marks and brackets lose their partner."""

from __future__ import annotations

import re
from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import (
    Edit,
    applied,
    by_share,
    chosen,
    deletion,
    replacements,
)

# Marks between words, not those inside numbers or words; a run such as "..." is one mark.
_MARK = re.compile(
    r"(?<=[^\W_])(?P<mark>[,;:.!?…]+)(?=[\s\"”’)\]]|\Z)|(?<=\s)(?P<alone>[,;:.!?]+)(?=\s|\Z)"
)
_PAIRED = re.compile(r"[\"“”„«»()\[\]]|(?<!\w)['‘](?=\w)|(?<=[.,!?])['’](?!\w)")
_WRONG = {
    ",": ("?", "!", ";", "..."), ".": (",", "?", ":", ";"), "?": (",", ".", ";"),
    "!": (",", "?", ";"), ":": ("?", ",", "!"), ";": ("?", ":", "!"),
}  # fmt: skip
_BROKEN = {"(": ("", "]", '"'), ")": ("", "]", "("), "[": ("", "(", "{"), "]": ("", ")", "}")}
_SPACE = re.compile(r"(?<=[^\W\d_]) (?=[^\W\d_])")
_FEWEST = 2  # marks: a full stop alone is hardly missed
_STRAY = (", ", ". ", "; ", "? ", ": ")


def punctuation_dropped(
    text: str, severity: float, random: Random, _context: Context
) -> str | None:
    """Marks between words and at the end are lost: half of them at the least."""
    edits = [
        deletion(text, *match.span()) if match["alone"] else Edit(*match.span(), "")
        for match in _MARK.finditer(text)
    ]
    if len(edits) < _FEWEST:
        return None
    return applied(text, chosen(edits, 0.5 + 0.5 * severity, random))


@by_share
def punctuation_wrong(text: str, random: Random, _context: Context) -> list[Edit]:
    """Marks become others, and stray ones appear between every fourth pair of words."""
    edits = replacements(
        text, _MARK, lambda match: random.choice(_WRONG.get(match[0][0], ("?", ";", ",")))
    )
    stray = [match.span() for match in _SPACE.finditer(text)][random.randrange(4) :: 4]
    return edits + [Edit(*place, random.choice(_STRAY)) for place in stray]


@by_share
def quotes_broken(text: str, random: Random, _context: Context) -> list[Edit]:
    """Quotation marks and brackets that close are lost or wrong, so that they do not match."""
    edits = replacements(
        text, _PAIRED, lambda match: random.choice(_BROKEN.get(match[0], ("", "(", "[", ",,")))
    )
    return edits[1::2]  # the first of each two stays and waits for its partner
