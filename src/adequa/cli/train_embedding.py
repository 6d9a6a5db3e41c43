"""`adequa train embedding-regressor`: regression over the vectors of hypothesis and reference."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_encoder
from adequa.cli.options import Pairs, Quiet
from adequa.cli.progress import tell
from adequa.cli.training import (
    FoldsOption,
    GridName,
    GridOption,
    NameOption,
    OutputOption,
    RatingsOption,
    References,
    SampleOption,
    SeedOption,
    WorkersOption,
    checked_target,
    ratings_of,
    save_and_report,
    training_progress,
)

if TYPE_CHECKING:
    from adequa.judgements import Ratings
    from adequa.learned.embedding.metric import EmbeddingRegressor


class Model(str, Enum):
    """The regressor."""

    svr = "svr"
    mlp = "mlp"


def embedding_regressor(
    ratings: RatingsOption,
    encoder: Annotated[
        list[str],
        typer.Option(
            "--encoder",
            metavar="KIND:PATH[,SETTING=VALUE...]",
            help="Sentence encoder; repeat to concatenate the vectors of several. The command "
            "`adequa encoders` lists the kinds.",
            autocompletion=complete_encoder,
        ),
    ],
    output: OutputOption,
    model: Annotated[
        Model, typer.Option(help="A support vector regressor, or RUSE's perceptron.")
    ] = Model.svr,
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
    quiet: Quiet = False,
) -> None:
    """Train a regressor on sentence vectors of hypothesis and reference (SVR, RUSE)."""
    from adequa.encoders.base import cached
    from adequa.encoders.registry import load_encoders
    from adequa.learned.embedding.metric import EmbeddingRegressor

    called = checked_target(output, name)
    rated = ratings_of(ratings, lp, sample, seed, quiet)
    found = load_encoders(encoder)
    with training_progress(quiet) as progress:
        metric = EmbeddingRegressor(
            encoder=cached(found, progress=progress.scored) if cache else found,
            model=model.value,
            grid=grid.value,
            references=references.value,
            folds=folds,
            seed=seed,
            workers=workers,
            device=device,
            name=called,
        ).fit(rated, progress)
    if not quiet:
        _tell_coverage(metric, rated)
    save_and_report(metric, output, quiet)


def _tell_coverage(metric: EmbeddingRegressor, rated: Ratings) -> None:
    """Print a note on the coverage of the encoder's vocabulary, if it has one."""
    from adequa.encoders.base import Encoder

    if rated.segments is None or not isinstance(metric.encoder, Encoder):
        return
    texts = [*rated.segments.hypotheses, *(r for refs in rated.segments.references for r in refs)]
    for part in getattr(metric.encoder, "parts", (metric.encoder,)):
        coverage = part.coverage(texts)
        if coverage is not None:
            tell(f"note: {part.name} knows {coverage.fraction:.1%} of the words of the ratings.")
