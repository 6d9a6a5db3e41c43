"""Aligned plain-text tables that survive being pasted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from unicodedata import combining, east_asian_width

from adequa.printable import printable

GAP = "  "


def aligned(
    rows: Callable[[], Iterable[Sequence[str]]], *, right: Sequence[int] = ()
) -> Iterator[str]:
    """Rows of cells as lines with aligned columns; the columns named in `right` align right.

    `rows` is called twice, once for the widths and once for the lines, so that a long table need
    not be held in memory.

    >>> table = [["system", "bleu"], ["a", "3.00"], ["longer", "12.50"]]
    >>> print("".join(aligned(lambda: table, right=[1])), end="")
    system   bleu
    a        3.00
    longer  12.50
    """
    widths: list[int] = []
    for row in rows():
        taken = [width(printable(cell)) for cell in row]
        widths = list(map(max, taken, widths)) if widths else taken
    for row in rows():
        cells = (
            _padded(printable(cell), columns, position in right)
            for position, (cell, columns) in enumerate(zip(row, widths, strict=True))
        )
        yield GAP.join(cells).rstrip() + "\n"


def width(text: str) -> int:
    """Columns that text takes in a terminal.

    >>> width("abc"), width("翻译"), width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )


def _padded(cell: str, columns: int, to_right: bool) -> str:
    padding = " " * (columns - width(cell))
    return padding + cell if to_right else cell + padding
