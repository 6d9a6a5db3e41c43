"""Order: all words shuffled, neighbours exchanged, a phrase moved to another place."""

from __future__ import annotations

from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import (
    Edit,
    applied,
    begun_like,
    by_share,
    deletion,
    portion,
)
from adequa.damage.wording import FUNCTION_WORDS, begins_sentence, listed, spans

_FEWEST = 4  # words
# Words that may stand before or after their neighbour without harm.
_MOVABLE = frozenset(
    listed(
        "also now only often still already just then soon today yesterday tomorrow again too "
        "however here there always never usually sometimes even both all not probably perhaps "
        "maybe and or said says added"
    )
)


def word_salad(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """At least half of the words, and all at the highest severity, stand where others stood."""
    places = spans(text)
    if len(places) < _FEWEST:
        return None
    order = list(range(len(places)))
    random.shuffle(order)
    moved = order[: max(3, portion(len(order), 0.5 + 0.5 * severity))]
    words = [text[slice(*places[at])] for at in moved]
    # Each word goes to the place of the next one: none stays where it was.
    return applied(
        text,
        (Edit(*places[at], word) for at, word in zip(moved, [words[-1], *words], strict=False)),
    )


@by_share
def neighbours_exchanged(text: str, random: Random, _context: Context) -> list[Edit]:
    """Words change places with their right neighbours: "the big house" -> "big the house"."""
    places = spans(text)
    edits = []
    for at in range(random.randrange(2), len(places) - 1, 2):
        (start, end), (start_next, end_next) = places[at], places[at + 1]
        one, other = text[start:end], text[start_next:end_next]
        names = one[0].isupper() and other[0].isupper()  # "Jan Novak", "Novak Jan"
        if text[end:start_next] == " " and _fixed(one) and _fixed(other) and not names:
            swapped = f"{other} {one}"
            if begins_sentence(text, start) and one.lower() in FUNCTION_WORDS and one != "I":
                swapped = f"{other[0].upper()}{other[1:]} {one.lower()}"
            edits.append(Edit(start, end_next, swapped))
    return edits


def _fixed(word: str) -> bool:
    """Whether a word has its place: an adverb, or the day of a date, may stand on both sides."""
    return word.lower() not in _MOVABLE and not word.lower().endswith("ly") and not word.isdigit()


def phrase_moved(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """A phrase of two to five words moves to a place inside another part of the text."""
    places = spans(text)
    count = 2 + round(3 * severity)
    if len(places) < count + 6:
        return None
    # From after the first word to before the last, to a place that lies two words away or more.
    first = 1 + random.randrange(len(places) - count - 1)
    targets = [at for at in range(1, len(places) - 1) if not first - 2 < at < first + count + 2]
    if not targets:
        return None
    start, end = places[first][0], places[first + count - 1][1]
    target = places[random.choice(targets)][0]
    return begun_like(
        text,
        applied(text, [deletion(text, start, end), Edit(target, target, f"{text[start:end]} ")]),
    )
