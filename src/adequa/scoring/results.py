"""Scores of a stream of segments under several metrics, and their result.

Batches come in any order of systems. Each metric adds up sufficient statistics by system (and by
group where asked), so a stream of any length costs a few numbers per system; segment scores, where
asked for, cost eight bytes per segment and metric, and their confidence another 26.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from adequa.errors import AdequaError
from adequa.languages import UNKNOWN_LANGUAGE, TargetLanguage
from adequa.metrics.base import Metric, score_column, warning_notes
from adequa.metrics.language import (
    empty_note,
    empty_outputs,
    identical_outputs,
    system_notes,
)
from adequa.scoring.bands import ScoreBands
from adequa.scoring.confidence import (
    BANDS,
    Estimator,
    RunningEstimates,
    SystemConfidence,
    band_fractions,
    outside_note,
)
from adequa.segments import UNNAMED, FloatArray, IntArray, Segments, Signature, concatenate
from adequa.tables import (
    BEST,
    WARNING,
    Cell,
    Column,
    Format,
    LazyRows,
    Result,
    Row,
    Table,
    finite,
    json_text,
)

_CHUNK = 1000  # scores that are written at a time
_SAMPLE = 1000  # outputs of a system by which its language is detected


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSystem:
    """The scores of one system under one metric."""

    name: str
    score: float
    segments: FloatArray | None = None  # one score per segment
    groups: Mapping[str, float] | None = None  # one score per document or other group
    confidence: SystemConfidence | None = None
    band_fractions: Mapping[str, float] | None = None  # of the segments, by band of their scores


@dataclass(frozen=True, slots=True, eq=False)
class ScoredMetric:
    """The scores of every system under one metric."""

    name: str
    signature: Signature
    segment_signature: Signature
    higher_is_better: bool
    decimals: int  # decimal places shown to readers
    systems: tuple[ScoredSystem, ...]
    warning: str | None = None  # why the scores mean little for the target language
    confidence: Estimator | None = None  # of the ratings, where that was asked for
    bands: ScoreBands | None = None  # of the segment scores, where that was asked for


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoringResult(Result):
    """The scores of every system under every metric.

    There may be millions of segments: their scores stay in arrays until they are written.
    """

    metrics: tuple[ScoredMetric, ...]
    segment_counts: Mapping[str, int]  # by system, with rows of a corpus that have no score
    empty_hypotheses: Mapping[str, int]  # by system, where there are any
    grouped_by: str | None = None
    lists_segments: bool = False  # whether tables to read have a row per segment
    decimals: int | None = None  # to which all scores are rounded; None: readers see each metric's
    remarks: tuple[str, ...] = ()
    language: TargetLanguage = UNKNOWN_LANGUAGE  # of the translations
    checks: tuple[str, ...] = ()  # notes on outputs that are the reference, or not of the language

    @property
    def system(self) -> dict[str, Any]:
        """System scores by metric: a number, or where there are several systems, one by system."""
        return {
            each.name: self._one_or_by_system([system.score for system in each.systems])
            for each in self.metrics
        }

    @property
    def segments(self) -> dict[str, Any]:
        """Segment scores by metric: an array, or where there are several systems, one by system."""
        return {
            each.name: self._one_or_by_system([system.segments for system in each.systems])
            for each in self.metrics
        }

    @property
    def signatures(self) -> dict[str, Signature]:
        """The signature of each metric's system scores."""
        return {each.name: each.signature for each in self.metrics}

    def _one_or_by_system(self, values: Sequence[Any]) -> Any:
        names = [system.name for system in self.metrics[0].systems]
        return values[0] if len(names) == 1 else dict(zip(names, values, strict=True))

    def notes(self) -> Iterator[str]:
        """Notes on outputs, intervals, empty hypotheses and unequal numbers of segments."""
        yield from self.checks
        yield from self._interval_notes()
        yield from self.count_notes()

    def _interval_notes(self) -> Iterator[str]:
        for metric in self.metrics:
            for each in metric.systems:
                if each.confidence is not None and each.confidence.outside:
                    count = self.segment_counts[each.name]
                    yield outside_note(each.name, each.confidence.outside, count)

    def count_notes(self) -> Iterator[str]:
        """Notes on empty hypotheses and unequal numbers of segments."""
        for name, empty in self.empty_hypotheses.items():
            yield empty_note(name, empty, self.segment_counts[name])
        if len(set(self.segment_counts.values())) > 1:
            counts = ", ".join(f"{name} {count}" for name, count in self.segment_counts.items())
            yield f"the systems have different numbers of segments ({counts})."

    @property
    def _has_segments(self) -> bool:
        return self.metrics[0].systems[0].segments is not None

    def tables(self) -> tuple[Table, ...]:
        notes = (
            *warning_notes(self._warnings()),
            self._legend(),
            *self._confidence_legend(),
            *self._bands_legend(),
            *self._signature_lines(),
            *self.remarks,
        )
        system = Column("system")
        if self.lists_segments:
            columns = (system, Column("segment"), *self._score_columns())
            return (Table(columns, LazyRows(self._numbered_rows), notes=notes),)
        columns = (system, *self._score_columns(mark=True))
        if self.grouped_by is None:
            return (Table(columns, self._system_rows(), notes=notes),)
        by_group = (system, Column(self.grouped_by), *self._score_columns())
        return (
            Table(columns, self._system_rows()),
            Table(by_group, LazyRows(self._group_rows), notes=notes),
        )

    def _score_columns(self, *, mark: bool = False) -> Iterator[Column]:
        for each in self.metrics:
            places = each.decimals if self.decimals is None else self.decimals
            yield score_column(
                each.name, each.higher_is_better, places, mark=mark, warning=each.warning
            )
            sign = "" if each.warning is None else WARNING
            for column in self._further_columns(each):
                heading = column.name.removeprefix(f"{each.name}_")
                is_number = column.type == "number"
                yield replace(
                    column,
                    heading=heading,
                    decimals=places if is_number else None,
                    mark=sign if is_number else "",
                )

    def _exact_columns(self) -> Iterator[Column]:
        for each in self.metrics:
            yield Column(each.name, "number")
            yield from self._further_columns(each)

    def _further_columns(self, metric: ScoredMetric) -> Iterator[Column]:
        """The columns after that of a metric's scores: of segments, or of whole systems."""
        if metric.confidence is None and metric.bands is None:
            return
        numbers: tuple[str, ...] = () if self._has_segments else BANDS
        if metric.confidence is not None:
            numbers = ("low", "high", "error") if self._has_segments else ("error", *BANDS)
        for name in numbers:
            yield Column(f"{metric.name}_{name}", "number")
        if self._has_segments:
            yield Column(f"{metric.name}_band")

    def _warnings(self) -> Iterator[str | None]:
        for each in self.metrics:
            yield each.warning
            if each.warning is not None and each.confidence is not None:
                yield f"intervals, errors and bands of {each.name} do not hold for {self.language}."
            if each.bands is not None:
                yield each.bands.warning(each.segment_signature)

    def _confidence_legend(self) -> Iterator[str]:
        """The legend of the columns of confidence, once for all metrics."""
        lines = dict.fromkeys(
            line
            for each in self.metrics
            if each.confidence is not None
            for line in each.confidence.legend(segments=self.lists_segments)
        )
        yield from lines

    def _bands_legend(self) -> Iterator[str]:
        for each in self.metrics:
            if each.bands is not None:
                yield each.bands.legend()

    def _signature_lines(self) -> Iterator[str]:
        """The signature of each metric, followed by that of its confidence."""
        for each in self.metrics:
            yield str(each.segment_signature if self.lists_segments else each.signature)
            if each.confidence is not None:
                yield str(each.confidence.signature)

    def _legend(self) -> str:
        directions = {each.higher_is_better for each in self.metrics}
        marks = []
        has_best = any(each.warning is None for each in self.metrics)
        if has_best and len(self.metrics[0].systems) > 1 and not self.lists_segments:
            marks.append(f"{BEST} best")
        if True in directions:
            marks.append("↑ higher is better")
        if False in directions:
            marks.append("↓ lower is better")
        return ", ".join(marks)

    def long_table(self) -> Table:
        scores = list(self._exact_columns())
        if self._has_segments:
            columns = (Column("system"), Column("segment", "integer"), *scores)
            return Table(columns, LazyRows(self._segment_rows))
        if self.grouped_by is not None:
            columns = (Column("system"), Column(self.grouped_by), *scores)
            return Table(columns, LazyRows(self._group_rows))
        return Table((Column("system"), *scores), self._system_rows())

    def _views(self) -> Iterator[tuple[ScoredSystem, ...]]:
        """The scores of each system under all metrics."""
        return zip(*(metric.systems for metric in self.metrics), strict=True)

    def _system_rows(self) -> list[Row]:
        return [
            (views[0].name, *chain.from_iterable(map(self._system_cells, views)))
            for views in self._views()
        ]

    def _system_cells(self, system: ScoredSystem) -> Iterator[float]:
        yield self._rounded(system.score)
        if system.confidence is not None:
            yield from map(self._rounded, self._confidence_figures(system.confidence))
        if system.band_fractions is not None:
            yield from map(self._rounded, system.band_fractions.values())

    def _confidence_figures(self, confidence: SystemConfidence) -> tuple[float, ...]:
        return confidence.error, *confidence.fractions.values()

    def _segment_rows(self) -> Iterator[Row]:
        for views in self._views():
            columns = chain.from_iterable(
                self._segment_columns(view, metric.bands).values()
                for view, metric in zip(views, self.metrics, strict=True)
            )
            for number, scores in enumerate(zip(*columns, strict=True), 1):
                yield (views[0].name, number, *scores)

    def _numbered_rows(self) -> Iterator[Row]:
        """Rows by segment for readers, whose numbers are names and not quantities."""
        return ((name, str(number), *scores) for name, number, *scores in self._segment_rows())

    def _segment_columns(
        self, system: ScoredSystem, bands: ScoreBands | None
    ) -> dict[str, Iterator[Cell]]:
        """Scores, estimates and bands of segments, by their names in JSON."""
        if system.segments is None:
            return {}
        columns: dict[str, Iterator[Cell]] = {"segments": self._numbers(system.segments)}
        if system.confidence is not None and system.confidence.segments is not None:
            estimates = system.confidence.segments
            columns["low"] = self._numbers(estimates.low)
            columns["high"] = self._numbers(estimates.high)
            columns["error"] = self._numbers(estimates.error)
            columns["band"] = map(BANDS.__getitem__, estimates.band)
        if bands is not None:
            columns["band"] = map(BANDS.__getitem__, bands(system.segments))
        return columns

    def _numbers(self, values: FloatArray) -> Iterator[float]:
        for start in range(0, len(values), _CHUNK):
            yield from map(self._rounded, values[start : start + _CHUNK].tolist())

    def _group_rows(self) -> Iterator[Row]:
        for views in self._views():
            groups = [view.groups for view in views if view.groups is not None]
            for group in groups[0]:
                yield (views[0].name, group, *(self._rounded(each[group]) for each in groups))

    def _rounded(self, score: float) -> float:
        return score if self.decimals is None else round(score, self.decimals)

    def to_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = {} if self.grouped_by is None else {"by": self.grouped_by}
        content["language"] = self.language.to_dict()
        if self.checks:
            content["notes"] = list(self.checks)
        content["metrics"] = [
            {
                **self._about(metric),
                "systems": [self._system_dict(each, metric.bands) for each in metric.systems],
            }
            for metric in self.metrics
        ]
        return content

    def _about(self, metric: ScoredMetric) -> dict[str, Any]:
        about: dict[str, Any] = {"name": metric.name, "signature": str(metric.signature)}
        if self._has_segments and metric.segment_signature != metric.signature:
            about["segment_signature"] = str(metric.segment_signature)
        if metric.warning is not None:
            about["warning"] = metric.warning
        about["higher_is_better"] = metric.higher_is_better
        if metric.confidence is not None:
            about["confidence"] = metric.confidence.to_dict()
        if metric.bands is not None:
            about["bands"] = metric.bands.to_dict()
        return about

    def _system_dict(
        self, system: ScoredSystem, bands: ScoreBands | None, *, segments: bool = True
    ) -> dict[str, Any]:
        content: dict[str, Any] = {
            "name": system.name,
            "score": finite(self._rounded(system.score)),
        }
        if system.groups is not None:
            content["groups"] = [
                {"name": group, "score": finite(self._rounded(score))}
                for group, score in system.groups.items()
            ]
        if system.confidence is not None:
            error, *of_bands = map(self._rounded, self._confidence_figures(system.confidence))
            content["confidence"] = {"error": error, **dict(zip(BANDS, of_bands, strict=True))}
        if system.band_fractions is not None:
            fractions = map(self._rounded, system.band_fractions.values())
            content["bands"] = dict(zip(BANDS, fractions, strict=True))
        if segments:
            columns = self._segment_columns(system, bands)
            content |= {name: list(map(finite, values)) for name, values in columns.items()}
        return content

    def lines(self, format_: Format) -> Iterator[str]:
        if format_ is Format.json:
            return self._json_lines()
        if self.decimals is not None and format_ in {Format.tsv, Format.csv}:
            return self._fixed_point_table().lines(format_)
        return Result.lines(self, format_)

    def _fixed_point_table(self) -> Table:
        """The long table with every score written to the same number of decimals."""
        table = self.long_table()

        def rows() -> Iterator[Row]:
            for row in table.rows:
                yield [fixed(cell) for cell in row]

        def fixed(cell: Cell) -> Cell:
            is_score = isinstance(cell, float) and not np.isnan(cell)
            return f"{cell:.{self.decimals}f}" if is_score else cell

        return Table(tuple(Column(each.name) for each in table.columns), LazyRows(rows))

    def _json_lines(self) -> Iterator[str]:
        """The dictionary as JSON with a line per system, in pieces that fit in memory."""
        yield "{\n"
        if self.grouped_by is not None:
            yield f'  "by": {json_text(self.grouped_by)},\n'
        yield f'  "language": {json_text(self.language.to_dict())},\n'
        if self.checks:
            yield f'  "notes": {json_text(list(self.checks))},\n'
        yield '  "metrics": ['
        for number, metric in enumerate(self.metrics):
            yield ",\n    {\n" if number else "\n    {\n"
            for key, value in self._about(metric).items():
                yield f"      {json_text(key)}: {json_text(value)},\n"
            yield '      "systems": ['
            for index, system in enumerate(metric.systems):
                yield ",\n        " if index else "\n        "
                yield from self._json_system(system, metric.bands)
            yield "\n      ]\n    }"
        yield "\n  ]\n}\n"

    def _json_system(self, system: ScoredSystem, bands: ScoreBands | None) -> Iterator[str]:
        opened = json_text(self._system_dict(system, bands, segments=False)).removesuffix("}")
        yield opened
        for name, values in self._segment_columns(system, bands).items():
            yield f", {json_text(name)}: ["
            separator = ""
            while chunk := list(islice(values, _CHUNK)):
                yield separator + json_text(list(map(finite, chunk)))[1:-1]
                separator = ", "
            yield "]"
        yield "}"


