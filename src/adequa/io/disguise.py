"""Files that are plain text by their names, and mark-up or tables by their content.

Their tags, headers and braces would be scored as segments, with numbers that look like any others.
The beginning of a file is judged, and only what no translation looks like is refused: a line that
begins with `<` further down, or tabs in the lines, are text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from adequa.errors import AdequaError
from adequa.io.columns import FIELDS

TESTED_LINES = 50  # of a text, to tell whether it is a table or mark-up
_MARK_UP = re.compile(r"\s*<(\?xml|!doctype|srcset|refset|tstset|dataset|tmx|xliff)\b", re.I)
_ENDINGS = {"srcset": ".sgm", "refset": ".sgm", "tstset": ".sgm", "tmx": ".tmx", "xliff": ".xlf"}
_MARKED_UP = frozenset((".sgm", ".xml", ".tmx", ".xlf"))
_SEVERAL = 3  # lines that must all be objects


class DisguisedFileError(AdequaError):
    """A file whose name should have another ending."""

    def __init__(self, name: str, ending: str) -> None:
        what = "mark-up" if ending in _MARKED_UP else "a table"
        super().__init__(
            f"{name} is plain text by its name, and {what} by its content; its name should "
            f"end in {ending}."
        )
        self.name, self.ending = name, ending

    def __reduce__(self) -> tuple[type[DisguisedFileError], tuple[str, str]]:
        """How it travels between processes: exceptions do so by their sentence alone."""
        return type(self), (self.name, self.ending)


def plain_lines(name: str, lines: Iterator[str]) -> Iterator[str]:
    """The same lines; raise before the first of them if they are plainly no text."""
    beginning = list(islice(lines, TESTED_LINES))
    refuse_disguised(name, beginning)
    yield from chain(beginning, lines)


def refuse_disguised(name: str, beginning: Sequence[str], *, tabs: bool = False) -> None:
    """Raise if the first lines of a text are those of mark-up or of a table.

    With `tabs`, several lines with the same number of tabs are a table too.
    """
    filled = [line for line in beginning if line.strip()]
    ending = _disguised_ending(filled) or (".tsv" if tabs and _has_even_tabs(filled) else "")
    if ending:
        raise DisguisedFileError(name, ending)


def _disguised_ending(lines: Sequence[str]) -> str:
    """The ending that a text should have that is mark-up or a table; empty for plain text.

    >>> [_disguised_ending([line, "x"]) for line in ('<refset setid="a">', "mt\\tref", "A cat.")]
    ['.sgm', '.tsv', '']
    """
    if not lines:
        return ""
    match = _MARK_UP.match(lines[0])
    if match:
        nested = [each[1].lower() for each in map(_MARK_UP.match, lines[1:3]) if each]
        return _ENDINGS.get(match[1].lower()) or _ENDINGS.get("".join(nested[:1]), ".xml")
    if all(map(_is_object, lines[:_SEVERAL])):
        return ".jsonl"
    if _is_list(lines):
        return ".json"
    known = {name for names in FIELDS.values() for name in names}
    for separator, ending in (("\t", ".tsv"), (",", ".csv"), (";", ".csv")):
        cells = [cell.strip().strip('"').lower() for cell in lines[0].split(separator)]
        if len(known.intersection(cells)) > 1:
            return ending
    return ""


def _is_list(lines: Sequence[str]) -> bool:
    """Whether a text begins as a list of objects in JSON."""
    first = lines[0].strip()
    if first == "[":
        return len(lines) > 1 and lines[1].lstrip().startswith("{")
    return first.startswith("[{") and len(lines) == 1


def _is_object(line: str) -> bool:
    try:
        return line.lstrip().startswith("{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _has_even_tabs(lines: Sequence[str]) -> bool:
    """Whether all of several lines have the same number of tabs."""
    tabs = {line.count("\t") for line in lines}
    return len(lines) > 1 and len(tabs) == 1 and 0 not in tabs
