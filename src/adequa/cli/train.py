"""`adequa train`: metrics that learn from ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_dataset, complete_encoder, complete_metric
from adequa.cli.notes import tell
from adequa.cli.options import Pairs, Quiet
from adequa.cli.train_ensemble import ensemble
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.cli.progress import Work
    from adequa.judgements import Ratings
    from adequa.learned.contract import LearnedMetric, Training
    from adequa.learned.embedding_regressor import EmbeddingRegressor

app = typer.Typer(
    no_args_is_help=True,
    help="Train a metric on ratings of your own; `adequa score -m FOLDER` then uses it.",
)


class Model(str, Enum):
    """What learns from the vectors."""

    svr = "svr"
    mlp = "mlp"


class GridName(str, Enum):
    """The values that settings are chosen from."""

    scaled = "scaled"
    paper = "paper"


class References(str, Enum):
    """Which score counts where a segment has several references."""

    best = "best"
    mean = "mean"


RatingsOption = Annotated[
    list[str],
    typer.Option(
        "--ratings",
        metavar="FILE|DATASET",
        help="Ratings with texts: mt, ref, score. A file, or a dataset by name; repeat for more.",
        autocompletion=complete_dataset,
    ),
]
OutputOption = Annotated[
    str, typer.Option("-o", "--output", metavar="FOLDER", help="A new folder for the metric.")
]
SampleOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Learn from so many ratings, drawn at random."),
]
GridOption = Annotated[
    GridName,
    typer.Option(
        "--grid",
        help="Settings to choose from: for standardised features, or as the papers have them.",
    ),
]
FoldsOption = Annotated[
    int, typer.Option(metavar="N", min=2, help="Of the cross-validation that chooses an SVR.")
]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Of all random draws.")]
NameOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of the metric. Default: that of the folder.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Threads of the search. Default: one a core."),
]


@app.command("embedding-regressor")
def embedding_regressor(
    ratings: RatingsOption,
    encoder: Annotated[
        list[str],
        typer.Option(
            "--encoder",
            metavar="KIND:PATH[,SETTING=VALUE...]",
            help="What turns sentences into vectors; repeat to put several one after the other. "
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
        References, typer.Option(help="What counts where a segment has several references.")
    ] = References.best,
    lp: Pairs = None,
    sample: SampleOption = None,
    folds: FoldsOption = 10,
    seed: SeedOption = 0,
    name: NameOption = None,
    workers: WorkersOption = None,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="To train a perceptron on: auto, cpu or cuda.")
    ] = "auto",
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Keep sentence vectors for the next time.")
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Learn to rate from the vectors of hypothesis and reference (SVR, RUSE)."""
    from adequa.encoders.cached import cached
    from adequa.encoders.registry import load_encoders
    from adequa.io.atomic_folder import check_new_folder
    from adequa.learned.embedding_regressor import EmbeddingRegressor

    check_new_folder(output)
    called = _checked_name(name or _name_of(output))
    rated = _ratings(ratings, lp, sample, seed, quiet)
    found = load_encoders(encoder)
    with _progress(quiet) as (work, training):
        metric = EmbeddingRegressor(
            encoder=cached(found, progress=work.scored) if cache else found,
            model=model.value,
            grid=grid.value,
            references=references.value,
            folds=folds,
            seed=seed,
            workers=workers,
            device=device,
            name=called,
        ).fit(rated, training)
    if not quiet:
        _tell_coverage(metric, rated)
    _saved(metric, output, quiet)


@app.command("blend")
def blend(
    ratings: RatingsOption,
    output: OutputOption,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="NAME|FOLDER",
            help="A metric whose scores to blend; repeat for more. Default: all lexical ones.",
            autocompletion=complete_metric,
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A column of scores beside the texts to blend in, now and when scoring; repeat.",
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
    """Learn to rate from the scores of many metrics (Blend)."""
    from adequa.io.atomic_folder import check_new_folder
    from adequa.learned.blend import LEXICAL, Blend

    check_new_folder(output)
    called = _checked_name(name or _name_of(output))
    rated = _ratings(ratings, lp, sample, seed, quiet)
    with _progress(quiet) as (_, training):
        found = Blend(
            metrics=tuple(metric or (() if column else LEXICAL)),
            columns=tuple(column or ()),
            grid=grid.value,
            folds=folds,
            seed=seed,
            workers=workers,
            name=called,
        ).fit(rated, training)
    _saved(found, output, quiet)


app.command("ensemble")(ensemble)


def _ratings(
    names: Sequence[str], lp: Sequence[str] | None, sample: int | None, seed: int, quiet: bool
) -> Ratings:
    """Ratings of all files together, or a sentence on why there are none to learn from."""
    import numpy as np

    from adequa.agreement.notes import unused_rows
    from adequa.agreement.protocol import Protocol
    from adequa.agreement.selection import Selection, selected
    from adequa.datasets.load import load_dataset
    from adequa.io.language_pairs import language_pair
    from adequa.judgements import Ratings, joined

    parts = []
    for given in names:
        loaded = load_dataset(given)
        if not isinstance(loaded, Ratings):
            raise AdequaError(f"{given} holds no ratings of segments, which this metric needs.")
        if not quiet:
            for note in unused_rows(loaded.kept):
                tell(f"note: {given}: {note}")
        parts.append(loaded)
    choice = Selection(lp=tuple(language_pair(pair) for pair in lp or ()))
    together, _ = selected(parts[0] if len(parts) == 1 else joined(parts), choice, Protocol())
    if not isinstance(together, Ratings):
        raise TypeError("a choice among ratings gives ratings")
    if sample is None or sample >= len(together):
        return together
    drawn = np.random.default_rng(seed).choice(len(together), sample, replace=False)
    return together.select(np.sort(drawn))


def _checked_name(name: str) -> str:
    from adequa.metrics.registry import METRICS
    from adequa.metrics.saved import is_name

    if name in METRICS or not is_name(name):
        why = "there is one already" if name in METRICS else "signatures could not show it"
        raise AdequaError(f'A metric cannot be called "{name}": {why}; use --name NAME.')
    return name


def _name_of(output: str) -> str:
    return Path(output).resolve().name


@contextmanager
def _progress(quiet: bool) -> Iterator[tuple[Work, Training]]:
    from adequa.cli.progress import progress
    from adequa.learned.contract import Training

    with progress("Training", None, quiet=quiet) as work:
        yield work, Training(stage=work.stage, advance=work.done, scored=work.scored)


def _saved(metric: LearnedMetric, output: str, quiet: bool) -> None:
    from adequa.cli.output import write
    from adequa.cli.render_training import report

    if not quiet:
        for remark in metric.remarks():
            tell(f"note: {remark}")
    metric.save(output)
    if not quiet:
        write(report(metric, output), None)


def _tell_coverage(metric: EmbeddingRegressor, rated: Ratings) -> None:
    """How many words of the ratings the encoder knows, where it has a list of words."""
    from adequa.encoders.contract import Encoder

    if rated.segments is None or not isinstance(metric.encoder, Encoder):
        return
    texts = [*rated.segments.hypotheses, *(r for refs in rated.segments.references for r in refs)]
    for part in getattr(metric.encoder, "parts", (metric.encoder,)):
        coverage = part.coverage(texts)
        if coverage is not None:
            tell(f"note: {part.name} knows {coverage.share:.1%} of the words of the ratings.")
