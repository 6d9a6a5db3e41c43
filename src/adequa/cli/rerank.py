"""`adequa rerank`: which of several candidates is nearest to the references?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

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
from adequa.cli.options import (
    DeviceOption,
    Output,
    Quiet,
    References,
)
from adequa.cli.output import check_output, write
from adequa.cli.progress import progress, tell_notes
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.io.candidates import CandidateList
    from adequa.scoring.rerank import Ranking


def rerank(
    input_: CandidatesInput,
    reference: References = None,
    metric: MetricOption = "adequa",
    format_: ChoiceFormatOption = ChoiceFormat.jsonl,
    device: DeviceOption = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Put candidate translations in order by their scores against references.

    References are files with a line a sentence, or stand under ref in the input.
    """
    from adequa.io.candidates import read_candidates
    from adequa.io.read import total_bytes
    from adequa.scoring.rerank import rankings

    if output is not None:
        check_output(output, [input_, *(reference or [])])
    loading = MetricLoader(device)
    scorer = loading(metric)
    loading.check_device()
    held: list[CandidateList] = []

    with progress("Ordering", total_bytes([input_]), quiet=quiet) as work:

        def sentences() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
            lists = read_candidates(input_, with_references=not reference, advance=work.read)
            for found, references in _with_references(lists, reference or []):
                held.append(found)
                work.scored(1)
                yield found.candidates, references

        def written() -> Iterator[str]:
            for ranking in rankings(sentences(), scorer):
                yield _written(held.pop(0), ranking, scorer.name, format_)

        write(written(), output)
    tell_notes(scorer.remarks(), quiet=quiet)


def _with_references(
    lists: Iterator[CandidateList], paths: Sequence[str]
) -> Iterator[tuple[CandidateList, tuple[str, ...]]]:
    from adequa.io.text import lines

    if not paths:
        for found in lists:
            if not found.references:
                raise AdequaError(
                    f'{found.place} has no "ref"; name a file of references with -r, or give one.'
                )
            yield found, found.references
        return
    files = zip_longest(*(lines(path) for path in paths))
    for number, (each, several) in enumerate(zip_longest(lists, files), 1):
        if each is None or several is None or None in several:
            raise AdequaError(
                f"Every sentence needs a line of each reference, but sentence {number} has not: "
                "the files are of different lengths."
            )
        blank = next((at for at, text in enumerate(several) if not text.strip()), None)
        if blank is not None:
            raise AdequaError(f"{paths[blank]}, line {number}: the reference is empty.")
        yield each, tuple(several)


def _written(found: CandidateList, ranking: Ranking, name: str, format_: ChoiceFormat) -> str:
    if format_ is ChoiceFormat.text:
        return text_line(found.candidates[ranking.order[0]])
    ordered = [
        {"mt": found.candidates[at], "candidate": at + 1, name: or_null(float(ranking.scores[at]))}
        for at in ranking.order
    ]
    return json_line({"id": found.id, "candidates": ordered})
