"""`adequa train confidence` and `train bands` fit confidence and bands to human ratings.

`adequa coverage` measures confidence.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.inputs import MetricLoader
from adequa.cli.meta_evaluation import (
    DatasetName,
    ExcludeReferences,
    selection_of,
    write_with_notes,
)
from adequa.cli.options import (
    CACHE_SIZE,
    METRIC_OPTION,
    CacheSize,
    ConfidenceFile,
    DeviceOption,
    IntervalLevel,
    NoCache,
    Output,
    Pairs,
    Quiet,
    QuotingName,
    QuotingOption,
    RatersOption,
    Split,
    complete_metric,
)
from adequa.cli.output import (
    FormatOption,
    check_outputs,
    chosen_format,
    print_notes,
    progress,
    write,
    write_result,
)
from adequa.cli.training import (
    RatingsOption,
    ReportOption,
    SeedOption,
    data_option,
    load_ratings,
)
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.judgements import Ratings
    from adequa.scoring.confidence import Raters

PackedMetric = Annotated[
    str,
    typer.Option(
        "-m",
        "--metric",
        metavar="NAME|FOLDER",
        help="adequa, adequa-fast or adequa-1, or the folder of an exported metric.",
        autocompletion=complete_metric,
    ),
]


def train_confidence(
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="File for the fitted confidence; its name ends in .json.",
        ),
    ],
    ratings: Annotated[
        list[str] | None,
        data_option(
            "Standardised ratings of one rater each, with texts: mt, ref, score. A file, or a "
            "dataset by name; repeat for more.",
            "--ratings",
        ),
    ] = None,
    panel: Annotated[
        list[str] | None,
        data_option(
            "The same, each rating being the mean of a panel of about 15 raters.", "--panel"
        ),
    ] = None,
    metric: PackedMetric = "adequa",
    good: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="Minimum rating, from 0 to 1, for the band publish.",
            show_default="0.667",
        ),
    ] = 2 / 3,
    poor: Annotated[
        float,
        typer.Option(metavar="X", help="Rating, from 0 to 1, below which the band is redo."),
    ] = 1 / 2,
    probability: Annotated[
        float,
        typer.Option(metavar="P", help="Minimum probability for a band."),
    ] = 0.8,
    lp: Pairs = None,
    seed: SeedOption = 0,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    format_: ReportOption = None,
    quiet: Quiet = False,
) -> None:
    """Fit confidence intervals for the segment scores of an exported metric to human ratings.

    `adequa score --confidence` reads the file with --confidence-file FILE, or as confidence.json
    in the folder of the metric. The ratings must not be those that the metric was trained on.
    """
    from adequa.agreement.confidence import fit_confidence
    from adequa.scoring.confidence import BandRule

    writing = chosen_format(format_, None)
    sources = {"--panel": panel or [], "--ratings": ratings or []}
    if not any(sources.values()):
        raise AdequaError(
            "Give ratings of one rater each with --ratings, those of panels with --panel, or both."
        )
    if Path(output).suffix != ".json":
        raise AdequaError(
            f"The fitted confidence is JSON; give {output} a name that ends in .json."
        )
    check_outputs({"-o": output}, [path for paths in sources.values() for path in paths])
    if not 0 <= poor <= good <= 1:
        raise AdequaError(f"--poor {poor:g} and --good {good:g} should be 0 <= poor <= good <= 1.")
    rule = BandRule(good, poor, probability)
    data: dict[Raters, Ratings] = {}
    if panel:
        data["panel"] = load_ratings(panel, lp, None, seed, quiet)
    if ratings:
        data["one"] = load_ratings(ratings, lp, None, seed, quiet)
    scorer = MetricLoader(None, None if no_cache else cache_size)(metric)
    with progress("Scoring", None, quiet=quiet) as work:
        fitted = fit_confidence(data, scorer, rule=rule, seed=seed, progress=work)
    print_notes(scorer.remarks(), quiet=quiet)
    write([fitted.model.to_json()], output)
    if not quiet or format_ is not None:
        write_result(fitted, writing, None)


def train_bands(
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE", help="File for the bands; its name ends in .json."
        ),
    ],
    ratings: RatingsOption,
    metric: Annotated[
        str,
        METRIC_OPTION,
    ],
    good: Annotated[
        float, typer.Option(metavar="X", help="Lowest rating for the band publish, such as 85.")
    ],
    poor: Annotated[
        float, typer.Option(metavar="X", help="Rating below which the band is redo, such as 50.")
    ],
    precision: Annotated[
        float,
        typer.Option(metavar="P", help="Fraction of the ratings in a band that should be so."),
    ] = 0.8,
    lp: Pairs = None,
    seed: SeedOption = 0,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    format_: ReportOption = None,
    quiet: Quiet = False,
) -> None:
    """Choose thresholds of the bands publish and redo on rated segments, for any metric.

    `adequa score --bands FILE` reads the file. The thresholds put most segments into a band at the
    precision that is asked for; the precision is then measured on held-out segments. The ratings
    must not be those that the metric was trained on.
    """
    from adequa.agreement.bands import fit_bands

    writing = chosen_format(format_, None)
    if Path(output).suffix != ".json":
        raise AdequaError(f"Bands are written as JSON; give {output} a name that ends in .json.")
    check_outputs({"-o": output}, ratings)
    data = load_ratings(ratings, lp, None, seed, quiet)
    loader = MetricLoader(device, None if no_cache else cache_size)
    scorer = loader(metric)
    loader.check_device()
    with progress("Scoring", None, quiet=quiet) as work:
        fitted = fit_bands(
            data, scorer, good=good, poor=poor, precision=precision, seed=seed, progress=work
        )
    print_notes(scorer.remarks(), quiet=quiet)
    write([fitted.to_json()], output)
    if not quiet or format_ is not None:
        write_result(fitted, writing, None)


def coverage(
    dataset: DatasetName,
    metric: PackedMetric = "adequa",
    raters: RatersOption = None,
    level: IntervalLevel = None,
    confidence_file: ConfidenceFile = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="For ratings on any scale, such as MQM: only the fraction of each band that is "
            "X or more.",
        ),
    ] = None,
    lp: Pairs = None,
    split: Split = None,
    exclude_references: ExcludeReferences = False,
    quoting: QuotingOption = QuotingName.auto,
    format_: FormatOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Measure how often human ratings are in the intervals of scores.

    The intervals are those of `adequa score --confidence`. The ratings are standardised (DA's z
    scores): each by a single person with --raters one, or the mean of a panel with --raters panel.
    """
    from adequa.agreement.coverage import coverage as measure_coverage
    from adequa.datasets.load import load_dataset
    from adequa.scoring.confidence import DEFAULT_LEVEL

    writing = chosen_format(format_, output)
    check_outputs({"-o": output}, [dataset])
    scorer = MetricLoader(None, None if no_cache else cache_size)(metric)
    judgements = load_dataset(dataset, quoting=quoting.value)
    with progress("Scoring", None, quiet=quiet) as work:
        result = measure_coverage(
            judgements,
            scorer,
            raters=None if raters is None else raters.value,
            level=DEFAULT_LEVEL if level is None else level,
            file=confidence_file,
            threshold=threshold,
            selection=selection_of(lp, split, None, exclude_references, False),
            progress=work,
        )
    write_with_notes(result, scorer.remarks(), writing, output, quiet=quiet)
