"""The progress bar: on a terminal, after some patience, and never otherwise."""

from __future__ import annotations

import io

import pytest

from adequa.cli import progress as module
from adequa.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_after_work(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, patience: float, quiet: bool = False
) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "PATIENCE", patience)
    with progress("Scoring", 10, quiet=quiet) as advance:
        advance(4)
        advance(1)
    return stream.getvalue()


def test_long_work_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = shown_after_work(monkeypatch, Terminal(), patience=-1)
    assert "Scoring" in shown
    assert "50%" in shown


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_after_work(monkeypatch, Terminal(), patience=60) == ""


def test_quiet_or_no_terminal_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_after_work(monkeypatch, Terminal(), patience=-1, quiet=True) == ""
    assert shown_after_work(monkeypatch, io.StringIO(), patience=-1) == ""
