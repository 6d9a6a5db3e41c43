"""`adequa train ensemble`: the mean of saved metrics, in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.notes import tell
from adequa.cli.options import Quiet

if TYPE_CHECKING:
    from adequa.learned.ensemble import Ensemble


def ensemble(
    metric: Annotated[
        list[str],
        typer.Option(
            "-m",
            "--metric",
            metavar="FOLDER",
            help="A saved metric; two or more, trained on the same ratings.",
        ),
    ],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FOLDER", help="A new folder for the metric.")
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the metric. Default: that of the folder.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Put saved metrics together: the mean of their scores."""
    from adequa.cli.output import write
    from adequa.cli.train import _checked_name, _name_of  # which registers this command
    from adequa.io.atomic_folder import check_new_folder
    from adequa.learned.ensemble import Ensemble

    check_new_folder(output)
    called = _checked_name(name or _name_of(output))
    made = Ensemble.of(metric, called)
    made.save(output)
    if quiet:
        return
    if len(made.learnt_from()) > 1:
        tell(
            f"note: the parts learnt from different ratings ({'; '.join(made.learnt_from())}); "
            "where these are on different scales, the mean is mostly that of the widest."
        )
    write(_report(made, output), None)


def _report(made: Ensemble, folder: str) -> Iterator[str]:
    from adequa.cli.table import aligned
    from adequa.metrics.registry import METRICS

    rows = [
        ["part", "name", "kind", "learnt from"],
        *(
            [str(number), part.metric.name, part.metric.kind, "; ".join(part.learnt_from())]
            for number, part in enumerate(made.parts, 1)
        ),
    ]
    yield f"{made.name}: the mean of {len(made.parts)} metrics\n\n"
    yield from aligned(lambda: rows)
    # A bare word that is a metric's name would be taken for that metric.
    named = f"./{folder}" if folder in METRICS else folder
    yield f"\nsaved in {folder}; use it with: adequa score -m {named} -t FILE -r FILE\n"
