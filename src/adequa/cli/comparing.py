"""What `compare` and `gate` share: options, and the way from files to a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_metric
from adequa.cli.inputs import MetricLoader, Read
from adequa.comparison.defaults import METRICS, SWAPS

if TYPE_CHECKING:
    from adequa.comparison.results import Comparison
    from adequa.comparison.settings import ComparisonSettings

_NAMED = " and ".join([", ".join(METRICS[:-1]), METRICS[-1]])
ComparedMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        metavar="NAME|FOLDER|FILE",
        help="A metric with its settings, the folder of a trained one, or a file of scores; repeat "
        f"for more. Default: {_NAMED}.",
        autocompletion=complete_metric,
    ),
]
Report = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Also write a page in HTML that needs no network."),
]
Resamples = Annotated[int, typer.Option(metavar="N", help="Of the bootstrap.")]
Swaps = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help=f"Of approximate randomisation. Default: {SWAPS}, and more for many systems.",
    ),
]
Alpha = Annotated[float, typer.Option(metavar="X", help="Level of the tests.")]
LikeSacrebleu = Annotated[
    bool,
    typer.Option(
        "--like-sacrebleu",
        help="p-values as sacreBLEU has them: resamples that equal the difference do not count.",
    ),
]
KnownWords = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Text whose words are known, such as training data in this language."
    ),
]
People = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="What differences have meant for people: from `adequa differences --level system "
        "--format json`. The metric that ships brings its own.",
    ),
]


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str]) -> None:
    """Raise what writing would raise, before the work; no two results go to one file.

    Outputs are named by the option that asks for them.
    """
    from pathlib import Path

    from adequa.cli.output import check_output
    from adequa.errors import AdequaError

    named = {option: output for option, output in outputs.items() if output is not None}
    places = [Path(output).resolve() for output in named.values()]
    for (option, output), place in zip(named.items(), places, strict=True):
        if output == "-":
            raise AdequaError(f"{option} takes the name of a file, and - is none.")
        if places.count(place) > 1:
            raise AdequaError(f"{output} is named for two results; give each a file of its own.")
        check_output(output, inputs, option)


def compare_files(
    read: Read,
    paths: Sequence[str],
    metrics: Sequence[str] | None,
    settings: ComparisonSettings,
    loading: MetricLoader,
    *,
    known: str | None = None,
    people: str | None = None,
    quiet: bool,
) -> Comparison:
    """Read, score and compare, with progress on a terminal."""
    from adequa.agreement.sources import sources
    from adequa.cli.progress import progress
    from adequa.comparison.compare import compared
    from adequa.comparison.outputs import gathered
    from adequa.io.read import total_bytes

    found = sources(metrics or METRICS, loading)
    loading.check_device()
    words = None if known is None else _lines(known)
    with progress("Reading", total_bytes(paths), quiet=quiet) as work:
        outputs = gathered(read(advance=work.read))
        return compared(
            outputs,
            found,
            settings,
            known=words,
            people=people,
            progress=work,
        )


def _lines(path: str) -> Iterator[str]:
    from adequa.io.text import lines

    return iter(lines(path))
