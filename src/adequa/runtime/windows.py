"""Windows: a pair too long for its model is read in parts, both texts side by side.

Both texts are cut into equally many windows at equal shares of their lengths, as a translation says
things in much the same order as its reference. A cut moves to the end of a sentence near by, or
else to the nearest end of a word. Nothing is left out and nothing is read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError

INSIDE, WORD, SENTENCE = 0, 1, 2  # what a text may be cut at, from worst to best
SHORTEST = 2  # tokens that a window must be able to hold: one of each text

Kinds = npt.NDArray[np.int8]
Cuts = npt.NDArray[np.intp]

# Of a window: how far a cut may move. Where the windows that come of it are too long, less.
_NEAR = (0.2, 0.1, 0.05, 0.02, 0.0)
_ENDS = frozenset(".!?…。！？｡؟।॥")  # of a sentence
_ENDS_ALONE = frozenset("。！？｡")  # of a sentence, also where no space follows
_CLOSING = frozenset("\"'”’»)]}」』）")  # what may stand between an end and the space


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Where the windows of a pair begin, in tokens, and behind them where the last one ends."""

    first: Cuts  # of the two texts
    second: Cuts

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def lengths(self) -> npt.NDArray[np.intp]:
        """Tokens of each window."""
        return np.diff(self.first) + np.diff(self.second)


def windows(first: Kinds, second: Kinds, limit: int) -> Windows:
    """The fewest windows of at most `limit` tokens; of each text, what stands before each token.

    >>> cut = windows(np.zeros(7, np.int8), np.zeros(5, np.int8), limit=6)
    >>> cut.first.tolist(), cut.second.tolist()
    ([0, 4, 7], [0, 2, 5])
    """
    if limit < SHORTEST:
        raise AdequaError(f"A window of {limit} tokens cannot hold a token of both texts.")
    total = len(first) + len(second)
    for parts in count(max(-(-total // limit), 1)):
        for near in _NEAR:
            found = Windows(_cuts(first, parts, near), _cuts(second, parts, near))
            if found.lengths.max() <= limit:
                return found
    raise AssertionError  # windows of one token each fit


def one_score(scores: npt.NDArray[np.float64], lengths: npt.NDArray[np.intp]) -> float:
    """The score of a pair from those of its windows: their mean, weighted by their tokens.

    >>> one_score(np.array([0.25, 1.0]), np.array([20, 10]))
    0.5
    """
    return float(np.average(scores, weights=lengths)) if lengths.any() else float(scores.mean())


def kinds_of_cuts(text: str, offsets: Sequence[tuple[int, int]]) -> Kinds:
    """What stands before each token of a text, whose tokens are at these characters.

    >>> kinds_of_cuts("So it is. Now", [(0, 2), (3, 5), (6, 8), (8, 9), (10, 13)]).tolist()
    [0, 1, 1, 0, 2]
    """
    return np.fromiter(
        (_kind(text, start) for start, _ in offsets), dtype=np.int8, count=len(offsets)
    )


def _kind(text: str, start: int) -> int:
    """What stands before a character; a token may count the space before it as its own."""
    end = start
    while end and text[end - 1].isspace():
        end -= 1
    spaced = end < start or text[start : start + 1].isspace()
    while end and text[end - 1] in _CLOSING:
        end -= 1
    before = text[end - 1 : end]
    if before and before in (_ENDS if spaced else _ENDS_ALONE):
        return SENTENCE
    return WORD if spaced and start else INSIDE


def _cuts(kinds: Kinds, parts: int, near: float) -> Cuts:
    """Where to cut a text into so many parts: at equal shares, or at a better place near by."""
    even = np.round(np.linspace(0, len(kinds), parts + 1)).astype(np.intp)
    reach = int(near * len(kinds) / parts)
    if reach:
        even[1:-1] = [_best(kinds, int(cut), reach) for cut in even[1:-1]]
    return even


def _best(kinds: Kinds, cut: int, reach: int) -> int:
    """The place of the best kind within reach of a cut, and of these the nearest."""
    start = max(cut - reach, 0)
    there = kinds[start : cut + reach + 1]
    if not len(there):
        return cut
    places = start + np.flatnonzero(there == there.max())
    if there.max() == INSIDE:
        return cut
    return int(places[np.abs(places - cut).argmin()])