def score_stream(
    batches: Iterable[Segments],
    metrics: Mapping[str, Metric],
    *,
    keep_segments: bool = False,
    by: str | None = None,
    language: TargetLanguage = UNKNOWN_LANGUAGE,
    estimators: Mapping[str, Estimator] | None = None,
    bands: Mapping[str, ScoreBands] | None = None,
) -> ScoringResult:
    """Score every system in a stream with every metric; `metrics` maps a label to a metric.

    `by` names an id column: each system then also gets a score for each of its values. `language`
    is that of the translations; the metrics are those that `metrics_for` returns for it.
    `estimators` add the confidence of segment scores, and `bands` their bands, by the labels of
    their metrics.
    """
    running = RunningScores(
        metrics,
        keep_segments=keep_segments,
        by=by,
        language=language,
        estimators=estimators,
        bands=bands,
    )
    for batch in batches:
        running.add(batch)
    return running.results()


class RunningScores:
    """Scores of a stream whose batches are added one by one."""

    def __init__(
        self,
        metrics: Mapping[str, Metric],
        *,
        keep_segments: bool = False,
        by: str | None = None,
        language: TargetLanguage = UNKNOWN_LANGUAGE,
        estimators: Mapping[str, Estimator] | None = None,
        bands: Mapping[str, ScoreBands] | None = None,
    ) -> None:
        self._metrics, self._keep_segments, self._by = metrics, keep_segments, by
        self._language, self._estimators, self._bands = language, estimators or {}, bands or {}
        self._systems: dict[str, _System] = {}

    def add(self, batch: Segments) -> None:
        """Score a batch, of one system or of several."""
        for name, segments in _split(batch, batch.ids.get("system")):
            system = self._system(name, segments)
            for label, metric in self._metrics.items():
                if metric.needs_whole_corpus:
                    metric.check_reads(segments)  # at once, and not after all batches
                    system.waiting.setdefault(label, []).append(segments)
                else:
                    self._add(system, label, segments, metric.checked_statistics(segments))

    def add_statistics(
        self, name: str, segments: Segments, statistics: Mapping[str, FloatArray]
    ) -> None:
        """Add segments of one system whose statistics were computed elsewhere, by metric label.

        Statistics of a metric that needs the whole corpus are those of the whole system.
        """
        system = self._system(name, segments)
        for label in self._metrics:
            self._add(system, label, segments, statistics[label])

    def _system(self, name: str, segments: Segments) -> _System:
        system = self._systems.setdefault(name, _System())
        system.count(segments)
        return system

    def _add(self, system: _System, label: str, segments: Segments, statistics: FloatArray) -> None:
        estimator, bands = self._estimators.get(label), self._bands.get(label)
        scores = None
        if self._keep_segments or estimator is not None or bands is not None:
            scores = self._metrics[label].segment_scores(statistics)
        system.add(
            label,
            statistics,
            scores if self._keep_segments else None,
            None if self._by is None else _column(segments, self._by),
        )
        if bands is not None and scores is not None:
            counts = np.bincount(bands(scores), minlength=len(BANDS))
            system.bands[label] = system.bands.get(label, 0) + counts
        if estimator is not None and scores is not None:
            running = system.estimates.setdefault(label, RunningEstimates(self._keep_segments))
            warning = self._metrics[label].language_warning(self._language)
            running.add(estimator(segments, scores, is_foreign=warning is not None))

    def results(self) -> ScoringResult:
        """The scores of all batches so far; more may be added after it."""
        systems = self._systems
        for system in systems.values():
            for label, parts in system.waiting.items():
                segments = concatenate(parts)
                statistics = self._metrics[label].checked_statistics(segments)
                system.sums.pop(label, None)  # of an earlier call
                system.bands.pop(label, None)
                self._add(system, label, segments, statistics)
        if not systems:
            raise AdequaError("There is nothing to score: the input has no segments.")
        empty = {name: system.empty for name, system in systems.items() if system.empty}
        return ScoringResult(
            metrics=tuple(
                replace(
                    _result(label, metric, systems, metric.language_warning(self._language)),
                    confidence=self._estimators.get(label),
                    bands=self._bands.get(label),
                )
                for label, metric in self._metrics.items()
            ),
            segment_counts={name: system.segments for name, system in systems.items()},
            empty_hypotheses=empty,
            grouped_by=self._by,
            lists_segments=self._keep_segments,
            language=self._language,
            checks=tuple(
                note
                for name, system in systems.items()
                for note in system_notes(
                    name,
                    concatenate(system.sample),
                    self._language,
                    identical=system.identical,
                    count=system.segments,
                )
            ),
        )


