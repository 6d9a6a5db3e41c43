"""Help, usage errors and options that every verb parses in the same way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from test_cli import EXAMPLES, adequa, example

RATINGS = EXAMPLES / "ratings.tsv"


@pytest.mark.parametrize("group", ["train", "datasets"])
def test_groups_show_whole_summaries(group: str) -> None:
    assert "..." not in adequa(group, "--help").stdout.partition("Commands:")[2]


def test_arguments_have_plain_names() -> None:
    for verb in (["evaluate"], ["datasets", "show"], ["export"], ["metrics"]):
        shown = adequa(*verb, "--help").stdout
        usage, _, arguments = shown.partition("Arguments:")
        assert "{" not in usage
        assert "<str>" not in arguments.partition("Options:")[0]


def test_help_offers_what_the_verb_takes() -> None:
    for verb in (["train", "blend"], ["export"]):
        assert "parquet" not in adequa(*verb, "--help").stdout
    assert "shards" not in adequa("evaluate", "--help").stdout.partition("--device")[2]
    assert "shards" in adequa("score", "--help").stdout.partition("--device")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", RATINGS, "--resamples", "x"], "--resamples must be a whole number, not 'x'."),
        (["score", "--gpus", "a"], "--gpus must be a number, not 'a'."),
        (["score", "--workers", "0"], "--workers must be 1 or more, not '0'."),
        (["score", "--engine", "x"], "--engine must be one of local, ray, not 'x'."),
        (["score", "--workers"], "Option '--workers' requires an argument."),
        (["evaluate"], "Missing argument 'DATASET'."),
    ],
)
def test_usage_errors_have_one_style(arguments: list[str | Path], message: str) -> None:
    refused = adequa(*arguments)
    expected = f"adequa: error: {message} See `adequa {arguments[0]} --help`.\n"
    assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", expected)


def test_metrics_follow_one_option_before_an_argument() -> None:
    evaluated = adequa("evaluate", "-m", "chrf", "bleu:lowercase=true", RATINGS, "--format", "json")
    assert evaluated.returncode == 0
    assert {"chrf", "bleu"} <= {each["name"] for each in json.loads(evaluated.stdout)["metrics"]}
    refused = adequa("evaluate", "-m", "chrf", "nothing", RATINGS)
    assert "write -m before each metric" in refused.stderr


@pytest.mark.parametrize(
    ("ending", "name"), [("md", "markdown"), ("tex", "latex"), ("txt", "text")]
)
def test_endings_name_formats(ending: str, name: str) -> None:
    by_name = example("-m", "chrf", "--format", name).stdout
    assert example("-m", "chrf", "--format", ending).stdout == by_name
    assert example("-m", "chrf", f"--format={ending}").stdout == by_name
    assert adequa("datasets", "--format", ending).returncode == 0


def test_parquet_needs_segments(tmp_path: Path) -> None:
    for more in (["-o", tmp_path / "x.parquet"], ["--format", "parquet"]):
        refused = example("-m", "chrf", *more)
        assert refused.returncode == 2
        assert refused.stderr.endswith("add --segments.\n")


def test_quiet_training_prints_a_report_of_a_named_format(tmp_path: Path) -> None:
    options: list[str | Path] = [
        "--ratings",
        RATINGS,
        "-m",
        "chrf",
        "-m",
        "wer",
        "--folds",
        "2",
        "-q",
    ]
    silent = adequa("train", "blend", *options, "-o", tmp_path / "silent")
    assert (silent.returncode, silent.stdout) == (0, "")
    reported = adequa("train", "blend", *options, "-o", tmp_path / "json", "--format", "json")
    assert json.loads(reported.stdout)
    assert reported.stderr == ""


def test_settings_are_listed_with_their_values() -> None:
    assert "a whole number from 1 to 100" in adequa("metrics", "bleu").stdout
    assert "exact, stem, synonym, paraphrase" in adequa("metrics", "meteor").stdout
    shown = adequa("encoders", "transformer").stdout
    assert "cls, mean, max, mean-sqrt-length, cls-last4, mean-last4" in shown


def test_metrics_and_encoders_are_written_in_every_format(tmp_path: Path) -> None:
    listed = json.loads(adequa("metrics", "--format", "json").stdout)
    assert {"chrf", "bleu"} <= {each["name"] for each in listed["metrics"]}
    described = json.loads(adequa("metrics", "chrf", "--format", "json").stdout)
    assert described["settings"][0].keys() == {"setting", "default", "values"}
    assert adequa("encoders", "-o", tmp_path / "kinds.md").returncode == 0
    assert (tmp_path / "kinds.md").read_text(encoding="utf-8").startswith("| kind | summary |")


def test_a_saved_metric_is_described(tmp_path: Path) -> None:
    options: list[str | Path] = ["--ratings", RATINGS, "-m", "chrf", "-m", "wer", "--folds", "2"]
    adequa("train", "blend", *options, "-q", "-o", tmp_path / "mine")
    shown = adequa("metrics", tmp_path / "mine").stdout
    assert shown.startswith("mine: a trained metric")
    assert "kind        blend\n" in shown
    assert "signature   mine|nrefs:1|" in shown
    assert "trained on  ratings.tsv\n" in shown
    assert '["chrf", "wer"]' in shown
