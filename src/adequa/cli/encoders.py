"""`adequa encoders`: what turns sentences into vectors."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Annotated

import typer

from adequa.cli.completion import complete_encoder


def encoders(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="Show the settings of this kind.",
            autocompletion=complete_encoder,
        ),
    ] = None,
) -> None:
    """List the kinds of encoders, or the settings of one."""
    shown = _listed() if kind is None else _described(kind.rstrip(":"))
    typer.echo("".join(shown), nl=False)


def _listed() -> Iterator[str]:
    from adequa.cli.output import aligned
    from adequa.encoders.registry import ENCODERS

    yield from aligned(lambda: [[kind, entry.summary] for kind, entry in ENCODERS.items()])
    yield "\n`adequa encoders KIND` shows an encoder's settings;"
    yield " use them as `--encoder KIND:PATH,SETTING=VALUE`.\n"


def _described(kind: str) -> Iterator[str]:
    from adequa.cli.metrics import shown_default
    from adequa.cli.output import aligned
    from adequa.encoders.registry import ENCODERS, encoder_class, settings_of

    found = encoder_class(kind)
    settings = [[name, shown_default(default)] for name, default in settings_of(found).items()]
    yield f"{kind}: {ENCODERS[kind].summary}\n\n"
    yield cleandoc(found.load.__doc__ or "") + "\n"
    if settings:
        yield "\nSettings and their defaults:\n"
        yield from aligned(lambda: settings)
