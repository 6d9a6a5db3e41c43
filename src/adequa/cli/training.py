"""Options, checks and saving that the commands of `adequa train` share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_dataset
from adequa.cli.progress import tell
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.judgements import Ratings
    from adequa.learned.base import LearnedMetric
    from adequa.progress import Progress


class GridName(str, Enum):
    """Grid that settings are chosen from."""

    scaled = "scaled"
    paper = "paper"


class References(str, Enum):
    """Score of a segment with multiple references."""

    best = "best"
    mean = "mean"


RatingsOption = Annotated[
    list[str],
    typer.Option(
        "--ratings",
        metavar="FILE|DATASET",
        help="Ratings with texts: mt, ref, score. A file, or a dataset by name; repeat for more.",
        autocompletion=complete_dataset,
    ),
]
OutputOption = Annotated[
    str, typer.Option("-o", "--output", metavar="FOLDER", help="New folder for the metric.")
]
SampleOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Number of ratings to sample."),
]
GridOption = Annotated[
    GridName,
    typer.Option(
        "--grid",
        help="Grid of settings to search: for standardised features, or that of the papers.",
    ),
]
FoldsOption = Annotated[
    int,
    typer.Option(metavar="N", min=2, help="Folds of the cross-validation that chooses the SVR."),
]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Random seed.")]
NameOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Name of the metric. Default: that of the folder."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Number of search threads. Default: one for each core."),
]


def checked_target(output: str, name: str | None) -> str:
    """Return the name of the metric, checked like its folder before the work starts."""
    from adequa.io.atomic import check_new_folder
    from adequa.metrics.registry import METRICS
    from adequa.metrics.saved import is_name

    check_new_folder(output)
    called = name or Path(output).resolve().name
    if called in METRICS or not is_name(called):
        why = "there is one already" if called in METRICS else "signatures could not show it"
        raise AdequaError(f'A metric cannot be called "{called}": {why}; use --name NAME.')
    return called


def ratings_of(
    names: Sequence[str], lp: Sequence[str] | None, sample: int | None, seed: int, quiet: bool
) -> Ratings:
    """Return the ratings of all files; raise where there are none to train on."""
    import numpy as np

    from adequa.agreement.protocol import Protocol
    from adequa.agreement.selection import Selection, selected
    from adequa.datasets.load import load_dataset
    from adequa.io.rankings import language_pair
    from adequa.judgements import Ratings, joined

    parts = []
    for given in names:
        loaded = load_dataset(given)
        if not isinstance(loaded, Ratings):
            raise AdequaError(f"{given} holds no ratings of segments, which this metric needs.")
        if not quiet:
            for note in loaded.file_rows.notes():
                tell(f"note: {given}: {note}")
        parts.append(loaded)
    choice = Selection(lp=tuple(language_pair(pair) for pair in lp or ()))
    together, _ = selected(parts[0] if len(parts) == 1 else joined(parts), choice, Protocol())
    if not isinstance(together, Ratings):
        raise TypeError("a choice among ratings gives ratings")
    if sample is None or sample >= len(together):
        return together
    drawn = np.random.default_rng(seed).choice(len(together), sample, replace=False)
    return together.select(np.sort(drawn))


@contextmanager
def training_progress(quiet: bool, label: str = "Training") -> Iterator[Progress]:
    """Show a progress bar; notes are printed unless the user asked for quiet."""
    from adequa.cli.progress import progress

    with progress(label, None, quiet=quiet) as bar:
        yield replace(bar, note=lambda note: None if quiet else tell(f"note: {note}"))


def save(metric: LearnedMetric, output: str, quiet: bool) -> None:
    """Save a trained metric, and print its remarks."""
    if not quiet:
        for remark in metric.remarks():
            tell(f"note: {remark}")
    metric.save(output)


def save_and_report(metric: LearnedMetric, output: str, quiet: bool) -> None:
    """Save a regressor over features, and print its held-out agreement."""
    from adequa.cli.output import write
    from adequa.cli.render_training import report

    save(metric, output, quiet)
    if not quiet:
        write(report(metric, output), None)
