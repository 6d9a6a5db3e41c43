"""What the pairwise rankers reach on WMT12, as measured and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from adequa.agreement.results import AVERAGE
from adequa.reproduce.registry import table
from adequa.reproduce.results import read_results

KEPT = Path(__file__).parents[1] / "results"


def average(name: str, system: str) -> float:
    (row,) = (
        row
        for row in read_results(table(name), KEPT).rows
        if (row.system, row.column) == (system, AVERAGE)
    )
    assert row.measured is not None
    return row.measured


@pytest.mark.parametrize(
    ("system", "least"),
    [
        ("pairwise-matched", 29.0),
        ("pairwise-matched-kendall", 29.5),
        ("pairwise-best", 34.0),
    ],
)
def test_what_is_reached(system: str, least: float) -> None:
    assert average("wmt12", system) >= least


def test_components_are_ahead_of_bleu() -> None:
    assert average("wmt12-bleucomp", "pairwise-bleucomp-flat") > average("wmt12-bleucomp", "bleu")


def test_the_same_row_is_the_same_in_every_table() -> None:
    found: dict[str, list[float | None]] = {}
    for name in ("wmt12", "wmt12-bleucomp", "wmt12-vectors", "wmt12-depth", "wmt12-loss"):
        for row in read_results(table(name), KEPT).rows:
            if row.column == AVERAGE and row.system.startswith("pairwise"):
                found.setdefault(row.system, []).append(row.measured)
    shared = {system: figures for system, figures in found.items() if len(figures) > 1}
    assert len(shared) >= 3
    assert all(len(set(figures)) == 1 for figures in shared.values())
