"""Results of an error analysis: tables, a listing of outputs, and a page to browse them.

The page is one HTML file that needs nothing else: it sorts, filters and runs offline. Every text is
escaped, and the page allows no script or style but its own, by their digests.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adequa.agreement.results import MetricInfo
from adequa.errors import AdequaError, printable
from adequa.tables import Cell, Column, Format, Result, Table, html_text, plain

if TYPE_CHECKING:
    from adequa.agreement.error_analysis import AnalysisSettings

ALL = "all"  # language pairs together
_COUNTS = ("outputs", "low_overlap", "short", "unknown", "unknown_and_short")
_MEANS = ("mean_overlap", "mean_length")


class AnalysisVerdict(str, Enum):
    """Which of two metrics, A and B, rank a good output high."""

    both = "both"
    only_a = "only-a"
    only_b = "only-b"
    neither = "neither"


VERDICTS = tuple(AnalysisVerdict)


@dataclass(frozen=True, slots=True)
class Profile:
    """Outputs of one verdict, and counts of their properties."""

    outputs: int
    low_overlap: int
    short: int
    unknown: int | None  # with unknown words; None without a vocabulary
    unknown_and_short: int | None
    mean_overlap: float  # NaN for no outputs
    mean_length: float


@dataclass(frozen=True, slots=True)
class AnalysisPart:
    """A language pair, or all of them: how many outputs were analysed, and their profiles."""

    name: str
    outputs: int  # that people have rated
    analysed: int  # of these, the top by human score
    high: tuple[int, int]  # outputs that each metric ranks in its own top
    profiles: Mapping[AnalysisVerdict, Profile]

    def hits(self, metric: int) -> int:
        """Analysed outputs that metric 0 or 1, A or B, finds."""
        alone = (AnalysisVerdict.only_a, AnalysisVerdict.only_b)[metric]
        return self.profiles[AnalysisVerdict.both].outputs + self.profiles[alone].outputs

    def to_dict(self) -> dict[str, Any]:
        """All counts; None for means of nothing."""
        return {
            "name": self.name,
            "rated": self.outputs,
            "analysed": self.analysed,
            "top_of_metrics": list(self.high),
            "found": [self.hits(0), self.hits(1)],
            "verdicts": plain(self.profiles),
        }


@dataclass(frozen=True, slots=True)
class AnalysedOutput:
    """One analysed output; percentiles are of its language pair."""

    row: int  # of the file of ratings, counted from 1
    lp: str
    system: str  # empty where it is not in the ratings, and so is the segment
    segment: str
    verdict: AnalysisVerdict
    human: float
    scores: tuple[float, float]  # in the metrics' own direction
    human_percentile: float
    percentiles: tuple[float, float]  # of the metrics, 100 being best
    overlap: float
    length: int
    unknown: tuple[str, ...] | None
    hypothesis: str
    reference: str  # of several, the nearest
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Every field; unknown words only with a vocabulary."""
        content: dict[str, Any] = plain(self)
        if self.unknown is None:
            del content["unknown"]
        return content

    def lines(self, names: Sequence[str]) -> Iterator[str]:
        """Scores, percentiles and texts for a terminal."""
        where = " ".join(filter(None, (self.lp, self.system, self.segment or f"row {self.row}")))
        figures = [("human", self.human, self.human_percentile)]
        figures += zip(names, self.scores, self.percentiles, strict=True)
        scores = ", ".join(f"{name} {score:.4g} ({rank:.0f}%)" for name, score, rank in figures)
        words = f"{self.length:,} word{'' if self.length == 1 else 's'}"
        yield printable(f"{where}: {scores}; overlap {self.overlap:.2f}, {words}") + "\n"
        parts = marked_parts(self.hypothesis, self.unknown or ())
        texts = {
            "output": "".join(f"[{piece}]" if unknown else piece for piece, unknown in parts),
            "reference": self.reference,
            "source": self.source,
            "unknown": " ".join(self.unknown or ()),
        }
        for name, text in texts.items():
            if text:
                yield f"  {name:<9}  {printable(text)}\n"


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Result):
    """Counts by language pair and in all, the analysed outputs, and notes."""

    dataset: str
    settings: AnalysisSettings
    selection: str  # what was chosen from the ratings; empty for all of them
    metrics: tuple[MetricInfo, ...]  # two
    vocabularies: tuple[str, ...]  # encoders that have a list of words
    bound: float  # overlaps below it are low
    parts: tuple[AnalysisPart, ...]
    total: AnalysisPart  # the only part where there is one
    p_value: float  # of McNemar's exact test of the one-sided finds, all parts together
    rows: tuple[AnalysedOutput, ...]  # by language pair, the highest human score first
    notes: tuple[str, ...] = ()
    listed: tuple[AnalysisVerdict, ...] = ()  # whose outputs text and JSON contain
    limit: int = 10  # outputs of each of these

    @property
    def all_parts(self) -> tuple[AnalysisPart, ...]:
        """Language pairs, and all together where there are more than one."""
        return self.parts if len(self.parts) == 1 else (*self.parts, self.total)

    def with_listing(self, verdicts: Sequence[AnalysisVerdict], limit: int = 10) -> Analysis:
        """The same result, whose text and JSON contain outputs of these verdicts."""
        return replace(self, listed=tuple(verdicts), limit=limit)

    def verdict_name(self, verdict: AnalysisVerdict) -> str:
        """A verdict for readers: "only-a" by the name of the metric."""
        first, second = (metric.name for metric in self.metrics)
        alone = {
            AnalysisVerdict.only_a: f"only {first}",
            AnalysisVerdict.only_b: f"only {second}",
        }
        return alone.get(verdict, verdict.value)

    def outputs_of(self, verdict: AnalysisVerdict) -> list[AnalysedOutput]:
        """Outputs of a verdict, those first that one of the metrics ranks lowest."""
        rows = [row for row in self.rows if row.verdict is verdict]
        return sorted(rows, key=lambda row: min(row.percentiles))

    def tables(self) -> tuple[Table, ...]:
        """How many outputs each metric finds, and the properties of these outputs."""
        return self._counts_table(), self._properties_table()

    def long_table(self) -> Table:
        """One row per language pair and verdict, with every count."""
        columns = (
            *map(Column, ("a", "b", "lp")),
            *(Column(name, "integer") for name in ("rated", "analysed")),
            Column("verdict"),
            *(Column(name, "integer") for name in _COUNTS),
            *(Column(name, "number") for name in _MEANS),
        )
        names = [metric.name for metric in self.metrics]
        rows: list[list[Cell]] = []
        for part in self.all_parts:
            for verdict, profile in part.profiles.items():
                figures = (getattr(profile, name) for name in (*_COUNTS, *_MEANS))
                counts = (part.outputs, part.analysed)
                rows.append([*names, part.name, *counts, verdict.value, *figures])
        return Table(columns, rows)

    def to_dict(self) -> dict[str, Any]:
        """Settings, every count, and the outputs of `with_listing`."""
        content: dict[str, Any] = {
            "dataset": self.dataset,
            "settings": plain(self.settings),
            "selection": self.selection,
            "metrics": plain(self.metrics),
            "vocabularies": list(self.vocabularies),
            "low_overlap_below": self.bound,
            "p_value": self.p_value,
            "parts": [part.to_dict() for part in self.all_parts],
            "notes": list(self.notes),
        }
        if self.listed:
            content["rows"] = [
                row.to_dict()
                for verdict in self.listed
                for row in self.outputs_of(verdict)[: self.limit]
            ]
        return content

    def lines(self, format_: Format) -> Iterator[str]:
        """The result in a text format; plain text ends with the listed outputs."""
        yield from super().lines(format_)
        for verdict in self.listed if format_ is Format.text else ():
            rows = self.outputs_of(verdict)
            counted = f"{len(rows):,} output{'' if len(rows) == 1 else 's'}"
            more = f", {self.limit:,} shown (--limit)" if len(rows) > self.limit else ""
            yield "\n" + printable(f"{self.verdict_name(verdict)}: {counted}{more}") + "\n"
            for row in rows[: self.limit]:
                yield "\n"
                yield from row.lines([metric.name for metric in self.metrics])

    def listing_table(self) -> Table:
        """One row an analysed output, with scores, percentiles and texts."""
        names = [metric.name for metric in self.metrics]
        unknown = [Column("unknown")] if self.vocabularies else []
        numbers = (
            "human",
            *(f"score {name}" for name in names),
            "percentile human",
            *(f"percentile {name}" for name in names),
            "overlap",
        )
        columns = (
            Column("row", "integer"),
            *map(Column, ("lp", "system", "segment", "verdict")),
            *(Column(name, "number") for name in numbers),
            Column("words", "integer"),
            *unknown,
            *map(Column, ("mt", "ref", "src")),
        )
        rows: list[list[Cell]] = []
        for row in self.rows:
            ids: list[Cell] = [row.row, row.lp, row.system, row.segment, row.verdict.value]
            scores = (row.human, *row.scores, row.human_percentile, *row.percentiles, row.overlap)
            words = [" ".join(row.unknown or ())] if unknown else []
            texts = (row.hypothesis, row.reference, row.source)
            rows.append([*ids, *scores, row.length, *words, *texts])
        return Table(columns, rows)

    def listing_lines(self, path: str | Path) -> Iterator[str]:
        """All analysed outputs as TSV, JSONL or a page, by the ending of a file."""
        check_listing(path)
        ending = Path(path).suffix.lower()
        if ending == ".tsv":
            yield self.listing_table().to_tsv()
        elif ending == ".html":
            yield from page_lines(self)
        else:
            names = [metric.name for metric in self.metrics]
            for row in self.rows:
                by_name = {
                    "scores": dict(zip(names, row.scores, strict=True)),
                    "percentiles": dict(zip(names, row.percentiles, strict=True)),
                }
                content = row.to_dict() | by_name
                yield json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"

    def _counts_table(self) -> Table:
        columns = (
            Column("lp"),
            Column("analysed", "integer"),
            *(Column(self.verdict_name(verdict), "integer") for verdict in VERDICTS),
        )
        rows: list[list[Cell]] = [
            [part.name, part.analysed, *(each.outputs for each in part.profiles.values())]
            for part in self.all_parts
        ]
        title = (
            f"{self.dataset}: the {self.settings.top * 100:g}% that people rate highest, "
            f"{self.total.analysed:,} of {self.total.outputs:,} outputs"
        )
        return Table(columns, rows, title)

    def _properties_table(self) -> Table:
        counts = [name for name in _COUNTS if self.vocabularies or "unknown" not in name]
        columns = (
            Column("found by"),
            *(Column(name.replace("_", " "), "integer") for name in counts),
            Column("mean overlap", "number", 3),
            Column("mean length", "number", 1),
        )
        rows = []
        for verdict in VERDICTS:
            profile = self.total.profiles[verdict]
            figures = [getattr(profile, name) for name in (*counts, *_MEANS)]
            rows.append([self.verdict_name(verdict), *figures])
        return Table(columns, rows, notes=tuple(self._legend()))

    def _legend(self) -> Iterator[str]:
        settings, (first, second) = self.settings, self.metrics
        median = "the median of what is analysed" if settings.overlap is None else "as asked for"
        test = f"McNemar's exact p = {self.p_value:.3g}"
        yield f"only {first.name} against only {second.name}: {test}"
        yield (
            "found by a metric: within its own top of the language pair, as large as that of people"
        )
        yield f"low overlap: F1 of words with the reference below {self.bound:.3f}, {median}"
        yield f"short: {settings.short} words or fewer, punctuation included"
        if self.vocabularies:
            yield f"unknown: with words that are not known to {' or '.join(self.vocabularies)}"
        bound = "median" if settings.overlap is None else f"{settings.overlap:g}"
        signed = f"top:{settings.top:g}|overlap:{bound}|short:{settings.short}"
        yield "|".join(filter(None, (signed, self.selection)))
        yield first.signature
        yield second.signature


