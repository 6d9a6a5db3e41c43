"""Case: all small letters, all capitals, or capitals at random."""

from __future__ import annotations

from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, applied, by_share, chosen
from adequa.damage.wording import spans

_FEWEST = 2  # words with capitals: the first of a sentence alone is hardly missed


def case_lowered(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Words with capitals lose them: half of them at the least."""
    edits = [
        Edit(start, end, text[start:end].lower())
        for start, end in spans(text)
        if text[start:end] != text[start:end].lower()
    ]
    if len(edits) < _FEWEST:
        return None
    return applied(text, chosen(edits, 0.5 + 0.5 * severity, random))


@by_share
def case_raised(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Words are written in capitals."""
    return [
        Edit(start, end, text[start:end].upper())
        for start, end in spans(text)
        if text[start:end] != text[start:end].upper()
    ]


@by_share
def case_random(text: str, random: Random, _context: Context) -> list[Edit]:
    """Words are written with capitals and small letters at random: "miNiStER"."""
    return [
        Edit(start, end, mixed)
        for start, end in spans(text)
        for mixed in [_mixed(text[start:end], random)]
        if mixed != text[start:end]
    ]


def _mixed(word: str, random: Random) -> str:
    bits = random.getrandbits(max(1, len(word)))
    return "".join(
        letter.upper() if bits >> at & 1 else letter.lower() for at, letter in enumerate(word)
    )
