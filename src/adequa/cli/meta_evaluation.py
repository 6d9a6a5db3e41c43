"""`adequa evaluate` and `adequa differences`, and how all verbs take human judgements.

The four verbs that measure metrics by human judgements (these two, `analyse` and `robustness`) name
the dataset, choose from it and load the metrics in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adequa.cli.inputs import MetricLoader
from adequa.cli.options import (
    CACHE_SIZE,
    META_EVALUATION_METRICS,
    CacheSize,
    Confidence,
    DeviceOption,
    Metrics,
    NoCache,
    Output,
    Pairs,
    Quiet,
    QuotingName,
    QuotingOption,
    Seed,
    Split,
    complete_dataset,
)
from adequa.cli.output import (
    FormatOption,
    check_outputs,
    chosen_format,
    print_notes,
    progress,
    write_result,
)
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.agreement.selection import Selection
    from adequa.agreement.sources import Source
    from adequa.judgements import Judgements
    from adequa.progress import Progress
    from adequa.tables import Format, Result


def dataset_argument(more: str = "") -> Any:
    """The argument DATASET."""
    return typer.Argument(
        metavar="DATASET",
        help="Dataset that `adequa datasets` lists, or a file of ratings, preferences or rated "
        f"systems.{more}",
        autocompletion=complete_dataset,
    )


DatasetName = Annotated[str, dataset_argument()]
OutputsFolder = Annotated[
    Path | None,
    typer.Option(
        "--outputs",
        metavar="FOLDER",
        help="Texts of rankings that have none: LP/SYSTEM.txt, LP/reference.txt, LP/source.txt.",
    ),
]
ExcludedSystems = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude-system", metavar="NAME", help="Leave out this system; repeat for more."
    ),
]
ExcludeReferences = Annotated[
    bool,
    typer.Option(
        "--exclude-references", help="Leave out human references that were judged as systems."
    ),
]
ExcludeOutliers = Annotated[
    bool,
    typer.Option(
        "--exclude-outliers", help="Leave out systems whose human score is far from the others."
    ),
]


def load_judgements(
    dataset: str, outputs: Path | None, quoting: QuotingName = QuotingName.auto
) -> Judgements:
    """The judgements of DATASET, with the texts of --outputs."""
    from adequa.datasets.load import load_dataset
    from adequa.io.rankings import read_wmt_rankings
    from adequa.io.read import format_suffix

    if outputs is None:
        return load_dataset(dataset, quoting=quoting.value)
    if format_suffix(dataset) != ".csv":
        raise AdequaError("--outputs goes with rankings of WMT, a file whose name ends in .csv.")
    return replace(read_wmt_rankings(dataset, outputs=outputs), name=Path(dataset).name)


def selection_of(
    lp: Sequence[str] | None,
    split: str | None,
    exclude_system: Sequence[str] | None,
    exclude_references: bool,
    exclude_outliers: bool,
) -> Selection:
    """The choice of judgements that the options make."""
    from adequa.agreement.selection import Selection
    from adequa.languages import language_pair

    return Selection(
        lp=tuple(language_pair(pair) for pair in lp or ()),
        split=(split,) if split else (),
        exclude_systems=tuple(exclude_system or ()),
        exclude_references=exclude_references,
        exclude_outliers=exclude_outliers,
    )


@contextmanager
def scoring(
    metrics: Sequence[str], loader: MetricLoader, *, quiet: bool
) -> Iterator[tuple[tuple[Source, ...], Progress]]:
    """Metrics and files of scores, ready to score, and the progress of the work."""
    from adequa.agreement.sources import sources

    scorers = sources(metrics, loader)
    loader.check_device()
    with progress("Scoring", None, quiet=quiet) as work:
        yield scorers, work


def write_with_notes(
    result: Result, notes: Sequence[str], format_: Format, output: str | None, *, quiet: bool
) -> None:
    """Write the notes of a result to standard error, and the result to a file or the terminal."""
    print_notes(notes, quiet=quiet)
    write_result(result, format_, output)


def evaluate(
    dataset: DatasetName,
    metric: Metrics = None,
    statistic: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="pearson, spearman, kendall-b, kendall-c, acc-eq, tau-darr; tau-wmt12, tau-wmt13, "
            "tau-wmt14; accuracy, spa. Default: the statistic of the dataset's campaign.",
        ),
    ] = None,
    level: Annotated[str, typer.Option(metavar="LEVEL", help="segment or system.")] = "segment",
    average: Annotated[
        str | None,
        typer.Option(metavar="HOW", help="pooled, or averaged by segment or by system."),
    ] = None,
    human: Annotated[
        str | None,
        typer.Option(
            metavar="HOW", help="System scores from preferences: expected-wins or trueskill."
        ),
    ] = None,
    lp: Pairs = None,
    split: Split = None,
    outputs: OutputsFolder = None,
    quoting: QuotingOption = QuotingName.auto,
    exclude_system: ExcludedSystems = None,
    exclude_references: ExcludeReferences = False,
    exclude_outliers: ExcludeOutliers = False,
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
    resamples: Annotated[
        int, typer.Option(metavar="N", help="Number of bootstrap resamples.")
    ] = 1000,
    swaps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of random swaps of the test. Default: as many as resamples, and more for "
            "many metrics.",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    alpha: Annotated[
        float, typer.Option(metavar="X", help="Significance level of the tests.")
    ] = 0.05,
    clusters: Annotated[
        str, typer.Option(metavar="RULE", help="Rule for ranks: greedy or separated.")
    ] = "greedy",
    seed: Seed = 0,
    format_: FormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Plot metric against human scores and the significance matrix: .svg, .png, .pdf.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Measure how well metrics agree with human judgements."""
    from adequa.agreement.evaluate import evaluate as evaluate_metrics
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
    writing = chosen_format(format_, output)
    metrics = metric or META_EVALUATION_METRICS
    check_outputs({"-o": output, "--plot": plot}, [dataset, *metrics])
    if plot is not None:
        from adequa.agreement.plots import check_plot

        check_plot(plot)
    selection = selection_of(lp, split, exclude_system, exclude_references, exclude_outliers)
    loader = MetricLoader(device, None if no_cache else cache_size)
    judgements = load_judgements(dataset, outputs, quoting)
    with scoring(metrics, loader, quiet=quiet) as (scorers, work):
        agreement = evaluate_metrics(
            judgements, scorers, protocol, selection=selection, progress=work
        )
    write_with_notes(agreement, agreement.notes, writing, output, quiet=quiet)
    if plot is not None:
        from adequa.agreement.plots import draw

        draw(agreement, plot)


