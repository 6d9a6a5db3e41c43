"""Hallucination: fluent English that the source does not say."""

from __future__ import annotations

from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import begun_like, portion
from adequa.damage.wording import (
    FUNCTION_WORDS,
    WORD,
    clauses,
    last_marks,
    lower_words,
    spans,
)

_FEWEST = 3  # words of a text, a clause or an ending
_DRAWN = 12  # other sentences looked at, to find one of a similar length
_ALIKE = 0.4  # share of content words in common from which two texts may say the same

_DETAILS = (
    "according to two people close to the matter", "for the third time this year",
    "on the advice of his lawyers", "in the north of the country", "despite heavy rain",
    "after a long night of talks", "as his neighbours later confirmed", "at the age of forty",
    "in exchange for a small fee", "under the new rules", "in front of a large crowd",
    "with the help of volunteers", "against the will of the board", "by a narrow margin",
    "without any prior notice", "in the presence of the police", "two days before the deadline",
    "because the money had run out", "while the others looked on", "as part of a pilot project",
    "to the surprise of all involved", "for fear of further losses", "in a rented apartment",
    "at the request of the insurance company", "on the basis of a secret report",
    "which cost several million euros", "after a short illness", "from a hotel near the airport",
)  # fmt: skip


def other_sentence(text: str, _severity: float, random: Random, context: Context) -> str | None:
    """Another sentence of the corpus, of a similar length, stands in the place of the text."""
    return _other(text, random, context)


def _other(text: str, random: Random, context: Context) -> str | None:
    """Of some sentences drawn from the corpus, the nearest in length that says something else."""
    if not context.others:
        return None
    drawn = [context.others[random.randrange(len(context.others))] for _ in range(_DRAWN)]
    own = lower_words(text)
    for other in sorted(drawn, key=lambda drawn: abs(len(drawn) - len(text))):
        words = lower_words(other)
        if len(words) >= _FEWEST and len(words & own) <= _ALIKE * max(1, min(len(words), len(own))):
            return other.strip()
    return None


def ending_hallucinated(text: str, severity: float, random: Random, context: Context) -> str | None:
    """The text begins as it should and ends as another sentence does.

    From a quarter to three quarters of the words are another's.
    """
    places, other = spans(text), _other(text, random, context)
    if other is None or len(places) < _FEWEST:
        return None
    theirs = spans(other)
    share = 0.25 + 0.5 * severity
    kept = max(1, min(len(places) - 1, round(len(places) * (1 - share))))
    begin = max(1, min(len(theirs) - 1, round(len(theirs) * (1 - share))))
    return f"{text[: places[kept - 1][1]]} {other[theirs[begin][0] :]}"


def content_added(text: str, severity: float, random: Random, context: Context) -> str | None:
    """One to three clauses of other sentences are added at the end."""
    if len(spans(text)) < _FEWEST:
        return None
    added: list[str] = []
    for _ in range(portion(3, severity)):
        clause = _clause(_other(text, random, context), random)
        if clause and clause not in added and clause not in text:
            added.append(clause)
    kept, marks = last_marks(text)
    return ", and ".join([kept, *added]) + marks if added else None


def _clause(other: str | None, random: Random) -> str | None:
    """A clause of another sentence, ready to follow "and"."""
    if other is None:
        return None
    found = [other[slice(*place)].strip(" ,;:.!?\"“”'()-–—") for place in clauses(other)]
    long = [clause for clause in found if sum(1 for _ in WORD.finditer(clause)) >= _FEWEST]
    if not long:
        return None
    clause = random.choice(long).removeprefix("and ").removeprefix("but ")
    first = clause.partition(" ")[0]
    return (
        first.lower() + clause[len(first) :] if first.lower() in FUNCTION_WORDS - {"i"} else clause
    )


def detail_added(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """One or two invented details are added: "for the third time this year"."""
    kept, marks = last_marks(text)
    if len(spans(kept)) < _FEWEST:
        return None
    details = random.sample(_DETAILS, 2)[: portion(2, severity)]
    inner = [place for place in clauses(kept)[:-1] if kept[place[1] - 1] == ","]
    if inner and random.random() < 0.5:  # noqa: PLR2004
        at = random.choice(inner)[1] - 1
        return begun_like(text, f"{kept[:at]} {', '.join(details)}{kept[at:]}{marks}")
    return f"{kept} {', '.join(details)}{marks}"
