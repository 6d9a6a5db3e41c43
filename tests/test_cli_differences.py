"""`adequa differences` as its users find it: tables, files and sentences."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

from adequa.agreement.score_differences import DifferenceSettings, differences
from adequa.datasets.load import load_dataset
from adequa.tables import Format
from test_cli import EXAMPLES, adequa

RATINGS = EXAMPLES / "ratings.tsv"


def told(*more: str | Path, data: str | Path = RATINGS) -> subprocess.CompletedProcess[str]:
    return adequa("differences", data, *more)


def test_text_tables() -> None:
    shown = told("-m", "chrf", "-m", "ter", "--edges", "10,1000")
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert lines[0] == (
        "ratings.tsv: how often people agree with a difference, 97 pairs of outputs"
    )
    assert [line.split()[0] for line in lines[3:11]] == ["chrf"] * 4 + ["ter"] * 4
    assert lines[3].startswith("chrf    0 – 10 ")
    assert lines[5].split() == ["chrf", "1000", "or", "more", "0", "–", "–"]
    assert len({len(line) for line in lines[2:11]}) == 1
    assert lines[12].split() == ["metric", "75%", "from", "90%", "from", "95%", "from", "ties"]
    assert lines[14].split()[-2:] == ["–", "15"]  # of ter
    assert "level:segment|confidence:0.95|min_difference:25" in lines
    assert lines[-1].startswith("ter|nrefs:1|")


def test_json_tsv_and_markdown_tell_the_same() -> None:
    found = differences(
        [load_dataset(RATINGS)], ["chrf", "ter"], DifferenceSettings(edges=(10, 1000))
    )
    shape = json.loads("".join(found.lines(Format.json)), parse_constant=pytest.fail)
    assert (shape["level"], shape["pairs"], shape["datasets"]) == ("segment", 97, ["ratings.tsv"])
    rows = list(csv.DictReader(io.StringIO(found.long_table().to_tsv()), delimiter="\t"))
    for metric in shape["metrics"]:
        assert metric["all"]["pairs"] + metric["tied"] == 97
        own = [row for row in rows if row["metric"] == metric["name"]]
        bins = [*metric["bins"], metric["all"]]
        assert [row["of"] for row in own] == ["bin"] * 3 + ["all"] + ["at least"] * 3
        for row, each in zip(own, [*bins, *metric["thresholds"]], strict=True):
            start = each["from"] if "from" in each else each["difference"]
            assert row["from"] == ("" if start is None else str(start))
            assert row["share"] == ("" if each["share"] is None else str(each["share"]))
        assert bins[2]["share"] is None
        assert bins[2]["to"] is None
    parts = found.to_markdown().split("\n\n")
    first, second = (part for part in parts if part.startswith("| "))
    assert first.splitlines()[2].startswith("| chrf | 0 – 10 | 15 | 66.7% | ")
    assert second.startswith("| metric | 75% from | 90% from | 95% from | ties |\n")


def test_files_are_written_by_their_endings(tmp_path: Path) -> None:
    out = tmp_path / "found.md"
    wrote = told("-m", "chrf", "-q", "-o", out)
    assert (wrote.returncode, wrote.stdout, wrote.stderr) == (0, "", "")
    assert (
        out.read_text(encoding="utf-8").partition("\n\n")[2].startswith("| metric | difference |")
    )


def test_whole_systems_by_preferences(tmp_path: Path) -> None:
    """People prefer a to b twice and to c once: standings say a > b = c."""
    rows = [("a", "b"), ("a", "b"), ("a", "c")]
    data = [
        {"lp": "cs-en", "segment": str(n), "better_system": better, "worse_system": worse}
        | {"better": f"good {better}", "worse": f"bad {worse}", "ref": "good a"}
        for n, (better, worse) in enumerate(rows)
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in data), encoding="utf-8")
    scores = tmp_path / "scores.tsv"
    scores.write_text("system\tscore\na\t3\nb\t1\nc\t2\n", encoding="utf-8")
    shown = told("-m", scores, "--level", "system", "--format", "json", data=path)
    assert (
        shown.stderr == "note: pairs of systems with equal human scores, which are in no row: 1.\n"
    )
    (metric,) = json.loads(shown.stdout)["metrics"]
    assert (metric["all"]["agreed"], metric["undecided"]) == (2, 1)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--edges", "0.1,x"], "--edges takes numbers with commas between them, such as 0.01,0.02"),
        (["--lp", "fr-en"], 'no lp "fr-en"'),
        (["--min-difference", "500"], "no two ratings of a segment differ by 500 or more"),
        (["--device", "cpu"], "--device goes with trained metrics"),
        ([str(RATINGS)], "is given more than once; its pairs would count twice."),
        (["-o", str(RATINGS)], "is read as input"),
    ],
    ids=["edges", "lp", "ratings", "device", "twice", "output"],
)
def test_sentences(more: list[str], sentence: str) -> None:
    refused = told(*more)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("adequa: error: ")
    assert sentence in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_text_ends_with_a_line() -> None:
    found = differences([load_dataset(RATINGS)], ["chrf"])
    assert found.to_text().endswith("\n")
