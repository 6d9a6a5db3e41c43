"""Output of results: the format, plain-text tables, and a file or standard output.

An output file is checked before the work and written whole after it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, TypeVar
from unicodedata import combining, east_asian_width

import typer

from adequa.errors import printable


def check_output(output: str, inputs: Sequence[str], option: str = "-o") -> None:
    """Raise what writing would raise, before the work; an input is never written over."""
    from adequa.errors import AdequaError
    from adequa.io.atomic import check_writable

    target = Path(output)
    if target.is_file() and any(target.resolve() == Path(path).resolve() for path in inputs):
        raise AdequaError(
            f"{output} is read as input; give another name to write to with {option}."
        )
    check_writable(output)


def write(pieces: Iterable[str], output: str | None) -> None:
    """Write pieces of text to a file, or to standard output."""
    from adequa.io.atomic import atomic_write

    if output is None:
        sys.stdout.writelines(pieces)
        sys.stdout.flush()
        return
    with atomic_write(output) as file:
        file.writelines(pieces)


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


_ENDINGS = {".json": "json", ".tsv": "tsv", ".tex": "latex", ".md": "markdown"}


class ScoreFormat(str, Enum):
    """How scores are written."""

    text = "text"
    json = "json"
    tsv = "tsv"


class TableFormat(str, Enum):
    """How tables are written."""

    text = "text"
    json = "json"
    tsv = "tsv"
    markdown = "markdown"


class AgreementFormat(str, Enum):
    """How the table of agreement is written, which papers print too."""

    text = "text"
    json = "json"
    tsv = "tsv"
    latex = "latex"
    markdown = "markdown"


AnyFormat = TypeVar("AnyFormat", ScoreFormat, TableFormat, AgreementFormat)
_OPTION = typer.Option("--format", help="Default: text, or by the ending of the output file.")
ScoreFormatOption = Annotated[ScoreFormat | None, _OPTION]
TableFormatOption = Annotated[TableFormat | None, _OPTION]
AgreementFormatOption = Annotated[AgreementFormat | None, _OPTION]


def format_of(output: str | None, formats: type[AnyFormat]) -> AnyFormat:
    """The one of the formats that an output file has by its ending, and text for any other.

    >>> format_of("table.md", TableFormat).value, format_of("table.md", ScoreFormat).value
    ('markdown', 'text')
    """
    meant = None if output is None else _ENDINGS.get(Path(output).suffix.lower())
    return next((each for each in formats if each.value == meant), formats.text)
