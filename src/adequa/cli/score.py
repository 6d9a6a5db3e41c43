"""`adequa score`: scores of files, or of a corpus of shards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings, simplefilter

import typer

from adequa.cli.inputs import BatchReader, MetricLoader, batch_reader, check_language
from adequa.cli.options import (
    CACHE_SIZE,
    CacheSize,
    Columns,
    ConfidenceFile,
    Device,
    Hypotheses,
    Input,
    IntervalLevel,
    Language,
    NoCache,
    Output,
    Quiet,
    QuotingName,
    QuotingOption,
    RatersName,
    RatersOption,
    References,
    SourceText,
    SystemColumns,
    metrics_option,
)
from adequa.cli.output import (
    FormatOption,
    ReadAhead,
    check_outputs,
    chosen_format,
    print_notes,
    progress,
    scores_format,
    write_result,
)
from adequa.errors import AdequaError, AdequaWarning, counted
from adequa.metrics import DEFAULT_METRICS
from adequa.progress import Progress

if TYPE_CHECKING:
    from adequa.metrics.base import Metric
    from adequa.scoring.bands import ScoreBands
    from adequa.scoring.confidence import Estimator
    from adequa.scoring.corpus import CorpusProgress, CorpusScores
    from adequa.scoring.results import ScoringResult
    from adequa.segments import Segments

MAX_CHARACTERS = 100_000  # as scoring.manifest has it, without importing it for --help


class EngineName(str, Enum):
    """Engines that run the workers."""

    local = "local"
    ray = "ray"


EngineOption = Annotated[
    EngineName | None,
    typer.Option("--engine", help="Engine that scores a corpus of shards. Default: local."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        metavar="N",
        help="Number of workers for a corpus. Default: one for each CPU.",
    ),
]
Address = Annotated[
    str | None,
    typer.Option("--address", metavar="HOST:PORT|auto", help="Address of a running Ray cluster."),
]
Gpus = Annotated[
    float,
    typer.Option("--gpus", min=0, metavar="N", help="GPUs for each Ray worker; may be a fraction."),
]
Prefix = Annotated[
    str, typer.Option("--prefix", metavar="TEXT", help="Text before the names of new columns.")
]
MaxCharacters = Annotated[
    int,
    typer.Option(
        "--max-characters",
        min=1,
        metavar="N",
        help="Leave rows of a corpus with longer texts unscored.",
    ),
]

ScoringDevice = Annotated[
    Device | None,
    typer.Option(
        "--device",
        help="Device for trained metrics. Default: that of each metric; cpu for a corpus of "
        "shards.",
    ),
]


def score(
    hypothesis: Hypotheses = None,
    reference: References = None,
    source: SourceText = None,
    input_: Input = None,
    column: Columns = None,
    systems: SystemColumns = None,
    quoting: QuotingOption = QuotingName.auto,
    language: Language = None,
    metric: Annotated[list[str] | None, metrics_option(DEFAULT_METRICS)] = None,
    segments: Annotated[
        bool,
        typer.Option("--segments", help="One score per segment; -o may then also end in .parquet."),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="COLUMN", help="Also scores by document (doc), or by another column."
        ),
    ] = None,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            help="Also estimate the error of segment scores of adequa: an interval of the human "
            "rating, the expected error, and a band: publish, check or redo.",
        ),
    ] = False,
    bands: Annotated[
        str | None,
        typer.Option(
            "--bands",
            metavar="PUBLISH,REDO|FILE",
            help="Also the band of each segment by its score: publish, check (post-edit) or redo. "
            "Thresholds, such as 0.8,0.5, or a .json file of `adequa train bands`.",
        ),
    ] = None,
    level: IntervalLevel = None,
    raters: RatersOption = None,
    confidence_file: ConfidenceFile = None,
    format_: FormatOption = None,
    decimals: Annotated[
        int | None,
        typer.Option(min=0, max=15, metavar="N", help="Number of decimal places of every score."),
    ] = None,
    engine: EngineOption = None,
    workers: Workers = None,
    address: Address = None,
    gpus: Gpus = 0.0,
    prefix: Prefix = "",
    max_characters: MaxCharacters = MAX_CHARACTERS,
    device: ScoringDevice = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Score translations against references or sources.

    Files are read line by line, compressed or not; WMT .sgm and .xml, TMX and XLIFF files are read
    as they are.

    If -i names the shards of a corpus and -o a folder, the same rows are written there with a
    column for each metric, by any number of workers.
    """
    if input_ is not None and _is_corpus(input_, output, engine):
        _refuse(
            "A corpus of shards is scored without {}; leave it out.",
            {
                "-t": hypothesis, "-r": reference, "-s": source, "--segments": segments, "--by": by,
                "--systems": systems, "--quoting": quoting is not QuotingName.auto,
                "--no-cache": no_cache, "--cache-size": cache_size != CACHE_SIZE,
                "--confidence": confidence, "--bands": bands,
            },
        )  # fmt: skip
        chosen = chosen_format(format_, None)
        result = _score_corpus(
            input_, output, metric, column or [], language,
            engine=engine, workers=workers, address=address, gpus=gpus, device=device,
            prefix=prefix, max_characters=max_characters, quiet=quiet,
        )  # fmt: skip
        write_result(replace(result, decimals=decimals), chosen, None)
        return
    _refuse(
        "{} goes with a corpus: -i SHARDS -o FOLDER/.",
        {
            "--engine": engine, "--workers": workers, "--address": address, "--gpus": gpus,
            "--prefix": prefix, "--max-characters": max_characters != MAX_CHARACTERS,
        },
    )  # fmt: skip
    if segments and by is not None:
        raise AdequaError("--segments and --by cannot be combined; choose one.")
    if confidence and by is not None:
        raise AdequaError("--confidence and --by cannot be combined; choose one.")
    if bands is not None:
        _refuse(
            "--bands and {} cannot be combined; choose one.",
            {"--confidence": confidence, "--by": by},
        )
        if len(metric or []) != 1:
            raise AdequaError("--bands is for the scores of one metric; name one with -m.")
    if not confidence:
        _refuse(
            "{} goes with --confidence.",
            {"--level": level, "--raters": raters, "--confidence-file": confidence_file},
        )
    confidence_options = _Confidence(raters, level, confidence_file) if confidence else None
    chosen = scores_format(format_, output, segments=segments)
    check_language(language)
    loader = MetricLoader(device, None if no_cache else cache_size)
    metrics = loader.load_all(metric) if metric else {}
    if metrics and confidence_options is not None:
        confidence_options.estimators(metrics)  # raises before the work, where there is none
    score_bands = _bands(bands, metrics)  # raises before the work
    columns = dict.fromkeys(name for each in metrics.values() for name in each.columns)
    ids = [*columns, *([] if by is None or by in columns else [by])]
    read_batches, paths = batch_reader(
        "score", hypothesis or [], reference or [], source, input_, column or [], ids,
        quoting=quoting, systems=systems, language=language,
    )  # fmt: skip
    check_outputs({"-o": output}, paths)
    result, notes = _score(
        read_batches,
        paths,
        metrics,
        loader,
        language,
        confidence_options,
        bands=score_bands,
        segments=segments,
        by=by,
        quiet=quiet,
    )
    print_notes((*read_batches.notes(), *notes), quiet=quiet)
    write_result(replace(result, decimals=decimals), chosen, output)