@dataclass(slots=True)
class _Sums:
    """Running sums of one metric over one system."""

    total: FloatArray
    groups: dict[str, FloatArray] = field(default_factory=dict)
    segments: list[FloatArray] = field(default_factory=list)


@dataclass(slots=True)
class _System:
    """Counts and sums of one system."""

    segments: int = 0
    empty: int = 0
    identical: int = 0  # outputs that equal a reference
    sample: list[Segments] = field(default_factory=list)  # the first ones
    reference_counts: set[int | None] = field(default_factory=set)
    has_sources: set[bool] = field(default_factory=set)
    sums: dict[str, _Sums] = field(default_factory=dict)  # by metric label
    waiting: dict[str, list[Segments]] = field(default_factory=dict)  # whole-corpus metrics
    estimates: dict[str, RunningEstimates] = field(default_factory=dict)  # by metric label
    bands: dict[str, IntArray] = field(default_factory=dict)  # counts, by metric label

    def count(self, segments: Segments) -> None:
        self.segments += len(segments)
        self.empty += empty_outputs(segments.hypotheses)
        self.reference_counts.add(segments.reference_count)
        self.has_sources.add(segments.sources is not None)
        self.identical += identical_outputs(segments)
        if self.segments - len(segments) < _SAMPLE:
            self.sample.append(segments.select(range(min(_SAMPLE, len(segments)))))

    def add(
        self,
        label: str,
        statistics: FloatArray,
        scores: FloatArray | None,
        groups: tuple[str, ...] | None,
    ) -> None:
        sums = self.sums.get(label)
        if sums is None:
            sums = self.sums[label] = _Sums(np.zeros(statistics.shape[1]))
        sums.total += statistics.sum(axis=0)
        if scores is not None:
            sums.segments.append(scores)
        if groups is not None:
            for group, part in _sum_by(groups, statistics).items():
                sums.groups[group] = sums.groups.get(group, 0) + part

    @property
    def reference_count(self) -> int | None:
        return next(iter(self.reference_counts)) if len(self.reference_counts) == 1 else None


