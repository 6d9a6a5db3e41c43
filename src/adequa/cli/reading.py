"""Outputs and references as verbs read them: options, and how to read what they name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.io.text import Advance
    from adequa.segments import Segments

Hypotheses = Annotated[
    list[str] | None,
    typer.Option(
        "-t", "--hypothesis", metavar="FILE", help="A system's output; repeat for more systems."
    ),
]
References = Annotated[
    list[str] | None,
    typer.Option(
        "-r", "--reference", metavar="FILE", help="A reference translation; repeat for several."
    ),
]
SourceText = Annotated[
    str | None, typer.Option("-s", "--source", metavar="FILE", help="The source text.")
]
Input = Annotated[
    str | None,
    typer.Option(
        "-i",
        "--input",
        metavar="FILE",
        help="One file with everything: TSV, JSONL, JSON, Parquet, WMT XML or SGM; - reads TSV "
        "from standard input. Columns: mt, ref, and optionally src, system, doc.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="FIELD=NAME", help="Where a field stands in the input."),
]


class Read(Protocol):
    """Reads batches of segments, telling how many bytes it has taken in."""

    def __call__(self, *, advance: Advance | None) -> Iterator[Segments]: ...


def reader(
    verb: str,
    hypotheses: Sequence[str],
    references: Sequence[str],
    source: str | None,
    table: str | None,
    columns: Sequence[str],
    keep: Sequence[str] = (),
    *,
    documents: bool = False,
) -> tuple[Read, list[str]]:
    """How to read what the user named, and the files that it takes."""
    from adequa.io import column_mapping, read_parallel, read_table

    if table is not None:
        if hypotheses or references or source is not None:
            raise AdequaError("Give either one file with -i, or files with -t and -r; not both.")
        mapping = column_mapping(columns)
        read = partial(
            read_table, table, columns=mapping, keep_ids=tuple(keep), documents=documents
        )
        return read, [table]
    if not hypotheses or not references:
        raise AdequaError(
            "Name the translations with -t and the reference with -r, or one file with -i;"
            f" `adequa {verb} --help` shows all options."
        )
    if columns:
        raise AdequaError("--column names columns of an -i file; files of -t and -r have none.")
    sources = [] if source is None else [source]
    return partial(read_parallel, hypotheses, references, source), [
        *hypotheses,
        *references,
        *sources,
    ]
