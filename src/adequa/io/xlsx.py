"""Sheets of Excel workbooks, by way of openpyxl (the `[xlsx]` extra), as tables.

openpyxl and not a faster reader, because it needs no compiled code and streams the rows of a sheet.
A sheet is `book.xlsx:Name`; without a name it is the first that is not hidden. Cells are read as
text, formulas as the values that were stored with them.
"""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from xml.parsers import expat

from adequa.errors import AdequaError, counted, nearest
from adequa.io.columns import Chunk, OpenTable
from adequa.io.text import (
    Advance,
    FilePath,
    MemoryFile,
    display_name,
    file_size,
    open_binary,
    uncompressed_name,
    unreadable,
)
from adequa.io.xml import prolog_guard

_LARGEST = 1 << 30  # bytes of a workbook when unpacked
_BLOCK = 1 << 12
_HEADER_WITHIN = 1_000  # rows
_MOST_ROWS = 1 << 20  # of a sheet in Excel
_MARGIN = 50  # cells to the right of the header, which are refused where one is filled
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"  # .xls, and workbooks with a password
_SHEET = re.compile(r"(.+\.xlsx):(.+)", re.IGNORECASE | re.DOTALL)
_FAILURES = (
    zipfile.BadZipFile, zlib.error, ET.ParseError, EOFError, KeyError, ValueError, TypeError,
    AttributeError, IndexError, RuntimeError, expat.ExpatError,
)  # fmt: skip

NumberedCells = tuple[int, tuple[Any, ...]]


@contextmanager
def open_xlsx(path: FilePath, advance: Advance) -> Iterator[OpenTable]:
    """A sheet of a workbook as a table; its first row that is not empty is the header."""
    path, sheet_name = _split(path)
    name = display_name(path)
    if uncompressed_name(path) != Path(path).name:
        raise AdequaError(f"{name}: a workbook is compressed by itself; unpack the file first.")
    openpyxl = _imported(name)
    try:
        with open_binary(path) as stream:
            _check(stream, name)
            with _failures_in_words(name):
                book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
                sheet = _sheet(book, sheet_name, name)
                row, header = _header(sheet)
            names = _column_names(header)
            if not names:
                raise _without_header(sheet, name)
            rows = _rows(sheet, row + 1, len(names) + _MARGIN)

            @cache
            def formulas() -> frozenset[tuple[int, int]]:
                stream.seek(0)
                book = openpyxl.load_workbook(stream, read_only=True)
                return _formulas(book[sheet.title], len(names))

            def report() -> None:  # openpyxl does not tell how far it is
                advance(file_size(path) or 0)

            yield OpenTable(
                name,
                names,
                _chunks(rows, name, names, formulas, report),
                format="XLSX",
                selection=_selection(book, sheet),
            )
            book.close()
    except OSError as error:
        raise unreadable(name, error) from error


def _split(path: FilePath) -> tuple[FilePath, str | None]:
    """The workbook, and the sheet that its path names."""
    match = None if isinstance(path, MemoryFile) else _SHEET.fullmatch(str(path))
    if match is None or Path(path).exists():
        return path, None
    return match[1], match[2]


def _imported(name: str) -> Any:
    try:
        import openpyxl  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise AdequaError(
            f"{name}: reading XLSX needs openpyxl; install it with: pip install 'adequa[xlsx]'"
        ) from error
    # It warns of extensions of Excel, such as lists of allowed values, which no table needs.
    warnings.filterwarnings("ignore", category=UserWarning, module="openpyxl")
    return openpyxl


def _check(stream: Any, name: str) -> None:
    """Raise where a file is no workbook, would fill the memory, or declares entities."""
    if stream.read(len(_OLD_EXCEL)) == _OLD_EXCEL:
        raise AdequaError(
            f"{name} is an old Excel file, or has a password; save it as .xlsx without one."
        )
    stream.seek(0)
    with _failures_in_words(name), zipfile.ZipFile(stream) as archive:
        size = sum(info.file_size for info in archive.infolist())
        if size > _LARGEST:
            raise AdequaError(
                f"{name} unpacks to {size / 1e6:,.0f} MB, more than the {_LARGEST / 1e6:,.0f} MB "
                "that are read of a workbook; give it as CSV."
            )
        for info in archive.infolist():
            if info.filename.endswith((".xml", ".rels")):
                guard = prolog_guard(f"{name} ({info.filename})")
                with archive.open(info) as part:
                    while (block := part.read(_BLOCK)) and guard(block):
                        pass
    stream.seek(0)


@contextmanager
def _failures_in_words(name: str) -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        raise AdequaError(f"{name} cannot be read as XLSX: {reason}.") from error


