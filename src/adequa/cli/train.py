"""`adequa train`: the metrics that can be trained, and `adequa encoders`.

Regressors over sentence vectors and over other metrics, and means of saved metrics, are here;
networks have files of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.confidence import train_bands, train_confidence
from adequa.cli.options import (
    Output,
    Pairs,
    Quiet,
    Verb,
    VerbGroup,
    complete_encoder,
    complete_metric,
)
from adequa.cli.output import FormatOption, chosen_format, print_message, write_result
from adequa.cli.train_pair import pair_regressor
from adequa.cli.train_pairwise import pairwise_ranker
from adequa.cli.train_tree import tree_lstm
from adequa.cli.training import (
    DownloadOption,
    FoldsOption,
    GridName,
    GridOption,
    NameOption,
    OutputOption,
    RatingsOption,
    References,
    ReportOption,
    SampleOption,
    SeedOption,
    WorkersOption,
    check_target,
    encoder_option,
    load_ratings,
    save_and_report,
    training_progress,
)
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.cli.metrics import SettingsDescription
    from adequa.encoders.base import AnyEncoder
    from adequa.judgements import Ratings

Shares = Annotated[
    list[float] | None,
    typer.Option(
        "--share",
        metavar="N",
        help="Weight of a metric, once for each -m in the same order. Default: equal weights.",
    ),
]

app = typer.Typer(
    cls=VerbGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Train a metric on human judgements of your own.\n\nUse it with `adequa score -m FOLDER`.",
)


class Regressor(str, Enum):
    """The regressor over sentence vectors."""

    svr = "svr"
    mlp = "mlp"


def embedding_regressor(
    ratings: RatingsOption,
    encoder: Annotated[
        list[str],
        encoder_option("Sentence encoder; repeat to concatenate the vectors of several."),
    ],
    output: OutputOption,
    model: Annotated[
        Regressor, typer.Option(help="A support vector regressor, or RUSE's perceptron.")
    ] = Regressor.svr,
    grid: GridOption = GridName.scaled,
    references: Annotated[
        References, typer.Option(help="Score of a segment with multiple references.")
    ] = References.best,
    lp: Pairs = None,
    sample: SampleOption = None,
    folds: FoldsOption = 10,
    seed: SeedOption = 0,
    name: NameOption = None,
    workers: WorkersOption = None,
    device: Annotated[
        str,
        typer.Option(metavar="NAME", help="Device to train a perceptron on: auto, cpu or cuda."),
    ] = "auto",
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Cache sentence vectors on disk.")
    ] = True,
    download: DownloadOption = False,
    format_: ReportOption = None,
    quiet: Quiet = False,
) -> None:
    """Train a regressor on sentence vectors of hypothesis and reference (SVR, RUSE)."""
    from adequa.encoders.base import cached
    from adequa.encoders.registry import load_encoders
    from adequa.learned.embedding.metric import EmbeddingRegressor

    name = check_target(output, name, format_)
    training_data = load_ratings(ratings, lp, sample, seed, quiet)
    loaded = load_encoders(encoder, download=download)
    with training_progress(quiet) as progress:
        metric = EmbeddingRegressor(
            encoder=cached(loaded, progress=progress.texts_scored) if cache else loaded,
            model=model.value,
            grid=grid.value,
            references=references.value,
            folds=folds,
            seed=seed,
            workers=workers,
            device=device,
            name=name,
        ).fit(training_data, progress)
    if not quiet:
        _tell_coverage(metric.encoder, training_data)
    save_and_report(metric, output, format_, quiet)


def _tell_coverage(encoder: AnyEncoder, ratings: Ratings) -> None:
    """Print a note on the coverage of the encoder's vocabulary, if it has one."""
    from adequa.encoders.base import Encoder

    if ratings.segments is None or not isinstance(encoder, Encoder):
        return
    references = (
        each for segment_references in ratings.segments.references for each in segment_references
    )
    texts = [*ratings.segments.hypotheses, *references]
    for part in getattr(encoder, "parts", (encoder,)):
        coverage = part.coverage(texts)
        if coverage is not None:
            print_message(
                f"note: {part.name} knows {coverage.fraction:.1%} of the words of the ratings."
            )


