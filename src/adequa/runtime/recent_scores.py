"""The scores of the pairs just seen, in memory: no more than so many, the oldest going first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adequa.runtime.cache_file import text_key
from adequa.runtime.pair_scores import Pair, PairScores

_LIMIT = 1 << 17  # pairs: some 20 MB


class RecentScores:
    """What `ScoreCache` is on disk, for the length of a run: `keys`, `get` and `put` alike."""

    def __init__(self, limit: int = _LIMIT) -> None:
        self._scored = PairScores.empty(limit)
        self._place: dict[bytes, int] = {}
        self._next = 0  # which place is taken next, round and round
        self._taken: list[bytes | None] = [None] * limit

    def keys(self, pairs: Sequence[Pair]) -> list[bytes]:
        """The keys of pairs."""
        return [text_key(*pair) for pair in pairs]

    def get(self, keys: Sequence[bytes]) -> tuple[PairScores, npt.NDArray[np.bool_]]:
        """The scores of keys, and which of them were found; the others are zero."""
        places = np.array([self._place.get(key, -1) for key in keys], dtype=np.intp)
        found = places >= 0
        scored = PairScores.empty(len(keys))
        scored.fill(np.flatnonzero(found), self._scored.at(places[found]))
        return scored, found

    def put(self, keys: Sequence[bytes], scored: PairScores) -> None:
        """Keep the scores of keys that were not found."""
        places = np.empty(len(keys), dtype=np.intp)
        for at, key in enumerate(keys):
            old = self._taken[self._next]
            if old is not None:
                del self._place[old]
            places[at] = self._place[key] = self._next
            self._taken[self._next] = key
            self._next = (self._next + 1) % len(self._taken)
        self._scored.fill(places, scored)
