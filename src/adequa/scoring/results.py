"""Results of scoring: metrics by systems, with scores by segment or by group where requested."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from adequa.metrics.base import Metric, score_column
from adequa.segments import FloatArray, Signature
from adequa.tables import (
    BEST,
    Column,
    Format,
    LazyRows,
    Result,
    Row,
    Table,
    csv_lines,
    tsv_lines,
)

_CHUNK = 1000  # scores that are written at a time


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSystem:
    """The scores of one system under one metric."""

    name: str
    score: float
    segments: FloatArray | None = None  # one score a segment
    groups: Mapping[str, float] | None = None  # one score a document or other group


@dataclass(frozen=True, slots=True, eq=False)
class ScoredMetric:
    """The scores of every system under one metric."""

    name: str
    signature: Signature
    segment_signature: Signature
    higher_is_better: bool
    decimals: int  # decimal places shown to readers
    systems: tuple[ScoredSystem, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoringResult(Result):
    """The scores of every system under every metric, and what a reader of them should know.

    There may be millions of segments: their scores stay in arrays until they are written.
    """

    metrics: tuple[ScoredMetric, ...]
    segment_counts: Mapping[str, int]  # by system
    empty_hypotheses: Mapping[str, int]  # by system, where there are any
    grouped_by: str | None = None
    lists_segments: bool = False  # whether tables to read have a row a segment
    decimals: int | None = None  # to which all scores are rounded; None: readers see each metric's
    remarks: tuple[str, ...] = ()

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

    @property
    def _has_segments(self) -> bool:
        return self.metrics[0].systems[0].segments is not None

    def tables(self) -> tuple[Table, ...]:
        notes = (
            self._legend(),
            *(
                str(each.segment_signature if self.lists_segments else each.signature)
                for each in self.metrics
            ),
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
            yield score_column(each.name, each.higher_is_better, places, mark=mark)

    def _legend(self) -> str:
        directions = {each.higher_is_better for each in self.metrics}
        marks = []
        if len(self.metrics[0].systems) > 1 and not self.lists_segments:
            marks.append(f"{BEST} best")
        if True in directions:
            marks.append("↑ higher is better")
        if False in directions:
            marks.append("↓ lower is better")
        return ", ".join(marks)

    def long_table(self) -> Table:
        scores = [Column(each.name, "number") for each in self.metrics]
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
            (views[0].name, *(self._rounded(v.score) for v in views)) for views in self._views()
        ]

    def _segment_rows(self) -> Iterator[Row]:
        for views in self._views():
            columns = [self._segment_scores(view) for view in views]
            for number, scores in enumerate(zip(*columns, strict=True), 1):
                yield (views[0].name, number, *scores)

    def _numbered_rows(self) -> Iterator[Row]:
        """Rows by segment for readers, whose numbers are names and not quantities."""
        return ((name, str(number), *scores) for name, number, *scores in self._segment_rows())

    def _segment_scores(self, system: ScoredSystem) -> Iterator[float]:
        if system.segments is not None:
            for start in range(0, len(system.segments), _CHUNK):
                yield from map(self._rounded, system.segments[start : start + _CHUNK].tolist())

    def _group_rows(self) -> Iterator[Row]:
        for views in self._views():
            groups = [view.groups for view in views if view.groups is not None]
            for group in groups[0]:
                yield (views[0].name, group, *(self._rounded(each[group]) for each in groups))

    def _rounded(self, score: float) -> float:
        return score if self.decimals is None else round(score, self.decimals)

    def to_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = {} if self.grouped_by is None else {"by": self.grouped_by}
        content["metrics"] = [
            {**self._about(metric), "systems": list(map(self._system_dict, metric.systems))}
            for metric in self.metrics
        ]
        return content

    def _about(self, metric: ScoredMetric) -> dict[str, Any]:
        about: dict[str, Any] = {"name": metric.name, "signature": str(metric.signature)}
        if self._has_segments and metric.segment_signature != metric.signature:
            about["segment_signature"] = str(metric.segment_signature)
        return {**about, "higher_is_better": metric.higher_is_better}

    def _system_dict(self, system: ScoredSystem, *, segments: bool = True) -> dict[str, Any]:
        content: dict[str, Any] = {"name": system.name, "score": self._json_score(system.score)}
        if system.groups is not None:
            content["groups"] = [
                {"name": group, "score": self._json_score(score)}
                for group, score in system.groups.items()
            ]
        if segments and system.segments is not None:
            content["segments"] = list(map(self._json_score, system.segments.tolist()))
        return content

    def _json_score(self, score: float) -> float | None:
        return None if math.isnan(score) else self._rounded(score)

    def lines(self, format_: Format) -> Iterator[str]:
        if format_ is Format.json:
            return self._json_lines()
        if self.decimals is not None and format_ is Format.tsv:
            return tsv_lines(self._fixed_point_table())
        if self.decimals is not None and format_ is Format.csv:
            return csv_lines(self._fixed_point_table())
        return Result.lines(self, format_)

    def _fixed_point_table(self) -> Table:
        """The long table with every score written to the same number of decimals."""
        table = self.long_table()
        keys = len(table.columns) - len(self.metrics)

        def rows() -> Iterator[Row]:
            for row in table.rows:
                scores = (
                    None
                    if isinstance(cell, float) and math.isnan(cell)
                    else f"{cell:.{self.decimals}f}"
                    for cell in row[keys:]
                )
                yield (*row[:keys], *scores)

        columns = (*table.columns[:keys], *(Column(each.name) for each in table.columns[keys:]))
        return Table(columns, LazyRows(rows))

    def _json_lines(self) -> Iterator[str]:
        """The dictionary as JSON, a line a system, in pieces."""
        yield "{\n"
        if self.grouped_by is not None:
            yield f'  "by": {_json(self.grouped_by)},\n'
        yield '  "metrics": ['
        for number, metric in enumerate(self.metrics):
            yield ",\n    {\n" if number else "\n    {\n"
            for key, value in self._about(metric).items():
                yield f"      {_json(key)}: {_json(value)},\n"
            yield '      "systems": ['
            for index, system in enumerate(metric.systems):
                yield ",\n        " if index else "\n        "
                yield from self._json_system(system)
            yield "\n      ]\n    }"
        yield "\n  ]\n}\n"

    def _json_system(self, system: ScoredSystem) -> Iterator[str]:
        opened = _json(self._system_dict(system, segments=False)).removesuffix("}")
        if system.segments is None:
            yield opened + "}"
            return
        yield opened + ', "segments": ['
        for start in range(0, len(system.segments), _CHUNK):
            scores = map(self._json_score, system.segments[start : start + _CHUNK].tolist())
            yield (", " if start else "") + _json(list(scores))[1:-1]
        yield "]}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


AMetric = TypeVar("AMetric", bound=Metric)


def labels(metrics: Mapping[str, AMetric]) -> dict[str, str]:
    """The label of each metric by its specification, as short as tells the metrics apart.

    >>> from adequa.metrics.registry import load_metric
    >>> specifications = ["chrf", "ter", "chrf:beta=1"]
    >>> list(labels({each: load_metric(each) for each in specifications}).values())
    ['chrf', 'ter', 'chrf:beta=1']
    """
    names = [metric.name for metric in metrics.values()]
    return {
        words: metric.name if names.count(metric.name) == 1 else words
        for words, metric in metrics.items()
    }


def labelled(metrics: Mapping[str, AMetric]) -> dict[str, AMetric]:
    """Metrics by their labels, in their order."""
    label = labels(metrics)
    return {label[words]: metric for words, metric in metrics.items()}
