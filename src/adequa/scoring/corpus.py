"""A corpus of shards in, the same rows with scores out: on this machine or on a cluster.

Every shard is a piece of work by itself, done by one worker from its first row to its last. What
the worker writes depends on the shard and the metrics alone, so that neither the engine nor the
number of workers shows in it. Memory is that of a unit of rows for each worker, however large the
corpus is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from adequa.errors import AdequaError
from adequa.io.atomic import locked
from adequa.io.columns import refuse_equal_names
from adequa.io.parquet import ParquetShard
from adequa.io.shards import Shard, find_shards, shard_matcher
from adequa.io.storage import LOCAL, is_address, location, storage_of, without_slash
from adequa.metrics.base import Metric, sentences, together
from adequa.metrics.registry import in_full, no_device
from adequa.scoring.local import run_local
from adequa.scoring.manifest import (
    MAX_CHARACTERS,
    Job,
    Record,
    described,
    make_job,
    settle,
    write_manifest,
)
from adequa.scoring.results import MetricResult, Results, SystemResult
from adequa.scoring.shard import Outcome, Progress, check_works, checked_layout, opened

Engine: TypeAlias = Literal["local", "ray"]

CORPUS = "corpus"  # the name of all rows together, as of one system
_DECIMALS = 10  # of corpus scores: how the corpus is cut moves the last bits of a sum


@dataclass(frozen=True, slots=True)
class Tally:
    """How far all shards are together."""

    rows: int
    unscored: int
    bytes: int  # of the shards as they are stored
    kept: int = 0  # rows that were finished before this job


@dataclass(frozen=True, slots=True, eq=False)
class CorpusScores:
    """What came of a corpus."""

    results: Results  # of all rows together
    records: tuple[Record, ...]  # by shard

    @property
    def rows(self) -> int:
        """All of them."""
        return sum(record.rows for record in self.records)

    @property
    def unscored(self) -> int:
        """Rows that lack a score of some metric."""
        return sum(record.unscored for record in self.records)

    @property
    def first_reason(self) -> str | None:
        """Why the first row that lacks a score does."""
        reasons = (record.first_reason for record in self.records)
        return next((reason for reason in reasons if reason is not None), None)

    @property
    def scoreless(self) -> tuple[str, ...]:
        """Metrics that scored no row at all; their corpus score is NaN."""
        metrics = self.results.metrics
        return tuple(each.name for each in metrics if math.isnan(each.systems[0].score))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know of the scores, such as how many texts were cut."""
        by_metric = (
            together(
                remark for record in self.records for remark in record.metrics[each.name].noticed
            )
            for each in self.results.metrics
        )
        return sentences(dict.fromkeys(remark for remarks in by_metric for remark in remarks))


def score_corpus(
    inputs: str | os.PathLike[str],
    output: str | os.PathLike[str],
    metrics: str | Sequence[str] = "adequa",
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    engine: Engine = "local",
    workers: int | None = 1,
    address: str | None = None,
    gpus: float = 0,
    device: str | None = None,
    prefix: str = "",
    max_characters: int = MAX_CHARACTERS,
    told: Callable[[Tally], None] | None = None,
) -> CorpusScores:
    """Score the shards of a corpus into a folder; what is finished there already is kept.

    `inputs` is a pattern (`corpus/*.parquet`), a folder, a file or an address (`s3://...`).
    `workers` are processes, or on Ray actors; None takes as many as there are CPUs, or GPUs where
    `gpus` says how many of them each worker takes. With more than one worker of the local engine, a
    program of its own needs `if __name__ == "__main__":` around the call. `address` is that of a
    Ray cluster ("auto" for the one that runs here); without it, Ray starts on this machine. Trained
    metrics run on `device`: on the CPU if none is named, or on `cuda` with `gpus`.
    """
    if engine not in get_args(Engine):
        raise AdequaError(f'"{engine}" is no engine; there are {" and ".join(get_args(Engine))}.')
    if workers is not None and workers < 1:
        raise AdequaError(f"There must be one worker or more, not {workers}.")
    target = without_slash(os.fspath(output))
    if not target:
        raise AdequaError("The output is empty; name a folder for the scores.")
    target = target if is_address(target) else os.path.abspath(target)  # noqa: PTH100
    given = os.fspath(inputs)
    shards = find_shards(given)
    named = {
        part: (names,) if isinstance(names, str) else tuple(names)
        for part, names in (columns or {}).items()
    }
    specifications = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    chosen = device or ("cuda" if gpus else "cpu")
    job, loaded = make_job(
        target, tuple(map(in_full, specifications)), named,
        prefix=prefix, max_characters=max_characters, device=chosen,
        device_here=chosen if engine == "local" else "cpu",  # a cluster's GPUs are elsewhere
    )  # fmt: skip
    if device is not None and not job.devices:
        raise no_device(specifications)
    _check(loaded)
    _refuse_overlap(given, shards, job)
    _check_shards(shards, job, loaded)
    description = described(job, loaded)
    # The folder is ours until the engine has ended, and all workers with it.
    with _held(job), _engine(engine, workers, address, gpus, loaded) as run:
        settle(job, description, shards)
        records = _gathered(run(job, shards, _Counting(shards, told)), shards)
        results = _results(loaded, records)
        write_manifest(
            job,
            description,
            records,
            {each.name: each.systems[0].score for each in results.metrics},
            {each.name: str(each.signature) for each in results.metrics},
        )
    return CorpusScores(results, records)


