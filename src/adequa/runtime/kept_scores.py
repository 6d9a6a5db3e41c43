"""Scores that are kept: pairs that were scored before are not scored again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from adequa.runtime.pair_scores import Pair, PairScores


class KeptScores(Protocol):
    """What keeps scores: in memory for the length of a run, or on disk for the next one too."""

    def keys(self, pairs: Sequence[Pair]) -> list[bytes]:
        """The keys of pairs."""

    def get(self, keys: Sequence[bytes]) -> tuple[PairScores, npt.NDArray[np.bool_]]:
        """The scores of keys, and which of them were found; the others are zero."""

    def put(self, keys: Sequence[bytes], scored: PairScores) -> None:
        """Keep the scores of keys that were not found."""


def through(
    kept: KeptScores, pairs: Sequence[Pair], score: Callable[[list[Pair]], PairScores]
) -> PairScores:
    """The scores of different pairs: those that are kept, and else made by `score` and kept.

    Where all are kept, `score` is never called.
    """
    keys = kept.keys(pairs)
    scored, found = kept.get(keys)
    missing = np.flatnonzero(~found)
    if len(missing):
        rows = missing.tolist()
        new = score([pairs[row] for row in rows])
        kept.put([keys[row] for row in rows], new)
        scored.fill(missing, new)
    return scored
