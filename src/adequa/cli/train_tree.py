"""`adequa train tree-lstm`: ReVal, a Tree-LSTM over dependency trees."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from adequa.cli.completion import complete_dataset
from adequa.cli.options import Pairs, Quiet
from adequa.cli.progress import tell
from adequa.cli.training import (
    NameOption,
    OutputOption,
    References,
    SeedOption,
    checked_target,
    save_and_report,
    training_progress,
)
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adequa.judgements import Preferences, Ratings

    Chosen = TypeVar("Chosen", Ratings, Preferences, Ratings | Preferences)


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
        typer.Option(
            metavar="FILE|DATASET",
            help="Preferences with texts: better, worse, ref. A file, or a dataset by name; repeat "
            "for more.",
            autocompletion=complete_dataset,
        ),
    ] = None,
    similarity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|DATASET",
            help="Rated pairs of sentences, or ratings of translations; repeat for more. Where "
            "they have a split, its train part is used.",
            autocompletion=complete_dataset,
        ),
    ] = None,
    development: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|DATASET",
            help="Ratings to choose the best epoch on; repeat for more. Default: the dev part of a "
            "split, otherwise a held-out tenth.",
            autocompletion=complete_dataset,
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
        typer.Option(
            metavar="KIND:PATH[,SETTING=VALUE...]",
            help="Word vectors: words:FILE of GloVe or word2vec, or transformer:MODEL; repeat to "
            "concatenate several. Default: trained with the network.",
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
    device: Annotated[
        str, typer.Option(metavar="NAME", help="Device to train on: auto, cpu or cuda.")
    ] = "auto",
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Cache parses on disk.")] = True,
    quiet: Quiet = False,
) -> None:
    """Train a Tree-LSTM on the similarity of dependency trees (ReVal)."""
    from adequa.encoders.parses import cached_parser, load_parser
    from adequa.encoders.token_vectors import load_token_vectors
    from adequa.learned.reval.metric import TreeLstm, check_device

    called = checked_target(output, name)
    check_device(device)
    if tune_vectors and not vectors:
        raise AdequaError(
            "Vectors that are learnt are tuned anyway; name some with --vectors, or leave out "
            "--tune-vectors."
        )
    given, chosen_on = _judgements(
        preferences or [], similarity or [], development or [], lp, quiet
    )
    found = load_parser(*(parser or ["spacy:en_core_web_md"]))
    with training_progress(quiet) as progress:
        metric = TreeLstm(
            parser=cached_parser(found, progress=progress.scored) if cache else found,
            vectors=load_token_vectors(vectors, device) if vectors else None,
            structure=structure.value,
            preset=settings.value,
            tuned=tune_vectors,
            formula=formula.value,
            fewest=comparisons,
            references=references.value,
            epochs=epochs,
            seed=seed,
            device=device,
            name=called,
        ).fit(given, progress, chosen_on)
    save_and_report(metric, output, quiet)


def _judgements(
    preferences: Sequence[str],
    similarity: Sequence[str],
    development: Sequence[str],
    lp: Sequence[str] | None,
    quiet: bool,
) -> tuple[list[Ratings | Preferences], list[Ratings]]:
    """Return the training and the development judgements; raise where there are none."""
    if not preferences and not similarity:
        raise AdequaError("Name what to learn from with --preferences, --similarity or both.")
    given: list[Ratings | Preferences] = [
        *(_preferences(each, quiet) for each in preferences),
        *(_ratings(each, "--similarity", quiet) for each in similarity),
    ]
    chosen_on = [_ratings(each, "--development", quiet) for each in development]
    if lp and not any("lp" in each.ids for each in (*given, *chosen_on)):
        raise AdequaError('None of the data have a column "lp"; leave out --lp.')
    return [_of_pairs(each, lp) for each in given], [_of_pairs(each, lp) for each in chosen_on]


def _preferences(given: str, quiet: bool) -> Preferences:
    from adequa.datasets.load import load_dataset
    from adequa.judgements import Preferences, Ratings

    loaded = load_dataset(given)
    if not isinstance(loaded, Preferences):
        other = f"; ratings are given with --similarity {given}"
        raise AdequaError(
            f"{given} holds no preferences{other if isinstance(loaded, Ratings) else ''}."
        )
    if not quiet:
        for note in loaded.file_rows.notes():
            tell(f"note: {given}: {note}")
    return loaded


def _ratings(given: str, option: str, quiet: bool) -> Ratings:
    from adequa.datasets.load import load_dataset
    from adequa.judgements import Preferences, Ratings

    loaded = load_dataset(given)
    if not isinstance(loaded, Ratings):
        what = f"{given} holds no ratings of segments, which {option} needs"
        other = f"; preferences are learnt from with --preferences {given}"
        raise AdequaError(f"{what}{other if isinstance(loaded, Preferences) else ''}.")
    if not quiet:
        for note in loaded.file_rows.notes():
            tell(f"note: {given}: {note}")
    return loaded


def _of_pairs(judgements: Chosen, lp: Sequence[str] | None) -> Chosen:
    """Return the judgements of these language pairs; all without pairs to choose from."""
    from adequa.agreement.selection import with_ids
    from adequa.io.rankings import language_pair

    if not lp or "lp" not in judgements.ids:
        return judgements
    try:
        chosen = with_ids(judgements, "lp", [language_pair(pair) for pair in lp])
    except AdequaError as error:
        raise AdequaError(f"{judgements.name}: {error}") from error
    if not isinstance(chosen, type(judgements)):
        raise TypeError("a choice among judgements gives judgements of the same kind")
    return chosen
