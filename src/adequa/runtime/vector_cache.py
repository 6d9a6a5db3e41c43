"""A cache of vectors on disk: one file an encoder, found by what was encoded.

What may go wrong with it, and that it costs no result, is said in `cache_file`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from adequa.runtime.cache_file import CacheFile, text_key

__all__ = ["DEFAULT_LIMIT", "Found", "VectorCache", "Vectors", "text_key"]

DEFAULT_LIMIT = 4 << 30  # bytes a file

Vectors = npt.NDArray[np.float32]
Found = npt.NDArray[np.bool_]


class VectorCache(CacheFile):
    """Vectors of one dimension by key, in one file of at most about `limit` bytes."""

    table = "vectors"
    # Larger pages than usual: a vector of some thousand bytes wastes less of them.
    page_size = 16384

    def __init__(self, path: Path, dimension: int, limit: int = DEFAULT_LIMIT) -> None:
        super().__init__(path, 4 * dimension, limit)
        self.dimension = dimension

    def get(self, keys: Sequence[bytes]) -> tuple[Vectors, Found]:
        """One row a key, and which of the rows were found; the others are zero."""
        vectors = np.zeros((len(keys), self.dimension), dtype=np.float32)
        found = np.zeros(len(keys), dtype=np.bool_)
        place = {key: at for at, key in enumerate(keys)}
        for key, numbers in self._found(list(place)):
            vectors[place[key]] = np.frombuffer(numbers, dtype="<f4")
            found[place[key]] = True
        if len(place) < len(keys):  # a repeated key was written to its last place only
            at = [place[key] for key in keys]
            return vectors[at], found[at]
        return vectors, found

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep vectors; one that another process has put there meanwhile stays as it is."""
        numbers = np.ascontiguousarray(vectors, dtype="<f4")
        self._keep([(key, row.tobytes()) for key, row in zip(keys, numbers, strict=True)])
