"""What `adequa reproduce` shows while it trains and scores: steps, time left, and how well it goes.

Only on a terminal; nothing of it goes to a pipe or a file.
"""

from __future__ import annotations

import io

import pytest

from adequa.cli import output as module
from adequa.cli.output import progress
from adequa.progress import Progress
from test_progress import open_terminal


def train(seen: Progress, steps: int) -> None:
    seen.stage("Learning from preferences (1 of 2), 12 of 12")
    seen.step(steps, 10)
    seen.status(f"wmt16-ratings/cs-en: step {steps} of 10, loss 0.6931, pearson 0.712")


def test_a_training_shows_steps_figures_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Scoring", None, quiet=False) as work:
        train(work, 4)
        train(work, 5)
        assert terminal.written.wait(30)
    last = terminal.getvalue().rpartition("12 of 12")[2]
    assert "50%" in last
    assert "left" in last
    said = "wmt16-ratings/cs-en: step 5 of 10, loss 0.6931, pearson 0.712"
    assert said in last.splitlines()[1]


def test_the_scoring_after_it_is_not_done_because_the_training_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Scoring", None, quiet=False) as work:
        train(work, 5)
        train(work, 10)
        work.status("")
        work.stage("Scoring with rated")
        work.texts_scored(1234)
        assert terminal.written.wait(30)
    last = terminal.getvalue().rpartition("Scoring with rated")[2]
    assert "1,234 segments" in last
    assert "%" not in last
    assert "loss" not in last


def test_no_terminal_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = io.StringIO()
    monkeypatch.setattr("sys.stderr", plain)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Scoring", None, quiet=False) as work:
        train(work, 10)
    assert plain.getvalue() == ""
