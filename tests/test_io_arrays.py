"""Arrays of .npy and .npz files as NumPy writes them, and sentences on all others."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.io import arrays
from adequa.io.arrays import ArrayError, map_npy, read_npy, read_npz
from adequa.io.files import file_within, open_regular
from campaign.arrays import npy

ARRAYS: dict[str, Any] = {
    "float": np.arange(6, dtype="<f4").reshape(2, 3),
    "big": np.arange(6, dtype=">f8").reshape(3, 2),
    "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "text": np.array(["a", "", "Übersetzung 🎉"]),
    "switch": np.array([True, False]),
    "single": np.float16(2.5),
    "empty": np.zeros((0, 3)),
    "bytes": np.arange(3, dtype=np.uint8),
}


def packed(folder: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    path = folder / "a.npz"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def reason(path: Path) -> str:
    with pytest.raises(ArrayError) as caught:
        read_npz(path)
    return str(caught.value)


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_what_numpy_writes(write: Callable[..., None], tmp_path: Path) -> None:
    write(tmp_path / "a.npz", **ARRAYS)
    read = read_npz(tmp_path / "a.npz")
    assert list(read) == list(ARRAYS)
    for name, array in read.items():
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert array.dtype == ARRAYS[name].dtype
        assert array.flags.writeable
    assert list(read_npz(tmp_path / "a.npz", ["text"])) == ["text"]


@pytest.mark.parametrize("name", ARRAYS)
def test_single_arrays(name: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ARRAYS[name])
    for read in (read_npy, map_npy):
        np.testing.assert_array_equal(read(tmp_path / "a.npy"), ARRAYS[name])


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 1L), }",  # Python 2
        "{'shape': (2, 1), 'descr': '<f4', 'fortran_order': False}",
        "{ 'descr':'<f4','fortran_order':False,'shape':(2,1,) }" + " " * 40 + "\n",
    ],
)
def test_headers_of_other_writers(header: str, tmp_path: Path) -> None:
    path = packed(tmp_path, {"a.npy": npy(header, np.ones(2, "<f4").tobytes())})
    assert read_npz(path)["a"].tolist() == [[1], [1]]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "neither numbers nor text"),
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "a pickle"),
        ("{'descr': '<f3', 'fortran_order': False, 'shape': (2,), }", "unknown type <f3"),
        ("{'descr': '<U0', 'fortran_order': False, 'shape': (9,), }", "without characters"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "is damaged"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9999999999), }", "shape .* damag"),
        ("{'descr': '<f4', 'descr': '<f4', 'shape': (1,), }", "is damaged"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "8 bytes follow .* of 12"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "8 bytes follow .* of 4"),
        ("{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }", "is no character"),
        ("(" * 200, "is damaged"),
        ("{'descr': '''", "is damaged"),
    ],
)
def test_headers_that_are_wrong(header: str, message: str, tmp_path: Path) -> None:
    path = packed(tmp_path, {"a.npy": npy(header, b"\xff" * 8)})
    with pytest.raises(ArrayError, match=message):
        read_npz(path)


def test_archives_that_are_no_npz(tmp_path: Path) -> None:
    one = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", b"\0" * 4)
    assert "something else than arrays" in reason(packed(tmp_path, {"a.txt": b"text"}))
    assert "no array in NumPy's format" in reason(packed(tmp_path, {"a.npy": b"text and text"}))
    assert "cut short" in reason(packed(tmp_path, {"a.npy": b"text"}))
    for other in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert "compressed in another way" in reason(packed(tmp_path, {"a.npy": one}, other))
    content = bytearray(packed(tmp_path, {"a.npy": one}).read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # a flag in the directory
    (tmp_path / "a.npz").write_bytes(content)
    assert "encrypted" in reason(tmp_path / "a.npz")


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_MOST_UNPACKED", 1 << 20)
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(1 << 17), b=np.zeros(9))
    monkeypatch.setattr(arrays, "_read_member", lambda *_: pytest.fail("was unpacked"))
    assert "would take 1,04" in reason(tmp_path / "a.npz")
    monkeypatch.undo()
    monkeypatch.setattr(arrays, "_MOST_UNPACKED", 1 << 20)
    assert read_npz(tmp_path / "a.npz", ["b"])["b"].sum() == 0


def test_members_that_claim_one_anothers_bytes(tmp_path: Path) -> None:
    one = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (50,), }", b"\0" * 200)
    content = packed(tmp_path, {f"{name}.npy": one for name in "abcdefgh"}).read_bytes()
    directory = content.index(b"PK\x01\x02")
    (tmp_path / "a.npz").write_bytes(content[: content.index(b"PK", 2)] + content[directory:])
    with pytest.raises(ArrayError):
        read_npz(tmp_path / "a.npz")


def test_checksums_are_compared(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=np.ones(1000))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[4000] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    assert "Bad CRC" in reason(tmp_path / "a.npz")


def test_arrays_cut_short(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones(100))
    content = (tmp_path / "a.npy").read_bytes()
    for size in (0, 5, 9, 60, len(content) - 1):
        (tmp_path / "a.npy").write_bytes(content[:size])
        for read in (read_npy, map_npy):
            with pytest.raises(ArrayError, match="cut short|no array"):
                read(tmp_path / "a.npy")


def test_only_regular_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(AdequaError, match="is no regular file but a pipe or a device"):
            open_regular(path)
    with pytest.raises(AdequaError, match="is a folder"):
        open_regular(tmp_path)
    with pytest.raises(AdequaError, match="is no name of a file"):
        open_regular("a\0b")
    with pytest.raises(AdequaError, match="There is no file"):
        open_regular(tmp_path / "none")


def test_files_within_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    (folder / "deeper").mkdir(parents=True)
    (folder / "a").write_bytes(b"")
    (folder / "link").symlink_to("a")
    (folder / "out").symlink_to("/dev/zero")
    (tmp_path / "alias").symlink_to("inner")
    for name in ("a", "link", "deeper/../a", "none"):
        assert file_within(folder, name) == folder / name
    file_within(tmp_path / "alias", "link")
    for name in ("out", "../inner2/a", "/dev/zero", str(tmp_path / "b"), "deeper/../../a"):
        with pytest.raises(AdequaError, match="lies outside"):
            file_within(folder, name)
    with pytest.raises(AdequaError, match="none can have this name"):
        file_within(folder, "a\0b")


def test_a_stream_in_memory() -> None:
    stream = io.BytesIO()
    np.savez(stream, a=np.ones(2))
    assert arrays.unpack(stream)["a"].tolist() == [1, 1]