def check_listing(path: str | Path) -> None:
    """Raise unless the ending of the file is one that a listing can be written in."""
    if Path(path).suffix.lower() not in {".tsv", ".jsonl", ".html"}:
        raise AdequaError(
            f"{path} should end in .tsv, .jsonl or .html, which says how the outputs are written."
        )


def page_lines(analysis: Analysis) -> Iterator[str]:
    """The page, piece by piece."""
    title = html_text(
        f"{analysis.dataset}: {' and '.join(metric.name for metric in analysis.metrics)}"
    )
    total = analysis.total
    assets = resources.files("adequa.agreement") / "assets"
    style, script = ((assets / name).read_text("utf-8") for name in ("listing.css", "listing.js"))
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    yield (
        f"<p>The {analysis.settings.top * 100:g}% that people rate highest: {total.analysed:,} of "
        f"{total.outputs:,} outputs. Percentiles of the language pair are in brackets.\n"
    )
    yield from (
        f"<br><small>{html_text(metric.signature)}</small>\n" for metric in analysis.metrics
    )
    yield from ("</p>\n", *_controls(analysis), "<table>\n<thead><tr>")
    for name in _labels(analysis):
        yield f'<th scope="col"><button type="button">{html_text(name)}</button></th>'
    yield '<th scope="col">texts</th></tr></thead>\n<tbody>\n'
    yield from (_row(analysis, row) for row in analysis.rows)
    yield f"</tbody>\n</table>\n<script>{script}</script>\n</body>\n</html>\n"


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _labels(analysis: Analysis) -> list[str]:
    metrics = (metric.name for metric in analysis.metrics)
    return ["found by", "lp", "system", "segment", "human", *metrics, "overlap", "words"]


