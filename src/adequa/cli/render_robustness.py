"""Robustness as text, JSON, TSV or Markdown: what each metric won, in all and by kind of damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from adequa.agreement.robustness import Example, Figure, Line, Robustness
from adequa.cli.output import aligned
from adequa.errors import printable

BEST = "*"
MISSING = "–"
_FIGURES = ("pairs", "won", "tied", "share", "low", "high")


def as_text(found: Robustness) -> Iterator[str]:
    """Aligned tables: by metric, by group, by severity and by kind; and what stands behind them."""
    yield f"{_title(found)}\n\n"
    for table, names in _tables(found, lambda figure: f"{BEST}{figure}"):
        right = range(names, len(table[0]))
        yield from aligned(lambda table=table: table, right=right)  # type: ignore[misc]  # the default pins the table
        yield "\n"
    for line in _legend(found):
        yield f"{printable(line)}\n"


def as_markdown(found: Robustness) -> Iterator[str]:
    """The same tables in Markdown, the best of each row in bold."""
    for place, (table, names) in enumerate(_tables(found, lambda figure: f"**{figure}**")):
        header, *rows = table
        if place:
            yield "\n"
        aligns = ["---"] * names + ["---:"] * (len(header) - names)
        for row in (header, aligns, *rows):
            cells = (printable(cell).replace("|", r"\|").replace("<", "&lt;") for cell in row)
            yield "| " + " | ".join(cells) + " |\n"


def as_tsv(found: Robustness) -> Iterator[str]:
    """One row a metric and line, with every count; a header on top."""
    yield "\t".join(["metric", "of", "name", "group", "critical", "held_out", *_FIGURES]) + "\n"
    for of, lines in _sections(found).items():
        for line in lines:
            for metric, figure in zip(found.metrics, line.figures, strict=True):
                kind = _kind(of, line)
                cells = [metric.name, of, line.name, *(str(kind[name]) for name in kind)]
                numbers = (repr(getattr(figure, name)) for name in _FIGURES)
                yield "\t".join([*map(printable, cells), *numbers]) + "\n"


def as_json(found: Robustness, shown: int = 0) -> Iterator[str]:
    """The stable JSON shape: every line with every figure, and so many examples a kind."""
    names = [metric.name for metric in found.metrics]
    content: dict[str, object] = {
        "dataset": found.dataset,
        "settings": asdict(found.settings) | {"confidence": found.confidence},
        "texts": found.texts,
        "metrics": [asdict(metric) for metric in found.metrics],
    }
    for of, lines in _sections(found).items():
        content[of] = [_json_line(of, line, names) for line in lines]
    if shown:
        content["examples"] = [
            asdict(example)
            | {
                "scores": dict(zip(names, example.scores, strict=True)),
                "won": dict(zip(names, example.won, strict=True)),
            }
            for example in _chosen(found, shown)
        ]
    content["notes"] = list(found.notes)
    yield json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_examples(found: Robustness, shown: int) -> Iterator[str]:
    """Texts beside their damaged selves, with the scores of both."""
    names = [metric.name for metric in found.metrics]
    for example in _chosen(found, shown):
        yield f"\n{example.kind}, severity {example.severity:g}: {_scores(example, names)}\n"
        texts = {
            "reference": example.reference,
            "text": example.text,
            "damaged": example.damaged,
        }
        for name, text in texts.items():
            yield f"  {name:<9}  {printable(text)}".rstrip() + "\n"


def _chosen(found: Robustness, shown: int) -> Iterator[Example]:
    for _, examples in groupby(found.examples, key=lambda example: example.kind):
        yield from list(examples)[:shown]


def _scores(example: Example, names: Sequence[str]) -> str:
    rows = zip(names, example.scores, example.won, strict=True)
    return printable(
        ", ".join(
            f"{name} {before:.4g} → {after:.4g}{'' if won else ' (missed)'}"
            for name, (before, after), won in rows
        )
    )


def _sections(found: Robustness) -> dict[str, tuple[Line, ...]]:
    return {
        "summary": found.summaries,
        "group": found.groups,
        "severity": found.severities,
        "kind": found.kinds,
    }


def _kind(of: str, line: Line) -> dict[str, object]:
    """What is the same of all kinds of a line; empty or false where they differ."""
    groups = {kind.group for kind in line.kinds}
    return {
        "group": groups.pop() if of in {"group", "kind"} else "",
        "critical": all(kind.critical for kind in line.kinds),
        "held_out": all(kind.held_out for kind in line.kinds),
    }


def _json_line(of: str, line: Line, names: Sequence[str]) -> dict[str, object]:
    return {
        "name": line.name,
        **_kind(of, line),
        "kinds": len(line.kinds),
        "figures": [
            {"metric": name, **asdict(figure)}
            for name, figure in zip(names, line.figures, strict=True)
        ],
    }


def _tables(
    found: Robustness, marked: Callable[[str], str]
) -> Iterator[tuple[list[list[str]], int]]:
    """The tables, each with the number of its first columns that are words."""
    yield _by_metric(found, marked), 1
    yield _by_line("group", found.groups, found, marked), 1
    if len(found.severities) > 1:
        yield _by_line("severity", found.severities, found, marked), 1
    table = _by_line("kind", found.kinds, found, marked)
    header, *rows = table
    header.insert(1, "group")
    for row, line in zip(rows, found.kinds, strict=True):
        (kind,) = line.kinds
        row.insert(1, f"{kind.group}, held out" if kind.held_out else kind.group)
    yield table, 2


def _by_metric(found: Robustness, marked: Callable[[str], str]) -> list[list[str]]:
    """One row a metric, with the lines over many kinds and their intervals."""
    header = ["metric"]
    columns: list[list[str]] = []
    for line in found.summaries:
        header += [line.name, _interval_name(found)]
        columns += [_shares(line, marked), [_interval(figure) for figure in line.figures]]
    header.append("tied")
    columns.append([f"{figure.tied:,}" for figure in found.pooled.figures])
    names = [metric.name for metric in found.metrics]
    return [header, *([name, *cells] for name, *cells in zip(names, *columns, strict=True))]


def _by_line(
    name: str, lines: Sequence[Line], found: Robustness, marked: Callable[[str], str]
) -> list[list[str]]:
    """One row a line; with one metric, also the interval and the ties."""
    alone = len(found.metrics) == 1
    header = [name, "pairs", *(metric.name for metric in found.metrics)]
    rows = [[line.name, f"{line.pairs:,}", *_shares(line, marked)] for line in lines]
    if alone:
        header += [_interval_name(found), "tied"]
        for row, line in zip(rows, lines, strict=True):
            row += [_interval(line.figures[0]), f"{line.figures[0].tied:,}"]
    return [header, *rows]


def _shares(line: Line, marked: Callable[[str], str]) -> list[str]:
    best = max(figure.share for figure in line.figures)
    return [
        marked(f"{100 * figure.share:.1f}")
        if len(line.figures) > 1 and figure.share == best
        else f"{100 * figure.share:.1f}"
        for figure in line.figures
    ]


def _interval(figure: Figure) -> str:
    return f"{100 * figure.low:.1f} {MISSING} {100 * figure.high:.1f}"


def _interval_name(found: Robustness) -> str:
    return f"{100 * found.confidence:g}% interval"


def _title(found: Robustness) -> str:
    counts = (
        _counted(found.texts, "text", "texts"),
        _counted(len(found.kinds), "kind of damage", "kinds of damage"),
        _counted(found.overall.pairs, "pair", "pairs"),
    )
    return f"{printable(found.dataset)}: {', '.join(counts)}"


def _counted(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def _legend(found: Robustness) -> Iterator[str]:
    yield "figures: how often in 100 a text scored above its damaged self; ties are missed"
    if len(found.metrics) > 1:
        yield f"{BEST} best of its kind, group or column"
    yield "the mean over kinds, but for all pairs, where each pair counts the same"
    if found.critical is not None:
        groups = dict.fromkeys(kind.group for kind in found.critical.kinds)
        yield f"critical: {', '.join(groups)}"
    if found.held_out is not None:
        yield "held out: kinds that are never trained on"
    yield str(found.settings)
    for metric in found.metrics:
        yield metric.signature
