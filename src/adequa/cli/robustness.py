"""`adequa robustness`: how often does a metric score a translation above its damaged version?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.inputs import MetricLoader, named_file
from adequa.cli.meta_evaluation import (
    ExcludedSystems,
    ExcludeOutliers,
    ExcludeReferences,
    OutputsFolder,
    dataset_argument,
    load_judgements,
    scoring,
    selection_of,
    write_with_notes,
)
from adequa.cli.options import (
    CACHE_SIZE,
    META_EVALUATION_METRICS,
    CacheSize,
    Confidence,
    DeviceOption,
    Hypotheses,
    NoCache,
    Output,
    Pairs,
    Quiet,
    QuotingName,
    QuotingOption,
    References,
    Seed,
    SourceText,
    Split,
    metrics_option,
)
from adequa.cli.output import FormatOption, check_outputs, chosen_format
from adequa.errors import AdequaError
from adequa.tables import Format

if TYPE_CHECKING:
    from adequa.segments import Segments

DEFAULT_DATASET = "wmt17-da"
_EXAMPLES = 2  # a kind


def robustness(
    dataset: Annotated[
        str | None,
        dataset_argument(
            f" Its better translations are damaged. Default: {DEFAULT_DATASET}, or the files of -t."
        ),
    ] = None,
    metric: Annotated[list[str] | None, metrics_option(META_EVALUATION_METRICS)] = None,
    data: Annotated[
        str | None, typer.Option(hidden=True, help="The dataset, as an option.")
    ] = None,
    hypothesis: Hypotheses = None,
    reference: References = None,
    source: SourceText = None,
    lp: Pairs = None,
    split: Split = None,
    outputs: OutputsFolder = None,
    quoting: QuotingOption = QuotingName.auto,
    exclude_system: ExcludedSystems = None,
    exclude_references: ExcludeReferences = False,
    exclude_outliers: ExcludeOutliers = False,
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
            help="Severity of the damage, above 0 and at most 1; repeat to draw from several. "
            "Default: 0.1, 0.25, 0.5 and 1.",
        ),
    ] = None,
    each: Annotated[
        int, typer.Option(metavar="N", help="Largest number of texts of each kind of damage.")
    ] = 100,
    seed: Seed = 0,
    confidence: Confidence = 0.95,
    examples: Annotated[
        bool,
        typer.Option(
            "--examples", help=f"Show {_EXAMPLES} pairs of each kind below, missed ones first."
        ),
    ] = False,
    format_: FormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Measure how often metrics notice damage to translations."""
    from adequa.agreement.damaged_pairs import DamageSettings
    from adequa.agreement.robustness import robustness as measure_robustness
    from adequa.damage.apply import SEVERITIES

    settings = DamageSettings(
        each=each,
        kinds=tuple(kind or ()),
        groups=tuple(group or ()),
        spared=tuple(spare or ()),
        severities=tuple(severity or SEVERITIES),
        seed=seed,
    )
    settings.chosen()  # a misspelt kind is refused before data are read
    writing = chosen_format(format_, output)
    if examples and writing not in {Format.text, Format.json}:
        raise AdequaError(f"--examples goes with text or json, not with {writing.value}.")
    if dataset is not None and data is not None:
        raise AdequaError("Name one dataset, as DATASET or with --data; not both.")
    selection = selection_of(lp, split, exclude_system, exclude_references, exclude_outliers)
    dataset, metrics = dataset or data, metric or META_EVALUATION_METRICS
    texts = [named_file(each) for each in hypothesis or ()]
    files = [
        *(path for _, path in texts),
        *(reference or ()),
        *([] if source is None else [source]),
    ]
    if files and dataset is not None:
        raise AdequaError("Give either a DATASET, or files with -t and -r; not both.")
    if files and (str(selection) or outputs):
        raise AdequaError("--lp, --split and the like choose from a DATASET, not from files of -t.")
    check_outputs({"-o": output}, [*files, *metrics, *([] if dataset is None else [dataset])])
    title = ", ".join(name or Path(path).name for name, path in texts)
    loaded = (
        _parallel([path for _, path in texts], reference or [], source)
        if files
        else load_judgements(dataset or DEFAULT_DATASET, outputs, quoting)
    )
    loader = MetricLoader(device, None if no_cache else cache_size)
    with scoring(metrics, loader, quiet=quiet) as (scorers, work):
        result = measure_robustness(
            loaded,
            scorers,
            settings,
            selection=selection,
            confidence=confidence,
            dataset=title,
            progress=work,
        )
    result = result.with_examples(_EXAMPLES if examples else 0)
    write_with_notes(result, result.notes, writing, output, quiet=quiet)


def _parallel(hypotheses: Sequence[str], references: Sequence[str], source: str | None) -> Segments:
    """The translations of parallel files, all together."""
    from adequa.io.read import read_parallel
    from adequa.segments import concatenate

    if not hypotheses or not references:
        raise AdequaError("Name the translations with -t and their reference with -r, both.")
    batches = list(read_parallel(hypotheses, references, source))
    if not batches:
        raise AdequaError(f"{hypotheses[0]} holds no translations to damage.")
    return concatenate(batches)
