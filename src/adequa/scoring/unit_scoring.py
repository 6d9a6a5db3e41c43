"""Scores a unit of rows with several metrics; a row that cannot be scored harms no other.

What fails as a whole is tried again in halves, down to the rows that are to blame. None is blamed
for a metric that does not work: where rows fail, it scores a plain sentence too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple, TypeVar

import numpy as np

from adequa.errors import AdequaError
from adequa.io.shard_rows import NewColumns, Unit
from adequa.io.tables import Chunk, Layout, chunk_segments
from adequa.metrics.base import Metric, Remark, since, together
from adequa.scoring.probe import SickMetricError, check_works, in_words
from adequa.segments import FloatArray, Segments, concatenate

Made = TypeVar("Made")

_TOGETHER = 1024  # rows: of slow metrics, a unit would take minutes without a word


@dataclass(slots=True)
class Sums:
    """What is added up over rows for one metric."""

    scored: int = 0
    total: FloatArray | None = None
    reference_counts: set[int] = field(default_factory=set)
    noticed: tuple[Remark, ...] = ()

    def add(
        self, statistics: FloatArray, segments: Segments, noticed: Iterable[Remark] = ()
    ) -> None:
        """Count these rows in."""
        added = statistics.sum(axis=0)
        self.total = added if self.total is None else self.total + added
        self.scored += len(statistics)
        self.reference_counts.update(map(len, segments.references))
        self.noticed = together((*self.noticed, *noticed))


@dataclass(slots=True, eq=False)
class RowScorer:
    """Scores the rows of a shard, and adds up what its metrics need to know of all."""

    layout: Layout
    metrics: Mapping[str, Metric]
    max_characters: int
    sums: Mapping[str, Sums]
    empty: int = 0  # rows with a blank hypothesis that all metrics scored

    @classmethod
    def of(cls, layout: Layout, metrics: Mapping[str, Metric], max_characters: int) -> RowScorer:
        """One that has seen nothing yet."""
        return cls(layout, metrics, max_characters, {column: Sums() for column in metrics})

    def new_columns(self, unit: Unit, told: Callable[[int, int], None]) -> NewColumns:
        """The new columns of a unit; `told` hears how many rows were scored, and how many not."""
        parts = []
        for start in range(0, unit.count, _TOGETHER):
            rows = range(start, min(start + _TOGETHER, unit.count))
            parts.append(self._of_part(_selected(unit.chunk, rows), len(rows)))
            told(len(rows), sum(reason is not None for reason in parts[-1].reasons))
        return NewColumns(
            {
                column: np.concatenate([np.empty(0), *(part.scores[column] for part in parts)])
                for column in self.metrics
            },
            [reason for part in parts for reason in part.reasons],
        )

    def _of_part(self, chunk: Chunk, count: int) -> NewColumns:
        layout = self.layout
        reasons = _too_long(chunk, count, layout, self.max_characters)
        fit = [row for row in range(count) if row not in reasons]
        parts, refused = sifted(
            fit, lambda rows: chunk_segments(_selected(chunk, rows), layout, "")
        )
        reasons |= {row: str(error) for row, error in refused.items()}
        rows = [row for part, _ in parts for row in part]
        scores = {column: np.full(count, np.nan) for column in self.metrics}
        if rows:
            segments = concatenate([part for _, part in parts])
            for column, metric in self.metrics.items():
                found, failed = _scored(column, metric, segments, self.sums[column])
                scores[column][rows] = found
                for at, error in failed.items():
                    row = rows[at]
                    told = f"{chunk.place(row)}: {column} cannot score it: {in_words(error)}"
                    reasons.setdefault(row, told)
            blank = (not hypothesis.strip() for hypothesis in segments.hypotheses)
            self.empty += sum(row not in reasons for row in compress(rows, blank))
        return NewColumns(scores, [reasons.get(row) for row in range(count)])


def _scored(
    column: str, metric: Metric, segments: Segments, sums: Sums
) -> tuple[FloatArray, dict[int, Exception]]:
    """The scores of one metric, NaN where there is none, and why there is none."""
    blamed = 0

    def attempt(chosen: Sequence[int]) -> _Part:
        nonlocal blamed
        some = segments if len(chosen) == len(segments) else segments.select(chosen)
        try:
            return _part(metric, some)
        except Exception:
            if len(chosen) == 1:
                blamed += 1
                if blamed == 1:  # at once: all others would be tried in vain
                    check_works(column, metric)
            raise

    parts, failed = sifted(range(len(segments)), attempt)
    if blamed > 1:  # it may have gone after the first
        check_works(column, metric)
    scores = np.full(len(segments), np.nan)
    for chosen, part in parts:
        scores[chosen] = part.scores
        sums.add(part.statistics, part.segments, part.noticed)
    return scores, failed


class _Part(NamedTuple):
    """What one metric makes of some rows."""

    segments: Segments
    statistics: FloatArray
    scores: FloatArray
    noticed: tuple[Remark, ...]


def _part(metric: Metric, segments: Segments) -> _Part:
    before = metric.counted_remarks()
    statistics = metric.checked_statistics(segments)
    scores = metric.segment_scores(statistics)
    if not np.isfinite(scores).all():
        raise AdequaError("the score is no number.")
    return _Part(segments, statistics, scores, since(before, metric.counted_remarks()))


def sifted(
    rows: Sequence[int], attempt: Callable[[Sequence[int]], Made]
) -> tuple[list[tuple[Sequence[int], Made]], dict[int, Exception]]:
    """What can be made of rows, in as few parts as it takes, and why nothing can of the others.

    >>> sifted([4, 2, 0], lambda rows: [8 // row for row in rows])
    ([([4], [2]), ([2], [4])], {0: ZeroDivisionError('integer division or modulo by zero')})
    """
    if not rows:
        return [], {}
    try:
        return [(rows, attempt(rows))], {}
    except (MemoryError, OSError, SickMetricError):
        raise  # no row is to blame for the machine
    except Exception as error:  # noqa: BLE001  # whatever it is, it shall not stop a long job
        if len(rows) == 1:
            return [], {rows[0]: error}
    half = len(rows) // 2
    first, first_failed = sifted(rows[:half], attempt)
    second, second_failed = sifted(rows[half:], attempt)
    return [*first, *second], first_failed | second_failed


def _selected(chunk: Chunk, rows: Sequence[int]) -> Chunk:
    return Chunk(
        {name: [values[row] for row in rows] for name, values in chunk.columns.items()},
        lambda at: chunk.place(rows[at]),
        chunk.escapes,
    )


def _too_long(chunk: Chunk, count: int, layout: Layout, most: int) -> dict[int, str]:
    """Rows with a text beyond the limit, and what to say of them."""
    found: dict[int, str] = {}
    for name in (layout.mt, *layout.refs):
        values = chunk.columns[name]
        for row in range(count):
            value = values[row]
            length = (
                max((len(each) for each in value if isinstance(each, str)), default=0)
                if isinstance(value, list)
                else len(value)
                if isinstance(value, str)
                else 0
            )
            if length > most:
                found.setdefault(
                    row,
                    f'{chunk.place(row)}: "{name}" has {length:,} characters, more than the '
                    f"{most:,} of --max-characters.",
                )
    return found
