"""Formats that results are written in, and the endings of file names that choose them."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

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
