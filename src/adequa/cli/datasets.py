"""`adequa datasets`: the named datasets of human judgements, and how to get them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adequa.cli.options import Output, Verb, VerbGroup, complete_dataset
from adequa.cli.output import FormatOption, chosen_format, print_message, write_result
from adequa.tables import Column, Result, Table

if TYPE_CHECKING:
    from adequa.datasets.registry import Dataset

app = typer.Typer(
    cls=VerbGroup,
    help="List the datasets of human judgements, or get one.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A dataset.", autocompletion=complete_dataset)
]


@app.callback(invoke_without_command=True)
def listing(context: typer.Context, format_: FormatOption = None, output: Output = None) -> None:
    """List the named datasets of human judgements, or get one."""
    if context.invoked_subcommand is None:
        from adequa.datasets.registry import DATASETS

        chosen = chosen_format(format_, output)
        write_result(DatasetList(tuple(DATASETS.values())), chosen, output)


@app.command(cls=Verb)
def fetch(
    name: _Name,
    mirror: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Copy it from this folder instead of the network."),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes.")] = False,
) -> None:
    """Get a dataset: its official archive, or a prepared file from a mirror folder."""
    from adequa.cli.output import progress
    from adequa.datasets.download import fetch as fetch_dataset
    from adequa.datasets.download import locate
    from adequa.datasets.registry import dataset

    if mirror is None and locate(name) is None and not quiet:
        for address in dataset(name).archives:
            print_message(f"note: fetching {address}")
    received = 0
    with progress(f"Fetching {name}", None, quiet=quiet) as work:

        def advance(count: int) -> None:
            nonlocal received
            received += count
            work.stage(f"Fetching {name}, {received / 1e6:,.0f} MB")

        folder = fetch_dataset(name, mirror, advance)
    typer.echo(f"{name} is in {folder}")


@app.command(cls=Verb)
def show(name: _Name, format_: FormatOption = None, output: Output = None) -> None:
    """Show where a dataset comes from, what its files must be, and which rows are not used."""
    from adequa.datasets.registry import dataset

    chosen = chosen_format(format_, output)
    write_result(DatasetDescription(dataset(name)), chosen, output)


@dataclass(frozen=True, eq=False, repr=False)
class DatasetList(Result):
    """All named datasets, and the folders of those that are on this machine."""

    datasets: tuple[Dataset, ...]

    def long_table(self) -> Table:
        """A row for each dataset."""
        columns = (
            Column("name"),
            Column("kind"),
            Column("rows", "integer"),
            Column("pairs", "integer"),
            Column("origin", heading="from"),
            Column("folder", heading="found in"),
        )
        rows = [
            (each.name, each.kind, each.rows, len(each.pairs), each.origin, _folder(each.name))
            for each in self.datasets
        ]
        return Table(columns, rows)

    def tables(self) -> tuple[Table, ...]:
        table = self.long_table()
        rows = [
            (name, kind, rows, pairs or None, origin or "–", folder or "–")
            for name, kind, rows, pairs, origin, folder in table.rows
        ]
        notes = (
            "`adequa datasets fetch NAME` gets one, `adequa datasets show NAME` shows details.",
            "A folder with the prepared files is named by ADEQUA_DATA, or by --mirror.",
        )
        return (Table(table.columns, rows, notes=notes),)

    def to_dict(self) -> dict[str, Any]:
        names = [column.name for column in self.long_table().columns]
        rows = self.long_table().rows
        return {"datasets": [dict(zip(names, row, strict=True)) for row in rows]}


@dataclass(frozen=True, eq=False, repr=False)
class DatasetDescription(Result):
    """Where one dataset comes from, and what its files must be."""

    dataset: Dataset

    def long_table(self) -> Table:
        """A row for each fact."""
        entry = self.dataset
        folder = _folder(entry.name)
        unused = _unused(entry.name) if folder else {}
        reasons = [f"{count:,}, {reason}" for reason, count in unused.items()] or ["none"]
        rows = [
            ("kind", entry.kind),
            *_choice_facts(entry),
            ("rows", f"{entry.rows:,}"),
            ("pairs", " ".join(entry.pairs) or "–"),
            ("origin", entry.origin or "not stated"),
            ("licence", entry.licence or _unknown_licence(entry)),
            *(("archive", address) for address in entry.archives or ("none to read",)),
            ("file", entry.mirror_file),
            ("sha256", entry.sha256),
            ("found in", folder or "–"),
            *(("not used", reason) for reason in (reasons if folder else ())),
        ]
        return Table((Column("field"), Column("value")), rows)

    def tables(self) -> tuple[Table, ...]:
        table = self.long_table()
        return (Table(table.columns, table.rows, f"{self.dataset.name}: {self.dataset.summary}"),)

    def to_dict(self) -> dict[str, Any]:
        entry = self.dataset
        folder = _folder(entry.name)
        return {
            "name": entry.name,
            "summary": entry.summary,
            "kind": entry.kind,
            "part_of": entry.part_of or None,
            "year": entry.year or None,
            "split": None if entry.split is None else asdict(entry.split),
            "reference": entry.reference or None,
            "rows": entry.rows,
            "pairs": list(entry.pairs),
            "origin": entry.origin or None,
            "licence": entry.licence or None,
            "archives": list(entry.archives),
            "file": entry.mirror_file,
            "sha256": entry.sha256,
            "folder": folder,
            "unused": _unused(entry.name) if folder else None,
        }


_SPLITS = {"development": "only", "training": "without"}
_REFERENCES = {"post-edit": "post-edit, near to the output", "none": "none; sources alone"}


def _unknown_licence(entry: Dataset) -> str:
    return "not known; see the origin" if entry.origin else "not stated"


def _choice_facts(entry: Dataset) -> Iterator[tuple[str, str]]:
    """Which rows of which dataset a part has, and what serves as the reference."""
    if entry.part_of:
        yield "part of", entry.part_of
    if entry.year:
        yield "year", entry.year
    if entry.split is not None:
        chosen = f"{_SPLITS[entry.split.rows]} those whose sha256 is a multiple of"
        yield f"{entry.split.text}s", f"{chosen} {entry.split.modulus}"
    if entry.reference:
        yield "reference", _REFERENCES[entry.reference]


def _folder(name: str) -> str | None:
    """The folder of the files of a dataset, if they are on this machine."""
    from adequa.datasets.download import locate

    files = locate(name)
    return None if files is None else str(files.folder)


def _unused(name: str) -> dict[str, int]:
    """How many rows cannot be used, by reason."""
    from adequa.datasets.load import load_dataset
    from adequa.judgements import identified

    return dict(identified(load_dataset(name)).file_rows.unused)