def _refuse(sentence: str, options: Mapping[str, object]) -> None:
    """Raise if one of the options is given."""
    for option, value in options.items():
        if value:
            raise AdequaError(sentence.format(option))


def _bands(value: str | None, metrics: Mapping[str, Metric]) -> dict[str, ScoreBands]:
    """The bands of each metric."""
    if value is None:
        return {}
    from adequa.scoring.bands import bands_of

    return {label: bands_of(value, metric) for label, metric in metrics.items()}


@dataclass(frozen=True, slots=True)
class _Confidence:
    """The options of --confidence."""

    raters: RatersName | None
    level: float | None
    file: str | None

    def estimators(self, metrics: Mapping[str, Metric]) -> dict[str, Estimator]:
        """Load the confidence of those metrics that may have one."""
        from adequa.learned.packed.metric import PackedPair, ShippedMetric
        from adequa.scoring.confidence import DEFAULT_LEVEL, Estimator

        packed = {
            label: metric
            for label, metric in metrics.items()
            if isinstance(metric, (PackedPair, ShippedMetric))
        }
        if not packed:
            raise AdequaError(
                "--confidence goes with the metric adequa, and it is not among these: "
                f"{', '.join(metrics)}; add -m adequa."
            )
        return {
            label: Estimator.of(
                metric,
                raters=None if self.raters is None else self.raters.value,
                level=DEFAULT_LEVEL if self.level is None else self.level,
                file=self.file,
            )
            for label, metric in packed.items()
        }


