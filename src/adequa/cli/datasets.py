"""`adequa datasets`: the human judgements that have a name, and how to get them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_dataset
from adequa.cli.progress import tell

if TYPE_CHECKING:
    from adequa.datasets.registry import Dataset

app = typer.Typer(
    help="List the named datasets of human judgements, or get one.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A dataset.", autocompletion=complete_dataset)
]


@app.callback(invoke_without_command=True)
def listing(context: typer.Context) -> None:
    """List the named datasets of human judgements, or get one."""
    if context.invoked_subcommand is None:
        typer.echo("".join(_listed()), nl=False)


@app.command()
def fetch(
    name: _Name,
    mirror: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Take it from this folder, not from the network."),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes.")] = False,
) -> None:
    """Get a dataset: its official archive, or a prepared file from a mirror folder."""
    from adequa.cli.progress import progress
    from adequa.datasets.download import fetch as fetch_dataset
    from adequa.datasets.download import locate
    from adequa.datasets.registry import dataset

    if mirror is None and locate(name) is None and not quiet:
        for address in dataset(name).archives:
            tell(f"note: fetching {address}")
    got = 0
    with progress(f"Fetching {name}", None, quiet=quiet) as work:

        def advance(count: int) -> None:
            nonlocal got
            got += count
            work.stage(f"Fetching {name}, {got / 1e6:,.0f} MB")

        folder = fetch_dataset(name, mirror, advance)
    typer.echo(f"{name} is at hand in {folder}")


@app.command()
def show(name: _Name) -> None:
    """Show where a dataset comes from, what its files must be, and which rows are not used."""
    from adequa.datasets.registry import dataset

    typer.echo("".join(_described(dataset(name))), nl=False)


def _listed() -> Iterator[str]:
    from adequa.cli.output import aligned
    from adequa.datasets.download import locate
    from adequa.datasets.registry import DATASETS

    rows = [["name", "kind", "rows", "pairs", "from", "at hand in"]]
    for entry in DATASETS.values():
        found = locate(entry.name)
        where = "–" if found is None else str(found.folder)
        pairs = str(len(entry.pairs) or "–")
        rows.append([entry.name, entry.kind, f"{entry.rows:,}", pairs, entry.origin, where])
    yield from aligned(lambda: rows, right=[2, 3])
    yield "\n`adequa datasets fetch NAME` gets one, `adequa datasets show NAME` tells more of it.\n"
    yield "A folder with the prepared files is named by ADEQUA_DATA, or by --mirror.\n"


def _described(entry: Dataset) -> Iterator[str]:
    from adequa.cli.output import aligned
    from adequa.datasets.download import locate

    found = locate(entry.name)
    facts = [
        ["kind", entry.kind],
        ["rows", f"{entry.rows:,}"],
        ["pairs", " ".join(entry.pairs) or "–"],
        ["origin", entry.origin],
        ["licence", entry.licence or "not known; see the origin"],
        *([["archive", address] for address in entry.archives] or [["archive", "none to read"]]),
        ["file", entry.mirror_file],
        ["sha256", entry.sha256],
        ["at hand in", "–" if found is None else str(found.folder)],
    ]
    if found is not None:
        facts += _unused(entry.name)
    yield f"{entry.name}: {entry.summary}\n\n"
    yield from aligned(lambda: facts)


def _unused(name: str) -> list[list[str]]:
    """The rows that cannot be used, by reason."""
    from adequa.datasets.load import load_dataset
    from adequa.judgements import identified

    unused = identified(load_dataset(name)).file_rows.unused
    counts = [["not used", f"{times:,}, {why}"] for why, times in unused.items()]
    return counts or [["not used", "none"]]
