"""`adequa train tree-lstm`: ReVal, a Tree-LSTM over dependency trees."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.options import Pairs, Quiet
from adequa.cli.training import (
    DownloadOption,
    NameOption,
    OutputOption,
    References,
    ReportOption,
    SeedOption,
    TrainingDevice,
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
    from collections.abc import Sequence

    from adequa.cli.training import AnyData
    from adequa.judgements import Preferences, Ratings


class Structure(str, Enum):
    """Structure that the network composes sentences along."""

    dependency = "dependency"
    chain = "chain"


class Preset(str, Enum):
    """Named training settings."""

    modern = "modern"
    paper = "paper"


class Formula(str, Enum):
    """How wins and losses become a similarity score."""

    share = "share"
    smoothed = "smoothed"


def tree_lstm(
    output: OutputOption,
    preferences: Annotated[
        list[str] | None,
        data_option(
            "Preferences with texts: better, worse, ref. A file, or a dataset by name; repeat for "
            "more."
        ),
    ] = None,
    similarity: Annotated[
        list[str] | None,
        data_option(
            "Rated pairs of sentences, or ratings of translations; repeat for more. Where they "
            "have a split, its train part is used."
        ),
    ] = None,
    development: Annotated[
        list[str] | None,
        data_option(
            "Ratings to choose the best epoch on; repeat for more. Default: the dev part of a "
            "split, otherwise a held-out tenth."
        ),
    ] = None,
    parser: Annotated[
        list[str] | None,
        typer.Option(
            metavar="spacy:MODEL|conllu:FILE",
            help="Dependency parser; repeat for more CoNLL-U files. Default: spacy:en_core_web_md.",
        ),
    ] = None,
    vectors: Annotated[
        list[str] | None,
        encoder_option(
            "Word vectors, of a GloVe or word2vec file or of a transformer; repeat to concatenate "
            "several. Default: trained with the network.",
            "--vectors",
            "--encoder",
        ),
    ] = None,
    tune_vectors: Annotated[
        bool, typer.Option("--tune-vectors", help="Fine-tune the word vectors of a file.")
    ] = False,
    structure: Annotated[
        Structure, typer.Option(help="Dependency trees, or a plain LSTM from word to word.")
    ] = Structure.dependency,
    settings: Annotated[
        Preset, typer.Option(help="Training settings: ours (modern), or those of the paper.")
    ] = Preset.modern,
    formula: Annotated[
        Formula,
        typer.Option(help="How the wins and losses of an output become its similarity score."),
    ] = Formula.share,
    comparisons: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Minimum number of comparisons of an output to train on it."
        ),
    ] = 1,
    references: Annotated[
        References, typer.Option(help="Score of a segment with multiple references.")
    ] = References.best,
    lp: Pairs = None,
    epochs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of epochs. Default: that of the settings."),
    ] = None,
    seed: SeedOption = 0,
    name: NameOption = None,
    device: TrainingDevice = "auto",
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Cache parses on disk.")] = True,
    download: DownloadOption = False,
    format_: ReportOption = None,
    quiet: Quiet = False,
) -> None:
    """Train a Tree-LSTM on the similarity of dependency trees (ReVal)."""
    from adequa.encoders.device import torch_device
    from adequa.encoders.parses import cached_parser, load_parser
    from adequa.encoders.token_vectors import load_token_vectors
    from adequa.learned.reval.metric import TreeLstm

    name = check_target(output, name, format_)
    torch_device(device)
    if tune_vectors and not vectors:
        raise AdequaError(
            "Vectors that are learnt are tuned anyway; name some with --vectors, or leave out "
            "--tune-vectors."
        )
    training_data, validation_data = _judgements(
        preferences or [], similarity or [], development or [], lp, quiet
    )
    loaded_parser = load_parser(*(parser or ["spacy:en_core_web_md"]))
    with training_progress(quiet) as progress:
        metric = TreeLstm(
            parser=cached_parser(loaded_parser, progress=progress.texts_scored)
            if cache
            else loaded_parser,
            vectors=load_token_vectors(vectors, device, download=download) if vectors else None,
            structure=structure.value,
            preset=settings.value,
            tuned=tune_vectors,
            formula=formula.value,
            fewest=comparisons,
            references=references.value,
            epochs=epochs,
            seed=seed,
            device=device,
            name=name,
        ).fit(training_data, progress, validation_data)
    save_and_report(metric, output, format_, quiet)


def _judgements(
    preferences: Sequence[str],
    similarity: Sequence[str],
    development: Sequence[str],
    lp: Sequence[str] | None,
    quiet: bool,
) -> tuple[list[Ratings | Preferences], list[Ratings]]:
    """Return the training and the validation judgements; raise where there are none."""
    from adequa.judgements import Preferences, Ratings

    if not preferences and not similarity:
        raise AdequaError("Name what to learn from with --preferences, --similarity or both.")

    def ratings(path: str, option: str) -> Ratings:
        other = f"; preferences are learnt from with --preferences {path}"
        return load_judgements(path, Ratings, quiet, f", which {option} needs", other)

    training_data: list[Ratings | Preferences] = [
        load_judgements(
            path, Preferences, quiet, "", f"; ratings are given with --similarity {path}"
        )
        for path in preferences
    ]
    training_data += [ratings(path, "--similarity") for path in similarity]
    validation_data = [ratings(path, "--development") for path in development]
    if lp and not any("lp" in each.ids for each in (*training_data, *validation_data)):
        raise AdequaError('None of the data have a column "lp"; leave out --lp.')
    return (
        [_of_language_pairs(each, lp) for each in training_data],
        [_of_language_pairs(each, lp) for each in validation_data],
    )


def _of_language_pairs(judgements: AnyData, lp: Sequence[str] | None) -> AnyData:
    """Return the judgements of these language pairs; data without pairs as they are."""
    try:
        return with_language_pairs(judgements, lp if "lp" in judgements.ids else None)
    except AdequaError as error:
        raise AdequaError(f"{judgements.name}: {error}") from error
