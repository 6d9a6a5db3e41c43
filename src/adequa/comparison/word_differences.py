"""Which words of two texts differ: the longest common run of words is alike, the rest is not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

LONGEST = 300  # characters of a text that are shown around its first difference
_COMBINING = (range(0x300, 0x1F000), range(0xE0100, 0xE01F0))  # where Unicode has them
_BEFORE = 60  # of them before it
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"


@cache
def _piece() -> re.Pattern[str]:
    """Words with marks inside, single marks, and what has no spaces character by character.

    Combining marks stay with what they stand on.
    """
    marks = _combining()
    letters = rf"(?:[^\W_]|{marks})+"
    joined = f"{letters}(?:['’.,:/-]{letters})*"
    return re.compile(rf"[{_UNSPACED}]{marks}*|{joined}|\S{marks}*")


def _combining() -> str:
    """A class of all characters that combine with the one before them."""
    characters = map(chr, chain(*_COMBINING))
    marks = (char for char in characters if unicodedata.category(char).startswith("M"))
    return "[" + "".join(marks) + "]"


class Piece(NamedTuple):
    """A piece of a text, and whether the other text has it in this place too."""

    text: str
    same: bool


def differing(text: str, other: str) -> list[Piece]:
    """A text in pieces that add up to it, each the same as in the other or not.

    White space and the case of letters make no difference.

    >>> differing("The cat sat.", "the dog sat.")
    [Piece(text='The ', same=True), Piece(text='cat', same=False), Piece(text=' sat.', same=True)]
    """
    spans = [match.span() for match in _piece().finditer(text)]
    alike = _alike([text[a:b].lower() for a, b in spans], _pieces(other))
    pieces: list[Piece] = []
    done = 0
    for (start, end), same in zip(spans, alike, strict=True):
        if start > done:
            # The space between two that differ differs with them.
            gap = not (pieces and not pieces[-1].same and not same)
            _add(pieces, text[done:start], same=gap)
        _add(pieces, text[start:end], same=same)
        done = end
    if done < len(text):
        _add(pieces, text[done:], same=True)
    return pieces


def marked(text: str, other: str) -> str:
    """A text with what the other does not have in brackets.

    >>> marked("The big cat sat.", "The dog sat.")
    'The [big cat] sat.'
    """
    return "".join(
        piece.text if piece.same else f"[{piece.text}]" for piece in differing(text, other)
    )


def first_difference(text: str, other: str) -> int | None:
    """Where a text begins to differ from another; None where it does not.

    >>> first_difference("The cat sat.", "The dog sat."), first_difference("cat", "cat")
    (4, None)
    """
    first, *others = [*differing(text, other), Piece("", same=True)]
    if not first.same:
        return 0
    return len(first.text) if len(others) > 1 else None


def excerpt(text: str, around: int = 0, longest: int = LONGEST) -> str:
    """At most so many characters of a text, with what comes after a place and a little before it.

    >>> excerpt("one two three four five six", around=14, longest=8), excerpt("short")
    ('… e four f …', 'short')
    """
    if len(text) <= longest:
        return text
    start = max(0, min(around - min(_BEFORE, longest // 4), len(text) - longest))
    end = start + longest
    before, after = "… " if start else "", " …" if end < len(text) else ""
    return f"{before}{text[start:end].strip()}{after}"


def _pieces(text: str) -> list[str]:
    return [match[0].lower() for match in _piece().finditer(text)]


def _alike(words: Sequence[str], others: Sequence[str]) -> list[bool]:
    """Which words are in the longest common subsequence of two lists."""
    found = [False] * len(words)
    for operation in LCSseq.opcodes(words, others):
        if operation.tag == "equal":
            found[operation.src_start : operation.src_end] = [True] * (
                operation.src_end - operation.src_start
            )
    return found


def _add(pieces: list[Piece], text: str, *, same: bool) -> None:
    """A piece more, joined with the one before where both are alike."""
    if pieces and pieces[-1].same == same:
        pieces[-1] = Piece(pieces[-1].text + text, same)
    else:
        pieces.append(Piece(text, same))
