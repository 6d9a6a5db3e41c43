"""A progress bar for work beyond two seconds, on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.0  # seconds of work before a bar appears


@contextmanager
def progress(label: str, total: int | None, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Gives a function to call with each amount of work done, in the units of `total`."""
    if quiet or not sys.stderr.isatty():
        yield lambda _amount: None
        return

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%" if total else ""),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(label, total=total)
    started = time.monotonic()

    def advance(amount: int) -> None:
        bar.advance(task, amount)
        if not bar.live.is_started and time.monotonic() - started > PATIENCE:
            bar.start()

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()
