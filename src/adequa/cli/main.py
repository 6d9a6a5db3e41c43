"""The `adequa` command: gathers the verbs and turns a user's error into a sentence."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from inspect import cleandoc
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from adequa.cli import (
    analyse,
    choosing,
    compare,
    datasets,
    export,
    gate,
    meta_evaluation,
    metrics,
    rank,
    reproduce,
    robustness,
    score,
    serve,
    train,
)
from adequa.cli.options import Verb
from adequa.cli.progress import print_message
from adequa.errors import AdequaError
from adequa.version import __version__

VERBS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "Score": {"score": score.score},
    "Compare": {"compare": compare.compare, "gate": gate.gate, "rank": rank.rank},
    "Choose": {"rerank": choosing.rerank, "mbr": choosing.mbr},
    "Meta-evaluate": {
        "evaluate": meta_evaluation.evaluate,
        "differences": meta_evaluation.differences,
        "analyse": analyse.analyse,
        "robustness": robustness.robustness,
        "datasets": datasets.app,
    },
    "Train": {
        "train": train.app,
        "export": export.export,
        "encoders": train.encoders,
        "round-trip": export.round_trip,
    },
    "Serve": {"serve": serve.serve},
    "More": {"metrics": metrics.metrics, "reproduce": reproduce.reproduce},
}


class Verbs(TyperGroup):
    """The verbs in groups, each with the whole first sentence of its help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the groups; columns are aligned across all of them."""
        width = max(map(len, self.commands))
        for title, verbs in VERBS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), _summary(self.commands[name].help)) for name in verbs]
                )


def _summary(help_: str | None) -> str:
    return " ".join(cleandoc(help_ or "").partition("\n\n")[0].split())


app = typer.Typer(
    name="adequa",
    cls=Verbs,
    help="Score machine translations the way human raters do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its handler shows local variables: users' text, in our case
    rich_markup_mode=None,  # plain help starts in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _verbs in VERBS.values():
    for _name, _verb in _verbs.items():
        if isinstance(_verb, typer.Typer):
            app.add_typer(_verb, name=_name)
        else:
            app.command(_name, cls=Verb)(_verb)


def _show_version(show: bool) -> None:
    if show:
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
# Errors that are not about a stream: too little memory, too many open files.
_RESOURCE_ERRORS = (errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE)


def main() -> None:
    """Run the command line. Bad input prints one sentence and exits with code 2."""
    _prepare_streams()
    try:
        app(prog_name="adequa")
    except AdequaError as error:
        print_message(f"adequa: error: {error}")
        sys.exit(2)
    except OSError as error:
        subject = _subject(error)
        print_message(f"adequa: error: {subject}: {error.strerror or error}.")
        if subject == _UNWRITABLE:
            _close(sys.stdout)
        sys.exit(2)
    finally:
        try:
            sys.stderr.flush()
        except OSError:  # a full disk, for one
            _close(sys.stderr)


def _close(stream: TextIO) -> None:
    """Close a stream that cannot be written: flushing it when Python exits would fail."""
    with suppress(OSError):
        stream.close()


def _subject(error: OSError) -> str:
    """The subject of an operating-system error, as the beginning of a sentence.

    Files that users name are read and written elsewhere, with error messages of their own.
    """
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)} cannot be used"
    return "The system refused something" if error.errno in _RESOURCE_ERRORS else _UNWRITABLE


def _prepare_streams() -> None:
    """Make sure that standard output and error exist and take any text."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the parent process
            null = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
            setattr(sys, name, null)
        elif isinstance(stream, TextIOWrapper):
            # Results are UTF-8 wherever they go, as files written with -o are; a file name may
            # hold bytes that are no text at all.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
