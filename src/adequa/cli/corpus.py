"""A corpus of shards on the command line: options, progress, and what is said at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.options import Device
from adequa.cli.progress import notes_on, progress, tell_notes
from adequa.errors import AdequaError, counted
from adequa.progress import Progress

if TYPE_CHECKING:
    from adequa.scoring.corpus import CorpusProgress, CorpusScores
    from adequa.scoring.results import ScoringResult

MAX_CHARACTERS = 100_000  # as scoring.manifest has it, without importing it for --help


class EngineName(str, Enum):
    """What runs the workers."""

    local = "local"
    ray = "ray"


EngineOption = Annotated[
    EngineName | None,
    typer.Option("--engine", help="What scores a corpus of shards. Default: local."),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, metavar="N", help="Of a corpus. Default: one a CPU."),
]
Address = Annotated[
    str | None,
    typer.Option("--address", metavar="HOST:PORT|auto", help="Of a Ray cluster that is running."),
]
Gpus = Annotated[
    float, typer.Option("--gpus", min=0, metavar="N", help="That each Ray worker takes, or a part.")
]
Prefix = Annotated[
    str, typer.Option("--prefix", metavar="TEXT", help="Before the names of new columns.")
]
MaxCharacters = Annotated[
    int,
    typer.Option(
        "--max-characters",
        min=1,
        metavar="N",
        help="A row of a corpus with longer text is unscored.",
    ),
]


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is scored, and where to."""

    inputs: str
    output: str | None
    columns: Sequence[str]
    metrics: Sequence[str]
    device: Device | None


@dataclass(frozen=True, slots=True)
class Way:
    """How it is scored."""

    engine: EngineName | None
    workers: int | None
    address: str | None
    gpus: float
    prefix: str
    max_characters: int


def is_corpus(inputs: str, output: str | None, engine: EngineName | None) -> bool:
    """Whether -i and -o mean shards and a folder, and not one file and another."""
    from adequa.io.storage import is_address, is_pattern

    return (
        engine is not None
        or (is_pattern(inputs) and not Path(inputs).exists())
        or (inputs != "-" and Path(inputs).is_dir())
        or is_address(inputs)
        or (output is not None and (output.endswith(os.sep) or Path(output).is_dir()))
    )


def score_shards(corpus: Corpus, way: Way, *, quiet: bool) -> ScoringResult:
    """Score a corpus and say what should be known of it."""
    from adequa.io.columns import column_mapping
    from adequa.io.shards import find_shards
    from adequa.scoring.corpus import score_corpus

    size = sum(shard.size for shard in find_shards(corpus.inputs))
    if corpus.output is None:
        raise AdequaError(f"{corpus.inputs} is a corpus; name a folder for its scores with -o.")
    if Path(corpus.output).is_file():
        raise AdequaError(f"{corpus.output} is a file; scores of a corpus go to a folder.")
    with progress("Scoring", size, quiet=quiet) as work:
        scored = score_corpus(
            corpus.inputs,
            corpus.output,
            tuple(corpus.metrics),
            columns=column_mapping(corpus.columns),
            engine="local" if way.engine is None else way.engine.value,
            workers=way.workers,
            address=way.address,
            gpus=way.gpus,
            device=None if corpus.device is None else corpus.device.value,
            prefix=way.prefix,
            max_characters=way.max_characters,
            progress=_display(work),
        )
    tell_notes(_notes(scored, corpus.output), quiet=quiet)
    return scored.results


def _display(work: Progress) -> Callable[[CorpusProgress], None]:
    """A callback that shows progress: rows, rows a second, rows without a score."""
    start, seen = monotonic(), [0, 0]

    def update(corpus: CorpusProgress) -> None:
        work.read(corpus.bytes - seen[0])
        work.scored(corpus.rows - seen[1])
        seen[:] = corpus.bytes, corpus.rows
        rate = (corpus.rows - corpus.resumed) / max(monotonic() - start, 1e-9)
        work.status(f"{rate:,.0f} rows a second, {corpus.unscored:,} not scored")

    return update


def _notes(scored: CorpusScores, output: str) -> list[str]:
    shards = len(scored.records)
    notes = [f"{counted(shards, 'shard')} with {counted(scored.rows, 'row')} in {output}"]
    if scored.unscored:
        notes.append(
            f"{counted(scored.unscored, 'row')} could not be scored; the first: "
            f"{scored.first_reason}"
        )
    if scored.scoreless:
        notes.append(f"no row at all has a score of {', '.join(scored.scoreless)}")
    return [*notes, *notes_on(scored.results), *scored.remarks]
