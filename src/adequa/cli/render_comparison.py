"""A comparison as text, JSON, TSV or Markdown: systems, pairs, where they differ, and examples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import isnan

from adequa.cli.output import aligned
from adequa.comparison.as_tables import pairs_as_tsv
from adequa.comparison.examples import disagreements, largest_gains
from adequa.comparison.results import (
    Bucket,
    BucketScores,
    Comparison,
    Dimension,
    MetricResult,
    PairResult,
)
from adequa.comparison.word_differences import excerpt, first_difference, marked
from adequa.comparison.wording import probability, signed, unsigned
from adequa.errors import printable

MISSING = "–"
SURE = "*"
_ALL_PAIRS = 4  # systems that all pairs are shown of; of more, pairs with the baseline
_MOST_BUCKETS = 10  # of one dimension: the documents that differ most

# Rows of cells, header first, and how many of the columns are words.
_Table = tuple[list[list[str]], int]


def as_text(found: Comparison, examples: int) -> Iterator[str]:
    """Aligned tables, examples, and what stands behind the numbers."""
    systems, segments = len(found.systems), len(found.outputs)
    yield f"{systems} systems, {segments:,} segments; baseline: {printable(found.systems[0])}\n\n"
    for table, words in _tables(found):
        right = range(words, len(table[0]))
        yield from aligned(lambda table=table: table, right=right)  # type: ignore[misc]  # the default pins the table
        yield "\n"
    yield from _examples(found, examples)
    for line in _legend(found):
        yield f"{printable(line)}\n"


def as_markdown(found: Comparison, examples: int) -> Iterator[str]:
    """The same tables in Markdown, without examples."""
    del examples
    for place, table in enumerate(_tables(found)):
        yield "\n" if place else ""
        yield from markdown_table(*table)


def markdown_table(rows: Sequence[Sequence[str]], words: int) -> Iterator[str]:
    """A table in Markdown; so many of its columns are words, and the others numbers."""
    header, *others = rows
    aligns = ["---"] * words + ["---:"] * (len(header) - words)
    for row in (header, aligns, *others):
        cells = (
            printable(cell).replace("\\", "\\\\").replace("|", r"\|").replace("<", "&lt;")
            for cell in row
        )
        yield "| " + " | ".join(cells) + " |\n"


def as_tsv(found: Comparison, examples: int) -> Iterator[str]:
    """A row a metric and pair of systems, a header on top."""
    del examples
    yield from pairs_as_tsv(found)


def as_json(found: Comparison, *, segments: bool) -> Iterator[str]:
    """The stable JSON shape of `Comparison.to_dict`."""
    content = found.to_dict(segments=segments)
    yield json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def focus(found: Comparison) -> int:
    """The system that is shown against the baseline: the best of the others by the first metric."""
    return next(int(place) for place in found.metrics[0].order if place)


def _tables(found: Comparison) -> Iterator[_Table]:
    yield _systems(found)
    yield _pairs(found)
    if found.dimensions and any(metric.segments is not None for metric in found.metrics):
        yield _where(found)


def _systems(found: Comparison) -> _Table:
    percent = f"{100 * found.settings.confidence:g}% interval"
    rows = [["metric", "rank", "system", "score", percent]]
    for metric in found.metrics:
        arrow = "↑" if metric.higher_is_better else "↓"
        for place in metric.order.tolist():
            score = unsigned(metric.scores[place], metric.decimals)
            bounds = _interval(metric.low[place], metric.high[place], metric.decimals)
            name, rank = f"{metric.name} {arrow}", str(metric.ranks[place])
            rows.append([name, rank, found.systems[place], score, bounds])
    return rows, 3


def _pairs(found: Comparison) -> _Table:
    people = any(pair.told for metric in found.metrics for pair in metric.pairs)
    percent = f"{100 * found.settings.confidence:g}% interval"
    header = ["metric", "systems", "difference", percent, "p", "bootstrap p", "effect"]
    rows = [[*header, "win/tie/loss", *(["people agree"] if people else [])]]
    for metric in found.metrics:
        for pair in metric.pairs:
            if len(found.systems) > _ALL_PAIRS and pair.first:
                continue
            cells = _pair_cells(metric, pair, found)
            rows.append([*cells, *([_people(pair)] if people else [])])
    return rows, 2


def _pair_cells(metric: MetricResult, pair: PairResult, found: Comparison) -> list[str]:
    names = f"{found.systems[pair.second]} – {found.systems[pair.first]}"
    counted = f"{pair.wins}/{pair.ties}/{pair.losses}"
    return [
        metric.name,
        names,
        signed(pair.difference, metric.decimals),
        _interval(pair.low, pair.high, metric.decimals, with_sign=True),
        probability(pair.p_adjusted, found.settings.alpha) + (SURE if pair.significant else ""),
        probability(pair.p_bootstrap_adjusted, found.settings.alpha),
        MISSING if isnan(pair.effect) else signed(pair.effect, 2),
        MISSING if isnan(pair.p) else counted,
    ]


def _people(pair: PairResult) -> str:
    if pair.told is None:
        return MISSING
    return f"{100 * pair.told.share:.0f}% of {pair.told.pairs:,}"


def _where(found: Comparison) -> _Table:
    """Differences of one system from the baseline, part by part."""
    place = focus(found)
    named = f"{found.systems[place]} – {found.systems[0]}"
    known = [number for number, metric in enumerate(found.metrics) if metric.segments is not None]
    header = [named, "", "segments", *(found.metrics[number].name for number in known)]
    rows = [header]
    for dimension in found.dimensions:
        for bucket in _shown(dimension, place, known[0]):
            cells = [
                _part_cell(part, place, found.metrics[number].decimals)
                for number, part in enumerate(bucket.metrics)
                if part is not None
            ]
            rows.append([dimension.title, bucket.label, f"{len(bucket.rows):,}", *cells])
    return rows, 2


def _part_cell(part: BucketScores, place: int, decimals: int) -> str:
    """The difference of a system from the baseline on a part."""
    sure = part.low[place] > 0 or part.high[place] < 0
    return signed(float(part.scores[place] - part.scores[0]), decimals) + (SURE if sure else " ")


def _shown(dimension: Dimension, place: int, metric: int) -> list[Bucket]:
    """The buckets of a dimension; of very many, those that differ most."""
    if len(dimension.buckets) <= _MOST_BUCKETS:
        return list(dimension.buckets)

    def size(bucket: Bucket) -> float:
        part = bucket.metrics[metric]
        return 0.0 if part is None else -abs(float(part.scores[place] - part.scores[0]))

    return sorted(dimension.buckets, key=size)[:_MOST_BUCKETS]


def _examples(found: Comparison, count: int) -> Iterator[str]:
    """The segments on which two systems differ most, and on which metrics disagree."""
    place = focus(found)
    metric = next((each for each in found.metrics if each.segments is not None), None)
    if not count or metric is None:
        return
    first, second = found.systems[0], found.systems[place]
    gains, losses = (largest_gains(metric, *pair, count) for pair in ((0, place), (place, 0)))
    for better, rows in ((second, gains), (first, losses)):
        if rows:
            yield f"{metric.name}: {printable(better)} is better by most in\n"
        for row in rows:
            yield from _example(found, metric, row, place)
            yield "\n"
    told = disagreements(found.metrics, 0, place, count)
    if told:
        yield "metrics disagree most in\n"
    for each in told:
        yield from _example(found, metric, each.row, place)
        yield f"    {each.for_second} is for {printable(second)}, "
        yield f"{each.for_first} for {printable(first)}\n\n"


def _example(found: Comparison, metric: MetricResult, row: int, place: int) -> Iterator[str]:
    """A segment, with the words that the reference does not have in brackets."""
    outputs, scores = found.outputs, metric.segments
    reference = outputs.references[row][0]
    yield f"  segment {row + 1}\n"
    texts = [outputs.hypotheses[system][row] for system in (0, place)]
    places = (first_difference(reference, text) for text in texts)
    start = min((each for each in places if each is not None), default=0)
    yield f"    reference: {printable(excerpt(reference, start))}\n"
    for system, text in zip((0, place), texts, strict=True):
        score = "" if scores is None else f" ({unsigned(scores[system][row], metric.decimals)})"
        first = first_difference(text, reference)
        shown = excerpt(marked(text, reference), start if first is None else first)
        yield f"    {printable(found.systems[system])}{score}: {printable(shown)}\n"


def _legend(found: Comparison) -> Iterator[str]:
    settings = found.settings
    yield "difference: of the first system less the second; in brackets: not in the reference"
    yield (
        f"p: approximate randomisation, {settings.swap_count:,} swaps, Holm's correction; "
        f"{SURE} p ≤ {settings.alpha:g}; {settings.meaning_of_ranks}"
    )
    yield (
        f"intervals, bootstrap p: {settings.resamples:,} resamples of segments; by part: "
        f"{SURE} where the interval leaves out 0, without correction for many parts"
    )
    judged = {pair.told.data for metric in found.metrics for pair in metric.pairs if pair.told}
    if judged:
        yield (
            "people agree: how often they preferred the better of two whole systems "
            f"({', '.join(sorted(judged))}) whose scores differ by as much"
        )
    yield str(settings)
    for metric in found.metrics:
        yield metric.signature


def _interval(low: float, high: float, decimals: int, *, with_sign: bool = False) -> str:
    if isnan(low):
        return MISSING
    shown = signed if with_sign else unsigned
    return " – ".join(shown(bound, decimals) for bound in (low, high))
