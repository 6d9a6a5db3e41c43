"""Options that several verbs have, with one help text each."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from adequa.cli.completion import complete_metric

DEFAULT_METRICS = ("sentbleu", "chrf")  # of verbs that measure metrics by human judgements
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        metavar="NAME|FILE",
        help="A metric with its settings, or a file of scores; repeat for more. "
        f"Default: {' and '.join(DEFAULT_METRICS)}.",
        autocompletion=complete_metric,
    ),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option("--lp", metavar="PAIR", help="Only this language pair; repeat for more."),
]
Split = Annotated[str | None, typer.Option(metavar="NAME", help="Only this split, such as test.")]
Confidence = Annotated[float, typer.Option(metavar="X", help="Of the intervals.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Of all random draws.")]
Output = Annotated[
    str | None,  # and no Path, which would drop the slash of a folder
    typer.Option("-o", "--output", metavar="FILE", help="Write here instead of standard output."),
]
NoCache = Annotated[
    bool,
    typer.Option("--no-cache", help="Neither read nor keep scores of trained metrics on disk."),
]
CacheSize = Annotated[
    int,
    typer.Option(
        "--cache-size",
        min=1,
        max=1_000_000,
        metavar="MB",
        help="How much of them is kept, in the file scores.db of the cache folder: "
        "ADEQUA_CACHE, or that of the system (~/.cache/adequa).",
    ),
]
CACHE_SIZE = 256  # MB: some four million scores


class Device(str, Enum):
    """What trained metrics run on."""

    cpu = "cpu"
    cuda = "cuda"


DeviceOption = Annotated[
    Device | None,
    typer.Option(
        "--device",
        help="What trained metrics run on. Default: as each metric has it; for shards, cpu.",
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no notes.")]
