"""Published tables: the frame on a small table, and every stored figure from its stored scores."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from adequa.errors import AdequaError
from adequa.reproduce.measure import reproduce
from adequa.reproduce.paper_table import (
    TABLES,
    PaperResults,
    PaperRow,
    PaperTable,
    load_table,
    side_by_side,
)
from adequa.reproduce.results_page import SECTIONS, PageSection, draw, page, panels, plot_path
from adequa.reproduce.scorers import segment_scorer
from adequa.tables import Format
from judgements import judgement_rows, needs_judgements
from test_cli import EXAMPLES, adequa

ROOT = Path(__file__).parent.parent
STORED = ROOT / "results"


def small(*rows: PaperRow) -> PaperTable:
    return PaperTable(
        name="small",
        title="A small table",
        paper="Nobody (2000)",
        number="Table 1",
        dataset=str(EXAMPLES / "ratings.tsv"),
        statistic="pearson",
        rows=rows,
    )


CHRF = PaperRow("chrf", "chrF", segment_scorer("chrf"), paper={"de-en": 0.5, "average": 0.5})
WER = PaperRow("wer", "WER", segment_scorer("wer"))


def refuse(*_: object) -> None:
    raise AssertionError("this system is not to be run")


def test_rows_scores_and_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small(CHRF, WER)
    results = reproduce(table, tmp_path)
    stored = json.loads((tmp_path / "small.json").read_text())
    assert stored["name"] == "small"
    assert [(row["system"], row["column"]) for row in stored["rows"]] == [
        (system, column) for system in ("chrf", "wer") for column in ("de-en", "average")
    ]
    keys = ["system", "column", "statistic", "paper", "measured", "scores", "interval"]
    assert list(stored["rows"][0]) == keys
    assert stored["rows"][2]["paper"] is None
    lines = (EXAMPLES / "ratings.tsv").read_text().splitlines()
    human = [float(line.split("\t")[-1]) for line in lines[1:]]
    for row in stored["rows"]:
        with gzip.open(tmp_path / "scores" / "small" / row["scores"], "rt") as file:
            scores = [float(line) for line in file]
        assert row["measured"] == pytest.approx(stats.pearsonr(human, scores)[0], abs=1e-5)
        assert row["measured"] > 0  # higher is better in every file, also of WER
        low, high = row["interval"]
        assert low < row["measured"] < high
    assert PaperResults.read(table, tmp_path) == results
    assert json.loads("".join(results.lines(Format.json))) == stored
    monkeypatch.setattr("adequa.reproduce.results_page.load_table", lambda _: table)
    (tmp_path / "someone.md").write_text("Some prose.\n")
    written = page(tmp_path, [PageSection("someone", "Someone's table", ("small",))])
    measured = f"{stored['rows'][1]['measured']:.3f}"
    assert f"| chrF | 0.500 | {measured} |" in written
    assert "## Someone's table\n\nNobody (2000).\n" in written
    assert "\n\nSome prose.\n\n| row |" in written
    assert "`adequa reproduce small`" in written


def test_formats_of_a_measured_table(tmp_path: Path) -> None:
    results = reproduce(small(CHRF, WER), tmp_path)
    text = results.to_text().splitlines()
    assert text[0] == "A small table (Nobody (2000), Table 1)"
    assert text[2].split()[:4] == ["row", "paper", "ours", "difference"]
    assert [line.split()[0] for line in text[3:]] == ["chrF", "WER"]
    rows = results.long_table().to_tsv().splitlines()
    assert rows[0].split("\t") == [
        "system", "column", "statistic", "paper", "measured", "low", "high", "scores",
    ]  # fmt: skip
    assert len(rows) == 1 + len(results.figures)


def test_only_selected_rows_are_run_and_other_rows_stay(tmp_path: Path) -> None:
    before = reproduce(small(CHRF, WER), tmp_path)
    costly = PaperRow("wer", "WER", refuse, cost="gpu")  # type: ignore[arg-type]
    assert reproduce(small(CHRF, costly), tmp_path, quick=True) == before
    cheap = PaperRow("chrf", "chrF", refuse)  # type: ignore[arg-type]
    after = reproduce(small(cheap, WER), tmp_path, rows=("wer",))
    assert after == before
    with pytest.raises(AdequaError, match='Did you mean "chrf"'):
        reproduce(small(CHRF), tmp_path, rows=("chfr",))


def test_finished_rows_are_stored_when_a_later_row_fails(tmp_path: Path) -> None:
    broken = PaperRow("broken", "Broken", refuse)  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        reproduce(small(CHRF, broken), tmp_path)
    stored = PaperResults.read(small(CHRF, broken), tmp_path)
    assert [figure.system for figure in stored.figures] == ["chrf"] * 2


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


def test_where_results_cannot_go_is_reported_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = PaperRow("chrf", "chrF", refuse)  # type: ignore[arg-type]
    with pytest.raises(AdequaError, match="cannot be made.*--results"):
        reproduce(small(refused), tmp_path / "file")


def test_unknown_table() -> None:
    with pytest.raises(AdequaError, match='Did you mean "wmt17"'):
        load_table("wmt71")
    shown = adequa("reproduce", "wmt71")
    assert (shown.returncode, len(shown.stderr.splitlines())) == (2, 1)
    _, *lines = adequa("reproduce").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(TABLES)


# The results in the repository.


@pytest.mark.parametrize("name", TABLES)
def test_every_system_of_every_table_is_measured(name: str) -> None:
    table = load_table(name)
    results = PaperResults.read(table, STORED)
    for row in table.rows:
        figures = {f.column: f for f in results.figures if f.system == row.name}
        if row.scorer is None:
            assert row.paper  # the only reason to show it
            assert not figures
            continue
        assert set(figures) >= {*row.paper, "average"}
        for column, figure in figures.items():
            assert figure.paper == row.paper.get(column)
            assert figure.measured is not None
            assert figure.interval is not None
            low, high = figure.interval
            assert low <= figure.measured <= high


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
    assert average(name, system) >= least


def average(name: str, system: str) -> float:
    figure = PaperResults.read(load_table(name), STORED).figure(system, "average")
    assert figure is not None
    assert figure.measured is not None
    return figure.measured


def test_the_page_is_generated_from_the_stored_results() -> None:
    assert (ROOT / "RESULTS.md").read_text(encoding="utf-8") == page(STORED)


def test_details_of_merged_tables_end_with_all_rows() -> None:
    (section,) = (each for each in SECTIONS if each.merged)
    details = (STORED / "details" / f"{section.name}.md").read_text(encoding="utf-8")
    assert details.endswith(side_by_side(section.read(STORED)).without_notes().to_markdown())


def test_plots_are_drawn_from_the_stored_results(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    section = SECTIONS[0]
    (panel,) = one_panel = panels(section, section.read(STORED))
    by_label = {row.label: row for row in panel.rows}
    sentbleu, skip_thought = by_label["SentBLEU"], by_label["SVR + Skip-Thought"]
    assert sentbleu.paper == 0.504
    assert sentbleu.ours == pytest.approx(0.503, abs=5e-4)
    assert sentbleu.interval is not None
    assert (skip_thought.paper, skip_thought.ours, skip_thought.interval) == (0.622, None, None)
    for name in ("a.svg", "b.svg"):
        draw(one_panel, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "WMT16 segments" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_the_command_draws_plots_and_writes_the_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    shutil.copy(STORED / "wmt16.json", tmp_path)
    shown = adequa("reproduce", "--plots", "--results", tmp_path)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "")
    written = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "](plots/shimanaka-2018.svg)" in written
    assert [path.name for path in (tmp_path / "plots").iterdir()] == ["shimanaka-2018.svg"]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_every_section_has_prose_details_and_a_plot(section: PageSection) -> None:
    assert (STORED / f"{section.name}.md").is_file()
    assert (STORED / "details" / f"{section.name}.md").is_file()
    plot = plot_path(section, STORED)
    assert plot.stat().st_size < 60_000
    content = plot.read_text(encoding="utf-8")
    for panel in panels(section, section.read(STORED)):
        assert len(panel.rows) <= 25
        assert all(row.label in content for row in panel.rows)


def stored_scores(name: str, file: str) -> np.ndarray:
    return np.loadtxt(STORED / "scores" / name / file)


@needs_judgements
@pytest.mark.parametrize("name", ["wmt16", "wmt17"])
def test_stored_correlations_come_from_the_stored_scores(name: str) -> None:
    table = load_table(name)
    rows = judgement_rows(table.dataset)
    human, lp = np.array([r["score"] for r in rows]), np.array([r["lp"] for r in rows])
    for figure in PaperResults.read(table, STORED).figures:
        scores = stored_scores(name, str(figure.scores))
        by_pair = {p: stats.pearsonr(human[lp == p], scores[lp == p])[0] for p in set(lp)}
        by_pair["average"] = np.mean(list(by_pair.values()))
        assert figure.measured == pytest.approx(by_pair[figure.column], abs=1e-5)


@needs_judgements
def test_stored_taus_come_from_the_stored_scores() -> None:
    table = load_table("wmt12")
    lp = np.array([row["lp"] for row in judgement_rows(table.dataset)])
    for figure in PaperResults.read(table, STORED).figures:
        better, worse = stored_scores("wmt12", str(figure.scores)).T
        signs = np.where(better > worse, 1, -1)
        by_pair = {pair: 100 * signs[lp == pair].mean() for pair in set(lp)}
        by_pair["average"] = np.mean(list(by_pair.values()))
        assert figure.measured == pytest.approx(by_pair[figure.column], abs=1e-4)


# How far the baselines may be from the papers' averages: the same metric in another implementation.
CLOSE = {"wmt12": 1.5, "wmt16": 0.01, "wmt17": 0.01}


@pytest.mark.parametrize(
    ("name", "system"),
    [("wmt16", "sentbleu"), ("wmt17", "sentbleu")]
    + [("wmt12", system) for system in ("bleu", "nist", "meteor")],
)
def test_baselines_are_where_the_papers_have_them(name: str, system: str) -> None:
    expected = pytest.approx(paper_average(name, system), abs=CLOSE[name])
    assert average(name, system) == expected


def paper_average(name: str, system: str) -> float:
    (row,) = (row for row in load_table(name).rows if row.name == system)
    return row.paper["average"]


@needs_judgements
def test_ter_misses_the_paper_by_its_ties_as_the_page_says() -> None:
    """Where ties count neither for nor against, it is where the paper has it."""
    lp = np.array([row["lp"] for row in judgement_rows("wmt12-rr")])
    better, worse = stored_scores("wmt12", "ter.tsv.gz").T
    ties = np.mean(better == worse)
    neutral = np.mean([100 * np.sign(better - worse)[lp == pair].mean() for pair in set(lp)])
    assert neutral == pytest.approx(paper_average("wmt12", "ter"), abs=CLOSE["wmt12"])
    written = " ".join((STORED / "details" / "guzman-2015.md").read_text(encoding="utf-8").split())
    assert f"{100 * ties:.1f} percent" in written
    assert f"{neutral:.2f}" in written


@pytest.mark.parametrize(
    ("system", "least"),
    [("pairwise-matched", 29.0), ("pairwise-matched-kendall", 29.5), ("pairwise-best", 34.0)],
)
def test_pairwise_rankers_reach_what_is_claimed(system: str, least: float) -> None:
    assert average("wmt12", system) >= least


def test_components_are_ahead_of_bleu() -> None:
    assert average("wmt12-bleucomp", "pairwise-bleucomp-flat") > average("wmt12-bleucomp", "bleu")


def test_the_same_row_is_the_same_in_every_table() -> None:
    measured: dict[str, set[float | None]] = {}
    shared = set()
    for name in ("wmt12", "wmt12-bleucomp", "wmt12-vectors", "wmt12-depth", "wmt12-loss"):
        for figure in PaperResults.read(load_table(name), STORED).figures:
            if figure.column == "average" and figure.system.startswith("pairwise"):
                shared |= {figure.system} & set(measured)
                measured.setdefault(figure.system, set()).add(figure.measured)
    assert len(shared) >= 3
    assert all(len(measured[system]) == 1 for system in shared)
