"""RESULTS.md and its plots: a section for each paper, from the stored figures and prose.

The prose of a section is `results/SECTION.md`, how its settings were chosen is in
`results/details/SECTION.md`, and its plot is `results/plots/SECTION.svg`. The page of a folder
without these files has the tables alone. A section of merged tables shows the paper's rows, the
shipped metric and the best row; the details end with all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from adequa.agreement.plots import write_figure
from adequa.io.atomic import atomic_write
from adequa.reproduce.paper_table import (
    PaperResults,
    PaperRow,
    load_table,
    merged_rows,
    side_by_side,
)
from adequa.tables import MISSING, Column, Table, decimal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEAD = """\
# Results

Tables of the papers, measured again: the paper's figures beside ours. `adequa reproduce` writes
this page; do not edit it. All figures and intervals, the command that measured each row and its
signature are in `results/TABLE.json`. Every figure comes from a score file, and anyone can compute
it again: `adequa evaluate DATASET --statistic STATISTIC -m results/scores/TABLE/SYSTEM.tsv.gz`.

- `paper` and `ours` are means over language pairs; the interval is a bootstrap interval of `ours`.
- Columns of language pairs show our figure, with the paper's in parentheses.
- In plots, dots are our figures with their intervals, and diamonds are the paper's.
- mpnet is all-mpnet-base-v2 and MiniLM is all-MiniLM-L6-v2. `adequa` is the metric that ships,
  and `adequa-1` its first edition.

"""
_ALL_ROWS = "## All rows\n"  # heading of the table that ends the details of merged tables
_SHIPPED = "adequa"  # name of the row of the metric that ships


@dataclass(frozen=True, slots=True)
class PageSection:
    """A section of the page: a paper and its tables."""

    name: str
    title: str
    tables: tuple[str, ...]
    merged: bool = False  # whether the tables are shown as one

    def read(self, folder: Path) -> list[PaperResults]:
        """The results of the tables that were measured."""
        results = (PaperResults.read(load_table(name), folder) for name in self.tables)
        return [each for each in results if each.figures]


SECTIONS = (
    PageSection("shimanaka-2018", "SVR over sentence embeddings (WMT16)", ("wmt16",)),
    PageSection("shimanaka-2019", "RUSE and the BERT regressor (WMT17)", ("wmt17",)),
    PageSection("gupta-2015", "ReVal (WMT16, SICK, systems)", ("reval",)),
    PageSection(
        "guzman-2015",
        "Pairwise ranker (WMT12)",
        ("wmt12", "wmt12-bleucomp", "wmt12-vectors", "wmt12-depth", "wmt12-loss"),
        merged=True,
    ),
    PageSection("systems", "Whole systems (WMT17, WMT18)", ("wmt17-systems", "wmt18-systems")),
)


def page_path(folder: Path) -> Path:
    """The path of the page: beside a folder named results, and inside one of another name.

    >>> page_path(Path("work/results")).as_posix(), page_path(Path("work/trial")).as_posix()
    ('work/RESULTS.md', 'work/trial/RESULTS.md')
    """
    return (folder.parent if folder.name == "results" else folder) / "RESULTS.md"


def plot_path(section: PageSection, folder: Path) -> Path:
    """The path of a section's plot."""
    return folder / "plots" / f"{section.name}.svg"


def write_page(folder: Path) -> None:
    """Write RESULTS.md from a folder of results, and the tables of all rows in the details."""
    with atomic_write(page_path(folder)) as file:
        file.write(page(folder))
    for section in SECTIONS:
        path = folder / "details" / f"{section.name}.md"
        results = section.read(folder)
        if section.merged and results and path.is_file():
            prose = path.read_text(encoding="utf-8").partition(_ALL_ROWS)[0].rstrip("\n")
            with atomic_write(path) as file:
                file.write(
                    f"{prose}\n\n{_ALL_ROWS}\n{side_by_side(results).without_notes().to_markdown()}"
                )


def page(folder: Path, sections: Sequence[PageSection] = SECTIONS) -> str:
    """The whole page, from a folder of results."""
    measured = [(section, section.read(folder)) for section in sections]
    measured = [(section, results) for section, results in measured if results]
    parts = [_HEAD]
    if measured:
        parts.append(_summary(measured).to_markdown())
    for section, results in measured:
        parts += ["\n", *_section(section, results, folder)]
    return "".join(parts)


