"""What verbs write: results to a file or standard output; messages, notes and progress to stderr.

An output file is checked before the work and written whole after it. Progress is shown for work of
more than two seconds, on a terminal only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated

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
    """A bar that shows how much of the input is read, and how many segments are scored.

    If everything is read before scoring starts, as with a short or a JSON file, bytes do not show
    the progress: the bar then only moves, and segments are counted.
    """
    if quiet or not sys.stderr.isatty():
        yield NO_PROGRESS
        return

    words = ""
    bar = _terminal_bar(lambda: words)
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


def _terminal_bar(status: Callable[[], str]) -> rich_progress.Progress:
    """A bar with a line below it for the status, which would take the space of the time."""
    from rich import progress as rich_progress
    from rich.console import Console, RenderableType
    from rich.text import Text

    class Bar(rich_progress.Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            yield from super().get_renderables()
            if status():
                yield Text(status())

    return Bar(
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


def print_message(line: str) -> None:
    """Print a line to standard error; an error stream that cannot be written is no failure."""
    with suppress(OSError):
        print(printable(line), file=sys.stderr, flush=True)


def print_notes(notes: Iterable[str], *, quiet: bool) -> None:
    """Print each note once, unless the user wants none."""
    for note in () if quiet else dict.fromkeys(notes):
        print_message(f"note: {note}")