def _score(
    read_batches: BatchReader,
    paths: Sequence[str],
    metrics: Mapping[str, Metric],
    loader: MetricLoader,
    language: str | None,
    confidence: _Confidence | None,
    *,
    bands: Mapping[str, ScoreBands],
    segments: bool,
    by: str | None,
    quiet: bool,
) -> tuple[ScoringResult, tuple[str, ...]]:
    """The scores, and notes on them; without metrics, with those of the language."""
    from adequa.metrics.language import (
        default_metrics,
        default_notes,
        metrics_for,
        read_language,
        remaining_remarks,
    )
    from adequa.scoring.results import score_stream

    with progress("Scoring", None, quiet=quiet) as work:
        ahead = ReadAhead(paths, work)
        batches = ahead.items(read_batches(advance=ahead.bytes_read), len)
        stream = read_language(batches, language)
        notes = stream.notes if metrics else (*stream.notes, *default_notes(stream.target))
        loaded = metrics or loader.load_all(default_metrics(stream.target))
        scorers = metrics_for(loaded, stream.target)
        reported = _report_progress(stream.batches, work.texts_scored)
        result = score_stream(
            reported,
            scorers,
            keep_segments=segments,
            by=by,
            language=stream.target,
            estimators=None if confidence is None else confidence.estimators(loaded),
            bands=bands,
        )
    remarks = [remark for each in scorers.values() for remark in each.remarks()]
    warnings = [each.warning for each in result.metrics]
    input_notes = (*notes, *result.notes())
    return result, (*input_notes, *remaining_remarks(remarks, warnings, input_notes))


def _report_progress(
    batches: Iterator[Segments], scored: Callable[[int], None]
) -> Iterator[Segments]:
    for batch in batches:
        yield batch
        scored(len(batch))  # the next batch is requested once this one is scored


def _is_corpus(inputs: str, output: str | None, engine: EngineName | None) -> bool:
    """Whether -i and -o name shards and a folder, and not one file and another."""
    from adequa.io.storage import is_address, is_pattern

    return (
        engine is not None
        or (is_pattern(inputs) and not Path(inputs).exists())
        or (inputs != "-" and Path(inputs).is_dir())
        or is_address(inputs)
        or (output is not None and (output.endswith(os.sep) or Path(output).is_dir()))
    )


def _score_corpus(
    inputs: str,
    output: str | None,
    metrics: Sequence[str] | None,
    columns: Sequence[str],
    language: str | None,
    *,
    engine: EngineName | None,
    device: Device | None,
    quiet: bool,
    **options: Any,
) -> ScoringResult:
    """Score a corpus and print notes on it; `options` are others of `score_corpus`."""
    from adequa.io.columns import column_mapping
    from adequa.io.shards import find_shards
    from adequa.metrics.language import default_metrics, default_notes, language_notes
    from adequa.scoring.corpus import corpus_language, score_corpus

    shards = find_shards(inputs)
    size = sum(shard.size for shard in shards)
    if output is None:
        raise AdequaError(f"{inputs} is a corpus; name a folder for its scores with -o.")
    if Path(output).is_file():
        raise AdequaError(f"{output} is a file; scores of a corpus go to a folder.")
    target = corpus_language(shards, column_mapping(columns), language)
    notes = [*language_notes(target, ())]
    notes += [] if metrics else default_notes(target)
    with progress("Scoring", size, quiet=quiet) as work, catch_warnings():
        simplefilter("ignore", AdequaWarning)  # the table and the notes have them
        scored = score_corpus(
            inputs,
            output,
            tuple(metrics or default_metrics(target)),
            language=target,
            columns=column_mapping(columns),
            engine="local" if engine is None else engine.value,
            device=None if device is None else device.value,
            progress=corpus_display(work),
            **options,
        )
    count = counted(len(scored.records), "shard")
    notes.append(f"{count} with {counted(scored.rows, 'row')} in {output}")
    print_notes([*notes, *corpus_notes(scored)], quiet=quiet)
    return scored.results


def corpus_display(work: Progress) -> Callable[[CorpusProgress], None]:
    """A callback that shows progress: rows, rows per second, rows without a score."""
    start, seen = monotonic(), [0, 0]

    def update(corpus: CorpusProgress) -> None:
        work.bytes_read(corpus.bytes - seen[0])
        work.texts_scored(corpus.rows - seen[1])
        seen[:] = corpus.bytes, corpus.rows
        rate = (corpus.rows - corpus.resumed) / max(monotonic() - start, 1e-9)
        work.status(f"{rate:,.0f} rows per second, {corpus.unscored:,} not scored")

    return update


def corpus_notes(scored: CorpusScores) -> list[str]:
    """Notes on the rows of a corpus: those without a score, and what the metrics remark."""
    notes = []
    if scored.unscored:
        notes.append(
            f"{counted(scored.unscored, 'row')} could not be scored; the first: "
            f"{scored.first_reason}"
        )
    if scored.scoreless:
        notes.append(f"no row at all has a score of {', '.join(scored.scoreless)}")
    return [*notes, *scored.results.notes(), *scored.remarks]
