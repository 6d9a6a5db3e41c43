"""`adequa rank`: systems in order, from decisions between their outputs of every segment."""

from __future__ import annotations

from typing import Annotated

import typer

from adequa.cli.compare import Alpha, Resamples, Swaps
from adequa.cli.inputs import MetricLoader, batch_reader, check_language
from adequa.cli.options import (
    CACHE_SIZE,
    CacheSize,
    Columns,
    Confidence,
    DeviceOption,
    Hypotheses,
    Input,
    Language,
    NoCache,
    Output,
    Quiet,
    QuotingName,
    QuotingOption,
    References,
    Seed,
    SourceText,
    SystemColumns,
    complete_metric,
)
from adequa.cli.output import (
    FormatOption,
    check_outputs,
    print_notes,
    scores_format,
    write_result,
)
from adequa.cli.training import training_progress
from adequa.statistics.settings import ALPHA, CONFIDENCE, RESAMPLES, SEED, ComparisonSettings


def rank(
    hypothesis: Hypotheses = None,
    reference: References = None,
    source: SourceText = None,
    input_: Input = None,
    column: Columns = None,
    systems: SystemColumns = None,
    quoting: QuotingOption = QuotingName.auto,
    language: Language = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="FOLDER|NAME",
            help="A pairwise ranker, or any metric, whose better score wins. Default: a small "
            "ranker over lexical metrics that ships with adequa; chrf for other languages than "
            "English.",
            autocompletion=complete_metric,
        ),
    ] = None,
    segments: Annotated[
        bool,
        typer.Option("--segments", help="Show every segment: how likely each system wins it."),
    ] = False,
    resamples: Resamples = RESAMPLES,
    swaps: Swaps = None,
    confidence: Confidence = CONFIDENCE,
    alpha: Alpha = ALPHA,
    seed: Seed = SEED,
    format_: FormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Order systems by who beats whom, segment by segment.

    Systems of one rank do not differ significantly, as in `adequa compare`.
    """
    from adequa.comparison.compare import segments_from_batches
    from adequa.comparison.ranking import default_ranker, rank_segments
    from adequa.learned.pairwise.metric import PairwiseRanker
    from adequa.metrics.language import read_language, remaining_remarks

    chosen = scores_format(format_, output, segments=segments)
    settings = ComparisonSettings(
        resamples=resamples, swaps=swaps, confidence=confidence, alpha=alpha, seed=seed
    )
    check_language(language)
    loading = MetricLoader(device, None if no_cache else cache_size)
    loaded = None if metric is None else loading(metric)
    columns = () if loaded is None else loaded.columns
    read_batches, paths = batch_reader(
        "rank", hypothesis or [], reference or [], source, input_, column or [], columns,
        quoting=quoting, systems=systems, language=language,
    )  # fmt: skip
    check_outputs({"-o": output}, paths)
    stream = read_language(read_batches(advance=None), language)
    outputs = segments_from_batches(stream.batches)
    if loaded is None:
        loaded = loading(default_ranker(stream.target))
    loading.check_device()
    if no_cache and isinstance(loaded, PairwiseRanker):
        loaded.loaded_inputs = loaded.loaded_inputs.uncached()
    with training_progress(quiet) as training:
        ranking = rank_segments(outputs, loaded, settings, training, language=stream.target)
    notes = (*read_batches.notes(), *stream.notes, *ranking.notes)
    remarks = remaining_remarks(loaded.remarks(), [ranking.warning], notes)
    print_notes((*notes, *remarks), quiet=quiet)
    write_result(ranking.by_segment() if segments else ranking, chosen, output)
