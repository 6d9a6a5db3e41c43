"""Options, checks, data and reports that the commands of `adequa train` share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from adequa.cli.options import complete_dataset, complete_encoder
from adequa.cli.output import (
    FORMAT_NAMES,
    chosen_format,
    print_message,
    print_notes,
    write_result,
)
from adequa.errors import AdequaError
from adequa.tables import Format

if TYPE_CHECKING:
    from adequa.judgements import Preferences, Ratings
    from adequa.learned.base import LearnedMetric
    from adequa.learned.ensemble import Ensemble
    from adequa.progress import Progress
    from adequa.tables import Result

    AnyJudgements = TypeVar("AnyJudgements", Ratings, Preferences)
    AnyData = TypeVar("AnyData", Ratings, Preferences, Ratings | Preferences)


class GridName(str, Enum):
    """Grid that settings are chosen from."""

    scaled = "scaled"
    paper = "paper"


class References(str, Enum):
    """Score of a segment with multiple references."""

    best = "best"
    mean = "mean"


def data_option(help_: str, flag: str | None = None) -> Any:
    """An option for files of judgements or datasets."""
    return typer.Option(
        *([flag] if flag else []),
        metavar="FILE|DATASET",
        help=help_,
        autocompletion=complete_dataset,
    )


def encoder_option(help_: str, *flags: str) -> Any:
    """An option for encoders, which takes the same words in every command."""
    return typer.Option(
        *(flags or ["--encoder"]),
        metavar="FOLDER|NAME|KIND:PATH[,SETTING=VALUE...]",
        help=f"{help_} A folder, a name in ADEQUA_MODELS or on the Hugging Face hub, or a kind "
        "that `adequa encoders` lists, with a path and settings.",
        autocompletion=complete_encoder,
    )


RatingsOption = Annotated[
    list[str],
    data_option(
        "Ratings with texts: mt, ref, score. A file, or a dataset by name; repeat for more.",
        "--ratings",
    ),
]
DownloadOption = Annotated[
    bool,
    typer.Option("--download", help="Download models from the hub that are not on this machine."),
]
OutputOption = Annotated[
    str, typer.Option("-o", "--output", metavar="FOLDER", help="New folder for the metric.")
]
ReportOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"Format of the report that is printed at the end, with -q too: {FORMAT_NAMES}. "
        "Default: text, and no report with -q.",
    ),
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
TrainingDevice = Annotated[
    str, typer.Option(metavar="NAME", help="Device to train on: auto, cpu or cuda.")
]


def check_target(output: str, name: str | None, format_: Format | None = None) -> str:
    """Return the name of the metric; raise where name, folder or format cannot be used."""
    from adequa.io.atomic import check_new_folder
    from adequa.metrics.registry import METRICS
    from adequa.metrics.saved import is_name

    chosen_format(format_, None)
    check_new_folder(output)
    metric_name = name or Path(output).resolve().name
    if metric_name in METRICS or not is_name(metric_name):
        why = "there is one already" if metric_name in METRICS else "signatures could not show it"
        raise AdequaError(f'A metric cannot be called "{metric_name}": {why}; use --name NAME.')
    return metric_name


def load_judgements(
    path: str, kind: type[AnyJudgements], quiet: bool, purpose: str, alternative: str = ""
) -> AnyJudgements:
    """Return the judgements of a file or dataset; raise where they are not of this kind.

    `purpose` ends the sentence of the error, and `alternative` says where judgements of the other
    kind go.
    """
    from adequa.datasets.load import load_dataset
    from adequa.judgements import Preferences, Ratings

    loaded = load_dataset(path)
    if not isinstance(loaded, kind):
        what = "ratings of segments" if kind is Ratings else "preferences"
        other = alternative if isinstance(loaded, Ratings | Preferences) else ""
        raise AdequaError(f"{path} holds no {what}{purpose}{other}.")
    print_notes((f"{path}: {note}" for note in loaded.file_rows.notes()), quiet=quiet)
    return loaded


def with_language_pairs(judgements: AnyData, lp: Sequence[str] | None) -> AnyData:
    """Return the judgements of these language pairs; all of them without a choice."""
    from adequa.agreement.selection import with_ids
    from adequa.languages import language_pair

    if not lp:
        return judgements
    selected = with_ids(judgements, "lp", [language_pair(pair) for pair in lp])
    if not isinstance(selected, type(judgements)):
        raise TypeError("a selection of judgements is of the same kind")
    return selected


def load_ratings(
    paths: Sequence[str], lp: Sequence[str] | None, sample: int | None, seed: int, quiet: bool
) -> Ratings:
    """Return the ratings of all files, or a sample; raise where there are none to train on."""
    import numpy as np

    from adequa.judgements import Ratings, joined

    parts = [load_judgements(path, Ratings, quiet, ", which this metric needs") for path in paths]
    ratings = with_language_pairs(parts[0] if len(parts) == 1 else joined(parts), lp)
    if sample is None or sample >= len(ratings):
        return ratings
    rows = np.random.default_rng(seed).choice(len(ratings), sample, replace=False)
    return ratings.select(np.sort(rows))


@contextmanager
def training_progress(quiet: bool, label: str = "Training") -> Iterator[Progress]:
    """Show a progress bar; notes are printed unless the user asked for quiet."""
    from adequa.cli.output import progress

    with progress(label, None, quiet=quiet) as bar:
        yield replace(bar, note=lambda note: None if quiet else print_message(f"note: {note}"))


def save_and_report(
    metric: LearnedMetric | Ensemble, output: str, format_: Format | None, quiet: bool
) -> None:
    """Save a trained metric, and print its remarks and the result of its training."""
    print_notes(metric.remarks(), quiet=quiet)
    metric.save(output)
    print_report(metric.training_result(output), format_, quiet)


def print_report(result: Result, format_: Format | None, quiet: bool) -> None:
    """Print a result, unless the user asked for quiet and named no format."""
    if format_ is not None or not quiet:
        write_result(result, format_ or Format.text, None)
