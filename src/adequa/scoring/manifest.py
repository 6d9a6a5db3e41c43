"""What a corpus job is, and what its output folder records of it.

`job.json` describes the job, `shards/NAME.json` records a finished shard, and `manifest.json` is
written when all are finished. A record holds the digests of what was read and of what was written:
a shard is finished if both still hold, whatever its date. The record is written before the scores,
so that scores without a record were written by someone else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from adequa.errors import AdequaError, UnknownSettingError
from adequa.io.shards import Shard
from adequa.io.storage import Content, storage_of
from adequa.languages import UNKNOWN_LANGUAGE, TargetLanguage
from adequa.metrics.base import Metric, Remark, check_between, merge_remarks
from adequa.metrics.language import metrics_for
from adequa.metrics.registry import distinct_labels, load_metric, written_settings
from adequa.segments import LARGEST_SCORE, BoolArray, FloatArray, Segments, Signature

MAX_CHARACTERS = 100_000  # of a text: what is longer is no segment, and takes some metrics hours
REASON = "unscored"  # the column that says why a row has no score
FOLDER = "_adequa"  # in the output; readers of datasets ignore names that begin so
JOB, MANIFEST = "job.json", "manifest.json"
FILTER = "filter"  # what the description of a filter has its bounds under
_RECORD = ".json"  # ending of the names of records, after those of shards
_GIVEN = {True: "given", False: "left out"}
_FORMAT = 1  # of the files in the folder; raised when it changes


@dataclass(frozen=True, slots=True)
class Bounds:
    """The scores of rows that a filter keeps, from `min_score` to `max_score`; None for no bound.

    >>> Bounds(0.5).contains(np.array([0.4, 0.5, np.nan])).tolist()
    [False, True, False]
    """

    min_score: float | None = None
    max_score: float | None = None

    def __post_init__(self) -> None:
        if self.min_score is None and self.max_score is None:
            raise AdequaError(
                "Give the lowest score of the rows that are kept (--min-score, min_score) or, for "
                "a metric that is better where it is lower, the highest (--max-score, max_score)."
            )
        for bound in (self.min_score, self.max_score):
            if bound is not None:
                check_between("The bound of a score", bound, -LARGEST_SCORE, LARGEST_SCORE)
        if (
            self.min_score is not None
            and self.max_score is not None
            and self.min_score > self.max_score
        ):
            raise AdequaError(
                f"The lowest score, {self.min_score:g}, is above the highest, {self.max_score:g}."
            )

    def check_direction(self, metric: Metric) -> None:
        """Raise where there is one bound, and it would keep the worst rows."""
        has_both = self.min_score is not None and self.max_score is not None
        if has_both or metric.higher_is_better == (self.min_score is not None):
            return
        better, option = (
            ("higher", "--min-score") if metric.higher_is_better else ("lower", "--max-score")
        )
        raise AdequaError(
            f"{metric.name} is better where it is {better}, so that this bound keeps the worst "
            f"rows; give {option}, or both bounds."
        )

    def to_dict(self) -> dict[str, float | None]:
        """Return the bounds by the names that users give them by."""
        bounds = {"min_score": self.min_score, "max_score": self.max_score}
        # A whole number is the same bound, and is written alike.
        return {name: None if bound is None else float(bound) for name, bound in bounds.items()}

    def contains(self, scores: FloatArray) -> BoolArray:
        """Return which scores are in the bounds; a missing one is not."""
        inside = ~np.isnan(scores)
        if self.min_score is not None:
            inside &= scores >= self.min_score
        if self.max_score is not None:
            inside &= scores <= self.max_score
        return np.asarray(inside)


@dataclass(frozen=True, slots=True)
class CorpusJob:
    """What a worker needs to know, in plain values: output, metrics, columns."""

    output: str  # an absolute path of a folder, or an address
    metrics: Mapping[str, str]  # how to load each, by the name of its column
    columns: Mapping[str, tuple[str, ...]]  # by field, where its column has another name
    reason: str = REASON
    max_characters: int = MAX_CHARACTERS
    devices: Mapping[str, str] = field(default_factory=dict)  # by column, of metrics that have one
    threads: int | None = None  # of a worker, for metrics that have threads
    language: TargetLanguage = UNKNOWN_LANGUAGE  # of the translations
    # Whether every row has a text that metrics can do without, by "reference" and "source".
    given: Mapping[str, bool] = field(default_factory=dict)
    # Of a filter, which has one metric and writes the rows whose score is in bounds, as they are.
    bounds: Bounds | None = None

    def load(self) -> dict[str, Metric]:
        """The metrics, by the names of their columns."""
        metrics = {}
        for column, specification in self.metrics.items():
            settings = {"device": self.devices.get(column), "threads": self.threads}
            metrics[column], _ = load_with(specification, settings)
        return metrics_for(metrics, self.language)

    def targets(self, shard: Shard) -> list[str]:
        """Paths of the rows of a shard that are written: one, or those of a text pair."""
        return [f"{self.output}/{name}" for name in shard.outputs]

    def record(self, shard: Shard) -> str:
        """Path of the record of a finished shard."""
        return f"{self.output}/{FOLDER}/shards/{shard.name}{_RECORD}"

    @property
    def temporaries(self) -> str:
        """Folder of the incomplete files of this job."""
        return f"{self.output}/{FOLDER}/unfinished"

    def describe(self, metrics: Mapping[str, Metric]) -> dict[str, Any]:
        """All that decides what is written for a row: runs into one folder must share it."""
        return {
            "format": _FORMAT,
            "metrics": {column: unsized_signature(metric) for column, metric in metrics.items()},
            "columns": {name: list(columns) for name, columns in sorted(self.columns.items())},
            "max_characters": self.max_characters,
            **({"devices": dict(self.devices)} if self.devices else {}),
            **(
                {"texts": {part: _GIVEN[has] for part, has in self.given.items()}}
                if self.given
                else {}
            ),
            **({} if self.language.code is None else {"language": self.language.code}),
            **({} if self.bounds is None else {FILTER: self.bounds.to_dict()}),
        }


def make_job(
    output: str,
    specifications: tuple[str, ...],
    columns: Mapping[str, tuple[str, ...]],
    *,
    prefix: str = "",
    max_characters: int = MAX_CHARACTERS,
    device: str = "cpu",
    device_here: str = "cpu",
    language: TargetLanguage = UNKNOWN_LANGUAGE,
    bounds: Bounds | None = None,
) -> tuple[CorpusJob, dict[str, Metric]]:
    """A job, and its metrics by column, loaded in this process to check that they can be.

    Workers may have another device than this process. Metrics never choose one by themselves, as
    each worker might choose another.
    """
    if not specifications:
        raise AdequaError("There is no metric to score with.")
    if max_characters < 1:
        raise AdequaError(f"max_characters must be 1 or more, not {max_characters}.")
    metrics, devices = {}, {}
    for specification in specifications:
        metrics[specification], settings = load_with(specification, {"device": device_here})
        if "device" in settings:
            devices[specification] = written_settings(specification).get("device", device)
    names = [metrics[each].name for each in specifications]
    labels = [prefix + label for label in distinct_labels(specifications, names)]
    columns_of = dict(zip(specifications, labels, strict=True))
    job = CorpusJob(
        output=output,
        metrics={column: specification for specification, column in columns_of.items()},
        columns=columns,
        reason=prefix + REASON,
        max_characters=max_characters,
        devices={columns_of[each]: device for each, device in devices.items()},
        language=language,
        bounds=bounds,
    )
    by_column = {columns_of[each]: metric for each, metric in metrics.items()}
    return job, metrics_for(by_column, language)


def load_with(specification: str, settings: Mapping[str, Any]) -> tuple[Metric, dict[str, Any]]:
    """A metric with those of the settings that it has, less what its specification sets itself."""
    written = written_settings(specification)
    extra = {
        key: value for key, value in settings.items() if value is not None and key not in written
    }
    try:
        return load_metric(specification, **extra), extra | written
    except UnknownSettingError as error:
        if error.key not in extra:
            raise
        others = {key: value for key, value in extra.items() if key != error.key}
        return load_with(specification, others)


def unsized_signature(metric: Metric) -> str:
    """The signature of segment scores, without the number of references, which rows may vary."""
    signature = metric.segment_signature(None)
    fields = tuple(each for each in signature.fields if each[0] != "nrefs")
    return str(Signature(signature.metric, fields))


@dataclass(slots=True)
class MetricSums:
    """One metric over the rows of a shard: how many it scored, and its summed statistics."""

    scored: int = 0
    total: tuple[float, ...] = ()
    reference_counts: tuple[int, ...] = ()
    remarks: tuple[Remark, ...] = ()  # notes on its scores

    def add(
        self, statistics: FloatArray, segments: Segments, remarks: Iterable[Remark] = ()
    ) -> None:
        """Add the statistics of more rows."""
        added = statistics.sum(axis=0)
        self.total = tuple((np.array(self.total) + added if self.total else added).tolist())
        self.scored += len(statistics)
        counts = {*self.reference_counts, *map(len, segments.references)}
        self.reference_counts = tuple(sorted(counts))
        self.remarks = merge_remarks((*self.remarks, *remarks))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> MetricSums:
        """The sums from a record."""
        remarks = tuple(
            Remark(**{key: tuple(value) for key, value in remark.items()})
            for remark in values["noticed"]
        )
        counts = tuple(values["reference_counts"])
        return cls(values["scored"], tuple(values["total"]), counts, remarks)


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How many rows a filter read and kept, and how many of those it removed had no score."""

    rows: int = 0
    kept: int = 0
    unscored: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(
            self.rows + other.rows, self.kept + other.kept, self.unscored + other.unscored
        )


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """A finished shard."""

    shard: str
    rows: int
    unscored: int
    first_reason: str | None  # of the first row without a score
    empty: int  # rows whose hypothesis is blank, and scored as it is
    input: Content
    output: Content
    metrics: Mapping[str, MetricSums]
    # Of a filter, by language pair; that of rows which name none is empty.
    filtered: Mapping[str, RowCounts] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The record as it is written."""
        values = asdict(self)
        if not self.filtered:
            del values["filtered"]
        for sums in values["metrics"].values():
            sums["noticed"] = sums.pop("remarks")
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ShardRecord:
        """The record from what is written."""
        contents = {key: Content(**values[key]) for key in ("input", "output")}
        metrics = {name: MetricSums.from_dict(sums) for name, sums in values["metrics"].items()}
        filtered = {
            pair: RowCounts(**counts) for pair, counts in values.get("filtered", {}).items()
        }
        return cls(**{**values, **contents, "metrics": metrics, "filtered": filtered})


def read_record(path: str) -> ShardRecord | None:
    """The record at a path, or None where there is none that can be read."""
    storage, inner = storage_of(path)
    try:
        content = storage.read(inner)
        return None if content is None else ShardRecord.from_dict(json.loads(content))
    except (KeyError, TypeError, ValueError, AttributeError, OSError):
        return None  # damaged, or of another version: the shard is scored again


def write_record(job: CorpusJob, shard: Shard, record: ShardRecord) -> None:
    """Write the record of a shard."""
    _write(job, job.record(shard), record.to_dict())


def begin(job: CorpusJob, description: Mapping[str, Any], shards: Sequence[Shard]) -> None:
    """Describe the job in its output folder, or check that it goes on with what was begun there.

    The manifest is removed until all shards are finished again, as they may have changed.
    """
    _settle_description(job, description, shards)
    storage, manifest = storage_of(f"{job.output}/{FOLDER}/{MANIFEST}")
    storage.remove(manifest)


def _settle_description(
    job: CorpusJob, description: Mapping[str, Any], shards: Sequence[Shard]
) -> None:
    path = f"{job.output}/{FOLDER}/{JOB}"
    storage, inner = storage_of(path)
    content = storage.read(inner)
    recorded = _recorded(job)
    _refuse_unknown_files(job, [shard for shard in shards if shard.name not in recorded])
    if content is None:
        _write(job, path, description)
        return
    try:
        before = json.loads(content)
    except ValueError as error:
        raise AdequaError(f"{path} is damaged; remove {job.output} and begin again.") from error
    difference = _difference(before, description)
    if difference is not None and not recorded:  # nothing was finished under the old settings
        _write(job, path, description)
        return
    if difference is not None:
        raise AdequaError(
            f"{job.output} holds the output of another job: {difference}. Give another "
            "folder with -o, or the same settings to go on."
        )
    gone = sorted(recorded - {shard.name for shard in shards})
    if gone:
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        raise AdequaError(
            f"{job.output} holds scores of {gone[0]}{more}, which the input has not any more. Give "
            "the input that the folder was begun with, or another folder with -o."
        )


def _refuse_unknown_files(job: CorpusJob, shards: Sequence[Shard]) -> None:
    """Raise where a file would be overwritten, as these shards have no record."""
    storage, folder = storage_of(job.output)
    if not storage.is_folder(folder):
        return
    written = {entry.path for entry in storage.walk(folder)}
    for path in (f"{folder}/{name}" for shard in shards for name in shard.outputs):
        if path in written:
            raise AdequaError(
                f"{path} is there already, and by its records no job of adequa has made it; give "
                "another folder with -o, or remove the file."
            )


def _recorded(job: CorpusJob) -> set[str]:
    """The names of all shards with a record in the output folder."""
    storage, folder = storage_of(f"{job.output}/{FOLDER}/shards")
    if not storage.is_folder(folder):
        return set()
    return {
        path[len(folder) + 1 :].removesuffix(_RECORD)
        for path, size in storage.walk(folder)
        if size is not None
    }


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first thing that two descriptions differ in, in words."""
    for key in dict.fromkeys([*now, FILTER]):
        old: Any = before.get(key)
        new: Any = now.get(key)
        if key == "metrics" and old == new and [*old] != [*new]:  # the order of the columns
            return _changed("the order of metrics", [*old], [*new])
        if old == new:
            continue
        if isinstance(old, dict | None) and isinstance(new, dict | None):
            # An earlier version, or another kind of job, has none.
            old, new = old or {}, new or {}
            for name in dict.fromkeys([*old, *new]):
                if old.get(name) != new.get(name):
                    return _changed(f"{key} {name}", old.get(name), new.get(name))
        return _changed(key, old, new)
    return None


def _changed(what: str, old: object, new: object) -> str:
    return f"{what} was {_in_words(old)} then, and is {_in_words(new)} now"


def _in_words(value: object) -> str:
    if value is None:
        return "absent"
    return ", ".join(value) if isinstance(value, list) else str(value)


def write_manifest(
    job: CorpusJob,
    description: Mapping[str, Any],
    records: Sequence[ShardRecord],
    scores: Mapping[str, float],
    signatures: Mapping[str, str],
) -> None:
    """Write the manifest: the description, the scores of the corpus, and all records."""
    manifest = {
        **description,
        "corpus": {
            column: {"signature": signatures[column], "score": None if math.isnan(score) else score}
            for column, score in scores.items()
        },
        "rows": sum(record.rows for record in records),
        "unscored": sum(record.unscored for record in records),
        "shards": [record.to_dict() for record in records],
    }
    _write(job, f"{job.output}/{FOLDER}/{MANIFEST}", manifest)


def _write(job: CorpusJob, path: str, content: Mapping[str, Any]) -> None:
    storage, inner = storage_of(path)
    _, temporaries = storage_of(job.temporaries)
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
    storage.write(inner, f"{text}\n".encode(), temporaries)
