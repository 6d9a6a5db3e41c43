"""Precomputed vectors of any origin, from a file of sentences with one vector each.

An `.npz` file holds an array `sentences` of text and an array `vectors` with one row each; a
Parquet file holds a column `sentence` and a column `vector` of lists of numbers. Sentences are
looked up by their exact characters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import Encoder, Vectors
from adequa.errors import AdequaError
from adequa.io.arrays import ArrayError, read_npz
from adequa.io.text import unreadable

_QUOTED = 60  # characters of a sentence in an error
_MATRIX = 2  # axes


class Precomputed(Encoder):
    """Looks vectors up in a file."""

    is_quick = True

    def __init__(self, path: Path, sentences: Sequence[str], vectors: Vectors) -> None:
        self.path = path
        self.specification = f"precomputed:{path}"
        self.dimension = int(vectors.shape[1])
        self._rows = _index(path, sentences, vectors)
        self._vectors = vectors
        self.fingerprint = _digest(self._rows, vectors)
        # A file may change under the same name, and signatures show the name.
        self.name = f"{path.name}@{self.fingerprint[:8]}"

    @classmethod
    def load(cls, path: str) -> Precomputed:
        """Read an .npz or Parquet file."""
        file = Path(path)
        if not file.is_file():
            raise unreadable(path, IsADirectoryError() if file.is_dir() else FileNotFoundError())
        file = file.resolve()
        if file.suffix == ".npz":
            sentences, vectors = _read_npz(file)
        elif file.suffix == ".parquet":
            sentences, vectors = _read_parquet(file)
        else:
            raise AdequaError(f"{file} is neither .npz nor .parquet; precomputed vectors are.")
        return cls(file, sentences, _check_vectors(file, len(sentences), vectors))

    def encode(self, sentences: Sequence[str]) -> Vectors:
        rows = [self._rows.get(sentence, -1) for sentence in sentences]
        missing = {text for text, row in zip(sentences, rows, strict=True) if row < 0}
        if missing:
            first = next(text for text in sentences if text in missing)
            raise AdequaError(
                f"{self.path} has no vector for {len(missing)} of {len(set(sentences))} different "
                f'sentences, the first being "{_shortened(first)}"; add them to the file.'
            )
        return self._vectors[rows]


def _shortened(text: str) -> str:
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"


def _index(path: Path, sentences: Sequence[str], vectors: Vectors) -> dict[str, int]:
    """Return the first row of each sentence; a repeated one must have the same vector."""
    rows: dict[str, int] = {}
    for row, sentence in enumerate(sentences):
        first = rows.setdefault(sentence, row)
        if first != row and not np.array_equal(vectors[first], vectors[row]):
            raise AdequaError(
                f"{path} has two different vectors for one sentence, in rows {first + 1} and "
                f'{row + 1}: "{_shortened(sentence)}".'
            )
    return rows


def _digest(rows: dict[str, int], vectors: Vectors) -> str:
    digest = hashlib.sha256(f"precomputed 1 {vectors.shape[1]} ".encode())
    for sentence, row in rows.items():
        text = sentence.encode("utf-8", "surrogatepass")
        digest.update(len(text).to_bytes(8, "little") + text)
        digest.update(vectors[row].astype("<f4").tobytes())
    return digest.hexdigest()


def _check_vectors(path: Path, count: int, vectors: npt.NDArray[np.float32]) -> Vectors:
    if not count:
        raise AdequaError(f"{path} holds no sentences.")
    if vectors.ndim != _MATRIX or len(vectors) != count or not vectors.shape[1]:
        raise AdequaError(
            f"{path} holds {count} sentences but vectors of shape "
            f"{' × '.join(map(str, vectors.shape))}; there must be one row per sentence."
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0]) + 1
        raise AdequaError(f"{path}, row {row}: the vector has NaN or infinite numbers.")
    return vectors


def _read_npz(path: Path) -> tuple[list[str], npt.NDArray[np.float32]]:
    try:
        arrays = read_npz(path, ("sentences", "vectors"))
    except ArrayError as error:
        raise AdequaError(
            f"{path} cannot be read as .npz ({error}); save plain arrays: "
            "np.savez(PATH, sentences=np.array(TEXTS, dtype=str), vectors=VECTORS)."
        ) from error
    sentences, vectors = arrays["sentences"], arrays["vectors"]
    if sentences.ndim != 1 or sentences.dtype.kind != "U":
        raise AdequaError(f"{path}: sentences must be one row of text, such as np.array(TEXTS).")
    if vectors.dtype.kind not in "fiu":
        raise AdequaError(f"{path}: vectors must be numbers, not {vectors.dtype}.")
    return sentences.tolist(), _to_float32(vectors)


def _first_line(error: Exception) -> str:
    return (str(error).partition("\n")[0] or type(error).__name__).rstrip(".")


def _to_float32(numbers: npt.NDArray[np.generic]) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):  # overflow becomes infinite and is refused later
        return np.ascontiguousarray(numbers, dtype=np.float32)


def _read_parquet(path: Path) -> tuple[list[str], npt.NDArray[np.float32]]:
    try:
        import pyarrow as pa  # noqa: PLC0415  # an extra, and heavy
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise AdequaError(
            f"{path}: reading Parquet needs pyarrow; install it with: pip install 'adequa[data]'"
        ) from error
    try:
        table = parquet.read_table(path, columns=["sentence", "vector"])
        vectors = np.stack(table["vector"].to_numpy()).astype(np.float32)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise AdequaError(
            f"{path} cannot be read as Parquet ({_first_line(error)}); it must have a column of "
            "text, sentence, and one of lists of numbers of one length, vector."
        ) from error
    return table["sentence"].cast(pa.string()).fill_null("").to_pylist(), vectors
