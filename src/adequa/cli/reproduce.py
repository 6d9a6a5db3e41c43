"""`adequa reproduce`: published tables, measured again, and tables of our own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.options import Output, Quiet, complete_table
from adequa.cli.output import (
    FormatOption,
    check_outputs,
    chosen_format,
    print_message,
    progress,
    write,
    write_result,
)

if TYPE_CHECKING:
    from adequa.reproduce.paper_table import PaperResults, PaperRow, PaperTable


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The table to measure; without it, the tables are listed.",
            autocompletion=complete_table,
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Measure this row only; repeat for more. Others keep their figures.",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Measure only rows that take minutes. Others keep their figures."
        ),
    ] = False,
    plots: Annotated[
        bool,
        typer.Option(
            "--plots", help="Draw the plots of RESULTS.md too; without NAME, nothing is measured."
        ),
    ] = False,
    results: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="Folder of figures and scores. RESULTS.md goes beside a folder of the name "
            "results, and into one of another name.",
        ),
    ] = Path("results"),
    output: Output = None,
    format_: FormatOption = None,
    quiet: Quiet = False,
) -> None:
    """Measure a published table again, side by side with the paper.

    Writes NAME.json and the scores behind each figure to the results folder, and RESULTS.md.
    """
    from adequa.reproduce.paper_table import load_table
    from adequa.reproduce.results_page import page, write_page, write_plots

    if name is None and not plots:
        write([_list()], None)
        return
    output_format = chosen_format(format_, output)
    check_outputs({"-o": output}, [])
    if plots:
        _check_plots(results)
    page(results)  # raises for stored results that cannot be read, before the work
    measured = None
    if name is not None:
        measured = _measure(load_table(name), results, quick, tuple(system or ()), quiet)
    if plots:
        write_plots(results)
    write_page(results)
    if measured is not None:
        write_result(measured, output_format, output)


def _list() -> str:
    from adequa.reproduce.paper_table import TABLES, load_table
    from adequa.tables import Column, Table

    rows = [(table.name, table.title, table.citation) for table in map(load_table, TABLES)]
    return Table(tuple(map(Column, ("table", "title", "paper"))), rows).to_text()


def _check_plots(folder: Path) -> None:
    from adequa.agreement.plots import check_plot

    check_plot(str(folder / "plots.svg"))


def _measure(
    table: PaperTable, folder: Path, quick: bool, rows: tuple[str, ...], quiet: bool
) -> PaperResults:
    from adequa.reproduce.measure import reproduce as measure

    def started(row: PaperRow) -> None:
        if not quiet:
            print_message(f"note: measuring {row.label} on {table.dataset} ...")

    with progress("Scoring", None, quiet=quiet) as work:
        return measure(
            table,
            folder,
            quick=quick,
            rows=rows,
            started=started,
            progress=work,
        )
