"""Omission: words, a phrase, clauses, the second half or the ending of a text are lost."""

from __future__ import annotations

from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, applied, begun_like, chosen, deletion, portion
from adequa.damage.wording import WORD, clauses, content_spans, last_marks, spans

_FEWEST = 4  # words: a shorter text has no part to lose
_CLAUSE = 2  # words that a clause needs to be missed


def word_omitted(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Words that carry content are lost, up to half of them."""
    places = [place for place in content_spans(text) if not text.endswith("ly", *place)]
    if len(places) < 2:  # noqa: PLR2004  # with its only content word lost, a text is another kind
        return None
    edits = chosen([deletion(text, *place) for place in places], severity / 2, random)
    return begun_like(text, applied(text, edits))


def phrase_omitted(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """A run of words is lost: two at the least, half of the text at the most."""
    places = spans(text)
    if len(places) < _FEWEST:
        return None
    count = max(2, portion(len(places) // 2, severity))
    # Around a word that carries content, so that something is missed.
    content = set(content_spans(text))
    carrying = [at for at, place in enumerate(places) if place in content]
    middle = random.choice(carrying or range(len(places)))
    first = max(0, min(len(places) - count, middle - int(random.random() * count)))
    lost = deletion(text, places[first][0], places[first + count - 1][1])
    return begun_like(text, applied(text, [lost]))


def clause_omitted(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Clauses are lost, all but one at the most."""
    found = clauses(text)
    long = [place for place in found if _words(text[slice(*place)]) >= _CLAUSE]
    if len(long) < 2:  # noqa: PLR2004
        return None
    edits = [deletion(text, *place) for place in long]
    lost = chosen(edits, min(severity, (len(long) - 1) / len(long)), random)
    kept, _ = last_marks(applied(text, lost).lstrip())
    return begun_like(text, kept.rstrip(" ,;:-–—") + last_marks(text)[1])


def _words(text: str) -> int:
    return sum(1 for _ in WORD.finditer(text))


def half_omitted(text: str, severity: float, _random: Random, _context: Context) -> str | None:
    """The second half is lost, two to three fifths of the words; the last marks stay."""
    places = spans(text)
    if len(places) < _FEWEST:
        return None
    lost = max(1, int(len(places) * (0.4 + 0.2 * severity)))
    return text[: places[-lost - 1][1]] + last_marks(text)[1]


def ending_truncated(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """The text breaks off, often within a word, a tenth to two fifths before its end."""
    places = spans(text)
    if len(places) < _FEWEST:
        return None
    lost = max(2, int(len(places) * (0.1 + 0.3 * severity)))
    start, end = places[-lost]
    within = start + int((end - start) * random.random() * 0.8)
    return text[:within].rstrip()


def beginning_omitted(text: str, severity: float, _random: Random, _context: Context) -> str | None:
    """The first words are lost, from two to half of them; what is left begins with a capital."""
    places = spans(text)
    if len(places) < _FEWEST:
        return None
    lost = max(2, portion(len(places) // 2, severity))
    return begun_like(text, applied(text, [Edit(0, places[lost][0], "")]))
