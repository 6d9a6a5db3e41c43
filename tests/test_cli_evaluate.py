"""`adequa evaluate` as its users find it: tables, files, plots and sentences."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from test_cli import EXAMPLES, adequa

RATINGS = EXAMPLES / "ratings.tsv"
QUICK = ("--resamples", "100")


def evaluated(*more: str | Path, dataset: str | Path = RATINGS) -> subprocess.CompletedProcess[str]:
    return adequa("evaluate", dataset, *QUICK, *more)


def test_text_table() -> None:
    shown = evaluated("-m", "ter", "-m", "bleu", "-m", "chrf")
    assert (shown.returncode, shown.stderr) == (0, "")
    title, _, header, *rows = shown.stdout.splitlines()[:6]
    assert title == "ratings.tsv: pearson, 108 judgements"
    assert header.split() == ["rank", "metric", "de-en", "95%", "interval"]
    assert [row.split()[1] for row in rows] == ["chrf", "bleu", "ter"]  # from best to worst
    values = [float(row.split()[2].strip("*")) for row in rows]
    assert values == sorted(values, reverse=True)
    assert "*" in rows[0]
    assert "PERM-BOTH, 238 swaps, Holm's correction, p ≤ 0.05" in shown.stdout
    assert "bootstrap over segments, 100 resamples" in shown.stdout


def test_json_has_every_figure_and_no_nan() -> None:
    shown = evaluated("-m", "chrf", "-m", "wer", "--format", "json")
    found = json.loads(shown.stdout, parse_constant=pytest.fail)
    assert found["protocol"]["statistic"] == "pearson"
    (column,) = found["columns"]
    first = column["figures"][0]
    assert first["low"] < first["value"] < first["high"]
    assert column["p_values"][0][0] is None
    assert 0 < column["p_values"][0][1] <= 1


def test_tsv_has_a_row_a_metric_and_pair() -> None:
    shown = evaluated("-m", "chrf", "-m", "wer", "--format", "tsv")
    header, *rows = (line.split("\t") for line in shown.stdout.splitlines())
    assert header == ["metric", "lp", "items", "value", "low", "high", "rank", "threshold"]
    assert {row[0] for row in rows} == {"chrf", "wer"}
    assert all(row[1:3] == ["de-en", "108"] for row in rows)


def test_markdown_and_latex_escape_names(tmp_path: Path) -> None:
    named = tmp_path / "my_scores|50%.txt"
    named.write_text("".join(f"{n}\n" for n in range(108)))
    markdown = evaluated("-m", named, "-m", "chrf", "--format", "markdown").stdout
    assert r"my_scores\|50%" in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert len({line.replace(r"\|", "").count("|") for line in rows}) == 1
    assert "| **0." in markdown
    latex = evaluated("-m", named, "-m", "chrf", "--format", "latex").stdout
    assert r"my\_scores\textbar{}50\%" in latex
    assert r"\textbf{0." in latex
    assert r"\begin{tabular}{llrr}" in latex


def test_format_follows_the_ending_of_the_output(tmp_path: Path) -> None:
    for name, start in {
        "a.json": "{",
        "a.tsv": "metric\t",
        "a.tex": "% needs",
        "a.md": "**",
    }.items():
        shown = evaluated("-m", "wer", "-o", tmp_path / name)
        assert (shown.returncode, shown.stdout) == (0, "")
        assert (tmp_path / name).read_text().startswith(start)


def test_segment_averages_accuracy_and_systems() -> None:
    shown = evaluated("-m", "chrf", "--statistic", "acc-eq")
    assert "acc-eq averaged by segment" in shown.stdout
    assert "scores tie up to a difference of de-en" in shown.stdout
    shown = evaluated("-m", "chrf", "--level", "system", "--statistic", "accuracy")
    assert "accuracy, 3 systems" in shown.stdout
    shown = evaluated("-m", "chrf", "--statistic", "tau-darr")
    assert shown.returncode == 0


def test_unused_rows_and_undefined_figures_are_told(tmp_path: Path) -> None:
    rows = ["lp\tsystem\tsegment\tmt\tref\tscore", "de-en\ta\t1\tx y\tx y\t1"]
    rows += ["de-en\tb\t1\tx y\tx y\t2", "de-en\ta\t2\tx\tx\tnan", "de-en\tb\t2\tx\t\t3"]
    path = tmp_path / "mine.tsv"
    path.write_text("\n".join(rows) + "\n")
    shown = evaluated("-m", "chrf", dataset=path)
    assert shown.returncode == 0
    assert shown.stderr.count("rows of the file that cannot be used: 1 (") == 2
    assert "the metric gives every item the same score" in shown.stderr
    assert "–" in shown.stdout
    assert json.loads(evaluated("-m", "chrf", "--format", "json", dataset=path).stdout)
    assert evaluated("-m", "chrf", "--quiet", dataset=path).stderr == ""


def test_exclusions() -> None:
    shown = evaluated("-m", "chrf", "--exclude-system", "broken")
    assert "72 judgements" in shown.stdout
    assert "left out: broken (de-en)" in shown.stderr
    assert shown.stdout.splitlines()[-2].endswith("|exclude:system broken")
    shown = evaluated("-m", "chrf", "--exclude-references", "--exclude-outliers")
    assert shown.stderr.count("left out: none") == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-m", "chfr"], 'Did you mean "chrf"'),
        (["-m", "no/such/file.tsv"], "no/such/file.tsv"),
        (["--statistic", "pearsn"], 'Did you mean "pearson"'),
        (["--statistic", "tau-wmt12"], "not defined for ratings"),
        (["--lp", "fr-en"], "There are: de-en"),
        (["--plot", "plot.gif"], ".svg, .png, .pdf"),
        (["--plot", "no/such/folder/plot.svg"], "no folder"),
        (["-o", "no/such/folder/a.json"], "no folder"),
        (["-o", str(RATINGS)], "read as input"),
        (["--split", "test"], "no split"),
    ],
)
def test_mistakes_get_a_sentence(arguments: list[str], sentence: str) -> None:
    shown = evaluated(*arguments)
    assert shown.returncode == 2
    assert sentence in shown.stderr
    assert "Traceback" not in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


def test_unknown_dataset() -> None:
    shown = evaluated(dataset="wmt17-ad")
    assert shown.returncode == 2
    assert 'Did you mean "wmt17-da"' in shown.stderr


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_plots_are_whole_and_the_same_each_time(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawn = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.{suffix}"
        shown = evaluated("-m", "chrf", "-m", "wer", "--plot", path)
        assert (shown.returncode, shown.stderr) == (0, "")
        drawn.append(path.read_bytes())
    assert drawn[0] == drawn[1]
    if suffix == "svg":
        texts = "".join(ET.fromstring(drawn[0]).itertext())
        assert "human score" in texts
        assert "row better than column" in texts


def test_plots_of_preferences_and_of_odd_names(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [
        {"lp": "cs-en", "segment": n, "ref": "a b c", "better": "a b c", "worse": "a" * (n + 1)}
        for n in range(20)
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    scores = tmp_path / "$x_{<&.txt"
    scores.write_text("".join(f"{v}\t0\n" for v in np.linspace(-1, 1, 20)))
    shown = evaluated("-m", scores, "-m", "chrf", "--plot", tmp_path / "p.svg", dataset=path)
    assert (shown.returncode, shown.stderr) == (0, "")
    texts = "".join(ET.parse(tmp_path / "p.svg").getroot().itertext())
    assert "$x_{<&" in texts
    assert "ordered as people did, %" in texts


def test_inputs_are_never_written_over(tmp_path: Path) -> None:
    scores = tmp_path / "scores.txt"
    scores.write_text("".join(f"{n}\n" for n in range(108)))
    before = scores.read_bytes()
    for name in (scores, f"{scores}:higher_is_better=false"):
        shown = evaluated("-m", name, "-o", scores)
        assert shown.returncode == 2
        assert "is read as input" in shown.stderr
    assert scores.read_bytes() == before
    plot = tmp_path / "a.svg"
    shown = evaluated("-m", "wer", "-o", plot, "--plot", plot, "--format", "text")
    assert shown.returncode == 2
    assert "is named for two results" in shown.stderr


def test_language_pairs_as_people_write_them() -> None:
    assert evaluated("-m", "wer", "--lp", "deu-eng").returncode == 0


def test_what_is_peculiar_is_told(tmp_path: Path) -> None:
    rankings = tmp_path / "r.csv"
    rankings.write_text(
        "srclang,trglang,srcIndex,system1Id,system2Id,system1rank,system2rank\n"
        "cze,eng,1,a,b,1,2\ncze,eng,2,a,b,1,1\ncze,eng,3,a,b,2,1\ncze,eng,x\n"
    )
    scores = tmp_path / "s.tsv"
    lines = [f"{system}\t{n}\t{n}" for system in "ab" for n in (1, 2, 3)]
    scores.write_text("system\tsegment\tscore\n" + "\n".join(lines) + "\n")
    shown = evaluated("-m", scores, dataset=rankings)
    assert shown.returncode == 0
    assert "human ties, which no tau counts: 1 beside 2 preferences" in shown.stderr
    assert (
        "rows of the file that cannot be used: 1 (ranking with too few or too many cells)"
        in shown.stderr
    )
    twice = tmp_path / "twice.tsv"
    header, *rest = RATINGS.read_text().splitlines()
    twice.write_text("\n".join([header, *rest, rest[0]]) + "\n")
    assert "rated again: 1" in evaluated("-m", "wer", dataset=twice).stderr


def test_intervals_on_fewer_resamples_are_told() -> None:
    shown = evaluated("-m", "wer", "--level", "system")
    assert re.search(r"up to \d+ of 100 resamples have no value", shown.stderr)


def test_rankings_with_the_texts_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "outputs" / "cs-en"
    folder.mkdir(parents=True)
    texts = {"a": "x y\nx y\n", "b": "x\ny\n", "reference": "x y\nx y\n", "source": "p\nq\n"}
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    rankings = tmp_path / "r.csv"
    rankings.write_text(
        "srclang,trglang,srcIndex,system1Id,system2Id,system1rank,system2rank\n"
        "ces,eng,1,a,b,1,2\nces,eng,2,a,b,1,2\n"
    )
    shown = evaluated("-m", "chrf", "--outputs", tmp_path / "outputs", dataset=rankings)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "chrf    1.000" in shown.stdout
    assert evaluated("-m", "chrf", dataset=rankings).returncode == 2
    assert "ends in .csv" in evaluated("-m", "chrf", "--outputs", tmp_path).stderr
