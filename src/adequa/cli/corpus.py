"""A corpus of shards on the command line: options, progress, and notes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adequa.cli.options import Device
from adequa.cli.progress import notes_on, print_notes, progress
from adequa.errors import AdequaError, counted
from adequa.progress import Progress

if TYPE_CHECKING:
    from adequa.scoring.corpus import CorpusProgress, CorpusScores
    from adequa.scoring.results import ScoringResult

MAX_CHARACTERS = 100_000  # as scoring.manifest has it, without importing it for --help


class EngineName(str, Enum):
    """Engines that run the workers."""

    local = "local"
    ray = "ray"


EngineOption = Annotated[
    EngineName | None,
    typer.Option("--engine", help="Engine that scores a corpus of shards. Default: local."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        metavar="N",
        help="Number of workers for a corpus. Default: one for each CPU.",
    ),
]
Address = Annotated[
    str | None,
    typer.Option("--address", metavar="HOST:PORT|auto", help="Address of a running Ray cluster."),
]
Gpus = Annotated[
    float,
    typer.Option("--gpus", min=0, metavar="N", help="GPUs for each Ray worker; may be a fraction."),
]
Prefix = Annotated[
    str, typer.Option("--prefix", metavar="TEXT", help="Text before the names of new columns.")
]
MaxCharacters = Annotated[
    int,
    typer.Option(
        "--max-characters",
        min=1,
        metavar="N",
        help="Leave rows of a corpus with longer texts unscored.",
    ),
]


def is_corpus(inputs: str, output: str | None, engine: EngineName | None) -> bool:
    """Whether -i and -o name shards and a folder, and not one file and another."""
    from adequa.io.storage import is_address, is_pattern

    return (
        engine is not None
        or (is_pattern(inputs) and not Path(inputs).exists())
        or (inputs != "-" and Path(inputs).is_dir())
        or is_address(inputs)
        or (output is not None and (output.endswith(os.sep) or Path(output).is_dir()))
    )


def score_shards(
    inputs: str,
    output: str | None,
    metrics: Sequence[str],
    columns: Sequence[str],
    *,
    engine: EngineName | None,
    device: Device | None,
    quiet: bool,
    **options: Any,
) -> ScoringResult:
    """Score a corpus and print notes on it; `options` are others of `score_corpus`."""
    from adequa.io.columns import column_mapping
    from adequa.io.shards import find_shards
    from adequa.scoring.corpus import score_corpus

    size = sum(shard.size for shard in find_shards(inputs))
    if output is None:
        raise AdequaError(f"{inputs} is a corpus; name a folder for its scores with -o.")
    if Path(output).is_file():
        raise AdequaError(f"{output} is a file; scores of a corpus go to a folder.")
    with progress("Scoring", size, quiet=quiet) as work:
        scored = score_corpus(
            inputs,
            output,
            tuple(metrics),
            columns=column_mapping(columns),
            engine="local" if engine is None else engine.value,
            device=None if device is None else device.value,
            progress=_display(work),
            **options,
        )
    print_notes(_notes(scored, output), quiet=quiet)
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
