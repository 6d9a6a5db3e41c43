"""`adequa metrics`: what there is to score with."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
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
    shown = _listed() if name is None else _described(name)
    typer.echo("".join(shown), nl=False)


def _listed() -> Iterator[str]:
    from adequa.cli.output import aligned
    from adequa.metrics.registry import METRICS

    yield from aligned(lambda: [[name, entry.summary] for name, entry in METRICS.items()])
    yield "\n`adequa metrics NAME` shows a metric's settings;"
    yield " use them as `-m NAME:SETTING=VALUE,SETTING=VALUE`.\n"


def _described(name: str) -> Iterator[str]:
    from adequa.cli.output import aligned
    from adequa.metrics.registry import METRICS, metric_class, settings_of

    found = metric_class(name)
    low, high = found.range
    most = found.max_references
    facts = [
        ["direction", "higher is better" if found.higher_is_better else "lower is better"],
        ["range", f"{low:g} to {high:g}" if high < float("inf") else f"{low:g} and up"],
        ["references", "any number" if most is None else str(most)],
    ]
    settings = [[setting, shown_default(value)] for setting, value in settings_of(found).items()]
    yield f"{name}: {METRICS[name].summary}\n\n"
    yield cleandoc(found.__doc__ or "").partition(">>>")[0].strip() + "\n\n"
    yield from aligned(lambda: facts)
    if settings:
        yield "\nSettings and their defaults:\n"
        yield from aligned(lambda: settings)


def shown_default(value: object) -> str:
    """What a setting is where it is not given, for people to read.

    >>> shown_default(4), shown_default(False), shown_default(None), shown_default("")
    ('4', 'false', 'none (automatic)', '–')
    """
    from adequa.metrics.base import written

    return "none (automatic)" if value is None else written(value) or "–"
