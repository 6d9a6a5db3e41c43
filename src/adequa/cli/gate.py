"""`adequa gate`: may this system replace the one in use? For continuous integration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.comparing import (
    ComparedMetrics,
    Report,
    check_outputs,
    compare_files,
)
from adequa.cli.inputs import MetricLoader, reader
from adequa.cli.options import (
    CACHE_SIZE,
    CacheSize,
    DeviceOption,
    NoCache,
    Quiet,
    References,
    SourceText,
)
from adequa.cli.output import write
from adequa.cli.progress import tell_notes
from adequa.comparison.defaults import ALPHA, METRICS, SEED, SWAPS
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.comparison.gate_rules import GateRules


def gate(
    baseline: Annotated[
        str, typer.Option(metavar="FILE", help="Output of the system in use.", show_default=False)
    ],
    candidate: Annotated[
        str, typer.Option(metavar="FILE", help="Output of the new system.", show_default=False)
    ],
    reference: References = None,
    source: SourceText = None,
    metric: ComparedMetrics = None,
    max_drop: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Drop that is allowed, in points of the metric. Default: 0."
        ),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(metavar="X", help=f"Level of the test. Default: {ALPHA}.")
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Rules in TOML, in place of -m, --max-drop, --alpha."),
    ] = None,
    swaps: Annotated[
        int | None,
        typer.Option(
            metavar="N", help=f"Of the test. Default: {SWAPS}, and more if rules need them."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help=f"Of all random draws. Default: {SEED}.")
    ] = None,
    json_: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the verdict as JSON.")
    ] = None,
    junit: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write it as JUnit XML.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a summary in Markdown.")
    ] = None,
    report: Report = None,
    device: DeviceOption = None,
    no_cache: NoCache = False,
    cache_size: CacheSize = CACHE_SIZE,
    quiet: Quiet = False,
) -> None:
    """Fail where a new system is worse than the one in use: exit code 1 for a regression.

    A regression is a drop beyond --max-drop that is significant at --alpha. Exit code 0: none;
    2: bad input.
    """
    from adequa.comparison.gate import judged
    from adequa.comparison.reach import unreachable

    asked = _rules(rules, metric, max_drop, alpha, swaps, seed)
    metrics = [rule.metric for rule in asked.rules]
    read, paths = reader("gate", [baseline, candidate], reference or [], source, None, [])
    inputs = [*paths, *metrics, *([] if rules is None else [rules])]
    results = {"--json": json_, "--junit": junit, "--markdown": markdown, "--report": report}
    check_outputs(results, inputs)
    loading = MetricLoader(device, None if no_cache else cache_size)
    found = compare_files(read, paths, metrics, asked.settings(), loading, quiet=quiet)
    verdict = judged(found, asked)
    two_sided = unreachable(found.metrics, found.systems, found.settings)
    general = [note for note in found.notes if note not in two_sided]  # this test has one side
    tell_notes([*general, *verdict.notes], quiet=quiet)

    from adequa.cli import render_gate as render

    for output, rendered in (
        (json_, render.as_json),
        (junit, render.as_junit),
        (markdown, render.as_markdown),
    ):
        if output is not None:
            write(rendered(verdict), output)
    if report is not None:
        write([found.to_html()], report)
    write([f"{verdict.sentence}\n"], None)
    if not verdict.passed:
        raise typer.Exit(1)


def _rules(
    path: str | None,
    metrics: list[str] | None,
    max_drop: float | None,
    alpha: float | None,
    swaps: int | None,
    seed: int | None,
) -> GateRules:
    from adequa.comparison.gate_rules import read_rules, same_rules

    if path is None:
        return same_rules(
            metrics or METRICS,
            max_drop or 0.0,
            ALPHA if alpha is None else alpha,
            swaps=swaps,
            seed=SEED if seed is None else seed,
        )
    given = {"-m": metrics, "--max-drop": max_drop, "--alpha": alpha}
    given |= {"--swaps": swaps, "--seed": seed}
    for option, value in given.items():
        if value is not None:
            raise AdequaError(f"{option} and --rules cannot be combined; write it into {path}.")
    return read_rules(path)
