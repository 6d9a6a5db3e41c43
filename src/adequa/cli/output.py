"""Where results go: standard output, or a file that is checked before the work and whole after."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path


def check_output(output: str, inputs: Sequence[str], option: str = "-o") -> None:
    """Raise what writing would raise, before the work; an input is never written over."""
    from adequa.errors import AdequaError
    from adequa.io import check_writable

    target = Path(output)
    if target.is_file() and any(target.resolve() == Path(path).resolve() for path in inputs):
        raise AdequaError(
            f"{output} is read as input; give another name to write to with {option}."
        )
    check_writable(output)


def write(pieces: Iterable[str], output: str | None) -> None:
    """Write pieces of text to a file, or to standard output."""
    from adequa.io import atomic_write

    if output is None:
        sys.stdout.writelines(pieces)
        sys.stdout.flush()
        return
    with atomic_write(output) as file:
        file.writelines(pieces)
