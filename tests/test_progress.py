"""The progress bar: on a terminal, after some patience, and never otherwise."""

from __future__ import annotations

import io
import threading

import pytest

from adequa.cli import output as module
from adequa.cli.output import progress


class Terminal(io.StringIO):
    """A terminal that tells when something is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.written.set()
        return super().write(text)


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error as a terminal; no fixture, because pytest sets its own after fixtures."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return terminal


def test_long_work_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Scoring", 10, quiet=False) as work:
        work.bytes_read(5)
        work.texts_scored(1234)
        assert terminal.written.wait(30)  # by the clock: no more work is reported
    assert "Scoring" in terminal.getvalue()
    assert "50%" in terminal.getvalue()
    assert "1,234 segments" in terminal.getvalue()


def test_work_after_all_is_read_shows_no_percentage(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Scoring", 10, quiet=False) as work:
        work.bytes_read(10)
        work.texts_scored(1)
        assert terminal.written.wait(30)
    last = terminal.getvalue().rpartition("Scoring")[2]
    assert "segments" in last
    assert "%" not in last


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with progress("Scoring", 10, quiet=False) as work:
        work.bytes_read(10)
    assert terminal.getvalue() == ""


def test_quiet_or_no_terminal_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Scoring", 10, quiet=True) as work:
        work.bytes_read(10)
        work.texts_scored(1)
    plain = io.StringIO()
    monkeypatch.setattr("sys.stderr", plain)
    with progress("Scoring", 10, quiet=False) as work:
        work.bytes_read(10)
    assert terminal.getvalue() == plain.getvalue() == ""


def test_stages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Scoring", None, quiet=False) as work:
        work.stage("Resampling cs-en")
        assert terminal.written.wait(30)
    assert "Resampling cs-en" in terminal.getvalue()
    assert "segments" not in terminal.getvalue()


def test_how_well_it_goes_has_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Training", None, quiet=False) as work:
        work.stage("Learning from preferences (1 of 2), 12 of 12")
        work.step(5, 10)
        work.status("loss 0.6931, pearson 0.712, accuracy 0.655")
        assert terminal.written.wait(30)
    last = terminal.getvalue().rpartition("12 of 12")[2]
    assert "50%" in last
    assert "left" in last
    assert "loss 0.6931, pearson 0.712, accuracy 0.655" in last.splitlines()[1]


def test_the_time_left_is_that_of_the_work_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two runs with as many steps is not done because the first one is."""
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Training", None, quiet=False) as work:
        work.step(10, 10)
        work.step(1, 10)
        assert terminal.written.wait(30)
    last = terminal.getvalue().rpartition("Training")[2]
    assert "10%" in last
    assert "-:--:--" in last
