"""`adequa metrics`: what there is to score with."""

from __future__ import annotations

from typing import Annotated

import typer

from adequa.cli.completion import complete_metric


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Show the settings of this metric.",
            autocompletion=complete_metric,
        ),
    ] = None,
) -> None:
    """List the metrics, or the settings of one."""
    from adequa.cli.table import aligned
    from adequa.metrics.registry import METRICS

    if name is None:
        typer.echo(aligned([[known, entry.summary] for known, entry in METRICS.items()]))
        typer.echo("\n`adequa metrics NAME` shows a metric's settings;", nl=False)
        typer.echo(" use them as `-m NAME:SETTING=VALUE,SETTING=VALUE`.")
    else:
        typer.echo(_described(name))


def _described(name: str) -> str:
    from adequa.cli.table import aligned
    from adequa.metrics.contract import written
    from adequa.metrics.registry import METRICS, metric_class, settings_of

    found = metric_class(name)
    low, high = found.range
    facts = [
        ["direction", "higher is better" if found.higher_is_better else "lower is better"],
        ["range", f"{low:g} to {high:g}" if high < float("inf") else f"{low:g} and up"],
        ["references", "any number" if found.max_references is None else str(found.max_references)],
    ]
    settings = [[setting, written(default)] for setting, default in settings_of(found).items()]
    return "\n".join(
        [
            f"{name}: {METRICS[name].summary}",
            "",
            aligned(facts),
            "",
            *(
                ["Settings and their defaults:", aligned(settings)]
                if settings
                else ["No settings."]
            ),
        ]
    )