class _Counting:
    """Adds up what is told of single shards."""

    def __init__(self, shards: Sequence[Shard], told: Callable[[Tally], None] | None) -> None:
        self._sizes = {shard.name: shard.size for shard in shards}
        self._last: dict[str, Progress] = {}
        self._rows = self._unscored = self._kept = 0
        self._bytes = 0.0
        self._told = told

    def __call__(self, progress: Progress) -> None:
        """Count a shard anew: one that a lost worker had begun starts over."""
        before = self._last.get(progress.shard, Progress(progress.shard, 0, 0, 0.0))
        self._last[progress.shard] = progress
        self._rows += progress.rows - before.rows
        self._unscored += progress.unscored - before.unscored
        self._kept += progress.rows * progress.kept - before.rows * before.kept
        self._bytes += (progress.done - before.done) * self._sizes[progress.shard]
        if self._told is not None:
            self._told(Tally(self._rows, self._unscored, round(self._bytes), self._kept))


Outcomes: TypeAlias = Generator[Outcome, None, None]
Run: TypeAlias = Callable[[Job, Sequence[Shard], Callable[[Progress], None]], Outcomes]


def _engine(
    engine: Engine,
    workers: int | None,
    address: str | None,
    gpus: float,
    loaded: dict[str, Metric],
) -> AbstractContextManager[Run]:
    """What runs the work, ready to do so; metrics that are loaded need not be so again."""
    if engine == "local":
        if address is not None or gpus:
            raise AdequaError(
                "An address and GPUs by worker go with the ray engine; the local one runs trained "
                "metrics on a GPU with the device cuda."
            )
        return nullcontext(
            lambda job, shards, told: run_local(job, shards, told, workers=workers, loaded=loaded)
        )
    from adequa.scoring.ray import ray_engine  # noqa: PLC0415  # an extra, and heavy

    return ray_engine(workers=workers, address=address, gpus=gpus)


def _check(metrics: Mapping[str, Metric]) -> None:
    """Raise what is wrong with a metric itself, before any row is blamed for it."""
    for column, metric in metrics.items():
        if metric.needs_whole_corpus:
            raise AdequaError(
                f"{column} weighs every segment by all others, so it cannot score a corpus shard "
                "by shard; leave it out."
            )
        check_works(column, metric)


def _refuse_overlap(inputs: str, shards: Sequence[Shard], job: Job) -> None:
    """Raise where scores would be written over shards, or be taken for shards the next time."""
    kind, folder = location(job.output)
    would_match = shard_matcher(inputs)
    all_paths = {location(shard.path): shard for shard in shards}
    for (its_kind, path), shard in all_paths.items():
        within = kind == its_kind and folder in path.parents
        if within or location(job.target(shard)) in all_paths:  # by links further down
            raise AdequaError(f"{shard.path} is in the folder that is written to; give another.")
        if would_match((kind, folder / shard.name)):
            raise AdequaError(
                f"{job.target(shard)}, which would be written, would be among the shards of "
                f"{inputs}; give a folder outside of them with -o."
            )


