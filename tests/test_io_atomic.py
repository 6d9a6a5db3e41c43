"""Files that are complete or not there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from adequa.errors import AdequaError
from adequa.io.atomic import atomic_write


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(path: str | Path, text: str) -> None:
    with atomic_write(path) as handle:
        handle.write(text)


def error(path: str | Path) -> str:
    with pytest.raises(AdequaError) as caught:
        put(path, "text\n")
    return str(caught.value)


def fail_halfway(path: str, failure: type[BaseException]) -> None:
    with atomic_write(path) as handle:
        handle.write("half")
        raise failure


def listing() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


def test_appears_only_when_complete() -> None:
    Path("a.tsv").write_text("before\n")
    with atomic_write("a.tsv") as handle:
        handle.write("é\u2028\n")
        handle.flush()
        assert Path("a.tsv").read_text() == "before\n"
    assert Path("a.tsv").read_bytes() == "é\u2028\n".encode()
    assert listing() == ["a.tsv"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_failures_leave_nothing_behind(failure: type[BaseException]) -> None:
    Path("a.tsv").write_text("before\n")
    for name in ("a.tsv", "new.tsv"):
        with pytest.raises(failure):
            fail_halfway(name, failure)
    assert listing() == ["a.tsv"]
    assert Path("a.tsv").read_text() == "before\n"


def test_a_full_disk_is_said_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert error("a.tsv") == "a.tsv cannot be written: No space left on device."
    assert listing() == []


def test_permissions() -> None:
    old = os.umask(0o027)
    try:
        put("new", "x")
        assert stat.S_IMODE(Path("new").stat().st_mode) == 0o640
        Path("old").touch()
        Path("old").chmod(0o604)
        put("old", "x")
        assert stat.S_IMODE(Path("old").stat().st_mode) == 0o604
    finally:
        os.umask(old)


def test_links_are_written_through() -> None:
    Path("real").mkdir()
    Path("real/file").write_text("before")
    Path("link").symlink_to("real/file")
    Path("dangling").symlink_to("real/new")
    put("link", "after")
    put("dangling", "new")
    assert Path("link").is_symlink()
    assert Path("real/file").read_text() == "after"
    assert Path("real/new").read_text() == "new"


def test_targets_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    assert error("none/a") == "none/a cannot be written: there is no folder for it."
    Path("folder").mkdir()
    assert error("folder") == "folder is a folder; give the name of a file in it."
    assert error("new/") == "new/ is a folder; give the name of a file in it."
    Path("file").touch()
    assert error("file/a") == "file/a cannot be written: Not a directory."
    Path("loop").symlink_to("loop")
    assert error("loop").startswith("loop cannot be written: ")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert error("file") == "file cannot be written: the file is write-protected."
    assert listing() == ["file", "folder", "loop"]


def test_devices_and_pipes() -> None:
    put("/dev/null", "x\n")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    os.mkfifo("pipe")
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_text()))
    reader.start()
    put("pipe", "through\n")
    reader.join()
    assert got == ["through\n"]
    read_end, write_end = os.pipe()
    put(f"/dev/fd/{write_end}", "descriptor\n")
    assert os.read(read_end, 100) == b"descriptor\n"
    os.close(read_end)
    os.close(write_end)


def test_standard_output_redirected_to_a_file() -> None:
    program = (
        "from adequa.io.atomic import atomic_write\n"
        "print('before')\n"
        "with atomic_write('/dev/stdout') as handle: handle.write('written\\n')\n"
        "print('after')\n"
    )
    with Path("out.txt").open("w") as out:
        subprocess.run([sys.executable, "-c", program], stdout=out, check=True)
    assert Path("out.txt").read_text() == "before\nwritten\nafter\n"


def test_a_reader_that_stops_is_no_mistake() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with pytest.raises(BrokenPipeError), atomic_write(f"/dev/fd/{write_end}") as handle:
        handle.write("text\n")
    os.close(write_end)
