"""Scores a stream of segments with several metrics at once, in memory that does not grow with it.

Batches come in any order of systems. Each metric adds up sufficient statistics by system (and by
group where asked), so a stream of any length costs a few numbers a system; segment scores, where
asked for, cost eight bytes a segment and metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from adequa.errors import AdequaError
from adequa.metrics.base import Metric
from adequa.scoring.results import ScoredMetric, ScoredSystem, ScoringResult
from adequa.segments import UNNAMED, FloatArray, Segments, concatenate


def score_stream(
    batches: Iterable[Segments],
    metrics: Mapping[str, Metric],
    *,
    keep_segments: bool = False,
    by: str | None = None,
) -> ScoringResult:
    """Score every system in a stream with every metric; `metrics` maps a label to a metric.

    `by` names an id column: each system then also gets a score for each of its values.
    """
    running = RunningScores(metrics, keep_segments=keep_segments, by=by)
    for batch in batches:
        running.add(batch)
    return running.results()


class RunningScores:
    """The same for batches that come one by one, from whoever has them."""

    def __init__(
        self, metrics: Mapping[str, Metric], *, keep_segments: bool = False, by: str | None = None
    ) -> None:
        self._metrics, self._keep_segments, self._by = metrics, keep_segments, by
        self._systems: dict[str, _System] = {}

    def add(self, batch: Segments) -> None:
        """Score a batch, of one system or of several."""
        for name, segments in _split(batch, batch.ids.get("system")):
            system = self._system(name, segments)
            for label, metric in self._metrics.items():
                if metric.needs_whole_corpus:
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
        scores = self._metrics[label].segment_scores(statistics) if self._keep_segments else None
        system.add(
            label, statistics, scores, None if self._by is None else _column(segments, self._by)
        )

    def results(self) -> ScoringResult:
        """What was found in all batches so far."""
        systems = self._systems
        for system in systems.values():
            while system.waiting:
                label, parts = system.waiting.popitem()
                segments = concatenate(parts)
                statistics = self._metrics[label].checked_statistics(segments)
                self._add(system, label, segments, statistics)
        if not systems:
            raise AdequaError("There is nothing to score: the input has no segments.")
        empty = {name: system.empty for name, system in systems.items() if system.empty}
        return ScoringResult(
            metrics=tuple(
                _result(label, metric, systems) for label, metric in self._metrics.items()
            ),
            segment_counts={name: system.segments for name, system in systems.items()},
            empty_hypotheses=empty,
            grouped_by=self._by,
            lists_segments=self._keep_segments,
        )


@dataclass(slots=True)
class _Sums:
    """Running sums of one metric over one system."""

    total: FloatArray
    groups: dict[str, FloatArray] = field(default_factory=dict)
    segments: list[FloatArray] = field(default_factory=list)


@dataclass(slots=True)
class _System:
    """What is kept of one system while the stream goes by."""

    segments: int = 0
    empty: int = 0
    reference_counts: set[int | None] = field(default_factory=set)
    sums: dict[str, _Sums] = field(default_factory=dict)  # by metric label
    waiting: dict[str, list[Segments]] = field(default_factory=dict)  # whole-corpus metrics

    def count(self, segments: Segments) -> None:
        self.segments += len(segments)
        self.empty += sum(not hypothesis.strip() for hypothesis in segments.hypotheses)
        self.reference_counts.add(segments.reference_count)

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


def _result(label: str, metric: Metric, systems: Mapping[str, _System]) -> ScoredMetric:
    counts = {system.reference_count for system in systems.values()}
    reference_count = counts.pop() if len(counts) == 1 else None
    return ScoredMetric(
        name=label,
        signature=metric.signature(reference_count),
        segment_signature=metric.segment_signature(reference_count),
        higher_is_better=metric.higher_is_better,
        decimals=metric.decimals,
        systems=tuple(
            _system_result(name, metric, system.sums[label]) for name, system in systems.items()
        ),
    )


def _system_result(name: str, metric: Metric, sums: _Sums) -> ScoredSystem:
    totals = np.stack([sums.total, *sums.groups.values()])
    score, *group_scores = metric.system_scores(totals).tolist()
    return ScoredSystem(
        name=name,
        score=score,
        segments=np.concatenate(sums.segments) if sums.segments else None,
        groups=dict(zip(sums.groups, group_scores, strict=True)) if sums.groups else None,
    )


def _split(segments: Segments, systems: tuple[str, ...] | None) -> Iterator[tuple[str, Segments]]:
    """The parts of a batch, system by system."""
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
