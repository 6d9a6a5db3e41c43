"""Lines as they are in the file, whatever characters, block sizes and compressions."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import random
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io import text
from adequa.io.read import total_bytes
from adequa.io.text import LINE_LIMIT, MemoryFile, line_blocks, lines, text_format

# What str.splitlines or universal newlines would cut at, and a byte order mark.
ODD = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r", "\ufeff", "\0"]
segment = st.lists(
    st.sampled_from([*ODD, "a", "ü", "猫", "𝔞", " ", "\t"])
    | st.characters(exclude_categories=["Cs"], exclude_characters="\n"),
    max_size=12,
).map("".join)
# One trailing "\r" belongs to the line end, and the first mark of a file is its byte order mark.
line = segment.filter(lambda text: not text.endswith("\r") and not text.startswith("\ufeff"))


def compressed(suffix: str, content: bytes) -> bytes:
    match suffix:
        case ".gz":
            return gzip.compress(content, 1)
        case ".xz":
            return lzma.compress(content, preset=0)
        case _:
            return content


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


@settings(deadline=None, max_examples=150)
@given(
    st.lists(line, max_size=8),
    st.sampled_from(["", ".gz", ".xz"]),
    st.tuples(st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans()),
    st.integers(1, 40),
)
def test_lines_read_back(
    folder: Path, texts: list[str], suffix: str, layout: tuple[str, bool, bool], block: int
) -> None:
    end, marked, ended = layout
    content = end.join(texts) + (end if texts and (ended or not texts[-1]) else "")
    path = folder / f"text.txt{suffix}"
    path.write_bytes(compressed(suffix, (b"\xef\xbb\xbf" if marked else b"") + content.encode()))
    told: list[int] = []
    assert list(lines(path, block_size=block, advance=told.append)) == texts
    assert sum(told) == path.stat().st_size == total_bytes([path])


def test_final_line_end_is_no_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for content, expected in [
        (b"", []),
        (b"\xef\xbb\xbf", []),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a\n\n", ["a", ""]),
        (b"\r\n", [""]),
        (b"a\r\r\n", ["a\r"]),
        (b"a\r", ["a\r"]),
        (b"a\rb\n", ["a\rb"]),
    ]:
        path.write_bytes(content)
        assert list(lines(path)) == expected


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("a\u2028b\nc".encode())))
    assert list(lines("-")) == ["a\u2028b", "c"]
    assert not sys.stdin.buffer.closed
    assert total_bytes(["-"]) is None


def test_closed_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(AdequaError, match=r"^Standard input is closed"):
        list(lines("-"))


def test_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"a\nb\n",))
    writer.start()
    assert list(lines(pipe)) == ["a", "b"]
    writer.join()
    assert total_bytes([pipe]) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"good\nb\xe9d\n", "line 2: byte 2 of the line (0xe9) is not UTF-8; "),
        (b"\xff\xfea\0", "line 1: byte 1 of the line (0xff) is not UTF-8; "),
        (b"a\n\n\xed\xa0\x80", "line 3: byte 1 of the line (0xed) is not UTF-8; "),
        ("ü\n".encode() * 90_000 + b"x\xc3\n", "line 90001: byte 2 of the line (0xc3) is not "),
        (b"cut \xe2\x82", "line 1: byte 5 of the line (0xe2) is not UTF-8; "),
    ],
)
@pytest.mark.parametrize("block", [1, 7, 1 << 16])
def test_not_utf8(tmp_path: Path, content: bytes, message: str, block: int) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(content)
    with pytest.raises(AdequaError) as caught:
        list(lines(path, block_size=block))
    assert str(caught.value).startswith(f"{path}, {message}")
    encoding = "UTF-16" if content.startswith(b"\xff\xfe") else "ISO-8859-1"
    assert str(caught.value).endswith(f"for example with: iconv -f {encoding} -t UTF-8")


def test_a_binary_file_is_not_converted(tmp_path: Path) -> None:
    path = tmp_path / "picture.txt"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\xff")
    with pytest.raises(AdequaError) as caught:
        list(lines(path))
    assert str(caught.value) == f"{path} is not a text file: it holds binary data in line 1."


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_damaged_compression(tmp_path: Path, suffix: str) -> None:
    whole = compressed(suffix, random.Random(0).randbytes(5000).hex().encode())
    garbled = bytearray(whole)
    garbled[len(whole) // 2] ^= 0xFF
    garbled[-10:] = bytes(10)
    path = tmp_path / f"a.txt{suffix}"
    kind = {".gz": "gzip", ".xz": "xz"}[suffix]
    for content in (whole[:-9], whole[: len(whole) // 2], whole[:5], b"plain text\n", garbled):
        path.write_bytes(content)
        with pytest.raises(AdequaError) as caught:
            list(lines(path))
        assert str(caught.value) == (
            f"{path} is not a whole {kind} file: "
            "it is damaged, cut short, or not compressed at all."
        )


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AdequaError, match=r"^There is no file .*/none\.txt\.$"):
        list(lines(tmp_path / "none.txt"))
    with pytest.raises(AdequaError, match=r" is a folder, not a file\.$"):
        list(lines(tmp_path))
    assert total_bytes([tmp_path / "none.txt"]) is None

    def refuse(*_args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(AdequaError, match=r"secret\.txt cannot be read: Permission denied\.$"):
        list(lines("secret.txt"))


def test_a_line_longer_than_any_block(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    long = "ü" * 2_000_000
    path.write_text(f"{long}\nend\n", encoding="utf-8")
    # 4 MB in 4,000 blocks: joining the line anew for each would copy 8 GB.
    assert list(lines(path, block_size=1000)) == [long, "end"]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_text("a line of some length for this test\n" * 200_000)
    tracemalloc.start()
    count = sum(map(len, line_blocks(path)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 200_000
    assert peak < 1_000_000


def test_text_format() -> None:
    names = ["a.tsv", "b/a.b.JSON.GZ", "a.xml.xz", "a", "a.gz", "-"]
    assert list(map(text_format, names)) == [".tsv", ".json", ".xml", "", "", ""]


def test_a_file_in_memory_is_never_looked_for_on_disk(tmp_path: Path) -> None:
    on_disk = tmp_path / "secret.txt"
    on_disk.write_text("secret\n", encoding="utf-8")
    file = MemoryFile(str(on_disk), b"uploaded\n")
    assert os.fspath(file) == "secret.txt"
    assert list(lines(file)) == ["uploaded"]
    assert total_bytes([file]) == len(b"uploaded\n")
    assert list(lines(MemoryFile("-", b"a\n"))) == ["a"]
    assert list(lines(MemoryFile(r"C:\runs\a.txt.gz", gzip.compress(b"packed\n")))) == ["packed"]


def test_devices_are_refused() -> None:
    for name in ("/dev/zero", "/dev/random"):
        with pytest.raises(AdequaError, match=f"^{name} is a device, not a file.$"):
            list(lines(name))
    assert list(lines("/dev/null")) == []


def test_a_null_character_in_a_name() -> None:
    with pytest.raises(AdequaError, match="is no name of a file"):
        list(lines("a\0b"))


def test_lines_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(b"a\n" * 50 + b"b" * 300 + b"\nc\n")
    monkeypatch.setenv(LINE_LIMIT, "100")
    with pytest.raises(AdequaError, match=r"long.txt has a line of more than 100 bytes.*_LIMIT to"):
        list(lines(path, block_size=10))
    monkeypatch.setenv(LINE_LIMIT, "300")
    assert len(list(lines(path, block_size=10))) == 52
    for wrong in ("", "0", "-1", "1e9", "x"):
        monkeypatch.setenv(LINE_LIMIT, wrong)
        with pytest.raises(AdequaError, match=f"{LINE_LIMIT} must be a number of bytes"):
            list(lines(path))


def test_word_that_a_pipe_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, heard = tmp_path / "pipe", threading.Event()
    os.mkfifo(pipe)
    monkeypatch.setattr(text, "PATIENCE", 0.01)
    names: list[str] = []

    def write() -> None:
        heard.wait(10)
        pipe.write_bytes(b"a\n")

    def tell(name: str) -> None:
        names.append(name)
        heard.set()

    writer = threading.Thread(target=write)
    writer.start()
    token = text.waiting_for.set(tell)
    try:
        assert list(lines(pipe)) == ["a"]
    finally:
        text.waiting_for.reset(token)
        writer.join()
    assert names == [str(pipe)]
