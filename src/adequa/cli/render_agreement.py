"""Agreement as text, JSON, TSV, LaTeX or Markdown: one row a metric, one column a language pair."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from math import isnan

from adequa.agreement.protocol import Protocol
from adequa.agreement.results import Agreement, AgreementColumn
from adequa.cli.output import aligned
from adequa.errors import printable
from adequa.segments import FloatArray
from adequa.statistics.preference_tau import PREFERENCE_TAUS

BEST = "*"
MISSING = "–"
_LATEX = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"–": "--", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
)
_RULES = {
    "greedy": "metrics of one rank do not differ significantly",
    "separated": "every metric beats all of the ranks below",
}
_TESTS = {
    "both": "PERM-BOTH",
    "inputs": "PERM-INPUTS",
    "systems": "PERM-SYS",
    "pairs": "permutation of pairs",
    "williams": "Williams' test",
}


def as_text(found: Agreement) -> Iterator[str]:
    """An aligned table, the best of each column marked, and what stands behind the figures."""
    yield f"{_title(found)}\n\n"
    header, rows = _cells(found, lambda figure: f"{BEST}{figure}")
    right = [place for place, name in enumerate(header) if name not in {"metric", "rank"}]
    yield from aligned(lambda: [header, *rows], right=right)
    yield "\n"
    for line in _legend(found):
        yield f"{line}\n"
    for metric in found.metrics:
        yield f"{printable(metric.signature)}\n"


def as_markdown(found: Agreement) -> Iterator[str]:
    """A Markdown table, the best of each column in bold."""
    header, rows = _cells(found, lambda figure: f"**{figure}**")
    aligns = ["---" if name == "metric" else "---:" for name in header]
    for row in (header, aligns, *rows):
        yield "| " + " | ".join(map(_markdown, row)) + " |\n"


def as_latex(found: Agreement) -> Iterator[str]:
    """A tabular with the rules of booktabs, the best of each column in bold."""
    header, rows = _cells(found, lambda figure: f"\x00{figure}\x01")
    yield rf"\begin{{tabular}}{{{''.join('l' if c == 'metric' else 'r' for c in header)}}}" + "\n"
    yield "\\toprule\n"
    yield _latex_row(header)
    yield "\\midrule\n"
    for row in rows:
        yield _latex_row(row)
    yield "\\bottomrule\n\\end{tabular}\n"


def as_tsv(found: Agreement) -> Iterator[str]:
    """One row a metric and language pair, with the interval and the rank; a header on top."""
    yield "metric\tlp\titems\tvalue\tlow\thigh\trank\tthreshold\n"
    for column in found.all_columns:
        for k in found.order:
            figures = [column.values, column.low, column.high, column.ranks, column.thresholds]
            undefined = isnan(column.values[k])
            numbers = [
                "" if f is None or undefined or isnan(f[k]) else repr(f[k].item()) for f in figures
            ]
            names = [found.metrics[k].name, column.name, str(column.items)]
            yield "\t".join([*map(printable, names), *numbers]) + "\n"


def as_json(found: Agreement) -> Iterator[str]:
    """The stable JSON shape: metrics from best to worst, columns with every figure behind them."""
    names = [found.metrics[k].name for k in found.order]
    shown = {
        "dataset": found.dataset,
        "protocol": asdict(found.protocol),
        "selection": found.selection,
        "metrics": [asdict(found.metrics[k]) for k in found.order],
        "columns": [_json_column(column, names, found.order) for column in found.all_columns],
        "notes": list(found.notes),
    }
    yield json.dumps(shown, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _json_column(column: AgreementColumn, names: list[str], order: list[int]) -> dict[str, object]:
    figures = []
    for name, k in zip(names, order, strict=True):
        figure: dict[str, object] = {
            "metric": name,
            "value": _number(column.values[k]),
            "low": _number(column.low[k]),
            "high": _number(column.high[k]),
            "rank": None
            if column.ranks is None or isnan(column.values[k])
            else int(column.ranks[k]),
        }
        if column.thresholds is not None:
            figure["threshold"] = _number(column.thresholds[k])
        if column.reasons[k]:
            figure["reason"] = column.reasons[k]
        figures.append(figure)
    return {
        "name": column.name,
        "items": column.items,
        "figures": figures,
        "p_values": _matrix(column.p_values, order),
        "adjusted": _matrix(column.adjusted, order),
    }


def _matrix(values: FloatArray | None, order: list[int]) -> list[list[float | None]] | None:
    if values is None:
        return None
    return [[_number(values[a, b]) for b in order] for a in order]


def _number(value: float) -> float | None:
    return None if isnan(value) else float(value)


def _cells(found: Agreement, marked: Callable[[str], str]) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the wide table; `marked` makes the best of a column stand out."""
    columns = found.all_columns
    shown = [_figures(column.values, found.order, marked) for column in columns]
    header = ["metric", *(column.name for column in columns)]
    if found.protocol.over != "none":
        # Beside the figure that it is of: nothing but this tells so in Markdown and LaTeX.
        place = columns.index(found.average) + 1
        header.insert(place + 1, f"{found.protocol.confidence * 100:g}% interval")
        shown.insert(place, _shown_intervals(found))
    if found.average.ranks is not None:
        header.insert(0, "rank")
    rows = []
    for place, k in enumerate(found.order):
        row = [found.metrics[k].name, *(figures[place] for figures in shown)]
        if found.average.ranks is not None:
            undefined = isnan(found.average.values[k])
            row.insert(0, MISSING if undefined else str(found.average.ranks[k]))
        rows.append(row)
    return header, rows


