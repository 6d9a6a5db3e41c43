"""Agreement drawn: metric against human, and which differences between metrics are significant."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from io import BytesIO
from math import ceil, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

import numpy as np

from adequa.agreement.results import Agreement, AgreementColumn, Points
from adequa.errors import AdequaError
from adequa.io.atomic import atomic_write_bytes
from adequa.segments import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png", ".pdf")
_PANEL = 3.2  # inches
_ACROSS = 4  # panels in a row
_MANY = 3000  # points that are drawn as pixels, also in SVG, which would be megabytes otherwise
_BINS = 10  # of margins
# Colours that people with any kind of colour vision can tell apart (Okabe and Ito, 2008).
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")


def check_plot(path: str) -> None:
    """Raise what would keep a plot from being drawn, before the work."""
    if Path(path).suffix.lower() not in FORMATS:
        raise AdequaError(f"{path}: a plot's name ends in {', '.join(FORMATS)}.")
    if find_spec("matplotlib") is None:
        raise AdequaError("Plots need matplotlib; install it with: pip install 'adequa[plot]'")


def draw(agreement: Agreement, path: str) -> None:
    """Draw an evaluation to an SVG, PNG or PDF file."""
    write_figure(partial(figure, agreement), path)


def write_figure(create: Callable[[], Figure], path: str, font_size: float = 10) -> None:
    """Write a figure to an SVG, PNG or PDF file."""
    check_plot(path)
    from matplotlib import rc_context  # noqa: PLC0415

    kind = Path(path).suffix.lower().removeprefix(".")
    buffer = BytesIO()
    # The same figures give the same bytes: no date, and ids in SVG from a fixed salt.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    salted = rc_context({"svg.hashsalt": "adequa", "svg.fonttype": "none", "font.size": font_size})
    with salted, catch_warnings():
        # A name in a script that the font lacks shows as boxes; SVG keeps it as text.
        filterwarnings("ignore", message="Glyph .* missing from")
        create().savefig(buffer, format=kind, metadata=metadata, dpi=150)
    atomic_write_bytes(path, buffer.getvalue())


def figure(agreement: Agreement) -> Figure:
    """One panel a metric, from the best to the worst, and the significance matrix."""
    from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415

    tested = agreement.average.adjusted is not None
    panels = len(agreement.metrics) + tested
    down = ceil(panels / _ACROSS)
    across = ceil(panels / down)
    drawing = NewFigure(figsize=(_PANEL * across, _PANEL * down + 0.6), layout="constrained")
    axes = list(drawing.subplots(down, across, squeeze=False).flat)
    for place, k in enumerate(agreement.order):
        _panel(axes[place], agreement, k)
    if tested:
        _significance(axes[len(agreement.metrics)], agreement)
    for unused in axes[panels:]:
        unused.set_axis_off()
    _legend(drawing, axes[0])
    title = f"{agreement.dataset}: {agreement.protocol.statistic}, {agreement.protocol.level} level"
    drawing.suptitle(title, fontsize="medium", parse_math=False)
    return drawing


def _panel(axes: Axes, agreement: Agreement, metric: int) -> None:
    value = agreement.average.values[metric]
    figure_text = "undefined" if isnan(value) else f"{value:.3f}"
    axes.set_title(
        f"{agreement.metrics[metric].name}  {figure_text}", fontsize="small", parse_math=False
    )
    axes.tick_params(labelsize="x-small")
    total = sum(points.metrics.shape[1] for points in agreement.points)
    for index, points in enumerate(agreement.points):
        style: dict[str, Any] = {
            "color": _COLOURS[index % len(_COLOURS)],
            "label": f"{points.name}",
        }
        if points.human is None:
            _agreement_by_margin(axes, points, metric, style)
        else:
            axes.scatter(
                points.human,
                points.metrics[metric],
                s=36 if agreement.protocol.level == "system" else 4,
                alpha=0.9 if agreement.protocol.level == "system" else 0.35,
                linewidths=0,
                rasterized=total > _MANY,
                **style,
            )
    if agreement.points and agreement.points[0].human is None:
        axes.axhline(50, color="0.6", linewidth=0.8)
        axes.set_ylim(0, 100)
        axes.set_xlabel("difference of the two scores, in tenths from small to large", fontsize=6)
        axes.set_ylabel("ordered as people did, %", fontsize="x-small")
    else:
        axes.set_xlabel("human score", fontsize="x-small")
        axes.set_ylabel("metric, higher is better", fontsize="x-small")


def _agreement_by_margin(axes: Axes, points: Points, metric: int, style: dict[str, Any]) -> None:
    """How often a metric orders two outputs as people did, by how far apart it sees them."""
    margins = points.metrics[metric]
    shares = agreement_by_margin(margins)
    axes.plot(np.arange(1, len(shares) + 1), shares, marker="o", markersize=3, **style)


def agreement_by_margin(margins: FloatArray) -> FloatArray:
    """Percent of preferences shared, in tenths of the preferences from small to large margins.

    >>> agreement_by_margin(np.array([0.1, -0.2, 3.0, 4.0]))[[0, 1, 3]]
    array([100.,   0., 100.])
    """
    order = np.argsort(np.abs(margins), kind="stable")
    parts = np.array_split(margins[order] > 0, min(_BINS, len(margins)))
    return np.array([100 * part.mean() for part in parts])


def _significance(axes: Axes, agreement: Agreement) -> None:
    """Adjusted p-values of row better than column, dark where the difference is significant."""
    average: AgreementColumn = agreement.average
    assert average.adjusted is not None  # noqa: S101 - the caller looked
    order, alpha = agreement.order, agreement.protocol.alpha
    names = [agreement.metrics[k].name for k in order]
    p_values = average.adjusted[np.ix_(order, order)]
    axes.imshow(
        np.where(np.isnan(p_values), 1.0, p_values) <= alpha, cmap="Blues", vmin=0, vmax=1.6
    )
    for row in range(len(order)):
        for column in range(len(order)):
            if not isnan(p_values[row, column]):
                text = f"{p_values[row, column]:.3f}".replace("0.", ".", 1)
                axes.text(column, row, text, ha="center", va="center", fontsize=6)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize="x-small")
    axes.set_yticks(range(len(names)), names, fontsize="x-small")
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_parse_math(False)
    axes.set_title(f"adjusted p: row better than column (dark: ≤ {alpha:g})", fontsize="small")


def _legend(drawing: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        legend = drawing.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=min(len(labels), 8),
            fontsize="x-small",
            markerscale=2,
        )
        for handle in legend.legend_handles:
            if handle is not None:
                handle.set_alpha(1)
