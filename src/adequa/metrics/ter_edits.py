"""The edits of TER, counted by sacreBLEU within a budget of work.

Shifts are found by trying them, one edit distance each. Texts of hundreds of words with little in
common but words that repeat have so many that one segment takes minutes. The budget is counted in
cells of edit distances and not in time, so that scores are the same on every machine. Texts of up
to 350 words never spend it and have sacreBLEU's edits, as longer ones have that are much alike. For
others the shifts stand that were found until then, and texts of thousands of words have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics import lib_ter

BUDGET = 20_000_000  # cells of edit distances, some ten seconds
_LARGEST = 4_000_000  # words of one text times those of the other; the distance holds them all
_BAND = 50  # cells of a row that are computed
_PAIRS_PER_CELL = 16  # pairs of words that are compared in the time of a cell


class _SpentError(Exception):
    """The budget of a segment is spent."""


class _Distance(lib_ter.BeamEditDistance):
    """sacreBLEU's edit distance to a reference, with a budget."""

    def __init__(self, reference: list[str]) -> None:
        super().__init__(reference)
        self.left: float = BUDGET

    def spend(self, cells: int) -> None:
        """Count work; raise once there was too much."""
        self.left -= cells
        if self.left < 0:
            raise _SpentError

    def _edit_distance(self, words_h: list[str], start_h: int, cache: list[Any]) -> Any:
        self.spend((len(words_h) - start_h) * _BAND)
        return super()._edit_distance(words_h, start_h, cache)


def fewest_edits(
    hypothesis: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[int, float, bool]:
    """The fewest edits to a reference, the mean length of references, and whether all were tried.

    >>> fewest_edits("on the mat the cat sat".split(), ["the cat sat on the mat".split()])
    (1, 6.0, True)
    """
    counted = [_edits(list(hypothesis), list(reference)) for reference in references]
    edits = min(edits for edits, _ in counted)
    length = sum(map(len, references)) / len(references)
    return edits, length, all(complete for _, complete in counted)


def _edits(hypothesis: list[str], reference: list[str]) -> tuple[int, bool]:
    """The edits from a hypothesis to a reference, and whether no shift was left untried."""
    if not reference:
        return len(hypothesis), True
    if len(hypothesis) * len(reference) > _LARGEST:
        return Levenshtein.distance(hypothesis, reference), False
    distance = _Distance(reference)
    words, shifts, tried = hypothesis, 0, 0
    try:
        while True:
            distance.spend(len(words) * len(reference) // _PAIRS_PER_CELL)
            gain, shifted, tried = lib_ter._shift(words, reference, distance, tried)  # noqa: SLF001
            if tried >= lib_ter._MAX_SHIFT_CANDIDATES or gain <= 0:  # noqa: SLF001
                return shifts + distance(words)[0], True
            words, shifts = shifted, shifts + 1
    except _SpentError:
        distance.left = float("inf")
        return shifts + distance(words)[0], False