def _figures(values: FloatArray, order: list[int], marked: Callable[[str], str]) -> list[str]:
    best = max((v for v in values.tolist() if not isnan(v)), default=None)
    several = len(values) > 1
    return [
        MISSING
        if isnan(values[k])
        else marked(f"{values[k]:.3f}")
        if several and values[k] == best
        else f"{values[k]:.3f}"
        for k in order
    ]


def _shown_intervals(found: Agreement) -> list[str]:
    low, high = found.average.low, found.average.high
    return [
        MISSING if isnan(low[k]) or isnan(high[k]) else f"{low[k]:.3f} – {high[k]:.3f}"
        for k in found.order
    ]


def _title(found: Agreement) -> str:
    protocol = found.protocol
    items = sum(column.items for column in found.columns)
    how = "" if protocol.average in {None, "pooled"} else f" averaged by {protocol.average}"
    of = "system" if protocol.level == "system" else "judgement"
    if str(protocol.statistic) in PREFERENCE_TAUS:
        of = "preference"
    counted = f"{items:,} {of}{'' if items == 1 else 's'}"
    return f"{printable(found.dataset)}: {protocol.statistic}{how}, {counted}"


def _legend(found: Agreement) -> Iterator[str]:
    protocol = found.protocol
    of = "" if len(found.columns) == 1 else " of the average"
    if len(found.metrics) > 1:
        yield f"{BEST} best of its column"
    if found.pooled is not None and len(found.columns) > 1:
        yield "average: the plain mean; pooled: over the pairs of systems of all columns together"
    if protocol.over != "none":
        what = "segments and systems" if protocol.over == "both" else protocol.over
        yield f"intervals{of}: bootstrap over {what}, {protocol.resamples:,} resamples"
    if found.average.ranks is not None:
        yield (
            f"ranks{of}: {_tested_by(protocol)}, Holm's correction, p ≤ {protocol.alpha:g}; "
            f"{_RULES[protocol.clusters]}"
        )
    if any(column.thresholds is not None for column in found.columns):
        yield from _thresholds(found)
    yield "|".join(filter(None, (str(protocol), found.selection)))


def _tested_by(protocol: Protocol) -> str:
    test = _TESTS[str(protocol.test)]
    return test if protocol.test == "williams" else f"{test}, {protocol.swap_count:,} swaps"


def _thresholds(found: Agreement) -> Iterator[str]:
    for k in found.order:
        at = ", ".join(
            f"{column.name} {column.thresholds[k]:.4g}"
            for column in found.columns
            if column.thresholds is not None and not isnan(column.thresholds[k])
        )
        yield f"{found.metrics[k].name}: scores tie up to a difference of {at}"


def _markdown(text: str) -> str:
    """A cell that neither ends early nor holds HTML."""
    return printable(text).replace("|", r"\|").replace("<", "&lt;")


def _latex_row(cells: list[str]) -> str:
    escaped = (printable_latex(cell) for cell in cells)
    return " & ".join(escaped) + r" \\" + "\n"


def printable_latex(text: str) -> str:
    r"""Text as LaTeX shows it; what lies between the marks of the best is bold.

    >>> print(printable_latex("a_b & 5%"))
    a\_b \& 5\%
    """
    bold = text.startswith("\x00")
    escaped = printable(text.strip("\x00\x01")).translate(_LATEX)
    return rf"\textbf{{{escaped}}}" if bold else escaped
