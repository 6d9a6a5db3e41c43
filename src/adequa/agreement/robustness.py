"""Robustness of metrics: how often does one score a translation above its damaged version?

A metric wins a pair where it scores the undamaged text higher; a tie is missed, and counted apart.
Win rates over several kinds of damage are the plain mean over the kinds, so that each counts the
same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from adequa.agreement.damaged_pairs import DamagedPairs, DamageSettings, damaged_pairs, good_texts
from adequa.agreement.evaluate import metric_infos
from adequa.agreement.protocol import Protocol, settings_or_default
from adequa.agreement.results import MetricInfo
from adequa.agreement.selection import Selection, selected
from adequa.agreement.sources import (
    Source,
    Specifications,
    Texts,
    scoring_notes,
    sources,
    text_statistics,
)
from adequa.damage.base import Perturbation
from adequa.datasets.load import JudgementData, load_dataset
from adequa.errors import AdequaError, printable
from adequa.judgements import all_rows, identified
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, Frame, IntArray, Segments, as_segments, concatenate
from adequa.statistics.significance import mean_share_interval
from adequa.tables import BEST, Cell, Column, Format, Result, Table, plain
from adequa.tables import interval as interval_text

BoolArray: TypeAlias = npt.NDArray[np.bool_]

# Scores that differ by less than this fraction of the range of all scores tie: what a batch or a
# processor does to the last digits is no judgement.
TIED = 1e-5
_FIGURES = ("pairs", "won", "tied", "share", "low", "high")


@dataclass(frozen=True, slots=True)
class WinRate:
    """How often a metric scored the text above its damaged version."""

    pairs: int
    won: int
    tied: int
    share: float  # the mean over kinds; of one kind, or of all pairs alike, won / pairs
    low: float
    high: float

    @property
    def interval(self) -> str:
        """The interval in percent, for readers."""
        return interval_text(100 * self.low, 100 * self.high, 1)


@dataclass(frozen=True, slots=True)
class WinRates:
    """A kind of damage, or several together, with the win rate of each metric."""

    name: str
    kinds: tuple[Perturbation, ...]
    figures: tuple[WinRate, ...]

    @property
    def pairs(self) -> int:
        """Pairs of a text and its damaged version."""
        return self.figures[0].pairs

    def to_dict(self, section: str, metrics: Sequence[MetricInfo]) -> dict[str, Any]:
        """What all kinds have in common (empty or false where they differ), and all figures."""
        groups = {kind.group for kind in self.kinds}
        return {
            "name": self.name,
            "group": groups.pop() if section in {"group", "kind"} else "",
            "critical": all(kind.critical for kind in self.kinds),
            "held_out": all(kind.is_test_only for kind in self.kinds),
            "kinds": len(self.kinds),
            "figures": [
                {"metric": metric.name, **plain(figure)}
                for metric, figure in zip(metrics, self.figures, strict=True)
            ],
        }


@dataclass(frozen=True, slots=True)
class DamageExample:
    """A text and its damaged version, with every metric's scores of both."""

    kind: str
    severity: float
    reference: str
    text: str
    damaged: str
    scores: tuple[tuple[float, float], ...]  # of each metric, in its own direction: text, damaged
    won: tuple[bool, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Robustness(Result):
    """Win rates of metrics: in all, by group, by severity and by kind."""

    dataset: str
    settings: DamageSettings
    confidence: float
    texts: int  # that could be damaged
    metrics: tuple[MetricInfo, ...]
    overall: WinRates
    critical: WinRates | None  # kinds that a metric must not miss; None without such kinds
    held_out: WinRates | None  # kinds that are never trained on
    pooled: WinRates  # all pairs alike
    groups: tuple[WinRates, ...]
    severities: tuple[WinRates, ...]  # of the kinds whose damage may be milder or graver
    kinds: tuple[WinRates, ...]
    examples: tuple[DamageExample, ...]  # all pairs, by kind, missed ones first
    notes: tuple[str, ...] = ()
    examples_per_kind: int = 0  # that text and JSON contain

    @property
    def summaries(self) -> tuple[WinRates, ...]:
        """Win rates over many kinds."""
        rates = (self.overall, self.critical, self.held_out, self.pooled)
        return tuple(each for each in rates if each is not None)

    @property
    def sections(self) -> dict[str, tuple[WinRates, ...]]:
        """All win rates, as the long table and JSON group them."""
        return {
            "summary": self.summaries,
            "group": self.groups,
            "severity": self.severities,
            "kind": self.kinds,
        }

    def with_examples(self, per_kind: int) -> Robustness:
        """The same result, whose text and JSON contain so many examples of each kind."""
        return replace(self, examples_per_kind=per_kind)

    def tables(self) -> tuple[Table, ...]:
        """By metric, by group, by severity and by kind."""
        graded = [("severity", self.severities)] if len(self.severities) > 1 else []
        first = self._by_metric()
        others = [
            self._by_kind(name, rates)
            for name, rates in (("group", self.groups), *graded, ("kind", self.kinds))
        ]
        return (first, *others[:-1], replace(others[-1], notes=tuple(self._legend())))

    def long_table(self) -> Table:
        """One row per metric and kind of damage, with every count."""
        columns = (
            *map(Column, ("metric", "of", "name", "group")),
            Column("critical", "boolean"),
            Column("held_out", "boolean"),
            *(Column(name, "number") for name in _FIGURES),
        )
        rows: list[list[Cell]] = []
        for section, rates in self.sections.items():
            for each in rates:
                name, *attributes, _, figures = each.to_dict(section, self.metrics).values()
                for metric, *numbers in map(dict.values, figures):
                    rows.append([metric, section, name, *attributes, *numbers])
        return Table(columns, rows)

    def to_dict(self) -> dict[str, Any]:
        """Every win rate, and the examples of `with_examples`."""
        names = [metric.name for metric in self.metrics]
        content: dict[str, Any] = {
            "dataset": self.dataset,
            "settings": plain(self.settings) | {"confidence": self.confidence},
            "texts": self.texts,
            "metrics": plain(self.metrics),
        }
        for section, rates in self.sections.items():
            content[section] = [each.to_dict(section, self.metrics) for each in rates]
        if self.examples_per_kind:
            content["examples"] = [
                plain(example)
                | {
                    "scores": dict(zip(names, plain(example.scores), strict=True)),
                    "won": dict(zip(names, example.won, strict=True)),
                }
                for example in self._first_examples()
            ]
        return content | {"notes": list(self.notes)}

    def lines(self, format_: Format) -> Iterator[str]:
        """The result in a text format; plain text ends with the examples."""
        yield from super().lines(format_)
        if format_ is Format.text:
            for example in self._first_examples():
                yield from self._example_lines(example)

    def _first_examples(self) -> Iterator[DamageExample]:
        for _, examples in groupby(self.examples, key=lambda example: example.kind):
            yield from list(examples)[: self.examples_per_kind]

    def _example_lines(self, example: DamageExample) -> Iterator[str]:
        scores = ", ".join(
            f"{metric.name} {before:.4g} → {after:.4g}{'' if won else ' (missed)'}"
            for metric, (before, after), won in zip(
                self.metrics, example.scores, example.won, strict=True
            )
        )
        heading = f"{example.kind}, severity {example.severity:g}: {scores}"
        yield f"\n{printable(heading)}\n"
        for name in ("reference", "text", "damaged"):
            yield f"  {name:<9}  {printable(getattr(example, name))}".rstrip() + "\n"

    def _by_metric(self) -> Table:
        """One row per metric, with the win rates over many kinds and their intervals."""
        columns = [Column("metric")]
        cells: list[list[Cell]] = [[metric.name for metric in self.metrics]]
        for each in self.summaries:
            columns += [_win_rate_column(each.name), Column(self._interval_name, align="right")]
            cells.append([100 * figure.share for figure in each.figures])
            cells.append([figure.interval for figure in each.figures])
        columns.append(Column("tied", "integer"))
        cells.append([figure.tied for figure in self.pooled.figures])
        counts = (
            _counted(self.texts, "text", "texts"),
            _counted(len(self.kinds), "kind of damage", "kinds of damage"),
            _counted(self.overall.pairs, "pair", "pairs"),
        )
        title = f"{self.dataset}: {', '.join(counts)}"
        return Table(tuple(columns), list(zip(*cells, strict=True)), title)

    def _by_kind(self, section: str, rates: Sequence[WinRates]) -> Table:
        """One row per kind, group or severity; with one metric, also the interval and the ties."""
        columns = [Column(section), *([Column("group")] if section == "kind" else [])]
        columns.append(Column("pairs", "integer"))
        columns += [_win_rate_column(metric.name) for metric in self.metrics]
        alone = len(self.metrics) == 1
        if alone:
            columns += [Column(self._interval_name, align="right"), Column("tied", "integer")]
        rows: list[list[Cell]] = []
        for each in rates:
            row: list[Cell] = [each.name]
            if section == "kind":
                (kind,) = each.kinds
                row.append(f"{kind.group}, held out" if kind.is_test_only else kind.group)
            row += [each.pairs, *(100 * figure.share for figure in each.figures)]
            if alone:
                row += [each.figures[0].interval, each.figures[0].tied]
            rows.append(row)
        return Table(tuple(columns), rows, best_of="row")

    @property
    def _interval_name(self) -> str:
        return f"{100 * self.confidence:g}% interval"

    def _legend(self) -> Iterator[str]:
        yield "figures: percentage of texts that score above their damaged version; ties are missed"
        if len(self.metrics) > 1:
            yield f"{BEST} best of its kind, group or column"
        yield "figures are means over kinds; 'all pairs' weights every pair equally"
        if self.critical is not None:
            groups = dict.fromkeys(kind.group for kind in self.critical.kinds)
            yield f"critical: {', '.join(groups)}"
        if self.held_out is not None:
            yield "held out: kinds that are never trained on"
        yield str(self.settings)
        for metric in self.metrics:
            yield metric.signature


def _win_rate_column(name: str) -> Column:
    return Column(name, "number", 1, "higher")


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


@dataclass(frozen=True, slots=True, eq=False)
class _Outcomes:
    """The outcomes of all pairs; `won` and `tied` are of shape (metrics, pairs)."""

    kinds: tuple[Perturbation, ...]
    codes: IntArray  # of each pair, its kind
    severities: FloatArray
    won: BoolArray
    tied: BoolArray
    confidence: float

    def rates(self, name: str, chosen: BoolArray, *, pooled: bool = False) -> WinRates:
        """Win rates over the chosen pairs, at least one."""
        present = np.unique(self.codes[chosen])
        # All pairs alike are counted as if they were of one kind.
        codes = np.searchsorted(present, self.codes[chosen]) * (not pooled)
        rows = zip(self.won[:, chosen], self.tied[:, chosen], strict=True)
        figures = tuple(_win_rate(codes, won, tied, self.confidence) for won, tied in rows)
        return WinRates(name, tuple(self.kinds[code] for code in present), figures)

    def of_kinds(self, name: str, chosen: Sequence[bool]) -> WinRates | None:
        """Win rates over the pairs of the chosen kinds; None without such kinds."""
        return self.rates(name, np.array(chosen)[self.codes]) if any(chosen) else None

    def by_group(self) -> tuple[WinRates, ...]:
        """Win rates for each group of kinds."""
        groups = np.array([kind.group for kind in self.kinds])[self.codes]
        names = dict.fromkeys(kind.group for kind in self.kinds)
        return tuple(self.rates(name, groups == name) for name in names)

    def by_severity(self) -> tuple[WinRates, ...]:
        """Win rates for each severity, of the kinds for which it means something."""
        graded = np.array([bool(kind.severity_meaning) for kind in self.kinds])[self.codes]
        severities = np.unique(self.severities[graded]).tolist()
        return tuple(
            self.rates(f"{severity:g}", graded & (self.severities == severity))
            for severity in severities
        )

    def by_kind(self) -> tuple[WinRates, ...]:
        """Win rates for each kind."""
        return tuple(
            self.rates(kind.name, self.codes == code) for code, kind in enumerate(self.kinds)
        )


def robustness(
    data: Segments | JudgementData | Sequence[Sequence[str]],
    metrics: Specifications,
    settings: DamageSettings | None = None,
    *,
    selection: Selection | None = None,
    confidence: float = 0.95,
    dataset: str = "",
    progress: Progress = NO_PROGRESS,
) -> Robustness:
    """Measure how often metrics score good translations above their damaged versions.

    `data` are translations with references (segments, a data frame with the columns mt and ref, or
    a pair of lists), or judgements as `evaluate` takes them, whose better translations are damaged.
    `metrics` are metrics with their settings, as on the command line, or objects. Translations that
    equal a reference are left out: damage to a perfect text is too easy to see. `dataset` is
    the name in the title, by default that of the judgements.

    >>> texts = Segments(("It cost 300 euros.",), (("It has cost 300 euros.",),))
    >>> result = robustness(texts, "chrf", DamageSettings(kinds=("empty", "number_changed")))
    >>> result.overall.figures[0].won, result.overall.pairs
    (2, 2)
    """
    settings = settings_or_default(DamageSettings, settings, "settings")
    selection = settings_or_default(Selection, selection, "selection")
    if not 0 < confidence < 1:
        raise AdequaError(f"The confidence lies between 0 and 1, not at {confidence:g}.")
    scorers = _metrics(metrics)
    texts, name, notes = _texts(data, selection)
    progress.stage("Damaging")
    pairs = damaged_pairs(texts, settings)
    scores = np.stack([_scores(source, pairs, progress) for source in scorers])
    outcomes = _outcomes(pairs, scores, confidence)
    every = np.full(len(pairs), True)
    kinds = outcomes.kinds
    return Robustness(
        dataset=dataset or name,
        settings=settings,
        confidence=confidence,
        texts=pairs.texts,
        metrics=metric_infos(scorers, texts.reference_count),
        overall=outcomes.rates("overall", every),
        critical=outcomes.of_kinds("critical", [kind.critical for kind in kinds]),
        held_out=outcomes.of_kinds("held out", [kind.is_test_only for kind in kinds]),
        pooled=outcomes.rates("all pairs", every, pooled=True),
        groups=outcomes.by_group(),
        severities=outcomes.by_severity(),
        kinds=outcomes.by_kind(),
        examples=_examples(pairs, scores, outcomes, scorers),
        notes=(*notes, *pairs.notes, *scoring_notes(scorers)),
    )


_JUDGED = {"score", "better", "better_system"}  # columns of judgements


def _texts(
    data: Segments | JudgementData | Sequence[Sequence[str]], selection: Selection
) -> tuple[Segments, str, Sequence[str]]:
    """The translations to damage, the name of their dataset, and notes on what is left out."""
    columns = {str(name) for name in getattr(data, "columns", ())}
    if isinstance(data, Segments | list | tuple) or (columns and not columns & _JUDGED):
        if str(selection):
            raise AdequaError("A selection is one of judgements; segments are taken as they are.")
        if not isinstance(data, list | tuple):
            return as_segments(cast("Segments | Frame", data)), "segments", ()
        if len(data) != 2:  # noqa: PLR2004
            raise AdequaError("Give translations and references as a pair of lists.")
        return as_segments(*data), "segments", ()
    loaded = load_dataset(data)
    chosen, notes = selected(loaded, selection, Protocol())
    name = "|".join(filter(None, (identified(loaded).name, str(selection))))
    return good_texts(chosen), name, notes


def _metrics(specifications: Specifications) -> tuple[Source, ...]:
    scorers = sources(specifications)
    for source in scorers:
        if source.metric is None:
            raise AdequaError(
                f"{source.path} holds scores, and damaged texts have none yet; name a metric that "
                "can score them."
            )
    return scorers


def _scores(source: Source, pairs: DamagedPairs, progress: Progress) -> FloatArray:
    """Scores of the texts and of their damaged versions, (2, pairs), higher is better."""
    segments = concatenate([pairs.before, pairs.after])
    texts = Texts({}, segments, all_rows(len(segments)))
    # As one corpus, in which a text that was damaged in many ways is scored once.
    statistics = text_statistics(source, texts, ("",) * len(segments), progress)
    return source.segment_scores(statistics).reshape(2, -1)


def _outcomes(pairs: DamagedPairs, scores: FloatArray, confidence: float) -> _Outcomes:
    differences = scores[:, 0] - scores[:, 1]
    near = TIED * np.ptp(scores, axis=(1, 2))[:, None]
    kinds = tuple(dict.fromkeys(pairs.kinds))
    codes = {kind: code for code, kind in enumerate(kinds)}
    return _Outcomes(
        kinds=kinds,
        codes=np.array([codes[kind] for kind in pairs.kinds], dtype=np.intp),
        severities=pairs.severities,
        won=differences > near,
        tied=np.abs(differences) <= near,
        confidence=confidence,
    )


def _win_rate(codes: IntArray, won: BoolArray, tied: BoolArray, confidence: float) -> WinRate:
    """The mean over kinds, which the codes number from 0 without gaps."""
    counts, hits = np.bincount(codes), np.bincount(codes, won).astype(np.intp)
    low, high = mean_share_interval(hits, counts, confidence)
    return WinRate(
        pairs=len(won),
        won=int(won.sum()),
        tied=int(tied.sum()),
        share=float((hits / counts).mean()),
        low=low,
        high=high,
    )


def _examples(
    pairs: DamagedPairs, scores: FloatArray, outcomes: _Outcomes, scorers: Sequence[Source]
) -> tuple[DamageExample, ...]:
    """Every pair, by kind; within a kind those first that most metrics missed."""
    own = scores * np.array([[[source.sign]] for source in scorers])  # in their own direction
    order = np.lexsort((outcomes.won.sum(axis=0), outcomes.codes)).tolist()
    return tuple(
        DamageExample(
            kind=pairs.kinds[row].name,
            severity=float(pairs.severities[row]),
            reference=pairs.before.references[row][0],
            text=pairs.before.hypotheses[row],
            damaged=pairs.after.hypotheses[row],
            scores=tuple((float(before), float(after)) for before, after in own[:, :, row]),
            won=tuple(outcomes.won[:, row].tolist()),
        )
        for row in order
    )
