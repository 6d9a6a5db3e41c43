"""`adequa compare` and `adequa gate` as their users find them: tables, files, exit codes."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from adequa import Comparison, ComparisonSettings, compare
from adequa.tables import Format
from test_cli import EXAMPLES, adequa

QUICK = ("--swaps", "500", "--resamples", "200")


def lines(name: str) -> list[str]:
    return (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def run_compare(
    *systems: str, more: tuple[str | Path, ...] = ()
) -> subprocess.CompletedProcess[str]:
    named = [part for name in systems for part in ("-t", EXAMPLES / f"{name}.txt")]
    return adequa("compare", *named, "-r", EXAMPLES / "reference.txt", *more)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    systems = {name: lines(name) for name in ("literal", "fluent", "broken")}
    settings = ComparisonSettings(swaps=500, resamples=200)
    return compare(systems, lines("reference"), ["chrf", "ter"], settings=settings)


def test_text_tables(comparison: Comparison) -> None:
    result = "".join(comparison.lines(Format.text, examples=1)).splitlines()
    verdict, _, *result = result
    assert verdict == (
        "fluent is far ahead of literal and broken, and literal beats broken under chrf only; "
        "otherwise the metrics agree."
    )
    assert result[0] == "3 systems, 36 segments; baseline: literal"
    assert [line.split()[:4] for line in result[3:9]] == [
        ["chrf", "↑", "1", "fluent"],
        ["chrf", "↑", "2", "literal"],
        ["chrf", "↑", "3", "broken"],
        ["ter", "↓", "1", "fluent"],
        ["ter", "↓", "2", "literal"],
        ["ter", "↓", "2", "broken"],
    ]
    (pair,) = (line for line in result if line.startswith("ter     fluent – literal"))
    assert pair.split()[4] == "-29.55"
    assert "31/5/0" in pair
    assert "chrf: fluent is better by most in" in result
    assert any("reference: " in line for line in result)
    assert result[-3].startswith("resamples:200|swaps:500|")


def test_tsv_and_markdown_tell_the_same(comparison: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(comparison.long_table().to_tsv()), delimiter="\t"))
    assert len(rows) == 6
    assert float(rows[0]["difference"]) == comparison.metrics[0].pairs[0].difference
    assert {row["metric"] for row in rows} == {"chrf", "ter"}
    tables = [part for part in comparison.to_markdown().split("\n\n") if part.startswith("| ")]
    assert len(tables) == 3
    for table in tables:
        widths = {line.count("|") for line in table.strip().splitlines()}
        assert len(widths) == 1


def test_json_report_and_output(tmp_path: Path) -> None:
    output, report = tmp_path / "found.json", tmp_path / "report.html"
    more = ("-m", "wer", *QUICK, "-o", output, "--segments", "--report", report)
    result = run_compare("literal", "fluent", more=more)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    content = json.loads(output.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert content["systems"] == ["literal", "fluent"]
    assert len(content["segments"]) == 36
    assert content["metrics"][0]["pairs"][0]["significant"]
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("ending", "start"),
    [
        (".html", "<!doctype html>"),
        (".csv", "metric,first,second,better,significant,difference,"),
        (".tsv", "metric\tfirst\tsecond\tbetter\tsignificant\tdifference\t"),
        (".tex", "% needs \\usepackage{booktabs}\n% 2 systems, 36 segments"),
        (".md", "**fluent beats literal: -0.2774 wer (lower is better), significant.**\n\n**2 sys"),
        (".txt", "fluent beats literal: -0.2774 wer (lower is better), significant.\n\n2 systems"),
    ],
)
def test_the_ending_of_the_output_chooses_the_format(
    tmp_path: Path, ending: str, start: str
) -> None:
    output = tmp_path / f"comparison{ending}"
    result = run_compare("literal", "fluent", more=("-m", "wer", *QUICK, "-o", output))
    assert (result.returncode, result.stdout) == (0, "")
    content = output.read_text(encoding="utf-8")
    assert content.startswith(start)
    if ending == ".html":  # the report, and not only its tables
        assert 'id="details"' in content


def test_the_report_names_the_test_set(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    titled = ("--title", "Fables <1>", "-m", "wer", *QUICK, "--report", report)
    result = run_compare("literal", "fluent", more=titled)
    assert result.returncode == 0
    content = report.read_text(encoding="utf-8")
    assert "<title>Fables &lt;1&gt;</title>" in content
    assert '"test_set":"reference.txt"' in content


def test_small_tables_for_notebooks(comparison: Comparison) -> None:
    assert comparison._repr_html_().count("<table") == 3
    assert "<script" not in comparison._repr_html_()
    assert repr(comparison).startswith(comparison.verdict())


def test_tables_with_documents(tmp_path: Path) -> None:
    table = tmp_path / "all.tsv"
    rows = [
        f"{name}\t{'news' if place % 2 else 'chat'}\t{text}\t{reference}"
        for name in ("literal", "fluent")
        for place, (text, reference) in enumerate(zip(lines(name), lines("reference"), strict=True))
    ]
    table.write_text("system\tdoc\tmt\tref\n" + "\n".join(rows) + "\n", encoding="utf-8")
    result = adequa("compare", "-i", table, "-m", "wer", *QUICK, "--examples", "0")
    assert result.returncode == 0
    documents = [line.split()[:2] for line in result.stdout.splitlines() if "Document" in line]
    assert documents == [["Document", "chat"], ["Document", "news"]]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ((), "two systems or more, and there is 1: fluent"),
        (("-t", EXAMPLES.parent / "LICENSE"), "All files need the same number of segments"),
        (("-t", EXAMPLES / "literal.txt", "--segments"), "--segments goes with --format json"),
        (("-t", EXAMPLES / "literal.txt", "--alpha", "2"), "alpha is a number between 0 and 1"),
        (
            ("-t", EXAMPLES / "literal.txt", "-o", "x.html", "--report", "x.html"),
            "x.html is named for two results",
        ),
        (
            ("-t", EXAMPLES / "literal.txt", "--report", EXAMPLES / "fluent.txt"),
            "fluent.txt is read as input; give another name to write to with --report.",
        ),
        (("-t", EXAMPLES / "literal.txt", "--report", "-"), "--report takes the name of a file"),
        (("-t", EXAMPLES / "literal.txt", "--known-words", "no-such.txt"), "no-such.txt"),
        (("-t", EXAMPLES / "literal.txt", "-o", "x.parquet"), "should be one of .txt, .tsv, .csv"),
    ],
    ids=["one", "unequal", "segments", "alpha", "twice", "report", "no file", "known", "ending"],
)
def test_mistakes_get_a_sentence(more: tuple[str | Path, ...], sentence: str) -> None:
    result = run_compare("fluent", more=("-m", "wer", *more))
    assert result.returncode == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--known-words", "--people"])
@pytest.mark.parametrize("output", ["-o", "--report"])
def test_no_file_that_is_read_is_written_over(tmp_path: Path, option: str, output: str) -> None:
    file = tmp_path / "read.txt"
    file.write_text("kept")
    result = run_compare("literal", "fluent", more=("-m", "wer", option, file, output, file))
    assert result.returncode == 2
    assert f"read.txt is read as input; give another name to write to with {output}." in (
        result.stderr
    )
    assert file.read_text() == "kept"


def run_gate(baseline: str, candidate: str, *more: str | Path) -> subprocess.CompletedProcess[str]:
    named = ("--baseline", EXAMPLES / f"{baseline}.txt", "--candidate", EXAMPLES / candidate)
    return adequa("gate", *named, "-r", EXAMPLES / "reference.txt", *more)


def test_a_gate_that_passes_and_one_that_fails(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("gate.json", "gate.xml", "gate.md", "gate.html")}
    options = ("--json", "--junit", "--markdown", "--report")
    named = [part for pair in zip(options, files.values(), strict=True) for part in pair]
    fails = run_gate("fluent", "literal.txt", "-m", "wer", "--swaps", "500", *named)
    assert (fails.returncode, fails.stderr) == (1, "")
    verdict, *errors = fails.stdout.splitlines()
    assert verdict.startswith("REGRESSION: literal is worse than fluent: wer 0.")
    assert len(errors) == 5
    content = json.loads(files["gate.json"].read_text())
    assert content["passed"] is False
    assert [f"segment {each['segment']}:" for each in content["errors"]] == [
        " ".join(line.split()[:2]) for line in errors
    ]
    tree = ET.parse(files["gate.xml"]).getroot()
    assert tree.get("failures") == "1"
    assert (tree.find(".//failure").text or "").splitlines() == errors  # type: ignore[union-attr]
    summary = files["gate.md"].read_text()
    assert summary.startswith("### Regression: `literal` against `fluent`")
    assert "Worst new errors:\n\n- segment " in summary
    assert "</html>" in files["gate.html"].read_text()
    passes = run_gate("literal", "fluent.txt", "-m", "wer", "--swaps", "500")
    assert (passes.returncode, passes.stderr) == (0, "")
    assert passes.stdout.startswith("PASS: fluent is no regression from literal")
    assert passes.stdout.count("\n") == 1


def test_every_format_of_a_gate(tmp_path: Path) -> None:
    quick = ("-m", "wer", "--swaps", "500")
    content = json.loads(run_gate("fluent", "literal.txt", *quick, "--format", "json").stdout)
    assert content["passed"] is False
    table = tmp_path / "gate.csv"
    fails = run_gate("fluent", "literal.txt", *quick, "-o", table)
    assert (fails.returncode, fails.stdout.count("\n")) == (1, 6)
    assert table.read_text().startswith("metric,regression,reason,baseline,candidate,")
    text = run_gate("literal", "fluent.txt", *quick, "--format", "text").stdout
    assert text.startswith("PASS: fluent is no regression from literal")
    assert "approximate randomisation, one-sided" in text


def test_rules_of_a_gate(tmp_path: Path) -> None:
    rules = tmp_path / "gate.toml"
    rules.write_text('swaps = 500\n[[rule]]\nmetric = "wer"\nmax_drop = 0.9\n')
    assert run_gate("fluent", "literal.txt", "--rules", rules).returncode == 0
    both = run_gate("fluent", "literal.txt", "--rules", rules, "--alpha", "0.1")
    assert both.returncode == 2
    assert "--alpha and --rules cannot be combined" in both.stderr


def test_a_gate_that_could_never_fail(tmp_path: Path) -> None:
    result = run_gate("fluent", "literal.txt", "-m", "wer", "--swaps", "10")
    assert result.returncode == 2
    assert "wer could never fail: with 10 swaps" in result.stderr
    strict = run_gate("fluent", "literal.txt", "-m", "wer", "--alpha", "0.0001")
    assert strict.returncode == 1
    one = tmp_path / "one.txt"
    one.write_text("\n".join(["x", *lines("fluent")[1:]]) + "\n")
    few = run_gate("fluent", str(one), "-m", "wer")
    assert few.returncode == 0
    assert few.stderr.splitlines() == [
        "note: wer differs in 1 segment, too few for any drop to be significant at 0.05."
    ]


def test_bad_input_of_a_gate() -> None:
    result = run_gate("fluent", "../LICENSE", "-m", "wer")
    assert result.returncode == 2
    assert "All files need the same number of segments" in result.stderr
