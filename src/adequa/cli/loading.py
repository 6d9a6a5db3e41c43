"""Inputs of the command line: metrics on the chosen device with cached scores, and text files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from adequa.cli.options import Device
from adequa.errors import AdequaError, UnknownSettingError

if TYPE_CHECKING:
    from adequa.io.text import Advance
    from adequa.metrics.base import Metric
    from adequa.segments import Segments

SCORES = "scores.db"  # in the cache folder
_MEGABYTE = 1_000_000


@dataclass(slots=True)
class Loading:
    """Loads metrics by their words, and remembers whether any of them runs on a device."""

    device: Device | None = None  # None where the user names none
    megabytes: int | None = None  # of scores that are kept on disk; None for none at all
    _without_device: list[str] = field(default_factory=list)
    _with_device: int = 0

    def __call__(self, specification: str) -> Metric:
        """A metric from its name or its folder."""
        metric = self._placed(specification)
        if self.megabytes is not None:
            from adequa.datasets.download import cache_folder

            with suppress(RuntimeError):  # a user without a home
                metric.keep_scores(cache_folder() / SCORES, self.megabytes * _MEGABYTE)
        return metric

    def _placed(self, specification: str) -> Metric:
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

    def check_device(self) -> None:
        """Raise where a device is named that none of the metrics makes use of."""
        if self.device is not None and not self._with_device:
            from adequa.metrics.registry import no_device

            raise no_device(self._without_device)


Hypotheses = Annotated[
    list[str] | None,
    typer.Option(
        "-t", "--hypothesis", metavar="FILE", help="A system's output; repeat for more systems."
    ),
]
References = Annotated[
    list[str] | None,
    typer.Option(
        "-r", "--reference", metavar="FILE", help="A reference translation; repeat for several."
    ),
]
SourceText = Annotated[
    str | None, typer.Option("-s", "--source", metavar="FILE", help="The source text.")
]
Input = Annotated[
    str | None,
    typer.Option(
        "-i",
        "--input",
        metavar="FILE",
        help="One file with everything: TSV, JSONL, JSON, Parquet, WMT XML or SGM; - reads TSV "
        "from standard input. Columns: mt, ref, and optionally src, system, doc.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="FIELD=NAME", help="Where a field stands in the input."),
]


class Read(Protocol):
    """Reads batches of segments, telling how many bytes it has taken in."""

    def __call__(self, *, advance: Advance | None) -> Iterator[Segments]: ...


def reader(
    verb: str,
    hypotheses: Sequence[str],
    references: Sequence[str],
    source: str | None,
    table: str | None,
    columns: Sequence[str],
    keep: Sequence[str] = (),
    *,
    documents: bool = False,
) -> tuple[Read, list[str]]:
    """How to read what the user named, and the files that it takes."""
    from adequa.io.columns import column_mapping
    from adequa.io.read import read_parallel, read_table

    if table is not None:
        if hypotheses or references or source is not None:
            raise AdequaError("Give either one file with -i, or files with -t and -r; not both.")
        mapping = column_mapping(columns)
        read = partial(
            read_table, table, columns=mapping, keep_ids=tuple(keep), documents=documents
        )
        return read, [table]
    if not hypotheses or not references:
        raise AdequaError(
            "Name the translations with -t and the reference with -r, or one file with -i;"
            f" `adequa {verb} --help` shows all options."
        )
    if columns:
        raise AdequaError("--column names columns of an -i file; files of -t and -r have none.")
    sources = [] if source is None else [source]
    return partial(read_parallel, hypotheses, references, source), [
        *hypotheses,
        *references,
        *sources,
    ]
