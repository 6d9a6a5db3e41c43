"""Reading and writing: files in, segments out; results in, files out."""

from adequa.io.atomic import atomic_write, check_writable
from adequa.io.parallel import read_parallel
from adequa.io.read import read_table, total_bytes
from adequa.io.tables import column_mapping

__all__ = [
    "atomic_write",
    "check_writable",
    "column_mapping",
    "read_parallel",
    "read_table",
    "total_bytes",
]
