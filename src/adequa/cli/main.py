"""The `adequa` command: gathers the verbs and turns a user's error into a sentence."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from adequa.cli import metrics, score
from adequa.errors import AdequaError
from adequa.version import __version__

app = typer.Typer(
    name="adequa",
    help="Tells how good a machine translation is, in agreement with people.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its handler shows local variables: users' text, in our case
    rich_markup_mode=None,  # plain help starts in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("score")(score.score)
app.command("metrics")(metrics.metrics)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"adequa {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. Bad input prints one sentence and exits with code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Results are UTF-8 wherever they go, as files written with -o are; a file name may
            # hold bytes that are no text at all.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app(prog_name="adequa")
    except AdequaError as error:
        print(f"adequa: error: {error}", file=sys.stderr)
        sys.exit(2)
