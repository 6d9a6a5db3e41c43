"""`adequa differences`: how often do people agree with a difference of scores, by its size?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_dataset
from adequa.cli.inputs import MetricLoader
from adequa.cli.measuring import scoring, selection_of
from adequa.cli.options import (
    CACHE_SIZE,
    DEFAULT_METRICS,
    CacheSize,
    Confidence,
    DeviceOption,
    Metrics,
    NoCache,
    Output,
    Pairs,
    Quiet,
    Split,
)
from adequa.cli.output import TableFormat, TableFormatOption, check_output, format_by_ending, write
from adequa.cli.progress import tell_notes
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.agreement.noticed import Noticed


def differences(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="Datasets that `adequa datasets` lists, or files of judgements: preferences, "
            "rated systems, or ratings. Pairs of several count together.",
            autocompletion=complete_dataset,
        ),
    ],
    metric: Metrics = None,
    edges: Annotated[
        str | None,
        typer.Option(
            metavar="X,X,...",
            help="Where bins of differences start, besides 0: 0.01,0.02,0.05. Default: quantiles "
            "of each metric, rounded.",
        ),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="segment, or system. Default: segment, but for rated systems.",
        ),
    ] = None,
    lp: Pairs = None,
    split: Split = None,
    min_difference: Annotated[
        float,
        typer.Option(metavar="X", help="Smallest difference of ratings that is a preference."),
    ] = 25.0,
    confidence: Confidence = 0.95,
    format_: TableFormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Tell how often people agree with a difference of scores, by its size."""
    from adequa.agreement.noticed import DifferenceSettings, noticed
    from adequa.datasets.load import load_dataset

    settings = DifferenceSettings(
        level=level,  # type: ignore[arg-type]  # the settings check every word
        edges=None if edges is None else _numbers(edges),
        min_difference=min_difference,
        confidence=confidence,
    )
    selection = selection_of(lp, split)
    for name in data:
        if data.count(name) > 1:
            raise AdequaError(f"{name} is given more than once; its pairs would count twice.")
    metrics = metric or list(DEFAULT_METRICS)
    if output is not None:
        check_output(output, [*data, *(name.partition(":")[0] for name in metrics), *metrics])
    loading = MetricLoader(device, None if no_cache else cache_size)
    judgements = [load_dataset(name) for name in data]
    with scoring(metrics, loading, quiet=quiet) as (sources, seen):
        found = noticed(judgements, sources, settings, selection=selection, progress=seen)
    tell_notes(found.notes, quiet=quiet)
    write(_rendered(found, format_ or format_by_ending(output, TableFormat)), output)


def _numbers(written: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in written.split(","))
    except ValueError as error:
        raise AdequaError(
            f'--edges takes numbers with commas between them, such as 0.01,0.02, not "{written}".'
        ) from error


def _rendered(found: Noticed, format_: TableFormat) -> Iterator[str]:
    from adequa.cli import render_differences as render

    render_as = {
        TableFormat.text: render.as_text,
        TableFormat.json: render.as_json,
        TableFormat.tsv: render.as_tsv,
        TableFormat.markdown: render.as_markdown,
    }
    return render_as[format_](found)