def _sheet(book: Any, sheet_name: str | None, name: str) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if not sheets:
        raise AdequaError(f"{name} has no sheet of cells.")
    if sheet_name is None:
        visible = [each for each in sheets.values() if each.sheet_state == "visible"]
        return next(iter(visible or sheets.values()))
    if sheet_name not in sheets:
        raise AdequaError(
            f'{name} has no sheet "{sheet_name}".{nearest(sheet_name, sheets)} '
            f"It has: {', '.join(sheets)}."
        )
    return sheets[sheet_name]


def _selection(book: Any, sheet: Any) -> str:
    """The sheet that is read, where there are others."""
    sheets = len(book.worksheets)
    return f'sheet "{sheet.title}" of {sheets}' if sheets > 1 else ""


def _header(sheet: Any) -> NumberedCells:
    """The first row that is not empty, and its number."""
    sheet.reset_dimensions()  # which some writers get wrong
    rows = enumerate(sheet.iter_rows(values_only=True), 1)
    filled = (row for row in islice(rows, _HEADER_WITHIN) if not _is_blank(row[1]))
    return next(filled, (0, ()))


def _without_header(sheet: Any, name: str) -> AdequaError:
    with _failures_in_words(name):
        is_late = any(cells for _, cells in _rows(sheet, _HEADER_WITHIN + 1, _MARGIN))
    what = f"has no header in its first {_HEADER_WITHIN:,} rows" if is_late else "is empty"
    return AdequaError(f"{name} {what}: there is nothing to score.")


def _rows(sheet: Any, first: int, width: int) -> Iterator[NumberedCells]:
    """Rows by their numbers up to the last that is not empty, cut to a number of cells.

    Blank rows hold no cells here: formatting can make each of them as wide as a sheet can be.
    """
    following = first
    rows = sheet.iter_rows(min_row=first, max_col=width, values_only=True)
    for number, cells in enumerate(islice(rows, _MOST_ROWS), first):
        if not _is_blank(cells):
            yield from ((blank, ()) for blank in range(following, number))
            yield number, cells
            following = number + 1


def _is_blank(cells: Sequence[Any]) -> bool:
    return all(cell is None or cell == "" for cell in cells)


def _column_names(header: Sequence[Any]) -> tuple[str, ...]:
    names = [_text(cell).strip() for cell in header]
    while names and not names[-1]:
        names.pop()
    return tuple(name or f"column {number}" for number, name in enumerate(names, 1))


def _chunks(
    rows: Iterator[NumberedCells],
    name: str,
    names: tuple[str, ...],
    formulas: Callable[[], frozenset[tuple[int, int]]],
    report: Callable[[], None],
) -> Callable[[tuple[str, ...] | None, int], Iterator[Chunk]]:
    width = len(names)

    def checked(row: NumberedCells, columns: Sequence[str]) -> list[str]:
        number, cells = row
        filled = [index for index, cell in enumerate(cells, 1) if cell is not None and cell != ""]
        if filled and filled[-1] > width:
            raise AdequaError(
                f"{name}, row {number} has {counted(filled[-1], 'cell')}, "
                f"but the header names {width}."
            )
        padded = [*cells[:width], *[None] * (width - len(cells))]
        for index, (column, cell) in enumerate(zip(names, padded, strict=True)):
            if column not in columns:
                continue
            if cell in _ERRORS:
                raise AdequaError(f'{name}, row {number}: "{column}" is the error {cell}.')
            if cell is None and (number, index) in formulas():
                raise AdequaError(
                    f'{name}, row {number}: "{column}" is a formula without a stored value; open '
                    "the file in a spreadsheet and save it, or give it as CSV."
                )
        return list(map(_text, padded))

    def chunks(columns: tuple[str, ...] | None, size: int) -> Iterator[Chunk]:
        selected = columns or names
        with _failures_in_words(name):
            while part := list(islice(rows, size)):
                cells = [checked(row, selected) for row in part]
                by_column = dict(zip(names, zip(*cells, strict=True), strict=True))
                place = partial(_place, name, [number for number, _ in part])
                yield Chunk({column: by_column[column] for column in selected}, place, escapes=True)
        report()

    return chunks


def _place(name: str, numbers: Sequence[int], row: int) -> str:
    return f"{name}, row {numbers[row]}"


_ERRORS = frozenset(("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"))


def _text(value: Any) -> str:
    """A cell as text; whole numbers without a decimal point, as spreadsheets show them.

    Characters that XML cannot hold are spelt as _x000D_ in files.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    if "_x" in text:
        from openpyxl.utils.escape import unescape  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415  # an extra

        text = str(unescape(text))
    return text


def _formulas(sheet: Any, width: int) -> frozenset[tuple[int, int]]:
    """The rows, from 1, and columns, from 0, of all formulas in the first columns."""
    sheet.reset_dimensions()
    return frozenset(
        (number, column)
        for number, row in enumerate(sheet.iter_rows(max_col=width, values_only=True), 1)
        for column, cell in enumerate(row)
        if isinstance(cell, str) and cell.startswith("=")
    )
