"""A job over a corpus: what is scored how, in plain values that any worker can be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adequa.errors import AdequaError, UnknownSettingError
from adequa.io.shards import Shard
from adequa.io.storage import below
from adequa.metrics.base import Metric
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
        return below(self.output, shard.name)

    def record(self, shard: Shard) -> str:
        """Where it is kept that a shard is finished."""
        return below(self.output, f"{FOLDER}/shards/{shard.name}.json")

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
