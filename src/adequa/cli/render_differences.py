"""How often people agree with differences, as text, JSON, TSV or Markdown: one row a size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite

from adequa.agreement.differences import Bin, BySize
from adequa.agreement.noticed import Noticed
from adequa.cli.output import aligned
from adequa.errors import printable

MISSING = "–"
_FIGURES = ("pairs", "agreed", "share", "share_low", "share_high")


def as_text(found: Noticed) -> Iterator[str]:
    """Aligned tables: bins of differences, then thresholds; and what stands behind them."""
    of = "systems" if found.level == "system" else "outputs"
    names = " + ".join(map(printable, found.datasets))
    yield f"{names}: how often people agree with a difference, {found.pairs:,} pairs of {of}\n\n"
    for table, words in _tables(found):
        right = range(words, len(table[0]))
        yield from aligned(lambda table=table: table, right=right)  # type: ignore[misc]  # the default pins the table
        yield "\n"
    for line in _legend(found):
        yield f"{printable(line)}\n"


def as_markdown(found: Noticed) -> Iterator[str]:
    """The same tables in Markdown."""
    for place, (table, words) in enumerate(_tables(found)):
        header, *rows = table
        if place:
            yield "\n"
        aligns = ["---"] * words + ["---:"] * (len(header) - words)
        for row in (header, aligns, *rows):
            cells = (printable(cell).replace("|", r"\|").replace("<", "&lt;") for cell in row)
            yield "| " + " | ".join(cells) + " |\n"


def as_tsv(found: Noticed) -> Iterator[str]:
    """A row a metric and bin, one for all of them, and one a threshold; a header on top."""
    yield "\t".join(["metric", "of", "from", "to", *_FIGURES]) + "\n"
    for metric, table in zip(found.metrics, found.tables, strict=True):
        name = printable(metric.name)
        for of, each in (*(("bin", each) for each in table.bins), ("all", table.total)):
            numbers = (getattr(each, figure) for figure in _FIGURES)
            cells = [_exact(number) for number in (each.low, each.high, *numbers)]
            yield "\t".join([name, of, *cells]) + "\n"
        for threshold in table.thresholds:
            start = "" if threshold.difference is None else repr(threshold.difference)
            yield "\t".join([name, "at least", start, "", "", "", repr(threshold.share), "", ""])
            yield "\n"


def as_json(found: Noticed) -> Iterator[str]:
    """The stable JSON shape: for every metric its bins, all of them together, and thresholds."""
    content = {
        "datasets": list(found.datasets),
        "level": found.level,
        "settings": asdict(found.settings),
        "selection": found.selection,
        "pairs": found.pairs,
        "metrics": [
            {
                **asdict(metric),
                "tied": table.tied,
                "undecided": table.undecided,
                "bins": [_json_bin(each) for each in table.bins],
                "all": _json_bin(table.total),
                "thresholds": [asdict(threshold) for threshold in table.thresholds],
            }
            for metric, table in zip(found.metrics, found.tables, strict=True)
        ],
        "notes": list(found.notes),
    }
    yield json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _json_bin(each: Bin) -> dict[str, float | None]:
    figures = {"from": each.low, "to": each.high}
    figures |= {figure: getattr(each, figure) for figure in _FIGURES}
    return {name: value if isfinite(value) else None for name, value in figures.items()}


def _exact(number: float) -> str:
    return repr(number) if isfinite(number) else ""


def _tables(found: Noticed) -> Iterator[tuple[list[list[str]], int]]:
    """The tables, header first, and how many of their columns are words."""
    interval = f"{found.settings.confidence * 100:g}% interval"
    bins = [["metric", "difference", "pairs", "people agree", interval]]
    shares = [_percent(share, "g") for share in found.settings.shares]
    thresholds = [["metric", *(f"{share} from" for share in shares), "ties"]]
    for metric, table in zip(found.metrics, found.tables, strict=True):
        named = [*((_range(each), each) for each in table.bins), ("all", table.total)]
        bins += [[metric.name, name, *_cells(each)] for name, each in named]
        thresholds.append([metric.name, *_thresholds(table), f"{table.tied:,}"])
    yield bins, 2
    yield thresholds, 1


def _cells(each: Bin) -> list[str]:
    if not each.pairs:
        return ["0", MISSING, MISSING]
    low, high = (_percent(bound, ".1f") for bound in (each.share_low, each.share_high))
    return [f"{each.pairs:,}", _percent(each.share, ".1f"), f"{low} – {high}"]


def _thresholds(table: BySize) -> list[str]:
    return [
        MISSING if threshold.difference is None else f"{threshold.difference:.3g}"
        for threshold in table.thresholds
    ]


def _range(each: Bin) -> str:
    if isfinite(each.high):
        return f"{each.low:g} – {each.high:g}"
    return f"{each.low:g} or more"


def _percent(share: float, how: str) -> str:
    return f"{100 * share:{how}}%"


def _legend(found: Noticed) -> Iterator[str]:
    settings = found.settings
    yield "people agree: they preferred the side with the higher score; Wilson intervals"
    yield (
        "from: the smallest difference from which they agree so often, by isotonic regression; "
        f"{MISSING} where fewer than {settings.fewest} pairs reach it"
    )
    yield "ties: pairs with two equal scores, which are in no row above"
    kept = [f"level:{found.level}", f"confidence:{settings.confidence:g}"]
    if found.rated:
        kept.append(f"min_difference:{settings.min_difference:g}")
    yield "|".join(filter(None, (*kept, found.selection)))
    for metric in found.metrics:
        yield metric.signature
