"""`adequa train tree-lstm`: ReVal, a Tree-LSTM over dependency trees."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_dataset
from adequa.cli.notes import tell
from adequa.cli.options import Pairs, Quiet
from adequa.cli.training import (
    NameOption,
    OutputOption,
    References,
    SeedOption,
    checked_target,
    ratings_of,
    save_and_report,
    training_progress,
)
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adequa.judgements import Preferences, Ratings


class Structure(str, Enum):
    """What sentences are composed along."""

    dependency = "dependency"
    chain = "chain"


class Preset(str, Enum):
    """The settings of the training."""

    modern = "modern"
    paper = "paper"


class Formula(str, Enum):
    """How wins and losses become a similarity."""

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
            "they come with a split, its part train is learnt from.",
            autocompletion=complete_dataset,
        ),
    ] = None,
    development: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|DATASET",
            help="Ratings that the best epoch is chosen on; repeat for more. Default: the part dev "
            "of a split, and of all else a tenth that is held out.",
            autocompletion=complete_dataset,
        ),
    ] = None,
    parser: Annotated[
        list[str] | None,
        typer.Option(
            metavar="spacy:MODEL|conllu:FILE",
            help="What parses; repeat for more CoNLL-U files. Default: spacy:en_core_web_md.",
        ),
    ] = None,
    vectors: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:PATH[,SETTING=VALUE...]",
            help="Word vectors: words:FILE of GloVe or word2vec, or transformer:MODEL; repeat to "
            "put several one after the other. Default: they are learnt.",
        ),
    ] = None,
    tune_vectors: Annotated[
        bool, typer.Option("--tune-vectors", help="Train the vectors of a file further.")
    ] = False,
    structure: Annotated[
        Structure, typer.Option(help="Dependency trees, or a plain LSTM from word to word.")
    ] = Structure.dependency,
    settings: Annotated[
        Preset, typer.Option(help="Of the training: the best known, or as the paper has them.")
    ] = Preset.modern,
    formula: Annotated[
        Formula, typer.Option(help="How wins and losses of an output become its similarity.")
    ] = Formula.share,
    comparisons: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Learn from outputs with so many of them or more."),
    ] = 1,
    references: Annotated[
        References, typer.Option(help="What counts where a segment has several references.")
    ] = References.best,
    lp: Pairs = None,
    epochs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Default: as the settings have it.")
    ] = None,
    seed: SeedOption = 0,
    name: NameOption = None,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="To train on: auto, cpu or cuda.")
    ] = "auto",
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Keep parses for the next time.")
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Learn similarity from dependency trees (ReVal)."""
    from adequa.encoders.parses import cached_parser, load_parser
    from adequa.encoders.token_vectors import load_token_vectors
    from adequa.learned.tree_lstm import TreeLstm, check_device

    called = checked_target(output, name)
    check_device(device)
    if tune_vectors and not vectors:
        raise AdequaError("Vectors that are learnt are tuned anyway; leave out --tune-vectors.")
    given = _judgements(preferences or [], similarity or [], lp, seed, quiet)
    chosen_on = [ratings_of([each], None, None, seed, quiet) for each in development or ()]
    found = load_parser(*(parser or ["spacy:en_core_web_md"]))
    with training_progress(quiet) as (work, training):
        metric = TreeLstm(
            parser=cached_parser(found, progress=work.scored) if cache else found,
            vectors=load_token_vectors(vectors) if vectors else None,
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
        ).fit(given, training, chosen_on)
    save_and_report(metric, output, quiet)


def _judgements(
    preferences: Sequence[str],
    similarity: Sequence[str],
    lp: Sequence[str] | None,
    seed: int,
    quiet: bool,
) -> list[Ratings | Preferences]:
    """All that is learnt from, or a sentence on why there is nothing."""
    if not preferences and not similarity:
        raise AdequaError("Name what to learn from with --preferences, --similarity or both.")
    return [
        *(_preferences(each, lp, quiet) for each in preferences),
        *(ratings_of([each], None, None, seed, quiet) for each in similarity),
    ]


def _preferences(given: str, lp: Sequence[str] | None, quiet: bool) -> Preferences:
    """The preferences of a file or dataset, of some language pairs where these are named."""
    from adequa.agreement.protocol import Protocol
    from adequa.agreement.selection import Selection, selected
    from adequa.datasets.load import load_dataset
    from adequa.io.language_pairs import language_pair
    from adequa.judgements import Preferences

    loaded = load_dataset(given)
    if not isinstance(loaded, Preferences):
        raise AdequaError(
            f"{given} holds no preferences; ratings are given with --similarity {given}."
        )
    if not quiet:
        for note in loaded.kept.notes():
            tell(f"note: {given}: {note}")
    choice = Selection(lp=tuple(language_pair(pair) for pair in lp or ()))
    found, _ = selected(loaded, choice, Protocol())
    if not isinstance(found, Preferences):
        raise TypeError("a choice among preferences gives preferences")
    return found
