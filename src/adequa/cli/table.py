"""Aligned plain-text tables that survive being pasted."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category, combining, east_asian_width

GAP = "  "


def aligned(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Rows of cells as lines with aligned columns; the columns named in `right` align right.

    >>> print(aligned([["system", "bleu"], ["a", "3.00"], ["longer", "12.50"]], right=[1]))
    system   bleu
    a        3.00
    longer  12.50
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        GAP.join(
            _padded(cell, widths[position], position in right) for position, cell in enumerate(row)
        ).rstrip()
        for row in cells
    )


def printable(text: str) -> str:
    """Text whose control characters (a tab or an escape in a system's name) do no harm.

    >>> printable("a\\tb\\x1b[2J")
    'a b [2J'
    """
    return "".join(" " if category(char) in {"Cc", "Zl", "Zp"} else char for char in text)


def width(text: str) -> int:
    """Columns that text takes in a terminal.

    >>> width("abc"), width("翻译"), width("e\\u0301")
    (3, 4, 1)
    """
    return sum(
        0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )


def _padded(cell: str, columns: int, to_right: bool) -> str:
    padding = " " * (columns - width(cell))
    return padding + cell if to_right else cell + padding
