"""Options that several verbs share, how they are parsed, and what the shell completes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from adequa.tables import Format, ending


class Verb(TyperCommand):
    """A command whose repeatable options also take several values: `-t a b` is `-t a -t b`.

    Where a command has arguments, only some do: those of text files, which never go with
    arguments, and -m, whose further values must be names of metrics.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line."""
        has_arguments = any(each.param_type_name == "argument" for each in self.params)
        options: dict[str, Callable[[str], bool]] = {}
        for each in self.params:
            if not getattr(each, "multiple", False):
                continue
            if has_arguments and each.name == "metric":
                options |= dict.fromkeys(each.opts, is_metric_name)
            elif not has_arguments or each.name in {"hypothesis", "reference"}:
                options |= dict.fromkeys(each.opts, _any_word)
        return super().parse_args(ctx, expand_repeated_options(with_format_names(args), options))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """What the usage line shows after the name of the command."""
        arguments = [each for each in self.params if each.param_type_name == "argument"]
        return [
            "[OPTIONS]",
            *(_argument(each) if each.required else f"[{_argument(each)}]" for each in arguments),
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments by name, without their types, and the options."""
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            records = []
            for each in self.get_params(ctx):
                record = each.get_help_record(ctx) if each.param_type_name == kind else None
                if record is not None:
                    name = _argument(each) if kind == "argument" else record[0]
                    records.append((name, record[1]))
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _argument(parameter: Any) -> str:
    name = str(parameter.metavar or parameter.name.upper())
    return name if parameter.nargs == 1 or name.endswith("...") else f"{name}..."


class VerbGroup(TyperGroup):
    """Commands of one verb, listed with whole summaries."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line up to the name of a command."""
        return super().parse_args(ctx, with_format_names(args))

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write each command with the first paragraph of its help."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, " ".join((command.help or "").partition("\n\n")[0].split()))
                    for name, command in self.commands.items()
                ]
            )


_FORMAT_NAMES = {ending(each).lstrip("."): each.value for each in Format}


def with_format_names(args: Sequence[str]) -> list[str]:
    """Arguments with the names of formats where --format has the ending of a file.

    >>> with_format_names(["--format", "md", "--format=tex", "md"])
    ['--format', 'markdown', '--format=latex', 'md']
    """
    named: list[str] = []
    for word in args:
        option, sign, value = word.partition("=")
        if option == "--format" and sign:
            named.append(f"{option}={_FORMAT_NAMES.get(value, value)}")
        else:
            named.append(_FORMAT_NAMES.get(word, word) if named[-1:] == ["--format"] else word)
    return named


def is_metric_name(word: str) -> bool:
    """Whether a word is the name of a metric, with or without settings.

    >>> is_metric_name("BLEU:tokenize=intl"), is_metric_name("wmt15-da")
    (True, False)
    """
    from adequa.metrics.registry import METRICS

    return word.partition(":")[0].strip().lower() in METRICS


def _any_word(word: str) -> bool:  # noqa: ARG001
    return True


def expand_repeated_options(
    args: Sequence[str], options: Mapping[str, Callable[[str], bool]]
) -> list[str]:
    """Arguments with one of the options before each of its values.

    `options` maps an option to the condition for its further values.

    >>> options = {"-t": _any_word, "--lp": _any_word, "-m": is_metric_name}
    >>> expand_repeated_options(["-t", "a", "b", "-q", "--lp=x", "y"], options)
    ['-t', 'a', '-t', 'b', '-q', '--lp=x', '--lp', 'y']
    >>> expand_repeated_options(["-m", "chrf", "bleu", "wmt15-da"], options)
    ['-m', 'chrf', '-m', 'bleu', 'wmt15-da']
    """
    expanded: list[str] = []
    option, has_value = "", False  # the option whose values follow
    for index, word in enumerate(args):
        if word == "--" and (not option or has_value):
            return [*expanded, *args[index:]]
        if option and (
            not has_value or ((not word.startswith("-") or word == "-") and options[option](word))
        ):
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


# The option -m of verbs that take one metric.
METRIC_OPTION: Any = typer.Option(
    "-m",
    "--metric",
    metavar="NAME|FOLDER[:SETTING=VALUE,...]",
    help="Metric or folder of a trained metric, with optional settings.",
    autocompletion=complete_metric,
)


def metrics_option(default: Sequence[str], *, score_files: bool = False) -> Any:
    """The option -m of verbs that take several metrics."""
    what = "Metric or folder of a trained metric, with optional settings"
    return typer.Option(
        "-m",
        "--metric",
        metavar=f"{'FILE|' * score_files}NAME|FOLDER[:SETTING=VALUE,...]",
        help=f"{what}{', or a file of scores' * score_files}; repeat -m for more. "
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
    typer.Option(
        "-s",
        "--source",
        metavar="FILE",
        help="Source sentences, one per line; enough without -r for metrics that need no "
        "reference.",
    ),
]
SourceBesideReference = Annotated[
    str | None,
    typer.Option(
        "-s",
        "--source",
        metavar="FILE",
        help="Source sentences, one per line, for metrics that also read them.",
    ),
]
Input = Annotated[
    str | None,
    typer.Option(
        "-i",
        "--input",
        metavar="FILE",
        help="One file with everything: TSV, CSV, XLSX, JSONL, JSON, Parquet, WMT XML or SGM, "
        "XLIFF; - reads TSV, CSV, JSONL or JSON from standard input. Columns: mt (or hypothesis, "
        "translation), ref (or reference), and optionally src (or source), system, doc; for "
        "metrics that need no reference, src is enough.",
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


class QuotingName(str, Enum):
    """How cells of TSV and CSV are quoted."""

    auto = "auto"
    rfc4180 = "rfc4180"
    none = "none"


QuotingOption = Annotated[
    QuotingName,
    typer.Option(
        "--quoting",
        help="Quotation marks in TSV and CSV: rfc4180 if they enclose cells, none if they are "
        "text, auto if the file shows which.",
    ),
]
SystemColumns = Annotated[
    str | None,
    typer.Option(
        "--systems",
        metavar="A,B,...",
        help="Columns of an -i file that hold the translations of one system each, in place of mt.",
    ),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--lp", metavar="PAIR", help="Only this language pair, such as de-en; repeat for more."
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "-l",
        "--language",
        metavar="LANGUAGE|PAIR",
        help="Language of the translations, such as de, or the pair, such as en-de; selects the "
        "rows of a table with a column lp. Default: column lp, else detected.",
    ),
]
Split = Annotated[str | None, typer.Option(metavar="NAME", help="Only this split, such as test.")]
Confidence = Annotated[
    float, typer.Option(metavar="X", help="Confidence level of the intervals, such as 0.95.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Random seed.")]


class RatersName(str, Enum):
    """Whose rating an interval is for."""

    panel = "panel"
    one = "one"


RatersOption = Annotated[
    RatersName | None,
    typer.Option(
        "--raters",
        help="Intervals for the mean rating of a panel, or for the rating of one person, which "
        "are wider. Default: panel, or what is known of a named dataset.",
    ),
]
IntervalLevel = Annotated[
    float | None,
    typer.Option(
        "--level",
        metavar="X",
        help="Probability of the intervals, from 0.5 to 0.99. Default: 0.9.",
    ),
]
ConfidenceFile = Annotated[
    str | None,
    typer.Option(
        "--confidence-file",
        metavar="FILE",
        help="File of `adequa train confidence`. Default: confidence.json of the metric.",
    ),
]


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
    typer.Option("--device", help="Device for trained metrics. Default: that of each metric."),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress and no notes.")]
