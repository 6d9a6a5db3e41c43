"""`adequa reproduce`: published tables, measured again, and tables of our own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_table
from adequa.cli.options import Quiet
from adequa.cli.output import write
from adequa.cli.progress import tell

if TYPE_CHECKING:
    from adequa.progress import Progress
    from adequa.reproduce.results import Results
    from adequa.reproduce.table import System, Table


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The table to measure; without it, the tables are listed.",
            autocompletion=complete_table,
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this system; repeat for more. Others are kept."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Only what a laptop measures in minutes; others are kept."),
    ] = False,
    results: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="Where figures and scores are kept. RESULTS.md goes beside a folder of the name "
            "results, and into one of another name.",
        ),
    ] = Path("results"),
    quiet: Quiet = False,
) -> None:
    """Measure a table again: paper and measured side by side, where a paper has it.

    Writes NAME.json and the scores behind each figure to the results folder, and RESULTS.md.
    """
    from adequa.io.atomic import atomic_write
    from adequa.reproduce.page import page, page_path
    from adequa.reproduce.registry import table

    if name is None:
        write(_listed(), None)
        return
    found = table(name)
    page(results)  # what is kept there can be read
    measured = _measured(found, results, quick, tuple(system or ()), quiet)
    with atomic_write(page_path(results)) as file:
        file.write(page(results))
    write(_shown(found, measured), None)


def _listed() -> Iterator[str]:
    from adequa.cli.output import aligned
    from adequa.reproduce.registry import TABLES, table

    tables = [table(name) for name in TABLES]
    yield from aligned(lambda: [[t.name, t.title, t.paper] for t in tables])


def _measured(
    found: Table, folder: Path, quick: bool, systems: tuple[str, ...], quiet: bool
) -> Results:
    from adequa.cli.progress import progress
    from adequa.reproduce.run import reproduce as measure

    def started(system: System) -> None:
        if not quiet:
            tell(f"note: measuring {system.label} on {found.dataset} ...")

    with progress("Scoring", None, quiet=quiet) as work:
        return measure(
            found,
            folder,
            quick=quick,
            systems=systems,
            started=started,
            progress=_reported(work),
        )


def _reported(work: Progress) -> Progress:
    """Where measuring reports to: rows are trained step by step, and then scored."""

    def step(steps: int, of: int) -> None:
        work.step(steps, of)
        if steps == of:
            work.read(0)  # how long what follows will take is not known: the bar only moves

    return replace(work, step=step)


def _shown(found: Table, measured: Results) -> Iterator[str]:
    from adequa.cli.output import aligned
    from adequa.reproduce.page import side_by_side

    yield f"{found.title}\n{found.paper}\n\n"
    header, lines = side_by_side(found, measured)
    yield from aligned(lambda: [header, *lines], right=range(2, len(header)))
    if measured.systems:
        yield "\n"
    for name, how in measured.systems.items():
        yield from (f"{name}: {line}\n" for line in how.settings.splitlines())
