"""Options that several verbs have, with one help text each."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

Pairs = Annotated[
    list[str] | None,
    typer.Option("--lp", metavar="PAIR", help="Only this language pair; repeat for more."),
]
Split = Annotated[str | None, typer.Option(metavar="NAME", help="Only this split, such as test.")]
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
        help="How much of them is kept, in the file scores.sqlite of the cache folder: "
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
    typer.Option("--device", help="What trained metrics run on. Default: as each metric has it."),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no notes.")]
