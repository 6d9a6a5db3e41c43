"""The progress bar: on a terminal, after some patience, and never otherwise."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from adequa.cli import output as module
from adequa.cli.output import ReadAhead, progress
from adequa.progress import NO_PROGRESS, Progress


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
    with progress("Scoring", None, quiet=False) as work:
        work.expect(4936)
        work.texts_scored(1234)
        assert terminal.written.wait(30)  # by the clock: no more work is reported
    assert "Scoring" in terminal.getvalue()
    assert "25%" in terminal.getvalue()
    assert "1,234 segments" in terminal.getvalue()


def last_line(terminal: Terminal) -> str:
    """The bar as it was drawn last."""
    return terminal.getvalue().rpartition("Scoring")[2]


def test_bytes_count_until_texts_do(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Reading", 10, quiet=False) as work:
        work.bytes_read(10)
        work.stage("Scoring with chrf")
        work.expect(200)
        work.texts_scored(20)
        work.bytes_read(1)
        assert terminal.written.wait(30)
    assert " 10%" in last_line(terminal)


def test_the_time_left_follows_from_the_fraction(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    clock = [100.0]
    monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    with progress("Scoring", None, quiet=False) as work:
        work.expect(1000)
        clock[0] += 30
        work.texts_scored(100)  # a tenth in 30 s
        assert terminal.written.wait(30)
    assert "0:04:30 left" in last_line(terminal)


def test_work_of_unknown_size_shows_no_percentage_and_no_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(module, "PATIENCE", 0)
    with progress("Scoring", None, quiet=False) as work:
        work.bytes_read(10)
        work.texts_scored(1)
        assert terminal.written.wait(30)
    assert "1 segments" in last_line(terminal)
    assert "%" not in last_line(terminal)
    assert "left" not in last_line(terminal)


def estimates(path: Path, sizes: list[int], block: int, *, ahead: int) -> tuple[list[int], int]:
    """Totals that are expected while items are read in blocks, and how many items are yielded."""
    expected: list[int] = []
    reader = ReadAhead([str(path)], Progress(expect=expected.append), texts=ahead)

    def items() -> Iterator[int]:
        unread = 0
        for size in sizes:
            if unread < size:  # a reader takes whole blocks, and yields what they hold
                reader.bytes_read(block)
                unread += block
            unread -= size
            yield size

    return expected, sum(1 for _ in reader.items(items(), lambda _: 1))


def test_a_short_input_is_counted_exactly(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(bytes(300))
    assert estimates(path, [10] * 30, 1000, ahead=100) == ([30], 30)


def test_the_size_of_a_long_input_is_estimated(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(bytes(100_000))
    expected, count = estimates(path, [10] * 10_000, 1000, ahead=1000)
    assert count == expected[-1] == 10_000
    assert min(expected) > 9_000  # and never the 1,001 that were read by the first of them
    assert max(expected) < 11_000


def test_nothing_is_read_ahead_if_nobody_watches(tmp_path: Path) -> None:
    read: list[int] = []
    items = ReadAhead([], NO_PROGRESS).items(map(read.append, range(9)), lambda _: 1)
    next(items)
    assert len(read) == 1


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
        work.step(4, 10)
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
    assert "left" not in last
