"""Windows: a pair too long for its model is read in parts, both texts side by side.

Both texts are cut into equally many windows at equal fractions of their lengths, as a translation
says things in much the same order as its reference. A cut moves to the end of a sentence near by,
or else to the nearest end of a word. Nothing is left out and nothing is read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError

INSIDE, WORD, SENTENCE = 0, 1, 2  # kinds of boundary before a token, from worst to best cut
MIN_TOKENS = 2  # that a window must be able to hold: one of each text

Boundaries = npt.NDArray[np.int8]
Cuts = npt.NDArray[np.intp]

# How far a cut may move, as fractions of a window; less where windows would become too long.
_MARGINS = (0.2, 0.1, 0.05, 0.02, 0.0)
_ENDS = frozenset(".!?…。！？｡؟।॥")  # of a sentence
_ENDS_WITHOUT_SPACE = frozenset("。！？｡")  # of a sentence, also where no space follows
_CLOSING = frozenset("\"'”’»)]}」』）")  # may stand between the end of a sentence and the space


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Where the windows of a pair start, in tokens of each text, and where the last one ends."""

    first: Cuts
    second: Cuts

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def lengths(self) -> npt.NDArray[np.intp]:
        """Tokens of each window, of both texts together."""
        return np.diff(self.first) + np.diff(self.second)


def split_windows(first: Boundaries, second: Boundaries, limit: int) -> Windows:
    """Return the fewest windows of at most `limit` tokens, by the boundaries of both texts.

    >>> windows = split_windows(np.zeros(7, np.int8), np.zeros(5, np.int8), limit=6)
    >>> windows.first.tolist(), windows.second.tolist()
    ([0, 4, 7], [0, 2, 5])
    """
    if limit < MIN_TOKENS:
        raise AdequaError(f"A window of {limit} tokens cannot hold a token of both texts.")
    total = len(first) + len(second)
    for parts in count(max(-(-total // limit), 1)):
        for margin in _MARGINS:
            windows = Windows(_cuts(first, parts, margin), _cuts(second, parts, margin))
            if windows.lengths.max() <= limit:
                return windows
    raise AssertionError  # windows of one token each fit


def combine_scores(scores: npt.NDArray[np.float64], lengths: npt.NDArray[np.intp]) -> float:
    """Return the score of a pair: the mean of its windows' scores, weighted by their tokens.

    >>> combine_scores(np.array([0.25, 1.0]), np.array([20, 10]))
    0.5
    """
    return float(np.average(scores, weights=lengths)) if lengths.any() else float(scores.mean())


def token_boundaries(text: str, offsets: Sequence[tuple[int, int]]) -> Boundaries:
    """Return the kind of boundary before each token of a text, by the characters it spans.

    >>> token_boundaries("So it is. Now", [(0, 2), (3, 5), (6, 8), (8, 9), (10, 13)]).tolist()
    [0, 1, 1, 0, 2]
    """
    return np.fromiter(
        (_boundary(text, start) for start, _ in offsets), dtype=np.int8, count=len(offsets)
    )


def _boundary(text: str, start: int) -> int:
    """The kind of boundary before a character; a token may include the space before it."""
    end = start
    while end and text[end - 1].isspace():
        end -= 1
    spaced = end < start or text[start : start + 1].isspace()
    while end and text[end - 1] in _CLOSING:
        end -= 1
    before = text[end - 1 : end]
    if before and before in (_ENDS if spaced else _ENDS_WITHOUT_SPACE):
        return SENTENCE
    return WORD if spaced and start else INSIDE


def _cuts(boundaries: Boundaries, parts: int, margin: float) -> Cuts:
    """Cut a text into parts of equal length, or at a better boundary within a margin."""
    cuts = np.round(np.linspace(0, len(boundaries), parts + 1)).astype(np.intp)
    tokens = int(margin * len(boundaries) / parts)
    if tokens:
        cuts[1:-1] = [_best_cut(boundaries, int(cut), tokens) for cut in cuts[1:-1]]
    return cuts


def _best_cut(boundaries: Boundaries, cut: int, margin: int) -> int:
    """Return the best boundary within a margin around a cut, the nearest of equally good ones."""
    start = max(cut - margin, 0)
    near = boundaries[start : cut + margin + 1]
    if not len(near) or near.max() == INSIDE:
        return cut
    best = start + np.flatnonzero(near == near.max())
    return int(best[np.abs(best - cut).argmin()])
