"""A job over a corpus: what is scored how, in plain values that any worker can be sent."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from adequa.errors import AdequaError, UnknownSettingError
from adequa.io.shards import Shard
from adequa.io.storage import Content, literal, storage_of
from adequa.metrics.base import Metric, Remark
from adequa.metrics.registry import load_metric, written_settings
from adequa.scoring.results import labels
from adequa.segments import Signature

MAX_CHARACTERS = 100_000  # of a text: what is longer is no segment, and takes some metrics hours
REASON = "unscored"  # the column that says why a row has no score
FOLDER = "_adequa"  # in the output; readers of datasets pass over names that begin so
_FORMAT = 1  # of what is kept there; raised when it changes


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs to know: where to, with which metrics, from which columns."""

    output: str  # a folder, in full, or an address
    metrics: Mapping[str, str]  # by the name of the column, how to load it
    columns: Mapping[str, tuple[str, ...]]  # where a part stands, if not under its own name
    reason: str = REASON
    max_characters: int = MAX_CHARACTERS
    devices: Mapping[str, str] = field(default_factory=dict)  # by column, of metrics that have one
    threads: int | None = None  # of a worker, for metrics that have threads

    def load(self) -> dict[str, Metric]:
        """The metrics, by the names of their columns."""
        metrics = {}
        for column, words in self.metrics.items():
            wishes = {"device": self.devices.get(column), "threads": self.threads}
            metrics[column], _ = loaded(words, wishes)
        return metrics

    def target(self, shard: Shard) -> str:
        """Where the scored rows of a shard go."""
        return f"{self.output}/{shard.name}"

    def record(self, shard: Shard) -> str:
        """Where it is kept that a shard is finished."""
        return f"{self.output}/{FOLDER}/shards/{shard.name}.json"

    @property
    def temporaries(self) -> str:
        """Where files are that are not yet whole: of this job and no other."""
        return f"{self.output}/{FOLDER}/unfinished"


def make_job(
    output: str,
    specifications: tuple[str, ...],
    columns: Mapping[str, tuple[str, ...]],
    *,
    prefix: str = "",
    max_characters: int = MAX_CHARACTERS,
    device: str = "cpu",
    device_here: str = "cpu",
) -> tuple[Job, dict[str, Metric]]:
    """A job, and its metrics by their columns, loaded in this process to see that they can be.

    Workers may have another device than this process has. Metrics never choose one by themselves:
    they might choose otherwise in each worker.
    """
    if not specifications:
        raise AdequaError("There is no metric to score with.")
    if max_characters < 1:
        raise AdequaError(f"max_characters must be 1 or more, not {max_characters}.")
    metrics, devices = {}, {}
    for words in specifications:
        metrics[words], settings = loaded(words, {"device": device_here})
        if "device" in settings:
            devices[words] = written_settings(words).get("device", device)
    columns_of = {words: prefix + label for words, label in labels(metrics).items()}
    job = Job(
        output=output,
        metrics={column: words for words, column in columns_of.items()},
        columns=columns,
        reason=prefix + REASON,
        max_characters=max_characters,
        devices={columns_of[words]: where for words, where in devices.items()},
    )
    return job, {columns_of[words]: metric for words, metric in metrics.items()}


def loaded(words: str, wishes: Mapping[str, Any]) -> tuple[Metric, dict[str, Any]]:
    """A metric, and what it was given: its words, and those of the wishes that it has room for."""
    written = written_settings(words)
    left = {k: wish for k, wish in wishes.items() if wish is not None and k not in written}
    try:
        return load_metric(words, **left), left | written
    except UnknownSettingError as error:
        if error.key not in left:
            raise
        return loaded(words, {key: wish for key, wish in left.items() if key != error.key})


def described(job: Job, metrics: Mapping[str, Metric]) -> dict[str, Any]:
    """All that decides what is written for a row: what runs into one folder must share."""
    return {
        "format": _FORMAT,
        "metrics": {column: unsized(metric) for column, metric in metrics.items()},
        "columns": {part: list(names) for part, names in sorted(job.columns.items())},
        "max_characters": job.max_characters,
        **({"devices": dict(job.devices)} if job.devices else {}),
    }


def unsized(metric: Metric) -> str:
    """The signature of segment scores, without the number of references, which rows may vary."""
    signature = metric.segment_signature(None)
    kept = tuple(each for each in signature.fields if each[0] != "nrefs")
    return str(Signature(signature.metric, kept))


JOB, MANIFEST = "job.json", "manifest.json"
_RECORD = ".json"  # how the names of records end, after those of shards


@dataclass(frozen=True, slots=True)
class MetricSums:
    """One metric over the rows of a shard: how many it scored, and its summed statistics."""

    scored: int
    total: tuple[float, ...]
    reference_counts: tuple[int, ...]
    noticed: tuple[Remark, ...] = ()  # what a user is told of its scores


@dataclass(frozen=True, slots=True)
class Record:
    """A finished shard."""

    shard: str
    rows: int
    unscored: int
    first_reason: str | None  # of the first row without a score
    empty: int  # rows whose hypothesis is blank, and scored as it is
    input: Content
    output: Content
    metrics: Mapping[str, MetricSums]

    def as_json(self) -> dict[str, Any]:
        """In plain values."""
        return asdict(self)

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Record:
        """From plain values."""
        return cls(
            shard=str(kept["shard"]),
            rows=int(kept["rows"]),
            unscored=int(kept["unscored"]),
            first_reason=kept["first_reason"],
            empty=int(kept["empty"]),
            input=Content(**kept["input"]),
            output=Content(**kept["output"]),
            metrics={
                name: MetricSums(
                    int(each["scored"]),
                    tuple(each["total"]),
                    tuple(each["reference_counts"]),
                    tuple(map(_remark, each["noticed"])),
                )
                for name, each in kept["metrics"].items()
            },
        )


