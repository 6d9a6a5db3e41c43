r"""Rows of TSV and CSV: where cells end, and whether quotation marks enclose them or are text.

CSV is read as RFC 4180 has it. In TSV both are common: pandas and spreadsheets quote cells, and
corpora have tabs between raw texts, which are full of quotation marks. Rows in which no cell
contains one read the same either way. From the first other row on both readings are tried, until
one of them is impossible: raw cells where a line has too few or too many of them, quoted ones where
a quotation mark stands where no writer puts it. Where both stay possible to the last line, the file
must look like the work of a writer (`_Evidence`); if it does not, it is refused.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from tempfile import SpooledTemporaryFile
from typing import IO, NamedTuple, TypeAlias

from adequa.errors import AdequaError, counted
from adequa.io.columns import FIELDS, Quoting, UsedQuoting

TAB = "\t"
_SEPARATORS = (",", ";", TAB)
_KNOWN = {"score", "better", "worse", "lp", *chain.from_iterable(FIELDS.values())}
_IN_MEMORY = 1 << 23  # bytes of undecided lines; more of them go to a temporary file
_ROWS_BEFORE = 100  # rows before the first quotation mark whose cells are looked at
# Cells that show nothing of a writer's habits: numbers and missing values are seldom quoted.
_NEUTRAL = re.compile(r"(?:[-+]?[\d.,]+(?:[eE][-+]?\d+)?|NA|NaN|nan|NULL|null|None)?")
_QUOTED = re.compile(r'"[^"]*"')
# A row between tabs in which marks stand only where writers put them: around cells, and doubled.
_STRICT = re.compile(r'(?:(?:"(?:[^"]|"")*"|[^"\t]*)(?:\t|\r?\Z))+')
# Quoted cells with \" inside. Each part matches in one way only, so that the time is linear.
_BACKSLASHES = {
    separator: re.compile(
        rf'(?:\A|{separator})"(?:[^"\\]|\\[^"])*\\"(?:[^"\\]|\\.)*"(?:{separator}|\r?\Z)'
    )
    for separator in _SEPARATORS
}
_SPACED = re.compile(' +"')
_SHOWN = 60  # characters of a cell in error sentences

# The number of its first line, its cells, and the row as it was written.
NumberedRow: TypeAlias = tuple[int, list[str], str]


class DelimitedRows:
    """The rows of a TSV or CSV file; the first is the header.

    `lines` may end in the `\r` of `\r\n`; the first has the number `number`. `quoting` is what the
    user chose; `used` is what the quotation marks turned out to be, None where there are none.
    """

    def __init__(
        self,
        name: str,
        lines: Iterable[str],
        quoting: Quoting = "auto",
        number: int = 1,
        *,
        is_csv: bool = False,
    ) -> None:
        self.name = name
        self.used: UsedQuoting | None = None
        self._raw_lines: Iterator[str] | None = None  # once it is certain that all are raw
        self._lines = iter(lines)
        first = next(self._lines, "")
        self.separator, is_named = _separator(first, is_csv=is_csv)
        if is_named:
            first, number = next(self._lines, ""), number + 1
        self._quoting = quoting
        if quoting == "auto" and self.separator != TAB:
            self._quoting = "rfc4180"
        self.header, self.header_text = [""], first
        self._number = self._read_header(first, number)
        if self.separator != TAB:
            self.header = [name.strip(" ") for name in self.header]

    @property
    def format(self) -> str:
        """The name of the format."""
        return "TSV" if self.separator == TAB else "CSV"

    def _read_header(self, first: str, number: int) -> int:
        """Read the first row, and return the number of its last line."""
        self.header = self._cut(first)
        if '"' not in first:
            return number
        is_quoted = any(cell.startswith('"') for cell in self.header)
        if self._quoting == "none" or (self._quoting == "auto" and not is_quoted):
            self.used = self._quoting = "none"
            return number
        # Names of columns are no text that has quotation marks of its own.
        self._quoting = "rfc4180"
        row = next(self._strict(chain([first], self._lines), number))
        self.header, self.header_text = row.cells, "\n".join(row.lines)
        return number + len(row.lines) - 1

    def __iter__(self) -> Iterator[NumberedRow]:
        """All rows after the header."""
        match self._quoting:
            case "none":
                yield from self._raw(self._lines, self._number + 1)
            case "rfc4180":
                yield from self._quoted(self._lines, self._number + 1)
            case "auto":
                yield from self._undecided()

    def batches(self, size: int) -> Iterator[tuple[Sequence[int], Sequence[list[str]]]]:
        """All rows after the header in batches: the numbers of their lines, and their cells."""
        rows = iter(self)
        number = 0
        while self._raw_lines is None:
            part = list(islice(rows, size))
            if not part:
                return
            numbers, cells, _ = zip(*part, strict=True)
            yield numbers, cells
            number = numbers[-1] + 1
        # Most large files: nothing is left to decide, and rows are cut many at a time.
        separator = self.separator
        while lines := list(islice(self._raw_lines, size)):
            following = number + len(lines)
            yield (
                range(number, following),
                [line.removesuffix("\r").split(separator) for line in lines],
            )
            number = following

    def _cut(self, line: str) -> list[str]:
        return line.removesuffix("\r").split(self.separator)

    def _raw(self, lines: Iterable[str], number: int) -> Iterator[NumberedRow]:
        separator, lines = self.separator, iter(lines)
        if self.used is not None:
            self._raw_lines = lines
        for line_number, line in enumerate(lines, number):
            if self.used is None and '"' in line:
                self.used = "none"
            yield line_number, line.removesuffix("\r").split(separator), line

    def _quoted(self, lines: Iterable[str], number: int) -> Iterator[NumberedRow]:
        for row in self._strict(lines, number):
            if row.marks:
                self.used = "rfc4180"
            yield row.number, row.cells, "\n".join(row.lines)

    def _strict(self, lines: Iterable[str], number: int) -> Iterator[_QuotedRow]:
        """Rows as RFC 4180 has them, or a sentence on the first that is none."""
        try:
            yield from quoted_rows(iter(lines), self.separator, number)
        except _MalformedRowError as error:
            raise self._malformed(error) from error

    def _malformed(self, error: _MalformedRowError) -> AdequaError:
        place = f"{self.name}, line {error.number}"
        if _has_backslashes(error.lines[0], self.separator):
            return self._escaped(error.number)
        return AdequaError(
            f"{place}: {error.reason}. Quoted cells end with a quotation mark, and have those of "
            "their text doubled; if quotation marks do not enclose cells here, say --quoting none."
        )

    def _escaped(self, number: int) -> AdequaError:
        return AdequaError(
            f'{self.name}, line {number} has \\" for the quotation marks inside a quoted cell. '
            'Write them doubled, as "" (in R: write.table(..., qmethod="double"), in pandas: '
            "doublequote=True); if all marks are text, say --quoting none."
        )

    def _undecided(self) -> Iterator[NumberedRow]:
        """Rows of a TSV file whose header shows no quoting."""
        evidence = _Evidence(len(self.header))
        separator, number = self.separator, self._number
        for number, line in enumerate(self._lines, self._number + 1):
            if '"' in line:
                break
            if evidence.rows < _ROWS_BEFORE:
                evidence.add_unquoted(line.split(separator))
            elif not (evidence.unquoted_comma and evidence.unquoted_space):
                evidence.unquoted_comma = evidence.unquoted_comma or "," in line
                evidence.unquoted_space = evidence.unquoted_space or " " in line
            yield number, line.removesuffix("\r").split(separator), line
        else:
            return
        with _Spool(chain([line], self._lines)) as spool:
            self.used = self._decide(spool, number, evidence)
            if self.used == "none":
                yield from self._raw(spool.all_lines(), number)
            else:
                yield from self._quoted(spool.all_lines(), number)

    def _decide(self, spool: _Spool, number: int, evidence: _Evidence) -> UsedQuoting:
        """The only possible reading, or the likely one where both are possible for all lines."""
        width = len(self.header)
        try:
            for row in quoted_rows(spool, self.separator, number):
                raw = [self._cut(line) for line in row.lines]
                fits_raw = all(len(cells) == width for cells in raw)
                fits = len(row.cells) == width
                if not fits and not fits_raw:
                    raise self._neither(
                        row.number, raw, f"{counted(len(row.cells), 'quoted cell')}"
                    )
                if not fits_raw:
                    return "rfc4180"
                if not fits or (row.marks and not _STRICT.fullmatch("\n".join(row.lines))):
                    return self._as_text(evidence, row.number, raw[0])
                evidence.add(row.number, raw, row.cells)
        except _MalformedRowError as error:
            raw = [self._cut(line) for line in error.lines]
            if len(raw[0]) != width:
                raise self._neither(error.number, raw, error.reason) from error
            if _has_backslashes(error.lines[0], self.separator):
                raise self._escaped(error.number) from error
            if error.is_return:
                raise self._uncertain(error.number, raw[0]) from error
            return self._as_text(evidence, error.number, raw[0])
        verdict = evidence.verdict()
        if verdict is None:
            raise self._uncertain(evidence.line, [evidence.cell])
        return verdict

    def _as_text(self, evidence: _Evidence, number: int, cells: list[str]) -> UsedQuoting:
        """Quotation marks are text, unless cells before had them doubled as writers do."""
        if evidence.doubled:
            raise self._uncertain(number, cells)
        return "none"

    def _neither(self, number: int, raw: Sequence[Sequence[str]], quoted: str) -> AdequaError:
        width = len(self.header)
        row, cells = next(each for each in enumerate(raw) if len(each[1]) != width)
        also = "" if quoted == counted(len(cells), "quoted cell") else f" (or {quoted})"
        return AdequaError(
            f"{self.name}, line {number + row} has {counted(len(cells), 'cell')}{also}, "
            f"but the header names {width}."
        )

    def _uncertain(self, number: int, cells: Sequence[str]) -> AdequaError:
        cell = next((cell for cell in cells if '"' in cell), cells[0])
        shown = cell if len(cell) <= _SHOWN else f"{cell[:_SHOWN]}…"
        return AdequaError(
            f"{self.name}, line {number}: it is not certain whether quotation marks enclose cells "
            f"here or are text: {shown} Say --quoting rfc4180 if they enclose cells, as pandas and "
            "spreadsheets write them, or --quoting none if they are text; CSV and JSONL leave no "
            "doubt."
        )


def _separator(first: str, *, is_csv: bool) -> tuple[str, bool]:
    """What separates the cells of a table by its first line, and whether the line only says so.

    Where the name of the file does not say that it is CSV, a known column must say it.

    >>> _separator("a;b, c;d", is_csv=True), _separator("sep=,", is_csv=True)
    ((';', False), (',', True))
    >>> _separator("mt,ref", is_csv=False), _separator("Yes, sir", is_csv=False)
    ((',', False), ('\\t', False))
    """
    if first.startswith("sep=") and first[4:].rstrip("\r") in _SEPARATORS:
        return first[4:].rstrip("\r"), True
    bare = _QUOTED.sub("", first)
    separator = max(_SEPARATORS, key=bare.count)
    if is_csv or TAB in bare:
        return (separator if separator in bare and is_csv else "," if is_csv else TAB), False
    cells = {cell.strip(' "\r').lower() for cell in first.split(separator)}
    return (TAB if len(cells) < 2 or _KNOWN.isdisjoint(cells) else separator), False  # noqa: PLR2004


class _QuotedRow(NamedTuple):
    number: int  # of its first line
    cells: list[str]
    lines: tuple[str, ...]
    marks: bool  # whether there is a quotation mark


class _MalformedRowError(Exception):
    def __init__(self, number: int, lines: Sequence[str], error: csv.Error) -> None:
        super().__init__(str(error))
        self.number, self.lines = number, lines
        self.is_return = "new-line" in str(error)

    @property
    def reason(self) -> str:
        message = str(self)
        if "end of data" in message:
            return "the quoted cell that begins here does not end"
        if "field limit" in message:
            limit = csv.field_size_limit()
            return f"the quoted cell that begins here does not end within {limit:,} characters"
        if self.is_return:
            return "there is a carriage return inside a cell that is not quoted"
        return "there is text after the quotation mark that ends a cell"


class _Feed:
    """Lines for a csv reader, which reads on only where a quoted cell goes on."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._again: list[str] = []
        self.taken: list[str] = []

    def begin(self, *lines: str) -> None:
        """Start a row with these lines, before those that were not read yet."""
        self._again, self.taken = [*lines], []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._again.pop(0) if self._again else next(self._lines)
        self.taken.append(line)
        return f"{line}\n"