def _summary(measured: Sequence[tuple[PageSection, list[PaperResults]]]) -> Table:
    """The best row of every table that is not merged into another."""
    columns = (
        *map(Column, ("section", "test set", "statistic")),
        Column("paper", align="right"),
        Column("row", heading="best row of the paper"),
        Column("ours", align="right"),
        Column("best", heading="best row here"),
    )
    rows = []
    for section, results in measured:
        for parts in [results] if section.merged else [[each] for each in results]:
            table = parts[0].table
            rows.append((section.title, table.dataset, table.statistic, *_best_rows(parts)))
    return Table(columns, rows)


def _best_rows(results: list[PaperResults]) -> list[str]:
    """The highest figure and its row, in the paper and here."""
    main, decimals = results[0].table.main, results[0].table.decimals
    rows = [_plotted(each, row, main) for each, row in merged_rows(results)]
    cells = []
    for figures in (
        [(row.paper, row.label) for row in rows],
        [(row.ours, row.label) for row in rows],
    ):
        value, label = max(
            ((value, label) for value, label in reversed(figures) if value is not None),
            key=itemgetter(0),
            default=(None, MISSING),
        )
        cells += [MISSING if value is None else decimal(value, decimals), label]
    return cells


def _section(section: PageSection, results: list[PaperResults], folder: Path) -> Iterator[str]:
    base = page_path(folder).parent
    yield f"## {section.title}\n\n"
    yield from _origins(results)
    prose = folder / f"{section.name}.md"
    if prose.is_file():
        yield f"\n{prose.read_text(encoding='utf-8')}"
    tables = (table for each in results for table in each.tables())
    merged = [side_by_side(results, _main_rows(results))] if section.merged else tables
    for table in merged:
        yield f"\n{table.without_notes().to_markdown()}"
    plot = plot_path(section, folder)
    if plot.is_file():
        yield f"\n![{section.title}, paper and ours]({plot.relative_to(base).as_posix()})\n"
    details = folder / "details" / prose.name
    if details.is_file():
        link = details.relative_to(base).as_posix()
        yield f"\nHow settings were chosen and what was tried: [{link}]({link}).\n"


def _main_rows(results: Sequence[PaperResults]) -> list[tuple[PaperResults, PaperRow]]:
    """The rows of the paper, that of the shipped metric, and the best one of our own."""
    *others, best = merged_rows(results)
    return [item for item in others if item[1].paper or item[1].name == _SHIPPED] + [best]


def _origins(results: list[PaperResults]) -> Iterator[str]:
    """The paper, the datasets, and the commands that measure the tables."""
    yield f"{results[0].table.paper[0].upper()}{results[0].table.paper[1:]}.\n"
    commands: dict[tuple[str, str], list[str]] = {}
    for each in results:
        key = (each.table.dataset, each.table.statistic)
        commands.setdefault(key, []).append(f"`adequa reproduce {each.table.name}`")
    for (dataset, statistic), verbs in commands.items():
        yield f"Dataset `{dataset}`, statistic `{statistic}`: {', '.join(verbs)}.\n"


# Plots: a panel for each test set, with the paper's figures and ours as dots.

# Colours of Okabe and Ito (2008), which differ for every kind of colour vision.
_OURS, _PAPER = "#0072B2", "#D55E00"
_ROW_HEIGHT = 0.24  # inches
_PANELS_ACROSS = 3
_TEST_SETS = {
    "wmt12-rr": "WMT12 segments, mean of 4 pairs",
    "wmt16-da": "WMT16 segments, mean of 6 pairs",
    "wmt17-da": "WMT17 segments, mean of 7 pairs",
    "wmt17-systems": "WMT17, 65 systems",
    "wmt18-systems": "WMT18, 71 systems",
}
_STATISTICS = {
    "pearson": "Pearson's r",
    "tau-wmt12": "Kendall's τ × 100, strict",
    "tau-wmt14": "Kendall's τ",
    "accuracy": "accuracy over pairs of systems",
}


@dataclass(frozen=True, slots=True)
class PlottedRow:
    """A row of a panel; None where there is no figure."""

    label: str
    paper: float | None
    ours: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class PlotPanel:
    """The rows of one test set."""

    title: str
    statistic: str
    rows: tuple[PlottedRow, ...]


