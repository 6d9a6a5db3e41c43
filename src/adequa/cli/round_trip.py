"""`adequa round-trip`: translations of any sentences, there and back, for a teacher to speak of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.options import Quiet, Seed
from adequa.cli.progress import tell
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.learned.pair.round_trips import Translator
    from adequa.progress import Progress
    from adequa.segments import Segments

TEMPERATURES = (0.0, 0.6, 0.9, 1.2)


def round_trip(
    input_: Annotated[
        str,
        typer.Option("-i", "--input", metavar="FILE", help="English sentences, one per line."),
    ],
    there: Annotated[
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
    download: Annotated[
        bool, typer.Option("--download", help="Download models that are not here from the hub.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Translate sentences to another language and back.

    What comes back is a translation with its sentence as the reference: good ones, and worse ones
    at higher temperatures. `adequa train pair-regressor` learns from such a file by distillation.
    """
    from adequa.cli.output import check_output, write
    from adequa.cli.progress import progress
    from adequa.io.text import lines
    from adequa.learned.pair.round_trips import check_temperatures

    temperatures = temperature or list(TEMPERATURES)
    check_temperatures(temperatures)
    if Path(output).suffix.lower() != ".jsonl":
        raise AdequaError(f"{output} would hold JSONL; give it a name that ends in .jsonl.")
    check_output(output, [input_])
    sentences = list(dict.fromkeys(filter(None, map(str.strip, lines(input_)))))
    if not sentences:
        raise AdequaError(f"{input_} is empty: there is nothing to translate.")
    with progress("Loading the models", None, quiet=quiet) as work:
        ways = _ways((there, back), device, most_tokens, download)
        work.stage("Translating there and back")
        made = list(_made(sentences, ways, temperatures, seed, work))
    write((_rows(some) for some in made), output)
    if not quiet:
        count = sum(map(len, made))
        tell(f"{count:,} translations of {len(sentences):,} sentences are in {output}")


def _ways(
    names: tuple[str, str], device: str, most_tokens: int | None, download: bool
) -> tuple[Translator, Translator]:
    from adequa.encoders.transformer_files import model_folder
    from adequa.learned.device import torch_device
    from adequa.learned.pair.round_trips import TransformerTranslator

    place = torch_device(device)
    one, other = (
        TransformerTranslator.load(
            model_folder(name, download=download, revision="", asking="--download"),
            place,
            most_tokens,
        )
        for name in names
    )
    return one, other


def _made(
    sentences: list[str],
    ways: tuple[Translator, Translator],
    temperatures: list[float],
    seed: int,
    work: Progress,
) -> Iterator[Segments]:
    from adequa.learned.pair.round_trips import round_trips

    translated, every = 0, len(sentences) * (1 + len(temperatures))

    def done(count: int) -> None:
        nonlocal translated
        translated += count
        work.step(translated, every)

    yield from round_trips(sentences, *ways, temperatures, seed=seed, done=done)


def _rows(made: Segments) -> str:
    pairs = zip(made.hypotheses, made.references, strict=True)
    rows = ({"mt": text, "ref": several[0]} for text, several in pairs)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
