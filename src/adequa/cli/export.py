"""`adequa export` packs a pair regressor; `adequa round-trip` makes texts to distil one with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.options import (
    Quiet,
    Seed,
    complete_dataset,
)
from adequa.cli.output import print_message
from adequa.cli.training import (
    DownloadOption,
    NameOption,
    OutputOption,
    ReportOption,
    check_target,
    print_report,
    training_progress,
)
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.learned.pair.metric import PairRegressor
    from adequa.learned.pair.round_trips import Translator
    from adequa.learned.pair.subsets import Subset
    from adequa.progress import Progress
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
    format_: ReportOption = None,
    quiet: Quiet = False,
) -> None:
    """Pack a trained pair regressor for use without PyTorch."""
    from adequa.learned.packed.packing import pack
    from adequa.metrics.saved import read_description

    name = check_target(output, name, format_)
    regressor = _regressor(trained)
    with training_progress(quiet, "Exporting") as progress:
        progress.stage("Reading the data")
        texts = _into_english(data)
        result = pack(
            regressor,
            texts,
            output,
            name=name,
            precision=precision.value,
            pairs=pairs,
            max_length=max_length,
            data=", ".join(Path(path).name for path in data or [DEFAULT_DATA]),
            versions=read_description(Path(trained)).versions,
            progress=progress,
        )
    print_report(result, format_, quiet)


def _regressor(folder: str) -> PairRegressor:
    """The metric to export, or a sentence where it is none that can be."""
    from adequa.learned.packed.packing import check_inputs
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
            "exported; train a pair regressor on its scores (distillation) and export that."
        )
    # The texts are few, and a CPU is what the packed metric is for.
    metric = load(folder, {"device": "cpu"})
    if not isinstance(metric, PairRegressor):
        raise TypeError("a folder is loaded as what it says to be")
    check_inputs(metric)
    return metric


def _into_english(names: Sequence[str] | None) -> Segments:
    """The texts of all data that are translations into English, as far as data say."""
    from adequa.datasets.download import locate
    from adequa.segments import concatenate

    if names is None and locate(DEFAULT_DATA) is None:
        raise AdequaError(
            f"An export reads some translations with references, and {DEFAULT_DATA} is not on "
            f"this machine: get it with `adequa datasets fetch {DEFAULT_DATA}`, or name others "
            "with --data."
        )
    parts = [texts for path in names or [DEFAULT_DATA] for texts in _english(_part(path))]
    if not parts:
        raise AdequaError(
            f"There are no translations into English in {', '.join(names or [DEFAULT_DATA])}."
        )
    return concatenate(parts)


def _part(path: str) -> Subset:
    from adequa.datasets.load import load_dataset
    from adequa.judgements import RatedSystems
    from adequa.learned.pair.subsets import judged_subset, system_subset, text_subset

    plain = text_subset(path)
    if plain is not None:
        return plain
    loaded = load_dataset(path)
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


TEMPERATURES = (0.0, 0.6, 0.9, 1.2)


def round_trip(
    input_: Annotated[
        str,
        typer.Option("-i", "--input", metavar="FILE", help="English sentences, one per line."),
    ],
    forward: Annotated[
        str,
        typer.Option(
            "--there",
            metavar="FOLDER|NAME",
            help="Translation model from English: a folder, or the name of a model on the hub.",
        ),
    ],
    back: Annotated[
        str,
        typer.Option("--back", metavar="FOLDER|NAME", help="Translation model back to English."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE", help="A new JSONL file with the columns mt and ref."
        ),
    ],
    temperature: Annotated[
        list[float] | None,
        typer.Option(
            metavar="X",
            help="Temperature of the translation back: 0 for greedy decoding, higher for more "
            "random sampling; repeat for several. Default: "
            f"{', '.join(f'{value:g}' for value in TEMPERATURES)}.",
        ),
    ] = None,
    seed: Seed = 0,
    device: Annotated[
        str,
        typer.Option(metavar="NAME", help="Device, such as cpu or cuda. Default: a GPU, if any."),
    ] = "auto",
    most_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Tokens per batch: fewer take less memory and more time."
        ),
    ] = None,
    download: DownloadOption = False,
    quiet: Quiet = False,
) -> None:
    """Translate sentences to another language and back, to train on.

    Each translation back has its sentence as the reference; higher temperatures give worse ones.
    `adequa train pair-regressor` learns from such a file by distillation.
    """
    from adequa.cli.output import check_outputs, progress, write
    from adequa.io.text import lines
    from adequa.learned.pair.round_trips import check_temperatures

    temperatures = temperature or list(TEMPERATURES)
    check_temperatures(temperatures)
    if Path(output).suffix.lower() != ".jsonl":
        raise AdequaError(f"{output} would hold JSONL; give it a name that ends in .jsonl.")
    check_outputs({"-o": output}, [input_])
    sentences = list(dict.fromkeys(filter(None, map(str.strip, lines(input_)))))
    if not sentences:
        raise AdequaError(f"{input_} is empty: there is nothing to translate.")
    with progress("Loading the models", None, quiet=quiet) as work:
        translators = _translators((forward, back), device, most_tokens, download)
        work.stage("Translating there and back")
        batches = list(_translations(sentences, translators, temperatures, seed, work))
    write(map(_json_lines, batches), output)
    if not quiet:
        count = sum(map(len, batches))
        print_message(f"{count:,} translations of {len(sentences):,} sentences are in {output}")


def _translators(
    names: tuple[str, str], device: str, most_tokens: int | None, download: bool
) -> tuple[Translator, Translator]:
    from adequa.encoders.device import torch_device
    from adequa.encoders.transformer_files import model_folder
    from adequa.learned.pair.round_trips import TransformerTranslator

    target = torch_device(device)
    forward, back = (
        TransformerTranslator.load(model_folder(name, download=download), target, most_tokens)
        for name in names
    )
    return forward, back


def _translations(
    sentences: list[str],
    translators: tuple[Translator, Translator],
    temperatures: list[float],
    seed: int,
    work: Progress,
) -> Iterator[Segments]:
    from adequa.learned.pair.round_trips import round_trips

    translated, total = 0, len(sentences) * (1 + len(temperatures))

    def done(count: int) -> None:
        nonlocal translated
        translated += count
        work.step(translated, total)

    yield from round_trips(sentences, *translators, temperatures, seed=seed, done=done)


def _json_lines(batch: Segments) -> str:
    pairs = zip(batch.hypotheses, batch.references, strict=True)
    rows = ({"mt": text, "ref": references[0]} for text, references in pairs)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
