"""`adequa metrics`: the metrics by name or folder, and the settings of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import cleandoc
from math import isinf
from pathlib import Path
from typing import Annotated, Any

import typer

from adequa.cli.options import Output, complete_metric
from adequa.cli.output import FormatOption, chosen_format, write_result
from adequa.tables import Column, Format, Result, Table


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FOLDER",
            help="Show the settings of this metric, or what a folder of a trained metric holds.",
            autocompletion=complete_metric,
        ),
    ] = None,
    format_: FormatOption = None,
    output: Output = None,
) -> None:
    """List the metrics, or the settings of one."""
    from adequa.metrics.base import reads_in_words
    from adequa.metrics.registry import METRICS

    chosen = chosen_format(format_, output)
    result: Result
    if name is None:
        hint = "`adequa metrics NAME` shows the settings of a metric; use them as"
        result = Listing(
            "metric",
            "what it measures",
            {each: entry.summary for each, entry in METRICS.items()},
            f"{hint} `-m NAME:SETTING=VALUE,SETTING=VALUE`.",
            {each: reads_in_words(entry.reads) for each, entry in METRICS.items()},
        )
    elif name.strip().lower() not in METRICS and _is_saved(name):
        result = _saved(name)
    else:
        result = _named(name)
    write_result(result, chosen, output)


def _is_saved(name: str) -> bool:
    from adequa.metrics.saved import is_saved

    return is_saved(name)


def _named(name: str) -> SettingsDescription:
    """The description of a metric that has a name."""
    from adequa.metrics.base import reads_in_words
    from adequa.metrics.registry import METRICS, allowed_values, metric_class, settings_of

    metric = metric_class(name)
    low, high = metric.range
    count = {"references": str(metric.max_references or "any number")}
    return SettingsDescription(
        metric.name,
        METRICS[metric.name].summary,
        cleandoc(metric.__doc__ or "").partition(">>>")[0].strip(),
        {
            "direction": f"{'higher' if metric.higher_is_better else 'lower'} is better",
            "range": f"{low:g} {'and up' if isinf(high) else f'to {high:g}'}",
            "reads": reads_in_words(metric.reads),
            **(count if "reference" in metric.reads else {}),
        },
        tuple(
            (setting, shown_default(default), allowed_values(metric, setting))
            for setting, default in settings_of(metric).items()
        ),
    )


def _saved(folder: str) -> SettingsDescription:
    """The description of a trained metric in a folder."""
    from adequa.metrics.base import reads_in_words
    from adequa.metrics.registry import load_metric
    from adequa.metrics.saved import read_description

    description = read_description(Path(folder))
    metric = load_metric(folder)
    facts = {
        "kind": description.kind,
        "signature": str(metric.signature(1)),
        "reads": reads_in_words(metric.reads),
        "trained on": str(description.training.get("data") or "see its README.md"),
    }
    return SettingsDescription(
        description.name,
        f"a trained metric in {folder}",
        "",
        facts,
        tuple((key, _shown_setting(value), "") for key, value in description.settings.items()),
    )


def _shown_setting(value: object) -> str:
    """A setting in metric.json, which may be a list or an object, for readers."""
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False) if value else "–"
    return shown_default(value)


@dataclass(frozen=True, eq=False, repr=False)
class Listing(Result):
    """Names and their summaries."""

    key: str
    heading: str
    summaries: Mapping[str, str]
    hint: str
    reads: Mapping[str, str] | None = None  # of metrics: what each reads beside the hypothesis

    def long_table(self) -> Table:
        """A row for each name."""
        name, summary = Column(self.key), Column("summary", heading=self.heading)
        if self.reads is None:
            return Table((name, summary), list(self.summaries.items()))
        rows = [(each, self.reads[each], text) for each, text in self.summaries.items()]
        return Table((name, Column("reads"), summary), rows)

    def tables(self) -> tuple[Table, ...]:
        table = self.long_table()
        return (Table(table.columns, table.rows, notes=(self.hint,)),)

    def to_dict(self) -> dict[str, Any]:
        return {
            f"{self.key}s": [
                {
                    "name": name,
                    **({} if self.reads is None else {"reads": self.reads[name]}),
                    "summary": summary,
                }
                for name, summary in self.summaries.items()
            ]
        }


@dataclass(frozen=True, eq=False, repr=False)
class SettingsDescription(Result):
    """What a metric or an encoder is, and its settings with defaults and allowed values."""

    name: str
    summary: str
    text: str
    facts: Mapping[str, str]
    settings: tuple[tuple[str, str, str], ...]

    def long_table(self) -> Table:
        """A row for each setting."""
        has_values = any(values for _, _, values in self.settings)
        default = Column("default", heading="default" if has_values else "value")
        if not has_values:
            return Table((Column("setting"), default), [row[:2] for row in self.settings])
        return Table((Column("setting"), default, Column("values")), self.settings)

    def tables(self) -> tuple[Table, ...]:
        facts = tuple(f"{name}: {value}" for name, value in self.facts.items())
        table = self.long_table()
        return (Table(table.columns, table.rows, f"{self.name}: {self.summary}", facts),)

    def to_dict(self) -> dict[str, Any]:
        columns = self.long_table().columns
        return {
            "name": self.name,
            "summary": self.summary,
            **{name.replace(" ", "_"): value for name, value in self.facts.items()},
            "settings": [
                {column.name: cell for column, cell in zip(columns, row, strict=False)}
                for row in self.settings
            ],
        }

    def lines(self, format_: Format) -> Iterator[str]:
        """The description in a format; text has more of it than a table."""
        if format_ is not Format.text:
            yield from super().lines(format_)
            return
        yield f"{self.name}: {self.summary}\n"
        if self.text:
            yield f"\n{self.text}\n"
        width = max(map(len, self.facts), default=0)
        for index, (name, value) in enumerate(self.facts.items()):
            yield f"{'' if index else chr(10)}{name:{width}}  {value}\n"
        if self.settings:
            yield f"\n{self.long_table().to_text()}"


def shown_default(value: object) -> str:
    """The default of a setting for readers.

    >>> shown_default(4), shown_default(False), shown_default(None), shown_default("")
    ('4', 'false', 'none', '–')
    """
    from adequa.metrics.base import format_setting

    return "none" if value is None else format_setting(value) or "–"
