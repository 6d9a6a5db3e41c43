"""Results of a training: what was trained on what, and how well it agrees with people.

The tables of a `TrainingResult` are those that `adequa train` prints and that model cards show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adequa.errors import printable
from adequa.metrics.registry import METRICS
from adequa.tables import Column, Result, Table

if TYPE_CHECKING:
    from adequa.learned.base import LearnedMetric
    from adequa.metrics.base import Metric

OTHER_DATA = "`adequa evaluate` measures on other data"


@dataclass(frozen=True, eq=False, repr=False)
class TrainingResult(Result):
    """A trained metric: tables to read, one table of all figures, and the facts of metric.json.

    `LearnedMetric.training_result` returns one.
    """

    name: str
    kind: str
    readable: tuple[Table, ...]
    figures: Table
    facts: Mapping[str, Any]  # for JSON
    folder: str = ""  # where the metric is saved, if it is
    verb: str = "score -m {} -t FILE -r FILE"  # the command that uses the metric

    def tables(self) -> tuple[Table, ...]:
        """The tables to read; the last has a note on how to use the metric, where it is saved."""
        if not self.folder:
            return self.readable
        *first, last = self.readable
        return (*first, replace(last, notes=(*last.notes, how_to_use(self.folder, self.verb))))

    def long_table(self) -> Table:
        """All figures, exact."""
        return self.figures

    def to_dict(self) -> dict[str, Any]:
        """Name, kind and folder of the metric, and the facts of its training."""
        return {"name": self.name, "kind": self.kind, "folder": self.folder, **self.facts}


def how_to_use(folder: str, verb: str = "score -m {} -t FILE -r FILE") -> str:
    """The last line of every report.

    >>> how_to_use("bleu")  # a bare name would be that metric
    'Saved in bleu; use it with: adequa score -m ./bleu -t FILE -r FILE'
    """
    path = f"./{folder}" if folder in METRICS else folder
    return printable(f"Saved in {folder}; use it with: adequa {verb.format(path)}")


def score_verb(metric: Metric) -> str:
    """The command that scores with a metric, with the options for what it reads."""
    return f"score -m {{}} -t FILE {reads_options(metric, 'FILE')}"


def reads_options(metric: Metric, file: str) -> str:
    """The options of the command line for what is read beside the hypothesis."""
    return " ".join(f"-{part[0]} {file.format(part)}" for part in metric.reads)


def trained_on(name: str, facts: Mapping[str, Any], judgements: str = "ratings") -> str:
    """The title of a report.

    >>> trained_on("mine", {"rows": 1200, "data": "a.tsv"})
    'mine: trained on 1,200 ratings (a.tsv)'
    """
    data = f" ({facts['data']})" if facts["data"] else ""
    return f"{name}: trained on {facts['rows']:,} {judgements}{data}"


def ratings_result(metric: LearnedMetric, folder: str | Path) -> TrainingResult:
    """The result of a training on ratings alone."""
    facts, agreement = metric.training_, metric.agreement_
    figures = agreement_table(agreement)
    notes = (f"{basis(agreement)}.", f"{selection(agreement, facts['chosen'])}; {OTHER_DATA}.")
    return TrainingResult(
        name=metric.name,
        kind=metric.kind,
        readable=(replace(figures, title=trained_on(metric.name, facts), notes=notes),),
        figures=figures,
        facts={"training": dict(facts), "agreement": dict(agreement)},
        folder=str(folder),
        verb=score_verb(metric),
    )


def agreement_table(agreement: Mapping[str, Any]) -> Table:
    """Pearson and Kendall on validation data: in all, and by language pair."""
    columns = (
        Column("language_pair", heading="validation"),
        Column("ratings", "integer"),
        Column("pearson", "number", decimals=3, heading="Pearson"),
        Column("kendall", "number", decimals=3, heading="Kendall"),
    )
    slices = {"all": agreement["all"]} | agreement.get("by_language_pair", {})
    rows = [(pair, f["rows"], f["pearson"], f["kendall"]) for pair, f in slices.items()]
    return Table(columns, rows)


def basis(agreement: Mapping[str, Any]) -> str:
    """What the figures of `agreement_table` were measured on.

    >>> basis({"folds": 10, "mean_over_folds": True})
    'Means over the 10 folds of the cross-validation'
    """
    if agreement.get("mean_over_folds"):
        return f"Means over the {agreement['folds']} folds of the cross-validation"
    if agreement["folds"]:  # saved by versions that did not take the mean
        return f"Over the predictions of all {agreement['folds']} folds of the cross-validation"
    return "On ratings that were left out of the training"


def selection(agreement: Mapping[str, Any], chosen: Mapping[str, Any]) -> str:
    """How settings were chosen on validation data.

    >>> selection({"settings_tried": 32}, {"C": 1.0, "epsilon": 0.4})
    'The best of 32 settings on these ratings: C 1, epsilon 0.4'
    """
    settings = ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value:,}"
        for key, value in chosen.items()
    )
    count, unit = agreement["settings_tried"], agreement.get("tried", "setting")
    best = f"The only {unit}" if count == 1 else f"The best of {count:,} {unit}s on these ratings"
    return f"{best}: {settings}"
