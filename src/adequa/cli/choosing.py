"""`adequa rerank` and `adequa mbr`: which of several candidate translations is the best?"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from adequa.cli.inputs import MetricLoader, check_language
from adequa.cli.options import (
    DeviceOption,
    Language,
    Output,
    Quiet,
    References,
    complete_metric,
)
from adequa.cli.output import (
    ReadAhead,
    check_outputs,
    one_of,
    print_notes,
    progress,
    write,
    write_result,
)
from adequa.errors import AdequaError
from adequa.tables import TABLE_FORMATS, Format, Result, by_ending, ending

if TYPE_CHECKING:
    from adequa.io.candidates import CandidateList
    from adequa.languages import TargetLanguage
    from adequa.metrics.base import Metric
    from adequa.progress import Progress
    from adequa.scoring.mbr import Choice
    from adequa.scoring.rerank import RankedCandidates

    Chosen = TypeVar("Chosen", RankedCandidates, Choice)

CandidatesInput = Annotated[
    str,
    typer.Option(
        "-i",
        "--input",
        metavar="FILE",
        help="JSONL with a sentence per line and a list under candidates, or with a candidate per "
        "line under mt and the id of its sentence; optionally with ref and src.",
    ),
]
SentenceSources = Annotated[
    str | None,
    typer.Option(
        "-s",
        "--source",
        metavar="FILE",
        help="Source sentences, one per line, for metrics that read them. Default: src of the "
        "input.",
    ),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "-m",
        "--metric",
        metavar="NAME|FOLDER[:SETTING=VALUE,...]",
        help="Metric to choose by. Default: adequa (adequa-fast is faster); chrf for other "
        "languages than English.",
        autocompletion=complete_metric,
    ),
]


# The formats of all results, of which text is here the best candidate of each sentence alone.
TABLE, JSONL = "table", "jsonl"
CHOICE_FORMATS = (TABLE, JSONL, *(each.value for each in TABLE_FORMATS))
ChoiceFormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"Output format: {', '.join(CHOICE_FORMATS)}; text is the best candidate of each "
        "sentence alone. Default: by the ending of -o; else a table on a terminal, and jsonl "
        "elsewhere.",
    ),
]


def rerank(
    input_: CandidatesInput,
    reference: References = None,
    source: SentenceSources = None,
    language: Language = None,
    metric: MetricOption = None,
    format_: ChoiceFormatOption = None,
    device: DeviceOption = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Order candidate translations by their scores.

    References are files with a line per sentence, or are under ref in the input. Metrics that need
    no reference order candidates by their source: -s, or src in the input.
    """
    from adequa.io.candidates import read_candidates
    from adequa.scoring.rerank import Reranking, candidate_language, ranked_candidates

    chosen = _chosen_format(format_, output)
    check_outputs({"-o": output}, [input_, *(reference or []), *filter(None, [source])])
    check_language(language)
    loader = MetricLoader(device)
    named = None if metric is None else loader(metric)
    with progress("Scoring", None, quiet=quiet) as work:
        ahead = ReadAhead([input_], work)
        lists = read_candidates(
            input_,
            with_references=not reference,
            with_sources=source is None,
            advance=ahead.bytes_read,
        )
        lists = ahead.items(_with_files(lists, reference or [], source), _candidate_count)
        target, lists = candidate_language(lists, language)
        scorer = _scorer(named, loader, target)
        ranked = ranked_candidates(lists, scorer)
        _write(
            _report_progress(ranked, work),
            chosen,
            output,
            scorer.name,
            lambda sentences: Reranking(sentences, scorer, target),
        )
    print_notes(_notes(scorer, target, named), quiet=quiet)


