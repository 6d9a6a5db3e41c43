"""Damaged files of tables: they read as rows, or are refused in a sentence."""

from __future__ import annotations

import io
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq

from adequa.errors import AdequaError
from adequa.io.parquet import open_parquet, unpacked_sizes
from adequa.io.text import MemoryFile, ignore
from campaign.base import Target, Trial
from campaign.mutations import mutated

_ROWS = 50


def _parquet() -> bytes:
    texts = {name: [f"{name} b {row}" for row in range(_ROWS)] for name in ("mt", "ref", "more")}
    table = pa.table({**texts, "lists": [["a", "b"]] * _ROWS, "number": list(range(_ROWS))})
    stream = io.BytesIO()
    pq.write_table(table, stream, row_group_size=20)
    return stream.getvalue()


_PARQUET = _parquet()


def _read_parquet(trial: Trial) -> None:
    content = mutated(trial.random, _PARQUET, 2)
    with suppress(AdequaError):
        sum(unpacked_sizes("a.parquet", content))
    file = MemoryFile("a.parquet", content)
    with suppress(AdequaError), open_parquet(file, ignore) as table:
        list(table.chunks(("mt", "ref"), 7))


TARGETS = (Target("parquet", _read_parquet),)
