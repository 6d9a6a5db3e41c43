"""Parquet, by way of pyarrow (the `[data]` extra): tables, and shards of a corpus.

Only the columns that are needed are read, so that damage to others is not noticed. The checksums of
pages are compared in files that have them; pyarrow writes none by default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from adequa.errors import AdequaError
from adequa.io.columns import Chunk, NotUtf8, OpenTable, places
from adequa.io.shards import UNIT_BYTES, UNIT_ROWS, NewColumns, Unit
from adequa.io.text import (
    Advance,
    FilePath,
    display_name,
    file_size,
    open_binary,
    uncompressed_name,
    unreadable,
)
from adequa.segments import BoolArray

_NUMBER_BYTES = 8  # of a value that is no text, or of the number of a text
_SIZED_ROWS = 1 << 10


@contextmanager
def open_parquet(path: FilePath, advance: Advance) -> Iterator[OpenTable]:
    """A Parquet file as a table; only the columns that are needed are read."""
    name = display_name(path)
    if uncompressed_name(path) != Path(path).name:
        raise AdequaError(f"{name}: Parquet is compressed by itself; unpack the file first.")
    with ExitStack() as opened:
        file = parquet_file(name, lambda: opened.enter_context(open_binary(path)))
        yield OpenTable(
            name,
            tuple(file.schema_arrow.names),
            _chunks(file, name, file_size(path) or 0, advance),
            format="Parquet",
        )


def parquet_file(
    name: str, stream: Callable[[], BinaryIO], dictionaries: Sequence[str] = ()
) -> Any:
    """A Parquet file that is open for reading; columns of `dictionaries` hold equal texts once."""
    parquet = imported_parquet(name)
    with failures_in_words(name):
        # Without the buffer size, and with pre_buffer, whole row groups would be held.
        return parquet.ParquetFile(
            stream(),
            buffer_size=1 << 20,
            pre_buffer=False,
            read_dictionary=list(dictionaries),
            page_checksum_verification=True,
        )


def unpacked_sizes(name: str, content: bytes) -> Iterator[int]:
    """Bytes of all values of a file, in parts, before any of them is a Python object.

    Pages may repeat a long text by its number in a dictionary, so that a small file holds gigabytes
    of texts. Pages and numbers are counted as the file states them, and texts as often as they are
    repeated; equal ones are in memory once.
    """
    file = parquet_file(name, lambda: BytesIO(content))
    chunks = [
        chunk
        for group in range(file.metadata.num_row_groups)
        for chunk in _columns(file, name, group)
    ]
    for chunk in chunks:
        yield max(chunk.total_uncompressed_size, 0) + _NUMBER_BYTES * max(chunk.num_values, 0)
    with failures_in_words(name):
        texts = {chunk.path_in_schema for chunk in chunks if chunk.physical_type == "BYTE_ARRAY"}
    file = parquet_file(name, lambda: BytesIO(content), sorted(texts))
    with failures_in_words(name):
        for batch in file.iter_batches(batch_size=_SIZED_ROWS, columns=sorted(texts)):
            yield from map(_text_bytes, batch.columns)


def _columns(file: Any, name: str, group: int) -> list[Any]:
    """What the footer says of the columns of a row group.

    pyarrow ends the process where that is damaged, unless a row is read before, which raises.
    """
    with failures_in_words(name):
        next(file.iter_batches(batch_size=1, row_groups=[group]), None)
    described = file.metadata.row_group(group)
    return [described.column(column) for column in range(described.num_columns)]


def _text_bytes(array: Any) -> int:
    """The bytes of all texts in an array, each counted as often as it is there."""
    from pyarrow import compute, types  # noqa: PLC0415  # installed, as the file is open

    if types.is_dictionary(array.type):
        lengths = compute.binary_length(array.dictionary)
        return compute.sum(lengths.take(array.indices)).as_py() or 0
    if types.is_struct(array.type):
        return sum(map(_text_bytes, array.flatten()))
    if types.is_map(array.type):
        return _text_bytes(array.keys) + _text_bytes(array.items)
    if _is_list(array.type):
        return _text_bytes(array.flatten())
    return int(array.nbytes)


def imported_parquet(name: str) -> Any:
    """The module pyarrow.parquet, or a sentence that names the file which needs it."""
    try:
        from pyarrow import parquet  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            f"{name}: reading Parquet needs pyarrow; install it with: pip install 'adequa[data]'"
        ) from error
    return parquet


@contextmanager
def failures_in_words(name: str) -> Iterator[None]:
    """Turn what pyarrow raises into sentences that name the file."""
    from pyarrow import ArrowException  # noqa: PLC0415  # installed, as the file is open

    try:
        yield
    except (ArrowException, UnicodeDecodeError, KeyError) as error:  # names that do not agree
        raise _damaged(name, error) from error
    except OSError as error:
        raise (unreadable if error.errno else _damaged)(name, error) from error


def _damaged(name: str, error: Exception) -> AdequaError:
    reason = str(error).partition("\n")[0].rstrip(".")
    return AdequaError(f"{name} cannot be read as Parquet: {reason}.")


def _chunks(
    file: Any, name: str, file_bytes: int, advance: Advance
) -> Callable[[tuple[str, ...] | None, int], Iterator[Chunk]]:
    def chunks(columns: tuple[str, ...] | None, size: int) -> Iterator[Chunk]:
        done, rows = 0, int(file.metadata.num_rows)
        selected = file.schema_arrow.names if columns is None else list(columns)
        with failures_in_words(name):
            for batch in file.iter_batches(batch_size=size, columns=selected):
                if not batch.num_rows:
                    continue
                yield Chunk(
                    {c: batch.column(c).to_pylist() for c in selected},
                    places(name, "row", done + 1),
                )
                # Progress by rows: when pyarrow reads which bytes is up to it.
                before = file_bytes * done // rows
                done += batch.num_rows
                advance(file_bytes * done // rows - before)

    return chunks


_SIGNATURE = b"signature"  # of a column of scores, in the metadata of its field
_DEFAULT_CODEC = "snappy"  # of a shard without rows, which has no codec to follow


class ParquetShard:
    """An open shard of Parquet."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._file, self._name = parquet_file(name, lambda: stream), name
        names = tuple(self._file.schema_arrow.names)
        self.table = OpenTable(name, names, lambda *_: iter(()))

    @property
    def schema(self) -> Any:
        """Names and types of all columns."""
        return self._file.schema_arrow

    def check_text(self, texts: tuple[str, ...], refs: tuple[str, ...]) -> None:
        """Raise where a column holds something else than text or, of references, lists of texts."""
        from pyarrow import types  # noqa: PLC0415  # installed, as the file is open

        for column in (*texts, *refs):
            kind = self.schema.field(column).type
            inner = kind.value_type if column in refs and _is_list(kind) else kind
            inner = inner.value_type if types.is_dictionary(inner) else inner
            if not (_is_text(inner) or types.is_null(inner)):
                raise AdequaError(
                    f'{self._name}: the column "{column}" is {kind}, not text; name another with '
                    "--column, or make text of it."
                )

    def units(self, columns: tuple[str, ...]) -> Iterator[Unit]:
        """All rows in units; of these columns also the values."""
        import pyarrow as pa  # noqa: PLC0415  # installed, as the file is open

        total, done = max(int(self._file.metadata.num_rows), 1), 0
        for rows in _in_units(self._batches(), pa):
            values = {name: _values(rows.column(name)) for name in columns}
            place = places(self._name, "row", done + 1)
            done += rows.num_rows
            yield Unit(Chunk(values, place), rows, rows.num_rows, done / total)

    def _batches(self) -> Iterator[Any]:
        with failures_in_words(self._name):
            for group in range(self._file.metadata.num_row_groups):
                about = self._file.metadata.row_group(group)
                # As many rows at a time as take an eighth of a unit's bytes, on the average.
                each = max(about.total_byte_size, 1) / max(about.num_rows, 1)
                size = max(1, min(UNIT_ROWS, math.floor(UNIT_BYTES / 8 / each)))
                yield from self._file.iter_batches(batch_size=size, row_groups=[group])

    def writer(self, sink: BinaryIO, new: Mapping[str, str], reason: str) -> ParquetWriter:
        """A writer with the columns of scores, their signatures, and the column of reasons."""
        import pyarrow as pa  # noqa: PLC0415

        schema = self.schema
        for name, signature in new.items():
            about = {_SIGNATURE: signature.encode()}
            schema = schema.append(pa.field(name, pa.float64(), metadata=about))
        return ParquetWriter(
            sink, schema.append(pa.field(reason, pa.string())), self._codec(), self._name
        )

    def copier(self, sinks: Sequence[BinaryIO]) -> ParquetCopier:
        """A writer of some of the rows as they were read."""
        (sink,) = sinks
        return ParquetCopier(sink, self.schema, self._codec(), self._name)

    def _codec(self) -> str:
        about = self._file.metadata
        if not about.num_row_groups or not about.num_columns:
            return _DEFAULT_CODEC
        codec = str(_columns(self._file, self._name, 0)[0].compression).lower()
        return "none" if codec == "uncompressed" else codec


