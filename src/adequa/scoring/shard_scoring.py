"""Scores one shard: the same rows with new columns, whole under its name or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import BinaryIO, TypeAlias, cast

from adequa.errors import AdequaError, UnwritableError
from adequa.io.shard_parquet import ParquetShard
from adequa.io.shard_rows import OpenShard, RowWriter, Unit, open_shard
from adequa.io.shards import Shard
from adequa.io.storage import Content, Written, reading, storage_of
from adequa.io.tables import Layout, table_layout
from adequa.metrics.base import Metric
from adequa.scoring.job import Job, unsized
from adequa.scoring.probe import SickMetricError, check_works, in_words
from adequa.scoring.records import MetricSums, Record, kept_record, write_record
from adequa.scoring.unit_scoring import RowScorer, Sums


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

    def _writer(self, found: OpenShard, file: Written) -> RowWriter:
        signatures = {column: unsized(metric) for column, metric in self._metrics.items()}
        return found.writer(cast("BinaryIO", file), signatures, self._job.reason)

    @staticmethod
    def _write(
        units: Iterator[Unit], rows: RowScorer, counted: _Counted, writer: RowWriter
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
            stream = stack.enter_context(storage.opened(inner))
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