def _controls(analysis: Analysis) -> Iterator[str]:
    """Filters, hidden until the script that they need runs."""
    verdicts = {verdict.value: analysis.verdict_name(verdict) for verdict in VERDICTS}
    pairs = {part.name: part.name for part in analysis.parts}
    yield "<form hidden>\n"
    for name, label, choices in (("verdict", "found by", verdicts), ("pair", "lp", pairs)):
        yield f'<label>{label} <select name="{name}"><option value="">all</option>'
        for value, label_text in choices.items():
            yield f'<option value="{html_text(value)}">{html_text(label_text)}</option>'
        yield "</select></label>\n"
    yield '<label>text <input type="search" name="text"></label>\n<output></output>\n</form>\n'


def _row(analysis: Analysis, row: AnalysedOutput) -> str:
    segment = row.segment or f"row {row.row}"
    values = [analysis.verdict_name(row.verdict), row.lp, row.system, segment]
    cells = list(values)
    numbers = (row.human, *row.scores)
    for number, percentile in zip(numbers, (row.human_percentile, *row.percentiles), strict=True):
        values.append(repr(percentile))  # higher is better, whatever the direction of the metric
        cells.append(f"{number:.4g} ({percentile:.0f}%)")
    values += [repr(row.overlap), repr(row.length)]
    cells += [f"{row.overlap:.2f}", f"{row.length:,}"]
    content = "".join(
        f'<td data-label="{label}" data-value="{value}">{text}</td>'
        for label, value, text in zip(
            *(map(html_text, each) for each in (_labels(analysis), values, cells)), strict=True
        )
    )
    opening = f'<tr data-verdict="{row.verdict.value}" data-pair="{html_text(row.lp)}">'
    return f"{opening}{content}<td>{_texts(row)}</td></tr>\n"


