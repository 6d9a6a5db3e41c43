"""The progress bar: on a terminal, after some patience, and never otherwise."""

from __future__ import annotations

import io
import threading

import pytest

from adequa.cli import progress as module
from adequa.cli.progress import progress


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
        work.read(5)
        work.scored(1234)
        assert terminal.written.wait(30)  # by the clock: no more work is reported
    assert "Scoring" in terminal.getvalue()
    assert "50%" in terminal.getvalue()
    assert "1,234 segments" in terminal.getvalue()


def test_work_after_all_is_read_shows_no_percentage(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Scoring", 10, quiet=False) as work:
        work.read(10)
        work.scored(1)
        assert terminal.written.wait(30)
    last = terminal.getvalue().rpartition("Scoring")[2]
    assert "segments" in last
    assert "%" not in last


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with progress("Scoring", 10, quiet=False) as work:
        work.read(10)
    assert terminal.getvalue() == ""


def test_quiet_or_no_terminal_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Scoring", 10, quiet=True) as work:
        work.read(10)
        work.scored(1)
    plain = io.StringIO()
    monkeypatch.setattr("sys.stderr", plain)
    with progress("Scoring", 10, quiet=False) as work:
        work.read(10)
    assert terminal.getvalue() == plain.getvalue() == ""


def test_stages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Scoring", None, quiet=False) as work:
        work.stage("Resampling cs-en")
        assert terminal.written.wait(30)
    assert "Resampling cs-en" in terminal.getvalue()
    assert "segments" not in terminal.getvalue()
