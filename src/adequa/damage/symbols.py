"""Symbols: emoji and other pictures are changed or dropped, and texts without any get some."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from adequa.damage.base import Context, Edit, by_fraction, deletion, replace_matches

# Common emoji, each with a meaning of its own, so that any two of them say different things.
EMOJI = (
    "😀", "😂", "😍", "😎", "😢", "😡", "😱", "😴", "🤔", "🤢", "👍", "👎", "👏", "🙏", "👋", "💪",
    "💔", "💙", "💯", "🎉", "🎂", "🎁", "🎵", "🎬", "🏆", "⚽", "🏀", "🔥", "⭐", "⚡", "💡", "💰",
    "📚", "📷", "📱", "💻", "🚗", "🚲", "🚀", "🏠", "🏥", "🍕", "🍎", "🍺", "☕", "🍰", "🌍", "🌈",
    "🌸", "🌳", "🌙", "🌊", "🐶", "🐱", "🐟", "🦋", "✅", "❌", "❓", "🚫", "⏰", "🔒", "🔑", "👀",
)  # fmt: skip

# Arrows, signs, shapes, dingbats and emoji; what may follow one: a variation selector, a keycap, a
# skin tone, tags; and joined ones. Flags are two letters.
_PICTURE = (
    r"[\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff]"
    r"[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*"
)
_SYMBOL = re.compile(
    r"[\U0001f1e6-\U0001f1ff]{2}|[0-9#*]\ufe0f?\u20e3" rf"|{_PICTURE}(?:\u200d{_PICTURE})*"
)
_WORD = re.compile(r"\S+")


@by_fraction
def symbol_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Replace emoji and other symbols by others."""
    return replace_matches(
        text,
        _SYMBOL,
        lambda match: random.choice([emoji for emoji in EMOJI if emoji not in match[0]]),
    )


@by_fraction
def symbol_dropped(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Drop emoji and other symbols."""
    return [deletion(text, *match.span()) for match in _SYMBOL.finditer(text)]


def with_emoji(texts: Sequence[str], random: Random) -> list[str]:
    """Add one or two emoji to texts that say the same, such as a translation and its references.

    They are the same in all texts, each at the end or after the same fraction of the words. A text
    without words stays as it is.

    >>> with_emoji(["We won the cup.", "The cup is ours, at last!"], Random(6))
    ['We won the 🔑 cup.', 'The cup is ours, at 🔑 last!']
    """
    for emoji in random.sample(EMOJI, random.randint(1, 2)):
        fraction = random.choice((random.random(), 1.0))
        texts = [_with_emoji(text, emoji, fraction) for text in texts]
    return list(texts)


def _with_emoji(text: str, emoji: str, fraction: float) -> str:
    """The text with an emoji after this fraction of its words, at least one."""
    ends = [match.end() for match in _WORD.finditer(text)]
    if not ends:
        return text
    end = ends[max(round(fraction * len(ends)), 1) - 1]
    return f"{text[:end]} {emoji}{text[end:]}"
