"""Callbacks through which long computations report their progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields


def _ignore(*_: object) -> None:
    """Report to nobody."""


@dataclass(frozen=True, slots=True, repr=False)
class Progress:
    """Callbacks of a computation; those that are not given do nothing."""

    bytes_read: Callable[[int], None] = _ignore  # number of bytes just read
    expect: Callable[[int], None] = _ignore  # number of texts of this stage, or an estimate of it
    texts_scored: Callable[[int], None] = _ignore  # number of texts just scored
    stage: Callable[[str], None] = _ignore  # name of the stage that begins
    step: Callable[[int, int], None] = _ignore  # steps finished, and steps in all
    status: Callable[[str], None] = _ignore  # a few words, such as the current loss
    note: Callable[[str], None] = _ignore  # a note on data or result

    def __repr__(self) -> str:
        used = (each.name for each in fields(self) if getattr(self, each.name) is not _ignore)
        return f"Progress({', '.join(used)})"


NO_PROGRESS = Progress()
