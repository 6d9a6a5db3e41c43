"""The kept figures of ReVal: each again from its kept scores, and what they reach."""

from __future__ import annotations

import csv
import gzip
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from adequa.reproduce.registry import table
from adequa.reproduce.results import Row, read_results
from judgements import FOLDER, judgement_rows, needs_judgements

KEPT = Path(__file__).parent.parent / "results"
SCORES = KEPT / "scores" / "reval"


def kept(column: str) -> list[Row]:
    rows = [row for row in read_results(table("reval"), KEPT).rows if row.column == column]
    assert rows
    return rows


def measured(system: str, column: str) -> float:
    (found,) = (row.measured for row in kept(column) if row.system == system)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("system", "column", "least"),
    [
        ("tree-lstm", "sick", 0.86),
        ("tree-lstm-minilm", "average", 0.53),
        ("tree-lstm", "system", 0.90),
    ],
)
def test_what_is_reached(system: str, column: str, least: float) -> None:
    assert measured(system, column) >= least


def test_trees_are_ahead_of_chains() -> None:
    assert measured("tree-lstm", "sick") > measured("lstm", "sick")


@needs_judgements
def test_kept_correlations_on_sick() -> None:
    rows = judgement_rows("sick")
    tested = np.array([row["split"] == "test" for row in rows])
    human = np.array([row["score"] for row in rows])
    assert tested.sum() == 4_927
    for row in kept("sick"):
        scores = np.loadtxt(SCORES / str(row.scores))
        expected = stats.pearsonr(human[tested], scores[tested])[0]
        assert row.measured == pytest.approx(expected, abs=1e-5)


@needs_judgements
def test_kept_correlations_on_wmt16() -> None:
    rows = judgement_rows("wmt16-da")
    human, lp = np.array([r["score"] for r in rows]), np.array([r["lp"] for r in rows])
    for row in kept("average"):
        scores = np.loadtxt(SCORES / str(row.scores))
        by_pair = [stats.pearsonr(human[lp == p], scores[lp == p])[0] for p in sorted(set(lp))]
        assert row.measured == pytest.approx(np.mean(by_pair), abs=1e-5)


@needs_judgements
def test_kept_taus_on_wmt15() -> None:
    lp = np.array([row["lp"] for row in judgement_rows("wmt15-rr")])
    for row in kept("wmt15"):
        better, worse = np.loadtxt(SCORES / str(row.scores)).T
        # WMT14's variant: metric ties count neither for nor against, but in the denominator.
        by_pair = [np.sign(better - worse)[lp == pair].mean() for pair in sorted(set(lp))]
        assert row.measured == pytest.approx(np.mean(by_pair), abs=1e-5)


def human_scores() -> dict[tuple[str, str], float]:
    with tarfile.open(Path(str(FOLDER), "wmt17-systems.tar.xz")) as archive:
        named = next(name for name in archive.getnames() if name.endswith("human.tsv"))
        told = archive.extractfile(named)
        assert told is not None
        return by_system(io.TextIOWrapper(told, encoding="utf-8"))


def by_system(lines: Iterable[str]) -> dict[tuple[str, str], float]:
    rows = csv.DictReader(lines, delimiter="\t")
    return {(row["lp"], row["system"]): float(row["score"]) for row in rows}


@needs_judgements
def test_kept_correlations_of_systems() -> None:
    human = human_scores()
    for row in kept("system"):
        with gzip.open(SCORES / str(row.scores), "rt", encoding="utf-8") as file:
            scores = by_system(file)
        by_pair = []
        for pair in sorted({pair for pair, _ in scores}):
            keys = [key for key in scores if key[0] == pair]
            both = ([human[key] for key in keys], [scores[key] for key in keys])
            by_pair.append(stats.pearsonr(*both)[0])
        assert row.measured == pytest.approx(np.mean(by_pair), abs=1e-5)
