"""Inputs of the command line: metrics on the chosen device with cached scores, and text files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from adequa.cli.options import Device, QuotingName
from adequa.errors import AdequaError, UnknownSettingError

if TYPE_CHECKING:
    from adequa.io.read import Describe, InputSummary
    from adequa.io.text import Advance
    from adequa.metrics.base import Metric
    from adequa.segments import Segments

SCORES_FILE = "scores.db"  # in the cache folder
_MEGABYTE = 1_000_000


@dataclass(slots=True)
class MetricLoader:
    """Loads metrics, and counts those that run on the device."""

    device: Device | None = None  # None: the default of each metric
    cache_limit_mb: int | None = None  # of the scores on disk; None for no cache
    _without_device: list[str] = field(default_factory=list)
    _with_device: int = 0

    def __call__(self, specification: str) -> Metric:
        """Load a metric by its name or folder, with settings."""
        metric = self._on_device(specification)
        if self.cache_limit_mb is not None and metric.caches_scores:
            from adequa.io.storage import cache_folder

            with suppress(RuntimeError):  # there is no home folder
                metric.enable_cache(cache_folder() / SCORES_FILE, self.cache_limit_mb * _MEGABYTE)
        return metric

    def _on_device(self, specification: str) -> Metric:
        from adequa.metrics.registry import load_metric

        if self.device is None:
            return load_metric(specification)
        try:
            metric = load_metric(specification, device=self.device.value)
        except UnknownSettingError as error:
            if error.key != "device":
                raise
            self._without_device.append(specification)
            return load_metric(specification)
        self._with_device += 1
        return metric

    def load_all(self, specifications: Sequence[str]) -> dict[str, Metric]:
        """Load metrics, by the shortest labels that distinguish them."""
        from adequa.metrics.registry import distinct_labels

        metrics = [self(each) for each in specifications]
        labels = distinct_labels(specifications, [each.name for each in metrics])
        self.check_device()
        return dict(zip(labels, metrics, strict=True))

    def check_device(self) -> None:
        """Raise if a device is chosen and no metric can use one."""
        if self.device is not None and not self._with_device:
            from adequa.metrics.registry import device_error

            raise device_error(self._without_device)


class _Read(Protocol):
    """Reads batches of segments, reports the bytes read and describes the files at the end."""

    def __call__(
        self, *, advance: Advance | None, describe: Describe | None
    ) -> Iterator[Segments]: ...


@dataclass(frozen=True, slots=True)
class BatchReader:
    """Reads batches of segments, and has notes on the files once they are read."""

    read: _Read
    summaries: list[InputSummary] = field(default_factory=list)

    def __call__(self, *, advance: Advance | None) -> Iterator[Segments]:
        """Read the input of a verb."""
        return self.read(advance=advance, describe=self.summaries.append)

    def notes(self) -> list[str]:
        """What was read of each file, unless all of them are plain text."""
        from adequa.io.read import PLAIN_TEXT

        if all(each.format == PLAIN_TEXT for each in self.summaries):
            return []
        return list(map(str, self.summaries))


def batch_reader(
    verb: str,
    hypotheses: Sequence[str],
    references: Sequence[str],
    source: str | None,
    table: str | None,
    columns: Sequence[str],
    keep: Sequence[str] = (),
    *,
    documents: bool = False,
    quoting: QuotingName = QuotingName.auto,
    systems: str | Sequence[str] | None = None,
    language: str | None = None,
) -> tuple[BatchReader, list[str]]:
    """A function that reads the input of a verb, and the files that it reads.

    `keep` are further columns of an -i file that the verb needs.
    """
    from adequa.io.read import bring_sources, read_parallel, read_table

    if table is not None:
        from adequa.io.columns import column_mapping

        if hypotheses or references or source is not None:
            raise AdequaError("Give either one file with -i, or files with -t and -r; not both.")
        read = partial(
            read_table,
            table,
            columns=column_mapping(columns),
            keep_ids=tuple(keep),
            documents=documents,
            quoting=quoting.value,
            systems=system_columns(systems) if isinstance(systems, str) else tuple(systems or ()),
            language=language,
        )
        return BatchReader(read), [table]
    named = [named_file(each) for each in hypotheses]
    files = [path for _, path in named]
    if not files or not (references or source is not None or bring_sources(files)):
        raise AdequaError(
            "Name the translations with -t and the reference with -r (for metrics that need none, "
            "the source with -s), or one file with -i;"
            f" `adequa {verb} --help` shows all options."
        )
    if columns:
        raise AdequaError("--column names columns of an -i file; files of -t and -r have none.")
    if systems is not None:
        raise AdequaError("--systems names columns of an -i file; files of -t and -r have none.")
    names = [name for name, _ in named]
    read_files = partial(read_parallel, files, references, source, names=names, language=language)
    return BatchReader(read_files), [*files, *references, *([] if source is None else [source])]


def system_columns(names: str) -> tuple[str, ...]:
    """The columns that --systems names.

    >>> system_columns("old, new")
    ('old', 'new')
    """
    columns = tuple(name.strip() for name in names.split(","))
    if not all(columns):
        raise AdequaError(f'--systems takes names of columns, such as A,B; "{names}" has none.')
    return columns


def check_language(language: str | None) -> None:
    """Raise where the value of -l is no language, before any file is read."""
    if language is not None:
        from adequa.languages import parse_language

        parse_language(language)


def named_file(value: str) -> tuple[str, str]:
    """The name of a system and its file: NAME=FILE, or FILE alone, whose name is then empty.

    >>> named_file("new=runs/17.txt"), named_file("runs/lr=0.1.txt")
    (('new', 'runs/17.txt'), ('', 'runs/lr=0.1.txt'))
    """
    name, _, path = value.partition("=")
    if not name or not path or "/" in name or Path(value).exists():
        return "", value
    return name, path