def _texts(row: AnalysedOutput) -> str:
    output = "".join(
        f"<mark>{html_text(piece)}</mark>" if unknown else html_text(piece)
        for piece, unknown in marked_parts(row.hypothesis, row.unknown or ())
    )
    texts = {
        "output": output,
        "reference": html_text(row.reference),
        "source": html_text(row.source),
    }
    texts["unknown"] = html_text(" ".join(row.unknown or ()))
    return "".join(
        f'<p dir="auto"><small>{name}</small> {text}</p>' for name, text in texts.items() if text
    )


def marked_parts(text: str, words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """A text in pieces, each with whether it is one of the words, in whatever case.

    >>> list(marked_parts("A flat in Brno, flatly", ["brno", "flat"]))
    [('A ', False), ('flat', True), (' in ', False), ('Brno', True), (', flatly', False)]
    """
    marked = sorted(filter(None, set(words)), key=lambda word: (-len(word), word))
    if not marked:
        yield text, False
        return
    either = "|".join(map(re.escape, marked))  # the longest first: "flat-out" is not a "flat"
    # A word that begins or ends in a sign, such as "@-@", may stand next to anything.
    pieces = re.split(rf"((?<!\w)(?=\w)(?:{either})(?!\w)|(?!\w)(?:{either}))", text, flags=re.I)
    for index, piece in enumerate(pieces):
        if piece:
            yield piece, bool(index % 2)
