"""What is said on standard error: notes and errors, one line each."""

from __future__ import annotations

import sys
from contextlib import suppress

from adequa.cli.table import printable


def tell(line: str) -> None:
    """Say one line. That nobody can hear it is no reason to fail."""
    with suppress(OSError):
        print(printable(line), file=sys.stderr, flush=True)
