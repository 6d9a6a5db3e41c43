"""The stored figures of ReVal: each again from its stored scores, and what they reach."""

from __future__ import annotations

import csv
import gzip
import io
import tarfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from adequa.reproduce.gupta import EXTRA, REVAL, both_settings
from adequa.reproduce.paper_table import PaperFigure, PaperResults
from judgements import FOLDER, judgement_rows, needs_judgements

STORED = Path(__file__).parent.parent / "results"
SCORES = STORED / "scores" / "reval"


def stored() -> PaperResults:
    return PaperResults.read(REVAL, STORED)


def figures_of(column: str) -> list[PaperFigure]:
    figures = [figure for figure in stored().figures if figure.column == column]
    assert figures
    return figures


def measured(system: str, column: str) -> float:
    figure = stored().figure(system, column)
    assert figure is not None
    assert figure.measured is not None
    return figure.measured


@pytest.mark.parametrize(
    ("system", "column", "least"),
    [
        ("tree-lstm", "sick", 0.86),
        ("tree-lstm", "average", 0.53),
        ("tree-lstm", "system", 0.90),
    ],
)
def test_what_is_reached(system: str, column: str, least: float) -> None:
    assert measured(system, column) >= least


@pytest.mark.parametrize("vectors", ["", "-glove"])
@pytest.mark.parametrize("column", ["sick", "average"])
def test_trees_are_ahead_of_chains(column: str, vectors: str) -> None:
    assert measured(f"tree-lstm{vectors}", column) > measured(f"lstm{vectors}", column)


@pytest.mark.parametrize("system", ["tree-lstm", "lstm", "tree-lstm-glove", "bleu", "ter", "wer"])
def test_systems_are_measured_with_intervals(system: str) -> None:
    columns = [column for each in EXTRA if each.name != "sick" for column in each.columns]
    assert len(columns) == 7
    for column in columns:
        row = stored().figure(system, column)
        assert row is not None
        assert row.measured is not None
        assert row.interval is not None
        assert row.interval[0] < row.measured < row.interval[1]


def test_what_is_declared_was_measured() -> None:
    extra = {each.name: each for each in EXTRA}
    for row in REVAL.rows:
        declared = {column for name in row.extra for column in extra[name].columns}
        columns = {figure.column for figure in stored().figures if figure.system == row.name}
        assert declared == {column for each in EXTRA for column in each.columns} & columns
        assert declared


def test_settings_have_a_line_for_each_metric_of_a_row() -> None:
    systems = stored().measurements
    both, alone = systems["tree-lstm"].settings.splitlines()
    assert both.startswith("preferences and SICK: tree-lstm|parser:en_core_web_md-3.8.0|vectors:")
    assert "|vectors:minilm.6|structure:dependency|" in both
    assert "|comparisons:9|settings:modern|seed:0; epoch 2 of 4, 0.625 on wmt15-da" in both
    assert alone.startswith("SICK alone: tree-lstm|")
    assert "comparisons" not in alone
    assert alone.endswith("|settings:paper|seed:0; epoch 5 of 10, 0.881 on sick")
    both, alone = systems["tree-lstm-glove"].settings.splitlines()
    assert "|vectors:glove.840B.300d_filtered.txt+glove.6B.50d.txt|" in both
    assert "|vectors:glove.840B.300d_filtered.txt|" in alone


@pytest.mark.parametrize("vectors", ["", "-glove"])
def test_trees_and_chains_differ_in_nothing_else(vectors: str) -> None:
    systems = stored().measurements
    tree, chain = (systems[f"{name}{vectors}"].settings for name in ("tree-lstm", "lstm"))
    plain = tree.replace("tree-lstm", "lstm").replace("dependency", "chain")
    settings = [line.partition(";")[0] for line in plain.splitlines()]
    assert settings == [line.partition(";")[0] for line in chain.splitlines()]


def test_settings_of_both_metrics() -> None:
    class Metric(SimpleNamespace):
        def signature_fields(self) -> tuple[tuple[str, str], ...]:
            return (("vectors", self.vectors), ("weights", "0123"), ("version", "1"))

    metric = partial(Metric, name="tree-lstm", formula="share", fewest=9, seed=0)
    both, alone = (
        metric(
            vectors=vectors,
            preset=preset,
            training_={"chosen": {"epoch": 2}, "history": [{}] * 4, "development": data},
            agreement_={"criterion_pearson": 0.5387},
        )
        for vectors, preset, data in (("a+b", "modern", "wmt15-da"), ("a", "paper", "sick"))
    )
    assert both_settings(both, alone).splitlines() == [  # type: ignore[arg-type]
        "preferences and SICK: tree-lstm|vectors:a+b|formula:share|comparisons:9|settings:modern|"
        "seed:0; epoch 2 of 4, 0.539 on wmt15-da",
        "SICK alone: tree-lstm|vectors:a|settings:paper|seed:0; epoch 2 of 4, 0.539 on sick",
    ]


@needs_judgements
def test_stored_correlations_on_sick() -> None:
    rows = judgement_rows("sick")
    tested = np.array([row["split"] == "test" for row in rows])
    human = np.array([row["score"] for row in rows])
    assert tested.sum() == 4_927
    for row in figures_of("sick"):
        scores = np.loadtxt(SCORES / str(row.scores))
        expected = stats.pearsonr(human[tested], scores[tested])[0]
        assert row.measured == pytest.approx(expected, abs=1e-5)


@needs_judgements
def test_stored_correlations_on_wmt16() -> None:
    rows = judgement_rows("wmt16-da")
    human, lp = np.array([r["score"] for r in rows]), np.array([r["lp"] for r in rows])
    for row in figures_of("average"):
        scores = np.loadtxt(SCORES / str(row.scores))
        by_pair = [stats.pearsonr(human[lp == p], scores[lp == p])[0] for p in sorted(set(lp))]
        assert row.measured == pytest.approx(np.mean(by_pair), abs=1e-5)


@needs_judgements
def test_stored_taus_on_wmt15() -> None:
    lp = np.array([row["lp"] for row in judgement_rows("wmt15-rr")])
    for row in figures_of("wmt15"):
        better, worse = np.loadtxt(SCORES / str(row.scores)).T
        # WMT14's variant: metric ties count neither for nor against, but in the denominator.
        by_pair = [np.sign(better - worse)[lp == pair].mean() for pair in sorted(set(lp))]
        assert row.measured == pytest.approx(np.mean(by_pair), abs=1e-5)


def human_scores() -> dict[tuple[str, str], float]:
    with tarfile.open(Path(str(FOLDER), "wmt17-systems.tar.xz")) as archive:
        member = next(name for name in archive.getnames() if name.endswith("human.tsv"))
        human = archive.extractfile(member)
        assert human is not None
        return by_system(io.TextIOWrapper(human, encoding="utf-8"))


def by_system(lines: Iterable[str]) -> dict[tuple[str, str], float]:
    rows = csv.DictReader(lines, delimiter="\t")
    return {(row["lp"], row["system"]): float(row["score"]) for row in rows}


@needs_judgements
def test_stored_correlations_of_systems() -> None:
    human = human_scores()
    for row in figures_of("system"):
        with gzip.open(SCORES / str(row.scores), "rt", encoding="utf-8") as file:
            scores = by_system(file)
        by_pair = []
        for pair in sorted({pair for pair, _ in scores}):
            keys = [key for key in scores if key[0] == pair]
            both = ([human[key] for key in keys], [scores[key] for key in keys])
            by_pair.append(stats.pearsonr(*both)[0])
        assert row.measured == pytest.approx(np.mean(by_pair), abs=1e-5)
