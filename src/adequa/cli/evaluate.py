"""`adequa evaluate`: how well do metrics agree with people?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
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
    Seed,
    Split,
)
from adequa.cli.output import (
    AgreementFormat,
    AgreementFormatOption,
    check_output,
    format_by_ending,
    write,
)
from adequa.cli.progress import tell_notes
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.agreement.results import Agreement
    from adequa.judgements import Judgements


def evaluate(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="A dataset that `adequa datasets` lists, or a file of judgements.",
            autocompletion=complete_dataset,
        ),
    ],
    metric: Metrics = None,
    statistic: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="pearson, spearman, kendall-b, kendall-c, acc-eq, tau-darr; tau-wmt12, tau-wmt13, "
            "tau-wmt14; accuracy, spa. Default: what the campaign of the dataset used.",
        ),
    ] = None,
    level: Annotated[str, typer.Option(metavar="LEVEL", help="segment, or system.")] = "segment",
    average: Annotated[
        str | None,
        typer.Option(metavar="HOW", help="pooled, or averaged by segment or by system."),
    ] = None,
    human: Annotated[
        str | None,
        typer.Option(
            metavar="HOW", help="System scores of preferences: expected-wins or trueskill."
        ),
    ] = None,
    lp: Pairs = None,
    split: Split = None,
    outputs: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="For rankings without texts: LP/SYSTEM.txt, LP/reference.txt, LP/source.txt.",
        ),
    ] = None,
    exclude_system: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Leave this system out; repeat for more."),
    ] = None,
    exclude_references: Annotated[
        bool,
        typer.Option(
            "--exclude-references", help="Leave out human references that were judged as systems."
        ),
    ] = False,
    exclude_outliers: Annotated[
        bool,
        typer.Option(
            "--exclude-outliers", help="Leave out systems far from the others in human score."
        ),
    ] = False,
    min_difference: Annotated[
        float, typer.Option(metavar="X", help="Smallest difference of ratings that tau-darr uses.")
    ] = 25.0,
    over: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="The bootstrap draws segments, systems, both or none."),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The test swaps both (each output), inputs, systems or pairs; or williams; none.",
        ),
    ] = None,
    resamples: Annotated[int, typer.Option(metavar="N", help="Of the bootstrap.")] = 1000,
    swaps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Of the test. Default: as many as resamples, and more for many metrics.",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    alpha: Annotated[float, typer.Option(metavar="X", help="Level of the tests.")] = 0.05,
    clusters: Annotated[
        str, typer.Option(metavar="RULE", help="Ranks are greedy, or separated.")
    ] = "greedy",
    seed: Seed = 0,
    format_: AgreementFormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw metric against human and the significance matrix."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Measure how well metrics agree with human judgements."""
    from adequa.agreement.evaluate import evaluate as measure
    from adequa.agreement.protocol import Protocol

    protocol = Protocol(
        level=level,  # type: ignore[arg-type]  # Protocol checks every word
        statistic=statistic,
        average=average,  # type: ignore[arg-type]
        over=over,  # type: ignore[arg-type]
        test=test,  # type: ignore[arg-type]
        human=human,  # type: ignore[arg-type]
        resamples=resamples,
        swaps=swaps,
        confidence=confidence,
        alpha=alpha,
        clusters=clusters,  # type: ignore[arg-type]
        min_difference=min_difference,
        seed=seed,
    )
    metrics = metric or DEFAULT_METRICS
    for path in filter(None, (output, plot)):
        check_output(path, [dataset, *(name.partition(":")[0] for name in metrics), *metrics])
    if plot is not None and output is not None and Path(plot).resolve() == Path(output).resolve():
        raise AdequaError("-o and --plot name the same file; give each a name of its own.")
    if plot is not None:
        from adequa.agreement.plots import check_plot

        check_plot(plot)
    selection = replace(
        selection_of(lp, split),
        exclude_systems=tuple(exclude_system or ()),
        exclude_references=exclude_references,
        exclude_outliers=exclude_outliers,
    )
    loading = MetricLoader(device, None if no_cache else cache_size)
    judgements = _loaded(dataset, outputs)
    with scoring(metrics, loading, quiet=quiet) as (sources, seen):
        found = measure(judgements, sources, protocol, selection=selection, progress=seen)
    tell_notes(found.notes, quiet=quiet)
    write(_rendered(found, format_ or format_by_ending(output, AgreementFormat)), output)
    if plot is not None:
        from adequa.agreement.plots import draw

        draw(found, plot)


def _loaded(dataset: str, outputs: Path | None) -> Judgements:
    from adequa.datasets.load import load_dataset
    from adequa.io.rankings import read_wmt_rankings
    from adequa.io.read import format_suffix

    if outputs is None:
        return load_dataset(dataset)
    if format_suffix(dataset) != ".csv":
        raise AdequaError("--outputs goes with rankings of WMT, a file whose name ends in .csv.")
    return replace(read_wmt_rankings(dataset, outputs=outputs), name=Path(dataset).name)


def _rendered(found: Agreement, format_: AgreementFormat) -> Iterator[str]:
    from adequa.cli import render_agreement as render

    render_as = {
        AgreementFormat.text: render.as_text,
        AgreementFormat.json: render.as_json,
        AgreementFormat.tsv: render.as_tsv,
        AgreementFormat.latex: render.as_latex,
        AgreementFormat.markdown: render.as_markdown,
    }
    return render_as[format_](found)
