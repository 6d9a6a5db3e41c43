"""The vectors of the texts just seen, in memory: no more than so many, the oldest going first."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

    from adequa.segments import IntArray


class RecentVectors:
    """One row a text, in one tensor. Several threads may use it; copies of it begin empty."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._rows: dict[str, int] = {}  # the latest last
        self._vectors: Tensor | None = None
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[RecentVectors], tuple[int]]:
        return RecentVectors, (self.limit,)  # a lock cannot be copied, and vectors are made again

    def fill(self, vectors: Tensor, texts: Sequence[str]) -> IntArray:
        """Write the vectors of those texts that are there; returns the places of all others."""
        with self._lock:
            rows = np.array([self._rows.get(text, -1) for text in texts], dtype=np.int64)
            there = np.flatnonzero(rows >= 0)
            if self._vectors is not None and len(there):
                vectors[there] = self._vectors[rows[there]]
            for at in there.tolist():
                self._rows[texts[at]] = self._rows.pop(texts[at])
        return np.flatnonzero(rows < 0)

    def put(self, texts: Sequence[str], vectors: Tensor) -> None:
        """Keep the vectors of different texts, or of the last of them where they are too many."""
        texts, vectors = texts[-self.limit :], vectors[-self.limit :]
        with self._lock:
            if self._vectors is None:
                self._vectors = vectors.new_empty(self.limit, vectors.shape[1])
            self._vectors[np.array([self._place(text) for text in texts], np.int64)] = vectors

    def _place(self, text: str) -> int:
        """The row for a text: its own, a free one, or that of the oldest."""
        if text in self._rows:  # another thread was quicker
            row = self._rows.pop(text)
        elif len(self._rows) < self.limit:
            row = len(self._rows)
        else:
            row = self._rows.pop(next(iter(self._rows)))
        self._rows[text] = row
        return row
