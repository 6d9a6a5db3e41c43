"""`adequa train average`: the mean of the weights of pair regressors, saved as a new metric."""

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
    """Average the weights of pair regressors into one metric, as fast as one of them."""
    from adequa.cli.output import write
    from adequa.cli.render_pair_training import average_report
    from adequa.learned.ensemble import average_metrics
    from adequa.learned.pair.metric import PairRegressor
    from adequa.metrics.registry import load_metric

    name = checked_target(output, name)
    metrics = []
    for folder in metric:
        loaded = load_metric(folder)
        if not isinstance(loaded, PairRegressor):
            raise AdequaError(
                f"{folder} is no pair regressor; `adequa train ensemble` takes the mean of the "
                "scores of any metrics."
            )
        metrics.append(loaded)
    mean = average_metrics(metrics, name)
    mean.save(output)
    if not quiet:
        write(average_report(mean, output), None)