def _check_shards(shards: Sequence[Shard], job: Job, metrics: dict[str, Metric]) -> None:
    """Raise where shards lack a column, or differ in their columns, before work is begun.

    A file that cannot be read at all is told of in its turn, when the others are done.
    """
    first: tuple[str, Any] | None = None
    for shard in shards:
        with ExitStack() as stack:
            try:
                found = stack.enter_context(opened(shard))
            except AdequaError:
                continue
            if isinstance(found, ParquetShard):
                refuse_equal_names(found.table)  # by which columns are compared
                first = first or (shard.name, found.schema)
                _refuse_differences(first, shard.name, found.schema)
            checked_layout(found, job, metrics)


def _refuse_differences(first: tuple[str, Any], name: str, schema: Any) -> None:
    before, expected = first
    if schema.equals(expected):
        return
    for column in dict.fromkeys([*expected.names, *schema.names]):
        # Whether there may be nulls is the shard's own affair.
        kinds = [
            str(each.field(column).type).replace(" not null", "")
            if column in each.names
            else "absent"
            for each in (expected, schema)
        ]
        if kinds[0] != kinds[1]:
            raise AdequaError(
                f'{name} differs from {before} in its columns: "{column}" is {kinds[1]} here and '
                f"{kinds[0]} there. Score them apart, or give them the same columns."
            )
    if schema.names != expected.names:
        raise AdequaError(f"{name} has its columns in another order than {before}.")


@contextmanager
def _held(job: Job) -> Iterator[None]:
    """The output folder, for one job at a time; what killed workers left half written goes."""
    storage, folder = storage_of(job.output)
    _, temporaries = storage_of(job.temporaries)
    # By whatever address: only folders of this machine have locks.
    with locked(Path(folder)) if storage.kind == LOCAL else nullcontext("us") as holder:
        if holder == "others":
            raise AdequaError(
                f"Another adequa is writing to {job.output}; let it finish, or give another folder."
            )
        if holder == "us":
            storage.remove_folder(temporaries)
        try:
            yield
        finally:
            if holder == "us":
                storage.remove_folder(temporaries)


def _gathered(outcomes: Outcomes, shards: Sequence[Shard]) -> tuple[Record, ...]:
    """The records of all shards, or a sentence on those that could not be scored."""
    records: dict[str, Record] = {}
    errors: dict[str, str] = {}
    with closing(outcomes):  # workers end before what they leave is looked at
        for outcome in outcomes:
            if outcome.record is not None:
                records[outcome.shard] = outcome.record
            elif outcome.stops:
                raise AdequaError(outcome.error or "")
            else:
                errors[outcome.shard] = outcome.error or ""
    if errors:
        others = len(errors) - 1
        also = f" {others} more shard{' has' if others == 1 else 's have'} faults too."
        raise AdequaError(
            f"{errors[min(errors)]}{also if others else ''} The other shards ({len(records)} of "
            f"{len(shards)}) are scored and stay; the same command does the rest."
        )
    return tuple(records[shard.name] for shard in shards)


def _results(metrics: Mapping[str, Metric], records: Sequence[Record]) -> Results:
    empty = sum(record.empty for record in records)
    return Results(
        metrics=tuple(_result(column, metric, records) for column, metric in metrics.items()),
        segment_counts={CORPUS: sum(record.rows for record in records)},
        empty_hypotheses={CORPUS: empty} if empty else {},
    )


def _result(column: str, metric: Metric, records: Sequence[Record]) -> MetricResult:
    of_metric = [record.metrics[column] for record in records]
    totals = [each.total for each in of_metric if each.scored]
    score = math.nan
    if totals:
        total = np.sum(np.array(totals), axis=0)
        score = round(float(metric.system_scores(total[None])[0]), _DECIMALS)
    counts = {count for each in of_metric for count in each.reference_counts}
    references = counts.pop() if len(counts) == 1 else None
    return MetricResult(
        name=column,
        signature=metric.signature(references),
        segment_signature=metric.segment_signature(references),
        higher_is_better=metric.higher_is_better,
        decimals=metric.decimals,
        systems=(SystemResult(CORPUS, score),),
    )
