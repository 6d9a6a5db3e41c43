"""Reading and writing: files in, segments and judgements out; results in, files out."""

from adequa.io.atomic import atomic_write, check_writable
from adequa.io.judgements import read_judgements
from adequa.io.parallel import read_parallel
from adequa.io.read import read_table, total_bytes
from adequa.io.score_files import read_score_file
from adequa.io.tables import column_mapping
from adequa.io.wmt_rankings import read_wmt_rankings

__all__ = [
    "atomic_write",
    "check_writable",
    "column_mapping",
    "read_judgements",
    "read_parallel",
    "read_score_file",
    "read_table",
    "read_wmt_rankings",
    "total_bytes",
]
