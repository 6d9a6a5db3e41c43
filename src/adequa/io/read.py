"""Files of segments: one way in for every format, found by the file's suffix."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TypeAlias, cast

from adequa.errors import AdequaError
from adequa.io.tables import BATCH, Wanted
from adequa.io.text import STDIN, Advance, FilePath, ignore, shown, text_format
from adequa.segments import Segments

Reader: TypeAlias = Callable[[FilePath, Wanted], Iterator[Segments]]

READERS = {
    ".tsv": "adequa.io.tsv:read_tsv",
    ".jsonl": "adequa.io.json_rows:read_jsonl",
    ".json": "adequa.io.json_rows:read_json_list",
    ".parquet": "adequa.io.parquet:read_parquet",
    ".xml": "adequa.io.wmt:read_wmt",
    ".sgm": "adequa.io.wmt:read_wmt",
    ".sgml": "adequa.io.wmt:read_wmt",
}


def read_table(
    path: FilePath,
    *,
    columns: Mapping[str, tuple[str, ...]] | None = None,
    keep_ids: tuple[str, ...] = (),
    advance: Advance | None = None,
    batch: int = BATCH,
) -> Iterator[Segments]:
    """Segments from one file that holds all of it, in batches; `-` is TSV on standard input.

    `columns` says which column is `src`, `mt`, `ref`, `system` or `doc` where it has another
    name. Of the ids, `system` always comes along, others where `keep_ids` names them. A batch may
    hold rows of several systems.
    """
    reader = _reader(path)
    yield from reader(path, Wanted(columns or {}, keep_ids, advance or ignore, batch))


def total_bytes(paths: Iterable[FilePath]) -> int | None:
    """The size of all files together, which is what `advance` adds up to; None for pipes."""
    total = 0
    for path in paths:
        if os.fspath(path) == STDIN or not Path(path).is_file():
            return None
        total += Path(path).stat().st_size
    return total


def _reader(path: FilePath) -> Reader:
    suffix = ".tsv" if _is_stream(path) else text_format(path)
    if suffix not in READERS:
        raise AdequaError(
            f"{shown(path)} is of no known format. The name of the file "
            f"should end in {', '.join(READERS)}; plain text goes in by -t and -r."
        )
    module, function = READERS[suffix].split(":")
    return cast("Reader", getattr(import_module(module), function))


def _is_stream(path: FilePath) -> bool:
    """Whether a path is standard input or a pipe, which has no suffix to go by."""
    if os.fspath(path) in (STDIN, "/dev/stdin"):
        return True
    try:
        return stat.S_ISFIFO(Path(path).stat().st_mode)
    except OSError:
        return False  # the reader will say what is wrong with it
