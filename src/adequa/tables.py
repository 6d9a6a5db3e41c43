"""Tables of results: one `Table` type, a writer for every format, and the `Result` contract.

Data flows one way: files, segments, scores, statistics, tables. A result offers three views of
itself, and nothing else knows how results look:

- `tables()`: tables to read, rounded, for text, Markdown, LaTeX, HTML and notebooks;
- `long_table()`: one table with a row per observation and exact values, for TSV, CSV, Parquet and
  pandas;
- `to_dict()`: everything as plain lists and dictionaries of a stable shape, for JSON.

To add a format, write a function from `Table` to lines, add a member to `Format`, and enter its
ending and the function in `_FORMATS`. To add a value to a result, add it to its `tables()`, its
`long_table()` and its `to_dict()`. Markdown and LaTeX are tables to paste: they have no title, no
legend and no notes.
"""

from __future__ import annotations

import csv
import html
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from io import BytesIO, StringIO
from itertools import chain
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar
from unicodedata import combining, east_asian_width

from adequa.errors import AdequaError, as_path, printable
from adequa.io.atomic import atomic_write, atomic_write_bytes

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

Cell: TypeAlias = str | int | float | None  # bool is an int; NaN is the same as None
Row: TypeAlias = Sequence[Cell]
AnyFormat = TypeVar("AnyFormat")
AnyCell = TypeVar("AnyCell", str, float, Cell)

