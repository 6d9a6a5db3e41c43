"""Locks of folders: one holder at a time, none after its process, and nothing left behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adequa.errors import AdequaError
from adequa.io import atomic
from adequa.io.atomic import LOCK, locked

fcntl = pytest.importorskip("fcntl", reason="this system has no such locks")

HOLDING = """
import sys, pathlib
from adequa.io.atomic import locked
with locked(pathlib.Path(sys.argv[1])) as holder:
    print(holder, flush=True)
    sys.stdin.read()
"""


def holding(folder: Path) -> subprocess.Popen[str]:
    """Another process that holds a folder until it is told, or killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "us\n"
    return process


def holder_of(folder: Path) -> str:
    with locked(folder) as holder:
        return holder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_another_process_is_kept_out_until_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with holding(folder) as process:
        assert holder_of(folder) == "others"
        assert names(folder) == [LOCK]  # who was kept out removes nothing
        process.communicate()
    assert not folder.exists()
    assert holder_of(folder) == "us"


def test_a_kill_leaves_nothing_that_blocks(tmp_path: Path) -> None:
    with holding(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
    assert names(tmp_path) == [LOCK]
    assert holder_of(tmp_path) == "us"
    assert names(tmp_path) == []


def test_what_was_made_goes_and_what_was_there_stays(tmp_path: Path) -> None:
    assert holder_of(tmp_path / "a" / "b") == "us"
    assert names(tmp_path) == []
    (tmp_path / "mine").mkdir()
    assert holder_of(tmp_path / "mine") == "us"
    assert names(tmp_path) == ["mine"]
    with locked(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "file").write_text("kept")
    assert names(tmp_path / "a" / "b") == ["file"]


def test_an_error_within_lets_go(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), locked(tmp_path / "new"):
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_a_lock_that_is_gone_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opened just before its holder removed it: held, it would keep nobody else out."""
    take = atomic._try_lock
    taken: list[int] = []

    def removed_before(descriptor: int) -> atomic.Holder:
        if not taken:
            (tmp_path / LOCK).unlink()
        taken.append(descriptor)
        return take(descriptor)

    monkeypatch.setattr(atomic, "_try_lock", removed_before)
    with locked(tmp_path) as holder:
        assert holder == "us"
        assert len(taken) == 2
        assert holder_of(tmp_path) == "others"


@pytest.mark.parametrize("absent", [True, False], ids=["no module", "no such locks there"])
def test_without_locks_nobody_is_kept_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: bool
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    if absent:
        monkeypatch.setitem(sys.modules, "fcntl", None)
    else:
        monkeypatch.setattr(fcntl, "flock", refused)
    with locked(tmp_path) as one, locked(tmp_path) as other:
        assert (one, other) == ("unknown", "unknown")
    assert names(tmp_path) == []


def sentence(folder: Path) -> str:
    with pytest.raises(AdequaError) as caught:
        holder_of(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_that_cannot_be_written_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "in"):
        assert sentence(path).startswith(f"{path} cannot be written: ")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        assert sentence(tmp_path) == f"{tmp_path} cannot be written: it takes no new files."
    monkeypatch.setattr(atomic, "LOCK", "no/such")
    assert sentence(tmp_path / "new").endswith("no file can be made in it.")
    assert names(tmp_path) == ["file"]
