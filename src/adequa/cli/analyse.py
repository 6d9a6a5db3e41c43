"""`adequa analyse`: which of the outputs that people rate high do two metrics find?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_dataset, complete_metric
from adequa.cli.inputs import MetricLoader
from adequa.cli.measuring import scoring, selection_of
from adequa.cli.options import (
    CACHE_SIZE,
    CacheSize,
    DeviceOption,
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
    from adequa.agreement.error_analysis import Analysis


class Listed(str, Enum):
    """Which outputs are shown; A is the metric named first, B the second."""

    only_a = "only-a"
    only_b = "only-b"
    both = "both"
    neither = "neither"
    all = "all"


def analyse(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="A dataset that `adequa datasets` lists, or a file of ratings with texts.",
            autocompletion=complete_dataset,
        ),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="NAME|FILE",
            help="A metric with its settings, or a file of scores; give two, A and B.",
            autocompletion=complete_metric,
        ),
    ] = None,
    top: Annotated[
        str,
        typer.Option(metavar="SHARE", help="How much of a language pair is analysed, best first."),
    ] = "20%",
    lp: Pairs = None,
    split: Split = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:PATH",
            help="Count words that this encoder does not know; repeat for those of any of several.",
        ),
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="An overlap of words below this is low. Default: their median."
        ),
    ] = None,
    short: Annotated[int, typer.Option(metavar="N", help="Words of a short output, at most.")] = 15,
    list_: Annotated[
        Listed | None, typer.Option("--list", help="Show these outputs below the tables.")
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="Outputs that --list shows of each kind.")
    ] = 10,
    listing: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write all analysed outputs: .tsv, .jsonl, or .html to browse."
        ),
    ] = None,
    format_: TableFormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Show which good outputs two metrics find, and what they look like."""
    from adequa.agreement.error_analysis import AnalysisSettings
    from adequa.agreement.error_analysis import analyse as analysed
    from adequa.datasets.load import load_dataset

    settings = AnalysisSettings(top=_share(top), overlap=overlap, short=short)
    selection = selection_of(lp, split)
    format_ = format_ or format_by_ending(output, TableFormat)
    if list_ is not None and format_ not in {TableFormat.text, TableFormat.json}:
        raise AdequaError(
            f"--list goes with text or json, not with {format_.value}; --listing FILE writes all "
            "analysed outputs beside the tables."
        )
    metrics, encoders = metric or [], encoder or []
    named = [*metrics, *encoders]
    inputs = [dataset, *named, *chain(*(re.split("[:,]", name) for name in named))]
    _check_files(output, listing, inputs)
    loading = MetricLoader(device, None if no_cache else cache_size)
    judgements = load_dataset(dataset)
    with scoring(metrics, loading, quiet=quiet) as (sources, seen):
        found = analysed(
            judgements, sources, settings, encoders=encoders, selection=selection, progress=seen
        )
    tell_notes(found.notes, quiet=quiet)
    write(_rendered(found, format_, list_, limit), output)
    if listing is not None:
        from adequa.cli.listing import listing as listed

        write(listed(found, listing), listing)


def _share(written: str) -> float:
    """A share as people write it: 20% or 0.2."""
    text = written.strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise AdequaError(f'--top takes a share such as 20% or 0.2, and "{written}" is none.')
    return share


def _check_files(output: str | None, listing: str | None, inputs: Sequence[str]) -> None:
    """Raise what writing would raise, before the work."""
    if listing is not None:
        from adequa.cli.listing import check_listing

        check_listing(listing)
    for path in filter(None, (output, listing)):
        check_output(path, inputs)
    if output and listing and Path(output).resolve() == Path(listing).resolve():
        raise AdequaError("-o and --listing name the same file; give each a name of its own.")


def _rendered(
    found: Analysis, format_: TableFormat, listed: Listed | None, limit: int
) -> Iterator[str]:
    from adequa.agreement.top_share import VERDICTS, Verdict
    from adequa.cli import render_analysis as render

    verdicts: Sequence[Verdict] = ()
    if listed is not None:
        verdicts = VERDICTS if listed is Listed.all else (Verdict(listed.value),)
    match format_:
        case TableFormat.json:
            rows = (render.listed_rows(found, verdict, limit) for verdict in verdicts)
            yield from render.as_json(found, list(chain(*rows)) if verdicts else None)
        case TableFormat.tsv:
            yield from render.as_tsv(found)
        case TableFormat.markdown:
            yield from render.as_markdown(found)
        case TableFormat.text:
            yield from render.as_text(found)
            yield from render.as_listing(found, verdicts, limit)
