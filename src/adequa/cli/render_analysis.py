"""An error analysis as text, JSON, TSV or Markdown, and analysed outputs on the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isnan

from adequa.agreement.error_analysis import Analysis, Part, Profile, Row
from adequa.agreement.surface import marked_parts
from adequa.agreement.top_share import VERDICTS, Verdict
from adequa.cli.output import aligned
from adequa.errors import printable

MISSING = "–"
_COUNTS = ("outputs", "low_overlap", "short", "unknown", "unknown_and_short")
_MEANS = ("mean_overlap", "mean_length")


def as_text(found: Analysis) -> Iterator[str]:
    """Aligned tables of what is found by whom and what it looks like, and the rules behind them."""
    yield f"{_title(found)}\n\n"
    yield from _text_table(_found_by(found))
    yield from _text_table(_looks(found))
    for line in _legend(found):
        yield f"{printable(line)}\n"


def as_markdown(found: Analysis) -> Iterator[str]:
    """The same two tables in Markdown."""
    yield from _markdown_table(_found_by(found))
    yield "\n"
    yield from _markdown_table(_looks(found))


def as_tsv(found: Analysis) -> Iterator[str]:
    """One row a language pair and verdict, with every count; a header on top."""
    yield "\t".join(["a", "b", "lp", "rated", "analysed", "verdict", *_COUNTS, *_MEANS]) + "\n"
    names = [metric.name for metric in found.metrics]
    for part in found.all_parts:
        for verdict, profile in part.profiles.items():
            cells = [*names, part.name, str(part.outputs), str(part.analysed), verdict.value]
            figures = (getattr(profile, name) for name in (*_COUNTS, *_MEANS))
            numbers = ("" if _number(figure) is None else repr(figure) for figure in figures)
            yield "\t".join([*map(printable, cells), *numbers]) + "\n"


def as_json(found: Analysis, listed: Sequence[Row] | None = None) -> Iterator[str]:
    """The stable JSON shape: settings, every count, and the listed outputs where some are."""
    shown: dict[str, object] = {
        "dataset": found.dataset,
        "settings": asdict(found.settings),
        "selection": found.selection,
        "metrics": [asdict(metric) for metric in found.metrics],
        "vocabularies": list(found.vocabularies),
        "low_overlap_below": found.bound,
        "p_value": found.p_value,
        "parts": [_json_part(part) for part in found.all_parts],
        "notes": list(found.notes),
    }
    if listed is not None:
        shown["rows"] = [json_row(row) for row in listed]
    yield json.dumps(shown, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def json_row(row: Row) -> dict[str, object]:
    """An analysed output as JSON; unknown words only where a vocabulary is at hand."""
    cells = asdict(row)
    if row.unknown is None:
        del cells["unknown"]
    return cells | {"verdict": row.verdict.value}


def verdict_name(found: Analysis, verdict: Verdict) -> str:
    """A verdict in words: "only-a" by the name of the metric."""
    first, second = (metric.name for metric in found.metrics)
    alone = {Verdict.only_a: f"only {first}", Verdict.only_b: f"only {second}"}
    return alone.get(verdict, verdict.value)


def listed_rows(found: Analysis, verdict: Verdict, limit: int | None = None) -> list[Row]:
    """Outputs of a verdict, those first that one of the metrics puts lowest."""
    rows = [row for row in found.rows if row.verdict is verdict]
    return sorted(rows, key=lambda row: min(row.percentiles))[:limit]


def as_listing(found: Analysis, verdicts: Sequence[Verdict], limit: int) -> Iterator[str]:
    """The outputs themselves, with scores, percentiles and texts."""
    for verdict in verdicts:
        rows = listed_rows(found, verdict)
        counted = f"{len(rows):,} output{'' if len(rows) == 1 else 's'}"
        more = f", {limit:,} shown (--limit)" if len(rows) > limit else ""
        yield "\n" + printable(f"{verdict_name(found, verdict)}: {counted}{more}") + "\n"
        for row in rows[:limit]:
            yield "\n"
            yield from _listed(row, [metric.name for metric in found.metrics])


def _listed(row: Row, names: Sequence[str]) -> Iterator[str]:
    where = " ".join(filter(None, (row.lp, row.system, row.segment or f"row {row.row}")))
    figures = [("human", row.human, row.human_percentile)]
    figures += zip(names, row.scores, row.percentiles, strict=True)
    scores = ", ".join(f"{name} {score:.4g} ({place:.0f}%)" for name, score, place in figures)
    words = f"{row.length:,} word{'' if row.length == 1 else 's'}"
    yield printable(f"{where}: {scores}; overlap {row.overlap:.2f}, {words}") + "\n"
    texts = {
        "output": "".join(
            f"[{piece}]" if unknown else piece
            for piece, unknown in marked_parts(row.hypothesis, row.unknown or ())
        ),
        "reference": row.reference,
        "source": row.source,
        "unknown": " ".join(row.unknown or ()),
    }
    for name, text in texts.items():
        if text:
            yield f"  {name:<9}  {printable(text)}\n"


def _title(found: Analysis) -> str:
    total = found.total
    return (
        f"{printable(found.dataset)}: the {found.settings.top * 100:g}% that people rate highest, "
        f"{total.analysed:,} of {total.outputs:,} outputs"
    )


def _found_by(found: Analysis) -> list[list[str]]:
    """How many of the analysed outputs each metric finds, by language pair."""
    header = ["lp", "analysed", *(verdict_name(found, verdict) for verdict in VERDICTS)]
    rows = [
        [
            part.name,
            f"{part.analysed:,}",
            *(f"{profile.outputs:,}" for profile in part.profiles.values()),
        ]
        for part in found.all_parts
    ]
    return [header, *rows]


def _looks(found: Analysis) -> list[list[str]]:
    """What the outputs of each verdict look like."""
    counted = [name for name in _COUNTS if found.vocabularies or "unknown" not in name]
    header = ["found by", *(name.replace("_", " ") for name in (*counted, *_MEANS))]
    return [header, *(_looks_row(found, verdict, counted) for verdict in VERDICTS)]


def _looks_row(found: Analysis, verdict: Verdict, counted: Sequence[str]) -> list[str]:
    profile: Profile = found.total.profiles[verdict]
    counts = [f"{getattr(profile, name):,}" for name in counted]
    means = [
        MISSING if isnan(value) else shown
        for value, shown in (
            (profile.mean_overlap, f"{profile.mean_overlap:.3f}"),
            (profile.mean_length, f"{profile.mean_length:.1f}"),
        )
    ]
    return [verdict_name(found, verdict), *counts, *means]


def _legend(found: Analysis) -> Iterator[str]:
    settings, (first, second) = found.settings, found.metrics
    median = "the median of what is analysed" if settings.overlap is None else "as asked for"
    yield f"only {first.name} against only {second.name}: McNemar's exact p = {found.p_value:.3g}"
    yield "found by a metric: within its own top of the language pair, as large as that of people"
    yield f"low overlap: F1 of words with the reference below {found.bound:.3f}, {median}"
    yield f"short: {settings.short} words or fewer, punctuation included"
    if found.vocabularies:
        yield f"unknown: with words that are not known to {' or '.join(found.vocabularies)}"
    bound = "median" if settings.overlap is None else f"{settings.overlap:g}"
    signed = f"top:{settings.top:g}|overlap:{bound}|short:{settings.short}"
    yield "|".join(filter(None, (signed, found.selection)))
    yield first.signature
    yield second.signature


def _text_table(table: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from aligned(lambda: table, right=range(1, len(table[0])))
    yield "\n"


def _markdown_table(table: Sequence[Sequence[str]]) -> Iterator[str]:
    header, *rows = table
    for row in (header, ["---", *["---:"] * (len(header) - 1)], *rows):
        cells = (printable(cell).replace("|", r"\|").replace("<", "&lt;") for cell in row)
        yield "| " + " | ".join(cells) + " |\n"


def _json_part(part: Part) -> dict[str, object]:
    return {
        "name": part.name,
        "rated": part.outputs,
        "analysed": part.analysed,
        "top_of_metrics": list(part.high),
        "found": [part.found(0), part.found(1)],
        "verdicts": {
            verdict.value: {name: _number(figure) for name, figure in asdict(profile).items()}
            for verdict, profile in part.profiles.items()
        },
    }


def _number(value: float | None) -> float | None:
    return None if value is None or isnan(value) else value
