"""`adequa metrics`: the metrics by name, and the settings of each."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from math import isinf
from typing import Annotated

import typer

from adequa.cli.options import complete_metric
from adequa.tables import Column, Table, text_lines


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Show the settings of this metric.",
            autocompletion=complete_metric,
        ),
    ] = None,
) -> None:
    """List the metrics, or the settings of one."""
    typer.echo("".join(_list() if name is None else _describe(name)), nl=False)


def _list() -> Iterator[str]:
    from adequa.metrics.registry import METRICS

    rows = [(name, entry.summary) for name, entry in METRICS.items()]
    yield from text_lines(Table((Column("metric"), Column("what it measures")), rows))
    yield "\n`adequa metrics NAME` shows the settings of a metric;"
    yield " use them as `-m NAME:SETTING=VALUE,SETTING=VALUE`.\n"


def _describe(name: str) -> Iterator[str]:
    from adequa.metrics.registry import METRICS, allowed_values, metric_class, settings_of

    metric = metric_class(name)
    low, high = metric.range
    yield f"{metric.name}: {METRICS[metric.name].summary}\n\n"
    yield cleandoc(metric.__doc__ or "").partition(">>>")[0].strip() + "\n\n"
    yield f"direction   {'higher' if metric.higher_is_better else 'lower'} is better\n"
    yield f"range       {low:g} {'and up' if isinf(high) else f'to {high:g}'}\n"
    yield f"references  {metric.max_references or 'any number'}\n"
    settings = [
        (setting, shown_default(default), allowed_values(metric, setting))
        for setting, default in settings_of(metric).items()
    ]
    if settings:
        yield "\n"
        columns = Column("setting"), Column("default"), Column("values")
        yield from text_lines(Table(columns, settings))


def shown_default(value: object) -> str:
    """The default of a setting for readers.

    >>> shown_default(4), shown_default(False), shown_default(None), shown_default("")
    ('4', 'false', 'none', '–')
    """
    from adequa.metrics.base import format_setting

    return "none" if value is None else format_setting(value) or "–"
