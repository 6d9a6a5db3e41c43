"""Tables of papers: what a paper reports, how each row is scored, and the figures measured so far.

A `PaperTable` is a list of `PaperRow`s, each with a scorer. Measured figures are stored in
`results/NAME.json` and read back as `PaperResults`, which shows paper and measured side by side.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from adequa.agreement.protocol import Level
from adequa.agreement.results import AVERAGE
from adequa.agreement.selection import Selection
from adequa.errors import AdequaError, nearest
from adequa.io.atomic import atomic_write
from adequa.io.text import read_toml
from adequa.judgements import Ids, Judgements
from adequa.progress import Progress
from adequa.segments import FloatArray
from adequa.tables import MISSING, Column, Result, Table, decimal, interval

TABLES = {
    "wmt12": "adequa.reproduce.guzman:WMT12",
    "wmt12-bleucomp": "adequa.reproduce.guzman:BLEUCOMP",
    "wmt12-vectors": "adequa.reproduce.guzman:VECTORS",
    "wmt12-depth": "adequa.reproduce.guzman:DEPTH",
    "wmt12-loss": "adequa.reproduce.guzman:LOSS",
    "wmt16": "adequa.reproduce.shimanaka:WMT16",
    "wmt17": "adequa.reproduce.shimanaka:WMT17",
    "reval": "adequa.reproduce.gupta:REVAL",
    "wmt17-systems": "adequa.reproduce.shimanaka:WMT17_SYSTEMS",
    "wmt18-systems": "adequa.reproduce.shimanaka:WMT18_SYSTEMS",
}


def load_table(name: str) -> PaperTable:
    """The table of this name."""
    if name not in TABLES:
        raise AdequaError(
            f'There is no table named "{name}".{nearest(name, TABLES)} There are:'
            f" {', '.join(TABLES)}."
        )
    module, _, attribute = TABLES[name].partition(":")
    table: PaperTable = getattr(import_module(module), attribute)
    return table


@cache
def _printed_figures() -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    """The figures that the papers print, by table, row and column."""
    return read_toml(Path(__file__).with_name("figures.toml"))


@dataclass(frozen=True, slots=True, eq=False)
class RowScores:
    """Scores of a row, higher is better: one for each judgement, or those of better and worse.

    Scores that are not in the dataset's order have `ids` (`lp` and `system`).
    """

    scores: FloatArray  # (judgements,) or (judgements, 2)
    settings: str  # the signature, or what else is needed to get the same scores
    ids: Ids = field(default_factory=dict)


# Scores the judgements of a table; raises where they are of a kind that it cannot score.
Scorer: TypeAlias = Callable[[Judgements, Progress], RowScores]


@dataclass(frozen=True, slots=True)
class ExtraColumns:
    """Columns of a table that are measured on another dataset than the table's own.

    A figure is the mean over language pairs where the dataset has more than one.
    """

    name: str  # part of the names of score files: ROW.NAME.tsv.gz
    title: str
    dataset: str
    columns: Mapping[str, str]  # column to statistic
    level: Level = "segment"
    split: str = ""  # empty: all of the dataset

    @property
    def selection(self) -> Selection:
        """The part of the dataset that is measured on."""
        return Selection(split=(self.split,) if self.split else ())


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One row of a table."""

    name: str
    label: str
    # None where the authors' weights are not available: only the paper's figures are shown.
    scorer: Scorer | None
    paper: Mapping[str, float] = field(default_factory=dict)  # by column, `average` included
    # Resources that measuring takes. --quick runs `minutes` only; others keep their last figures.
    cost: Literal["minutes", "hours", "gpu"] = "minutes"
    extra: Mapping[str, Scorer] = field(default_factory=dict)  # scorers by name of `ExtraColumns`


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table measured on one dataset with one statistic, and perhaps extra columns.

    The paper's figures of its rows are in `figures.toml`.
    """

    name: str
    title: str
    paper: str  # authors, year and title; or a remark that no paper has the table
    dataset: str
    statistic: str
    rows: tuple[PaperRow, ...]
    number: str = ""  # the number of the table in the paper
    scale: float = 1.0  # 100 where a paper prints taus times 100
    decimals: int = 3
    main: str = AVERAGE  # the column that sums up a row
    extra: tuple[ExtraColumns, ...] = ()

    def __post_init__(self) -> None:
        printed = _printed_figures().get(self.name, {})
        rows = (replace(row, paper=printed.get(row.name, row.paper)) for row in self.rows)
        object.__setattr__(self, "rows", tuple(rows))

    @property
    def citation(self) -> str:
        """The paper and the number of the table."""
        return f"{self.paper}, {self.number}" if self.number else self.paper


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """One figure of a row: the paper's and ours, None where there is none."""

    system: str  # the row
    column: str  # a language pair, a mean such as `average`, or an extra column
    statistic: str
    paper: float | None
    measured: float | None
    scores: str | None  # the file in `scores/TABLE/` that it is computed from
    interval: tuple[float, float] | None = None  # bootstrap, confidence of 95 percent


