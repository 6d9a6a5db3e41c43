"""A progress bar for work beyond two seconds, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer

PATIENCE = 2.0  # seconds of work before a bar appears


@dataclass(frozen=True)
class Work:
    """Where work that is being done reports to."""

    read: Callable[[int], None]  # bytes that were just read
    scored: Callable[[int], None]  # segments that were just scored
    stage: Callable[[str], None]  # what is being done now
    done: Callable[[int, int], None]  # steps of it that are done, and steps in all
    told: Callable[[str], None]  # how well it goes, in a few words


@contextmanager
def progress(label: str, total_bytes: int | None, *, quiet: bool) -> Iterator[Work]:
    """A bar that shows how much of the input is read, and how many segments are scored.

    Where all is read before the scoring, as with a short or a JSON file, how far the work is
    cannot be known from bytes: the bar then only moves, and the segments count on.
    """
    if quiet or not sys.stderr.isatty():
        yield Work(
            read=lambda _: None,
            scored=lambda _: None,
            stage=lambda _: None,
            done=lambda *_: None,
            told=lambda _: None,
        )
        return

    from rich import progress as rich_progress
    from rich.console import Console, RenderableType
    from rich.text import Text

    words = ""

    class Bar(rich_progress.Progress):
        """A bar with a line below for how well it goes, which would take the room for the time."""

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

    def done(steps: int, of: int) -> None:
        if steps < task.completed:
            task.total = None  # the next work: the time that is left is estimated anew
        bar.update(task_id, completed=steps, total=of, counted="")

    def told(how: str) -> None:
        nonlocal words
        words = how

    # By the clock and not by the work: a single batch may take longer than anyone waits.
    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield Work(read, scored, stage, done, told)
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()
