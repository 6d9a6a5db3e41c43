"""The error a user can cause (what was wrong, where, what to do), and the words of sentences."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from unicodedata import category


class AdequaError(Exception):
    """Bad input, settings or files. The command line prints the sentence and exits with code 2."""


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


def printable(text: str) -> str:
    """Text whose control characters (a tab or an escape in a system's name) do no harm.

    >>> printable("a\\tb\\x1b[2J")
    'a b [2J'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if category(char) in {"Cc", "Zl", "Zp"} else char for char in text)
