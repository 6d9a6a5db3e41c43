"""A published table and the systems in it: what the paper reports, and how we get the scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from adequa.agreement.sources import Progress
from adequa.judgements import Preferences, Ratings
from adequa.segments import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A system's scores, higher is better: one a row of the dataset, or better and worse."""

    scores: FloatArray  # (rows,) or (rows, 2)
    settings: str  # the signature, or what else lets someone get the same scores


@dataclass(frozen=True, slots=True)
class System:
    """One row of a table."""

    name: str
    label: str  # as the paper names it
    # None where what the paper used cannot be had: its figures stand there for comparison.
    scores: Callable[[Ratings | Preferences, Progress], Scored] | None
    paper: Mapping[str, float] = field(default_factory=dict)  # by column, `average` included
    # What it takes: only `minutes` is run by --quick; the others keep their last figures.
    cost: Literal["minutes", "hours", "gpu"] = "minutes"


@dataclass(frozen=True, slots=True)
class Table:
    """One published table, measured on one dataset with one statistic."""

    name: str
    title: str
    paper: str  # authors, year, title, and the number of the table
    dataset: str
    statistic: str
    systems: tuple[System, ...]
    scale: float = 1.0  # papers print taus times 100
    decimals: int = 3
    notes: tuple[str, ...] = ()  # paragraphs for RESULTS.md
