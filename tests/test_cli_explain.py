"""`adequa explain` as its users find it: marks, colours, formats, systems and bad input."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from test_cli import EXAMPLES, adequa

REFERENCE = EXAMPLES / "reference.txt"
ARGUMENTS = ("explain", "-t", EXAMPLES / "literal.txt", "-r", REFERENCE, "-m", "chrf", "-l", "en")


def test_text_marks_pieces_and_ends_with_what_they_mean() -> None:
    shown = adequa(*ARGUMENTS, "--worst", "2")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.count(", segment ") == 2
    assert "[-" in shown.stdout
    assert "Where the score is lost" in shown.stdout
    assert shown.stdout.splitlines()[-1].startswith("chrf|nrefs:1|")


def test_a_terminal_has_colours_unless_the_user_wants_none() -> None:
    assert "\x1b[" in on_a_terminal({})
    assert "\x1b[" not in on_a_terminal({"NO_COLOR": "1"})


def on_a_terminal(environment: dict[str, str]) -> str:
    """What is written to standard output where it is a terminal."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "adequa", *map(str, ARGUMENTS), "--worst", "1", "-q"]
    clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        command, stdout=follower, stderr=subprocess.DEVNULL, env={**clean, **environment}
    )
    os.close(follower)
    output = b""
    try:
        while part := os.read(leader, 65536):
            output += part
    except OSError:  # the end of a terminal
        pass
    os.close(leader)
    assert process.wait() == 0
    return output.decode()


def test_json_and_tsv_have_every_piece_of_every_system(tmp_path: Path) -> None:
    systems = ("-t", EXAMPLES / "fluent.txt", "new=" + str(EXAMPLES / "broken.txt"))
    files = {ending: tmp_path / f"pieces.{ending}" for ending in ("json", "tsv", "html", "parquet")}
    for path in files.values():
        if path.suffix == ".parquet":
            pytest.importorskip("pyarrow")
        written = adequa("explain", *systems, "-r", REFERENCE, "-m", "chrf", "-o", path)
        assert (written.returncode, written.stdout) == (0, "")
    content = json.loads(files["json"].read_text(encoding="utf-8"))
    segments = content["segments"]
    assert [each["system"] for each in segments] == ["fluent"] * 36 + ["new"] * 36
    assert [each["system"] for each in content["systems"]] == ["fluent", "new"]
    assert any(each["significant"] for each in content["differences"])
    with files["tsv"].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == sum(len(each["pieces"]) for each in segments)
    assert "<script" not in files["html"].read_text(encoding="utf-8")


def test_tables_and_wide_tables_are_read() -> None:
    shown = adequa(
        "explain", "-i", EXAMPLES / "engines.csv", "--systems", "engine-a,engine-b", "-m", "chrf",
        "--worst", "2", "--format", "json",
    )  # fmt: skip
    assert shown.returncode == 0
    assert {each["system"] for each in json.loads(shown.stdout)["segments"]} <= {
        "engine-a",
        "engine-b",
    }


def test_other_languages_are_explained_by_chrf() -> None:
    shown = adequa(
        "explain", "-t", EXAMPLES / "german.txt", "-r", EXAMPLES / "german-reference.txt"
    )
    assert "using chrf: adequa supports English only." in shown.stderr
    assert ": chrf " in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explain",), "Name the translations with -t"),
        ((*ARGUMENTS, "--worst", "0"), "--worst must be 1 or more"),
        ((*ARGUMENTS, "-o", "pieces.xyz"), "pieces.xyz"),
        ((*ARGUMENTS[:5], "-m", "chrff"), 'no metric named "chrff"'),
        ((*ARGUMENTS, "-m", "bleu"), "takes one metric"),
        ((*ARGUMENTS, "-r", "nowhere.txt"), "nowhere.txt"),
        ((*ARGUMENTS, "--device", "cuda"), "device"),
    ],
)
def test_bad_input_is_a_sentence(arguments: tuple[str | Path, ...], message: str) -> None:
    refused = adequa(*arguments)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
    assert refused.stdout == ""


def test_an_input_is_never_written_over(tmp_path: Path) -> None:
    texts = tmp_path / "texts.tsv"
    texts.write_text("mt\tref\na cat\ta dog\n", encoding="utf-8")
    refused = adequa("explain", "-i", texts, "-m", "chrf", "-o", texts)
    assert refused.returncode == 2
    assert texts.read_text(encoding="utf-8").startswith("mt\tref")
