"""The `adequa` command: gathers the verbs and turns a user's error into a sentence."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, TextIO

import typer

from adequa.cli import (
    analyse,
    compare,
    datasets,
    differences,
    encoders,
    evaluate,
    export,
    gate,
    mbr,
    metrics,
    rank,
    reproduce,
    rerank,
    robustness,
    round_trip,
    score,
    serve,
    train,
)
from adequa.cli.progress import tell
from adequa.errors import AdequaError
from adequa.version import __version__

app = typer.Typer(
    name="adequa",
    help="Scores machine translations the way human raters do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its handler shows local variables: users' text, in our case
    rich_markup_mode=None,  # plain help starts in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("score")(score.score)
app.command("compare")(compare.compare)
app.command("gate")(gate.gate)
app.command("rank")(rank.rank)
app.command("rerank")(rerank.rerank)
app.command("mbr")(mbr.mbr)
app.command("metrics")(metrics.metrics)
app.command("serve")(serve.serve)
app.add_typer(datasets.app, name="datasets")
app.command("evaluate")(evaluate.evaluate)
app.command("differences")(differences.differences)
app.command("encoders")(encoders.encoders)
app.add_typer(train.app, name="train")
app.command("export")(export.export)
app.command("round-trip")(round_trip.round_trip)
app.command("analyse")(analyse.analyse)
app.command("robustness")(robustness.robustness)
app.command("reproduce")(reproduce.reproduce)


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


_UNWRITABLE = "Standard output cannot be written"
# Errors that no stream gives: too little memory, too many open files.
_SCARCE = (errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE)


def main() -> None:
    """Run the command line. Bad input prints one sentence and exits with code 2."""
    _prepare_streams()
    try:
        app(prog_name="adequa")
    except AdequaError as error:
        tell(f"adequa: error: {error}")
        sys.exit(2)
    except OSError as error:
        place = _at_fault(error)
        tell(f"adequa: error: {place}: {error.strerror or error}.")
        if place == _UNWRITABLE:
            _give_up(sys.stdout)
        sys.exit(2)
    finally:
        try:
            sys.stderr.flush()
        except OSError:  # a full disk, for one
            _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Close a stream that cannot be written: what is left in it would fail when Python ends."""
    with suppress(OSError):
        stream.close()


def _at_fault(error: OSError) -> str:
    """What an error of the system is about, as the beginning of a sentence.

    Files that users name are read and written elsewhere, with sentences of their own.
    """
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)} cannot be used"
    return "The system refused something" if error.errno in _SCARCE else _UNWRITABLE


def _prepare_streams() -> None:
    """Make sure that there is a standard output and error, and that they take any text."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
            setattr(sys, name, nowhere)
        elif isinstance(stream, TextIOWrapper):
            # Results are UTF-8 wherever they go, as files written with -o are; a file name may
            # hold bytes that are no text at all.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
