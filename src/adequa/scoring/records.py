"""What is kept of a job beside its rows: its description, records of shards, and a manifest.

A record says of which content the scores were made and what is written. A shard is finished if both
are still so: dates and names do not count. The record comes first and the scores after it: where
there are scores without a record, they are not ours.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from adequa.errors import AdequaError
from adequa.io.shards import Shard, literal
from adequa.io.storage import Content, storage_of
from adequa.metrics.base import Remark
from adequa.scoring.job import FOLDER, Job

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
    for path in storage.existing([f"{folder}/{shard.name}" for shard in shards])[:1]:
        raise AdequaError(
            f"{path} is there already, and by its records no job of adequa has made it; give "
            "another folder with -o, or remove the file."
        )


def _recorded(job: Job) -> set[str]:
    """The names of all shards with a record in the output folder."""
    storage, folder = storage_of(f"{job.output}/{FOLDER}/shards")
    if not storage.is_folder(folder):
        return set()
    found = storage.matching(f"{literal(folder)}/**/*{_RECORD}", hidden=True)
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
