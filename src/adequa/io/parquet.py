"""Parquet, by way of pyarrow, which comes with the `[data]` extra."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from adequa.errors import AdequaError
from adequa.io.systems import stem
from adequa.io.tables import Chunk, Table, Wanted, table_segments
from adequa.io.text import Advance, FilePath, shown, uncompressed_name, unreadable
from adequa.segments import Segments


def read_parquet(path: FilePath, wanted: Wanted) -> Iterator[Segments]:
    """Segments from a Parquet file; only the columns that are needed are read."""
    name = shown(path)
    if uncompressed_name(path) != Path(path).name:
        raise AdequaError(f"{name}: Parquet is compressed by itself; unpack the file first.")
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            f"{name}: reading Parquet needs pyarrow; install it with: pip install 'adequa[data]'"
        ) from error
    try:
        with Path(path).open("rb") as stream:
            # Without the buffer size, and with pre_buffer, whole row groups would be held.
            file = parquet.ParquetFile(stream, buffer_size=1 << 20, pre_buffer=False)
            chunks = _chunks(file, name, Path(path).stat().st_size, wanted.advance)
            table = Table(name, tuple(file.schema_arrow.names), chunks)
            yield from table_segments(table, wanted, stem(path))
    except (ArrowException, UnicodeDecodeError) as error:
        raise _damaged(name, error) from error
    except OSError as error:
        raise (unreadable if error.errno else _damaged)(name, error) from error


def _damaged(name: str, error: Exception) -> AdequaError:
    reason = str(error).partition("\n")[0].rstrip(".")
    return AdequaError(f"{name} cannot be read as Parquet: {reason}.")


def _chunks(
    file: Any, name: str, file_bytes: int, advance: Advance
) -> Callable[[tuple[str, ...], int], Iterator[Chunk]]:
    def place_from(first: int) -> Callable[[int], str]:
        return lambda row: f"{name}, row {first + row}"

    def chunks(columns: tuple[str, ...], size: int) -> Iterator[Chunk]:
        done, rows = 0, int(file.metadata.num_rows)
        for batch in file.iter_batches(batch_size=size, columns=list(columns)):
            if not batch.num_rows:
                continue
            yield Chunk({c: batch.column(c).to_pylist() for c in columns}, place_from(done + 1))
            # Rows tell the progress: what pyarrow reads when is its own affair.
            told = file_bytes * done // rows
            done += batch.num_rows
            advance(file_bytes * done // rows - told)

    return chunks
