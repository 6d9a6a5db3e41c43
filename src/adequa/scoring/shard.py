"""Whether a metric works, here and now: whether it scores a plain sentence.

A worker may lack what the driver has (a GPU, a library, a file), and may lose it amid the work:
then every row would fail, and none of them for its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress, count
from typing import BinaryIO, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from adequa.errors import AdequaError, UnwritableError
from adequa.io.columns import Chunk, Layout, chunk_segments, table_layout
from adequa.io.parquet import ParquetShard
from adequa.io.shards import NewColumns, OpenShard, Shard, ShardWriter, Unit, open_shard
from adequa.io.storage import Content, DigestWriter, reading, storage_of
from adequa.metrics.base import Metric, Remark, since, together
from adequa.scoring.manifest import Job, MetricSums, Record, kept_record, unsized, write_record
from adequa.segments import FloatArray, Segments, concatenate

_numbers = count(1)  # what a metric remembers of texts would say nothing of how it is now


class SickMetricError(AdequaError):
    """A metric that scores nothing any more: no row and no shard is to blame."""


def check_works(column: str, metric: Metric) -> None:
    """Raise what is wrong with a metric itself, before any row is blamed for it."""
    times = next(_numbers)
    plain = Segments(
        (f"A cat sat there {times} times.",),
        ((f"The cat sat there {times} times.",),),
        ids=dict.fromkeys(metric.columns, ("0.5",)),
    )
    try:
        score = metric.segment_scores(metric.checked_statistics(plain))
    except AdequaError as error:
        raise SickMetricError(str(error)) from error
    except Exception as error:
        raise SickMetricError(
            f"{column} cannot score so much as a plain sentence: {in_words(error)}"
        ) from error
    if not np.isfinite(score).all():
        raise SickMetricError(f"{column} makes no number of so much as a plain sentence.")


def in_words(error: Exception) -> str:
    """What went wrong, on one line and as a sentence.

    >>> in_words(KeyError("dogs"))
    "KeyError: 'dogs'."
    """
    if isinstance(error, AdequaError):
        return str(error)
    first = str(error).strip().partition("\n")[0]
    return ": ".join(filter(None, [type(error).__name__, first])).rstrip(".") + "."


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


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a shard is."""

    shard: str
    rows: int
    unscored: int
    done: float  # from 0 to 1
    kept: bool = False  # it was finished before this job


