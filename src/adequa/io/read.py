"""Files of segments: one way in for every format, found by the file's suffix."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import cast

from adequa.errors import AdequaError
from adequa.io.lockstep import stem
from adequa.io.tables import BATCH, Opener, Table, Wanted, table_segments
from adequa.io.text import STDIN, Advance, FilePath, ignore, shown, text_format
from adequa.io.wmt import read_wmt
from adequa.segments import Segments

TABLES = {
    ".tsv": "adequa.io.tsv:open_tsv",
    ".jsonl": "adequa.io.json_rows:open_jsonl",
    ".json": "adequa.io.json_rows:open_json_list",
    ".parquet": "adequa.io.parquet:open_parquet",
}
# All formats that hold everything in one file: tables, and WMT mark-up.
READERS = (*TABLES, ".xml", ".sgm", ".sgml")


def read_table(
    path: FilePath,
    *,
    columns: Mapping[str, tuple[str, ...]] | None = None,
    keep_ids: tuple[str, ...] = (),
    documents: bool = False,
    advance: Advance | None = None,
    batch: int = BATCH,
) -> Iterator[Segments]:
    """Segments from one file that holds all of it, in batches; `-` is TSV on standard input.

    `columns` says which column is `src`, `mt`, `ref`, `system` or `doc` where it has another
    name. Of the ids, `system` always comes along, others where `keep_ids` names them, and with
    `documents` also `doc`, where the file has it. A batch may hold rows of several systems.
    """
    wanted = Wanted(columns or {}, keep_ids, advance or ignore, batch, documents)
    suffix = format_suffix(path)
    if suffix in TABLES:
        with open_table(path, wanted.advance) as table:
            yield from table_segments(table, wanted, stem(path))
    elif suffix in READERS:
        yield from read_wmt(path, wanted)
    else:
        raise AdequaError(
            f"{shown(path)} is of no known format. The name of the file "
            f"should end in {', '.join(READERS)}; plain text goes in by -t and -r."
        )


def open_table(path: FilePath, advance: Advance) -> AbstractContextManager[Table]:
    """A file of one of the formats in `TABLES`, open for reading."""
    module, function = TABLES[format_suffix(path)].split(":")
    opener = cast("Opener", getattr(import_module(module), function))
    return opener(path, advance)


def format_suffix(path: FilePath) -> str:
    """The suffix that says a file's format; standard input and pipes are TSV."""
    return ".tsv" if _is_stream(path) else text_format(path)


def total_bytes(paths: Iterable[FilePath]) -> int | None:
    """The size of all files together, which is what `advance` adds up to; None for pipes."""
    total = 0
    for path in paths:
        if os.fspath(path) == STDIN or not Path(path).is_file():
            return None
        total += Path(path).stat().st_size
    return total


def _is_stream(path: FilePath) -> bool:
    """Whether a path is standard input or a pipe, which has no suffix to go by."""
    if os.fspath(path) in (STDIN, "/dev/stdin"):
        return True
    try:
        return stat.S_ISFIFO(Path(path).stat().st_mode)
    except OSError:
        return False  # the reader will say what is wrong with it
