"""`adequa train average`: the mean of the weights of pair regressors, in a folder of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from adequa.cli.options import Quiet
from adequa.cli.training import NameOption, OutputOption, checked_target
from adequa.errors import AdequaError


def average(
    metric: Annotated[
        list[str],
        typer.Option(
            "-m",
            "--metric",
            metavar="FOLDER",
            help="A saved pair regressor; two or more, fine-tuned from the same encoder.",
        ),
    ],
    output: OutputOption,
    name: NameOption = None,
    quiet: Quiet = False,
) -> None:
    """Combine pair regressors: the mean of their weights, as fast as one of them."""
    from adequa.cli.output import write
    from adequa.cli.render_pair_training import average_report
    from adequa.learned.pair.averaging import average_metrics
    from adequa.learned.pair.metric import PairRegressor
    from adequa.metrics.registry import load_metric

    called = checked_target(output, name)
    loaded = []
    for each in metric:
        found = load_metric(each)
        if not isinstance(found, PairRegressor):
            raise AdequaError(
                f"{each} is no pair regressor; `adequa train ensemble` takes the mean of the "
                "scores of any metrics."
            )
        loaded.append(found)
    made = average_metrics(loaded, called)
    made.save(output)
    if not quiet:
        write(average_report(made, output), None)
