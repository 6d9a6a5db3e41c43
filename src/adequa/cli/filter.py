"""`adequa filter`: the rows of a parallel corpus that score well."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from warnings import catch_warnings, simplefilter

import typer

from adequa.cli.options import METRIC_OPTION, Columns, Language, Quiet
from adequa.cli.output import FormatOption, chosen_format, print_notes, progress, write_result
from adequa.cli.score import (
    MAX_CHARACTERS,
    Address,
    EngineOption,
    Gpus,
    MaxCharacters,
    ScoringDevice,
    Workers,
    corpus_display,
    corpus_notes,
)
from adequa.errors import AdequaError, AdequaWarning, counted


def filter_(
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the rows that are kept."),
    ],
    metric: Annotated[
        list[str],
        METRIC_OPTION,
    ],
    input_: Annotated[
        str | None,
        typer.Option(
            "-i",
            "--input",
            metavar="SHARDS",
            help="Shards in Parquet, JSONL, TSV or CSV: a pattern, a folder, a file or an address. "
            "Columns: mt (or hypothesis, translation), and src (or source), ref or both, as the "
            "metric reads; lp is counted.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "-s", "--source", metavar="FILE", help="Source sentences, one per line, in place of -i."
        ),
    ] = None,
    translations: Annotated[
        str | None,
        typer.Option(
            "-t", "--hypothesis", metavar="FILE", help="Their translations, one per line."
        ),
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option("--min-score", metavar="X", help="Keep rows with this score or a higher one."),
    ] = None,
    max_score: Annotated[
        float | None,
        typer.Option("--max-score", metavar="X", help="Keep rows with this score or a lower one."),
    ] = None,
    column: Columns = None,
    language: Language = None,
    engine: EngineOption = None,
    workers: Workers = None,
    address: Address = None,
    gpus: Gpus = 0.0,
    max_characters: MaxCharacters = MAX_CHARACTERS,
    device: ScoringDevice = None,
    format_: FormatOption = None,
    quiet: Quiet = False,
) -> None:
    """Keep the rows of a parallel corpus that score well.

    The shards, or two text files, are written to a folder with the rows that are kept, as they were
    read. A run that was stopped goes on with the same command.
    """
    from adequa.io.columns import column_mapping
    from adequa.io.shards import find_shards
    from adequa.io.text_pairs import text_pair
    from adequa.scoring.filter import filter_corpus

    chosen = chosen_format(format_, None)
    if len(metric) > 1:
        raise AdequaError(f"A filter has one metric, and there are {len(metric)}: give -m once.")
    if Path(output).is_file():
        raise AdequaError(f"{output} is a file; the rows of a corpus go to a folder.")
    if (input_ is None) == (source is None) or (source is None) != (translations is None):
        raise AdequaError("Give shards with -i, or two text files: the sources -s and their -t.")
    corpus = input_ or translations or ""
    shards = find_shards(corpus) if source is None else [text_pair(corpus, source)]
    size = sum(shard.size for shard in shards)
    with progress("Filtering", size, quiet=quiet) as work, catch_warnings():
        simplefilter("ignore", AdequaWarning)  # the notes have them
        filtered = filter_corpus(
            corpus,
            output,
            metric[0],
            source=source,
            min_score=min_score,
            max_score=max_score,
            language=language,
            columns=column_mapping(column or []),
            engine="local" if engine is None else engine.value,
            workers=workers,
            address=address,
            gpus=gpus,
            device=None if device is None else device.value,
            max_characters=max_characters,
            progress=corpus_display(work),
        )
    summary = f"kept {filtered.rows_kept:,} of {counted(filtered.rows, 'row')} in {output}"
    print_notes([summary, *corpus_notes(filtered.corpus)], quiet=quiet)
    write_result(filtered, chosen, None)
