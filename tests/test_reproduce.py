"""Published tables: the frame on a small table, and every kept figure from its kept scores."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from adequa.errors import AdequaError
from adequa.reproduce import registry
from adequa.reproduce.lexical import lexical
from adequa.reproduce.page import page
from adequa.reproduce.registry import TABLES, table
from adequa.reproduce.results import read_results
from adequa.reproduce.run import reproduce
from adequa.reproduce.table import System, Table
from judgements import judgement_rows, needs_judgements
from test_cli import EXAMPLES, adequa

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "results"


def small(*systems: System) -> Table:
    return Table(
        name="small",
        title="A small table",
        paper="Nobody (2000), Table 1",
        dataset=str(EXAMPLES / "ratings.tsv"),
        statistic="pearson",
        systems=systems,
        notes=("A note.",),
    )


CHRF = System("chrf", "chrF", lexical("chrf"), paper={"de-en": 0.5, "average": 0.5})
WER = System("wer", "WER", lexical("wer"))


def refuse(*_: object) -> None:
    raise AssertionError("this system is not to be run")


def test_rows_scores_and_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = small(CHRF, WER)
    results = reproduce(found, tmp_path)
    kept = json.loads((tmp_path / "small.json").read_text())
    assert kept["name"] == "small"
    assert [(row["system"], row["column"]) for row in kept["rows"]] == [
        (system, column) for system in ("chrf", "wer") for column in ("de-en", "average")
    ]
    assert set(kept["rows"][0]) == {"system", "column", "statistic", "paper", "measured", "scores"}
    assert kept["rows"][2]["paper"] is None
    lines = (EXAMPLES / "ratings.tsv").read_text().splitlines()
    human = [float(line.split("\t")[-1]) for line in lines[1:]]
    for row in kept["rows"]:
        with gzip.open(tmp_path / "scores" / "small" / row["scores"], "rt") as file:
            scores = [float(line) for line in file]
        assert row["measured"] == pytest.approx(stats.pearsonr(human, scores)[0], abs=1e-5)
        assert row["measured"] > 0  # higher is better in every file, also of WER
    assert read_results(found, tmp_path) == results
    monkeypatch.setattr("adequa.reproduce.page.TABLES", {"small": ""})
    monkeypatch.setattr("adequa.reproduce.page.table", lambda _: found)
    written = page(tmp_path)
    assert "| chrF | paper | 0.500 | 0.500 |" in written
    assert "A note." in written
    assert "`adequa reproduce small --system wer`" in written


def test_only_what_is_asked_for_is_run_and_the_rest_is_kept(tmp_path: Path) -> None:
    before = reproduce(small(CHRF, WER), tmp_path)
    costly = System("wer", "WER", refuse, cost="gpu")  # type: ignore[arg-type]
    assert reproduce(small(CHRF, costly), tmp_path, quick=True) == before
    cheap = System("chrf", "chrF", refuse)  # type: ignore[arg-type]
    after = reproduce(small(cheap, WER), tmp_path, systems=("wer",))
    assert after == before
    with pytest.raises(AdequaError, match='Did you mean "chrf"'):
        reproduce(small(CHRF), tmp_path, systems=("chfr",))


def test_what_is_finished_is_kept_when_a_later_system_fails(tmp_path: Path) -> None:
    broken = System("broken", "Broken", refuse)  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        reproduce(small(CHRF, broken), tmp_path)
    assert [row.system for row in read_results(small(CHRF, broken), tmp_path).rows] == ["chrf"] * 2


def test_scores_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        reproduce(small(CHRF), tmp_path / folder)
    first, second = (tmp_path / f / "scores" / "small" / "chrf.tsv.gz" for f in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "small"}', '{"name": 1, "rows": [{}]}'])
def test_a_damaged_file_of_results_is_not_written_over(text: str, tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_text(text)
    with pytest.raises(AdequaError, match="is not a file of results"):
        reproduce(small(CHRF), tmp_path)
    assert path.read_text() == text


def test_where_results_cannot_go_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = System("chrf", "chrF", refuse)  # type: ignore[arg-type]
    with pytest.raises(AdequaError, match="cannot be made.*--results"):
        reproduce(small(refused), tmp_path / "file")


def test_unknown_table() -> None:
    with pytest.raises(AdequaError, match='Did you mean "wmt17"'):
        table("wmt71")
    shown = adequa("reproduce", "wmt71")
    assert (shown.returncode, len(shown.stderr.splitlines())) == (2, 1)
    assert [line.split()[0] for line in adequa("reproduce").stdout.splitlines()] == list(TABLES)


# What is kept in the repository.


@pytest.mark.parametrize("name", TABLES)
def test_every_system_of_every_table_is_measured(name: str) -> None:
    found = table(name)
    results = read_results(found, KEPT)
    for system in found.systems:
        rows = {row.column: row for row in results.rows if row.system == system.name}
        if system.scores is None:
            assert system.paper  # which is what it stands there for
            assert not rows
            continue
        assert set(rows) >= {*system.paper, "average"}
        for column, row in rows.items():
            assert row.paper == system.paper.get(column)
            assert row.measured is not None


@pytest.mark.parametrize(
    ("name", "system", "least"),
    [
        ("wmt16", "svr-mpnet-layers", 0.73),
        ("wmt17", "ruse-mpnet-layers", 0.70),
        ("wmt17", "ruse-glove", 0.527 - 0.03),
        ("wmt17", "frozen-pair-mpnet-layers", 0.687),
        ("wmt17", "pair-mpnet-ratings", 0.794),
        ("wmt17", "pair-mpnet-distilled", 0.850),
        ("wmt17", "pair-mpnet-ensemble", 0.855),
        ("wmt12", "pair-mpnet-ensemble", 44.0),
        ("wmt16", "pair-mpnet-preferences-ratings", 0.78),
    ],
)
def test_trained_rows_reach_what_is_claimed(name: str, system: str, least: float) -> None:
    rows = read_results(table(name), KEPT).rows
    (average,) = (r.measured for r in rows if (r.system, r.column) == (system, "average"))
    assert average is not None
    assert average >= least


def test_the_page_is_generated_from_the_kept_results() -> None:
    assert (ROOT / "RESULTS.md").read_text(encoding="utf-8") == page(KEPT)


def kept_scores(name: str, file: str) -> np.ndarray:
    return np.loadtxt(KEPT / "scores" / name / file)


@needs_judgements
@pytest.mark.parametrize("name", ["wmt16", "wmt17"])
def test_kept_correlations_come_from_the_kept_scores(name: str) -> None:
    found = table(name)
    rows = judgement_rows(found.dataset)
    human, lp = np.array([r["score"] for r in rows]), np.array([r["lp"] for r in rows])
    for results in read_results(found, KEPT).rows:
        scores = kept_scores(name, str(results.scores))
        by_pair = {p: stats.pearsonr(human[lp == p], scores[lp == p])[0] for p in set(lp)}
        by_pair["average"] = np.mean(list(by_pair.values()))
        assert results.measured == pytest.approx(by_pair[results.column], abs=1e-5)


@needs_judgements
def test_kept_taus_come_from_the_kept_scores() -> None:
    found = table("wmt12")
    lp = np.array([row["lp"] for row in judgement_rows(found.dataset)])
    for results in read_results(found, KEPT).rows:
        better, worse = kept_scores("wmt12", str(results.scores)).T
        signs = np.where(better > worse, 1, -1)
        by_pair = {pair: 100 * signs[lp == pair].mean() for pair in set(lp)}
        by_pair["average"] = np.mean(list(by_pair.values()))
        assert results.measured == pytest.approx(by_pair[results.column], abs=1e-4)


# How far the baselines may be from the papers' averages: the same metric in another implementation.
CLOSE = {"wmt12": 1.5, "wmt16": 0.01, "wmt17": 0.01}


@pytest.mark.parametrize(
    ("name", "system"),
    [("wmt16", "sentbleu"), ("wmt17", "sentbleu")]
    + [("wmt12", system) for system in ("bleu", "nist", "meteor")],
)
def test_baselines_are_where_the_papers_have_them(name: str, system: str) -> None:
    rows = read_results(table(name), KEPT).rows
    (row,) = (row for row in rows if (row.system, row.column) == (system, "average"))
    assert row.measured == pytest.approx(paper_average(name, system), abs=CLOSE[name])


def paper_average(name: str, system: str) -> float:
    (found,) = (row for row in table(name).systems if row.name == system)
    return found.paper["average"]


@needs_judgements
def test_ter_misses_the_paper_by_its_ties_as_the_page_says() -> None:
    """Where ties count neither for nor against, it is where the paper has it."""
    lp = np.array([row["lp"] for row in judgement_rows("wmt12-rr")])
    better, worse = kept_scores("wmt12", "ter.tsv.gz").T
    ties = np.mean(better == worse)
    neutral = np.mean([100 * np.sign(better - worse)[lp == pair].mean() for pair in set(lp)])
    assert neutral == pytest.approx(paper_average("wmt12", "ter"), abs=CLOSE["wmt12"])
    written = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    assert f"{100 * ties:.1f} percent" in written
    assert f"{neutral:.2f}" in written


def test_registry_is_lazy() -> None:
    assert all(target.startswith("adequa.reproduce.") for target in registry.TABLES.values())
