"""Untranslated: the source or parts of it remain, or the text is in another language or script.

Where no source is at hand, the kinds that copy it do not apply; those that can do without take
real words and sentences of other languages, which is what a reader of such output would see.
"""

from __future__ import annotations

from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, by_share, like, portion
from adequa.damage.foreign import SENTENCES, WORDS
from adequa.damage.wording import WORD, content_spans, lower_words, spans

_SHORTEST = 4  # letters of a word that is surely of its language
_FEWEST = 3  # foreign words to draw from
_SPARSE = 20  # characters: where spaces are rarer, they do not part words
_ALIKE = 0.5  # share of words in common from which the source is English itself


def untranslated(text: str, _severity: float, _random: Random, context: Context) -> str | None:
    """The source stands in the place of its translation."""
    return context.source.strip() if _is_foreign(text, context) and context.source else None


def _is_foreign(text: str, context: Context) -> bool:
    """Whether there is a source that is not mostly the text itself."""
    if not context.source:
        return False
    theirs = lower_words(context.source)
    return len(theirs & lower_words(text)) < _ALIKE * len(theirs)


def partly_untranslated(
    text: str, severity: float, _random: Random, context: Context
) -> str | None:
    """The text goes on in the language of its source, for a quarter to three quarters of it."""
    places = spans(text)
    if len(places) < _SHORTEST or not _is_foreign(text, context) or not context.source:
        return None
    share = 0.25 + 0.5 * severity
    kept = max(1, round(len(places) * (1 - share)))
    source = context.source.strip()
    at = round(len(source) * (1 - share))
    if source.count(" ") > len(source) / _SPARSE:  # else a language without spaces
        at = source.rfind(" ", 0, at) + 1
    return f"{text[: places[kept - 1][1]]} {source[at:]}"


@by_share
def words_untranslated(text: str, random: Random, context: Context) -> list[Edit]:
    """Words that carry content are foreign: the source's where there is one."""
    options = tuple(_words_of_source(text, context)) or random.choice(WORDS)
    return [
        Edit(start, end, like(text[start:end], random.choice(options)))
        for start, end in content_spans(text)
        if text[start:end].isalpha()
    ]


def _words_of_source(text: str, context: Context) -> list[str]:
    """Words of the source that the text has not; none where they are too few to draw from."""
    if not _is_foreign(text, context) or not context.source:
        return []
    own, source = lower_words(text), context.source
    found = [match[0] for match in WORD.finditer(source) if match[0].lower() not in own]
    if source.count(" ") > len(source) / _SPARSE:
        found = [word for word in found if word.isalpha() and len(word) >= _SHORTEST]
    else:  # a language without spaces: pieces of three characters stand for its words
        runs = [run for run in found if not run.isascii()]
        found = [run[at : at + 3] for run in runs for at in range(0, len(run), 3)]
    return found if len(found) >= _FEWEST else []


def wrong_language(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Fluent sentences in another language stand in the place of the text."""
    if not spans(text):
        return None
    first = random.randrange(len(SENTENCES))
    wanted = max(1, min(3, len(text) // 60))
    count = portion(wanted, severity)
    return " ".join(SENTENCES[(first + at) % len(SENTENCES)] for at in range(count))


_CYRILLIC = dict(zip("abcdefghijklmnopqrstuvwxyz", "абкдефгхийклмнопкрстуввхыз", strict=True))
_GREEK = dict(zip("abcdefghijklmnopqrstuvwxyz", "αβκδεφγχιικλμνοπκρστυβωξυζ", strict=True))
_SCRIPTS = tuple(
    str.maketrans(letters | {a.upper(): b.upper() for a, b in letters.items()})
    for letters in (_CYRILLIC, _GREEK)
)


@by_share
def script_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Words that carry content are spelt in Cyrillic or Greek letters."""
    script = random.choice(_SCRIPTS)
    return [
        Edit(start, end, text[start:end].translate(script))
        for start, end in content_spans(text)
        if text[start:end].isascii() and text[start:end].isalpha()
    ]
