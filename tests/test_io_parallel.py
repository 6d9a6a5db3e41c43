"""Hypotheses, references and sources side by side."""

from __future__ import annotations

import io
import os
import sys
import threading
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io.read import read_parallel, system_names
from adequa.segments import Segments


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, *texts: str) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes("".join(f"{text}\n" for text in texts).encode())
    return name


def whole(batches: Sequence[Segments], system: str) -> Segments:
    """One system's batches put together."""
    own = [batch for batch in batches if set(batch.ids["system"]) == {system}]
    return Segments(
        sum((batch.hypotheses for batch in own), ()),
        sum((batch.references for batch in own), ()),
        sum((batch.sources or () for batch in own), ()) or None,
        {name: sum((batch.ids[name] for batch in own), ()) for name in own[0].ids},
    )


def error(*args: Any, **options: Any) -> str:
    with pytest.raises(AdequaError) as caught:
        list(read_parallel(*args, **options))
    return str(caught.value)


def test_two_systems_two_references_and_a_source() -> None:
    systems = [write("a.txt", "a1", "a2", ""), write("b.txt", "b1", "", "b3\u2028")]
    references = [write("r1", "x1", "x2", "x3"), write("r2", "y1", "y2\x85", "y3")]
    batches = list(read_parallel(systems, references, write("s", "s1", "", "s3"), batch=2))
    assert [(batch.ids["system"][0], len(batch)) for batch in batches] == [
        ("a", 2),
        ("b", 2),
        ("a", 1),
        ("b", 1),
    ]
    assert batches[0].references is batches[1].references
    assert batches[2].references is batches[3].references
    assert whole(batches, "b") == Segments(
        ("b1", "", "b3\u2028"),
        (("x1", "y1"), ("x2", "y2\x85"), ("x3", "y3")),
        ("s1", "", "s3"),
        {"system": ("b", "b", "b")},
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 30), st.integers(1, 40), st.integers(1, 3), st.booleans())
def test_batches_of_any_size_are_the_same_segments(
    size: int, batch: int, references: int, sourced: bool
) -> None:
    def column(name: str) -> list[str]:
        return [f"{name} {i}" for i in range(size)]

    files = [write(f"{name}.txt", *column(name)) for name in ("h", "s", "r0", "r1", "r2")]
    used = [f"r{i}" for i in range(references)]
    batches = list(
        read_parallel(
            files[:1], files[2 : 2 + references], files[1] if sourced else None, batch=batch
        )
    )
    assert whole(batches, "h") == Segments(
        tuple(column("h")),
        tuple(zip(*map(column, used), strict=True)),
        tuple(column("s")) if sourced else None,
        {"system": ("h",) * size},
    )


def test_unequal_lengths_are_counted_to_the_end() -> None:
    one = write("one.txt", "x")
    many = write("many.txt", *["x"] * 2500)
    two = write("two.txt", "x", "")
    assert error([one, two], [many], batch=1000) == (
        "All files need the same number of segments, but "
        "one.txt has 1 line, two.txt has 2 lines, many.txt has 2,500 lines."
    )
    assert error([many], [write("r.txt", *["x"] * 2000)], batch=1000) == (
        "All files need the same number of segments, but "
        "many.txt has 2,500 lines, r.txt has 2,000 lines."
    )
    assert error([one], [one], write("none.txt")) == (
        "All files need the same number of segments, but one.txt has 1 line, none.txt is empty."
    )


def test_empty_references_and_files() -> None:
    hypotheses = write("h.txt", *["x"] * 5)
    blank = write("r.txt", "x", "x", "x", " \u2028\t", "x")
    sentence = (
        "r.txt, line 4: the reference is empty. If segments have different numbers of references, "
        'give them as JSONL with a list under "ref".'
    )
    assert error([hypotheses], [blank]) == sentence
    assert error([hypotheses], [hypotheses, blank], batch=2) == sentence
    empty = write("empty.txt")
    assert error([empty], [empty]) == "empty.txt is empty: there is nothing to score."


def test_files_given_badly() -> None:
    a, r = write("a.txt", "x"), write("r.txt", "x")
    assert error(["./a.txt", a], [r]) == "./a.txt is given more than once among the hypotheses."
    assert error([a], [r, r]) == "r.txt is given more than once among the references."
    assert error(["-"], ["-"]) == (
        "Standard input can be read once only, but - is given more than once."
    )
    assert error([], [r]) == (
        "Segments need at least one file of hypotheses, and one of references or sources."
    )
    assert error([a], ["missing.txt"]) == "There is no file missing.txt."
    assert error([a], ["."]) == ". is a folder, not a file."
    # A system that is scored against itself is odd, but a fair question.
    assert len(list(read_parallel([a], [a], a))) == 1


