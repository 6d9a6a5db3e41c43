"""A table and the systems in it: what a paper reports, and how we get the scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from adequa.agreement.protocol import Level
from adequa.agreement.results import AVERAGE, Agreement
from adequa.agreement.selection import Selection
from adequa.judgements import Ids, Judgements
from adequa.progress import Progress
from adequa.segments import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A system's scores, higher is better: one a row of the dataset, or better and worse.

    Scores that are not in the dataset's order of rows say by `ids` what each of them is of.
    """

    scores: FloatArray  # (rows,) or (rows, 2)
    settings: str  # the signature, or what else lets someone get the same scores
    ids: Ids = field(default_factory=dict)


# How a system scores the judgements of a table; raises where they are not of the kind it knows.
Scores: TypeAlias = Callable[[Judgements, Progress], Scored]


def average(found: Agreement) -> float:
    """The plain mean of the language pairs' figures."""
    return float(np.mean([column.values[0] for column in found.columns]))


@dataclass(frozen=True, slots=True)
class Further:
    """Columns of a table that are measured on other judgements than the table's own.

    A figure is the mean over language pairs, where there are several, and has an interval.
    """

    name: str  # which the files of scores have behind that of the system
    dataset: str
    columns: Mapping[str, str]  # the statistic of each
    level: Level = "segment"
    split: str = ""  # where only one part of the data is measured on
    scale: float = 1.0

    @property
    def selection(self) -> Selection:
        """The part of the data that is measured on."""
        return Selection(split=(self.split,) if self.split else ())


@dataclass(frozen=True, slots=True)
class System:
    """One row of a table."""

    name: str
    label: str  # as the paper names it, where there is one
    # None where what the paper used cannot be had: its figures stand there for comparison.
    scores: Scores | None
    paper: Mapping[str, float] = field(default_factory=dict)  # by column, `average` included
    # What it takes: only `minutes` is run by --quick; the others keep their last figures.
    cost: Literal["minutes", "hours", "gpu"] = "minutes"
    note: str = ""  # a sentence that RESULTS.md shows once the system is measured
    # How it scores the data of further columns, by the name of these data.
    further: Mapping[str, Scores] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """One table, measured on one dataset with one statistic."""

    name: str
    title: str
    paper: str  # authors, year, title, and the number of the table; or that no paper has it
    dataset: str
    statistic: str
    systems: tuple[System, ...]
    scale: float = 1.0  # papers print taus times 100
    decimals: int = 3
    notes: tuple[str, ...] = ()  # paragraphs for RESULTS.md
    # Columns behind those of the language pairs, from the agreement of one system.
    summaries: Mapping[str, Callable[[Agreement], float]] = field(
        default_factory=lambda: {AVERAGE: average}
    )
    further: tuple[Further, ...] = ()  # columns behind all others
