"""`adequa score` on a corpus of shards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from adequa.cli.main import app
from adequa.errors import AdequaError
from corpora import read_jsonl, rows_of, write_corpus, write_german, write_jsonl


def run(*words: str | Path) -> Result:
    result = CliRunner().invoke(app, list(map(str, words)))
    if isinstance(result.exception, AdequaError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus")


def test_shards_into_a_folder(corpus: Path, tmp_path: Path) -> None:
    out = f"{tmp_path}/out/"
    shown = run("score", "-i", f"{corpus}/*.jsonl", "-o", out, "-m", "chrf", "--workers", "1")
    assert shown.stdout.splitlines()[:2] == ["system  chrf ↑", "corpus   72.74"]
    assert shown.stderr == f"note: 2 shards with 72 rows in {out}\n"
    assert "chrf" in read_jsonl(tmp_path / "out" / "literal.jsonl")[0]


def test_formats_and_silence(corpus: Path, tmp_path: Path) -> None:
    options = ("-m", "wer", "--engine", "local", "--workers", "1", "-q", "--format", "json")
    shown = run("score", "-i", corpus, "-o", tmp_path / "out", *options)
    (metric,) = json.loads(shown.stdout)["metrics"]
    assert metric["systems"][0]["name"] == "corpus"
    assert not shown.stderr


def test_rows_without_a_score_are_told(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [*rows_of("fluent"), {"mt": None, "ref": "x"}])
    shown = run("score", "-i", tmp_path / "a.jsonl", "-o", f"{tmp_path}/out/", "-m", "wer")
    assert shown.stderr.splitlines()[1] == (
        'note: 1 row could not be scored; the first: a.jsonl, line 37 has no "mt".'
    )


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_the_metric_remarks_is_told_as_of_one_file(tmp_path: Path, workers: str) -> None:
    corpus = write_german(tmp_path / "corpus")
    rows = [*read_jsonl(corpus / "a.jsonl"), *read_jsonl(corpus / "b.jsonl")]
    whole = write_jsonl(tmp_path / "corpus.jsonl", rows)
    shown = run("score", "-i", whole, "-m", "adequa", "-l", "en")
    read, german, *expected = shown.stderr.splitlines()
    assert german.endswith("the references look German, and the language given is English.")
    assert read.endswith("corpus.jsonl: 5 segments, 1 system, 1 reference")
    assert [line[:33] for line in expected] == [
        "note: empty hypotheses of corpus:",
        "note: 3 hypotheses of 4 that adeq",
    ]
    out = tmp_path / "out"
    named = ("score", "-i", corpus, "-o", f"{out}/", "-m", "adequa", "-l", "en")
    command = (*named, "--workers", workers)
    assert run(*command).stderr.splitlines()[1:] == expected
    assert run(*command).stderr.splitlines()[1:] == expected  # of shards that are kept
    # A record from before there were counts says nothing of them: its shard is scored anew.
    record = out / "_adequa" / "shards" / "b.jsonl.json"
    before = json.loads(record.read_text())
    record.write_text(json.dumps({key: before[key] for key in before if key != "empty"}))
    assert run(*command).stderr.splitlines()[1:] == expected
    assert json.loads(record.read_text()) == before


def test_one_file_and_a_table_stay_what_they_were(corpus: Path, tmp_path: Path) -> None:
    run("score", "-i", corpus / "fluent.jsonl", "-o", tmp_path / "table.tsv", "-m", "wer")
    assert (tmp_path / "table.tsv").read_text().startswith("system\twer\nfluent\t")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("-i", "{}/*.jsonl"), "is a corpus; name a folder for its scores with -o"),
        (("-i", "{}", "-o", "{}/fluent.jsonl"), "is a file; scores of a corpus go to a folder"),
        (("-i", "{}", "-o", "{}/x/", "--by", "doc"), "without --by; leave it out"),
        (("-i", "{}", "-o", "{}/x/", "--cache-size", "9"), "without --cache-size; leave it out"),
        (
            ("-i", "{}/fluent.jsonl", "--workers", "2"),
            "--workers goes with a corpus: -i SHARDS",
        ),
        (("-i", "{}/none/*.jsonl", "-o", "{}/x/"), "matches nothing"),
        (
            ("-i", "", "-o", "{}/x/"),
            "The input is empty; name shards",
        ),  # a variable that is not set
        (("-i", ""), "The input is empty; name shards"),
        (("-i", "", "-o", ""), "The input is empty; name shards"),
        (("-i", "{}", "-o", ""), "The output is empty; name a folder"),
        (("-i", "{}/fluent.jsonl", "-o", ""), "The output is empty; name a folder"),
        (("-i", "{}", "-o", "/"), "fluent.jsonl is in the folder that is written to"),
        (("-i", "{}", "-o", "file:///"), "fluent.jsonl is in the folder that is written to"),
    ],
)
def test_sentences(corpus: Path, words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        run("score", *(word.format(corpus) for word in words), "-m", "wer")
