"""Quoted cells: what writers of tables write reads back as it was, and raw text stays raw."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped,unused-ignore]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io.judgements import read_judgements
from adequa.io.quoting import DelimitedRows
from adequa.io.read import InputSummary, read_table
from adequa.io.score_files import read_score_file
from adequa.io.text import MemoryFile
from adequa.judgements import Ratings

Rows = list[list[str]]


def rows_of(content: str, quoting: Any = "auto", *, is_csv: bool = False) -> Rows:
    lines = content.split("\n")
    rows = DelimitedRows("t.tsv", lines[:-1] if not lines[-1] else lines, quoting, is_csv=is_csv)
    return [rows.header, *(cells for _, cells, _ in rows)]


def refusal(content: str, quoting: Any = "auto", *, is_csv: bool = False) -> str:
    with pytest.raises(AdequaError) as caught:
        rows_of(content, quoting, is_csv=is_csv)
    return str(caught.value)


def by_csv(rows: Rows, **options: Any) -> str:
    written = io.StringIO()
    csv.writer(written, **{"delimiter": "\t", "lineterminator": "\n", **options}).writerows(rows)
    return written.getvalue()


def by_pandas(rows: Rows, **options: Any) -> str:
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    return str(frame.to_csv(index=False, **{"sep": "\t", "lineterminator": "\n", **options}))


def like_excel(rows: Rows) -> str:
    """Tab-separated text as Excel saves it: also cells with a comma are quoted."""

    def cell(text: str) -> str:
        is_quoted = any(mark in text for mark in '",\t\n')
        return '"' + text.replace('"', '""') + '"' if is_quoted else text

    return "".join("\t".join(map(cell, row)) + "\r\n" for row in rows)


def like_php(rows: Rows) -> str:
    """As fputcsv of PHP: also cells with a space are quoted."""

    def cell(text: str) -> str:
        is_quoted = any(mark in text for mark in '"\t\n ')
        return '"' + text.replace('"', '""') + '"' if is_quoted else text

    return "".join("\t".join(map(cell, row)) + "\n" for row in rows)


WRITERS: dict[str, Callable[[Rows], str]] = {
    "csv, minimal": by_csv,
    "csv, Excel's tabs": lambda rows: by_csv(rows, dialect="excel-tab", lineterminator="\r\n"),
    "csv, all": lambda rows: by_csv(rows, quoting=csv.QUOTE_ALL),
    "csv, not numeric": lambda rows: by_csv(rows, quoting=csv.QUOTE_NONNUMERIC),
    "pandas, minimal": by_pandas,
    "pandas, all": lambda rows: by_pandas(rows, quoting=csv.QUOTE_ALL),
    "pandas, not numeric": lambda rows: by_pandas(rows, quoting=csv.QUOTE_NONNUMERIC),
    "pandas, commas": lambda rows: by_pandas(rows, sep=","),
    "pandas, semicolons": lambda rows: by_pandas(rows, sep=";"),
    "Excel": like_excel,
    "PHP": like_php,
}

# Texts of the characters that matter, and of words; a lone \r is not quoted by csv.
pieces = st.sampled_from(['"', '""', '"', "\t", ",", ";", " ", "\n", "\r\n", "a", "Yes", "7", "我"])
texts = st.lists(pieces, max_size=6).map("".join)
tables = st.integers(1, 8).flatmap(
    lambda rows: st.lists(st.tuples(texts, texts), min_size=rows, max_size=rows)
)


@pytest.mark.parametrize("writer", WRITERS)
@settings(max_examples=150, deadline=None)
@given(tables)
def test_what_writers_write_reads_back_or_is_refused(
    writer: str, cells: list[tuple[str, str]]
) -> None:
    rows = [["mt", "ref"], *map(list, cells)]
    content = WRITERS[writer](rows)
    is_csv = ";" in content.split("\n", 1)[0] or "mt,ref" in content
    refusal = ""
    try:
        result = rows_of(content, is_csv=is_csv)
    except AdequaError as error:
        refusal = str(error)
    assert "--quoting" in refusal if refusal else result == rows


SENTENCES = [
    "He said yes.",
    "He said, in short, yes.",
    'He said "yes".',
    '"Yes," he said.',
    '"Yes, of course."',
    "One\ttab.",
    "Two\nlines.",
    "Three\r\nlines.",
    "",
    "7",
    "Ümläute",
]


@pytest.mark.parametrize("writer", WRITERS)
def test_ordinary_tables_are_not_refused(writer: str) -> None:
    """The property above would also hold of a reader that refuses everything."""
    rows = [["mt", "ref"], *([each, f"{each} {number}"] for number, each in enumerate(SENTENCES))]
    assert rows_of(WRITERS[writer](rows)) == rows
    marks = [["mt", "ref"], *([each, each] for each in SENTENCES if "\t" not in each)][:6]
    if writer != "PHP":  # five quoted cells, with spaces and without
        assert rows_of(WRITERS[writer](marks)) == marks


RAW = {
    "marks within": 'a\tb\nHe said "yes".\tx\n"No," he said.\ty\n',
    "a closing mark alone": 'a\tb\nyes."\tx\n',
    "an opening mark alone": 'a\tb\n"Yes, he said.\tx\ny\tz\n',
    "sentences in marks": 'a\tb\nOne two.\tTwo three.\n"I agree."\tI agree.\n',
    "sentences in marks and commas": 'a\tb\n"Yes, sir."\tYes, sir.\n',
    "inches": 'a\tb\nA 5" pipe\tA 6" pipe\n',
    "Chinese": 'a\tb\n"我同意。"\t我同意。\n你好\t"你好"\n他说\t他说\n',
    "an opening mark that swallows a line": 'a\tb\n"x\ty\nz\tw"\n',
}


@pytest.mark.parametrize("content", RAW.values(), ids=RAW)
def test_raw_text(content: str) -> None:
    expected = [line.split("\t") for line in content.splitlines()]
    if content != RAW["an opening mark that swallows a line"]:
        assert rows_of(content) == expected
    assert rows_of(content, "none") == expected


def test_uncertain_tables_are_refused() -> None:
    sentence = refusal('mt\tref\n"I agree."\t"I agree."\n')
    assert sentence == (
        "t.tsv, line 2: it is not certain whether quotation marks enclose cells here or are text: "
        '"I agree." Say --quoting rfc4180 if they enclose cells, as pandas and spreadsheets write '
        "them, or --quoting none if they are text; CSV and JSONL leave no doubt."
    )
    content = 'mt\tref\nOne two.\tx y\n"Say ""a"" now."\tx y\n"I agree."\tx y\nOne two.\tx y\n'
    assert "line 3" in refusal(content)  # doubled marks, and a sentence that needs no quoting
    assert rows_of(content, "rfc4180")[2:4] == [['Say "a" now.', "x y"], ["I agree.", "x y"]]
    assert rows_of(content, "none")[2] == ['"Say ""a"" now."', "x y"]
    # Quoted for its comma, which the other has too, or for its space, as by PHP.
    assert "line 2" in refusal('mt\tref\n", "\t,a\n')
    # Doubled marks, and then one in the middle of a cell, as no writer leaves it.
    assert "line 3" in refusal('mt\tref\n"Say ""a""."\tx\nA 5" pipe\ty\n')


def test_backslashes_are_neither() -> None:
    """write.table of R, and pandas with doublequote=False."""
    r = '"mt"\t"ref"\n"He said \\"yes\\"."\t"x"\n'
    assert refusal(r).startswith(
        't.tsv, line 2 has \\" for the quotation marks inside a quoted cell. Write them doubled'
    )
    assert "doublequote=True" in refusal('mt\tref\n"He said \\"yes\\"."\tx\n')
    assert rows_of(r, "none")[1] == ['"He said \\"yes\\"."', '"x"']
    mysql = 'mt,ref\nx,"He said \\"no, never\\" to me, twice."\n'
    assert refusal(mysql, is_csv=True).startswith('t.tsv, line 2 has \\" for the quotation marks')


@pytest.mark.parametrize("cell", ['"' + '\\"' * 200_000 + "x", " " * 200_000 + "b"])
def test_no_cell_takes_time_by_the_square_of_its_length(cell: str) -> None:
    """A pattern that tries every mark or space against every other would take minutes here."""
    assert "line 2" in refusal(f'mt,ref\n{cell},"a"b\n', is_csv=True)
    assert rows_of(f'mt\tref\n{cell}\tx\n"a"\t"b"\n')[1] == [cell, "x"]


def test_spaces_before_quoted_cells_of_csv_are_skipped() -> None:
    content = 'mt, ref\n"a, b", "c, d"\n"e\nf",  "g\nh"\n i,"j"\n" ""k"", ""l""", m\n'
    assert rows_of(content, is_csv=True) == [
        ["mt", "ref"],
        ["a, b", "c, d"],
        ["e\nf", "g\nh"],
        [" i", "j"],
        [' "k", "l"', " m"],
    ]
    assert "line 2: there is text after" in refusal('mt,ref\na, "b" c\n', is_csv=True)
    assert rows_of('mt\tref\na\t "b"\n')[1] == ["a", ' "b"']


