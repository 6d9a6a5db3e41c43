"""`adequa train ensemble`: the mean of saved metrics, in a folder of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from adequa.cli.options import Quiet
from adequa.cli.progress import tell
from adequa.cli.training import NameOption, OutputOption, checked_target


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
    output: OutputOption,
    share: Annotated[
        list[float] | None,
        typer.Option(
            metavar="N",
            help="Weight of a metric, once for each -m in the same order. Default: equal weights.",
        ),
    ] = None,
    name: NameOption = None,
    quiet: Quiet = False,
) -> None:
    """Combine saved metrics: the mean of their scores."""
    from adequa.cli.output import write
    from adequa.cli.render_training import ensemble_report
    from adequa.learned.ensemble import Ensemble

    called = checked_target(output, name)
    made = Ensemble.of(metric, called, share or ())
    made.save(output)
    if quiet:
        return
    if len(made.training_data()) > 1:
        tell(
            f"note: the parts learnt from different ratings ({'; '.join(made.training_data())}); "
            "where these are on different scales, the mean is mostly that of the widest."
        )
    write(ensemble_report(made, output), None)
