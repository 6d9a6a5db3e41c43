"""Hypotheses that are plainly not English, by their script or the small words of other languages.

The check is cautious: it says nothing of names, numbers and texts of a few words, and speaks up
only where hardly any word is English. Its lists, in english.json, are short and hand-made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from unicodedata import category, normalize

import numpy as np
import numpy.typing as npt

from adequa.metrics.base import Remark
from adequa.runtime.batching import distinct

_WORD = re.compile(r"[^\W\d_]+")
_LETTER = re.compile(r"[^\W\d_]")
# Letters that are not Latin, be it in full width or in the styles of mathematics.
_OTHER_LETTER = re.compile(
    r"[^\W\d_\u0000-\u02af\u1d00-\u1dbf\u1e00-\u1eff\uff21-\uff5a\U0001d400-\U0001d7ff]"
)
# Upper case has no dotless i, and the lower case of the Turkish İ is an i with a mark.
_ONE_I = str.maketrans({"ı": "i", "\u0307": None})

# Spellings that hardly any word but a name has in English.
_UNENGLISH = re.compile(r"aa|ii|uu|yy|kk|iy|mente$|[^\x00-\x7f]")

_FEW_LETTERS = 3  # letters of another script that may be a symbol or an abbreviation
_FEW_WORDS = 4  # different words that may be a name or a title
_EVIDENCE = 1.5  # what the words of another language weigh together, at least
_IN_A_NAME = 0.5  # the weight of a word that names in English texts may have
_NAMES_ALONE = 3.0  # what such words weigh together, at least, where they may be a list of names
_LONG_NAME = 7  # different words of a name that has two particles, at most
_AGAINST, _HARDLY_AGAINST = 2.0, 0.5  # the weight of an English word, and of a shared one


_LISTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def _words(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_ENGLISH = _words(_LISTS["english"])  # words of English texts alone
# Small words of English that other languages write the same, whatever they mean there.
_SHARED = _words(_LISTS["shared"])
# Particles of names, and words too short to be surely no initials or abbreviations.
_IN_NAMES = _words(_LISTS["names"])
_FOREIGN = _words(chain(*_LISTS["foreign"].values())) - (_ENGLISH | _SHARED | _IN_NAMES)


def looks_foreign(texts: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which texts are plainly not English; case and white space do not matter.

    >>> looks_foreign(["Der Hund war nicht in dem Haus und schlief.", "Der Spiegel said so.", "42"])
    array([ True, False, False])
    """
    return np.fromiter(map(_is_foreign, texts), dtype=np.bool_, count=len(texts))


def _is_foreign(text: str) -> bool:
    plain = _plain(text)
    return _has_foreign_words(plain) or (not plain.isascii() and _is_of_another_script(plain))


def _plain(text: str) -> str:
    """Text whose letters are the same however they were written."""
    if text.isascii():
        return text.lower()
    return normalize("NFC", text.casefold().translate(_ONE_I))


def _is_of_another_script(text: str) -> bool:
    """Whether most letters are not Latin."""
    other = len(_OTHER_LETTER.findall(text))
    return other > _FEW_LETTERS and 2 * other > len(_LETTER.findall(text))


def _has_foreign_words(text: str) -> bool:
    """Whether the words, each counted once, are much rather those of another language."""
    words = set(_WORD.findall(text))
    against = _AGAINST * len(words & _ENGLISH) + _HARDLY_AGAINST * len(words & _SHARED)
    if len(words) <= _FEW_WORDS or against >= len(words):
        return False
    foreign, particles = words & _FOREIGN, words & _IN_NAMES
    unenglish = sum(map(bool, map(_UNENGLISH.search, words - foreign)))
    evidence = len(foreign) + _IN_A_NAME * (len(particles) + unenglish)
    no_name = foreign or (len(particles) > 1 and len(words) > _LONG_NAME)
    return evidence >= (_EVIDENCE if no_name else _NAMES_ALONE) and evidence > against


def visible_words(text: str) -> list[str]:
    """Return the visible words of a text, the same however its letters are composed.

    >>> visible_words("cafe\\u0301 \\u200b") == ["caf\\u00e9"]
    True
    """
    if text.isascii():
        return text.split()
    words = normalize("NFC", text).split()
    return [word for word in words if any(category(letter) != "Cf" for letter in word)]


def count_foreign(hypotheses: Sequence[str]) -> tuple[int, int]:
    """Return how many hypotheses are plainly not English, and how many have any words.

    >>> count_foreign(["Das ist nicht so gut, wie wir es alle erwartet haben.", "So it is.", ""])
    (1, 2)
    """
    texts, inverse = distinct([text for text in hypotheses if visible_words(text)])
    return int(looks_foreign(texts)[inverse].sum()), len(inverse)


def is_foreign_remark(text: str) -> bool:
    """Whether a sentence is the remark on hypotheses that are not in English."""
    return "plainly not in English" in text


def foreign_remark(name: str, foreign: int, total: int) -> Remark:
    """Return the remark on hypotheses that are not in English."""
    singular, plural = (
        f" that {name} scored {are} plainly not in English, the one language that it knows; "
        "-m chrf is for every language."
        for are in ("is", "are")
    )
    return Remark(
        ("", " hypotheses of ", plural), ("", " hypothesis of ", singular), (foreign, total)
    )
