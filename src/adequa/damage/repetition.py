"""Repetition: a word, a phrase or the whole text is said again, or the ending runs in a loop."""

from __future__ import annotations

from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, by_share
from adequa.damage.wording import begins_sentence, last_marks, spans

_FEWEST = 4  # words
_TWICE = frozenset({"that", "had", "very", "so", "more", "no", "yes", "well"})  # may stand twice
_LONGEST = 6  # words of a repeated phrase


@by_share
def word_repeated(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Words are written twice: "the the minister"."""
    return [
        Edit(start, end, f"{text[start:end]} {_again(text, start, end)}")
        for start, end in spans(text)
        if text[start:end].isalpha() and text[start:end].lower() not in _TWICE
    ]


def _again(text: str, start: int, end: int) -> str:
    word = text[start:end]
    return word.lower() if begins_sentence(text, start) and word[1:].islower() else word


def phrase_repeated(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """A phrase of two to six words is said again, one to four times."""
    places = spans(text)
    if len(places) < _FEWEST:
        return None
    count = random.randint(2, min(_LONGEST, len(places) - 1))
    first = random.randrange(len(places) - count + 1)
    start, end = places[first][0], places[first + count - 1][1]
    times = 1 + round(3 * severity)
    return text[:end] + f" {text[start:end]}" * times + text[end:]


def text_repeated(text: str, severity: float, _random: Random, _context: Context) -> str | None:
    """The whole text is said again, once to three times."""
    if not spans(text):
        return None
    return " ".join([text.strip()] * (2 + round(2 * severity)))


def ending_looped(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """The text loses its way and repeats one to four words until it is as long as it was.

    It begins to do so between the last fifth and the last three fifths.
    """
    places = spans(text)
    if len(places) < _FEWEST:
        return None
    lost = max(2, int(len(places) * (0.2 + 0.4 * severity)))
    kept = max(1, len(places) - lost)
    count = random.randint(1, min(4, kept))
    phrase = text[places[kept - count][0] : places[kept - 1][1]]
    times = max(2, -(-lost // count))
    return text[: places[kept - 1][1]] + f" {phrase}" * times + last_marks(text)[1]