@dataclass(frozen=True, slots=True)
class RowMeasurement:
    """The command that measured a row, and the settings of its scores."""

    command: str
    settings: str


@dataclass(frozen=True, repr=False)
class PaperResults(Result):
    """All measured figures of one table."""

    table: PaperTable = field(compare=False)
    figures: tuple[PaperFigure, ...] = ()
    measurements: Mapping[str, RowMeasurement] = field(default_factory=dict)

    @classmethod
    def read(cls, table: PaperTable, folder: Path) -> PaperResults:
        """The stored figures of a table; none if it was never measured."""
        path = results_path(table.name, folder)
        if not path.exists():
            return cls(table)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                table,
                tuple(_read_figure(row) for row in content["rows"]),
                {name: RowMeasurement(**how) for name, how in content["systems"].items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise AdequaError(
                f"{path} is not a file of results as `adequa reproduce` writes them; move it away,"
                " or measure the table anew in another folder with --results."
            ) from error
        except OSError as error:
            raise AdequaError(f"{path} cannot be read: {error.strerror or error}.") from error

    def write(self, folder: Path) -> None:
        """Store the figures, in one piece or not at all."""
        with atomic_write(results_path(self.table.name, folder)) as file:
            json.dump(self.to_dict(), file, ensure_ascii=False, allow_nan=False, indent=1)
            file.write("\n")

    def with_row(
        self, name: str, figures: tuple[PaperFigure, ...], measurement: RowMeasurement
    ) -> PaperResults:
        """With new figures of one row, in the order of the table; rows it lacks are dropped."""
        others = tuple(figure for figure in self.figures if figure.system != name)
        by_name = {**self.measurements, name: measurement}
        names = [row.name for row in self.table.rows]
        return replace(
            self,
            figures=tuple(
                figure for row in names for figure in (*others, *figures) if figure.system == row
            ),
            measurements={row: by_name[row] for row in names if row in by_name},
        )

    def figure(self, row: str, column: str) -> PaperFigure | None:
        """The figure of a row in a column, if it was measured."""
        return next((f for f in self.figures if (f.system, f.column) == (row, column)), None)

    def shown_rows(self) -> list[PaperRow]:
        """Rows that have a figure to show, the paper's or ours."""
        measured = {figure.system for figure in self.figures}
        return [row for row in self.table.rows if row.scorer is None or row.name in measured]

    def tables(self) -> tuple[Table, ...]:
        return side_by_side([self]), *self._extra_table()

    def _extra_table(self) -> tuple[Table, ...]:
        """The columns that are measured on other datasets."""
        columns = {
            column: f"{extra.title}, {statistic}"
            for extra in self.table.extra
            for column, statistic in extra.columns.items()
        }
        rows = [
            [row.label, *(self.cell(row, column) for column in columns)]
            for row in self.shown_rows()
        ]
        if not columns or not rows:
            return ()
        headings = (Column(name, align="right", heading=text) for name, text in columns.items())
        return (Table((Column("row"), *headings), rows),)

    def cell(self, row: PaperRow, column: str) -> str:
        """Our figure, with the paper's in parentheses."""
        figure, paper = self.figure(row.name, column), row.paper.get(column)
        cells = [] if figure is None or figure.measured is None else [self._number(figure.measured)]
        return " ".join(cells + ([] if paper is None else [f"({self._number(paper)})"])) or MISSING

    def _number(self, value: float) -> str:
        return decimal(value, self.table.decimals)

    def long_table(self) -> Table:
        columns = (
            *map(Column, ("system", "column", "statistic")),
            *(Column(name, "number") for name in ("paper", "measured", "low", "high")),
            Column("scores"),
        )
        rows = [
            (f.system, f.column, f.statistic, f.paper, f.measured)
            + (f.interval or (None, None))
            + (f.scores,)
            for f in self.figures
        ]
        return Table(columns, rows)

    def to_dict(self) -> dict[str, Any]:
        rows = [
            {key: value for key, value in asdict(figure).items() if (key, value) != _NO_INTERVAL}
            for figure in self.figures
        ]
        systems = {name: asdict(how) for name, how in self.measurements.items()}
        return {"name": self.table.name, "rows": rows, "systems": systems}


_NO_INTERVAL = ("interval", None)


def _read_figure(content: Mapping[str, Any]) -> PaperFigure:
    bounds = content.get("interval")
    return PaperFigure(**{**content, "interval": None if bounds is None else tuple(bounds)})


def results_path(name: str, folder: Path) -> Path:
    """The file with the figures of a table."""
    return folder / f"{name}.json"


def side_by_side(
    results: Sequence[PaperResults], items: Sequence[tuple[PaperResults, PaperRow]] | None = None
) -> Table:
    """Paper and ours in one table, for one table or more of a paper on the same dataset.

    `items` selects rows of `merged_rows`; by default all of them are shown.
    """
    first = results[0].table
    extra = {column for each in first.extra for column in each.columns}
    columns = [
        column
        for column in dict.fromkeys(f.column for each in results for f in each.figures)
        if column != first.main and column not in extra
    ]
    rows = merged_rows(results) if items is None else items
    with_paper = any(row.paper for _, row in rows)
    lines = [
        [
            row.label,
            *([_numbers(results, row)] if len(results) > 1 else []),
            *_main_cells(each, row, with_paper),
            *(each.cell(row, column) for column in columns),
        ]
        for each, row in rows
    ]
    headings = [
        *(["table"] if len(results) > 1 else []),
        *(["paper", "ours", "difference"] if with_paper else [first.main]),
        "95% interval",
    ]
    return Table(
        (Column("row"), *(Column(name, align="right") for name in (*headings, *columns))),
        lines,
        title=f"{first.title} ({first.citation})",
    )


def merged_rows(results: Sequence[PaperResults]) -> list[tuple[PaperResults, PaperRow]]:
    """The rows of one table in its order; those of more than one table each once.

    Of more than one table the paper's rows come first, and then our own from worst to best.
    """
    rows: dict[str, tuple[PaperResults, PaperRow]] = {}
    for each in results:
        for row in each.shown_rows():
            rows.setdefault(row.name, (each, row))
    if len(results) == 1:
        return list(rows.values())

    def rank(item: tuple[PaperResults, PaperRow]) -> tuple[bool, float]:
        figure = item[0].figure(item[1].name, item[0].table.main)
        measured = figure.measured if figure is not None else None
        return not item[1].paper, 0.0 if item[1].paper or measured is None else measured

    return sorted(rows.values(), key=rank)


def _numbers(results: Sequence[PaperResults], row: PaperRow) -> str:
    """The numbers of the paper's tables that have a row."""
    tables = (each.table for each in results if row.paper)
    return ", ".join(
        table.number.removeprefix("Table ")
        for table in tables
        if any(other.name == row.name for other in table.rows)
    )


def _main_cells(results: PaperResults, row: PaperRow, with_paper: bool) -> list[str]:
    """The paper's figure, ours, their difference, and the interval of ours."""
    decimals = results.table.decimals
    figure, paper = results.figure(row.name, results.table.main), row.paper.get(results.table.main)
    ours = None if figure is None else figure.measured
    bounds = None if figure is None else figure.interval
    difference = None if ours is None or paper is None else f"{ours - paper:+.{decimals}f}"
    figures = [None if value is None else decimal(value, decimals) for value in (paper, ours)]
    cells = [*figures, difference] if with_paper else figures[1:]
    cells.append(None if bounds is None else interval(*bounds, decimals))
    return [cell or MISSING for cell in cells]
