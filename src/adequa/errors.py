"""The error a user can cause (what was wrong, where, what to do), and the words of sentences."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from types import NoneType
from typing import Any
from unicodedata import category


class AdequaError(Exception):
    """Bad input, settings or files. The command line prints the sentence and exits with code 2."""


class AdequaWarning(UserWarning):
    """Something in the input or the settings makes numbers mean less than they seem to."""


class LanguageWarning(AdequaWarning):
    """A metric does not know the language of the translations, or the language is in doubt."""


def warn(sentence: str, category: type[AdequaWarning] = AdequaWarning) -> None:
    """Issue a warning at the line outside this package that led to it."""
    package = str(Path(__file__).parent)
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - as the module warnings does
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, category, stacklevel=level - 1)


class UnknownSettingError(AdequaError):
    """A setting that a metric does not have."""

    def __init__(self, sentence: str, where: str, key: str) -> None:
        super().__init__(sentence)
        self.where, self.key = where, key  # the metric or its folder, and the name of the setting

    def __reduce__(self) -> tuple[type[UnknownSettingError], tuple[str, str, str]]:
        """How it travels between processes: exceptions do so by their sentence alone."""
        return type(self), (str(self), self.where, self.key)


class UnwritableError(AdequaError):
    """What was made cannot be kept: the disk is full, or the folder is not ours to write to."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for a misspelt word, ready to append to a sentence; empty when nothing is near.

    >>> nearest("chfr", ["bleu", "chrf", "ter"])
    ' Did you mean "chrf"?'
    >>> nearest("DOC", ["Document", "system"])
    ' Did you mean "Document"?'
    >>> nearest("xyzzy", ["bleu", "chrf", "ter"])
    ''
    """
    by_lower_case = {name.lower(): name for name in known}
    written = word.lower()
    close = get_close_matches(written, by_lower_case, n=1, cutoff=0.6)
    close += [name for name in by_lower_case if written and name.startswith(written)]
    return f' Did you mean "{by_lower_case[close[0]]}"?' if close else ""


def counted(count: int, one: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {one}{'' if count == 1 else 's'}"


# Types of settings as they are annotated: what to accept, and the words for it.
_TYPES: dict[str, tuple[type, str]] = {
    "bool": (bool, "True or False"),
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "str": (str, "a text"),
    "None": (NoneType, "None"),
}


def check_fields(settings: Any) -> None:
    """Raise where a number, text or switch of a dataclass has a value of another type."""
    for each in fields(settings):
        words = str(each.type).split(" | ")
        if not each.init or not {*words} <= {*_TYPES}:
            continue
        value = getattr(settings, each.name)
        is_switch = isinstance(value, bool) and "bool" not in words  # which is an integer, too
        if is_switch or not isinstance(value, tuple(_TYPES[word][0] for word in words)):
            described = " or ".join(_TYPES[word][1] for word in words)
            raise AdequaError(f"{each.name} must be {described}, not {value!r}.")


def check_seed(seed: object) -> None:
    """Raise where this is no seed."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise AdequaError(f"A seed is a whole number from 0 on, not {seed!r}.")


def as_path(value: object) -> Path:
    """The path of a file, or a sentence where it is none."""
    if not isinstance(value, str | os.PathLike):
        raise AdequaError(f"A file is named by a string or a Path, not {value!r}.")
    return Path(value)


def one_or_more(value: str | Iterable[str]) -> tuple[str, ...]:
    """A setting of several texts; a single text is one of them.

    >>> one_or_more("chrf"), one_or_more(["chrf", "ter"])
    (('chrf',), ('chrf', 'ter'))
    """
    if not isinstance(value, Iterable):
        raise AdequaError(f"Give a text or a list of texts, not {value!r}.")
    return (value,) if isinstance(value, str) else tuple(value)


def printable(text: str) -> str:
    """Text whose control characters (a tab or an escape in a system's name) do no harm.

    >>> printable("a\\tb\\x1b[2J")
    'a b [2J'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if category(char) in {"Cc", "Zl", "Zp"} else char for char in text)
