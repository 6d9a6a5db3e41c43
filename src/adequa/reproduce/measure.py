"""Measuring a table again: scores are stored in files, and figures are computed from the files.

Every figure comes from the stored scores by the computation behind `adequa evaluate`, so that
anyone can recompute it.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from math import isnan
from pathlib import Path

from adequa.agreement.evaluate import evaluate
from adequa.agreement.protocol import Protocol
from adequa.agreement.results import AVERAGE, POOLED, AgreementColumn
from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError, nearest
from adequa.io.atomic import atomic_write_bytes, check_writable
from adequa.judgements import Judgements
from adequa.progress import NO_PROGRESS, Progress
from adequa.reproduce.paper_table import (
    ExtraColumns,
    PaperFigure,
    PaperResults,
    PaperRow,
    PaperTable,
    RowMeasurement,
    RowScores,
    results_path,
)

_DIGITS = 9  # significant digits of stored scores


def reproduce(
    table: PaperTable,
    folder: Path,
    *,
    quick: bool = False,
    rows: tuple[str, ...] = (),
    started: Callable[[PaperRow], None] = lambda _: None,
    progress: Progress = NO_PROGRESS,
) -> PaperResults:
    """Measure the selected rows of a table; the others keep their last figures.

    Each finished row is stored at once, so that an interrupted run loses one row at most.
    """
    selected = list(_selected(table, quick, rows))
    results = PaperResults.read(table, folder)
    _prepare(table, folder)
    judgements = _judgements(table)
    for row in selected:
        if row.scorer is None:
            continue
        started(row)
        row_scores = row.scorer(judgements, progress)
        scores = folder / "scores" / table.name
        path = write_scores(row_scores, scores / f"{row.name}.tsv.gz")
        figures = tuple(row_figures(table, row, judgements, path))
        for extra in table.extra:
            if extra.name in row.extra:
                figures += tuple(_extra_figures(table, row, extra, scores, progress))
        command = f"adequa reproduce {table.name} --system {row.name}"
        results = PaperResults.read(table, folder)  # another process may have added rows
        results = results.with_row(row.name, figures, RowMeasurement(command, row_scores.settings))
        results.write(folder)
    return results


def _prepare(table: PaperTable, folder: Path) -> None:
    """Create the folders of results; raise what writing would raise, before the work."""
    scores = folder / "scores" / table.name
    try:
        scores.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AdequaError(
            f"{scores} cannot be made: {error.strerror or error}; name another folder with "
            "--results."
        ) from error
    check_writable(results_path(table.name, folder))


def _selected(table: PaperTable, quick: bool, names: tuple[str, ...]) -> Iterator[PaperRow]:
    choices = [row.name for row in table.rows]
    for name in names:
        if name not in choices:
            raise AdequaError(
                f'Table {table.name} has no system "{name}".{nearest(name, choices)} There are:'
                f" {', '.join(choices)}."
            )
    for row in table.rows:
        if row.name in names and row.scorer is None:
            raise AdequaError(
                f"{row.label} cannot be measured: the authors' weights are not available."
            )
        if (not names or row.name in names) and (not quick or row.cost == "minutes"):
            yield row


def _judgements(table: PaperTable) -> Judgements:
    judgements = load_dataset(table.dataset)
    unused = judgements.file_rows.row_count - len(judgements.file_rows.rows)
    if unused:
        raise AdequaError(
            f"{unused} rows of {table.dataset} cannot be used; scores are kept for every row."
        )
    return judgements


def write_scores(row_scores: RowScores, path: Path) -> Path:
    """Write scores as compressed text, one line each; equal scores give equal bytes.

    Scores with ids get a header. The folder has to exist.
    """
    text = "".join("\t".join(cells) + "\n" for cells in _lines(row_scores))
    atomic_write_bytes(path, gzip.compress(text.encode(), mtime=0))
    return path


def _lines(row_scores: RowScores) -> Iterator[list[str]]:
    rows: list[list[float]] = row_scores.scores.reshape(len(row_scores.scores), -1).tolist()
    columns = row_scores.ids.values()
    ids: list[tuple[str, ...]] = list(zip(*columns, strict=True)) or [()] * len(rows)
    if row_scores.ids:
        yield [*row_scores.ids, "score"]
    for names, row in zip(ids, rows, strict=True):
        yield [*names, *(f"{score:.{_DIGITS}g}" for score in row)]


def row_figures(
    table: PaperTable, row: PaperRow, judgements: Judgements, path: Path
) -> Iterator[PaperFigure]:
    """The figures of one row, computed from its score file."""
    protocol = Protocol(statistic=table.statistic, test="none")
    agreement = evaluate(judgements, [str(path)], protocol)
    columns = {column.name: column for column in agreement.columns}
    columns[AVERAGE] = agreement.average
    if agreement.pooled is not None:
        columns[POOLED] = agreement.pooled
    for name, column in columns.items():
        yield _figure(table, row, name, table.statistic, column, path)


def _extra_figures(
    table: PaperTable, row: PaperRow, extra: ExtraColumns, scores: Path, progress: Progress
) -> Iterator[PaperFigure]:
    """The figures of one row on another dataset, computed from a score file of their own."""
    judgements = load_dataset(extra.dataset)
    row_scores = row.extra[extra.name](judgements, progress)
    path = write_scores(row_scores, scores / f"{row.name}.{extra.name}.tsv.gz")
    for name, statistic in extra.columns.items():
        protocol = Protocol(level=extra.level, statistic=statistic, test="none")
        agreement = evaluate(judgements, [str(path)], protocol, selection=extra.selection)
        yield _figure(table, row, name, statistic, agreement.average, path)


def _figure(  # noqa: PLR0917 - what a figure is of
    table: PaperTable, row: PaperRow, name: str, statistic: str, column: AgreementColumn, path: Path
) -> PaperFigure:
    """A figure and its interval, rounded to two places more than the table shows."""
    value, low, high = (
        round(table.scale * float(values[0]), table.decimals + 2)
        for values in (column.values, column.low, column.high)
    )
    return PaperFigure(
        system=row.name,
        column=name,
        statistic=statistic,
        paper=row.paper.get(name),
        measured=None if isnan(value) else value,
        scores=path.name,
        interval=None if isnan(low) or isnan(high) else (low, high),
    )
