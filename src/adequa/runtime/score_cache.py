"""A cache of scores on disk: one file for all models, found by the pair of texts and the model.

What may go wrong with it, and that it costs no result, is said in `cache_file`. Where the file is
full, the scores that were kept first go first, of whichever model, and used since or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from adequa.runtime.cache_file import CacheFile, text_key
from adequa.runtime.pair_scores import Pair, PairScores

DEFAULT_LIMIT = 256 << 20  # bytes: some four million pairs

# A score, and in how many windows the pair was read.
_ENTRY = np.dtype([("score", "<f8"), ("windows", "<i4")])

Found = npt.NDArray[np.bool_]


class ScoreCache(CacheFile):
    """The scores of one model at one precision, in a file that it shares with other models.

    Once nothing could be put there, the file is left alone: to wait for a stuck process or a slow
    disk again at every batch would cost more than the cache can save.
    """

    table = "scores"
    page_size = 4096
    mark = 0x61647173  # "adqs"
    wait = 10.0
    wait_for_disk = False  # it would take longer than to score a few short texts

    def __init__(self, path: Path, model: str, precision: str, limit: int = DEFAULT_LIMIT) -> None:
        super().__init__(path, _ENTRY.itemsize, limit)
        self.model = model  # a digest of all that changes a score
        self.precision = precision
        self._given_up = False

    def keys(self, pairs: Sequence[Pair]) -> list[bytes]:
        """The keys of pairs."""
        return [text_key(self.model, self.precision, *pair) for pair in pairs]

    def get(self, keys: Sequence[bytes]) -> tuple[PairScores, Found]:
        """The scores of keys, and which of them were found; the others are zero."""
        scored = PairScores.empty(len(keys))
        found = np.zeros(len(keys), dtype=np.bool_)
        if self._given_up:
            return scored, found
        values = dict(self._found(list(dict.fromkeys(keys))))
        if values:
            at = np.array([row for row, key in enumerate(keys) if key in values], dtype=np.intp)
            entries = np.frombuffer(b"".join(values[keys[row]] for row in at), dtype=_ENTRY)
            scored.fill(at, PairScores(entries["score"], entries["windows"]))
            found[at] = True
        return scored, found

    def put(self, keys: Sequence[bytes], scored: PairScores) -> None:
        """Keep scores; one that another process has put there meanwhile stays as it is."""
        if self._given_up or not len(scored):
            return
        entries = np.empty(len(scored), dtype=_ENTRY)
        entries["score"], entries["windows"] = scored.scores, scored.windows
        rows = zip(keys, entries, np.isfinite(scored.scores), strict=True)
        self._keep([(key, entry.tobytes()) for key, entry, finite in rows if finite])
        self._given_up = self.problem is not None
