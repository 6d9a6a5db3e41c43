"""TSV, JSONL, JSON lists and Parquet, which all give the same segments."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io.columns import column_mapping
from adequa.io.read import read_table, total_bytes
from adequa.segments import Segments


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, content: str | bytes) -> str:
    content = content if isinstance(content, bytes) else content.encode()
    if name.endswith(".gz"):
        content = gzip.compress(content, 1)
    elif name.endswith(".xz"):
        content = lzma.compress(content, preset=0)
    Path(name).write_bytes(content)
    return name


Rows = list[dict[str, object]]


def write_tsv(name: str, rows: Rows) -> str:
    table = [list(rows[0]), *([str(cell) for cell in row.values()] for row in rows)]
    return write(name, "".join("\t".join(cells) + "\n" for cells in table))


def write_jsonl(name: str, rows: Rows) -> str:
    return write(name, "".join(json.dumps(row) + "\n" for row in rows))


def write_json(name: str, rows: Rows) -> str:
    return write(name, json.dumps(rows, indent=1, ensure_ascii=False))


def write_parquet(name: str, rows: Rows) -> str:
    pq.write_table(pa.Table.from_pylist(rows), name, row_group_size=3)
    return name


FORMATS: dict[str, Callable[[str, Rows], str]] = {
    "t.tsv": write_tsv,
    "t.tsv.gz": write_tsv,
    "t.jsonl": write_jsonl,
    "t.jsonl.xz": write_jsonl,
    "t.json": write_json,
    "t.json.gz": write_json,
    "t.parquet": write_parquet,
}

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
reference = any_text.filter(str.strip)
no_cuts = {"\t", "\n"}


def whole(batches: list[Segments]) -> Segments:
    return Segments(
        sum((batch.hypotheses for batch in batches), ()),
        sum((batch.references for batch in batches), ()),
        sum((batch.sources or () for batch in batches), ()) or None,
        {name: sum((batch.ids[name] for batch in batches), ()) for name in batches[0].ids},
    )


def read(path: str, **options: Any) -> Segments:
    return whole(list(read_table(path, **options)))


def error(path: str, **options: Any) -> str:
    with pytest.raises(AdequaError) as caught:
        list(read_table(path, **options))
    return str(caught.value)


@pytest.mark.parametrize("name", FORMATS)
def test_formats_agree(name: str) -> None:
    rows: Rows = [
        {"src": "s1", "mt": 'a "quoted', "ref": "x\u2028y", "system": "A", "doc": "d1", "more": 1},
        {"src": "", "mt": "", "ref": "z\x85", "system": "B", "doc": "d1", "more": 2},
        {"src": "s3", "mt": " c ", "ref": "w", "system": "A", "doc": "d2", "more": 3},
    ]
    path = FORMATS[name](name, rows)
    told: list[int] = []
    segments = read(path, keep_ids=("system", "doc", "more"), batch=2, advance=told.append)
    assert segments == Segments(
        ('a "quoted', "", " c "),
        (("x\u2028y",), ("z\x85",), ("w",)),
        ("s1", "", "s3"),
        {"system": ("A", "B", "A"), "doc": ("d1", "d1", "d2"), "more": ("1", "2", "3")},
    )
    assert sum(told) == total_bytes([path]) == Path(path).stat().st_size
    assert list(read(path).ids) == ["system"]


@pytest.mark.parametrize("name", FORMATS)
def test_columns_of_other_names(name: str) -> None:
    rows: Rows = [
        {
            "out put": f"h{i}",
            "refA": f"a{i}",
            "refB": f"b{i}",
            "ref": "unused",
            "who": "me",
            "d": "1",
        }
        for i in range(4)
    ]
    columns = column_mapping(["mt=out put", "ref=refA", "ref=refB", "system=who", "doc=d"])
    segments = read(FORMATS[name](name, rows), columns=columns, keep_ids=("doc",), batch=3)
    assert segments == Segments(
        ("h0", "h1", "h2", "h3"),
        (("a0", "b0"), ("a1", "b1"), ("a2", "b2"), ("a3", "b3")),
        None,
        {"system": ("me",) * 4, "doc": ("1",) * 4},
    )


@pytest.mark.parametrize("name", [name for name in FORMATS if "tsv" not in name])
def test_lists_of_references(name: str) -> None:
    rows: Rows = [{"mt": "h", "ref": ["a"]}, {"mt": "h", "ref": ["b", "c", "d"]}]
    segments = read(FORMATS[name](name, rows))
    assert segments.references == (("a",), ("b", "c", "d"))
    assert segments.ids["system"] == ("t", "t")
    rows = [{"mt": "h", "ref": ["a"], "ref2": "x"}, {"mt": "h", "ref": ["b", "c"], "ref2": "y"}]
    segments = read(FORMATS[name](name, rows), columns={"ref": ("ref2", "ref")})
    assert segments.references == (("x", "a"), ("y", "b", "c"))


def test_text_and_lists_mixed_in_jsonl() -> None:
    path = write_jsonl("t.jsonl", [{"mt": "h", "ref": "a"}, {"mt": "h", "ref": ["b", "c"]}])
    assert read(path).references == (("a",), ("b", "c"))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(any_text, st.lists(reference, min_size=1, max_size=3)), min_size=1),
    st.sampled_from(["t.jsonl", "t.json", "t.parquet"]),
    st.integers(1, 8),
)
def test_any_text_comes_back(cells: list[tuple[str, list[str]]], name: str, batch: int) -> None:
    rows: Rows = [{"mt": mt, "ref": refs} for mt, refs in cells]
    segments = read(FORMATS[name](name, rows), batch=batch)
    assert segments.hypotheses == tuple(mt for mt, _ in cells)
    assert segments.references == tuple(tuple(refs) for _, refs in cells)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(any_text, any_text, reference), min_size=1),
    st.sampled_from(["t.tsv", "t.tsv.gz", "t.tsv.xz"]),
    st.integers(1, 8),
)
def test_any_cell_comes_back(cells: list[tuple[str, str, str]], name: str, batch: int) -> None:
    cells = [row for row in cells if not no_cuts & set("".join(row)) and not row[2].endswith("\r")]
    if not cells:
        return
    rows: Rows = [{"mt": mt, "src": src, "ref": ref} for mt, src, ref in cells]
    path = write_tsv(name, rows)
    # A cell that begins with a quotation mark, or has one beside a line break, may be quoted:
    # test_io_quoting.py has those.
    is_raw = not any(cell.startswith('"') or "\r" in cell for row in cells for cell in row)
    for quoting in ("none", "auto") if is_raw else ("none",):
        segments = read(path, batch=batch, quoting=quoting)
        texts = zip(segments.hypotheses, segments.sources or (), segments.references, strict=True)
        assert [(mt, src, ref) for mt, src, (ref,) in texts] == cells


def test_standard_input_and_pipes_are_tsv(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"\xef\xbb\xbfmt\tref\r\nh\tr\r\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read("-") == Segments(("h",), (("r",),), None, {"system": ("stdin",)})
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_bytes, args=(content,))
    writer.start()
    assert read("pipe").hypotheses == ("h",)
    writer.join()


@pytest.mark.parametrize("name", ["t.tsv", "t.jsonl", "t.json"])
def test_streams_are_known_by_their_first_character(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: Rows = [{"mt": "h", "ref": "r"}, {"mt": "i", "ref": "s"}]
    content = Path(FORMATS[name](name, rows)).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read("-") == Segments(("h", "i"), (("r",), ("s",)), None, {"system": ("stdin",) * 2})


@pytest.mark.parametrize("name", FORMATS)
def test_aliases_of_fields(name: str) -> None:
    for mt, ref, src in (
        ("hypothesis", "reference", "source"),
        ("translation", "ref", "src"),
        ("mt", "reference", "source"),
    ):
        path = FORMATS[name](name, [{src: "s", mt: "h", ref: "r"}])
        assert read(path) == Segments(("h",), (("r",),), ("s",), {"system": ("t",)})


def test_blank_lines_before_the_first_row_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    table = '\n \n{"mt": "h", "ref": "r"}\n{"mt": "i"}\n'
    assert read(write("t.jsonl", table.replace('{"mt": "i"}\n', ""))).hypotheses == ("h",)
    assert error(write("t.jsonl", table)) == 't.jsonl, line 4 has no "ref".'
    assert error(write("t.tsv", "\nmt\tref\nh\t\n")).startswith('t.tsv, line 3: "ref" is empty')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.encode())))
    assert error("-") == 'standard input, line 4 has no "ref".'


def test_a_table_separated_by_commas() -> None:
    for header, row in (("mt,ref", "a,b"), ('"id";"translation";"reference"', '1;"a";b')):
        assert read(write("t.tsv", f"{header}\n{row}\n")).hypotheses == ("a",)
    assert "no column" in error(write("t.tsv", "Well, hello\nh\n"))


@pytest.mark.parametrize("name", FORMATS)
def test_two_aliases_of_one_field(name: str) -> None:
    path = FORMATS[name](name, [{"mt": "h", "translation": "i", "ref": "r"}])
    assert error(path) == (
        f'{name} has the columns "mt" and "translation", which name the same field; '
        "say which one to read with --column mt=NAME."
    )
    for column, hypothesis in (("mt", "h"), ("translation", "i")):
        assert read(path, columns={"mt": (column,)}).hypotheses == (hypothesis,)
    # A column that is read as another field is no alias.
    references = read(path, columns={"ref": ("translation",)}).references
    assert references == (("i",),)
    assert column_mapping(["hypothesis=out"]) == {"mt": ("out",)}


def test_blank_lines_at_the_end_do_not_count() -> None:
    assert len(read(write("t.tsv", "mt\tref\nh\tr\n\n\n"))) == 1
    assert len(read(write("t.jsonl", '{"mt": "", "ref": "r"}\r\n\r\n'))) == 1
    assert len(read(write("t.jsonl", ' {"mt": "h", "ref": "r", "x": NaN} \n'))) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "t.tsv is empty: there is nothing to score."),
        ("\n\n", "t.tsv is empty: there is nothing to score."),
        ("mt\tref\n", "t.tsv has no rows: there is nothing to score."),
        ("mt\tref\nh\tr\nh\n", "t.tsv, line 3 has 1 cell, but the header names 2."),
        ("mt\tref\nh\tr\th\n", "t.tsv, line 2 has 3 cells, but the header names 2."),
        ("mt\tref\n\nh\tr\n", "t.tsv, line 2 has 1 cell, but the header names 2."),
        ("mt\tref\tmt\nh\tr\th\n", 't.tsv has 2 columns of the name "mt".'),
        (
            "mt\tref\nh\tr\nh\t \n",
            't.tsv, line 3: "ref" is empty; every segment needs reference text.',
        ),
        (
            "mt\trefs\nh\tr\n",
            't.tsv has no column "ref". Did you mean "refs"? It has: mt, refs. '
            "Say which one to read with --column ref=NAME.",
        ),
    ],
)
def test_bad_tsv(content: str, message: str) -> None:
    assert error(write("t.tsv", content), batch=1) == message


def test_tsv_without_a_header() -> None:
    message = error(
        write("t.tsv", "A sentence of many words, long enough to be cut off.\tAnother\n")
    )
    assert message == (
        't.tsv has no column "mt". It has: A sentence of many words, long enough to, Another. '
        "Say which one to read with --column mt=NAME."
    )


GOOD = '{"mt": "h", "ref": "r"}\n'


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("{", "is not JSON: Expecting property name enclosed in double quotes at character 2."),
        ('{"mt": "h"} {}', "is not JSON: Extra data at character 13."),
        ("\n{}", "is not JSON: Expecting value at character 1."),
        ('{"mt": "h', "is not JSON: Unterminated string starting at character 8."),
        ("[" * 100_000, "cannot be read as JSON: too deeply nested."),
        ('{"mt": ' + "1" * 5000 + "}", "cannot be read as JSON: too long a number."),
        (
            '{"mt": "h", "ref": "r", "mt": "i"}',
            'cannot be read as JSON: it has "mt" twice in one object.',
        ),
        ("[]", "is not a JSON object with mt and ref."),
        ("null", "is not a JSON object with mt and ref."),
        ("{}", 'has no "mt".'),
        ('{"mt": null, "ref": "r"}', 'has no "mt".'),
        ('{"mt": 3, "ref": "r"}', ': "mt" is a number, not text.'),
        ('{"mt": ["h"], "ref": "r"}', ': "mt" is a list, not text.'),
        ('{"mt": "h"}', 'has no "ref".'),
        ('{"mt": "h", "ref": ["r", null]}', 'has no "ref".'),
        ('{"mt": "h", "ref": ["r", 1.5]}', ': "ref" is a number, not text.'),
        ('{"mt": "h", "ref": true}', ': "ref" is true or false, not text.'),
        ('{"mt": "h", "ref": {}}', ': "ref" is an object, not text.'),
        ('{"mt": "h", "ref": []}', ': "ref" is empty; every segment needs reference text.'),
        ('{"mt": "h", "ref": ["r", ""]}', ': "ref" is empty; every segment needs reference text.'),
        (
            '{"mt": "\\ud800", "ref": "r"}',
            ': "mt" holds half a character (\\ud800), which is no text.',
        ),
        (
            '{"mt": "h", "ref": ["r", "\\uDC01"]}',
            ': "ref" holds half a character (\\udc01), which is no text.',
        ),
        (
            '{"mt": "h", "ref": "r", "system": "A"}',
            'has "system", which the first row has not; give it in every row or in none.',
        ),
    ],
)
def test_bad_jsonl(second: str, message: str) -> None:
    space = "" if message.startswith(":") else " "
    expected = f"t.jsonl, line 2{space}{message}"
    assert error(write("t.jsonl", GOOD + second + "\n" + GOOD)) == expected


def test_surrogate_pairs_are_whole_characters() -> None:
    path = write("t.jsonl", '{"mt": "\\ud83d\\ude00", "ref": "r", "other": "\\ud800"}\n')
    assert read(path).hypotheses == ("😀",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "t.json is empty: there is nothing to score."),
        (" \n", "t.json is empty: there is nothing to score."),
        ("[]", "t.json has no rows: there is nothing to score."),
        (
            "{}",
            "t.json is not a list of objects with src, mt and ref; "
            "with one object per line, its name should end in .jsonl.",
        ),
        (
            GOOD + GOOD,
            "t.json, line 2 is not JSON: Extra data at character 1; "
            "with one object per line, its name should end in .jsonl.",
        ),
        (
            f"[\n{GOOD},\n{GOOD}",
            "t.json, line 4 is not JSON: Expecting ',' delimiter at character 24.",
        ),
        (f"[{GOOD}, 3]", "t.json, item 2 is not a JSON object with mt and ref."),
        (f'[{GOOD}, {{"mt": 1}}]', 't.json, item 2: "mt" is a number, not text.'),
        ("[" * 100_000, "t.json cannot be read as JSON: too deeply nested."),
    ],
)
def test_bad_json_list(content: str, message: str) -> None:
    assert error(write("t.json", content)) == message


def test_bad_parquet(monkeypatch: pytest.MonkeyPatch) -> None:
    assert error("none.parquet") == "There is no file none.parquet."
    Path("folder.parquet").mkdir()
    assert error("folder.parquet") == "folder.parquet is a folder, not a file."
    for content in (b"", b"mt\tref\n", b"PAR1" + bytes(100) + b"PAR1"):
        message = error(write("t.parquet", content))
        assert message.startswith("t.parquet cannot be read as Parquet: ")
        assert message.endswith(".")
    assert error("t.parquet.gz") == (
        "t.parquet.gz: Parquet is compressed by itself; unpack the file first."
    )
    rows: Rows = [{"mt": "h", "ref": "r"}, {"mt": None, "ref": "r"}]
    assert error(write_parquet("t.parquet", rows)) == 't.parquet, row 2 has no "mt".'
    rows = [{"mt": "h", "ref": ["r"]}, {"mt": "h", "ref": []}]
    assert error(write_parquet("t.parquet", rows), batch=1) == (
        't.parquet, row 2: "ref" is empty; every segment needs reference text.'
    )
    rows = [{"mt": b"\xff", "ref": "r"}]
    assert error(write_parquet("t.parquet", rows)) == 't.parquet, row 1: "mt" is bytes, not text.'
    pq.write_table(
        pa.table({"mt": pa.array([], pa.string()), "ref": pa.array([], pa.string())}), "e.parquet"
    )
    assert error("e.parquet") == "e.parquet has no rows: there is nothing to score."
    not_utf8 = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    pq.write_table(pa.table({"mt": not_utf8, "ref": ["r"]}), "u.parquet")
    assert error("u.parquet").startswith("u.parquet cannot be read as Parquet: 'utf-8' codec")
    whole_file = Path(write_parquet("c.parquet", [{"mt": "h" * 99, "ref": "r"}] * 99)).read_bytes()
    assert error(write("c.parquet", whole_file[:40] + bytes(60) + whole_file[100:])).startswith(
        "c.parquet cannot be read as Parquet: "
    )
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert error("t.parquet") == (
        "t.parquet: reading Parquet needs pyarrow; install it with: pip install 'adequa[data]'"
    )


def test_bad_columns() -> None:
    path = write("t.tsv", "source\tmt\tref\tdocument\ns\th\tr\td\n")
    assert error(path, columns={"src": ("sorce",)}) == (
        't.tsv has no column "sorce". Did you mean "source"? It has: source, mt, ref, document. '
        "Say which one to read with --column src=NAME."
    )
    assert error(path, columns={"hyp": ("mt",)}) == (
        '--column hyp=mt: there is no "hyp" to read. There are: mt, ref, src, system, doc, lp.'
    )
    assert error(path, keep_ids=("documents",)) == (
        't.tsv has no column "documents". Did you mean "document"? '
        "It has: source, mt, ref, document."
    )
    assert error(path, keep_ids=("doc",)).startswith('t.tsv has no column "doc". Did you mean ')
    assert read(path, keep_ids=("doc",), columns={"doc": ("document",)}).ids["doc"] == ("d",)
    assert read(path, keep_ids=("document",)).ids["document"] == ("d",)
    for settings_, message in [
        (["mt"], '--column takes field=NAME, such as mt=output, not "mt".'),
        (["mt="], '--column takes field=NAME, such as mt=output, not "mt=".'),
        (["mt=a", "mt=b"], "--column mt is given twice; only ref may have several columns."),
        (
            ["sistem=a"],
            '--column sistem=a: there is no "sistem" to read. Did you mean "system"? '
            "There are: mt, ref, src, system, doc, lp.",
        ),
    ]:
        with pytest.raises(AdequaError) as caught:
            column_mapping(settings_)
        assert str(caught.value) == message


def test_identifiers_become_text() -> None:
    rows: Rows = [{"mt": "h", "ref": "r", "system": 1, "doc": 2.5}]
    assert read(write_jsonl("t.jsonl", rows), keep_ids=("doc",)).ids == {
        "system": ("1",),
        "doc": ("2.5",),
    }
    rows = [{"mt": "h", "ref": "r", "system": None}]
    assert error(write_jsonl("t.jsonl", rows)) == 't.jsonl, line 1 has no "system".'
    rows = [{"mt": "h", "ref": "r", "system": ["A"]}]
    assert error(write_jsonl("t.jsonl", rows)) == 't.jsonl, line 1: "system" is a list, not text.'


def test_unknown_formats() -> None:
    ending = (
        "The name of the file should end in .tsv, .csv, .xlsx, .jsonl, .json, .parquet, "
        ".xml, .sgm, .sgml, .xlf, .xliff, .sdlxliff, .mqxliff, .mxliff, .tmx; "
        "plain text goes in by -t and -r."
    )
    assert error("a.txt") == f"a.txt is of no known format. {ending}"
    assert error("a.jsnl.gz") == f"a.jsnl.gz is of no known format. {ending}"
    assert error("missing.tsv") == "There is no file missing.tsv."


def test_memory_does_not_grow_with_the_file() -> None:
    write(
        "t.tsv", "mt\tref\n" + "a hypothesis of some length\ta reference of some length\n" * 100_000
    )
    tracemalloc.start()
    count = sum(map(len, read_table("t.tsv")))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 100_000
    assert peak < 3_000_000


def test_a_missing_source_is_empty_text() -> None:
    rows: Rows = [{"mt": "h", "ref": "r", "src": None}, {"mt": "h", "ref": "r", "src": "s"}]
    for name, put in (
        ("t.jsonl", write_jsonl),
        ("t.json", write_json),
        ("t.parquet", write_parquet),
    ):
        assert read(put(name, rows)).sources == ("", "s")


def test_only_unmapped_parts_may_not_come_late() -> None:
    rows: Rows = [
        {"mt": "h", "ref": "r", "run": "a"},
        {"mt": "h", "ref": "r", "run": "b", "system": "x"},
    ]
    path = write_jsonl("t.jsonl", rows)
    assert read(path, columns={"system": ("run",)}).ids["system"] == ("a", "b")
    assert error(path).startswith('t.jsonl, line 2 has "system", which the first row has not')


def test_references_are_in_every_row_or_in_none() -> None:
    rows: Rows = [{"mt": "a", "src": "x"}, {"mt": "b", "src": "y", "ref": "z"}]
    assert error(write_jsonl("t.jsonl", rows)) == (
        't.jsonl, line 2 has "ref", which the first row has not; give it in every row or in none.'
    )
    aliased: Rows = [rows[0], {"mt": "b", "src": "y", "reference": ["z"]}]
    assert 'has "reference", which the first row' in error(write_json("t.json", aliased))
    assert error(write_jsonl("t.jsonl", rows[::-1])).startswith(
        "t.jsonl, line 2: some rows have a reference and others none"
    )


@pytest.mark.parametrize("blank", [None, " ", [], [""]])
@pytest.mark.parametrize("put", [write_jsonl, write_json])
def test_empty_references_beside_sources_are_none(put: Callable[..., str], blank: object) -> None:
    rows: Rows = [{"mt": "a", "src": "x", "ref": blank}, {"mt": "b", "src": "y", "ref": blank}]
    path = put(f"t.{put.__name__[6:]}", rows)
    assert not read(path).has_references
    assert not read(path, batch=1).has_references
    del rows[0]["ref"]
    assert not read(put(path, rows)).has_references
    without = [{"mt": "a", "ref": blank}]
    assert '"ref"' in error(put(path, without))


def test_an_empty_column_of_references_in_tsv_and_parquet() -> None:
    assert not read(write("t.tsv", "mt\tsrc\tref\na\tx\t\nb\ty\t \n")).has_references
    rows: Rows = [{"mt": "a", "src": "x", "ref": None}]
    assert not read(write_parquet("t.parquet", rows)).has_references


@pytest.mark.parametrize("refs", [["z", ""], ["", "z"], ["z", None], [None, "z"]])
@pytest.mark.parametrize("batch", [1, 10])
def test_some_rows_without_a_reference(refs: list[object], batch: int) -> None:
    rows: Rows = [{"mt": "a", "src": "x", "ref": ref} for ref in refs]
    row = 2 if batch == 1 or refs[0] else 1
    with pytest.raises(AdequaError) as caught:
        read(write_jsonl("t.jsonl", rows), batch=batch)
    assert str(caught.value) == (
        f"t.jsonl, line {row}: some rows have a reference and others none; give it to all, or "
        "leave the column out."
    )


def test_ids_are_not_empty() -> None:
    path = write("t.tsv", "mt\tref\tsystem\nh\tr\ta\nh\tr\t \n")
    assert error(path) == 't.tsv, line 3: "system" is empty.'


def test_one_column_is_one_reference() -> None:
    path = write("t.tsv", "mt\tref\nh\tr\n")
    sentence = "--column ref names the same column twice."
    assert error(path, columns={"ref": ("ref", "ref")}) == sentence


def test_pages_of_parquet_whose_checksum_differs() -> None:
    texts = {"mt": [f"a {row}" for row in range(99)], "ref": ["b"] * 99}
    options = {"write_page_checksum": True, "compression": "none", "use_dictionary": False}
    pq.write_table(pa.table(texts), "t.parquet", **options)
    content = Path("t.parquet").read_bytes()
    Path("t.parquet").write_bytes(content.replace(b"a 50", b"a 51", 1))
    assert error("t.parquet").startswith("t.parquet cannot be read as Parquet: ")
