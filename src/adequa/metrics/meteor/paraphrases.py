"""Which phrases are paraphrases: a table of five million pairs (Denkowski and Lavie 2010).

The table is kept as two columns of 64-bit hashes, about 50 MB, which take some seconds to read
once a process; the phrases themselves would take gigabytes. Two of its 2.6 million phrases collide
with a probability below 10^-6. A batch of texts then asks once for the pairs whose two phrases
both occur in it, and gets a small dictionary to align its segments with.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.metrics.meteor.tables import readable

LONGEST_PHRASE: Final = 7  # words, in the official table
_LINES_A_PAIR: Final = 3  # probability, phrase, paraphrase
_BLOCK: Final = 1 << 17  # compressed bytes: what they hold stays in the processor's cache
_SIEVE: Final = (1 << 22) - 1

Hashes: TypeAlias = npt.NDArray[np.int64]
Pairs: TypeAlias = dict[int, dict[int, int]]


phrase_hash = hash  # of a phrase's bytes, its words joined by single spaces


@dataclass(frozen=True, slots=True, eq=False)
class Paraphrases:
    """Pairs in table order, as runs of rows that share their phrase.

    `phrases` is sorted; run r of `starts` and `stops` belongs to phrase r, and its rows of
    `paraphrases` are the other side of the pairs.
    """

    phrases: Hashes
    starts: Hashes
    stops: Hashes
    paraphrases: Hashes

    def among(self, occurring: Set[int]) -> Pairs:
        """The paraphrases of each phrase, where both occur, with their rank in the table."""
        present = np.sort(np.fromiter(occurring, np.int64, len(occurring)))
        first = np.searchsorted(self.phrases, present, "left")
        last = np.searchsorted(self.phrases, present, "right")
        runs = _ranges(first, last)
        starts, stops = self.starts[runs], self.stops[runs]
        phrases = np.repeat(self.phrases[runs], stops - starts)
        paraphrases = self.paraphrases[_ranges(starts, stops)]
        # Most rows drop out here, at a fraction of the price of a search in `present`.
        sieve = np.zeros(_SIEVE + 1, bool)
        sieve[present & _SIEVE] = True
        kept = np.flatnonzero(sieve[paraphrases & _SIEVE])
        found = np.searchsorted(present, paraphrases[kept]).clip(max=len(present) - 1)
        kept = kept[present[found] == paraphrases[kept]]
        pairs: Pairs = {}
        for rank, (phrase, paraphrase) in enumerate(
            zip(phrases[kept].tolist(), paraphrases[kept].tolist(), strict=True)
        ):
            pairs.setdefault(phrase, {})[paraphrase] = rank
        return pairs


@lru_cache(maxsize=1)
def load_paraphrases(path: Path) -> Paraphrases:
    """Read the table: three lines a pair, the pairs of a phrase one after the other."""
    with readable(path):
        columns = np.concatenate([np.empty((2, 0), np.int64), *_hashed_pairs(path)], axis=1)
    phrases, paraphrases = columns
    starts = np.flatnonzero(np.diff(phrases, prepend=~phrases[:1]))
    stops = np.append(starts[1:], len(phrases))
    order = np.argsort(phrases[starts], kind="stable")
    return Paraphrases(phrases[starts][order], starts[order], stops[order], paraphrases)


def _hashed_pairs(path: Path) -> Iterator[Hashes]:
    """Both columns, a block at a time, because the text of the whole table would fill memory."""
    inflater = zlib.decompressobj(wbits=31)
    rest = b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            lines = (rest + inflater.decompress(block)).split(b"\n")
            pairs = (len(lines) - 1) // _LINES_A_PAIR
            whole = pairs * _LINES_A_PAIR
            yield np.array(
                [
                    np.fromiter(map(phrase_hash, lines[side:whole:_LINES_A_PAIR]), np.int64, pairs)
                    for side in (1, 2)
                ]
            )
            rest = b"\n".join(lines[whole:])
    if rest or not inflater.eof:
        raise EOFError("the file ends early")


def _ranges(starts: Hashes, stops: Hashes) -> Hashes:
    """All numbers from each start up to its stop, one range after the other.

    >>> _ranges(np.array([4, 9]), np.array([6, 10])).tolist()
    [4, 5, 9]
    """
    lengths = stops - starts
    offsets = np.repeat(stops - np.cumsum(lengths), lengths)
    return offsets + np.arange(lengths.sum())
