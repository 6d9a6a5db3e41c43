"""Nothing: an empty text, marks without words, or a note where the translation should be."""

from __future__ import annotations

from random import Random

from adequa.damage.base import Context
from adequa.damage.wording import spans

_MARKS = (".", "...", "…", "?", "!", "-", "–", ",", "()", '""', ". . .", "???", "---", "* * *")
_NOTES = (
    "N/A", "n/a", "null", "None", "undefined", "[no translation]", "Translation not available.",
    "[translation missing]", "TODO", "(untranslated)", "Error: request timed out.", "TBD",
    "No text was given.", "[segment skipped]", "Please provide the text to translate.",
    "#REF!", "[empty]", "Text goes here.", "lorem ipsum", "Untitled",
)  # fmt: skip


def empty(text: str, _severity: float, _random: Random, _context: Context) -> str | None:
    """Nothing is left."""
    return "" if text.strip() else None


def only_punctuation(text: str, _severity: float, random: Random, _context: Context) -> str | None:
    """Marks without words are left: those of the text, or others."""
    if not spans(text):
        return None
    own = "".join(mark for mark in text if not mark.isalnum() and not mark.isspace())
    return own if own and random.random() < 0.5 else random.choice(_MARKS)  # noqa: PLR2004


def placeholder(text: str, _severity: float, random: Random, _context: Context) -> str | None:
    """A note stands where the translation should be: "N/A", "[no translation]"."""
    return random.choice(_NOTES) if len(spans(text)) > 2 else None  # noqa: PLR2004
