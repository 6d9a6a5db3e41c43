"""`adequa train ensemble` as its users find it: a folder and a report, or one sentence."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from test_ensemble import blend, scores

from adequa.cli.main import main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[object, str, str]:
    monkeypatch.setattr(sys, "argv", ["adequa", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    shown = capsys.readouterr()
    return caught.value.code or 0, shown.out, shown.err


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    blend("one", 1.0, 2.0)
    blend("two", 4.0)
    blend("other", 4.5, data="other.tsv")
    named = ("train", "ensemble", "-m", "one", "-m", "./two")
    assert run(monkeypatch, capsys, *named, "-o", "both") == (
        0,
        "both: the mean of the scores of 2 metrics\n\n"
        "part  name  kind   trained on  share\n"
        "   1  one   blend  mine.tsv        1\n"
        "   2  two   blend  mine.tsv        1\n\n"
        "Saved in both; use it with: adequa score -m both -t FILE -r FILE\n",
        "",
    )
    assert scores("both") == pytest.approx([3.5, 2.5, 2.5])
    code, shown, note = run(
        monkeypatch, capsys, *named, "-m", "other", "-o", "new", "--name", "mine"
    )
    assert (code, shown.splitlines()[0]) == (0, "mine: the mean of the scores of 3 metrics")
    assert note.startswith(
        "note: the parts were trained on different ratings (mine.tsv; other.tsv);"
    )
    shares = ("--share", "3", "--share", "1")
    assert run(monkeypatch, capsys, *named, *shares, "-o", "shared", "-q")[0] == 0
    assert scores("shared") == pytest.approx([3.25, 1.75, 1.75])
    quiet = run(monkeypatch, capsys, *named, "-m", "other", "-o", "silent", "-q")
    assert quiet == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-m", "one", "-o", "new"), "An ensemble needs at least two metrics."),
        (
            ("-m", "one", "-m", "two", "--share", "2", "-o", "new"),
            "of 2 metrics takes as many shares, not 1",
        ),
        (
            ("-m", "one", "-m", "two", "--share", "2", "--share", "0", "-o", "new"),
            "a number above 0, not 0",
        ),
        (("-m", "one", "-m", "bleu", "-o", "new"), "bleu is no saved metric"),
        (("-m", "one", "-m", "two", "-o", "one"), "one is there already"),
        (("-m", "one", "-m", "two", "-o", "chrf"), 'A metric cannot be called "chrf"'),
        (("-m", "one", "-m", "two", "-o", "one/new"), "one/new lies in "),
    ],
    ids=["one", "fewer shares", "no share", "lexical", "there", "name", "inside"],
)
def test_the_command_says_one_sentence(
    arguments: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    blend("one", 1.0)
    blend("two", 4.0)
    code, shown, error = run(monkeypatch, capsys, "train", "ensemble", *arguments)
    assert (code, shown) == (2, "")
    assert error.startswith("adequa: error: ")
    assert said in error
    assert len(error.splitlines()) == 1
    assert not Path("new").exists()
