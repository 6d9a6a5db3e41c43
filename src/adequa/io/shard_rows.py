"""The rows of a shard, some at a time, and the same rows written again with columns of scores.

A unit is the rows that are held and scored together. Where a unit ends depends on the content of
the shard alone: what is written is the same, byte for byte, whoever writes it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, BinaryIO, TypeAlias, cast

from adequa.io.shards import Shard
from adequa.io.tables import Chunk, Table
from adequa.io.text import text_format
from adequa.segments import FloatArray

# Rows, and bytes of them, whichever is reached first. Enough rows that batches of similar length
# can be made of them, and few enough that several workers fit beside each other.
UNIT_ROWS = 8192
UNIT_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Unit:
    """Consecutive rows: the columns that are scored, and the rows as they are passed on."""

    chunk: Chunk
    rows: Any  # of the format
    count: int
    done: float  # how much of the shard is read with this unit, from 0 to 1


@dataclass(frozen=True, slots=True, eq=False)
class NewColumns:
    """What is added to the rows of a unit: scores, NaN for none, and why there are none."""

    scores: Mapping[str, FloatArray]
    reasons: Sequence[str | None]


class RowWriter(ABC):
    """Writes units with new columns behind each other."""

    @abstractmethod
    def write(self, unit: Unit, new: NewColumns) -> None:
        """Write one unit."""

    @abstractmethod
    def close(self) -> None:
        """Write what comes at the end."""

    def drop(self) -> None:  # noqa: B027  # most have nothing to let go of
        """Give up, and write nothing any more."""


class OpenShard(ABC):
    """A shard that is open for reading, once."""

    table: Table  # its name and its columns; the rows are read by units

    @abstractmethod
    def units(self, columns: tuple[str, ...]) -> Iterator[Unit]:
        """All rows in units; of these columns also the values."""

    @abstractmethod
    def writer(self, sink: BinaryIO, new: Mapping[str, str], reason: str) -> RowWriter:
        """What writes the same format to a file.

        `new` are the columns of scores with their signatures, and `reason` is the column that says
        why a row has none.
        """


OpensShard: TypeAlias = Callable[[BinaryIO, Shard], AbstractContextManager[OpenShard]]

_OPENERS = {
    ".parquet": "adequa.io.shard_parquet:open_parquet_shard",
    ".jsonl": "adequa.io.shard_jsonl:open_jsonl_shard",
}


def open_shard(stream: BinaryIO, shard: Shard) -> AbstractContextManager[OpenShard]:
    """A shard of one of the formats, from its bytes."""
    module, function = _OPENERS[text_format(shard.name)].split(":")
    opener = cast("OpensShard", getattr(import_module(module), function))
    return opener(stream, shard)
