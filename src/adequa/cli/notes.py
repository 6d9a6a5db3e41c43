"""What is said on standard error: notes and errors, one line each."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from adequa.printable import printable

if TYPE_CHECKING:
    from adequa.scoring.results import Results


def tell(line: str) -> None:
    """Say one line. That nobody can hear it is no reason to fail."""
    with suppress(OSError):
        print(printable(line), file=sys.stderr, flush=True)


def tell_notes(notes: Iterable[str], *, quiet: bool) -> None:
    """Say each note once, unless the user wants none."""
    for note in () if quiet else dict.fromkeys(notes):
        tell(f"note: {note}")


def counted(count: int, one: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def notes_on(results: Results) -> Iterator[str]:
    """What a reader of the scores should know."""
    for name, empty in results.empty_hypotheses.items():
        count = results.segment_counts[name]
        yield f"{empty} of {count} hypotheses of {name} are empty; they are scored as they are."
    if len(set(results.segment_counts.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in results.segment_counts.items())
        yield f"the systems have different numbers of segments ({counts})."
