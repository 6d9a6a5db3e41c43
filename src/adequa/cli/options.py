"""Options that several verbs share, how they are parsed, and what the shell completes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import Annotated, Any

import typer
from typer.core import TyperCommand


class Verb(TyperCommand):
    """A command whose repeatable options also take several values: `-t a b` is `-t a -t b`.

    Where a command has arguments, only the options of text files do, which never go with them.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line."""
        has_arguments = any(each.param_type_name == "argument" for each in self.params)
        options = {
            name
            for each in self.params
            if getattr(each, "multiple", False)
            and (not has_arguments or each.name in {"hypothesis", "reference"})
            for name in each.opts
        }
        return super().parse_args(ctx, expand_repeated_options(args, options))


def expand_repeated_options(args: Sequence[str], options: Collection[str]) -> list[str]:
    """Arguments with one of the options before each of its values.

    >>> expand_repeated_options(["-t", "a", "b", "-q", "--lp=x", "y"], {"-t", "--lp"})
    ['-t', 'a', '-t', 'b', '-q', '--lp=x', '--lp', 'y']
    """
    expanded: list[str] = []
    option, has_value = "", False  # the option whose values follow
    for index, word in enumerate(args):
        if word == "--" and (not option or has_value):
            return [*expanded, *args[index:]]
        if option and (not has_value or not word.startswith("-") or word == "-"):
            expanded += [option, word] if has_value else [word]
            has_value = True
            continue
        name, sign, _ = word.partition("=")
        option, has_value = (name if name in options else ""), bool(sign)
        expanded.append(word)
    return expanded


def complete_metric(incomplete: str) -> list[tuple[str, str]]:
    """Metric names that begin as typed, with their summaries."""
    from adequa.metrics.registry import METRICS

    return [(name, entry.summary) for name, entry in METRICS.items() if name.startswith(incomplete)]


def complete_encoder(incomplete: str) -> list[tuple[str, str]]:
    """Kinds of encoders that begin as typed, with their summaries."""
    from adequa.encoders.registry import ENCODERS

    return [
        (f"{kind}:", entry.summary)
        for kind, entry in ENCODERS.items()
        if kind.startswith(incomplete)
    ]


def complete_dataset(incomplete: str) -> list[tuple[str, str]]:
    """Names of datasets that begin as typed, with their summaries."""
    from adequa.datasets.registry import DATASETS

    return [
        (name, entry.summary) for name, entry in DATASETS.items() if name.startswith(incomplete)
    ]


def complete_table(incomplete: str) -> list[str]:
    """Names of published tables that begin as typed."""
    from adequa.reproduce.paper_table import TABLES

    return [name for name in TABLES if name.startswith(incomplete)]


def in_words(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> in_words(["a"]), in_words(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def metrics_option(default: Sequence[str], *, score_files: bool = False) -> Any:
    """The option -m of verbs that take several metrics."""
    what = "Metric or folder of a trained metric, with optional settings"
    return typer.Option(
        "-m",
        "--metric",
        metavar=f"{'FILE|' * score_files}NAME|FOLDER[:SETTING=VALUE,...]",
        help=f"{what}{', or a file of scores' * score_files}; repeat for more. "
        f"Default: {in_words(default)}.",
        autocompletion=complete_metric,
    )


META_EVALUATION_METRICS = ("sentbleu", "chrf")  # of verbs that measure metrics by human judgements
Metrics = Annotated[list[str] | None, metrics_option(META_EVALUATION_METRICS, score_files=True)]
Hypotheses = Annotated[
    list[str] | None,
    typer.Option(
        "-t",
        "--hypothesis",
        metavar="[NAME=]FILE...",
        help="Translations of one system, one per line; several files for several systems. A "
        "system is named after its file, or by NAME=FILE.",
    ),
]
References = Annotated[
    list[str] | None,
    typer.Option(
        "-r",
        "--reference",
        metavar="FILE...",
        help="Reference translations, one per line; several files for several references.",
    ),
]
SourceText = Annotated[
    str | None,
    typer.Option("-s", "--source", metavar="FILE", help="Source sentences, one per line."),
]
Input = Annotated[
    str | None,
    typer.Option(
        "-i",
        "--input",
        metavar="FILE",
        help="One file with everything: TSV, JSONL, JSON, Parquet, WMT XML or SGM; - reads "
        "TSV, JSONL or JSON from standard input. Columns: mt (or hypothesis, translation), ref (or "
        "reference), and optionally src (or source), system, doc.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="FIELD=NAME",
        help="Name of the column that holds this field, such as mt=output; repeat for more.",
    ),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--lp", metavar="PAIR", help="Only this language pair, such as de-en; repeat for more."
    ),
]
Split = Annotated[str | None, typer.Option(metavar="NAME", help="Only this split, such as test.")]
Confidence = Annotated[
    float, typer.Option(metavar="X", help="Confidence level of the intervals, such as 0.95.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Random seed.")]


def _file_or_stdout(output: str | None) -> str | None:
    return None if output == "-" else output


Output = Annotated[
    str | None,  # and no Path, which would drop the slash of a folder
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        callback=_file_or_stdout,
        help="Write to this file instead of standard output (-).",
    ),
]
NoCache = Annotated[
    bool,
    typer.Option("--no-cache", help="Do not read or store scores of trained metrics on disk."),
]
CACHE_SIZE = 256  # MB: about four million scores
CacheSize = Annotated[
    int,
    typer.Option(
        "--cache-size",
        min=1,
        max=1_000_000,
        metavar="MB",
        help="Size limit of the cached scores of trained metrics. They are stored in scores.db in "
        "the folder ADEQUA_CACHE, or in the cache folder of the system (~/.cache/adequa).",
    ),
]


class Device(str, Enum):
    """Device for trained metrics."""

    cpu = "cpu"
    cuda = "cuda"


DeviceOption = Annotated[
    Device | None,
    typer.Option(
        "--device",
        help="Device for trained metrics. Default: that of each metric; cpu for a corpus of "
        "shards.",
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress and no notes.")]