@pytest.mark.parametrize(
    ("first", "second", "what", "ending"),
    [
        ('<refset setid="a">', "<doc>", "mark-up", ".sgm"),
        ('<?xml version="1.0"?>', "<tmx>", "mark-up", ".tmx"),
        ('{"mt": "a"}', '{"mt": "b"}', "a table", ".jsonl"),
        ("[", '{"mt": "a"}]', "a table", ".json"),
        ("id\tmt\tref", "1\ta\tb", "a table", ".tsv"),
        ('"source","reference"', "a,b", "a table", ".csv"),
    ],
)
def test_mark_up_and_tables_are_no_plain_text(
    first: str, second: str, what: str, ending: str
) -> None:
    disguised, text = write("a.txt", "", first, second), write("b.txt", "x", "y", "z")
    sentence = (
        f"a.txt is plain text by its name, and {what} by its content; its name should end in "
        f"{ending}."
    )
    assert error([disguised], [text]) == error([text], [disguised]) == sentence
    assert error([text], [write("c.txt", "x", "y", "z")], disguised) == sentence


def test_text_that_resembles_mark_up_or_tables_is_read() -> None:
    texts = ("<b>Bold</b> text", '<refset setid="a">', "a\tb", "c\td", '{"a": 1}', "[", "mt, yes")
    (batch,) = read_parallel([write("a.txt", *texts)], [write("b.txt", *texts)])
    assert batch.hypotheses == texts


def test_standard_input_and_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"h1\nh2\n")))
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_bytes, args=(b"r1\nr2\n",))
    writer.start()
    (batch,) = read_parallel(["-"], ["pipe"])
    writer.join()
    assert batch.ids["system"] == ("stdin", "stdin")
    assert batch.references == (("r1",), ("r2",))


def test_open_descriptors() -> None:
    """What the shell's <(command) gives."""
    read_end, write_end = os.pipe()
    os.write(write_end, b"h1\n")
    os.close(write_end)
    (batch,) = read_parallel([f"/dev/fd/{read_end}"], [write("r.txt", "r1")])
    os.close(read_end)
    assert batch.hypotheses == ("h1",)


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a.txt.gz"], ["a"]),
        (["news.de-en.uedin.txt"], ["news.de-en.uedin"]),
        (["x/a.txt", "x/b.txt"], ["a", "b"]),
        (["x/a.txt", "y/a.txt", "z/b.txt"], ["x/a", "y/a", "b"]),
        (["x/a.txt", "x/a.txt.gz"], ["a.txt", "a.txt.gz"]),
        (["out.sysA", "out.sysB"], ["out.sysA", "out.sysB"]),
        (["x/out.sysA", "x/out.sysB"], ["out.sysA", "out.sysB"]),
        (
            ["x/out.A", "x/out.B", "y/out.A", "y/out.B"],
            ["x/out.A", "x/out.B", "y/out.A", "y/out.B"],
        ),
        (["p/x/a.txt", "q/x/a.txt"], ["p/x/a.txt", "q/x/a.txt"]),
        (["a.txt", "x/a.txt"], ["a", "x/a"]),
        (["/dev/fd/62", "/dev/fd/63", "-"], ["62", "63", "stdin"]),
        ([".hidden"], [".hidden"]),
        ([os.fsdecode(b"b\xe9.txt")], ["b\\xe9"]),
    ],
)
def test_names_of_systems(paths: list[str], names: list[str]) -> None:
    assert system_names([(path, "") for path in paths]) == names


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "x/", "y/", "p/x/"]),
            st.sampled_from(["a", "b", "x"]),
            st.sampled_from(["", ".txt", ".a", ".txt.gz"]),
        ).map("".join),
        unique=True,
    )
)
def test_names_of_different_files_differ(paths: list[str]) -> None:
    assert len(set(system_names([(path, "") for path in paths]))) == len(paths)


def test_memory_does_not_grow_with_the_files() -> None:
    hypotheses = write("h.txt", *["a hypothesis of some length for this test"] * 200_000)
    references = write("r.txt", *["a reference of some length for this test too"] * 200_000)
    tracemalloc.start()
    count = sum(map(len, read_parallel([hypotheses], [references])))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 200_000
    assert peak < 3_000_000


def test_equal_names_of_files_that_cannot_be_written(tmp_path: Path) -> None:
    """A name with a byte that is no text, and one with the characters that stand for it."""
    raw = os.fsdecode(bytes(tmp_path) + b"/a\xff.txt")
    for path in (raw, str(tmp_path / "a\\xff.txt"), str(tmp_path / "r.txt")):
        Path(path).write_text("x\n", encoding="utf-8")
    with pytest.raises(AdequaError, match="Two systems are called .* name one of them with -t"):
        list(read_parallel([raw, tmp_path / "a\\xff.txt"], [tmp_path / "r.txt"]))
