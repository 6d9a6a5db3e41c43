"""`adequa analyse`: which of the outputs that people rate high do two metrics find?"""

from __future__ import annotations

import re
from enum import Enum
from itertools import chain
from typing import Annotated

import typer

from adequa.cli.inputs import MetricLoader
from adequa.cli.meta_evaluation import (
    DatasetName,
    ExcludedSystems,
    ExcludeOutliers,
    ExcludeReferences,
    OutputsFolder,
    load_judgements,
    scoring,
    selection_of,
    write_with_notes,
)
from adequa.cli.options import (
    CACHE_SIZE,
    CacheSize,
    DeviceOption,
    NoCache,
    Output,
    Pairs,
    Quiet,
    QuotingName,
    QuotingOption,
    Split,
    complete_metric,
)
from adequa.cli.output import FormatOption, check_outputs, chosen_format, write
from adequa.errors import AdequaError
from adequa.tables import Format


class Listed(str, Enum):
    """Which outputs are listed; A is the metric named first, B the second."""

    only_a = "only-a"
    only_b = "only-b"
    both = "both"
    neither = "neither"
    all = "all"


def analyse(
    dataset: DatasetName,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="FILE|NAME|FOLDER[:SETTING=VALUE,...]",
            help="Metric or folder of a trained metric, with optional settings, or a file of "
            "scores; give two, A and B.",
            autocompletion=complete_metric,
        ),
    ] = None,
    top: Annotated[
        str,
        typer.Option(
            metavar="SHARE", help="Fraction of the outputs of a language pair that is analysed."
        ),
    ] = "20%",
    lp: Pairs = None,
    split: Split = None,
    outputs: OutputsFolder = None,
    quoting: QuotingOption = QuotingName.auto,
    exclude_system: ExcludedSystems = None,
    exclude_references: ExcludeReferences = False,
    exclude_outliers: ExcludeOutliers = False,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:PATH",
            help="Count words that this encoder does not know; repeat for those of any of several.",
        ),
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(metavar="X", help="Word overlaps below this are low. Default: their median."),
    ] = None,
    short: Annotated[
        int, typer.Option(metavar="N", help="Largest number of words of a short output.")
    ] = 15,
    list_: Annotated[
        Listed | None, typer.Option("--list", help="List these outputs below the tables.")
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of outputs of each kind for --list.")
    ] = 10,
    listing: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write all analysed outputs: .tsv, .jsonl, or .html to browse."
        ),
    ] = None,
    format_: FormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Analyse which good outputs two metrics find or miss."""
    from adequa.agreement.analysis_results import VERDICTS, AnalysisVerdict, check_listing
    from adequa.agreement.error_analysis import AnalysisSettings
    from adequa.agreement.error_analysis import analyse as analyse_errors

    settings = AnalysisSettings(top=_fraction(top), overlap=overlap, short=short)
    writing = chosen_format(format_, output)
    if list_ is not None and writing not in {Format.text, Format.json}:
        raise AdequaError(
            f"--list goes with text or json, not with {writing.value}; --listing FILE writes all "
            "analysed outputs beside the tables."
        )
    if listing is not None:
        check_listing(listing)
    metrics, encoders = metric or [], encoder or []
    words = [*metrics, *encoders]
    inputs = [dataset, *words, *chain(*(re.split("[:,]", word) for word in words))]
    check_outputs({"-o": output, "--listing": listing}, inputs)
    selection = selection_of(lp, split, exclude_system, exclude_references, exclude_outliers)
    loader = MetricLoader(device, None if no_cache else cache_size)
    judgements = load_judgements(dataset, outputs, quoting)
    with scoring(metrics, loader, quiet=quiet) as (scorers, work):
        analysis = analyse_errors(
            judgements, scorers, settings, encoders=encoders, selection=selection, progress=work
        )
    if list_ is not None:
        verdicts = VERDICTS if list_ is Listed.all else (AnalysisVerdict(list_.value),)
        analysis = analysis.with_listing(verdicts, limit)
    write_with_notes(analysis, analysis.notes, writing, output, quiet=quiet)
    if listing is not None:
        write(analysis.listing_lines(listing), listing)


def _fraction(text: str) -> float:
    """A fraction as people write it: 20% or 0.2."""
    number = text.strip()
    try:
        fraction = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        fraction = 0.0
    if not 0 < fraction < 1:
        raise AdequaError(f'--top takes a share such as 20% or 0.2, and "{text}" is none.')
    return fraction