def write_plots(folder: Path) -> None:
    """Draw the plots of all sections that were measured."""
    for section in SECTIONS:
        results = section.read(folder)
        if results:
            path = plot_path(section, folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            draw(panels(section, results), path)


def panels(section: PageSection, results: Sequence[PaperResults]) -> list[PlotPanel]:
    """The panels of a section: one for each test set, with its first statistic."""
    if section.merged:
        return [_main_panel(_main_rows(results))]
    panel_list = []
    for each in results:
        panel_list.append(_main_panel(merged_rows([each])))
        for extra in each.table.extra:
            column, statistic = next(iter(extra.columns.items()))
            rows = [_plotted(each, row, column) for row in each.shown_rows()]
            panel_list.append(PlotPanel(extra.title, statistic, tuple(rows)))
    return panel_list


def _main_panel(items: Sequence[tuple[PaperResults, PaperRow]]) -> PlotPanel:
    table = items[0][0].table
    rows = [_plotted(each, row, table.main) for each, row in items]
    return PlotPanel(_TEST_SETS.get(table.dataset, table.dataset), table.statistic, tuple(rows))


def _plotted(results: PaperResults, row: PaperRow, column: str) -> PlottedRow:
    figure = results.figure(row.name, column)
    measured, bounds = (None, None) if figure is None else (figure.measured, figure.interval)
    return PlottedRow(row.label, row.paper.get(column), measured, bounds)


def draw(panel_list: Sequence[PlotPanel], path: Path) -> None:
    """Draw panels to an SVG file; the same figures give the same bytes."""
    write_figure(partial(figure, panel_list), str(path), font_size=9)


def figure(panel_list: Sequence[PlotPanel]) -> Figure:
    """Panels beside each other; those of one row share the labels."""
    from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415  # optional

    labels = list(dict.fromkeys(row.label for panel in panel_list for row in panel.rows))
    across = min(len(panel_list), _PANELS_ACROSS)
    down = ceil(len(panel_list) / across)
    width = 8.5 if across == 1 else 3.4 + 2.6 * across
    height = down * (_ROW_HEIGHT * len(labels) + 0.75) + 0.35
    drawing = NewFigure(figsize=(width, height), layout="constrained", facecolor="white")
    axes = drawing.subplots(down, across, squeeze=False, sharey=True)
    for panel, ax in zip(panel_list, axes.flat, strict=False):
        _draw_panel(ax, panel, labels)
    for ax in list(axes.flat)[len(panel_list) :]:
        ax.set_axis_off()
    _draw_legend(drawing, any(row.paper is not None for panel in panel_list for row in panel.rows))
    return drawing


def _draw_panel(ax: Axes, panel: PlotPanel, labels: Sequence[str]) -> None:
    height = {label: index for index, label in enumerate(labels)}
    bounds = [(height[row.label], *row.interval) for row in panel.rows if row.interval is not None]
    if bounds:
        ax.hlines(*zip(*bounds, strict=True), color=_OURS, linewidth=2.5, alpha=0.35)
    papers = [(row.paper, height[row.label]) for row in panel.rows if row.paper is not None]
    ax.plot(*_columns(papers), "D", color=_PAPER, fillstyle="none", markersize=5.5)
    ours = [(row.ours, height[row.label]) for row in panel.rows if row.ours is not None]
    ax.plot(*_columns(ours), "o", color=_OURS, markersize=5)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.locator_params(axis="x", nbins=6, steps=[1, 2, 5, 10])
    ax.set_title(panel.title, fontsize=9.5, loc="left")
    ax.set_xlabel(_STATISTICS.get(panel.statistic, panel.statistic))
    ax.grid(color="#e4e4e4", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _columns(points: Sequence[tuple[float, int]]) -> tuple[list[float], list[int]]:
    return [x for x, _ in points], [y for _, y in points]


def _draw_legend(drawing: Figure, with_paper: bool) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415  # optional

    ours = Line2D([], [], color=_OURS, marker="o", markersize=5, linewidth=2.5)
    ours.set_label("ours, with 95% interval")
    paper = Line2D([], [], color=_PAPER, marker="D", markersize=5.5, linestyle="none")
    paper.set(fillstyle="none", label="paper")
    handles = [ours, paper] if with_paper else [ours]
    drawing.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False)
