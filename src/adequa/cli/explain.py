"""`adequa explain`: what each difference of a translation from its reference costs."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Annotated

import typer

from adequa.cli.inputs import MetricLoader, batch_reader, check_language
from adequa.cli.options import (
    CACHE_SIZE,
    CacheSize,
    Columns,
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
    SourceBesideReference,
    SystemColumns,
    complete_metric,
)
from adequa.cli.output import (
    FormatOption,
    check_outputs,
    print_notes,
    progress,
    scores_format,
    write,
    write_result,
)
from adequa.errors import AdequaError
from adequa.tables import Format


def explain(
    hypothesis: Hypotheses = None,
    reference: References = None,
    source: SourceBesideReference = None,
    input_: Input = None,
    column: Columns = None,
    systems: SystemColumns = None,
    quoting: QuotingOption = QuotingName.auto,
    language: Language = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="NAME|FOLDER[:SETTING=VALUE,...]",
            help="Metric used to compute the costs. Default: adequa; chrf for other languages "
            "than English.",
            autocompletion=complete_metric,
        ),
    ] = None,
    worst: Annotated[
        int | None,
        typer.Option(
            "--worst",
            min=1,
            metavar="N",
            help="Explain only the N segments with the worst scores, the worst first.",
        ),
    ] = None,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            help="Mean of eight orders of repair, for costs closer to Shapley values; takes "
            "several times as long.",
        ),
    ] = False,
    format_: FormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Show what each difference from the reference costs.

    Replaces each difference by the words of the reference and reports the change in score. Takes
    about ten times as long as scoring.
    """
    from adequa.explanation.explain import explain_segments
    from adequa.io.read import total_bytes
    from adequa.metrics.language import read_language, remaining_remarks
    from adequa.scoring.api import metric_of_language
    from adequa.segments import concatenate

    chosen = scores_format(format_, output, segments=True)
    check_language(language)
    loader = MetricLoader(device, None if no_cache else cache_size)
    if len(metric or []) > 1:
        raise AdequaError("adequa explain takes one metric; name one after -m.")
    loaded = loader(metric[0]) if metric else None
    read_batches, paths = batch_reader(
        "explain", hypothesis or [], reference or [], source, input_, column or [],
        () if loaded is None else loaded.columns,
        quoting=quoting, systems=systems, language=language,
    )  # fmt: skip
    check_outputs({"-o": output}, paths)
    with progress("Reading", total_bytes(paths), quiet=quiet) as work:
        stream = read_language(read_batches(advance=work.bytes_read), language)
        segments = concatenate(list(stream.batches))
        scorer = (loaded or loader(metric_of_language(stream.target))).for_language(
            stream.target.code
        )
        loader.check_device()
        work.stage("Explaining")
        explanation = explain_segments(
            segments, scorer, language=stream.target, worst=worst, thorough=thorough, progress=work
        )
    notes = list(stream.notes)
    if loaded is None and stream.target.code not in {None, "en"}:
        notes.append(f"using {scorer.name}: adequa supports English only.")
    remarks = remaining_remarks(explanation.notes, [explanation.warning], notes)
    explanation = replace(explanation, notes=(*notes, *remarks))
    print_notes((*read_batches.notes(), *explanation.notes), quiet=quiet)
    if output is None:
        if chosen is Format.text:  # whose notes are on standard error
            explanation = replace(explanation, notes=())
        write(explanation.lines(chosen, colour=_wants_colour()), None)
    else:
        write_result(explanation, chosen, output)


def _wants_colour() -> bool:
    """Whether standard output shows colours: a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
