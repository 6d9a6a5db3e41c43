"""Scores a corpus of shards into a folder, on this machine or on a cluster.

One worker scores a shard from its first row to its last. What it writes depends on the shard and
the metrics alone, so that engine and number of workers change no byte. Memory is that of a unit of
rows for each worker, however large the corpus is.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from adequa.errors import AdequaError
from adequa.io.atomic import locked
from adequa.io.columns import refuse_equal_names
from adequa.io.parquet import ParquetShard
from adequa.io.shards import Shard, find_shards, shard_matcher
from adequa.io.storage import LOCAL, is_address, location, storage_of
from adequa.io.text_pairs import text_pair
from adequa.languages import UNKNOWN_LANGUAGE, TargetLanguage
from adequa.languages import target_language as find_language
from adequa.metrics.base import Metric, merge_remarks, render_remarks
from adequa.metrics.language import metrics_for, remaining_remarks, warn_of_languages
from adequa.metrics.registry import device_error, with_absolute_paths
from adequa.scoring.api import default_metric
from adequa.scoring.local import run_local
from adequa.scoring.manifest import (
    MAX_CHARACTERS,
    Bounds,
    CorpusJob,
    ShardRecord,
    begin,
    make_job,
    write_manifest,
)
from adequa.scoring.results import ScoredMetric, ScoredSystem, ScoringResult
from adequa.scoring.shard import (
    ShardOutcome,
    ShardProgress,
    check_metric,
    checked_layout,
    first_texts,
    given_texts,
    opened,
)

Engine: TypeAlias = Literal["local", "ray"]

CORPUS = "corpus"  # the name of the system that all rows are
_DECIMALS = 10  # of corpus scores: the cut into shards moves the last bits of a sum


@dataclass(frozen=True, slots=True)
class CorpusProgress:
    """How far all shards are together."""

    rows: int
    unscored: int
    bytes: int  # of the shards as they are stored
    resumed: int = 0  # rows that an earlier run finished


@dataclass(frozen=True, slots=True, eq=False)
class CorpusScores:
    """The scores of a corpus, and the records of its shards."""

    results: ScoringResult  # of all rows together
    records: tuple[ShardRecord, ...]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(record.rows for record in self.records)

    @property
    def unscored(self) -> int:
        """Number of rows that lack a score of a metric."""
        return sum(record.unscored for record in self.records)

    @property
    def first_reason(self) -> str | None:
        """Why the first row without a score has none."""
        reasons = (record.first_reason for record in self.records)
        return next((reason for reason in reasons if reason is not None), None)

    @property
    def scoreless(self) -> tuple[str, ...]:
        """Metrics that scored no row at all; their corpus score is NaN."""
        metrics = self.results.metrics
        return tuple(each.name for each in metrics if math.isnan(each.systems[0].score))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on the scores, such as how many texts were cut."""
        by_metric = (
            merge_remarks(
                remark for record in self.records for remark in record.metrics[each.name].remarks
            )
            for each in self.results.metrics
        )
        rendered = render_remarks(
            dict.fromkeys(remark for remarks in by_metric for remark in remarks)
        )
        return remaining_remarks(rendered, (each.warning for each in self.results.metrics), ())