class ParquetWriter:
    """Writes units with new columns, each as a row group."""

    def __init__(self, sink: BinaryIO, schema: Any, codec: str, name: str) -> None:
        self._schema = schema
        self._writer = imported_parquet(name).ParquetWriter(sink, schema, compression=codec)

    def write(self, unit: Unit, new: NewColumns) -> None:
        """Write one unit with its new columns."""
        import pyarrow as pa  # noqa: PLC0415

        added = [pa.array(scores, from_pandas=True) for scores in new.scores.values()]
        added.append(pa.array(new.reasons, pa.string()))
        rows = pa.Table.from_arrays([*unit.rows.columns, *added], schema=self._schema)
        self._writer.write_table(rows, row_group_size=unit.count)

    def close(self) -> None:
        """Write what comes at the end."""
        self._writer.close()


class ParquetCopier:
    """Writes rows as they were read, those of chosen rows alone."""

    def __init__(self, sink: BinaryIO, schema: Any, codec: str, name: str) -> None:
        self._schema = schema
        self._writer = imported_parquet(name).ParquetWriter(sink, schema, compression=codec)

    def write(self, unit: Unit, mask: BoolArray) -> None:
        """Write the rows of a unit that are kept, as a row group."""
        import pyarrow as pa  # noqa: PLC0415

        if mask.any():
            rows = pa.Table.from_arrays(unit.rows.columns, schema=self._schema).filter(mask)
            self._writer.write_table(rows, row_group_size=rows.num_rows)

    def close(self) -> None:
        """Write what comes at the end."""
        self._writer.close()


def _values(column: Any) -> list[Any]:
    """The values of a column; text that is not UTF-8 harms no other row."""
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        values = [_value(each) for each in column]
    return values


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return NotUtf8()


def _in_units(batches: Iterator[Any], pa: Any) -> Iterator[Any]:
    """The rows of batches, cut into units."""
    parts: list[Any] = []
    count = size = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, UNIT_ROWS - count)
            start += part.num_rows
            parts.append(part)
            count += part.num_rows
            size += part.nbytes
            if count >= UNIT_ROWS or size >= UNIT_BYTES:
                yield pa.Table.from_batches(parts)
                parts, count, size = [], 0, 0
    if parts:
        yield pa.Table.from_batches(parts)


def _is_list(kind: Any) -> bool:
    from pyarrow import types  # noqa: PLC0415

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_text(kind: Any) -> bool:
    from pyarrow import types  # noqa: PLC0415

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
