"""Output of results: the format, and a file or standard output.

An output file is checked before the work and written whole after it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from adequa.errors import AdequaError
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
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"Output format: {', '.join(each.value for each in TABLE_FORMATS)}. Default: by the "
        "ending of -o, else text.",
    ),
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