Told: TypeAlias = Callable[[Progress], None]
Allowed: TypeAlias = Callable[[Shard], str | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a shard: a record, or a sentence on what is wrong with it."""

    shard: str
    record: Record | None = None
    error: str | None = None
    stops: bool = False  # no other shard would fare better
    kept: bool = False  # it was finished before this job


class ShardScorer:
    """Scores shards one after the other; metrics are loaded once.

    Those that are given were found to work; those that are loaded here are tried here.
    """

    def __init__(self, job: Job, metrics: dict[str, Metric] | None = None) -> None:
        self._job = job
        self._metrics = job.load() if metrics is None else metrics
        if metrics is None:
            for column, metric in self._metrics.items():
                check_works(column, metric)

    def __call__(self, shard: Shard, told: Told, allowed: Allowed | None = None) -> Outcome:
        """Score a shard, unless it is finished, or `allowed` has a sentence against it."""
        try:
            return self._outcome(shard, told, allowed)
        except UnwritableError as error:
            return Outcome(shard.name, error=str(error), stops=True)
        except SickMetricError as error:
            sentence = (
                f"{shard.name}: {error} What is finished stays; the same command does the rest."
            )
            return Outcome(shard.name, error=sentence, stops=True)
        except AdequaError as error:
            return Outcome(shard.name, error=str(error))
        except (OSError, MemoryError) as error:  # of the machine
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            return Outcome(shard.name, error=f"{shard.name}: {reason}.", stops=True)
        except Exception as error:  # noqa: BLE001  # other shards shall not suffer for this one
            return Outcome(shard.name, error=f"{shard.name}: {in_words(error)}")

    def _outcome(self, shard: Shard, told: Told, allowed: Allowed | None) -> Outcome:
        if (record := self._finished(shard, told)) is not None:
            return Outcome(shard.name, record, kept=True)
        if allowed is not None and (against := allowed(shard)) is not None:
            return Outcome(shard.name, error=against)
        return Outcome(shard.name, self._scored(shard, told))

    def _finished(self, shard: Shard, told: Told) -> Record | None:
        """The record of a shard, if it was made of what is there and made what is there."""
        record = kept_record(self._job.record(shard))
        if record is None or {*record.metrics} != {*self._metrics}:
            return None
        if _content(shard.path) != record.input or _content(self._job.target(shard)) != (
            record.output
        ):
            return None
        told(Progress(shard.name, record.rows, record.unscored, 1.0, kept=True))
        return record

    def _scored(self, shard: Shard, told: Told) -> Record:
        content = _content(shard.path)
        if content is None:
            raise AdequaError(f"There is no file {shard.path}.")
        storage, target = storage_of(self._job.target(shard))
        with opened(shard) as found:
            layout = checked_layout(found, self._job, self._metrics)
            rows = RowScorer.of(layout, self._metrics, self._job.max_characters)
            counted = _Counted(shard.name, told)
            _, temporaries = storage_of(self._job.temporaries)
            with storage.replacing(target, temporaries) as file:
                units = _units(found, layout, shard)
                first_reason = self._write(units, rows, counted, self._writer(found, file))
                if _content(shard.path) != content:
                    raise AdequaError(
                        f"{shard.path} has changed while it was read; the same command reads it "
                        "again."
                    )
                record = Record(
                    shard=shard.name,
                    rows=counted.rows,
                    unscored=counted.unscored,
                    first_reason=first_reason,
                    empty=rows.empty,
                    input=content,
                    output=file.content,
                    metrics={column: _kept_sums(each) for column, each in rows.sums.items()},
                )
                write_record(self._job, shard, record)
        told(Progress(shard.name, counted.rows, counted.unscored, 1.0))
        return record

    def _writer(self, found: OpenShard, file: DigestWriter) -> ShardWriter:
        signatures = {column: unsized(metric) for column, metric in self._metrics.items()}
        return found.writer(cast("BinaryIO", file), signatures, self._job.reason)

    @staticmethod
    def _write(
        units: Iterator[Unit], rows: RowScorer, counted: _Counted, writer: ShardWriter
    ) -> str | None:
        """Score and write all units; why the first row without a score has none."""
        first_reason: str | None = None
        try:
            for unit in units:
                new = rows.new_columns(unit, counted.within(unit))
                writer.write(unit, new)
                first_reason = first_reason or next(filter(None, new.reasons), None)
            writer.close()
        except BaseException:
            writer.drop()
            raise
        return first_reason


class _Counted:
    """Counts the rows of a shard, and tells how far it is."""

    def __init__(self, shard: str, told: Told) -> None:
        self._shard, self._told = shard, told
        self._done = 0.0  # with the units before
        self.rows = self.unscored = 0

    def within(self, unit: Unit) -> Callable[[int, int], None]:
        """What is told of the rows of a unit that were just scored."""
        before, start = self._done, self.rows
        self._done = unit.done

        def told(rows: int, unscored: int) -> None:
            self.rows += rows
            self.unscored += unscored
            done = before + (unit.done - before) * (self.rows - start) / unit.count
            self._told(Progress(self._shard, self.rows, self.unscored, done))

        return told


def _kept_sums(sums: Sums) -> MetricSums:
    total = () if sums.total is None else tuple(sums.total.tolist())
    return MetricSums(sums.scored, total, tuple(sorted(sums.reference_counts)), sums.noticed)


@contextmanager
def opened(shard: Shard) -> Iterator[OpenShard]:
    """A shard, open for reading."""
    storage, inner = storage_of(shard.path)
    with ExitStack() as stack:
        with reading(shard.path):
            stream = stack.enter_context(storage.open(inner))
            found = stack.enter_context(open_shard(stream, shard))
        yield found


def checked_layout(found: OpenShard, job: Job, metrics: dict[str, Metric]) -> Layout:
    """Which columns of a shard are read, after a check that they are there and free."""
    beside = dict.fromkeys(name for metric in metrics.values() for name in metric.columns)
    if not found.table.column_names:  # a file of JSON without rows, or with empty ones at first
        (mt,) = job.columns.get("mt", ("mt",))
        return Layout(mt, job.columns.get("ref", ("ref",)), None, None, {b: b for b in beside})
    layout = table_layout(found.table, job.columns, tuple(beside))
    layout = replace(layout, src=None, system=None)  # no metric reads them
    for name in (*metrics, job.reason):
        if name in found.table.column_names:
            raise AdequaError(
                f'{found.table.name} has a column "{name}" already; name the new ones otherwise '
                "with --prefix."
            )
    if isinstance(found, ParquetShard):
        found.check_text(layout.mt, layout.refs)
    return layout


def _units(found: OpenShard, layout: Layout, shard: Shard) -> Iterator[Unit]:
    """The units of a shard; what fails while one is read is no failure to write."""
    with reading(shard.path):
        yield from found.units(layout.columns)


def _content(path: str) -> Content | None:
    storage, inner = storage_of(path)
    with reading(path):
        return storage.content(inner)
