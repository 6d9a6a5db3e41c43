"""Scores one shard: the same rows with new columns, complete under its name or not at all.

A filter writes no columns, and of the rows those alone whose score is in bounds.

A row that cannot be scored harms no other: what fails as a whole is tried again in halves, down to
the rows that fail by themselves. No row is blamed for a metric that does not work: where rows fail,
the metric must score a plain sentence. A worker may lack what the driver has (a GPU, a library, a
file), or may lose it while it works.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, compress, count
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from adequa.errors import AdequaError, UnwritableError
from adequa.io.columns import Chunk, Layout, OpenTable, chunk_segments, listed, table_layout
from adequa.io.parquet import ParquetShard
from adequa.io.shards import NewColumns, Shard, Unit, open_shard
from adequa.io.storage import Content, DigestWriter, joined_content, reading, storage_of
from adequa.io.text_pairs import TextPair
from adequa.languages import TargetLanguage
from adequa.metrics.base import Metric, Part, Remark, remarks_since
from adequa.metrics.language import is_of_language
from adequa.scoring.manifest import (
    Bounds,
    CorpusJob,
    MetricSums,
    RowCounts,
    ShardRecord,
    read_record,
    unsized_signature,
    write_record,
)
from adequa.segments import FloatArray, Segments, concatenate, is_blank

if TYPE_CHECKING:
    from adequa.io.shards import OpenShard, ShardCopier, ShardWriter

_BATCH = 1024  # rows: with slow metrics, a whole unit would take minutes between reports
_FIELDS: Mapping[Part, str] = {"reference": "ref", "source": "src"}
_numbers = count(1)  # in the plain sentences, so that no cached score answers for the metric

T = TypeVar("T")


class BrokenMetricError(AdequaError):
    """A metric that cannot score anything: no row and no shard is to blame."""


def check_metric(column: str, metric: Metric) -> None:
    """Raise unless a metric scores a plain sentence."""
    number = next(_numbers)
    plain = Segments(
        (f"A cat sat there {number} times.",),
        ((f"The cat sat there {number} times.",),),
        sources=(f"The cat sat there {number} times.",),
        ids=dict.fromkeys(metric.columns, ("0.5",)),
    )
    try:
        score = metric.segment_scores(metric.checked_statistics(plain))
    except AdequaError as error:
        raise BrokenMetricError(str(error)) from error
    except Exception as error:
        raise BrokenMetricError(
            f"{column} cannot score so much as a plain sentence: {one_line(error)}"
        ) from error
    if not np.isfinite(score).all():
        raise BrokenMetricError(f"{column} makes no number of so much as a plain sentence.")


def one_line(error: Exception) -> str:
    """What went wrong, on one line and as a sentence.

    >>> one_line(KeyError("dogs"))
    "KeyError: 'dogs'."
    """
    if isinstance(error, AdequaError):
        return str(error)
    first = str(error).strip().partition("\n")[0]
    return ": ".join(filter(None, [type(error).__name__, first])).rstrip(".") + "."


@dataclass(frozen=True, slots=True)
class ShardProgress:
    """How far a shard is."""

    shard: str
    rows: int
    unscored: int
    done: float  # from 0 to 1
    resumed: bool = False  # finished by an earlier run


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """A finished shard: its record, or a sentence on what is wrong with it."""

    shard: str
    record: ShardRecord | None = None
    error: str | None = None
    stops: bool = False  # whether all other shards would fail too
    resumed: bool = False  # finished by an earlier run


Report: TypeAlias = Callable[[ShardProgress], None]
Veto: TypeAlias = Callable[[Shard], str | None]


class ShardScorer:
    """Scores shards one after the other with metrics that are loaded once.

    Metrics that are passed in were checked before; those that are loaded here are checked here.
    """

    def __init__(self, job: CorpusJob, metrics: dict[str, Metric] | None = None) -> None:
        self._job = job
        self._metrics = job.load() if metrics is None else metrics
        if metrics is None:
            for column, metric in self._metrics.items():
                check_metric(column, metric)

    def __call__(self, shard: Shard, report: Report, veto: Veto | None = None) -> ShardOutcome:
        """Score a shard, unless it is finished, or `veto` returns a reason against it."""
        try:
            return self._outcome(shard, report, veto)
        except UnwritableError as error:
            return ShardOutcome(shard.name, error=str(error), stops=True)
        except BrokenMetricError as error:
            sentence = (
                f"{shard.name}: {error} What is finished stays; the same command does the rest."
            )
            return ShardOutcome(shard.name, error=sentence, stops=True)
        except AdequaError as error:
            return ShardOutcome(shard.name, error=str(error))
        except (OSError, MemoryError) as error:  # of the machine
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            return ShardOutcome(shard.name, error=f"{shard.name}: {reason}.", stops=True)
        except Exception as error:  # noqa: BLE001  # it must not stop the other shards
            return ShardOutcome(shard.name, error=f"{shard.name}: {one_line(error)}")

    def _outcome(self, shard: Shard, report: Report, veto: Veto | None) -> ShardOutcome:
        record = self._valid_record(shard)
        if record is not None:
            report(ShardProgress(shard.name, record.rows, record.unscored, 1.0, resumed=True))
            return ShardOutcome(shard.name, record, resumed=True)
        if veto is not None and (reason := veto(shard)) is not None:
            return ShardOutcome(shard.name, error=reason)
        return ShardOutcome(shard.name, self._scored(shard, report))

    def _valid_record(self, shard: Shard) -> ShardRecord | None:
        """The record of a shard, if it holds for the input and the output of now."""
        record = read_record(self._job.record(shard))
        if record is None or {*record.metrics} != {*self._metrics}:
            return None
        is_valid = (
            _content(shard.paths) == record.input
            and _content(self._job.targets(shard)) == record.output
        )
        return record if is_valid else None

    def _scored(self, shard: Shard, report: Report) -> ShardRecord:
        content = _content(shard.paths)
        if content is None:
            raise AdequaError(f"There is no file {' or '.join(shard.paths)}.")
        targets = [storage_of(path) for path in self._job.targets(shard)]
        _, temporaries = storage_of(self._job.temporaries)
        with opened(shard) as rows:
            layout = checked_layout(rows, self._job, self._metrics)
            scorer = RowScorer(layout, self._metrics, self._job)
            counter = _RowCounter(shard.name, report)
            with ExitStack() as outputs:
                files = [
                    outputs.enter_context(storage.replacing(target, temporaries))
                    for storage, target in targets
                ]
                units = _units(rows, layout, shard)
                writer = self._writer(rows, layout, files)
                first_reason = _write_units(units, scorer, counter, writer)
                if _content(shard.paths) != content:
                    raise AdequaError(
                        f"{' or '.join(shard.paths)} has changed while it was read; the same "
                        "command reads it again."
                    )
                record = ShardRecord(
                    shard=shard.name,
                    rows=counter.rows,
                    unscored=counter.unscored,
                    first_reason=first_reason,
                    empty=scorer.empty,
                    input=content,
                    output=joined_content([file.content for file in files]),
                    metrics=scorer.sums,
                    filtered=writer.counts if isinstance(writer, RowFilter) else {},
                )
                write_record(self._job, shard, record)
        report(ShardProgress(shard.name, counter.rows, counter.unscored, 1.0))
        return record

    def _writer(
        self, rows: OpenShard | TextPair, layout: Layout, files: Sequence[DigestWriter]
    ) -> ShardWriter | RowFilter:
        sinks = cast("Sequence[BinaryIO]", files)
        if self._job.bounds is not None:
            (column,) = self._metrics
            copier = rows.copier(sinks)
            return RowFilter(copier, column, self._job.bounds, layout.ids.get("lp"))
        if isinstance(rows, TextPair):
            raise TypeError("a text pair has no place for scores")
        signatures = {column: unsized_signature(metric) for column, metric in self._metrics.items()}
        return rows.writer(sinks[0], signatures, self._job.reason)


def _write_units(
    units: Iterator[Unit],
    scorer: RowScorer,
    counter: _RowCounter,
    writer: ShardWriter | RowFilter,
) -> str | None:
    """Score and write all units; return why the first row without a score has none."""
    first_reason: str | None = None
    for unit in units:
        new = scorer.new_columns(unit, counter.within(unit))
        writer.write(unit, new)
        first_reason = first_reason or next(filter(None, new.reasons), None)
    writer.close()
    return first_reason


class RowFilter:
    """Writes the rows whose score is in bounds, and counts them by language pair."""

    def __init__(self, copier: ShardCopier, column: str, bounds: Bounds, pairs: str | None) -> None:
        self._copier, self._column, self._bounds = copier, column, bounds
        self._pairs = pairs  # the column that names the language pair of a row
        self.counts: dict[str, RowCounts] = {}

    def write(self, unit: Unit, new: NewColumns) -> None:
        """Write the rows of a unit that are kept."""
        scores = new.scores[self._column]
        inside = self._bounds.contains(scores)
        self._copier.write(unit, inside)
        cells = [None] * unit.count if self._pairs is None else unit.chunk.columns[self._pairs]
        names = ["" if is_blank(cell) else str(cell) for cell in cells]
        rows, rows_inside = Counter(names), Counter(compress(names, inside))
        unscored = Counter(compress(names, np.isnan(scores)))
        for name in rows:
            counts = RowCounts(rows[name], rows_inside[name], unscored[name])
            self.counts[name] = self.counts.get(name, RowCounts()) + counts

    def close(self) -> None:
        """Write what comes at the end."""
        self._copier.close()


class _RowCounter:
    """Counts the rows of a shard, and reports how far it is."""

    def __init__(self, shard: str, report: Report) -> None:
        self._shard, self._report = shard, report
        self._done = 0.0  # with the units before
        self.rows = self.unscored = 0

    def within(self, unit: Unit) -> Callable[[int, int], None]:
        """A function that counts rows of a unit that were just scored."""
        before, start = self._done, self.rows
        self._done = unit.done

        def add(rows: int, unscored: int) -> None:
            self.rows += rows
            self.unscored += unscored
            done = before + (unit.done - before) * (self.rows - start) / unit.count
            self._report(ShardProgress(self._shard, self.rows, self.unscored, done))

        return add


@contextmanager
def opened(shard: Shard) -> Iterator[OpenShard | TextPair]:
    """A shard, open for reading."""
    with ExitStack() as stack:
        streams = []
        for path in shard.paths:
            storage, inner = storage_of(path)
            with reading(path):
                streams.append(stack.enter_context(storage.open(inner)))
        with reading(shard.path):
            rows = TextPair(streams, shard) if shard.source else open_shard(streams[0], shard)
        yield rows


def checked_layout(
    rows: OpenShard | TextPair, job: CorpusJob, metrics: Mapping[str, Metric]
) -> Layout:
    """The columns of a shard that are read, after a check that they exist and new ones are free."""
    ids = tuple(dict.fromkeys(name for metric in metrics.values() for name in metric.columns))
    names = rows.table.column_names
    if not names:  # a file of JSON without rows, or with empty ones at first
        (mt,), (src,) = (job.columns.get(field, (field,)) for field in ("mt", "src"))
        refs = job.columns.get("ref", ("ref",))
        layout = Layout(mt, refs, src, None, {name: name for name in ids})
        return _that_are_read(layout, metrics)
    pairs = ("lp",) if "lp" in job.columns or "lp" in names else ()
    layout = table_layout(rows.table, job.columns, tuple(dict.fromkeys((*ids, *pairs))))
    _check_reads(rows.table, layout, metrics)
    if rows.table.ragged:
        layout = _with_late_columns(layout, job)
    layout = replace(_that_are_read(layout, metrics), system=None)
    for name in (*metrics, job.reason) if job.bounds is None else ():
        if name in names:
            raise AdequaError(
                f'{rows.table.name} has a column "{name}" already; name the new ones otherwise '
                "with --prefix."
            )
    if isinstance(rows, ParquetShard):
        sources = () if layout.src is None else (layout.src,)
        rows.check_text((layout.mt, *sources), layout.refs)
    return layout


def _with_late_columns(layout: Layout, job: CorpusJob) -> Layout:
    """The layout with columns of references and sources that only later rows may have."""
    mapped = {*chain.from_iterable(job.columns.values())}
    refs, src = (() if name in mapped else (name,) for name in ("ref", "src"))
    return replace(layout, refs=layout.refs or refs, src=layout.src or next(iter(src), None))


def _that_are_read(layout: Layout, metrics: Mapping[str, Metric]) -> Layout:
    """The layout without references or without sources, where no metric reads them."""
    parts = {part for metric in metrics.values() for part in metric.reads}
    return replace(
        layout,
        refs=layout.refs if "reference" in parts else (),
        src=layout.src if "source" in parts else None,
    )


def _check_reads(table: OpenTable, layout: Layout, metrics: Mapping[str, Metric]) -> None:
    """Raise where a table has no column of references or sources, and a metric needs them."""
    for column, metric in metrics.items():
        for part, field in _FIELDS.items():
            present = layout.refs if part == "reference" else layout.src
            if not present and metric.reads.get(part) == "required":
                if table.format == "text":
                    raise AdequaError(
                        f"{column} needs references, and two text files have sources and "
                        "translations alone; name a metric that needs none, or give a table with "
                        'a column "ref" with -i.'
                    )
                raise AdequaError(
                    f'{table.name} has no column "{field}", which {column} needs. It has: '
                    f"{listed(table.column_names)}. Say which one to read with --column "
                    f"{field}=NAME, or name metrics that need no {part}."
                )


def given_texts(
    shards: Sequence[Shard], job: CorpusJob, metrics: Mapping[str, Metric]
) -> dict[str, bool]:
    """Which of the texts that metrics can do without the rows must have: those of the first row.

    Otherwise one column would hold scores of several kinds. A row without any text to compare
    with does not count, nor does a shard that cannot be read.
    """
    needs = {each for metric in metrics.values() for each in metric.reads.items()}
    parts = [
        part for part in _FIELDS if (part, "optional") in needs and (part, "required") not in needs
    ]
    for shard in shards if parts else ():
        try:
            first = _texts_of_first_row(shard, job, metrics)
        except Exception:  # noqa: BLE001, S112  # whatever it is, it is reported with its shard
            continue
        if first is not None:
            return {part: first[part] for part in parts}
    return dict.fromkeys(parts, True)


def _texts_of_first_row(
    shard: Shard, job: CorpusJob, metrics: Mapping[str, Metric]
) -> dict[Part, bool] | None:
    with opened(shard) as rows:
        layout = checked_layout(rows, job, metrics)
        unit = next(_units(rows, layout, shard), None)
        if unit is None:
            return None
        for row in range(unit.count):
            given = {part: _has_text(unit.chunk, row, layout, part) for part in _FIELDS}
            if any(given.values()):
                return given
    return None


def _has_text(chunk: Chunk, row: int, layout: Layout, part: Part) -> bool:
    sources = () if layout.src is None else (layout.src,)
    names = layout.refs if part == "reference" else sources
    return not all(is_blank(chunk.columns[name][row]) for name in names)


def first_texts(
    shard: Shard, columns: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], list[str]]:
    """The first references of a shard, or else hypotheses, and the language pairs of their rows."""
    with opened(shard) as rows:
        names = rows.table.column_names
        if not names:
            return [], []
        pairs = ("lp",) if "lp" in columns or "lp" in names else ()
        layout = table_layout(rows.table, columns, pairs)
        unit = next(_units(rows, layout, shard), None)
        if unit is None:
            return [], []
        count = range(min(_BATCH, unit.count))
        named = [unit.chunk.columns[layout.ids[name]][row] for name in pairs for row in count]
        for column in (*layout.refs[:1], layout.mt):
            cells = [unit.chunk.columns[column][row] for row in count]
            first = [cell[0] if isinstance(cell, list) and cell else cell for cell in cells]
            texts = [each for each in first if isinstance(each, str)]
            if any(map(str.strip, texts)):
                break
        return texts, [str(each) for each in named]


def _other_languages(
    chunk: Chunk, count: int, layout: Layout, language: TargetLanguage
) -> dict[int, str]:
    """A reason for each row whose column lp names another target language."""
    if "lp" not in layout.ids or language.code is None:
        return {}
    pairs = [str(chunk.columns[layout.ids["lp"]][row]) for row in range(count)]
    others = {pair for pair in set(pairs) if not is_of_language(pair, language)}
    return {
        row: f"{chunk.place(row)}: it is of {pair}, and the corpus is scored as {language}."
        for row, pair in enumerate(pairs)
        if pair in others
    }


def _units(rows: OpenShard | TextPair, layout: Layout, shard: Shard) -> Iterator[Unit]:
    """The units of a shard; a failure to read one is no failure to write."""
    with reading(shard.path):
        yield from rows.units(layout.columns)


def _content(paths: Sequence[str]) -> Content | None:
    """Size and digest of a file, or of several as one; None where one is not there."""
    contents = []
    for path in paths:
        storage, inner = storage_of(path)
        with reading(path):
            contents.append(storage.content(inner))
    there = [content for content in contents if content is not None]
    return joined_content(there) if len(there) == len(contents) else None


class RowScorer:
    """Scores the rows of a shard, and sums the statistics of its metrics."""

    def __init__(
        self,
        layout: Layout,
        metrics: Mapping[str, Metric],
        job: CorpusJob,
    ) -> None:
        self._layout, self._metrics, self._job = layout, metrics, job
        self._scored_layout = replace(
            layout,
            refs=layout.refs if job.given.get("reference", True) else (),
            src=layout.src if job.given.get("source", True) else None,
        )
        self._needs_sources = any(
            metric.reads.get("source") == "required" for metric in metrics.values()
        )
        self.sums = {column: MetricSums() for column in metrics}
        self.empty = 0  # rows with a blank hypothesis that all metrics scored

    def new_columns(self, unit: Unit, add: Callable[[int, int], None]) -> NewColumns:
        """The new columns of a unit; `add` counts rows as they are scored, and those that fail."""
        parts = []
        for start in range(0, unit.count, _BATCH):
            rows = range(start, min(start + _BATCH, unit.count))
            parts.append(self._score_batch(_selected(unit.chunk, rows), len(rows)))
            add(len(rows), sum(reason is not None for reason in parts[-1].reasons))
        return NewColumns(
            {
                column: np.concatenate([np.empty(0), *(part.scores[column] for part in parts)])
                for column in self._metrics
            },
            [reason for part in parts for reason in part.reasons],
        )

    def _score_batch(self, chunk: Chunk, count: int) -> NewColumns:
        layout = self._layout
        reasons = _too_long(chunk, count, layout, self._job.max_characters)
        reasons = _other_languages(chunk, count, layout, self._job.language) | reasons
        reasons = _other_texts(chunk, count, layout, self._job.given) | reasons
        if self._needs_sources:
            reasons = _without_source(chunk, count, layout) | reasons
        fit = [row for row in range(count) if row not in reasons]
        scores = {column: np.full(count, np.nan) for column in self._metrics}
        self._score_rows(chunk, fit, scores, reasons)
        return NewColumns(scores, [reasons.get(row) for row in range(count)])

    def _score_rows(
        self,
        chunk: Chunk,
        fit: Sequence[int],
        scores: Mapping[str, FloatArray],
        reasons: dict[int, str],
    ) -> None:
        """Fill in the scores of some rows of a batch, or the reasons why they have none."""
        parts, refused = attempt_in_halves(
            fit, lambda rows: chunk_segments(_selected(chunk, rows), self._scored_layout, "")
        )
        reasons |= {row: str(error) for row, error in refused.items()}
        rows = [row for part, _ in parts for row in part]
        if not rows:
            return
        segments = concatenate([part for _, part in parts])
        for column, metric in self._metrics.items():
            scores[column][rows], failed = _score(column, metric, segments, self.sums[column])
            for index, error in failed.items():
                row = rows[index]
                reason = f"{chunk.place(row)}: {column} cannot score it: {one_line(error)}"
                reasons.setdefault(row, reason)
        blank = (not hypothesis.strip() for hypothesis in segments.hypotheses)
        self.empty += sum(row not in reasons for row in compress(rows, blank))


class _ScoredRows(NamedTuple):
    """Rows that one metric scored together."""

    segments: Segments
    statistics: FloatArray
    scores: FloatArray
    remarks: tuple[Remark, ...]


def _score(
    column: str, metric: Metric, segments: Segments, sums: MetricSums
) -> tuple[FloatArray, dict[int, Exception]]:
    """The scores of one metric, NaN where there is none, and the errors of those rows."""
    failures = 0

    def attempt(rows: Sequence[int]) -> _ScoredRows:
        nonlocal failures
        selected = segments if len(rows) == len(segments) else segments.select(rows)
        try:
            return _scored_rows(metric, selected)
        except Exception:
            if len(rows) == 1:
                failures += 1
                if failures == 1:  # at once: all others would be tried in vain
                    check_metric(column, metric)
            raise

    parts, failed = attempt_in_halves(range(len(segments)), attempt)
    if failures > 1:  # it may have broken after the first
        check_metric(column, metric)
    scores = np.full(len(segments), np.nan)
    for rows, part in parts:
        scores[rows] = part.scores
        sums.add(part.statistics, part.segments, part.remarks)
    return scores, failed


def _scored_rows(metric: Metric, segments: Segments) -> _ScoredRows:
    before = metric.counted_remarks()
    statistics = metric.checked_statistics(segments)
    scores = metric.segment_scores(statistics)
    if not np.isfinite(scores).all():
        raise AdequaError("the score is no number.")
    return _ScoredRows(
        segments, statistics, scores, remarks_since(before, metric.counted_remarks())
    )


def attempt_in_halves(
    rows: Sequence[int], attempt: Callable[[Sequence[int]], T]
) -> tuple[list[tuple[Sequence[int], T]], dict[int, Exception]]:
    """Apply a function to rows in as few parts as succeed; return these, and the errors by row.

    >>> attempt_in_halves([4, 2, 0], lambda rows: [8 // row for row in rows])
    ([([4], [2]), ([2], [4])], {0: ZeroDivisionError('integer division or modulo by zero')})
    """
    if not rows:
        return [], {}
    try:
        return [(rows, attempt(rows))], {}
    except (MemoryError, OSError, BrokenMetricError):
        raise  # no row is to blame for the machine
    except Exception as error:  # noqa: BLE001  # whatever it is, it must not stop a long job
        if len(rows) == 1:
            return [], {rows[0]: error}
    half = len(rows) // 2
    first, first_failed = attempt_in_halves(rows[:half], attempt)
    second, second_failed = attempt_in_halves(rows[half:], attempt)
    return [*first, *second], first_failed | second_failed


def _selected(chunk: Chunk, rows: Sequence[int]) -> Chunk:
    return Chunk(
        {name: [values[row] for row in rows] for name, values in chunk.columns.items()},
        lambda index: chunk.place(rows[index]),
        chunk.escapes,
    )


def _other_texts(
    chunk: Chunk, count: int, layout: Layout, given: Mapping[str, bool]
) -> dict[int, str]:
    """A reason for each row that lacks a text which the first row has, or has one more."""
    reasons: dict[int, str] = {}
    for part, is_given in cast("Mapping[Part, bool]", given).items():
        there, first = (f"no {part}", "one") if is_given else (f"a {part}", "none")
        for row in range(count):
            if _has_text(chunk, row, layout, part) != is_given:
                reasons.setdefault(
                    row,
                    f"{chunk.place(row)}: there is {there}, and the first row of the corpus has "
                    f"{first}; score rows with and without a {part} apart.",
                )
    return reasons


def _without_source(chunk: Chunk, count: int, layout: Layout) -> dict[int, str]:
    """A reason for each row without a source, where a metric needs one."""
    if layout.src is None:
        return {}
    return {
        row: f'{chunk.place(row)}: "{layout.src}" is empty, and a metric needs the source.'
        for row, value in enumerate(chunk.columns[layout.src][:count])
        if is_blank(value)
    }


def _too_long(chunk: Chunk, count: int, layout: Layout, limit: int) -> dict[int, str]:
    """A reason for each row with a text beyond the limit."""
    reasons: dict[int, str] = {}
    sources = () if layout.src is None else (layout.src,)
    for name in (layout.mt, *layout.refs, *sources):
        values = chunk.columns[name]
        for row in range(count):
            value = values[row]
            texts = value if isinstance(value, list) else (value,)
            length = max((len(text) for text in texts if isinstance(text, str)), default=0)
            if length > limit:
                reasons.setdefault(
                    row,
                    f'{chunk.place(row)}: "{name}" has {length:,} characters, more than the '
                    f"{limit:,} of --max-characters.",
                )
    return reasons
