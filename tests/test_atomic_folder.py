"""Folders that are complete or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adequa.errors import AdequaError
from adequa.io.atomic import atomic_folder, check_new_folder


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(path: str | Path) -> None:
    with atomic_folder(path) as folder:
        (folder / "a").write_text("text")


def fail_halfway(path: str, failure: type[BaseException]) -> None:
    with atomic_folder(path) as folder:
        (folder / "a").write_text("half")
        raise failure


def error(path: str | Path) -> str:
    with pytest.raises(AdequaError) as caught:
        put(path)
    with pytest.raises(AdequaError) as before:
        check_new_folder(path)
    assert str(before.value) == str(caught.value)  # better before the work than after it
    assert "\n" not in str(caught.value)
    return str(caught.value)


def listing() -> list[str]:
    return sorted(str(path) for path in Path().rglob("*"))


def test_appears_only_when_complete() -> None:
    with atomic_folder("new") as folder:
        (folder / "a").write_text("text")
        assert not Path("new").exists()
    assert listing() == ["new", "new/a"]
    assert Path("new/a").read_text() == "text"


def test_an_empty_folder_is_taken_and_folders_above_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("empty").mkdir()
    put("empty")
    put("above/and/more")
    put("above/../beside")
    assert listing() == [
        "above", "above/and", "above/and/more", "above/and/more/a", "beside", "beside/a",
        "empty", "empty/a",
    ]  # fmt: skip
    Path("inside").mkdir()
    monkeypatch.chdir("inside")
    put(".")
    monkeypatch.chdir("..")
    assert Path("inside/a").read_text() == "text"


def test_mode_is_that_of_any_new_folder() -> None:
    put("new")
    Path("other").mkdir()
    assert Path("new").stat().st_mode == Path("other").stat().st_mode


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_failures_leave_nothing_behind(failure: type[BaseException]) -> None:
    Path("empty").mkdir()
    Path("there").mkdir()
    for path in ("new", "empty", "there/above/new"):
        with pytest.raises(failure):
            fail_halfway(path, failure)
    assert listing() == ["empty", "there"]


def test_what_the_system_says_becomes_a_sentence() -> None:
    with pytest.raises(
        AdequaError, match="^above/new cannot be written: No space left on device.$"
    ):
        with_full_disk("above/new")
    assert listing() == []


def with_full_disk(path: str) -> None:
    with atomic_folder(path):
        raise OSError(28, os.strerror(28))


def test_someone_else_came_first() -> None:
    def raced() -> None:
        with atomic_folder("new") as folder:
            (folder / "a").write_text("ours")
            Path("new").mkdir()
            Path("new/b").write_text("theirs")

    with pytest.raises(AdequaError, match="^new cannot be written: "):
        raced()
    assert listing() == ["new", "new/b"]


def test_nothing_is_written_over() -> None:
    Path("full").mkdir()
    Path("full/b").write_text("before")
    Path("file").write_text("before")
    Path("dangling").symlink_to("absent")
    Path("link").symlink_to("full")
    before = listing()
    assert "full is there already; give a new name" in error("full")
    for name in ("file", "dangling", "link"):
        assert f"{name} is there already and is no folder" in error(name)
    assert "file takes no new folders" in error("file/new")
    assert listing() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_above_that_is_write_protected() -> None:
    Path("protected").mkdir(mode=0o500)
    assert "protected takes no new folders" in error("protected/new/metric")


def test_a_folder_above_that_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("protected").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "protected")
    assert "protected takes no new folders" in error("protected/new/metric")
    assert listing() == ["protected"]
