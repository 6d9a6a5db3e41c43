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

from adequa.errors import AdequaError, printable
from adequa.tables import TABLE_FORMATS, Format, Result, format_of


def check_output(output: str, inputs: Sequence[str], option: str = "-o") -> None:
    """Raise what writing would raise, before the work; an input is never written over."""
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


FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="Output format. Default: by the ending of -o, else text."),
]


def chosen_format(
    format_: Format | None, output: str | None, formats: Sequence[Format] = TABLE_FORMATS
) -> Format:
    """The format of --format or else of the ending of -o; one that is not offered is refused.

    Call it before the work, so that a wrong ending is refused at once.
    """
    if format_ is None:
        return Format.text if output is None else format_of(output, formats)
    if format_ not in formats:
        raise AdequaError(
            f"--format {format_.value} is not offered here; choose one of"
            f" {', '.join(each.value for each in formats)}."
        )
    if format_ is Format.parquet and output is None:
        raise AdequaError("Parquet is not written to standard output; name a file with -o.")
    return format_


def write_result(result: Result, format_: Format, output: str | None) -> None:
    """Write a result to a file, or to standard output."""
    if format_ is Format.parquet and output is not None:
        from adequa.io.atomic import atomic_write_bytes

        atomic_write_bytes(output, result.long_table().to_parquet())
    else:
        write(result.lines(format_), output)


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


def format_by_ending(output: str | None, formats: type[AnyFormat]) -> AnyFormat:
    """The one of the formats that an output file has by its ending, and text for any other.

    >>> format_by_ending("table.md", TableFormat).value
    'markdown'
    """
    meant = None if output is None else _ENDINGS.get(Path(output).suffix.lower())
    return next((each for each in formats if each.value == meant), formats.text)