def differences(
    datasets: Annotated[
        list[str], dataset_argument(" The pairs of several datasets count together.")
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
            help="segment or system. Default: system for rated systems, else segment.",
        ),
    ] = None,
    lp: Pairs = None,
    split: Split = None,
    outputs: OutputsFolder = None,
    quoting: QuotingOption = QuotingName.auto,
    exclude_system: ExcludedSystems = None,
    exclude_references: ExcludeReferences = False,
    exclude_outliers: ExcludeOutliers = False,
    min_difference: Annotated[
        float,
        typer.Option(metavar="X", help="Smallest difference of ratings that is a preference."),
    ] = 25.0,
    confidence: Confidence = 0.95,
    format_: FormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Count how often people agree with a score difference, by size."""
    from adequa.agreement.score_differences import DifferenceSettings
    from adequa.agreement.score_differences import differences as count_differences

    settings = DifferenceSettings(
        level=level,  # type: ignore[arg-type]  # the settings check every word
        edges=None if edges is None else _numbers(edges),
        min_difference=min_difference,
        confidence=confidence,
    )
    writing = chosen_format(format_, output)
    for name in datasets:
        if datasets.count(name) > 1:
            raise AdequaError(f"{name} is given more than once; its pairs would count twice.")
    metrics = metric or META_EVALUATION_METRICS
    check_outputs({"-o": output}, [*datasets, *metrics])
    selection = selection_of(lp, split, exclude_system, exclude_references, exclude_outliers)
    loader = MetricLoader(device, None if no_cache else cache_size)
    judgements = [load_judgements(name, outputs, quoting) for name in datasets]
    with scoring(metrics, loader, quiet=quiet) as (scorers, work):
        result = count_differences(
            judgements, scorers, settings, selection=selection, progress=work
        )
    write_with_notes(result, result.notes, writing, output, quiet=quiet)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError as error:
        raise AdequaError(
            f'--edges takes numbers with commas between them, such as 0.01,0.02, not "{text}".'
        ) from error
