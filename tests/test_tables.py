"""Tables keep every value in every format, and text never becomes markup."""

from __future__ import annotations

import csv
import html
import json
import re
from html.parser import HTMLParser
from io import BytesIO, StringIO
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped,unused-ignore]
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError, printable
from adequa.tables import (
    BEST,
    Cell,
    Column,
    Format,
    LazyRows,
    Result,
    Table,
    format_of,
    html_page,
    interval,
)

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
HOSTILE = ["<script>alert(1)</script>", "a|b", r"\textbf{x}", "**b**", "a & b", "_x_", "`", '"q"']
CELLS = {
    "text": TEXTS | st.sampled_from(HOSTILE),
    "integer": st.none() | st.integers(-(10**12), 10**12),
    "number": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.none() | st.booleans(),
}


@st.composite
def tables(draw: st.DrawFn) -> Table:
    types = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4))
    names = draw(st.lists(TEXTS, min_size=len(types), max_size=len(types), unique_by=printable))
    columns = tuple(Column(name, type_) for name, type_ in zip(names, types, strict=True))  # type: ignore[arg-type]  # types are from CELLS
    rows = draw(st.lists(st.tuples(*(CELLS[type_] for type_ in types)), max_size=5))
    return Table(columns, rows, draw(TEXTS), tuple(draw(st.lists(TEXTS, max_size=2))))


def read(cell: str, column: Column) -> Cell:
    """A cell of a written table by the type of its column."""
    if column.type == "text":
        return cell
    if cell in {"", "–"}:
        return None
    if column.type == "boolean":
        return {"True": True, "False": False, "yes": True, "no": False}[cell]
    return int(cell.replace(",", "")) if column.type == "integer" else float(cell)


def cells(table: Table, rows: list[list[str]]) -> list[tuple[Cell, ...]]:
    return [tuple(map(read, row, table.columns)) for row in rows]


def on_one_line(table: Table) -> list[tuple[Cell, ...]]:
    return [
        tuple(printable(cell) if isinstance(cell, str) else cell for cell in row)
        for row in table.rows
    ]


@given(tables())
def test_tsv_holds_every_value_with_control_characters_as_spaces(table: Table) -> None:
    lines = table.to_tsv().removesuffix("\n").split("\n")
    header, *rows = [line.split("\t") for line in lines]
    assert header == [printable(column.name) for column in table.columns]
    assert cells(table, rows) == on_one_line(table)


@given(tables())
def test_csv_is_read_back_by_the_standard_library(table: Table) -> None:
    header, *rows = csv.reader(StringIO(table.to_csv(), newline=""))
    # A record of one empty cell is written as "" and read as such; see RFC 4180, section 2.
    assert header == [column.name for column in table.columns]
    assert cells(table, rows) == list(table.rows)


@given(tables())
def test_json_is_read_back_with_types(table: Table) -> None:
    read_back = json.loads(table.to_json())
    assert [tuple(row) for row in read_back["rows"]] == list(table.rows)
    assert [(each["name"], each["type"]) for each in read_back["columns"]] == [
        (column.name, column.type) for column in table.columns
    ]
    assert (read_back["title"], tuple(read_back["notes"])) == (table.title, table.notes)


@given(tables())
def test_markdown_is_read_back_as_commonmark_reads_it(table: Table) -> None:
    written = table.without_notes().to_markdown()
    assert written in table.to_markdown()
    header, _, *rows = map(markdown_cells, written.removesuffix("\n").split("\n"))
    assert header == table.headings
    assert cells(table, rows) == on_one_line(table)


def markdown_cells(line: str) -> list[str]:
    """The cells of a line: a backslash escapes what follows it, entities are characters."""
    found: list[str] = []
    cell: list[str] = []
    characters = iter(line)
    for char in characters:
        if char == "\\":
            cell.append(next(characters))
        elif char == "|":
            found.append("".join(cell))
            cell = []
        else:
            cell.append(char)
    return [html.unescape(each[1:-1]) for each in found[1:]]