def _result(
    label: str, metric: Metric, systems: Mapping[str, _System], warning: str | None
) -> ScoredMetric:
    counts = {system.reference_count for system in systems.values()}
    reference_count = counts.pop() if len(counts) == 1 else None
    with_sources = {each for system in systems.values() for each in system.has_sources}
    sources = with_sources.pop() if len(with_sources) == 1 else None
    return ScoredMetric(
        name=label,
        signature=metric.signature(reference_count, sources=sources),
        segment_signature=metric.segment_signature(reference_count, sources=sources),
        higher_is_better=metric.higher_is_better,
        decimals=metric.decimals,
        systems=tuple(
            replace(
                _system_result(name, metric, system.sums[label], system.estimates.get(label)),
                band_fractions=band_fractions(system.bands[label])
                if label in system.bands
                else None,
            )
            for name, system in systems.items()
        ),
        warning=warning,
    )


def _system_result(
    name: str, metric: Metric, sums: _Sums, estimates: RunningEstimates | None
) -> ScoredSystem:
    groups = None
    if sums.groups:
        scores = metric.system_scores(np.stack(list(sums.groups.values()))).tolist()
        groups = dict(zip(sums.groups, scores, strict=True))
    return ScoredSystem(
        name=name,
        # By itself: many rows at once may be computed in another order, to another last bit.
        score=float(metric.system_scores(sums.total[np.newaxis])[0]),
        segments=np.concatenate(sums.segments) if sums.segments else None,
        groups=groups,
        confidence=None if estimates is None else estimates.summary(),
    )


def _split(segments: Segments, systems: tuple[str, ...] | None) -> Iterator[tuple[str, Segments]]:
    """Split a batch by system."""
    if systems is None:
        yield UNNAMED, segments
        return
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(systems):
        rows.setdefault(name, []).append(row)
    for name, chosen in rows.items():
        yield name, (segments if len(rows) == 1 else segments.select(chosen))


def _sum_by(column: tuple[str, ...], statistics: FloatArray) -> dict[str, FloatArray]:
    """Summed rows of statistics for each value of a column, in order of first appearance."""
    codes: dict[str, int] = {}
    group_of_row = [codes.setdefault(value, len(codes)) for value in column]
    sums = np.zeros((len(codes), statistics.shape[1]))
    np.add.at(sums, group_of_row, statistics)
    return dict(zip(codes, sums, strict=True))


def _column(segments: Segments, name: str) -> tuple[str, ...]:
    if name not in segments.ids:
        raise AdequaError(f'The input has no column "{name}" to group the scores by.')
    return segments.ids[name]
