"""`adequa export`: a trained pair regressor as a small folder that scores without PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_dataset
from adequa.cli.options import Quiet
from adequa.cli.training import NameOption, OutputOption, checked_target, training_progress
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.learned.packed.packing import PackingResult
    from adequa.learned.pair.metric import PairRegressor
    from adequa.learned.pair.subsets import Subset
    from adequa.segments import Segments

DEFAULT_DATA = "wmt15-da"


class GraphPrecision(str, Enum):
    """How many bits the numbers of products have."""

    int8 = "int8"
    fp32 = "fp32"


def export(
    trained: Annotated[
        str,
        typer.Argument(
            metavar="TRAINED",
            help="Folder of a pair regressor over BERT, from `adequa train pair-regressor`.",
        ),
    ],
    output: OutputOption,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Translations into English, with references: a dataset that `adequa datasets` "
            f"lists, or a file; repeat for more. Default: {DEFAULT_DATA}.",
            autocompletion=complete_dataset,
        ),
    ] = None,
    pairs: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Number of random pairs that calibrate the quantisation; as many others test the "
            "result.",
        ),
    ] = 300,
    precision: Annotated[
        GraphPrecision,
        typer.Option(
            help="Weights and activations in 8-bit integers, or in 32-bit floats as in training."
        ),
    ] = GraphPrecision.int8,
    max_length: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Maximum number of tokens of hypothesis and reference together; longer pairs are "
            "scored in windows. Default: that of the training.",
        ),
    ] = None,
    name: NameOption = None,
    quiet: Quiet = False,
) -> None:
    """Pack a trained pair regressor for use without PyTorch, with scores from 0 to 1."""
    from adequa.cli.output import write
    from adequa.learned.packed.packing import pack
    from adequa.metrics.saved import read_description

    called = checked_target(output, name)
    regressor = _regressor(trained)
    with training_progress(quiet, "Exporting") as progress:
        progress.stage("Reading the data")
        texts = _into_english(data)
        result = pack(
            regressor,
            texts,
            output,
            name=called,
            precision=precision.value,
            pairs=pairs,
            max_length=max_length,
            data=", ".join(Path(given).name for given in data or [DEFAULT_DATA]),
            versions=read_description(Path(trained)).versions,
            progress=progress,
        )
    if not quiet:
        write(_report(result, regressor.name, output), None)


def _regressor(folder: str) -> PairRegressor:
    """The metric to export, or a sentence where it is none that can be."""
    from adequa.learned.pair.metric import PairRegressor
    from adequa.metrics.registry import DESCRIPTION
    from adequa.metrics.saved import is_saved, load, read_description

    if not is_saved(folder):
        raise AdequaError(
            f"{folder} is no folder of a trained metric: there is no {DESCRIPTION} in it."
        )
    kind = read_description(Path(folder)).kind
    if kind == "packed-pair":
        raise AdequaError(f"{folder} is an exported metric already; -m {folder} scores with it.")
    if kind != PairRegressor.kind:
        raise AdequaError(
            f"{folder} holds a metric of the kind {kind}, and only a {PairRegressor.kind} can be "
            "exported; one can learn what any metric says, by distillation."
        )
    # The texts are few, and a CPU is what the packed metric is for.
    metric = load(folder, {"device": "cpu"})
    if not isinstance(metric, PairRegressor):
        raise TypeError("a folder is loaded as what it says to be")
    return metric


def _into_english(names: Sequence[str] | None) -> Segments:
    """The texts of all data that are translations into English, as far as data say."""
    from adequa.datasets.download import locate
    from adequa.segments import concatenate

    if names is None and locate(DEFAULT_DATA) is None:
        raise AdequaError(
            f"An export reads some translations with references, and {DEFAULT_DATA} is not at "
            f"hand: get it with `adequa datasets fetch {DEFAULT_DATA}`, or name others with --data."
        )
    parts = [texts for given in names or [DEFAULT_DATA] for texts in _english(_part(given))]
    if not parts:
        raise AdequaError(
            f"There are no translations into English in {', '.join(names or [DEFAULT_DATA])}."
        )
    return concatenate(parts)


def _part(given: str) -> Subset:
    from adequa.datasets.load import load_dataset
    from adequa.judgements import RatedSystems
    from adequa.learned.pair.subsets import judged_subset, system_subset, text_subset

    plain = text_subset(given)
    if plain is not None:
        return plain
    loaded = load_dataset(given)
    return system_subset(loaded) if isinstance(loaded, RatedSystems) else judged_subset(loaded)


def _english(part: Subset) -> Iterator[Segments]:
    """The rows of a part, of each side, but for those into other languages."""
    from adequa.segments import Segments

    rows = [
        row
        for row, pair in zip(part.rows.tolist(), part.language_pairs, strict=True)
        if not pair or pair.endswith("-en")
    ]
    for side in part.sides if rows else ():
        yield Segments(
            tuple(side.hypotheses[row] for row in rows),
            tuple(side.references[row] for row in rows),
        )


def _report(made: PackingResult, origin: str, folder: str) -> Iterator[str]:
    """What was made, and what it costs."""
    from adequa.cli.output import aligned
    from adequa.cli.render_training import how_to_use
    from adequa.errors import printable

    loss, ends = made.loss, made.score_map
    yield printable(f"{made.name}: {origin}, packed in {made.precision}") + "\n\n"
    rows = [
        ["size", f"{made.size / 1e6:.1f} MB"],
        [f"correlation with fp32, {loss.tested:,} pairs", _figure(loss.correlation, ".5f")],
        ["largest difference of a score", _figure(loss.largest_difference, ".2g")],
        ["raw score of an unrelated text (near 0)", f"{ends.unrelated:.3f}"],
        ["raw score of the reference (near 1)", f"{ends.reference:.3f}"],
    ]
    yield from aligned(lambda: rows, right=(1,))
    yield how_to_use(folder)


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
