"""Text that can stand in a line of a table, whatever is in it."""

from __future__ import annotations

from unicodedata import category


def printable(text: str) -> str:
    """Text whose control characters (a tab or an escape in a system's name) do no harm.

    >>> printable("a\\tb\\x1b[2J")
    'a b [2J'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if category(char) in {"Cc", "Zl", "Zp"} else char for char in text)
