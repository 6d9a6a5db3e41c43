"""Options that several verbs have, with one help text each."""

from __future__ import annotations

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
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no notes.")]
