"""Measuring a table again: scores to files, figures from the files, paper and measured together.

Every figure is computed from the scores as they are stored, with the command that any user has, so
that anyone can recompute it.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from math import isnan
from pathlib import Path

from adequa.agreement.evaluate import evaluate
from adequa.agreement.protocol import Protocol
from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError, nearest
from adequa.io.atomic import atomic_write_bytes, check_writable
from adequa.judgements import Judgements
from adequa.progress import NO_PROGRESS, Progress
from adequa.reproduce.results import (
    Measurement,
    Results,
    Row,
    read_results,
    results_path,
    write_results,
)
from adequa.reproduce.table import Further, Scored, System, Table

_DIGITS = 9  # significant digits of stored scores


def reproduce(
    table: Table,
    folder: Path,
    *,
    quick: bool = False,
    systems: tuple[str, ...] = (),
    started: Callable[[System], None] = lambda _: None,
    progress: Progress = NO_PROGRESS,
) -> Results:
    """Measure the systems of a table that are asked for; the others keep their last figures.

    What is finished is written at once, so that an interrupted run loses one system at most.
    """
    chosen = list(_chosen(table, quick, systems))
    results = read_results(table, folder)
    prepare(table, folder)
    judgements = _judgements(table)
    for system in chosen:
        if system.scores is None:
            continue
        started(system)
        scored = system.scores(judgements, progress)
        scores = folder / "scores" / table.name
        path = write_scores(scored, scores / f"{system.name}.tsv.gz")
        rows = tuple(_rows(table, system, judgements, path))
        for further in table.further:
            if further.name in system.further:
                rows += tuple(_further_rows(table, system, further, scores, progress))
        command = f"adequa reproduce {table.name} --system {system.name}"
        results = read_results(table, folder)  # another run may have added to it meanwhile
        results = results.with_system(system.name, rows, Measurement(command, scored.settings))
        results = results.ordered(tuple(system.name for system in table.systems))
        write_results(results, folder)
    return results


def prepare(table: Table, folder: Path) -> None:
    """Make the folders that results go to; raise what writing would raise, before the work."""
    scores = folder / "scores" / table.name
    try:
        scores.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AdequaError(
            f"{scores} cannot be made: {error.strerror or error}; name another folder with "
            "--results."
        ) from error
    check_writable(results_path(table.name, folder))


def _chosen(table: Table, quick: bool, names: tuple[str, ...]) -> Iterator[System]:
    there = [system.name for system in table.systems]
    for name in names:
        if name not in there:
            raise AdequaError(
                f'Table {table.name} has no system "{name}".{nearest(name, there)} There are:'
                f" {', '.join(there)}."
            )
    for system in table.systems:
        if system.name in names and system.scores is None:
            raise AdequaError(
                f"{system.label} cannot be measured: the authors' weights could not be had."
            )
        if (not names or system.name in names) and (not quick or system.cost == "minutes"):
            yield system


def _judgements(table: Table) -> Judgements:
    judgements = load_dataset(table.dataset)
    unused = judgements.file_rows.row_count - len(judgements.file_rows.rows)
    if unused:
        raise AdequaError(
            f"{unused} rows of {table.dataset} cannot be used; scores are kept for every row."
        )
    return judgements


def write_scores(scored: Scored, path: Path) -> Path:
    """Scores as text, one row a line, compressed; equal scores give equal bytes.

    Scores with ids have a header. The folder is there already.
    """
    text = "".join("\t".join(cells) + "\n" for cells in _lines(scored))
    atomic_write_bytes(path, gzip.compress(text.encode(), mtime=0))
    return path


def _lines(scored: Scored) -> Iterator[list[str]]:
    rows: list[list[float]] = scored.scores.reshape(len(scored.scores), -1).tolist()
    ids: list[tuple[str, ...]] = list(zip(*scored.ids.values(), strict=True)) or [()] * len(rows)
    if scored.ids:
        yield [*scored.ids, "score"]
    for names, row in zip(ids, rows, strict=True):
        yield [*names, *(f"{score:.{_DIGITS}g}" for score in row)]


def _rows(table: Table, system: System, judgements: Judgements, path: Path) -> Iterator[Row]:
    """The figures of one system, computed from its file of scores."""
    protocol = Protocol(statistic=table.statistic, over="none", test="none")
    found = evaluate(judgements, [str(path)], protocol)
    columns = {column.name: float(column.values[0]) for column in found.columns}
    columns |= {name: summary(found) for name, summary in table.summaries.items()}
    for name, value in columns.items():
        yield Row(
            system=system.name,
            column=name,
            statistic=table.statistic,
            paper=system.paper.get(name),
            measured=None if isnan(value) else round(table.scale * value, table.decimals + 2),
            scores=path.name,
        )


def _further_rows(
    table: Table, system: System, further: Further, scores: Path, progress: Progress
) -> Iterator[Row]:
    """The figures of one system on other data, computed from a file of scores of their own."""
    judgements = load_dataset(further.dataset)
    scored = system.further[further.name](judgements, progress)
    path = write_scores(scored, scores / f"{system.name}.{further.name}.tsv.gz")
    for name, statistic in further.columns.items():
        protocol = Protocol(level=further.level, statistic=statistic, test="none")
        found = evaluate(judgements, [str(path)], protocol, selection=further.selection)
        figures = found.average
        value, low, high = (
            round(further.scale * float(each[0]), table.decimals + 2)
            for each in (figures.values, figures.low, figures.high)
        )
        yield Row(
            system=system.name,
            column=name,
            statistic=statistic,
            paper=system.paper.get(name),
            measured=None if isnan(value) else value,
            scores=path.name,
            interval=None if isnan(low) or isnan(high) else (low, high),
        )