def score_corpus(
    inputs: str | os.PathLike[str],
    output: str | os.PathLike[str],
    metrics: str | Sequence[str] | None = None,
    *,
    language: str | TargetLanguage | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    engine: Engine = "local",
    workers: int | None = 1,
    address: str | None = None,
    gpus: float = 0,
    device: str | None = None,
    prefix: str = "",
    max_characters: int = MAX_CHARACTERS,
    progress: Callable[[CorpusProgress], None] | None = None,
) -> CorpusScores:
    """Score the shards of a corpus into a folder; what is finished there is not scored again.

    `language` and the default of `metrics` are those of `score`; a language that is not given is
    detected from the beginning of the first shard. Rows whose column `lp` names another are left
    without scores.

    `inputs` is a pattern (`corpus/*.parquet`), a folder, a file or an address (`s3://...`).
    `workers` are processes, or on Ray actors; None takes as many as there are CPUs, or GPUs where
    `gpus` says how many of them each worker takes. With more than one worker of the local engine, a
    program of its own needs `if __name__ == "__main__":` around the call. `address` is that of a
    Ray cluster ("auto" for the one that runs here); without it, Ray starts on this machine. Trained
    metrics run on `device`: on the CPU if none is named, or on `cuda` with `gpus`. `progress` is
    called with a `CorpusProgress` while the shards are scored.
    """
    run = Execution(engine, workers, address, gpus, device, progress)
    return run_corpus(
        inputs, output, metrics, run,
        language=language, columns=columns, prefix=prefix, max_characters=max_characters,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Execution:
    """Where and by how many workers a corpus is scored."""

    engine: Engine = "local"
    workers: int | None = 1
    address: str | None = None
    gpus: float = 0
    device: str | None = None
    progress: Callable[[CorpusProgress], None] | None = None

    def __post_init__(self) -> None:
        if self.engine not in get_args(Engine):
            engines = " and ".join(get_args(Engine))
            raise AdequaError(f'"{self.engine}" is no engine; there are {engines}.')
        if self.workers is not None and self.workers < 1:
            raise AdequaError(f"There must be one worker or more, not {self.workers}.")


def run_corpus(
    inputs: str | os.PathLike[str],
    output: str | os.PathLike[str],
    metrics: str | Sequence[str] | None,
    execution: Execution,
    *,
    language: str | TargetLanguage | None,
    columns: Mapping[str, str | Sequence[str]] | None,
    prefix: str = "",
    max_characters: int = MAX_CHARACTERS,
    bounds: Bounds | None = None,
    source: str | os.PathLike[str] | None = None,
) -> CorpusScores:
    """Score a corpus as `score_corpus` does, or with `bounds` filter it by one metric.

    With `source`, a text file, `inputs` is the text file of its translations.
    """
    if not os.fspath(output):
        raise AdequaError("The output is empty; name a folder to write to.")
    target = re.sub(r"(?<=[^/:])/+$", "", os.fspath(output))
    target = target if is_address(target) else os.path.abspath(target)  # noqa: PTH100
    pattern = os.fspath(inputs)
    shards = find_shards(pattern) if source is None else [text_pair(pattern, os.fspath(source))]
    if source is not None and execution.engine != "local":
        raise AdequaError("A pair of text files is filtered by the local engine alone.")
    if source is not None and columns:
        raise AdequaError("--column names columns of tables; two text files have none.")
    mapping = {
        field: (names,) if isinstance(names, str) else tuple(names)
        for field, names in (columns or {}).items()
    }
    may_be_mixed = bounds is not None and language is None
    target_language = (
        UNKNOWN_LANGUAGE if may_be_mixed else corpus_language(shards, mapping, language)
    )
    chosen = default_metric(target_language) if metrics is None else metrics
    specifications = (chosen,) if isinstance(chosen, str) else tuple(chosen)
    device = execution.device or ("cuda" if execution.gpus else "cpu")
    job, loaded = make_job(
        target, tuple(map(with_absolute_paths, specifications)), mapping,
        prefix=prefix, max_characters=max_characters, device=device,
        device_here=device if execution.engine == "local" else "cpu",  # a cluster has its own GPUs
        language=target_language, bounds=bounds,
    )  # fmt: skip
    if execution.device is not None and not job.devices:
        raise device_error(specifications)
    if bounds is not None:
        bounds.check_direction(next(iter(loaded.values())))
    if may_be_mixed:
        target_language = _language_of_filter(shards, mapping, loaded)
        job, loaded = replace(job, language=target_language), metrics_for(loaded, target_language)
    _check_metrics(loaded)
    _refuse_overlap(pattern, shards, job)
    _check_shards(shards, job, loaded)
    job = replace(job, given=given_texts(shards, job, loaded))
    description = job.describe(loaded)
    # The folder is locked until the engine and all of its workers have ended.
    with _locked_output(job), _engine(execution, loaded) as run:
        begin(job, description, shards)
        records = _gathered(run(job, shards, _ProgressSum(shards, execution.progress)), shards)
        results = _results(loaded, records, target_language)
        write_manifest(
            job,
            description,
            records,
            {each.name: each.systems[0].score for each in results.metrics},
            {each.name: str(each.signature) for each in results.metrics},
        )
    warn_of_languages((each.warning for each in results.metrics), ())
    return CorpusScores(results, records)


def _language_of_filter(
    shards: Sequence[Shard], columns: Mapping[str, tuple[str, ...]], metrics: Mapping[str, Metric]
) -> TargetLanguage:
    """The target language of a filter for which none is given.

    It is not known where rows name their language pairs, and the metric scores all languages alike:
    each row is then scored, whatever its language.
    """
    takes_all = all(
        metric.languages is None and not metric.splits_at_spaces for metric in metrics.values()
    )
    if takes_all and _first_rows(shards, columns)[1]:
        return UNKNOWN_LANGUAGE
    return corpus_language(shards, columns, None)


def corpus_language(
    shards: Sequence[Shard],
    columns: Mapping[str, tuple[str, ...]],
    given: str | TargetLanguage | None,
) -> TargetLanguage:
    """The target language of a corpus: the given one, or that of the first rows of its shards."""
    if given is not None:
        return find_language(given, ())
    texts, pairs = _first_rows(shards, columns)
    return find_language(None, texts, pairs)


def _first_rows(
    shards: Sequence[Shard], columns: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], list[str]]:
    """Texts in the target language, and language pairs, of the first shard that has any."""
    for shard in shards:
        try:
            texts, pairs = first_texts(shard, columns)
        except Exception:  # noqa: BLE001, S112  # it is reported with its shard
            continue
        if texts or pairs:  # which a shard without rows has not
            return texts, pairs
    return [], []