def quoted_rows(lines: Iterator[str], separator: str, number: int) -> Iterator[_QuotedRow]:
    """Rows as RFC 4180 has them; lines without quotation marks are cut at separators alone.

    Between commas or semicolons, spaces before a quoted cell are skipped, which people write and
    no writer of unquoted cells does. Between tabs they are text.
    """
    feed = _Feed(lines)
    reader = csv.reader(feed, delimiter=separator, strict=True)
    skipping = csv.reader(feed, delimiter=separator, strict=True, skipinitialspace=True)
    for line in lines:
        if '"' not in line:
            cells = line.removesuffix("\r").split(separator)
            yield _QuotedRow(number, cells, (line,), marks=False)
            number += 1
            continue
        feed.begin(line)
        try:
            cells = next(reader)
            if separator != TAB and any(map(_SPACED.match, cells)):
                feed.begin(*feed.taken)
                cells = _without_spaces(cells, next(skipping))
        except csv.Error as error:
            raise _MalformedRowError(number, feed.taken, error) from error
        yield _QuotedRow(number, cells, tuple(feed.taken), marks=True)
        number += len(feed.taken)


def _without_spaces(cells: list[str], skipped: list[str]) -> list[str]:
    """The cells of a row read without spaces before them, if the marks in the row need that."""
    differ = [cell.lstrip(" ") for cell in cells] != [cell.lstrip(" ") for cell in skipped]
    return skipped if differ else cells


