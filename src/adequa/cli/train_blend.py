"""`adequa train blend`: regression over the scores of other metrics."""

from __future__ import annotations

from typing import Annotated

import typer

from adequa.cli.completion import complete_metric
from adequa.cli.options import Pairs, Quiet
from adequa.cli.training import (
    FoldsOption,
    GridName,
    GridOption,
    NameOption,
    OutputOption,
    RatingsOption,
    SampleOption,
    SeedOption,
    WorkersOption,
    checked_target,
    ratings_of,
    save_and_report,
    training_progress,
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
    quiet: Quiet = False,
) -> None:
    """Train a regressor on the scores of other metrics (Blend)."""
    from adequa.learned.blend import LEXICAL, Blend

    called = checked_target(output, name)
    rated = ratings_of(ratings, lp, sample, seed, quiet)
    with training_progress(quiet) as progress:
        found = Blend(
            metrics=tuple(metric or (() if column else LEXICAL)),
            columns=tuple(column or ()),
            grid=grid.value,
            folds=folds,
            seed=seed,
            workers=workers,
            name=called,
        ).fit(rated, progress)
    save_and_report(found, output, quiet)