def _remark(kept: Mapping[str, Any]) -> Remark:
    return Remark(tuple(kept["several"]), tuple(kept["one"]), tuple(kept["counts"]))


def kept_record(path: str) -> Record | None:
    """The record at a path, or None where there is none that can be read."""
    storage, inner = storage_of(path)
    try:
        kept = storage.read(inner)
        return None if kept is None else Record.of(json.loads(kept))
    except (KeyError, TypeError, ValueError, AttributeError, OSError):
        return None  # damaged, or of another version: the shard is scored again


def write_record(job: Job, shard: Shard, record: Record) -> None:
    """Keep a record."""
    _write(job, job.record(shard), record.as_json())


def settle(job: Job, description: Mapping[str, Any], shards: Sequence[Shard]) -> None:
    """Say what the output folder is for, or hold to what was said before.

    The manifest goes until all is finished again: shards may have changed since it was written.
    """
    _settle_description(job, description, shards)
    storage, manifest = storage_of(f"{job.output}/{FOLDER}/{MANIFEST}")
    storage.remove(manifest)


def _settle_description(job: Job, description: Mapping[str, Any], shards: Sequence[Shard]) -> None:
    path = f"{job.output}/{FOLDER}/{JOB}"
    storage, inner = storage_of(path)
    kept = storage.read(inner)
    recorded = _recorded(job)
    _refuse_files_of_others(job, [shard for shard in shards if shard.name not in recorded])
    if kept is None:
        _write(job, path, description)
        return
    try:
        before = json.loads(kept)
    except ValueError as error:
        raise AdequaError(f"{path} is damaged; remove {job.output} and begin again.") from error
    differing = _difference(before, description)
    if differing is not None and not recorded:  # nothing came of what was asked before
        _write(job, path, description)
        return
    gone = sorted(recorded - {shard.name for shard in shards})
    if differing is None and gone:
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        raise AdequaError(
            f"{job.output} holds scores of {gone[0]}{more}, which the input has not any more. Give "
            "the input that the folder was begun with, or another folder with -o."
        )
    if differing is not None:
        raise AdequaError(
            f"{job.output} holds scores that were made otherwise: {differing}. Give another folder "
            "with -o, or the same settings to go on."
        )


def _refuse_files_of_others(job: Job, shards: Sequence[Shard]) -> None:
    """Raise where something would be overwritten that has no record, as these shards have none."""
    storage, folder = storage_of(job.output)
    if not storage.is_folder(folder):
        return
    written = {entry.path for entry in storage.glob(f"{literal(folder)}/**/*", hidden=True)}
    paths = (f"{folder}/{shard.name}" for shard in shards)
    for path in filter(written.__contains__, paths):
        raise AdequaError(
            f"{path} is there already, and by its records no job of adequa has made it; give "
            "another folder with -o, or remove the file."
        )


def _recorded(job: Job) -> set[str]:
    """The names of all shards with a record in the output folder."""
    storage, folder = storage_of(f"{job.output}/{FOLDER}/shards")
    if not storage.is_folder(folder):
        return set()
    found = storage.glob(f"{literal(folder)}/**/*{_RECORD}", hidden=True)
    return {
        path[len(folder) + 1 :].removesuffix(_RECORD) for path, size in found if size is not None
    }


def _difference(before: Any, now: Mapping[str, Any]) -> str | None:
    """The first thing that two descriptions differ in, in words."""
    if not isinstance(before, dict):
        return "its description is of another version"
    for key in now:
        was, is_ = before.get(key), now[key]
        if key == "metrics" and was == is_ and [*was] != [*is_]:  # columns are written so
            return _changed("the order of metrics", [*was], [*is_])
        if was == is_:
            continue
        if isinstance(was, dict | None) and isinstance(is_, dict):
            was = was or {}  # an earlier version said nothing of it
            for name in dict.fromkeys([*was, *is_]):
                if was.get(name) != is_.get(name):
                    return _changed(f"{key} {name}", was.get(name), is_.get(name))
        return _changed(key, was, is_)
    return None


def _changed(what: str, was: object, is_: object) -> str:
    return f"{what} was {_shown(was)} then, and is {_shown(is_)} now"


def _shown(value: object) -> str:
    return (
        "absent" if value is None else ", ".join(value) if isinstance(value, list) else str(value)
    )


def write_manifest(
    job: Job,
    description: Mapping[str, Any],
    records: Sequence[Record],
    scores: Mapping[str, float],
    signatures: Mapping[str, str],
) -> None:
    """Keep the whole: what was asked, what came of it, and the record of every shard."""
    manifest = {
        **description,
        "corpus": {
            column: {"signature": signatures[column], "score": None if math.isnan(score) else score}
            for column, score in scores.items()
        },
        "rows": sum(record.rows for record in records),
        "unscored": sum(record.unscored for record in records),
        "shards": [record.as_json() for record in records],
    }
    _write(job, f"{job.output}/{FOLDER}/{MANIFEST}", manifest)


def _write(job: Job, path: str, content: Mapping[str, Any]) -> None:
    storage, inner = storage_of(path)
    _, temporaries = storage_of(job.temporaries)
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
    storage.write(inner, f"{text}\n".encode(), temporaries)