def blend(
    ratings: RatingsOption,
    output: OutputOption,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="NAME|FOLDER",
            help="Metric whose scores are inputs; repeat for more. Default: all lexical metrics.",
            autocompletion=complete_metric,
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Column of scores in the input, needed for training and scoring; repeat for more.",
        ),
    ] = None,
    grid: GridOption = GridName.scaled,
    lp: Pairs = None,
    sample: SampleOption = None,
    folds: FoldsOption = 10,
    seed: SeedOption = 0,
    name: NameOption = None,
    workers: WorkersOption = None,
    format_: ReportOption = None,
    quiet: Quiet = False,
) -> None:
    """Train a regressor on the scores of other metrics (Blend)."""
    from adequa.learned.blend import LEXICAL, Blend

    name = check_target(output, name, format_)
    training_data = load_ratings(ratings, lp, sample, seed, quiet)
    with training_progress(quiet) as progress:
        blended = Blend(
            metrics=tuple(metric or (() if column else LEXICAL)),
            columns=tuple(column or ()),
            grid=grid.value,
            folds=folds,
            seed=seed,
            workers=workers,
            name=name,
        ).fit(training_data, progress)
    save_and_report(blended, output, format_, quiet)


def ensemble(
    metric: Annotated[
        list[str],
        typer.Option(
            "-m",
            "--metric",
            metavar="FOLDER",
            help="A saved metric; two or more, trained on the same ratings.",
        ),
    ],
    output: OutputOption,
    share: Shares = None,
    name: NameOption = None,
    format_: ReportOption = None,
    quiet: Quiet = False,
) -> None:
    """Combine saved metrics: the mean of their scores."""
    from adequa.learned.ensemble import Ensemble

    name = check_target(output, name, format_)
    combined = Ensemble.of(metric, name, share or ())
    if not quiet and len(combined.training_data()) > 1:
        print_message(
            "note: the parts were trained on different ratings "
            f"({'; '.join(combined.training_data())}); where these are on different scales, the "
            "mean is mostly that of the widest."
        )
    save_and_report(combined, output, format_, quiet)


def average(
    metric: Annotated[
        list[str],
        typer.Option(
            "-m",
            "--metric",
            metavar="FOLDER",
            help="A saved pair regressor; two or more, fine-tuned from the same encoder.",
        ),
    ],
    output: OutputOption,
    share: Shares = None,
    name: NameOption = None,
    format_: ReportOption = None,
    quiet: Quiet = False,
) -> None:
    """Average the weights of pair regressors into one metric, as fast as one of them."""
    from adequa.learned.ensemble import average_metrics
    from adequa.learned.pair.metric import PairRegressor
    from adequa.metrics.registry import load_metric

    name = check_target(output, name, format_)
    metrics = []
    for folder in metric:
        loaded = load_metric(folder)
        if not isinstance(loaded, PairRegressor):
            raise AdequaError(
                f"{folder} is no pair regressor; `adequa train ensemble` takes the mean of the "
                "scores of any metrics."
            )
        metrics.append(loaded)
    save_and_report(average_metrics(metrics, name, share or ()), output, format_, quiet)


_COMMANDS: dict[str, Callable[..., None]] = {
    "pair-regressor": pair_regressor,
    "embedding-regressor": embedding_regressor,
    "pairwise-ranker": pairwise_ranker,
    "tree-lstm": tree_lstm,
    "blend": blend,
    "ensemble": ensemble,
    "average": average,
    "confidence": train_confidence,
    "bands": train_bands,
}
for _name, _command in _COMMANDS.items():
    app.command(_name, cls=Verb)(_command)


def encoders(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="Show the settings of this kind.",
            autocompletion=complete_encoder,
        ),
    ] = None,
    format_: FormatOption = None,
    output: Output = None,
) -> None:
    """List the kinds of encoders, or the settings of one."""
    from adequa.cli.metrics import Listing
    from adequa.encoders.registry import ENCODERS

    chosen = chosen_format(format_, output)
    if kind is not None:
        write_result(_encoder(kind.rstrip(":")), chosen, output)
        return
    hint = "`adequa encoders KIND` shows an encoder's settings; use them as"
    summaries = {each: entry.summary for each, entry in ENCODERS.items()}
    listing = Listing("kind", "summary", summaries, f"{hint} `--encoder KIND:PATH,SETTING=VALUE`.")
    write_result(listing, chosen, output)


def _encoder(kind: str) -> SettingsDescription:
    from adequa.cli.metrics import SettingsDescription, shown_default
    from adequa.encoders.registry import ENCODERS, allowed_values, encoder_class, settings_of

    encoder = encoder_class(kind)
    settings = tuple(
        (name, shown_default(default), allowed_values(name, default))
        for name, default in settings_of(encoder).items()
    )
    text = cleandoc(encoder.load.__doc__ or "")
    return SettingsDescription(kind, ENCODERS[kind].summary, text, {}, settings)
