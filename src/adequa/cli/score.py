"""`adequa score`: how good are these translations?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.corpus import (
    MAX_CHARACTERS,
    Address,
    EngineOption,
    Gpus,
    MaxCharacters,
    Prefix,
    Workers,
    is_corpus,
    score_shards,
)
from adequa.cli.inputs import MetricLoader, Read, reader
from adequa.cli.options import (
    CACHE_SIZE,
    CacheSize,
    Columns,
    DeviceOption,
    Hypotheses,
    Input,
    NoCache,
    Output,
    Quiet,
    References,
    SourceText,
    metrics_option,
)
from adequa.cli.output import FormatOption, check_output, chosen_format, write_result
from adequa.cli.progress import notes_on, print_notes
from adequa.comparison.settings import METRICS
from adequa.errors import AdequaError
from adequa.tables import TABLE_FORMATS, Format

if TYPE_CHECKING:
    from adequa.metrics.base import Metric
    from adequa.scoring.results import ScoringResult
    from adequa.segments import Segments


def score(
    hypothesis: Hypotheses = None,
    reference: References = None,
    source: SourceText = None,
    input_: Input = None,
    column: Columns = None,
    metric: Annotated[
        list[str] | None,
        metrics_option(METRICS),
    ] = None,
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
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Score translations against references.

    Files are read line by line, compressed or not; WMT .sgm and .xml files are read as they are.

    If -i names the shards of a corpus and -o a folder, the same rows are written there with a
    column for each metric, by any number of workers.
    """
    if input_ is not None and is_corpus(input_, output, engine):
        if hypothesis or reference or source is not None or segments or by is not None:
            raise AdequaError("A corpus of shards goes with -i, -o and -m; leave out the others.")
        scored = score_shards(
            input_, output, metric or METRICS, column or [],
            engine=engine, workers=workers, address=address, gpus=gpus, device=device,
            prefix=prefix, max_characters=max_characters, quiet=quiet,
        )  # fmt: skip
        scored = replace(scored, decimals=decimals)
        write_result(scored, chosen_format(format_, None), None)
        return
    if engine is not None or workers is not None or address is not None or gpus:
        raise AdequaError("Engines and workers go with -i SHARDS -o FOLDER/.")
    if prefix or max_characters != MAX_CHARACTERS:
        raise AdequaError("--prefix and --max-characters go with -i SHARDS -o FOLDER/.")
    if segments and by is not None:
        raise AdequaError("--segments and --by cannot be combined; choose one.")
    chosen = chosen_format(format_, output, tuple(Format) if segments else TABLE_FORMATS)
    loading = MetricLoader(device, None if no_cache else cache_size)
    from adequa.scoring.results import labelled

    metrics = labelled({each: loading(each) for each in metric or METRICS})
    loading.check_device()
    columns = dict.fromkeys(name for each in metrics.values() for name in each.columns)
    ids = [*columns, *([] if by is None or by in columns else [by])]
    read, paths = reader(
        "score", hypothesis or [], reference or [], source, input_, column or [], ids
    )
    if output is not None:
        check_output(output, paths)
    result = _score(read, paths, metrics, segments, by, quiet)
    remarks = (remark for each in metrics.values() for remark in each.remarks())
    print_notes((*notes_on(result), *remarks), quiet=quiet)
    write_result(replace(result, decimals=decimals), chosen, output)


def _score(
    read: Read,
    paths: Sequence[str],
    metrics: dict[str, Metric],
    segments: bool,
    by: str | None,
    quiet: bool,
) -> ScoringResult:
    from adequa.cli.progress import progress
    from adequa.io.read import total_bytes
    from adequa.scoring.stream import score_stream

    with progress("Scoring", total_bytes(paths), quiet=quiet) as work:
        batches = _reported(read(advance=work.read), work.scored)
        return score_stream(batches, metrics, keep_segments=segments, by=by)


def _reported(batches: Iterator[Segments], scored: Callable[[int], None]) -> Iterator[Segments]:
    for batch in batches:
        yield batch
        scored(len(batch))  # whoever took the batch has come back for the next one
