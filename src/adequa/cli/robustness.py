"""`adequa robustness`: how often does a metric score a translation above its damaged self?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.completion import complete_dataset, complete_metric
from adequa.cli.inputs import MetricLoader
from adequa.cli.measuring import scoring, selection_of
from adequa.cli.options import (
    CACHE_SIZE,
    DEFAULT_METRICS,
    CacheSize,
    Confidence,
    DeviceOption,
    NoCache,
    Output,
    Pairs,
    Quiet,
    Seed,
    Split,
)
from adequa.cli.output import TableFormat, TableFormatOption, check_output, format_by_ending, write
from adequa.cli.progress import tell_notes
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.agreement.robustness import Robustness
    from adequa.agreement.selection import Selection
    from adequa.segments import Segments

DEFAULT_DATA = "wmt17-da"
_SHOWN = 2  # examples a kind


def robustness(
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="NAME|FOLDER[:SETTING=VALUE,...]",
            help="A metric, or the folder of a trained one; repeat for more. "
            f"Default: {' and '.join(DEFAULT_METRICS)}.",
            autocompletion=complete_metric,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Judgements whose better translations are damaged: a dataset that `adequa "
            f"datasets` lists, or a file. Default: {DEFAULT_DATA}.",
            autocompletion=complete_dataset,
        ),
    ] = None,
    hypothesis: Annotated[
        list[str] | None,
        typer.Option(
            "-t",
            "--hypothesis",
            metavar="FILE",
            help="Good translations to damage, instead of --data; repeat for more.",
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            "-r", "--reference", metavar="FILE", help="Their reference; repeat for several."
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "-s", "--source", metavar="FILE", help="Their source, for text left untranslated."
        ),
    ] = None,
    lp: Pairs = None,
    split: Split = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this kind of damage; repeat for more."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only the kinds of this group; repeat for more."),
    ] = None,
    spare: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", help="Without the kinds of this group; repeat for more."),
    ] = None,
    severity: Annotated[
        list[float] | None,
        typer.Option(
            metavar="X",
            help="How grave the damage is, above 0 and at most 1; repeat to draw from several. "
            "Default: 0.1, 0.25, 0.5 and 1.",
        ),
    ] = None,
    each: Annotated[int, typer.Option(metavar="N", help="Texts a kind, at most.")] = 100,
    seed: Seed = 0,
    confidence: Confidence = 0.95,
    examples: Annotated[
        bool,
        typer.Option("--examples", help=f"Show {_SHOWN} pairs a kind below, missed ones first."),
    ] = False,
    format_: TableFormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Measure how often metrics score translations above their damaged selves."""
    from adequa.agreement.damaged_pairs import DamageSettings
    from adequa.agreement.robustness import robustness as measure
    from adequa.damage.apply import SEVERITIES

    settings = DamageSettings(
        each=each,
        kinds=tuple(kind or ()),
        groups=tuple(group or ()),
        spared=tuple(spare or ()),
        severities=tuple(severity or SEVERITIES),
        seed=seed,
    )
    settings.chosen()  # a misspelt kind is told before data are read
    selection = selection_of(lp, split)
    format_ = format_ or format_by_ending(output, TableFormat)
    if examples and format_ not in {TableFormat.text, TableFormat.json}:
        raise AdequaError(f"--examples goes with text or json, not with {format_.value}.")
    metrics = metric or list(DEFAULT_METRICS)
    files = [*(hypothesis or ()), *(reference or ()), *filter(None, [source])]
    if output is not None:
        check_output(output, [*files, *filter(None, [data]), *metrics])
    if files:
        _check_files(hypothesis, reference, data, selection)
        texts, name = _parallel(hypothesis or [], reference or [], source)
    else:
        texts, name = _judged(data or DEFAULT_DATA, selection)
    loading = MetricLoader(device, None if no_cache else cache_size)
    with scoring(metrics, loading, quiet=quiet) as (sources, seen):
        found = measure(
            texts, sources, settings, confidence=confidence, dataset=name, progress=seen
        )
    tell_notes(found.notes, quiet=quiet)
    write(_rendered(found, format_, _SHOWN if examples else 0), output)


def _check_files(
    hypotheses: Sequence[str] | None,
    references: Sequence[str] | None,
    data: str | None,
    selection: Selection,
) -> None:
    if data is not None:
        raise AdequaError("Give either judgements with --data, or files with -t and -r; not both.")
    if not hypotheses or not references:
        raise AdequaError("Name the translations with -t and their reference with -r, both.")
    if str(selection):
        raise AdequaError("--lp and --split choose from --data; files of -t and -r have neither.")


def _parallel(
    hypotheses: Sequence[str], references: Sequence[str], source: str | None
) -> tuple[Segments, str]:
    from adequa.io.read import read_parallel
    from adequa.segments import concatenate

    batches = list(read_parallel(hypotheses, references, source))
    if not batches:
        raise AdequaError(f"{hypotheses[0]} holds no translations to damage.")
    return concatenate(batches), ", ".join(Path(path).name for path in hypotheses)


def _judged(data: str, selection: Selection) -> tuple[Segments, str]:
    from adequa.agreement.damaged_pairs import good_texts
    from adequa.agreement.protocol import Protocol
    from adequa.agreement.selection import selected
    from adequa.datasets.load import load_dataset

    judgements, _ = selected(load_dataset(data), selection, Protocol())
    return good_texts(judgements), "|".join(filter(None, (Path(data).name, str(selection))))


def _rendered(found: Robustness, format_: TableFormat, shown: int) -> Iterator[str]:
    from adequa.cli import render_robustness as render

    match format_:
        case TableFormat.json:
            yield from render.as_json(found, shown)
        case TableFormat.tsv:
            yield from render.as_tsv(found)
        case TableFormat.markdown:
            yield from render.as_markdown(found)
        case TableFormat.text:
            yield from render.as_text(found)
            yield from render.as_examples(found, shown)
