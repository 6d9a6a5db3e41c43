"""Plots of RESULTS.md: a panel for each test set, with the paper's figures and ours as dots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from adequa.agreement.plots import check_plot
from adequa.io.atomic import atomic_write_bytes
from adequa.reproduce.paper_table import PaperResults, PaperRow, merged_rows
from adequa.reproduce.results_page import SECTIONS, PageSection, plot_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        return [_panel(results)]
    drawn = []
    for each in results:
        drawn.append(_panel([each]))
        for extra in each.table.extra:
            column, statistic = next(iter(extra.columns.items()))
            rows = [_plotted(each, row, column) for row in each.shown_rows()]
            drawn.append(PlotPanel(extra.title, statistic, tuple(rows)))
    return drawn


def _panel(results: Sequence[PaperResults]) -> PlotPanel:
    table = results[0].table
    rows = [_plotted(each, row, table.main) for each, row in merged_rows(results)]
    return PlotPanel(_TEST_SETS.get(table.dataset, table.dataset), table.statistic, tuple(rows))


def _plotted(results: PaperResults, row: PaperRow, column: str) -> PlottedRow:
    figure = results.figure(row.name, column)
    measured, bounds = (None, None) if figure is None else (figure.measured, figure.interval)
    return PlottedRow(row.label, row.paper.get(column), measured, bounds)


def draw(drawn: Sequence[PlotPanel], path: Path) -> None:
    """Draw panels to an SVG file; the same figures give the same bytes."""
    check_plot(str(path))
    from matplotlib import rc_context  # noqa: PLC0415  # optional

    image = BytesIO()
    with rc_context({"svg.hashsalt": "adequa", "svg.fonttype": "none", "font.size": 9}):
        figure(drawn).savefig(image, format="svg", metadata={"Date": None})
    atomic_write_bytes(path, image.getvalue())


def figure(drawn: Sequence[PlotPanel]) -> Figure:
    """Panels beside each other; those of one row share the labels."""
    from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415  # optional

    labels = list(dict.fromkeys(row.label for panel in drawn for row in panel.rows))
    across = min(len(drawn), _PANELS_ACROSS)
    down = ceil(len(drawn) / across)
    width = 8.5 if across == 1 else 3.4 + 2.6 * across
    height = down * (_ROW_HEIGHT * len(labels) + 0.75) + 0.35
    drawing = NewFigure(figsize=(width, height), layout="constrained", facecolor="white")
    axes = drawing.subplots(down, across, squeeze=False, sharey=True)
    for panel, ax in zip(drawn, axes.flat, strict=False):
        _draw_panel(ax, panel, labels)
    for ax in list(axes.flat)[len(drawn) :]:
        ax.set_axis_off()
    _draw_legend(drawing, any(row.paper is not None for panel in drawn for row in panel.rows))
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
