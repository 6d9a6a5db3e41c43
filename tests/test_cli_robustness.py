"""`adequa robustness` as its users find it: tables, examples, files and sentences."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

from adequa.agreement.damaged_pairs import DamageSettings
from adequa.agreement.robustness import robustness
from adequa.io.read import read_parallel
from adequa.segments import Segments
from adequa.tables import Format
from judgements import needs_judgements
from test_cli import EXAMPLES, adequa

RATINGS = EXAMPLES / "ratings.tsv"
FILES = ("-t", EXAMPLES / "fluent.txt", "-r", EXAMPLES / "reference.txt")
TWO = ("-m", "chrf", "-m", "ter")
SOME = ("--group", "characters", "--group", "empty")


def damaged(*more: str | Path) -> subprocess.CompletedProcess[str]:
    return adequa("robustness", *more)


def test_text_tables() -> None:
    shown = damaged(*FILES, *TWO, *SOME)
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("fluent.txt: 28 texts, 6 kinds of damage, ")
    assert lines[2].split()[:2] == ["metric", "overall"]
    (spaces,) = (line.split() for line in lines if line.startswith("spaces_dropped"))
    assert spaces[:3] == ["spaces_dropped", "characters,", "held"]
    assert spaces[5:] == ["0.0", "*100.0"]  # chrF reads no spaces
    assert "each:100|group:characters,empty|severity:0.1,0.25,0.5,1|seed:0" in lines
    assert lines[-1].startswith("ter|nrefs:1|")
    assert "texts to damage: 28, fewer" in shown.stderr
    assert "words_split 26" in shown.stderr
    assert shown.stdout.endswith("\n")


def test_one_metric_shows_intervals_and_ties() -> None:
    shown = damaged(*FILES, "-m", "chrf", "--kind", "spaces_dropped", "--severity", "1", "-q")
    assert shown.stderr == ""
    table = [line.split() for line in shown.stdout.splitlines()]
    assert table[-7][:7] == ["spaces_dropped", "characters,", "held", "out", "28", "0.0", "0.0"]
    assert table[-7][-1] == "28"


def test_json_and_tsv_tell_the_same() -> None:
    texts = next(read_parallel([FILES[1]], [FILES[3]]))
    made = robustness(texts, ["chrf", "ter"], DamageSettings(groups=("characters", "empty")))
    rows = list(csv.DictReader(io.StringIO(made.long_table().to_tsv()), delimiter="\t"))
    found = json.loads("".join(made.lines(Format.json)), parse_constant=pytest.fail)
    assert found["settings"]["groups"] == ["characters", "empty"]
    flat = {
        (figure["metric"], of, line["name"]): figure
        for of in ("summary", "group", "severity", "kind")
        for line in found[of]
        for figure in line["figures"]
    }
    assert len(flat) == len(rows)
    for row in rows:
        figure = flat[row["metric"], row["of"], row["name"]]
        assert float(row["share"]) == figure["share"]
        assert int(row["won"]) == figure["won"]
        assert figure["low"] <= figure["share"] <= figure["high"]
        assert figure["won"] + figure["tied"] <= figure["pairs"]


def test_runs_agree_and_files_are_written_by_their_endings(tmp_path: Path) -> None:
    more = (*FILES, "-m", "chrf", "--group", "characters", "--examples", "-q")
    out = tmp_path / "found.json"
    told = damaged(*more, "-o", out)
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
    assert damaged(*more, "--format", "json").stdout == out.read_text(encoding="utf-8")


def test_examples_are_two_a_kind() -> None:
    shown = damaged(*FILES, *TWO, *SOME, "--examples", "-q").stdout
    assert shown.count("\n  damaged") == 2 * 6
    assert shown.count("\nspaces_dropped, severity ") == 2
    assert "(missed)" in shown


def test_sources_are_left_untranslated() -> None:
    more = ("-m", "chrf", "--kind", "untranslated", "--kind", "empty", "--format", "json", "-q")
    found = json.loads(damaged(*FILES, "-s", EXAMPLES / "source.txt", *more).stdout)
    assert [line["name"] for line in found["kind"]] == ["untranslated", "empty"]


def test_a_file_of_ratings() -> None:
    shown = damaged(RATINGS, "--lp", "de-en", "--kind", "empty", "-m", "chrf", "-q")
    assert shown.returncode == 0
    assert shown.stdout.startswith("ratings.tsv|lp:de-en: ")
    assert " 1 kind of damage, " in shown.stdout


@needs_judgements
def test_a_named_dataset_is_the_default() -> None:
    shown = damaged("--kind", "half_omitted", "--kind", "empty", "--each", "5")
    assert shown.returncode == 0
    assert shown.stdout.startswith("wmt17-da: 1,948 texts, 2 kinds of damage, 10 pairs")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-t", "x.txt"], "with -t and their reference with -r"),
        ([str(RATINGS), *FILES], "not both"),
        ([*FILES, "--data", str(RATINGS)], "not both"),
        ([str(RATINGS), "--data", str(RATINGS)], "not both"),
        ([*FILES, "--lp", "de-en"], "choose from a DATASET"),
        (["wmt17-dda"], 'Did you mean "wmt17-da"'),
        ([str(RATINGS), "--lp", "fr-en"], "There are: de-en"),
        ([*FILES, "-m", "chfr"], 'Did you mean "chrf"'),
        ([*FILES, "--kind", "typo"], 'Did you mean "typos"'),
        ([*FILES, "--severity", "0"], "above 0"),
        ([*FILES, "--confidence", "95"], "between 0 and 1"),
        ([*FILES, "--examples", "--format", "tsv"], "text or json"),
        ([*FILES, "-o", str(EXAMPLES / "fluent.txt")], "read as input"),
        ([*FILES, "-m", str(RATINGS)], "ratings.tsv"),
        (["-t", str(EXAMPLES / "reference.txt"), *FILES[2:]], "word for word"),
    ],
)
def test_mistakes_get_a_sentence(arguments: list[str | Path], sentence: str) -> None:
    shown = damaged(*arguments)
    assert shown.returncode == 2
    assert sentence in shown.stderr
    assert shown.stderr.startswith("adequa: error: ")
    assert shown.stderr.count("\n") == 1
    assert shown.stdout == ""


def test_hostile_text_does_no_harm() -> None:
    texts = Segments(("a | <b>\x1b[2J\tcd efgh.",), (("a | <b> cd\u2028efg",),))
    found = robustness(texts, ["chrf"], DamageSettings(kinds=("typos", "empty")), dataset="<i>\t|")
    shown = found.with_examples(2).to_text()
    assert "\x1b" not in shown
    assert "\t" not in shown
    assert found.with_examples(1).to_dict()["examples"][0]["kind"] == "empty"
    assert found.to_markdown().startswith("**&lt;i> \\|: ")