class Elements(HTMLParser):
    """The elements of a page and the text between them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


@given(tables())
def test_html_has_no_elements_but_its_own_and_holds_every_text(table: Table) -> None:
    parser = Elements()
    parser.feed("".join(html_page([table])))
    assert parser.tags <= {
        *("html", "meta", "title", "style", "table", "caption", "thead", "tbody", "tr"),
        *("th", "td", "p", "small", "br", "strong"),
    }
    assert parser.attributes <= {"lang", "charset", "http-equiv", "content", "class", "style"}
    assert len(parser.rows) == 1 + len(list(table.rows))


@given(TEXTS | st.sampled_from(HOSTILE))
def test_latex_leaves_no_special_character_unescaped(text: str) -> None:
    line = Table((Column("a"),), [(text,)]).to_latex().split("\n")[5].removesuffix(r" \\")
    own = r"\\text(?:backslash|asciitilde|asciicircum|less|greater|bar|quotedbl)\{\}"
    rest = re.sub(rf"{own}|\$\\(?:up|down)arrow\$|\$\\[lg]eq\$|\$-\$|\\[&%$#_{{}}]", "", line)
    assert not set(rest) & set('\\&%$#_{}~^<>|"')


def test_titles_and_notes_stay_with_tables_that_are_pasted() -> None:
    columns = (Column("system"), Column("bleu", "number", decimals=1, direction="higher"))
    notes = ("* best, ↑ higher is better", "bleu|nrefs:1|case:mixed", "a note on *stars*")
    table = Table(columns, [("a", 30.0), ("b", 40.0)], "Scores of a_b", notes)
    assert table.to_markdown() == (
        "**Scores of a_b**\n\n| system | bleu |\n| --- | ---: |\n| a | 30.0 |\n| b | **40.0** |\n"
        "\nbold: best, ↑ higher is better\n\n`bleu|nrefs:1|case:mixed`\n"
        "\na note on \\*stars\\*\n"
    )
    latex = table.to_latex().split("\n")
    assert latex[:3] == [
        r"% needs \usepackage{booktabs}",
        "% Scores of a_b",
        r"\begin{tabular}{lr}",
    ]
    assert latex[-4:] == [
        "% bold: best, ↑ higher is better",
        "% bleu|nrefs:1|case:mixed",
        "% a note on *stars*",
        "",
    ]
    assert "bold: best" in table.to_html()


@given(tables())
def test_comments_of_latex_are_one_line_each(table: Table) -> None:
    head, _, rest = table.to_latex().partition(r"\begin{tabular}")
    tail = rest.rpartition("\\end{tabular}\n")[2]
    assert all(line.startswith("% ") for line in (head + tail).split("\n")[:-1])


def test_the_best_of_a_column_is_marked_by_its_direction() -> None:
    columns = (
        Column("system"),
        Column("bleu", "number", decimals=1, direction="higher", heading="bleu ↑"),
        Column("ter", "number", decimals=1, direction="lower"),
    )
    table = Table(columns, [("a", 30.0, 50.0), ("b", 20.0, 40.0), ("c", None, float("nan"))])
    assert table.to_text() == (
        "system  bleu ↑    ter\n"
        "a        *30.0   50.0\n"
        "b         20.0  *40.0\n"
        "c            –      –\n"
    )
    assert "**30.0**" in table.to_markdown()
    assert r"\textbf{40.0}" in table.to_latex()
    assert "<strong>40.0</strong>" in table.to_html()
    assert BEST not in table.to_tsv()


def test_html_explains_the_mark_that_html_has() -> None:
    column = Column("bleu", "number", decimals=1, direction="higher")
    table = Table((column,), [(1.0,), (2.0,)], notes=("* best, ↑ higher is better",))
    assert "bold: best, ↑" in table.to_html()
    assert "* best" not in table.to_html()
    assert "* best, ↑" in table.to_text()


def test_one_row_has_no_best() -> None:
    table = Table((Column("x", "number", decimals=1, direction="higher"),), [(1.0,)])
    assert table.to_text() == "  x\n1.0\n"


def test_lazy_rows_are_read_as_often_as_needed() -> None:
    table = Table((Column("n", "integer"),), LazyRows(lambda: ((n,) for n in range(3))))
    assert table.to_text() == "n\n0\n1\n2\n"
    assert table.to_tsv() == "n\n0\n1\n2\n"


def test_parquet_and_pandas_have_types_and_missing_values() -> None:
    columns = (Column("a"), Column("n", "integer"), Column("x", "number"), Column("b", "boolean"))
    table = Table(columns, [("s", 1, 0.1, True), ("t", None, float("nan"), None)])
    rows = pq.read_table(BytesIO(table.to_parquet())).to_pylist()  # type: ignore[no-untyped-call,unused-ignore]
    assert rows == [
        {"a": "s", "n": 1, "x": 0.1, "b": True},
        {"a": "t", "n": None, "x": None, "b": None},
    ]
    frame = table.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["x"].isna().tolist() == [False, True]


class Answer(Result):
    """The smallest result."""

    def tables(self) -> tuple[Table, ...]:
        columns = (Column("answer", "number", decimals=1),)
        return (Table(columns, [(0.125,)], title="Title", notes=("note",)),)

    def long_table(self) -> Table:
        return Table((Column("answer", "number"),), [(0.125,)])

    def to_dict(self) -> dict[str, object]:
        return {"answer": 0.125}


def test_a_result_is_readable_in_a_terminal_and_a_notebook() -> None:
    assert repr(Answer()) == "Title\n\nanswer\n   0.1\n\nnote"
    assert "<table" in Answer()._repr_html_()
    assert "<html" not in Answer()._repr_html_()


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.txt", "Title\n\nanswer\n   0.1\n"),
        ("a", "Title\n\nanswer\n   0.1\n"),
        ("a.tsv", "answer\n0.125\n"),
        ("a.CSV", "answer\n0.125\n"),
        ("a.md", "**Title**\n\n| answer |\n| ---: |\n| 0.1 |\n"),
        (
            "a.tex",
            "% needs \\usepackage{booktabs}\n% Title\n\\begin{tabular}{r}\n\\toprule\n",
        ),
        ("a.html", "<!doctype html>\n"),
        ("a.json", '{\n  "answer": 0.125\n}\n'),
    ],
)
def test_a_result_is_saved_by_the_ending(tmp_path: Path, name: str, start: str) -> None:
    Answer().save(tmp_path / name)
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_a_result_is_saved_as_parquet(tmp_path: Path) -> None:
    Answer().save(tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == [{"answer": 0.125}]  # type: ignore[no-untyped-call,unused-ignore]


def test_an_ending_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AdequaError, match=r"a\.docx cannot be written.*\.txt, \.tsv, \.csv"):
        Answer().save(tmp_path / "a.docx")
    with pytest.raises(AdequaError, match=r"one of \.txt, \.json\."):
        format_of("a.parquet", (Format.text, Format.json))


def test_intervals_without_a_bound_are_missing() -> None:
    assert interval(float("nan"), float("nan"), 3) == "–"
