"""`adequa gate`: may this system replace the one in use? For continuous integration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.compare import ComparedMetrics, Report, compare_files, name_of_test_set
from adequa.cli.inputs import MetricLoader, batch_reader
from adequa.cli.options import (
    CACHE_SIZE,
    CacheSize,
    Columns,
    DeviceOption,
    Input,
    Language,
    NoCache,
    Output,
    Quiet,
    QuotingName,
    QuotingOption,
    References,
    SourceText,
)
from adequa.cli.output import (
    FormatOption,
    check_outputs,
    chosen_format,
    print_notes,
    write,
    write_result,
)
from adequa.errors import AdequaError
from adequa.metrics import DEFAULT_METRICS
from adequa.statistics.settings import ALPHA, SEED, SWAPS
from adequa.tables import Format

if TYPE_CHECKING:
    from adequa.comparison.gate import GateRules


def gate(
    baseline: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Output of the system in use; its column if there is an -i file.",
            show_default=False,
        ),
    ],
    candidate: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Output of the new system; its column if there is an -i file.",
            show_default=False,
        ),
    ],
    reference: References = None,
    source: SourceText = None,
    input_: Input = None,
    column: Columns = None,
    quoting: QuotingOption = QuotingName.auto,
    language: Language = None,
    metric: ComparedMetrics = None,
    max_drop: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Drop that is allowed, in points of the metric. Default: 0."
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(metavar="X", help=f"Significance level of the test. Default: {ALPHA}."),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Rules in TOML, in place of -m, --max-drop, --alpha."),
    ] = None,
    swaps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help=f"Number of swaps of the test. Default: {SWAPS}, and more if rules need them.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help=f"Random seed. Default: {SEED}."),
    ] = None,
    json_: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Also write the result as JSON.")
    ] = None,
    junit: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write the result as JUnit XML.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write a summary in Markdown.")
    ] = None,
    report: Report = None,
    format_: FormatOption = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Fail if a new system is significantly worse than the old one.

    A regression is a drop beyond --max-drop that is significant at --alpha. Exit code 1: a
    regression; 0: none; 2: bad input. Without --format and -o, the verdict is one line.
    """
    from adequa.comparison.gate import apply_rules
    from adequa.metrics.base import warning_notes

    chosen = chosen_format(format_, output)
    # Without rules and -m, the language of the files decides which metrics there are.
    if rules is not None and metric:
        raise AdequaError(f"-m and --rules cannot be combined; write it into {rules}.")
    gate_rules = _rules(rules, metric or DEFAULT_METRICS, max_drop, alpha, swaps, seed)
    metrics = [rule.metric for rule in gate_rules.rules] if metric or rules else None
    systems = [baseline, candidate]
    read_batches, paths = batch_reader(
        "gate",
        systems if input_ is None else [],
        reference or [],
        source,
        input_,
        column or [],
        quoting=quoting,
        language=language,
        systems=None if input_ is None else systems,
    )
    inputs = [*paths, *(metrics or []), *([] if rules is None else [rules])]
    files = {"--json": json_, "--junit": junit, "--markdown": markdown, "--report": report}
    check_outputs({**files, "-o": output}, inputs)
    loading = MetricLoader(device, None if no_cache else cache_size)

    def rules_of(names: Sequence[str]) -> GateRules:
        return gate_rules if metrics else _rules(rules, names, max_drop, alpha, swaps, seed)

    comparison, sources = compare_files(
        read_batches,
        paths,
        metrics,
        lambda names: rules_of(names).settings(),
        loading,
        language=language,
        explain=0 if report is None else None,
        quiet=quiet,
    )
    names = [each.name for each in comparison.metrics]
    result = apply_rules(comparison, rules_of(names), sources)
    print_notes((*read_batches.notes(), *result.notes), quiet=quiet)
    if json_ is not None:
        write_result(result, Format.json, json_)
    if junit is not None:
        write([result.to_junit()], junit)
    if markdown is not None:
        write_result(result, Format.markdown, markdown)
    if report is not None:
        named = replace(comparison, test_set=name_of_test_set(reference or [], source))
        write([named.to_html()], report)
    if format_ is not None or output is not None:
        write_result(result, chosen, output)
    if format_ is None or output is not None:
        warnings = warning_notes(check.warning for check in result.checks)
        errors = map(str, result.errors)
        write((f"{line}\n" for line in (result.sentence, *warnings, *errors)), None)
    if not result.passed:
        raise typer.Exit(1)


def _rules(
    path: str | None,
    metrics: Sequence[str],
    max_drop: float | None,
    alpha: float | None,
    swaps: int | None,
    seed: int | None,
) -> GateRules:
    from adequa.comparison.gate import read_rules, same_rules

    if path is None:
        return same_rules(
            metrics,
            max_drop or 0.0,
            ALPHA if alpha is None else alpha,
            swaps=swaps,
            seed=SEED if seed is None else seed,
        )
    options = {"--max-drop": max_drop, "--alpha": alpha}
    options |= {"--swaps": swaps, "--seed": seed}
    for option, value in options.items():
        if value is not None:
            raise AdequaError(f"{option} and --rules cannot be combined; write it into {path}.")
    return read_rules(path)
