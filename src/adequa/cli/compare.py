"""`adequa compare`: which system is better, by how much, how sure are we, and where?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.comparing import (
    Alpha,
    ComparedMetrics,
    KnownWords,
    LikeSacrebleu,
    People,
    Report,
    Resamples,
    Swaps,
    check_outputs,
    compare_files,
)
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
    SourceText,
)
from adequa.cli.output import TableFormat, TableFormatOption, format_by_ending, write
from adequa.cli.progress import tell_notes
from adequa.comparison.defaults import ALPHA, CONFIDENCE, RESAMPLES, SEED
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.comparison.results import Comparison


def compare(
    hypothesis: Hypotheses = None,
    reference: References = None,
    source: SourceText = None,
    input_: Input = None,
    column: Columns = None,
    metric: ComparedMetrics = None,
    report: Report = None,
    examples: Annotated[
        int, typer.Option(min=0, max=1000, metavar="N", help="Segments shown of each kind.")
    ] = 2,
    segments: Annotated[
        bool, typer.Option("--segments", help="With --format json: all segments too.")
    ] = False,
    resamples: Resamples = RESAMPLES,
    swaps: Swaps = None,
    confidence: Confidence = CONFIDENCE,
    alpha: Alpha = ALPHA,
    clusters: Annotated[
        str, typer.Option(metavar="RULE", help="Ranks are greedy, or separated.")
    ] = "greedy",
    seed: Seed = SEED,
    like_sacrebleu: LikeSacrebleu = False,
    known_words: KnownWords = None,
    people: People = None,
    format_: TableFormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Compare systems: scores with intervals, tests of all pairs, ranks, where they differ.

    The first system is the baseline. -r, -s and -i are as in `adequa score`.
    """
    from adequa.comparison.settings import ComparisonSettings

    settings = ComparisonSettings(
        resamples=resamples,
        swaps=swaps,
        confidence=confidence,
        alpha=alpha,
        clusters=clusters,
        seed=seed,
        like_sacrebleu=like_sacrebleu,
    )
    chosen = format_ or format_by_ending(output, TableFormat)
    if segments and chosen is not TableFormat.json:
        raise AdequaError("--segments goes with --format json.")
    read, paths = reader(
        "compare",
        hypothesis or [],
        reference or [],
        source,
        input_,
        column or [],
        documents=True,
    )
    inputs = [*paths, *(metric or []), *filter(None, [known_words, people])]
    check_outputs({"-o": output, "--report": report}, inputs)
    loading = MetricLoader(device, None if no_cache else cache_size)
    found = compare_files(
        read, paths, metric, settings, loading, known=known_words, people=people, quiet=quiet
    )
    tell_notes(found.notes, quiet=quiet)
    if report is not None:
        write([found.to_html()], report)
    write(_rendered(found, chosen, examples, segments), output)


def _rendered(
    found: Comparison, format_: TableFormat, examples: int, segments: bool
) -> Iterator[str]:
    from adequa.cli import render_comparison as render

    if format_ is TableFormat.json:
        return render.as_json(found, segments=segments)
    render_as = {
        TableFormat.text: render.as_text,
        TableFormat.tsv: render.as_tsv,
        TableFormat.markdown: render.as_markdown,
    }
    return render_as[format_](found, examples)