def test_empty_columns_and_rows_at_the_end_are_left_out() -> None:
    """Excel writes them where cells were once filled."""

    def table(content: str) -> list[str]:
        read = read_table(MemoryFile("t.csv", content.encode()), batch=2)
        return [text for batch in read for text in batch.hypotheses]

    assert table("sep=;\nmt;ref;;\na;b;;\nc;d;;\n;;;\n;;;\n;;;\n") == ["a", "c"]
    assert table("mt,,ref,,\na,1,b,,\n") == ["a"]
    with pytest.raises(AdequaError, match="^t.csv, line 2 has 4 cells, but the header names 2.$"):
        table("mt,ref,,\na,b,,x\n")
    with pytest.raises(AdequaError, match='^t.csv, line 3: "ref" is empty'):
        table("mt,ref\na,b\n,\nc,d\n")


def test_lines_are_counted_where_cells_contain_line_breaks() -> None:
    content = 'mt\tref\n"a\nb"\tc\nd\te\n\tf\ng\t\n'
    table = MemoryFile("t.tsv", content.encode())
    with pytest.raises(AdequaError, match='^t.tsv, line 6: "ref" is empty'):
        list(read_table(table))
    assert refusal('mt\tref\n"a\nb"\tc\n"d" x\te\n', "rfc4180").startswith(
        "t.tsv, line 4: there is text after the quotation mark that ends a cell."
    )
    assert "t.tsv, line 3: the quoted cell that begins here does not end." in refusal(
        'mt,ref\n"a",b\nc,"d\ne\n'
    )
    long = f'mt,ref\n"{"x" * 200_000}",b\n'
    assert "does not end within 131,072 characters" in refusal(long)
    ragged = MemoryFile("t.tsv", b'mt\tref\na\tb\n"c"\td\te\n')
    with pytest.raises(AdequaError) as caught:
        list(read_table(ragged))
    assert str(caught.value) == "t.tsv, line 3 has 3 cells, but the header names 2."