def mbr(
    input_: CandidatesInput,
    source: SentenceSources = None,
    language: Language = None,
    metric: MetricOption = None,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep", min=1, metavar="K", help="Score only the K best candidates by --keep-by."
        ),
    ] = None,
    keep_by: Annotated[
        str, typer.Option("--keep-by", metavar="NAME", help="Cheaper metric for --keep.")
    ] = "chrf",
    check_every: Annotated[
        int,
        typer.Option(
            "--check-every",
            min=0,
            metavar="N",
            help="With --keep, also decide every Nth sentence in full, to report what pruning "
            "costs; 0 for never.",
        ),
    ] = 20,
    format_: ChoiceFormatOption = None,
    device: DeviceOption = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Choose among candidate translations by minimum Bayes risk.

    Each candidate is scored against the others of its sentence as if they were references, and the
    one with the best mean is chosen. Metrics that also read sources get them.
    """
    from adequa.io.candidates import read_candidates
    from adequa.scoring.mbr import Choices, Pruning, choices
    from adequa.scoring.rerank import candidate_language

    chosen = _chosen_format(format_, output)
    check_outputs({"-o": output}, [input_, *filter(None, [source])])
    check_language(language)
    loader = MetricLoader(device)
    named = None if metric is None else loader(metric)
    cheaper = None if keep is None else loader(keep_by)
    with progress("Scoring", None, quiet=quiet) as work:
        ahead = ReadAhead([input_], work)
        lists = read_candidates(
            input_,
            with_references=False,
            with_sources=source is None,
            advance=ahead.bytes_read,
        )
        lists = ahead.items(_with_files(lists, [], source), _candidate_count)
        target, lists = candidate_language(lists, language)
        scorer = _scorer(named, loader, target)
        pruning = None
        if keep is not None and cheaper is not None:
            pruning = Pruning(keep, cheaper.for_language(target.code), check_every)
        _write(
            _report_progress(choices(lists, scorer, pruning), work),
            chosen,
            output,
            scorer.name,
            lambda sentences: Choices(sentences, scorer, pruning, target),
        )
    notes = [] if pruning is None else [pruning.summary(scorer.name)]
    print_notes([*notes, *_notes(scorer, target, named)], quiet=quiet)


def _scorer(named: Metric | None, loader: MetricLoader, target: TargetLanguage) -> Metric:
    """The metric that chooses among candidates of a language: the named one, or the default."""
    if named is None:
        named = loader("adequa" if target.code in {None, "en"} else "chrf")
    loader.check_device()
    return named.for_language(target.code)


def _notes(scorer: Metric, target: TargetLanguage, named: Metric | None) -> Iterator[str]:
    """The language of candidates, a warning where the metric does not know it, and remarks."""
    from adequa.metrics.language import language_notes, remaining_remarks

    warning = scorer.language_warning(target)
    yield from language_notes(target, ())
    if named is None and target.code not in {None, "en"}:
        yield f"{scorer.name} chooses: adequa knows English alone."
    yield from filter(None, [warning])
    yield from remaining_remarks(scorer.remarks(), [warning], ())


def _chosen_format(format_: str | None, output: str | None) -> str:
    """The format of --format, else of the ending of -o, else what standard output is for."""
    if format_ is not None:
        return one_of("--format", format_, CHOICE_FORMATS)
    if output is None:
        return TABLE if on_terminal() else JSONL
    endings: dict[str, str] = {ending(each): each.value for each in TABLE_FORMATS}
    return by_ending(output, {".jsonl": JSONL, **endings}, JSONL)


def on_terminal() -> bool:
    """Whether standard output is read by a person."""
    return sys.stdout.isatty()


def _with_files(
    lists: Iterator[CandidateList], references: Sequence[str], source: str | None
) -> Iterator[CandidateList]:
    """Lists of candidates with the references and sources of files, where there are files."""
    from adequa.io.text import lines

    paths = [*references, *filter(None, [source])]
    if not paths:
        yield from lists
        return
    files = zip_longest(*(lines(path) for path in paths))
    for number, (candidates, texts) in enumerate(zip_longest(lists, files), 1):
        if candidates is None or texts is None or None in texts:
            kinds = [*(["reference"] if references else []), *(["source"] if source else [])]
            raise AdequaError(
                f"Every sentence needs a line of each {' and '.join(kinds)}, but sentence {number} "
                "has not: the files are of different lengths."
            )
        for index, (path, text) in enumerate(zip(paths, texts, strict=True)):
            if not text.strip():
                kind = "reference" if index < len(references) else "source"
                raise AdequaError(f"{path}, line {number}: the {kind} is empty.")
        count = len(references)
        yield replace(
            candidates,
            references=tuple(texts[:count]) or candidates.references,
            source=candidates.source if source is None else texts[count],
        )


def _candidate_count(candidates: CandidateList) -> int:
    return len(candidates.candidates)


def _report_progress(sentences: Iterator[Chosen], work: Progress) -> Iterator[Chosen]:
    for each in sentences:
        work.texts_scored(len(each.candidates))
        yield each


def _write(
    sentences: Iterator[Chosen],
    format_: str,
    output: str | None,
    metric: str,
    result: Callable[[tuple[Chosen, ...]], Result],
) -> None:
    """Write sentences as they come where the format allows it, else as a result."""
    if format_ == JSONL:
        rows = (json.dumps(each.to_dict(metric), ensure_ascii=False) for each in sentences)
        write((f"{row}\n" for row in rows), output)
    elif format_ == Format.text.value:
        write((text_line(each.best) for each in sentences), output)
    else:
        as_format = Format.text if format_ == TABLE else Format(format_)
        write_result(result(tuple(sentences)), as_format, output)


def text_line(text: str) -> str:
    """A candidate on one line: line breaks inside it become spaces.

    >>> text_line("a\\r\\nb\\u2028c\\n")
    'a b\\u2028c\\n'
    """
    return re.sub(r"\r\n|\r|\n", " ", text.rstrip("\r\n")) + "\n"
