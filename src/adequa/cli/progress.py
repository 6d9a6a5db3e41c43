"""Progress bars for work of more than two seconds, on a terminal only, and notes on results."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import TYPE_CHECKING

from adequa.errors import printable
from adequa.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from adequa.scoring.results import ScoringResult

PATIENCE = 2.0  # seconds of work before a bar appears


@contextmanager
def progress(label: str, total_bytes: int | None, *, quiet: bool) -> Iterator[Progress]:
    """A bar that shows how much of the input is read, and how many segments are scored.

    If everything is read before scoring starts, as with a short or a JSON file, bytes do not show
    the progress: the bar then only moves, and segments are counted.
    """
    if quiet or not sys.stderr.isatty():
        yield NO_PROGRESS
        return

    from rich import progress as rich_progress
    from rich.console import Console, RenderableType
    from rich.text import Text

    words = ""

    class Bar(rich_progress.Progress):
        """A bar with a line below it for the status, which would take the space of the time."""

        def get_renderables(self) -> Iterator[RenderableType]:
            yield from super().get_renderables()
            if words:
                yield Text(words)

    bar = Bar(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(),
        rich_progress.TextColumn("{task.fields[counted]}"),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TextColumn("left"),
        rich_progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task_id = bar.add_task(label, total=total_bytes, counted="")
    task = bar.tasks[0]

    def read(count: int) -> None:
        bar.advance(task_id, count)
        if task.total is not None and task.completed >= task.total:
            task.total = None

    segments = 0

    def scored(count: int) -> None:
        nonlocal segments
        segments += count
        bar.update(task_id, counted=f"{segments:,} segments")

    def stage(name: str) -> None:
        bar.update(task_id, description=name)

    def step(steps: int, of: int) -> None:
        if steps < task.completed:
            task.total = None  # the next work: the time that is left is estimated anew
        bar.update(task_id, completed=steps, total=of, counted="")

    def status(text: str) -> None:
        nonlocal words
        words = text

    # By the clock and not by the work: a single batch may take longer than anyone waits.
    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield Progress(read, scored, stage, step, status)
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()


def print_message(line: str) -> None:
    """Print a line to standard error; an error stream that cannot be written is no failure."""
    with suppress(OSError):
        print(printable(line), file=sys.stderr, flush=True)


def print_notes(notes: Iterable[str], *, quiet: bool) -> None:
    """Print each note once, unless the user wants none."""
    for note in () if quiet else dict.fromkeys(notes):
        print_message(f"note: {note}")


def notes_on(results: ScoringResult) -> Iterator[str]:
    """What a reader of the scores should know."""
    for name, empty in results.empty_hypotheses.items():
        count = results.segment_counts[name]
        yield f"empty hypotheses of {name}: {empty:,} of {count:,}, scored as they are."
    if len(set(results.segment_counts.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in results.segment_counts.items())
        yield f"the systems have different numbers of segments ({counts})."