def test_separators() -> None:
    assert rows_of("sep=;\r\nmt;ref\r\na,b;c\r\n", is_csv=True) == [["mt", "ref"], ["a,b", "c"]]
    assert rows_of('"a; b",c\nd,e\n', is_csv=True) == [["a; b", "c"], ["d", "e"]]
    assert rows_of("mt,ref\na,b\n") == [["mt", "ref"], ["a", "b"]]  # as from standard input
    assert rows_of('mt,ref\na 5" pipe,"b,c"\n') == [["mt", "ref"], ['a 5" pipe', "b,c"]]
    assert rows_of("mt\tref\na\tb\n", is_csv=True) == [["mt", "ref"], ["a", "b"]]
    assert rows_of('mt,ref\n"a,b"\n', "none") == [["mt", "ref"], ['"a', 'b"']]


def summary_of(path: Any, **options: Any) -> InputSummary:
    summaries: list[InputSummary] = []
    list(read_table(path, describe=summaries.append, **options))
    return summaries[0]


def test_what_was_read_is_described() -> None:
    quoted = MemoryFile("t.tsv", b'mt\tref\n"a ""b"""\tc\n')
    assert str(summary_of(quoted)) == "t.tsv: 1 segment, 1 system, 1 reference, quoted cells"
    raw = MemoryFile("t.tsv.gz", gzip.compress(b'mt\tref\na "b"\tc\n'))
    assert summary_of(raw).quoting == "none"
    plain = summary_of(MemoryFile("t.csv", b"mt,ref\na,c\n"))
    assert (plain.format, plain.quoting) == ("CSV", None)


def test_every_table_is_read_alike(tmp_path: Path) -> None:
    content = 'lp\tsystem\tsegment\tscore\tmt\tref\nde-en\t"A ""1"""\t1\t0.5\t"a\tb"\t"c ""d"""\n'
    (tmp_path / "t.tsv").write_text(content, encoding="utf-8")
    ratings = read_judgements(tmp_path / "t.tsv")
    assert isinstance(ratings, Ratings)
    assert ratings.segments is not None
    assert ratings.segments.hypotheses == ("a\tb",)
    assert ratings.ids["system"] == ('A "1"',)
    (tmp_path / "s.tsv").write_text('system\tscore\n"A ""1"""\t0.5\n', encoding="utf-8")
    assert read_score_file(tmp_path / "s.tsv").ids == {"system": ('A "1"',)}
    (tmp_path / "s.csv").write_text('system,score\n"A, B",0.5\n', encoding="utf-8")
    assert read_score_file(tmp_path / "s.csv").ids == {"system": ("A+B",)}
    (tmp_path / "j.csv").write_text('score;mt;ref\n0.5;"a;b";c\n', encoding="utf-8")
    judged = read_judgements(tmp_path / "j.csv")
    assert isinstance(judged, Ratings)
    assert judged.segments is not None
    assert judged.segments.hypotheses == ("a;b",)


DATA = os.environ.get("ADEQUA_DATA")


@pytest.mark.skipif(DATA is None, reason="ADEQUA_DATA names no folder of human judgements")
@pytest.mark.parametrize("name", ["wmt15-da", "wmt20-da", "wmt21-da", "wmt20-21-mqm"])
def test_real_text_between_tabs_is_raw(name: str) -> None:
    """Texts of WMT, as people keep them: with tabs in between and nothing quoted."""
    rows = []
    with gzip.open(Path(str(DATA)) / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line, _ in zip(lines, range(20_000), strict=False):
            row = json.loads(line)
            rows.append([row["mt"], row["ref"]])
    rows = [
        ["mt", "ref"],
        *(row for row in rows if not any({"\t", "\n"} & {*cell} for cell in row)),
    ]
    content = "".join("\t".join(row) + "\n" for row in rows)
    assert '\n"' in content
    assert rows_of(content) == [[cell.removesuffix("\r") for cell in row] for row in rows]
    assert rows_of(by_pandas(rows)) == rows
