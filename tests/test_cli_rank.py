"""`adequa rank` and `adequa train pairwise-ranker` as their users find them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adequa.cli.main import main
from test_cli import EXAMPLES
from tiny_preferences import tiny_preferences, write_preferences

FILES = [str(EXAMPLES / f"{name}.txt") for name in ("fluent", "literal", "broken")]
REFERENCE = str(EXAMPLES / "reference.txt")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["adequa", *words])
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def ranked(*further: str) -> tuple[str, ...]:
    return ("rank", *(word for file in FILES for word in ("-t", file)), "-r", REFERENCE, *further)


def test_systems_are_ranked_by_the_ranker_that_comes_with_adequa(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(capsys, *ranked("--resamples", "50"))
    assert code == 0
    first, *lines = out.splitlines()
    interval = "95% interval"
    assert first.split() == f"rank system expected wins {interval} Bradley-Terry {interval}".split()
    assert [line.split()[:2] for line in lines[:3]] == [
        ["1", "fluent"],
        ["2", "literal"],
        ["3", "broken"],
    ]
    assert "Mean probability that the system of a row is better" in out
    assert "|inputs:sentbleu," in out


def test_json_and_tsv_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    words = ranked("-m", "chrf", "--resamples", "50", "--segments")
    _, out, _ = run(capsys, *words, "--format", "json")
    content = json.loads(out)
    assert [system["system"] for system in content["systems"]] == ["fluent", "literal", "broken"]
    best = content["systems"][0]
    assert set(best["better_than"]) == {"literal", "broken"}
    _, out, _ = run(capsys, *words, "--format", "tsv")
    header, *rows = (line.split("\t") for line in out.splitlines())
    assert header == ["system", "segment", "score"]
    assert [float(row[2]) for row in rows if row[0] == "fluent"] == best["segments"]
    _, out, _ = run(capsys, *ranked("-m", "chrf", "--format", "tsv"))
    row = out.splitlines()[1].split("\t")
    assert row[:2] == ["1", "fluent"]
    assert float(row[2]) == best["expected_wins"]["value"]
    _, out, _ = run(capsys, *words)
    assert out.splitlines()[0].split() == ["segment", "fluent", "literal", "broken"]


def test_every_format_of_a_ranking(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ranked("-m", "chrf", "--resamples", "50")
    for ending in (".csv", ".md", ".tex", ".html", ".json"):
        assert run(capsys, *words, "-o", str(tmp_path / f"ranking{ending}"))[:2] == (0, "")
    assert (tmp_path / "ranking.csv").read_text().startswith("rank,system,expected_wins,")
    code, _, err = run(capsys, *words, "-o", "ranking.parquet")
    assert (code, "add --segments" in err) == (2, True)
    pytest.importorskip("pyarrow")
    assert run(capsys, *words, "--segments", "-o", str(tmp_path / "wins.parquet"))[0] == 0
    assert (tmp_path / "wins.parquet").read_bytes().startswith(b"PAR1")


def test_one_system_cannot_be_ranked(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "rank", "-t", FILES[0], "-r", REFERENCE, "-m", "chrf")
    assert (code, "at least two systems" in err) == (2, True)


def test_a_table_of_systems(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = tmp_path / "systems.tsv"
    table.write_text("system\tmt\tref\na\tthe cat\tthe cat\nb\ta dog\tthe cat\n")
    _, out, _ = run(capsys, "rank", "-i", str(table), "-m", "chrf", "--format", "tsv")
    assert [line.split("\t")[1] for line in out.splitlines()[1:]] == ["a", "b"]
    table.write_text("mt\tref\nthe cat\tthe cat\n")
    code, _, err = run(capsys, "rank", "-i", str(table), "-m", "chrf")
    assert code == 2
    assert err.startswith("adequa: error:")


def test_a_ranker_is_trained_saved_and_used(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="training needs PyTorch")
    preferences = write_preferences(Path("preferences.tsv"), tiny_preferences(40))
    words = ("--input", "sentbleu", "--hidden", "0", "--epochs", "5", "-o", "mine")
    code, out, _ = run(
        capsys, "train", "pairwise-ranker", "--preferences", str(preferences), *words
    )
    assert code == 0
    assert out.startswith("mine: trained on 72 preferences (preferences.tsv)\n")
    assert "adequa rank -m mine -t FILE -t FILE -r FILE" in out
    _, out, _ = run(capsys, *ranked("-m", "mine", "--format", "tsv"))
    assert [line.split("\t")[1] for line in out.splitlines()[1:]] == ["fluent", "literal", "broken"]
    code, _, err = run(capsys, "score", "-m", "mine", "-t", FILES[0], "-r", REFERENCE)
    assert (code, "give several systems to `adequa rank`" in err) == (2, True)


def test_scores_of_a_file_are_an_input(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="training needs PyTorch")
    judgements = tiny_preferences(40)
    preferences = write_preferences(Path("preferences.tsv"), judgements)
    Path("mine.tsv").write_text("".join("0.9\t0.2\n" for _ in range(len(judgements))))
    words = ("train", "pairwise-ranker", "--preferences", str(preferences), "--epochs", "5")
    code, out, _ = run(capsys, *words, "--scores", "mine.tsv", "--hidden", "0", "-o", "ranker")
    assert code == 0
    assert "1.000" in out  # every preference is ordered as the file has it
    table = Path("systems.tsv")
    table.write_text("system\tmt\tref\tmine\na\tx\ty\t0.1\nb\tz\ty\t0.5\n")
    _, out, _ = run(capsys, "rank", "-i", str(table), "-m", "ranker", "--format", "tsv")
    assert [line.split("\t")[1] for line in out.splitlines()[1:]] == ["b", "a"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--preferences", str(EXAMPLES / "ratings.tsv")), "holds no preferences"),
        (("--preferences", "none.tsv"), "none.tsv"),
    ],
)
def test_what_cannot_be_trained_on(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, _, err = run(capsys, "train", "pairwise-ranker", *words, "-o", "mine")
    assert (code, said in err, Path("mine").exists()) == (2, True, False)