def _has_backslashes(line: str, separator: str) -> bool:
    """Whether a cell is quoted with backslashes before the marks inside, as R and MySQL do."""
    return _BACKSLASHES[separator].search(line) is not None


class _Spool:
    """Lines that can be read a second time, together with those that were not read yet."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._file: IO[bytes] = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # see __exit__

    def __enter__(self) -> _Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._file.write(line.encode())
        self._file.write(b"\n")
        return line

    def all_lines(self) -> Iterator[str]:
        """The lines that were read, and all others."""
        self._file.seek(0)
        for line in self._file:
            yield line[:-1].decode()
        yield from self._lines


_FEW, _MANY = 3, 10  # quoted cells


@dataclass(slots=True)
class _Evidence:
    """Which cells are quoted, where both readings are possible.

    Writers quote all cells with quotation marks or line breaks, which are doubled inside (csv and
    pandas); or also those with a comma (Excel), or with a space (PHP); or all cells of a column.
    Raw text has sentences in quotation marks among others without.
    """

    width: int
    rows: int = 0  # without quotation marks
    line: int = 0  # the first with a quoted cell
    cell: str = ""  # the first that is quoted
    doubled: int = 0  # quoted cells with quotation marks inside
    spans: int = 0  # cells over several lines, each of which would be a row of raw text
    commas: int = 0  # other quoted cells with a comma
    commas_without_space: int = 0
    plain: int = 0  # other quoted cells
    plain_without_space: int = 0
    plain_columns: set[int] = field(default_factory=set)
    quoted: list[int] = field(default_factory=list)  # by column
    unquoted: list[int] = field(default_factory=list)  # texts, by column
    unquoted_comma: bool = False
    unquoted_space: bool = False

    def __post_init__(self) -> None:
        self.quoted, self.unquoted = [0] * self.width, [0] * self.width

    def add_unquoted(self, cells: Sequence[str]) -> None:
        self.rows += 1
        for column, cell in enumerate(cells[: self.width]):
            self._add_unquoted(column, cell)

    def _add_unquoted(self, column: int, cell: str) -> None:
        if _NEUTRAL.fullmatch(cell.strip()):
            return
        self.unquoted[column] += 1
        self.unquoted_comma = self.unquoted_comma or "," in cell
        self.unquoted_space = self.unquoted_space or " " in cell

    def add(self, number: int, raw: Sequence[Sequence[str]], cells: Sequence[str]) -> None:
        """Add a row that is valid in both readings."""
        if len(raw) > 1:
            self.line, self.cell = self.line or number, self.cell or f"{raw[0][-1]}"
            self.spans += 1
            return
        for column, (cell, text) in enumerate(zip(raw[0], cells, strict=True)):
            if not cell.startswith('"'):
                self._add_unquoted(column, cell)
                continue
            if not self.line:
                self.line, self.cell = number, cell
            self.quoted[column] += 1
            if '"' in text:
                self.doubled += 1
            elif "," in text:
                self.commas += 1
                self.commas_without_space += " " not in text
            else:
                self.plain += 1
                self.plain_without_space += " " not in text
                self.plain_columns.add(column)

    def verdict(self) -> UsedQuoting | None:
        """What explains all quoted cells; None where nothing does for certain."""
        verdict = self._verdict_on_lines()
        # Speech over two sentences of raw text, or a cell with tabs and line breaks.
        return None if self.spans and verdict == "rfc4180" else verdict

    def _verdict_on_lines(self) -> UsedQuoting | None:
        if self.plain:
            return self._verdict_on_plain()
        if self.commas and self.unquoted_comma:
            spaces = not self.commas_without_space and not self.unquoted_space
            return None if self.doubled or spaces else "none"
        if self.commas and not self.doubled:
            return "rfc4180" if self.commas >= _FEW and any(self.unquoted) else None
        return "rfc4180"

    def _verdict_on_plain(self) -> UsedQuoting | None:
        """The same where cells are quoted that csv, pandas and Excel would not quote."""
        whole = all(not self.unquoted[column] for column in self.plain_columns)
        spaces = not self.plain_without_space and not self.unquoted_space
        if whole or spaces:
            enough = _MANY if whole else _FEW
            return "rfc4180" if self.doubled or self.plain >= enough else None
        full = any(
            quoted >= _MANY and not unquoted
            for quoted, unquoted in zip(self.quoted, self.unquoted, strict=True)
        )
        return None if self.doubled or full else "none"
