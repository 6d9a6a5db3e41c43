"""`adequa train pairwise-ranker`: which of two hypotheses is better?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.options import Pairs, Quiet
from adequa.cli.training import (
    DownloadOption,
    NameOption,
    OutputOption,
    ReportOption,
    SeedOption,
    check_target,
    data_option,
    encoder_option,
    load_judgements,
    save_and_report,
    training_progress,
    with_language_pairs,
)
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.judgements import Preferences
    from adequa.segments import Segments


class LossName(str, Enum):
    """Training loss."""

    logistic = "logistic"
    kendall = "kendall"
    logistic_kendall = "logistic-kendall"


class ScaleName(str, Enum):
    """How inputs are scaled to about -1 to 1."""

    range = "range"
    spread = "spread"


def pairwise_ranker(
    preferences: Annotated[
        list[str], data_option("Preferences with texts: better, worse, ref. Repeat for more.")
    ],
    output: OutputOption,
    input_: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="NAME",
            help="Input of the network; repeat for more. 4metrics, bleucomp, a metric, the folder "
            "of a trained one, column:NAME, or an encoder as KIND:PATH. Default: 4metrics.",
        ),
    ] = None,
    encoder: Annotated[
        list[str] | None, encoder_option("Encoder as another input; repeat for more.")
    ] = None,
    scores: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Score file for the preferences, as another input; repeat for more. When ranking, "
            "the input needs a column with the name of the file.",
        ),
    ] = None,
    validation: Annotated[
        list[str] | None,
        data_option(
            "Preferences to choose the best epoch on; repeat for more. Default: a held-out tenth "
            "of the training preferences."
        ),
    ] = None,
    hidden: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Hidden units in each of the three groups; 0 for none."
        ),
    ] = 4,
    loss: Annotated[LossName, typer.Option(help="Training loss.")] = LossName.logistic,
    tie_penalty: Annotated[
        float,
        typer.Option(
            metavar="WEIGHT", help="Weight of ties in the Kendall cost: 1 in the paper, 0 for none."
        ),
    ] = 1.0,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            help="As in the paper: the decision may depend on the order of the two hypotheses.",
        ),
    ] = False,
    scale: Annotated[
        ScaleName, typer.Option(help="Scale inputs by their range, or by their standard deviation.")
    ] = ScaleName.range,
    lp: Pairs = None,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of preferences to sample."),
    ] = None,
    epochs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Maximum number of epochs.")
    ] = 200,
    patience: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Epochs without a higher tau before training stops."),
    ] = 25,
    learning_rate: Annotated[
        float,
        typer.Option(metavar="RATE", help="Learning rate of AdaGrad; 0.1 needs far fewer epochs."),
    ] = 0.01,
    decay: Annotated[
        float, typer.Option(metavar="LAMBDA", help="Weight of the L2 regularisation.")
    ] = 1e-4,
    seed: SeedOption = 0,
    name: NameOption = None,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Cache scores and vectors on disk.")
    ] = True,
    download: DownloadOption = False,
    format_: ReportOption = None,
    quiet: Quiet = False,
) -> None:
    """Train a network on preferences to choose the better of two hypotheses, for `adequa rank`."""
    from adequa.encoders.registry import with_absolute_paths
    from adequa.learned.pairwise.data import sample_rows
    from adequa.learned.pairwise.inputs import COLUMN, load_inputs
    from adequa.learned.pairwise.metric import PairwiseRanker

    name = check_target(output, name, format_)
    if scores and (len(preferences) > 1 or validation):
        raise AdequaError("--scores goes with one file of --preferences, and without --validation.")
    training_data = [_preferences(each, lp, quiet) for each in preferences]
    further = [with_absolute_paths(each) for each in encoder or ()]
    for path in scores or ():
        column, training_data[0] = _with_scores(training_data[0], path)
        further.append(f"{COLUMN}{column}")
    names = [*(input_ or ([] if further else ["4metrics"])), *further]
    ranker = PairwiseRanker(
        inputs=load_inputs(names, cache=cache, download=download),
        hidden=hidden,
        loss=loss.value,
        tie_penalty=tie_penalty,
        symmetric=not plain,
        scale=scale.value,
        learning_rate=learning_rate,
        decay=decay,
        epochs=epochs,
        patience=patience,
        seed=seed,
        name=name,
    )
    if sample is not None:
        training_data = [sample_rows(each, sample, seed) for each in training_data]
    validation_data = [_preferences(each, lp, quiet) for each in validation or ()]
    with training_progress(quiet) as progress:
        ranker.fit(training_data, progress, validation_data)
    save_and_report(ranker, output, format_, quiet)


def _preferences(path: str, lp: Sequence[str] | None, quiet: bool) -> Preferences:
    """Return the preferences of a file; raise where it has none."""
    from adequa.judgements import Preferences

    purpose = ", which a pairwise ranker learns from"
    return with_language_pairs(load_judgements(path, Preferences, quiet, purpose), lp)


def _with_scores(preferences: Preferences, path: str) -> tuple[str, Preferences]:
    """Return the preferences with the scores of a file as a column beside their texts."""
    from adequa.agreement.evaluate import segment_scores
    from adequa.agreement.sources import sources
    from adequa.progress import NO_PROGRESS

    if preferences.better is None or preferences.worse is None:
        raise AdequaError(f"{preferences.name} has no texts to put scores beside.")
    (source,) = sources([path])
    if source.file is None:
        raise AdequaError(f"{path} is no file of scores; name a metric with --input.")
    better, worse = segment_scores(preferences, [source], NO_PROGRESS)[0].T.tolist()
    column = source.name

    def beside(texts: Segments, values: Sequence[float]) -> Segments:
        return replace(texts, ids={**texts.ids, column: tuple(map(repr, values))})

    return column, replace(
        preferences,
        better=beside(preferences.better, better),
        worse=beside(preferences.worse, worse),
    )
