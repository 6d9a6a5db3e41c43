"""What is said on standard error: notes and errors, one line each."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress

from adequa.printable import printable


def tell(line: str) -> None:
    """Say one line. That nobody can hear it is no reason to fail."""
    with suppress(OSError):
        print(printable(line), file=sys.stderr, flush=True)


def tell_notes(notes: Iterable[str], *, quiet: bool) -> None:
    """Say each note once, unless the user wants none."""
    for note in () if quiet else dict.fromkeys(notes):
        tell(f"note: {note}")
