"""`adequa mbr`: which of several candidates do the others agree with most?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from adequa.cli.choosing import (
    CandidatesInput,
    ChoiceFormat,
    ChoiceFormatOption,
    MetricOption,
    json_line,
    or_null,
    text_line,
)
from adequa.cli.inputs import MetricLoader
from adequa.cli.options import DeviceOption, Output, Quiet
from adequa.cli.output import check_output, write
from adequa.cli.progress import counted, progress, tell_notes

if TYPE_CHECKING:
    from adequa.io.candidates import CandidateList
    from adequa.scoring.mbr import Choice, PruningLoss


def mbr(
    input_: CandidatesInput,
    metric: MetricOption = "adequa",
    keep: Annotated[
        int | None,
        typer.Option("--keep", min=1, metavar="K", help="Score only the K best by --keep-by."),
    ] = None,
    keep_by: Annotated[
        str, typer.Option("--keep-by", metavar="NAME", help="The cheaper metric of --keep.")
    ] = "chrf",
    check_every: Annotated[
        int,
        typer.Option(
            "--check-every",
            min=0,
            metavar="N",
            help="Of --keep: every Nth sentence is chosen for in full too, to tell what it costs.",
        ),
    ] = 20,
    format_: ChoiceFormatOption = ChoiceFormat.jsonl,
    device: DeviceOption = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Choose among candidate translations by minimum Bayes risk.

    Each candidate is scored against the others of its sentence as if they were references; the one
    with the best mean is chosen: the highest, or the lowest where lower scores are better.
    """
    from adequa.io.candidates import read_candidates
    from adequa.io.read import total_bytes
    from adequa.scoring.mbr import Pruning, PruningLoss, choices

    if output is not None:
        check_output(output, [input_])
    loading = MetricLoader(device)
    scorer = loading(metric)
    loading.check_device()
    pruning = None if keep is None else Pruning(keep, loading(keep_by), check_every)
    loss = PruningLoss()
    held: list[CandidateList] = []

    with progress("Choosing", total_bytes([input_]), quiet=quiet) as work:

        def texts() -> Iterator[tuple[str, ...]]:
            for found in read_candidates(input_, with_references=False, advance=work.read):
                held.append(found)
                work.scored(1)
                yield found.candidates

        def written() -> Iterator[str]:
            for choice in choices(texts(), scorer, pruning, loss):
                yield _written(held.pop(0), choice, scorer.name, format_)

        write(written(), output)
    notes = [] if pruning is None else [_told(loss, pruning.keep, scorer.name)]
    tell_notes([*notes, *scorer.remarks()], quiet=quiet)


def _written(found: CandidateList, choice: Choice, name: str, format_: ChoiceFormat) -> str:
    text = found.candidates[choice.index]
    if format_ is ChoiceFormat.text:
        return text_line(text)
    utility = or_null(choice.utility)
    return json_line({"id": found.id, "mt": text, "candidate": choice.index + 1, name: utility})


def _told(loss: PruningLoss, keep: int, name: str) -> str:
    kept = f"scoring {counted(keep, 'candidate')} a sentence"
    if not loss.checked:
        return f"{kept}: what that costs was not checked"
    return (
        f"{kept}, as checked in {counted(loss.checked, 'sentence')}: the choice is that of all "
        f"candidates in {loss.same:,}, and {loss.mean:.4g} of {name} is lost on the average, "
        f"{loss.most:.4g} at the most"
    )