class _ProgressSum:
    """Adds up the progress of single shards."""

    def __init__(
        self, shards: Sequence[Shard], progress: Callable[[CorpusProgress], None] | None
    ) -> None:
        self._sizes = {shard.name: shard.size for shard in shards}
        self._last: dict[str, ShardProgress] = {}
        self._rows = self._unscored = self._resumed = 0
        self._bytes = 0.0
        self._progress = progress
        self._lock = Lock()  # Ray reports from two threads

    def __call__(self, new: ShardProgress) -> None:
        """Replace the last report of a shard: one whose worker was lost starts again."""
        with self._lock:
            old = self._last.get(new.shard, ShardProgress(new.shard, 0, 0, 0.0))
            if old.done == 1 and new.rows < old.rows:
                return  # sent before the shard was finished, and received after it
            self._last[new.shard] = new
            self._rows += new.rows - old.rows
            self._unscored += new.unscored - old.unscored
            self._resumed += new.rows * new.resumed - old.rows * old.resumed
            self._bytes += (new.done - old.done) * self._sizes[new.shard]
            if self._progress is not None:
                self._progress(
                    CorpusProgress(self._rows, self._unscored, round(self._bytes), self._resumed)
                )


ShardOutcomes: TypeAlias = Generator[ShardOutcome, None, None]
EngineRun: TypeAlias = Callable[
    [CorpusJob, Sequence[Shard], Callable[[ShardProgress], None]], ShardOutcomes
]


def _engine(execution: Execution, loaded: dict[str, Metric]) -> AbstractContextManager[EngineRun]:
    """A context manager of the function that runs a job; `loaded` serves a local worker."""
    workers, address, gpus = execution.workers, execution.address, execution.gpus
    if execution.engine == "local":
        if address is not None or gpus:
            raise AdequaError(
                "An address and GPUs by worker go with the ray engine; the local one runs trained "
                "metrics on a GPU with the device cuda."
            )
        return nullcontext(
            lambda job, shards, report: run_local(
                job, shards, report, workers=workers, loaded=loaded
            )
        )
    from adequa.scoring.ray import ray_engine  # noqa: PLC0415  # an extra, and heavy

    return ray_engine(workers=workers, address=address, gpus=gpus)


def _check_metrics(metrics: Mapping[str, Metric]) -> None:
    """Raise where a metric cannot score a corpus, before any row is blamed for it."""
    for column, metric in metrics.items():
        if metric.needs_whole_corpus:
            raise AdequaError(
                f"{column} weighs every segment by all others, so it cannot score a corpus shard "
                "by shard; leave it out."
            )
        check_metric(column, metric)


