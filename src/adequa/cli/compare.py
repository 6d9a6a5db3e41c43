"""`adequa compare`: which system is better, by how much, how sure are we, and where?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.inputs import BatchReader, MetricLoader, batch_reader, check_language
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
    metrics_option,
)
from adequa.cli.output import (
    FormatOption,
    check_outputs,
    chosen_format,
    print_notes,
    progress,
    write,
)
from adequa.errors import AdequaError
from adequa.metrics import DEFAULT_METRICS
from adequa.statistics.settings import (
    ALPHA,
    CONFIDENCE,
    EXPLAINED_OUTPUTS,
    RESAMPLES,
    SEED,
    SWAPS,
    ComparisonSettings,
)
from adequa.tables import Format

if TYPE_CHECKING:
    from adequa.agreement.sources import Source
    from adequa.comparison.results import Comparison

ComparedMetrics = Annotated[
    list[str] | None,
    metrics_option(DEFAULT_METRICS, score_files=True),
]
Report = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Also write an HTML report that needs no network."),
]
Title = Annotated[
    str, typer.Option(metavar="TEXT", help="Title of the report, such as the test set's name.")
]
Explain = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="Number of random segments for which to explain what each difference from the "
        f"reference costs. Default: with a report, about {EXPLAINED_OUTPUTS} outputs of all "
        "systems; else 0.",
    ),
]
Resamples = Annotated[int, typer.Option(metavar="N", help="Number of bootstrap resamples.")]
Swaps = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Number of swaps of approximate randomisation. "
        f"Default: {SWAPS}, and more for many systems.",
    ),
]
Alpha = Annotated[float, typer.Option(metavar="X", help="Significance level of the tests.")]


def compare(
    hypothesis: Hypotheses = None,
    reference: References = None,
    source: SourceText = None,
    input_: Input = None,
    column: Columns = None,
    systems: SystemColumns = None,
    quoting: QuotingOption = QuotingName.auto,
    language: Language = None,
    metric: ComparedMetrics = None,
    report: Report = None,
    title: Title = "",
    explain: Explain = None,
    examples: Annotated[
        int, typer.Option(min=0, max=1000, metavar="N", help="Number of examples of each kind.")
    ] = 2,
    segments: Annotated[
        bool, typer.Option("--segments", help="With --format json: include all segments.")
    ] = False,
    resamples: Resamples = RESAMPLES,
    swaps: Swaps = None,
    confidence: Confidence = CONFIDENCE,
    alpha: Alpha = ALPHA,
    clusters: Annotated[
        str, typer.Option(metavar="RULE", help="Rule for ranks: greedy or separated.")
    ] = "greedy",
    seed: Seed = SEED,
    like_sacrebleu: Annotated[
        bool,
        typer.Option(
            "--like-sacrebleu",
            help="Compute p-values as sacreBLEU does: resamples that equal the observed difference "
            "do not count.",
        ),
    ] = False,
    known_words: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Text whose words are known, such as training data in this language.",
        ),
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="How often people agreed with differences: from `adequa differences --level "
            "system --format json`. The metric that ships brings its own.",
        ),
    ] = None,
    format_: FormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Compare systems by scores, significance tests and ranks.

    The first system is the baseline. -r, -s and -i are as in `adequa score`; without references,
    what is computed from them is left out.
    """
    chosen = chosen_format(format_, output)
    settings = ComparisonSettings(
        resamples=resamples,
        swaps=swaps,
        confidence=confidence,
        alpha=alpha,
        clusters=clusters,
        seed=seed,
        like_sacrebleu=like_sacrebleu,
    )
    if segments and chosen is not Format.json:
        raise AdequaError("--segments goes with --format json.")
    read_batches, paths = batch_reader(
        "compare",
        hypothesis or [],
        reference or [],
        source,
        input_,
        column or [],
        documents=True,
        quoting=quoting,
        systems=systems,
        language=language,
    )
    has_page = report is not None or chosen is Format.html
    inputs = [*paths, *(metric or []), *filter(None, [known_words, people])]
    check_outputs({"-o": output, "--report": report}, inputs)
    comparison, _ = compare_files(
        read_batches,
        paths,
        metric,
        lambda _: settings,
        MetricLoader(device, None if no_cache else cache_size),
        language=language,
        known_words=known_words,
        people=people,
        explain=explain if explain is not None or has_page else 0,
        quiet=quiet,
    )
    comparison = replace(comparison, test_set=name_of_test_set(reference or [], source or input_))
    print_notes((*read_batches.notes(), *comparison.notes), quiet=quiet)
    if report is not None:
        write([comparison.to_html(title)], report)
    page = chosen is Format.html
    lines = comparison.lines(chosen, examples=examples, segments=segments)
    write([comparison.to_html(title)] if page else lines, output)


def name_of_test_set(references: Sequence[str], other: str | None) -> str:
    """The name of a test set: that of the first file of references, or of the other file."""
    path = next(iter(references), other) or ""
    return "" if path == "-" else PurePath(path).name


def compare_files(
    read_batches: BatchReader,
    paths: Sequence[str],
    metrics: Sequence[str] | None,
    settings: Callable[[Sequence[str]], ComparisonSettings],
    loading: MetricLoader,
    *,
    language: str | None = None,
    known_words: str | None = None,
    people: str | None = None,
    explain: int | None = 0,
    quiet: bool,
) -> tuple[Comparison, Sequence[Source]]:
    """Read, score and compare, with progress on a terminal; the comparison and its metrics.

    `settings` takes names of metrics.
    """
    from adequa.agreement.sources import sources
    from adequa.comparison.compare import Outputs, compare_outputs, segments_from_batches
    from adequa.io.read import total_bytes
    from adequa.io.text import lines
    from adequa.metrics.language import default_metrics, default_notes, read_language

    check_language(language)
    loaded = sources(metrics, loading) if metrics else None
    if loaded is not None:
        loading.check_device()
    words = None if known_words is None else lines(known_words)
    with progress("Reading", total_bytes(paths), quiet=quiet) as work:
        stream = read_language(read_batches(advance=work.bytes_read), language)
        outputs = Outputs.of(segments_from_batches(stream.batches))
        if loaded is None:
            loaded = sources(default_metrics(stream.target), loading)
            loading.check_device()
        comparison = compare_outputs(
            outputs,
            loaded,
            settings([source.name for source in loaded]),
            language=stream.target,
            known_words=words,
            people=people,
            explain=explain,
            progress=work,
        )
    if metrics:
        return comparison, loaded
    notes = (*default_notes(stream.target), *comparison.notes)
    return replace(comparison, notes=notes), loaded
