"""`adequa rank`: several systems in order, from decisions between their outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_metric
from adequa.cli.inputs import MetricLoader, reader
from adequa.cli.options import (
    CACHE_SIZE,
    CacheSize,
    Columns,
    Confidence,
    DeviceOption,
    Hypotheses,
    Input,
    NoCache,
    Output,
    Quiet,
    References,
    Seed,
)
from adequa.cli.output import ScoreFormat, ScoreFormatOption, check_output, format_by_ending, write
from adequa.cli.progress import tell_notes
from adequa.cli.training import training_progress
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.comparison.ranking import Ranking
    from adequa.metrics.base import Metric
    from adequa.segments import Segments


def rank(
    hypothesis: Hypotheses = None,
    reference: References = None,
    input_: Input = None,
    column: Columns = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="FOLDER|NAME",
            help="A pairwise ranker, or any metric, whose higher score wins. Default: a small "
            "ranker over lexical metrics that comes with adequa.",
            autocompletion=complete_metric,
        ),
    ] = None,
    segments: Annotated[
        bool, typer.Option("--segments", help="For every segment, how likely each system wins.")
    ] = False,
    resamples: Annotated[
        int, typer.Option(metavar="N", min=1, help="Of the segments, for intervals.")
    ] = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    format_: ScoreFormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Put systems in order: expected wins, Bradley-Terry strengths, and who beats whom."""
    from adequa.comparison.ranking import rank as ranked
    from adequa.comparison.ranking import win_probabilities
    from adequa.learned.pairwise.metric import PairwiseRanker
    from adequa.pretrained import ranker_folder

    loading = MetricLoader(device, None if no_cache else cache_size)
    found = loading(metric or ranker_folder())
    loading.check_device()
    if no_cache and isinstance(found, PairwiseRanker):
        found.loaded_inputs = found.loaded_inputs.uncached()
    read, paths = reader(
        "rank", hypothesis or [], reference or [], None, input_, column or [], found.columns
    )
    if output is not None:
        check_output(output, paths)
    systems = _by_system(read(advance=None))
    with training_progress(quiet) as training:
        won = win_probabilities(found, list(systems.values()), training)
    ranking = ranked(list(systems), won, resamples=resamples, confidence=confidence, seed=seed)
    tell_notes(found.remarks(), quiet=quiet)
    count = next(iter(systems.values())).reference_count
    pieces = _rendered(
        ranking, found, count, segments, format_ or format_by_ending(output, ScoreFormat)
    )
    write(pieces, output)


def _by_system(batches: Iterator[Segments]) -> dict[str, Segments]:
    """All segments of each system, in the order of the input."""
    from adequa.segments import concatenate

    parts: dict[str, list[Segments]] = {}
    for batch in batches:
        names = batch.ids.get("system")
        if names is None:
            raise AdequaError("A ranking needs to know which system a row is of: a column system.")
        for name in dict.fromkeys(names):
            rows = [row for row, system in enumerate(names) if system == name]
            whole = len(rows) == len(batch)
            parts.setdefault(name, []).append(batch if whole else batch.select(rows))
    return {name: concatenate(some) for name, some in parts.items()}


def _rendered(
    ranking: Ranking, metric: Metric, references: int | None, segments: bool, format_: ScoreFormat
) -> Iterator[str]:
    from adequa.cli import render_ranking as render

    signature = str(metric.segment_signature(references))
    if format_ is ScoreFormat.json:
        return render.as_json(ranking, signature, segments=segments)
    if format_ is ScoreFormat.tsv:
        return render.segments_as_tsv(ranking) if segments else render.as_tsv(ranking)
    if segments:
        return render.segments_as_text(ranking, signature)
    return render.as_text(ranking, signature)
