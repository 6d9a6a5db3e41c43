"""Files of arrays, whatever is in them: a reader gives arrays or a sentence, in bounded memory."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from adequa.encoders.precomputed import Precomputed
from adequa.encoders.recurrent import read_arrays
from adequa.encoders.word_vector_files import open_table
from adequa.errors import AdequaError
from campaign.base import Target, Trial, fail
from campaign.mutations import mutated

_COMPRESSIONS = (
    zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2,
    zipfile.ZIP_LZMA,
)  # fmt: skip
_HEADERS = (
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
    "{'descr': '<f4', 'fortran_order': True, 'shape': (99999999999, 99999999999), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 99999999999), }",
    "{'descr': '<U0', 'fortran_order': False, 'shape': (99999999999,), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': [('a', '<f4'), ('b', '<f4')], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '<f3', 'fortran_order': False, 'shape': (2,), }",
    "{'descr': '<f4', 'fortran_order': 1, 'shape': 3, }",
    "((((((((((", "{'descr': '''", "  \n  {'descr'\n :", "", "\\\n\\", "{'shape': (-1,)}",
)  # fmt: skip


def npy(header: str, numbers: bytes, version: int = 1) -> bytes:
    """An array whose header says anything."""
    text = header.encode("latin1")
    width = 2 if version == 1 else 4
    return b"\x93NUMPY" + bytes((version, 0)) + len(text).to_bytes(width, "little") + text + numbers


def _member(random: Random) -> bytes:
    if random.random() < 0.3:
        return npy(random.choice(_HEADERS), random.randbytes(24), random.choice((1, 2, 3, 4)))
    stream = io.BytesIO()
    shape = random.choice(((2, 3), (2,), (), (0, 3), (2, 3, 1)))
    array: Any = np.full(shape, random.choice((1, 0.5, True, "a b", 1j, b"a")))
    np.save(stream, np.asfortranarray(array))
    return mutated(random, stream.getvalue()) if random.random() < 0.5 else stream.getvalue()


def archive(random: Random) -> bytes:
    """An .npz file of arrays, some of which are damaged, before the archive is."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as opened:
        for name in ("sentences", "vectors"):
            suffix = random.choice((".npy", ".npy", ".npy", ""))
            opened.writestr(name + suffix, _member(random), random.choice(_COMPRESSIONS))
    content = stream.getvalue()
    return mutated(random, content) if random.random() < 0.7 else content


def _in_a_sentence(action: Any, *arguments: Any) -> None:
    try:
        action(*arguments)
    except AdequaError as error:
        if not str(error).isprintable() or not str(error).endswith("."):
            fail(f"not a sentence: {error}")


def _read_archive(trial: Trial) -> None:
    path = trial.folder / "a.npz"
    path.write_bytes(archive(trial.random))
    _in_a_sentence(read_arrays, path)
    _in_a_sentence(Precomputed.load, str(path))


def _read_table(trial: Trial) -> None:
    words, table = trial.folder / "words.txt", trial.folder / "table.npy"
    words.write_text("a\nb\n", encoding="utf-8")
    table.write_bytes(_member(trial.random))

    def first_rows(words: Path, table: Path) -> None:
        open_table(words, table, "convert it").vectors[:1].copy()

    _in_a_sentence(first_rows, words, table)


TARGETS = (Target("arrays", _read_archive, 2), Target("array-table", _read_table))