WARNING = "†"  # mark of numbers that mean little, and of the note that says why
BEST = "*"  # mark of the best cell of a column in text, and in notes that explain it
MISSING = "–"  # a missing number in tables to read
_GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    `name` is what TSV, CSV, JSON and pandas call it, and `heading` what readers see (by default
    the name). Numbers are shown with `decimals` places to readers, in full where it is None. The
    best cell of a column that has a `direction` is marked for readers.

    >>> Column("bleu", "number", decimals=2, direction="higher").alignment
    'right'
    """

    name: str
    type: Literal["text", "integer", "number", "boolean"] = "text"
    decimals: int | None = None
    direction: Literal["higher", "lower"] | None = None
    align: Literal["left", "right"] | None = None  # None: text left, everything else right
    heading: str | None = None
    mark: str = ""  # after every number, for readers; a note says what it means

    @property
    def alignment(self) -> Literal["left", "right"]:
        """The side to which cells are aligned."""
        return self.align or ("left" if self.type == "text" else "right")

    @property
    def title(self) -> str:
        """What readers see above the column."""
        return self.name if self.heading is None else self.heading

    def display(self, cell: Cell) -> str:
        """A cell for readers.

        >>> Column("score", "number", decimals=2).display(0.12345)
        '0.12'
        >>> Column("segments", "integer").display(12345)
        '12,345'
        """
        if _is_missing(cell):
            return "" if self.type == "text" else MISSING
        if isinstance(cell, bool):
            return "yes" if cell else "no"
        if isinstance(cell, int) and self.type == "integer":
            return f"{cell:,}"
        if isinstance(cell, float) and self.decimals is not None:
            return decimal(cell, self.decimals) + self.mark
        return printable(str(cell))


class LazyRows:
    """Rows that are made anew each time they are iterated over, for tables too long for memory.

    >>> list(LazyRows(lambda: iter([("a", 1)])))
    [('a', 1)]
    """

    def __init__(self, rows: Callable[[], Iterator[Row]]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return self._rows()


class Writable(ABC):
    """A table or a result: `lines` writes it in a format, and the rest follows."""

    __slots__ = ()

    @abstractmethod
    def lines(self, format_: Format) -> Iterator[str]:
        """The content in a text format, piece by piece."""

    def to_text(self) -> str:
        """Aligned columns for a terminal, with titles and notes."""
        return "".join(self.lines(Format.text))

    def to_tsv(self) -> str:
        """Tab-separated exact values under a header."""
        return "".join(self.lines(Format.tsv))

    def to_csv(self) -> str:
        """Comma-separated exact values under a header (RFC 4180, lines end in a line feed)."""
        return "".join(self.lines(Format.csv))

    def to_markdown(self) -> str:
        """Markdown tables with titles and notes, the best of a column in bold."""
        return "".join(self.lines(Format.markdown))

    def to_latex(self) -> str:
        """LaTeX tabulars with booktabs rules, titles and notes as comments, the best in bold."""
        return "".join(self.lines(Format.latex))

    def to_html(self) -> str:
        """HTML with captions and notes, the best of a column in bold."""
        return "".join(self.lines(Format.html))

    def to_json(self) -> str:
        """JSON."""
        return "".join(self.lines(Format.json))

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return self.to_text().removesuffix("\n")


@dataclass(frozen=True, slots=True, repr=False)
class Table(Writable):
    """Columns, rows of cells, a title above and notes below.

    `rows` are iterated over more than once: a sequence, or `LazyRows`. Of columns that have a
    direction, the best cell of each column is marked for readers, or that of each row.

    >>> columns = (Column("system"), Column("bleu", "number", decimals=2, direction="higher"))
    >>> print(Table(columns, [("a", 3.0), ("longer", 12.5)]).to_text(), end="")
    system    bleu
    a         3.00
    longer  *12.50
    """

    columns: tuple[Column, ...]
    rows: Iterable[Row]
    title: str = ""
    notes: tuple[str, ...] = ()
    best_of: Literal["column", "row"] = "column"

    def best(self) -> tuple[float | None, ...]:
        """The best value of each column that has a direction and at least two numbers."""
        directed = [index for index, column in enumerate(self.columns) if column.direction]
        numbers: dict[int, list[float]] = {index: [] for index in directed}
        for row in self.rows if directed else ():
            for index in directed:
                cell = row[index]
                if isinstance(cell, (int, float)) and not _is_missing(cell):
                    numbers[index].append(cell)
        return tuple(
            (max if column.direction == "higher" else min)(numbers[index])
            if len(numbers.get(index, ())) > 1
            else None
            for index, column in enumerate(self.columns)
        )

    def display_rows(self) -> Iterator[tuple[list[str], list[bool]]]:
        """Rows as readers see them, and which of their cells are the best of column or row."""
        best = self.best() if self.best_of == "column" else ()
        for row in self.rows:
            if self.best_of == "row":
                best = self._best_of_row(row)
            yield (
                [column.display(cell) for column, cell in zip(self.columns, row, strict=True)],
                [top is not None and cell == top for cell, top in zip(row, best, strict=True)],
            )

    def _best_of_row(self, row: Row) -> tuple[float | None, ...]:
        numbers = {
            index: cell
            for index, (column, cell) in enumerate(zip(self.columns, row, strict=True))
            if column.direction and isinstance(cell, (int, float)) and not _is_missing(cell)
        }
        directions = {self.columns[index].direction for index in numbers}
        if not (len(numbers) > 1 and len(directions) == 1):
            return (None,) * len(self.columns)
        top = (max if directions == {"higher"} else min)(numbers.values())
        return tuple(top if index in numbers else None for index in range(len(self.columns)))

    def without_notes(self) -> Table:
        """The same table without title and notes, for pages that have their own."""
        return replace(self, title="", notes=())

    @property
    def headings(self) -> list[str]:
        """The header as readers see it."""
        return [printable(column.title) for column in self.columns]

    def lines(self, format_: Format) -> Iterator[str]:
        """The table in a text format, piece by piece."""
        write = _FORMATS[format_][1]
        if write is None:
            raise AdequaError(f"{format_.value} is not text; write it to a file.")
        return write(self)

    def to_pandas(self) -> pd.DataFrame:
        """A data frame with the exact values; needs pandas."""
        try:
            import pandas as pd  # noqa: PLC0415 - optional
        except ImportError as error:
            raise AdequaError("Data frames need pandas: pip install pandas.") from error
        rows = [[_value(cell) for cell in row] for row in self.rows]
        return pd.DataFrame(rows, columns=[column.name for column in self.columns])

    def to_parquet(self) -> bytes:
        """A Parquet file with the exact values; needs pyarrow."""
        try:
            import pyarrow as pa  # noqa: PLC0415 - optional
            from pyarrow import parquet  # noqa: PLC0415 - optional
        except ImportError as error:
            raise AdequaError("Parquet needs pyarrow: pip install 'adequa[data]'.") from error
        types = {"text": pa.string(), "integer": pa.int64(), "boolean": pa.bool_()}
        rows = [[_value(cell) for cell in row] for row in self.rows]
        by_column = list(zip(*rows, strict=True)) if rows else [()] * len(self.columns)
        arrays = {
            column.name: pa.array(cells, types.get(column.type, pa.float64()))
            for column, cells in zip(self.columns, by_column, strict=True)
        }
        buffer = BytesIO()
        parquet.write_table(pa.table(arrays), buffer)
        return buffer.getvalue()

    def _repr_html_(self) -> str:
        return self.to_html()


def text_lines(table: Table) -> Iterator[str]:
    """Title, aligned columns and notes; rows are read once for widths and once for lines."""
    if table.title:
        yield f"{printable(table.title)}\n\n"
    widths = [width(heading) for heading in table.headings]
    for row in _starred(table):
        widths = list(map(max, widths, map(width, row)))
    yield _aligned(table.headings, widths, table.columns)
    for row in _starred(table):
        yield _aligned(row, widths, table.columns)
    if table.notes:
        yield "\n"
    for note in table.notes:
        yield f"{printable(note)}\n"


def _starred(table: Table) -> Iterator[list[str]]:
    for row, marks in table.display_rows():
        yield [BEST + cell if best else cell for cell, best in zip(row, marks, strict=True)]


def _aligned(row: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    cells = []
    for cell, columns_taken, column in zip(row, widths, columns, strict=True):
        padding = " " * (columns_taken - width(cell))
        cells.append(padding + cell if column.alignment == "right" else cell + padding)
    return _GAP.join(cells).rstrip() + "\n"


def tsv_lines(table: Table) -> Iterator[str]:
    """One line per row. Cells are not quoted: a tab or a line break inside text becomes a space."""
    yield "\t".join(printable(column.name) for column in table.columns) + "\n"
    for row in table.rows:
        yield "\t".join(printable(exact(cell)) for cell in row) + "\n"


def csv_lines(table: Table) -> Iterator[str]:
    """One record per row, quoted where RFC 4180 asks for it."""
    buffer = StringIO(newline="")
    writer = csv.writer(buffer)  # whose line ends make it quote carriage returns too
    for row in chain([[column.name for column in table.columns]], table.rows):
        writer.writerow([exact(cell) for cell in row])
        yield buffer.getvalue().removesuffix("\r\n") + "\n"
        buffer.seek(0)
        buffer.truncate()


def markdown_lines(table: Table) -> Iterator[str]:
    """A table of GitHub's Markdown under its title in bold; each note is a paragraph below it.

    Text keeps its meaning, whatever characters it has; signatures are shown as code.
    """
    if table.title:
        yield f"**{markdown_text(table.title)}**\n\n"
    rules = ["---:" if column.alignment == "right" else "---" for column in table.columns]
    yield _markdown_row(map(markdown_text, table.headings))
    yield _markdown_row(rules)
    for row, marks in table.display_rows():
        cells = map(markdown_text, row)
        yield _markdown_row(
            f"**{cell}**" if best else cell for cell, best in zip(cells, marks, strict=True)
        )
    for note in table.notes:
        yield f"\n{_markdown_note(_bold_note(note))}\n"


def _markdown_note(note: str) -> str:
    is_signature = "|" in note and note.isprintable() and not re.search(r"[\s`<&]", note)
    return f"`{note}`" if is_signature else markdown_text(note)


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


_MARKDOWN = re.compile(r"[\\`*\[\]|~]|(?<!\w)_|_(?!\w)")


def markdown_text(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> print(markdown_text("a|b *c* <d> e_f"))
    a\|b \*c\* &lt;d> e_f
    """
    escaped = _MARKDOWN.sub(lambda match: f"\\{match[0]}", printable(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;")


_LATEX = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"–": "--", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {"↑": r"$\uparrow$", "↓": r"$\downarrow$", "≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$"}
    | {'"': r"\textquotedbl{}"}
)


def latex_text(text: str) -> str:
    r"""Text that LaTeX shows as it is, on one line.

    >>> print(latex_text("a_b & 5%"))
    a\_b \& 5\%
    """
    return printable(text).translate(_LATEX)


def latex_lines(table: Table) -> Iterator[str]:
    """A tabular for the package booktabs; title and notes are comments."""
    yield "% needs \\usepackage{booktabs}\n"
    if table.title:
        yield f"% {printable(table.title)}\n"
    sides = "".join(column.alignment[0] for column in table.columns)
    yield f"\\begin{{tabular}}{{{sides}}}\n\\toprule\n"
    yield _latex_row(map(latex_text, table.headings))
    yield "\\midrule\n"
    for row, marks in table.display_rows():
        cells = map(latex_text, row)
        yield _latex_row(
            rf"\textbf{{{cell}}}" if best else cell for cell, best in zip(cells, marks, strict=True)
        )
    yield "\\bottomrule\n\\end{tabular}\n"
    for note in table.notes:
        yield f"% {printable(_bold_note(note))}\n"


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + " \\\\\n"


def html_text(text: str) -> str:
    """Text that HTML shows as it is; halves of characters, which no file holds, are replaced.

    >>> html_text('<b a="1">')
    '&lt;b a=&quot;1&quot;&gt;'
    """
    return html.escape(printable(text).encode("utf-8", "replace").decode("utf-8"))


_ALIGNED = ' style="text-align: {}"'


def html_lines(table: Table) -> Iterator[str]:
    """A table element, and the notes below it in small print."""
    yield '<table class="adequa">\n'
    if table.title:
        yield f"<caption>{html_text(table.title)}</caption>\n"
    yield f"<thead>{_html_row(table.headings, table.columns, 'th')}</thead>\n<tbody>\n"
    for row, marks in table.display_rows():
        yield _html_row(row, table.columns, "td", marks) + "\n"
    yield "</tbody>\n</table>\n"
    if table.notes:
        yield (
            "<p><small>"
            + "<br>\n".join(html_text(_bold_note(each)) for each in table.notes)
            + "</small></p>\n"
        )


def _bold_note(note: str) -> str:
    """A note for formats in which the best cell is bold."""
    return f"bold: {note.removeprefix(f'{BEST} ')}" if note.startswith(f"{BEST} best") else note


def _html_row(
    row: Sequence[str], columns: Sequence[Column], tag: str, marks: Sequence[bool] = ()
) -> str:
    cells = []
    for index, (cell, column) in enumerate(zip(row, columns, strict=True)):
        text = html_text(cell)
        content = f"<strong>{text}</strong>" if marks and marks[index] else text
        cells.append(f"<{tag}{_ALIGNED.format(column.alignment)}>{content}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"


def json_lines(table: Table) -> Iterator[str]:
    """One object: title, columns, rows (a line each) and notes."""
    yield f'{{\n  "title": {json_text(table.title)},\n  "columns": [\n    '
    columns = ({"name": each.name, "type": each.type} for each in table.columns)
    yield ",\n    ".join(map(json_text, columns))
    yield '\n  ],\n  "rows": ['
    for index, row in enumerate(table.rows):
        yield (",\n    " if index else "\n    ") + json_text([finite(cell) for cell in row])
    yield f'\n  ],\n  "notes": {json_text(table.notes)}\n}}\n'


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays as lists, dataclasses as dictionaries, NaN and inf as None.

    >>> plain({"low": float("nan"), "bounds": (0.5, float("inf"))})
    {'low': None, 'bounds': [0.5, None]}
    """
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {plain(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):  # arrays and numbers of numpy
        return plain(value.tolist())
    return finite(value)


def json_text(value: object) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _is_missing(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, float) and isnan(cell))


def _value(cell: Cell) -> Cell:
    return None if _is_missing(cell) else cell


def finite(value: AnyCell) -> AnyCell | None:
    """A value as JSON has it: None in place of an infinite or undefined number.

    >>> finite(0.5), finite(float("nan")), finite("text")
    (0.5, None, 'text')
    """
    return None if isinstance(value, float) and not isfinite(value) else value


def exact(cell: Cell) -> str:
    """A cell as TSV and CSV have it: all digits, and nothing where a value is missing.

    >>> exact(0.1), exact(3), exact(float("nan")), exact(True)
    ('0.1', '3', '', 'True')
    """
    if _is_missing(cell):
        return ""
    return repr(float(cell)) if isinstance(cell, float) else str(cell)


def decimal(value: float, decimals: int) -> str:
    """A number with so many decimal places; what is shown as zero has no sign.

    >>> decimal(-0.001, 2), decimal(-1.5, 2)
    ('0.00', '-1.50')
    """
    text = f"{value:.{decimals}f}"
    return text if float(text) else text.removeprefix("-")


def interval(low: float, high: float, decimals: int) -> str:
    """The bounds of an interval for readers.

    >>> interval(0.1, 0.25, 2), interval(float("nan"), 1.0, 2)
    ('0.10 – 0.25', '–')
    """
    if isnan(low) or isnan(high):
        return MISSING
    return f"{decimal(low, decimals)} – {decimal(high, decimals)}"


def width(text: str) -> int:
    """Columns that text takes in a terminal.

    >>> width("abc"), width("翻译"), width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )


class Format(str, Enum):
    """Formats that results are written in; a result may offer fewer, or others of its own."""

    text = "text"
    tsv = "tsv"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"
    html = "html"
    json = "json"
    parquet = "parquet"


# The ending of each format, and its writer. JSON is written from `Result.to_dict`, and Parquet from
# bytes.
_FORMATS: dict[Format, tuple[str, Callable[[Table], Iterator[str]] | None]] = {
    Format.text: (".txt", text_lines),
    Format.tsv: (".tsv", tsv_lines),
    Format.csv: (".csv", csv_lines),
    Format.markdown: (".md", markdown_lines),
    Format.latex: (".tex", latex_lines),
    Format.html: (".html", html_lines),
    Format.json: (".json", json_lines),
    Format.parquet: (".parquet", None),
}
# Of every verb. Parquet is for `Result.save`, and for verbs that write a row per segment.
TABLE_FORMATS = tuple(each for each in Format if each is not Format.parquet)


def format_of(path: str | Path, formats: Iterable[Format] = TABLE_FORMATS) -> Format:
    """The format that the ending of a file asks for; text where a file has no ending.

    >>> format_of("table.md").value, format_of("table").value
    ('markdown', 'text')
    >>> format_of("table.docx")
    Traceback (most recent call last):
        ...
    adequa.errors.AdequaError: table.docx cannot be written: its ending should be one of .txt, \
.tsv, .csv, .md, .tex, .html, .json.
    """
    return by_ending(path, {ending(each): each for each in formats}, Format.text)


def by_ending(path: str | Path, formats: Mapping[str, AnyFormat], default: AnyFormat) -> AnyFormat:
    """The format of a file by its ending; the default where it has none."""
    suffix = as_path(path).suffix.lower()
    if suffix and suffix not in formats:
        raise AdequaError(
            f"{path} cannot be written: its ending should be one of {', '.join(formats)}."
        )
    return formats[suffix] if suffix else default


def ending(format_: Format) -> str:
    """The ending of files in a format."""
    return _FORMATS[format_][0]


class Result(Writable):
    """What a computation returns: tables to read, a long table, and a dictionary.

    >>> class Answer(Result):
    ...     def tables(self):
    ...         return (self.long_table(),)
    ...
    ...     def long_table(self):
    ...         return Table((Column("answer", "integer"),), [(42,)])
    ...
    ...     def to_dict(self):
    ...         return {"answer": 42}
    >>> Answer()
    answer
        42
    >>> print(Answer().to_markdown(), end="")
    | answer |
    | ---: |
    | 42 |
    """

    __slots__ = ()

    @abstractmethod
    def tables(self) -> tuple[Table, ...]:
        """The tables that readers see, in their order."""

    @abstractmethod
    def long_table(self) -> Table:
        """One table of exact values, with a row per observation."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists and dictionaries, whose shape is stable."""

    def lines(self, format_: Format) -> Iterator[str]:
        """The result in a text format, piece by piece."""
        if format_ is Format.json:
            content = self.to_dict()
            yield json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        elif format_ is Format.html:
            yield from html_page(self.tables())
        elif format_ in {Format.tsv, Format.csv}:
            yield from self.long_table().lines(format_)
        else:
            for index, table in enumerate(self.tables()):
                yield "\n" if index else ""
                yield from table.lines(format_)

    def to_pandas(self) -> pd.DataFrame:
        """The long table as a data frame; needs pandas."""
        return self.long_table().to_pandas()

    def save(self, path: str | Path) -> None:
        """Write the result to a file, in the format that its ending asks for."""
        self.write_file(path, format_of(path, Format))

    def write_file(self, path: str | Path, format_: Format) -> None:
        """Write the result to a file in this format."""
        if format_ is Format.parquet:
            atomic_write_bytes(path, self.long_table().to_parquet())
            return
        with atomic_write(path) as file:
            file.writelines(self.lines(format_))

    def _repr_html_(self) -> str:
        return "".join(table.to_html() for table in self.tables())


_STYLE = """\
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem; }
table { border-collapse: collapse; margin: 1rem 0; }
caption { text-align: left; padding: 0.25rem 0; }
th, td { padding: 0.25rem 0.75rem; border-bottom: 1px solid #ddd;
  font-variant-numeric: tabular-nums; }
small { overflow-wrap: anywhere; }
"""


def html_page(tables: Sequence[Table], body: Iterable[str] = (), title: str = "") -> Iterator[str]:
    """A self-contained page that shows tables and then other HTML; it runs and loads nothing."""
    title = html_text(title or (tables[0].title if tables else "") or "adequa")
    yield '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
    yield (
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    )
    yield f"<title>{title}</title>\n<style>\n{_STYLE}</style>\n"
    for table in tables:
        yield from html_lines(table)
    yield from body
    yield "</html>\n"
