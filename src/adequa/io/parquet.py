"""Parquet, by way of pyarrow, which comes with the `[data]` extra."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from adequa.errors import AdequaError
from adequa.io.tables import Chunk, Table, places
from adequa.io.text import Advance, FilePath, shown, uncompressed_name, unreadable


@contextmanager
def open_parquet(path: FilePath, advance: Advance) -> Iterator[Table]:
    """A Parquet file as a table; only the columns that are needed are read."""
    name = shown(path)
    if uncompressed_name(path) != Path(path).name:
        raise AdequaError(f"{name}: Parquet is compressed by itself; unpack the file first.")
    parquet = imported_parquet(name)
    with ExitStack() as opened:
        with damage_in_words(name):
            stream = opened.enter_context(Path(path).open("rb"))
            # Without the buffer size, and with pre_buffer, whole row groups would be held.
            file = parquet.ParquetFile(stream, buffer_size=1 << 20, pre_buffer=False)
            file_bytes = Path(path).stat().st_size
        column_names = tuple(file.schema_arrow.names)
        yield Table(name, column_names, _chunks(file, name, file_bytes, advance))


def imported_parquet(name: str) -> Any:
    """pyarrow's Parquet, or a sentence that names the file which needs it."""
    try:
        from pyarrow import parquet  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            f"{name}: reading Parquet needs pyarrow; install it with: pip install 'adequa[data]'"
        ) from error
    return parquet


@contextmanager
def damage_in_words(name: str) -> Iterator[None]:
    """What pyarrow cannot read, in a sentence."""
    from pyarrow import ArrowException  # noqa: PLC0415  # it is there by now

    try:
        yield
    except (ArrowException, UnicodeDecodeError) as error:
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
        wanted = file.schema_arrow.names if columns is None else list(columns)
        with damage_in_words(name):
            for batch in file.iter_batches(batch_size=size, columns=wanted):
                if not batch.num_rows:
                    continue
                yield Chunk(
                    {c: batch.column(c).to_pylist() for c in wanted}, places(name, "row", done + 1)
                )
                # Rows tell the progress: what pyarrow reads when is its own affair.
                told = file_bytes * done // rows
                done += batch.num_rows
                advance(file_bytes * done // rows - told)

    return chunks
