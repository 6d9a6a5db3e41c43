"""Callbacks through which long computations report their progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _ignore(*_: object) -> None:
    """Report to nobody."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Callbacks of a computation; those that are not given do nothing."""

    bytes_read: Callable[[int], None] = _ignore  # number of bytes just read
    texts_scored: Callable[[int], None] = _ignore  # number of texts just scored
    stage: Callable[[str], None] = _ignore  # name of the stage that begins
    step: Callable[[int, int], None] = _ignore  # steps finished, and steps in all
    status: Callable[[str], None] = _ignore  # a few words, such as the current loss
    note: Callable[[str], None] = _ignore  # a note on data or result


NO_PROGRESS = Progress()
