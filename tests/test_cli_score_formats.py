"""Formats of `adequa score`: by --format or by the ending of -o, and refused before the work."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import adequa
from adequa.cli.main import app

EXAMPLES = Path(__file__).parent.parent / "examples"
FILES = ["-t", str(EXAMPLES / "fluent.txt"), "-r", str(EXAMPLES / "reference.txt"), "-q"]
HYPOTHESES, REFERENCES = (
    (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
    for name in ("fluent.txt", "reference.txt")
)


def run(*arguments: str) -> str:
    outcome = CliRunner().invoke(app, ["score", *FILES, "-m", "chrf", "-m", "ter", *arguments])
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome.stdout


@pytest.mark.parametrize(
    ("ending", "opening"),
    [
        (".txt", "system  chrf ↑  ter ↓\n"),
        (".tsv", "system\tchrf\tter\n"),
        (".csv", "system,chrf,ter\n"),
        (".md", "| system | chrf ↑ | ter ↓ |\n| --- | ---: | ---: |\n"),
        (".tex", "% needs \\usepackage{booktabs}\n\\begin{tabular}{lrr}\n"),
        (".html", "<!doctype html>\n"),
        (".json", '{\n  "language": {'),
    ],
)
def test_an_ending_chooses_the_format(tmp_path: Path, ending: str, opening: str) -> None:
    path = tmp_path / f"scores{ending}"
    assert run("-o", str(path)) == ""
    assert path.read_text(encoding="utf-8").startswith(opening)


def test_segments_in_every_table_format(tmp_path: Path) -> None:
    scores = adequa.score(HYPOTHESES, REFERENCES, metric="chrf").segments
    with_csv, with_json = tmp_path / "scores.csv", tmp_path / "scores.json"
    run("--segments", "-o", str(with_csv))
    run("--segments", "-o", str(with_json))
    with with_csv.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_array_equal([float(row["chrf"]) for row in rows], scores)
    chrf = json.loads(with_json.read_text(encoding="utf-8"))["metrics"][0]
    np.testing.assert_array_equal(chrf["systems"][0]["segments"], scores)
    parquet = pytest.importorskip("pyarrow.parquet")
    run("--segments", "-o", str(tmp_path / "scores.parquet"))
    table = parquet.read_table(tmp_path / "scores.parquet").to_pydict()
    assert list(table) == ["system", "segment", "chrf", "ter"]
    np.testing.assert_array_equal(table["chrf"], scores)
    assert table["segment"] == list(range(1, len(scores) + 1))


def test_a_metric_is_named_once() -> None:
    with pytest.raises(adequa.AdequaError, match='"chrf" is given more than once; name each metr'):
        run("-m", "chrf")


def test_decimals_hold_in_every_format() -> None:
    assert run("--decimals", "1", "--format", "csv") == "system,chrf,ter\nfluent,82.3,18.9\n"
    assert run("--decimals", "3", "--format", "tsv").endswith("fluent\t82.289\t18.900\n")
    shape = json.loads(run("--decimals", "1", "--format", "json"))
    assert shape["metrics"][0]["systems"][0]["score"] == 82.3
    assert "| fluent | 82.3 | 18.9 |" in run("--decimals", "1", "--format", "markdown")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-o", "scores.docx"], r"scores.docx cannot be written: its ending should be one of .txt"),
        (["-o", "scores.parquet"], "add --segments"),
        (["--format", "parquet"], "add --segments"),
        (["--segments", "--format", "parquet"], "not written to standard output; name a file"),
    ],
)
def test_other_formats_are_refused_before_the_work(
    arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("adequa.scoring.results.score_stream", never)
    with pytest.raises(adequa.AdequaError, match=sentence):
        run(*arguments)