def _refuse_overlap(inputs: str, shards: Sequence[Shard], job: CorpusJob) -> None:
    """Raise where scores would overwrite shards, or be matched as shards the next time."""
    kind, folder = location(job.output)
    would_match = shard_matcher(inputs)
    shard_locations = {location(path): shard for shard in shards for path in shard.paths}
    for (shard_kind, path), shard in shard_locations.items():
        within = kind == shard_kind and folder in path.parents
        targets = job.targets(shard)
        if within or not shard_locations.keys().isdisjoint(map(location, targets)):  # by links
            raise AdequaError(f"{path} is in the folder that is written to; give another.")
        if would_match((kind, folder / shard.name)):
            raise AdequaError(
                f"{targets[0]}, which would be written, would be among the shards of "
                f"{inputs}; give a folder outside of them with -o."
            )


def _check_shards(shards: Sequence[Shard], job: CorpusJob, metrics: dict[str, Metric]) -> None:
    """Raise where shards lack a column, or differ in their columns, before the work.

    A file that cannot be read at all is reported when the others are done.
    """
    first: tuple[str, Any] | None = None
    for shard in shards:
        with ExitStack() as stack:
            try:
                rows = stack.enter_context(opened(shard))
            except AdequaError:
                continue
            if isinstance(rows, ParquetShard):
                refuse_equal_names(rows.table)  # by which columns are compared
                first = first or (shard.name, rows.schema)
                _refuse_differences(first, shard.name, rows.schema)
            checked_layout(rows, job, metrics)


def _refuse_differences(first: tuple[str, Any], name: str, schema: Any) -> None:
    before, expected = first
    if schema.equals(expected):
        return
    for column in dict.fromkeys([*expected.names, *schema.names]):
        # Shards may differ in whether a column may hold nulls.
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
def _locked_output(job: CorpusJob) -> Iterator[None]:
    """Lock the output folder, and remove the incomplete files of killed workers."""
    storage, folder = storage_of(job.output)
    _, temporaries = storage_of(job.temporaries)
    # Only folders of this machine have locks, also by file:// addresses.
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


def _gathered(outcomes: ShardOutcomes, shards: Sequence[Shard]) -> tuple[ShardRecord, ...]:
    """The records of all shards, or a sentence on those that could not be scored."""
    records: dict[str, ShardRecord] = {}
    errors: dict[str, str] = {}
    with closing(outcomes):  # so that workers end before their files are removed
        for outcome in outcomes:
            if outcome.record is not None:
                records[outcome.shard] = outcome.record
            elif outcome.stops:
                raise AdequaError(outcome.error or "")
            else:
                errors[outcome.shard] = outcome.error or ""
    if errors:
        if len(shards) == 1:
            raise AdequaError(*errors.values())
        others = len(errors) - 1
        also = f" {others} more shard{' has' if others == 1 else 's have'} faults too."
        raise AdequaError(
            f"{errors[min(errors)]}{also if others else ''} The other shards ({len(records)} of "
            f"{len(shards)}) are scored and stay; the same command does the rest."
        )
    return tuple(records[shard.name] for shard in shards)


def _results(
    metrics: Mapping[str, Metric], records: Sequence[ShardRecord], language: TargetLanguage
) -> ScoringResult:
    empty = sum(record.empty for record in records)
    return ScoringResult(
        metrics=tuple(
            replace(_result(column, metric, records), warning=metric.language_warning(language))
            for column, metric in metrics.items()
        ),
        language=language,
        segment_counts={CORPUS: sum(record.rows for record in records)},
        empty_hypotheses={CORPUS: empty} if empty else {},
    )


def _result(column: str, metric: Metric, records: Sequence[ShardRecord]) -> ScoredMetric:
    of_metric = [record.metrics[column] for record in records]
    totals = [each.total for each in of_metric if each.scored]
    score = math.nan
    if totals:
        total = np.sum(np.array(totals), axis=0)
        score = round(float(metric.system_scores(total[None])[0]), _DECIMALS)
    counts = {count for each in of_metric for count in each.reference_counts}
    references = counts.pop() if len(counts) == 1 else None
    return ScoredMetric(
        name=column,
        signature=metric.signature(references),
        segment_signature=metric.segment_signature(references),
        higher_is_better=metric.higher_is_better,
        decimals=metric.decimals,
        systems=(ScoredSystem(CORPUS, score),),
    )
