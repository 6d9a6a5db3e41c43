"""Where the official synonym and paraphrase tables are, and a digest of what they hold.

The tables are not part of this project. They come inside the PyPI package `pycocoevalcap`, in one
folder: `meteor-1.5.jar`, a zip archive with WordNet's synsets among its entries, and
`data/paraphrase-en.gz`. The package is found without importing it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile

from adequa.errors import AdequaError

JAR: Final = "meteor-1.5.jar"
PARAPHRASES: Final = "data/paraphrase-en.gz"
EXCEPTIONS_ENTRY: Final = "synonym/english.exceptions"
SYNSETS_ENTRY: Final = "synonym/english.synsets"


def table_file(folder: str, name: str) -> Path:
    """The path of a table in this folder, or in the installed package where it is empty."""
    if folder:
        path = Path(folder).expanduser() / name
        if path.is_file():
            return path
        raise AdequaError(
            f"METEOR's table {name} is not in {folder}; set tables to the folder that holds {JAR} "
            f"and {PARAPHRASES}."
        )
    spec = find_spec("pycocoevalcap")
    for package in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(package, "meteor", name)
        if path.is_file():
            return path
    raise AdequaError(
        f"METEOR's synonym and paraphrase modules need the official table {name}; run "
        "`pip install --no-deps pycocoevalcap`, or set tables to the folder that holds it."
    )


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what a damaged table raises into a sentence."""
    try:
        yield
    except (OSError, EOFError, KeyError, ValueError, zlib.error, BadZipFile) as error:
        raise AdequaError(
            f"METEOR's table {path} cannot be read ({error}); fetch it again."
        ) from error


@lru_cache
def synonym_digest(jar: Path) -> str:
    """Eight hexadecimal digits that change with the tables, from the archive's checksums."""
    with readable(jar), ZipFile(jar) as archive:
        checksums = [archive.getinfo(name).CRC for name in (EXCEPTIONS_ENTRY, SYNSETS_ENTRY)]
    return f"{zlib.crc32(repr(checksums).encode()):08x}"


@lru_cache
def paraphrase_digest(path: Path) -> str:
    """The checksum of the uncompressed table, which stands in the last eight bytes of the file."""
    with readable(path), path.open("rb") as file:
        if file.read(2) != b"\x1f\x8b":
            raise gzip.BadGzipFile("not a gzipped file")
        file.seek(-8, 2)
        return f"{int.from_bytes(file.read(4), 'little'):08x}"
