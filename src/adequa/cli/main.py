"""The `adequa` command: gathers the verbs and turns a user's error into a sentence."""

from __future__ import annotations

import errno
import os
import re
import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from adequa.cli.options import Verb
from adequa.cli.output import print_message
from adequa.errors import AdequaError
from adequa.version import __version__

# The function or group of each verb, as MODULE:NAME in this package, and its summary. A verb is
# imported when it is run, so that the others cost no time.
VERBS: dict[str, dict[str, tuple[str, str]]] = {
    "Score": {
        "score": ("score:score", "Score translations against references or sources."),
        "explain": ("explain:explain", "Show what each difference from the reference costs."),
    },
    "Compare": {
        "compare": ("compare:compare", "Compare systems by scores, significance tests and ranks."),
        "gate": ("gate:gate", "Fail if a new system is significantly worse than the old one."),
        "rank": ("rank:rank", "Order systems by who beats whom, segment by segment."),
    },
    "Choose": {
        "rerank": ("choosing:rerank", "Order candidate translations by their scores."),
        "mbr": ("choosing:mbr", "Choose among candidate translations by minimum Bayes risk."),
        "filter": ("filter:filter_", "Keep the rows of a parallel corpus that score well."),
    },
    "Meta-evaluate": {
        "evaluate": (
            "meta_evaluation:evaluate",
            "Measure how well metrics agree with human judgements.",
        ),
        "differences": (
            "meta_evaluation:differences",
            "Count how often people agree with a score difference, by size.",
        ),
        "coverage": (
            "confidence:coverage",
            "Measure how often human ratings are in the intervals of scores.",
        ),
        "analyse": ("analyse:analyse", "Analyse which good outputs two metrics find or miss."),
        "robustness": (
            "robustness:robustness",
            "Measure how often metrics notice damage to translations.",
        ),
        "datasets": ("datasets:app", "List the datasets of human judgements, or get one."),
    },
    "Train": {
        "train": ("train:app", "Train a metric on human judgements of your own."),
        "export": ("export:export", "Pack a trained pair regressor for use without PyTorch."),
        "encoders": ("train:encoders", "List the kinds of encoders, or the settings of one."),
        "round-trip": (
            "export:round_trip",
            "Translate sentences to another language and back, to train on.",
        ),
    },
    "Serve": {
        "serve": ("serve:serve", "Serve an API over HTTP, and a web page at /."),
    },
    "More": {
        "metrics": ("metrics:metrics", "List the metrics, or the settings of one."),
        "reproduce": (
            "reproduce:reproduce",
            "Measure a published table again, side by side with the paper.",
        ),
    },
}
_TARGETS = {name: target for verbs in VERBS.values() for name, (target, _) in verbs.items()}


class Verbs(TyperGroup):
    """The verbs in groups, each imported when it is run."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """All verbs, in the order of the help."""
        return list(_TARGETS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command of a verb; None where there is none of this name."""
        return load_verb(cmd_name) if cmd_name in _TARGETS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the groups with whole summaries; columns are aligned across all of them."""
        width = max(map(len, _TARGETS))
        for title, verbs in VERBS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), summary) for name, (_, summary) in verbs.items()]
                )


def load_verb(name: str) -> Any:
    """Import a verb and return its command."""
    module, attribute = _TARGETS[name].split(":")
    verb = getattr(import_module(f"adequa.cli.{module}"), attribute)
    if isinstance(verb, typer.Typer):
        command: Any = get_group(verb)
    else:
        single = typer.Typer(
            add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
        )
        single.command(name, cls=Verb)(verb)
        command = get_command(single)
    command.name = name
    return command


UsageError: Any = typer.BadParameter.__base__  # of whichever Click this Typer has

app = typer.Typer(
    name="adequa",
    cls=Verbs,
    help="Score machine translations the way human raters do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its handler shows local variables: users' text, in our case
    rich_markup_mode=None,  # plain help starts in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
# Errors of writing to a stream: a closed pipe, a full disk, a terminal that is gone.
_STREAM_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def main() -> None:
    """Run the command line. Bad input prints one sentence and exits with code 2."""
    _prepare_streams()
    try:
        status = app(prog_name="adequa", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except UsageError as error:
        if _is_help(error):
            error.show()
        else:
            print_message(f"adequa: error: {usage_message(error)}")
        sys.exit(2)
    except typer.Abort:
        sys.exit(1)
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


def _is_help(error: Any) -> bool:
    """Whether a command that needs arguments has none; the message is its help."""
    return type(error).__name__ == "NoArgsIsHelpError"


_EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)")


def usage_message(error: Any) -> str:
    """A sentence on arguments that a command does not take, and where to read more."""
    parameter: Any = getattr(error, "param", None)
    problem = _value_problem(error.__cause__) if parameter is not None else ""
    if problem:
        options = [name for name in parameter.opts if name.startswith("-")]
        message = f"{max(options, key=len, default=parameter.metavar)} {problem}"
    else:
        message = error.format_message().removesuffix(".")
    extra = _EXTRA.fullmatch(message)
    if extra is not None:
        message = f"Unexpected argument: {extra[1]}"
        if any(each.name == "metric" and each.multiple for each in error.ctx.command.params):
            message += "; write -m before each metric"
    if error.ctx is not None:
        command = error.ctx.command_path
    else:  # an option without its value
        command = " ".join(["adequa", *(word for word in sys.argv[1:2] if word in _TARGETS)])
    return f"{message}. See `{command} --help`."


def _value_problem(cause: Any) -> str:
    """What is wrong with the value of an option, by the error that its validation raised."""
    if not hasattr(cause, "errors"):
        return ""
    detail = cause.errors()[0]
    value, limits = detail["input"], detail.get("ctx", {})
    expected = {
        "int_parsing": "must be a whole number",
        "int_from_float": "must be a whole number",
        "float_parsing": "must be a number",
        "greater_than_equal": f"must be {limits.get('ge')} or more",
        "less_than_equal": f"must be {limits.get('le')} or less",
    }.get(detail["type"])
    if expected is not None:
        return f"{expected}, not {value!r}"
    choices = detail["msg"].partition("is not one of ")[2].rstrip(".").replace("'", "")
    return f"must be one of {choices}, not {value!r}" if choices else ""


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
    return _UNWRITABLE if error.errno in _STREAM_ERRORS else "The operating system reports an error"


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
