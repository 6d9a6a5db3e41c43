"""What verbs write: results to a file or standard output; messages, notes and progress to stderr.

An output file is checked before the work and written whole after it. Progress is shown for work of
more than two seconds, on a terminal only.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta
from math import ceil
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from adequa.errors import AdequaError, printable
from adequa.progress import NO_PROGRESS, Progress
from adequa.tables import TABLE_FORMATS, Format, Result, format_of

if TYPE_CHECKING:
    from rich import progress as rich_progress


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str]) -> None:
    """Raise what writing would raise, before the work; outputs are by the option that names them.

    An input is never written over, and no two results go to one file.
    """
    from adequa.io.atomic import check_writable

    read = {Path(part).resolve() for path in inputs for part in (path, path.partition(":")[0])}
    files = {option: path for option, path in outputs.items() if path is not None}
    targets = [Path(path).resolve() for path in files.values()]
    for (option, path), target in zip(files.items(), targets, strict=True):
        if path == "-":
            raise AdequaError(f"{option} takes the name of a file, and - is none.")
        if targets.count(target) > 1:
            raise AdequaError(f"{path} is named for two results; give each a file of its own.")
        if target.is_file() and target in read:
            raise AdequaError(
                f"{path} is read as input; give another name to write to with {option}."
            )
        check_writable(path)


def write(pieces: Iterable[str], output: str | None) -> None:
    """Write pieces of text to a file, or to standard output."""
    from adequa.io.atomic import atomic_write

    if output is None:
        sys.stdout.writelines(pieces)
        sys.stdout.flush()
        return
    with atomic_write(output) as file:
        file.writelines(pieces)


FORMAT_NAMES = ", ".join(each.value for each in TABLE_FORMATS)
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"Output format: {FORMAT_NAMES}. Default: by the ending of -o, else text. Markdown "
        "and LaTeX are tables to paste, without notes.",
    ),
]


def chosen_format(
    format_: Format | None, output: str | None, formats: Sequence[Format] = TABLE_FORMATS
) -> Format:
    """The format of --format or else of the ending of -o; one that is not offered is refused.

    Call it before the work, so that a wrong ending is refused at once.
    """
    if format_ is None:
        return Format.text if output is None else format_of(output, formats)
    one_of("--format", format_.value, [each.value for each in formats])
    if format_ is Format.parquet and output is None:
        raise AdequaError("Parquet is not written to standard output; name a file with -o.")
    return format_


def one_of(option: str, value: str, offered: Sequence[str]) -> str:
    """Return the value of an option; raise if it is not offered."""
    if value not in offered:
        raise AdequaError(
            f"{option} {value} is not offered here; choose one of {', '.join(offered)}."
        )
    return value


def scores_format(format_: Format | None, output: str | None, *, segments: bool) -> Format:
    """The format of scores; Parquet holds those of segments only."""
    is_parquet = format_ is Format.parquet or (
        format_ is None and output is not None and Path(output).suffix.lower() == ".parquet"
    )
    if is_parquet and not segments:
        raise AdequaError("Parquet holds a row for each segment; add --segments.")
    return chosen_format(format_, output, tuple(Format) if segments else TABLE_FORMATS)


def write_result(result: Result, format_: Format, output: str | None) -> None:
    """Write a result to a file, or to standard output."""
    if output is None:
        write(result.lines(format_), None)
    else:
        result.write_file(output, format_)


PATIENCE = 2.0  # seconds of work before a bar appears


@contextmanager
def progress(label: str, total_bytes: int | None, *, quiet: bool) -> Iterator[Progress]:
    """A bar with the fraction of the work that is done and the time left, where they are known.

    The fraction is that of bytes, of texts or of steps, whichever the work reports; with several
    stages it is that of the current one.
    """
    from adequa.io.text import waiting_for

    is_shown = not quiet and sys.stderr.isatty()
    listening = waiting_for.set(None if quiet else _print_waiting)
    try:
        with _bar(label, total_bytes) if is_shown else nullcontext(NO_PROGRESS) as work:
            yield work
    finally:
        waiting_for.reset(listening)


def _print_waiting(name: str) -> None:
    print_message(f"note: nothing has come from {name} yet; still waiting.")


@contextmanager
def _bar(label: str, total_bytes: int | None) -> Iterator[Progress]:
    """A bar that appears after a while."""
    bar = _Bar(label, total_bytes)
    # By the clock and not by the work: a single batch may take longer than anyone waits.
    timer = Timer(PATIENCE, bar.display.start)
    timer.daemon = True
    timer.start()
    try:
        yield Progress(bar.read, bar.expect, bar.scored, bar.stage, bar.step, bar.status)
    finally:
        timer.cancel()
        timer.join()
        if bar.display.live.is_started:
            bar.display.stop()


class _Bar:
    """One line on a terminal: the current stage, its unit of work, and how much of it is done."""

    def __init__(self, label: str, total_bytes: int | None) -> None:
        self._words = ""
        self.display = _terminal_display(self._time_left, lambda: self._words)
        self._id = self.display.add_task(label, total=total_bytes, counted="")
        self._task = self.display.tasks[0]
        self._unit = "bytes"
        self._texts = 0  # of this stage
        self._since = (monotonic(), 0.0)  # when this stage began, and what was done by then

    def _begin(self, unit: str, done: float = 0, total: float | None = None) -> None:
        self._unit, self._since = unit, (monotonic(), done)
        self._task.completed, self._task.total = done, total
        self._task.finished_time = None  # or the elapsed time would stand still

    def _time_left(self) -> str:
        began, done_before = self._since
        done, total = self._task.completed, self._task.total
        if total is None or done <= done_before or done >= total:
            return ""
        seconds = (monotonic() - began) * (total - done) / (done - done_before)
        return f"{timedelta(seconds=ceil(seconds))} left"

    def read(self, count: int) -> None:
        """Count bytes that were read; work that counts its texts or steps is not shown by bytes."""
        if self._unit == "bytes":
            self.display.advance(self._id, count)

    def expect(self, texts: int) -> None:
        """Set the number of texts of this stage, which may be corrected later."""
        if self._unit != "texts":
            self._begin("texts", self._texts)
        self._task.total = max(texts, self._texts)
        self._task.finished_time = None

    def scored(self, count: int) -> None:
        """Count texts that were scored."""
        self._texts += count
        self.display.update(self._id, counted=f"{self._texts:,} segments")
        if self._unit == "texts":
            self.display.update(self._id, completed=self._texts)

    def stage(self, name: str) -> None:
        """Name the stage that begins; steps go on unless all of them are done."""
        self.display.update(self._id, description=name, counted="")
        self._texts = 0
        if self._unit != "steps" or self._task.completed >= (self._task.total or 0):
            self._begin("none")

    def step(self, steps: int, of: int) -> None:
        """Set the number of steps that are done; fewer than before begin new work.

        The first number may be that of a training which goes on where it had stopped, so that the
        time is measured from there.
        """
        if self._unit != "steps" or steps < self._task.completed:
            self._begin("steps", steps)
        self.display.update(self._id, completed=steps, total=of, counted="")

    def status(self, text: str) -> None:
        """Show a few words below the bar."""
        self._words = text


def _terminal_display(
    time_left: Callable[[], str], status: Callable[[], str]
) -> rich_progress.Progress:
    """A bar with a line below it for the status, which would take the space of the time."""
    from rich import progress as rich_progress
    from rich.console import Console, RenderableType
    from rich.table import Column
    from rich.text import Text

    class TimeLeft(rich_progress.ProgressColumn):
        def render(self, task: rich_progress.Task) -> Text:  # noqa: ARG002 - there is one task
            return Text(time_left())

    class Display(rich_progress.Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            yield from super().get_renderables()
            if status():
                yield Text(status())

    return Display(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(),
        rich_progress.TextColumn("{task.fields[counted]}"),
        rich_progress.TimeElapsedColumn(),
        TimeLeft(table_column=Column(no_wrap=True)),
        console=Console(stderr=True),
        transient=True,
    )


READ_AHEAD = 20_000  # texts whose mean size in bytes is close to that of the whole input
Item = TypeVar("Item")


class ReadAhead:
    """Reads some of the input ahead of the work, to know or estimate how many texts there are.

    A small input is read at once and a large one in blocks, so that the bytes that were read say
    little of the work that is done.
    """

    def __init__(self, paths: Iterable[str], work: Progress, texts: int = READ_AHEAD) -> None:
        from adequa.io.read import total_bytes

        self._work, self._limit = work, texts
        self._bytes, self._total_bytes, self._texts = 0, total_bytes(paths), 0

    def bytes_read(self, count: int) -> None:
        """Count bytes; readers call it."""
        self._bytes += count

    def items(self, items: Iterator[Item], size: Callable[[Item], int]) -> Iterator[Item]:
        """Yield the items, with as many of them read ahead as have `READ_AHEAD` texts."""
        if self._work is NO_PROGRESS:  # nobody watches, so that nothing is held back
            yield from items
            return
        waiting: deque[Item] = deque()
        texts = 0  # of the waiting items
        for item in items:
            waiting.append(item)
            self._texts += size(item)
            texts += size(item)
            while waiting and texts > self._limit:
                self._expect()
                texts -= size(waiting[0])
                yield waiting.popleft()
        self._work.expect(self._texts)
        yield from waiting

    def _expect(self) -> None:
        if self._total_bytes is not None and self._bytes:
            self._work.expect(round(self._texts * self._total_bytes / self._bytes))


def print_message(line: str) -> None:
    """Print a line to standard error; an error stream that cannot be written is no failure."""
    with suppress(OSError):
        print(printable(line), file=sys.stderr, flush=True)


def print_notes(notes: Iterable[str], *, quiet: bool) -> None:
    """Print each note once, unless the user wants none."""
    for note in () if quiet else dict.fromkeys(notes):
        print_message(f"note: {note}")
