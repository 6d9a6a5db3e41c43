"""A comparison for readers: tables, examples with the words that differ, and a legend."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from math import isfinite, isnan
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from adequa.comparison.explained import loss_tables
from adequa.comparison.results import (
    Bucket,
    BucketScores,
    Comparison,
    Dimension,
    MetricComparison,
    SystemPair,
)
from adequa.errors import printable
from adequa.metrics.base import warning_notes
from adequa.statistics.settings import INTERVALS_AND_RANKS
from adequa.tables import MISSING, WARNING, Column, Table, decimal, interval

SIGNIFICANT = "*"
_ALL_PAIRS = 4  # systems up to which all pairs are shown; of more, pairs with the baseline
_MAX_BUCKETS = 10  # of one dimension: the documents that differ most
_P_DECIMALS = 4
_SMALLEST_P = 10**-_P_DECIMALS
_MAX_DECIMALS = 17  # enough to distinguish any two numbers
_EXCERPT = 300  # characters of a text shown around its first difference
_EXCERPT_BEFORE = 60  # of them before it

# Scripts that are written without spaces between words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_COMBINING = (range(0x300, 0x1F000), range(0xE0100, 0xE01F0))  # code points that may combine


def comparison_text(comparison: Comparison, examples: int) -> Iterator[str]:
    """The verdict, aligned tables, examples, and the legend."""
    yield f"{printable(comparison.verdict())}\n\n"
    for table in _tables(comparison, aligned=True):
        yield table.to_text()
        yield "\n"
    yield from _examples(comparison, examples)
    for line in _legend(comparison):
        yield f"{printable(line)}\n"


def comparison_tables(comparison: Comparison) -> tuple[Table, ...]:
    """Systems, pairs, and differences on parts of the segments; the last has the legend."""
    *first, last = _tables(comparison)
    return (*first, replace(last, notes=(*last.notes, *_legend(comparison))))


def _tables(comparison: Comparison, *, aligned: bool = False) -> list[Table]:
    """All tables without the legend.

    `aligned` pads differences without a mark of significance, so that plain text aligns them.
    """
    tables = [_system_table(comparison), _pair_table(comparison)]
    has_segments = any(metric.segments is not None for metric in comparison.metrics)
    if comparison.dimensions and has_segments:
        tables.append(_bucket_table(comparison, " " if aligned else ""))
    return [*tables, *loss_tables(comparison)]


def _right(name: str, heading: str | None = None) -> Column:
    """A column of numbers that are formatted already."""
    return Column(name, align="right", heading=heading)


def _interval_heading(comparison: Comparison) -> str:
    return f"{100 * comparison.settings.confidence:g}% interval"


def _system_table(comparison: Comparison) -> Table:
    systems = comparison.systems
    rows = [
        (
            f"{metric.name} {'↑' if metric.higher_is_better else '↓'}",
            str(metric.ranks[index]),
            systems[index],
            decimal(metric.scores[index], metric.decimals) + _mark(metric),
            interval(metric.low[index], metric.high[index], metric.decimals),
        )
        for metric in comparison.metrics
        for index in metric.order.tolist()
    ]
    columns = (
        *map(Column, ("metric", "rank", "system")),
        _right("score"),
        _right("interval", _interval_heading(comparison)),
    )
    title = f"{len(systems)} systems, {len(comparison.outputs):,} segments; baseline: {systems[0]}"
    return Table(columns, rows, title, warning_notes(each.warning for each in comparison.metrics))


def _mark(metric: MetricComparison) -> str:
    """The mark of numbers that mean little, which a note explains."""
    return "" if metric.warning is None else WARNING


def _pair_table(comparison: Comparison) -> Table:
    pairs = [
        (metric, pair)
        for metric in comparison.metrics
        for pair in metric.pairs
        if len(comparison.systems) <= _ALL_PAIRS or not pair.first
    ]
    people = any(pair.people_if_significant for _, pair in pairs)
    columns = (
        *map(Column, ("metric", "systems")),
        _right("difference"),
        _right("interval", _interval_heading(comparison)),
        *map(_right, ("p", "bootstrap p", "effect", "win/tie/loss")),
        *([_right("people agree")] if people else []),
    )
    rows = [
        (*_pair_cells(metric, pair, comparison), *([_people_cell(pair)] if people else []))
        for metric, pair in pairs
    ]
    return Table(columns, rows)


def _pair_cells(metric: MetricComparison, pair: SystemPair, comparison: Comparison) -> list[str]:
    systems, alpha = comparison.systems, comparison.settings.alpha
    bounds = (signed(pair.low, metric.decimals), signed(pair.high, metric.decimals))
    return [
        metric.name,
        f"{systems[pair.second]} – {systems[pair.first]}",
        signed(pair.difference, metric.decimals) + _mark(metric),
        MISSING if isnan(pair.low) else " – ".join(bounds),
        probability(pair.p_adjusted, alpha) + (SIGNIFICANT if pair.significant else ""),
        probability(pair.p_bootstrap_adjusted, alpha),
        MISSING if isnan(pair.effect) else signed(pair.effect, 2),
        MISSING if isnan(pair.p) else f"{pair.wins}/{pair.ties}/{pair.losses}",
    ]


def _people_cell(pair: SystemPair) -> str:
    people = pair.people_if_significant
    return MISSING if people is None else f"{100 * people.share:.0f}% of {people.pairs:,}"


def _bucket_table(comparison: Comparison, unmarked: str) -> Table:
    """Differences of the challenger from the baseline, bucket by bucket.

    `unmarked` follows those that are not significant.
    """
    system = comparison.challenger
    names = [metric.name for metric in comparison.metrics if metric.segments is not None]
    first = next(
        index for index, metric in enumerate(comparison.metrics) if metric.segments is not None
    )
    columns = (
        Column("by", heading=f"{comparison.systems[system]} – {comparison.systems[0]}"),
        Column("bucket", heading=""),
        _right("segments"),
        *map(_right, names),
    )
    rows = []
    for dimension in comparison.dimensions:
        for bucket in _largest_buckets(dimension, system, first):
            cells = [
                _bucket_cell(part, system, metric.decimals, unmarked)
                for metric, part in zip(comparison.metrics, bucket.metrics, strict=True)
                if part is not None
            ]
            rows.append((dimension.title, bucket.label, f"{len(bucket.rows):,}", *cells))
    return Table(columns, rows)


def _bucket_cell(part: BucketScores, system: int, decimals: int, unmarked: str) -> str:
    significant = part.low[system] > 0 or part.high[system] < 0
    difference = signed(float(part.scores[system] - part.scores[0]), decimals)
    return difference + (SIGNIFICANT if significant else unmarked)


def _largest_buckets(dimension: Dimension, system: int, metric: int) -> list[Bucket]:
    """The buckets of a dimension; of very many, those that differ most."""
    if len(dimension.buckets) <= _MAX_BUCKETS:
        return list(dimension.buckets)

    def size(bucket: Bucket) -> float:
        part = bucket.metrics[metric]
        return 0.0 if part is None else -abs(float(part.scores[system] - part.scores[0]))

    return sorted(dimension.buckets, key=size)[:_MAX_BUCKETS]


def _legend(comparison: Comparison) -> Iterator[str]:
    settings = comparison.settings
    brackets = ""
    if comparison.outputs.has_references:
        brackets = "; in brackets: words that the reference does not have"
    yield f"A – B: score of A minus score of B{brackets}"
    yield (
        f"p: approximate randomisation, {settings.swap_count:,} swaps, Holm's correction; "
        f"{SIGNIFICANT} p ≤ {settings.alpha:g}; {settings.meaning_of_ranks}"
    )
    yield INTERVALS_AND_RANKS
    yield (
        f"intervals, bootstrap p: {settings.resamples:,} resamples of segments; by part: "
        f"{SIGNIFICANT} where the interval leaves out 0, without correction for many parts"
    )
    people = (pair.people_if_significant for metric in comparison.metrics for pair in metric.pairs)
    data = {each.data for each in people if each is not None}
    if data:
        yield (
            "people agree: how often they preferred the better of two whole systems "
            f"({', '.join(sorted(data))}) whose scores differ by as much"
        )
    yield str(settings)
    for metric in comparison.metrics:
        yield metric.signature


def _examples(comparison: Comparison, count: int) -> Iterator[str]:
    """The segments on which two systems differ most, and on which metrics disagree."""
    metric = next((each for each in comparison.metrics if each.segments is not None), None)
    if not count or metric is None:
        return
    system = comparison.challenger
    baseline, challenger = (printable(comparison.systems[index]) for index in (0, system))
    gains = metric.largest_gains(0, system, count)
    losses = metric.largest_gains(system, 0, count)
    for better, rows in ((challenger, gains), (baseline, losses)):
        if rows:
            yield f"{metric.name}: {better} is better by most in\n"
        for row in rows:
            yield from _example(comparison, metric, row, system)
            yield "\n"
    disagreements = comparison.disagreements(0, system, count)
    if disagreements:
        yield "metrics disagree most in\n"
    for each in disagreements:
        yield from _example(comparison, metric, each.row, system)
        yield f"    {each.for_second} prefers {challenger}, {each.for_first} prefers {baseline}\n\n"


def _example(
    comparison: Comparison, metric: MetricComparison, row: int, system: int
) -> Iterator[str]:
    """A segment, with the words that the reference does not have in brackets.

    Without a reference there are the source, and no brackets.
    """
    outputs, scores = comparison.outputs, metric.segments
    yield f"  segment {row + 1}\n"
    texts = [outputs.hypotheses[index][row] for index in (0, system)]
    if outputs.has_references:
        name, text, shown = "reference", *_against_reference(outputs.references[row][0], texts)
    else:
        name, text = "source", excerpt(outputs.sources[row] if outputs.sources else "")
        shown = [
            excerpt(one, first_difference(one, other) or 0)
            for one, other in zip(texts, reversed(texts), strict=True)
        ]
    yield f"    {name}: {printable(text)}\n"
    for index, output in zip((0, system), shown, strict=True):
        score = "" if scores is None else f" ({decimal(scores[index][row], metric.decimals)})"
        yield f"    {printable(comparison.systems[index])}{score}: {printable(output)}\n"


def _against_reference(reference: str, texts: Sequence[str]) -> tuple[str, list[str]]:
    """Excerpts of a reference and of outputs, whose words that it does not have are marked."""
    firsts = [first_difference(text, reference) for text in texts]
    differences = (first_difference(reference, text) for text in texts)
    start = min((each for each in differences if each is not None), default=0)
    return excerpt(reference, start), [
        excerpt(mark_differences(text, reference), start if first is None else first)
        for text, first in zip(texts, firsts, strict=True)
    ]


# Numbers


def signed(value: float, decimals: int) -> str:
    """A difference with its sign; a difference that is shown as zero has none.

    >>> signed(0.5, 2), signed(-0.001, 2), signed(float("inf"), 2)
    ('+0.50', '0.00', '+inf')
    """
    text = f"{value:+.{decimals}f}"
    return text if float(text) else text[1:]


def probability(p: float, alpha: float) -> str:
    """A p-value in four decimals; more where fewer would put it on the other side of alpha.

    >>> probability(0.0123, 0.05), probability(0.05004, 0.05), probability(0.00001, 0.05)
    ('0.0123', '0.05004', '<0.0001')
    """
    if not isfinite(p):
        return MISSING
    if alpha < _SMALLEST_P and p < _SMALLEST_P:
        return f"{p:.2g}"
    if float(f"{p:.{_P_DECIMALS}f}") == 0:
        return f"<{_SMALLEST_P:.{_P_DECIMALS}f}"
    rounded = (f"{p:.{decimals}f}" for decimals in range(_P_DECIMALS, _MAX_DECIMALS))
    return next((each for each in rounded if (float(each) <= alpha) == (p <= alpha)), repr(p))


# Words that differ


@cache
def _token() -> re.Pattern[str]:
    """Words with inner punctuation, single marks, and characters of unspaced scripts.

    Combining marks stay with the character before them.
    """
    characters = map(chr, chain(*_COMBINING))
    combining = (char for char in characters if unicodedata.category(char).startswith("M"))
    marks = f"[{''.join(combining)}]"
    letters = rf"(?:[^\W_]|{marks})+"
    word = f"{letters}(?:['’.,:/-]{letters})*"
    return re.compile(rf"[{_UNSPACED}]{marks}*|{word}|\S{marks}*")


class TextPiece(NamedTuple):
    """A piece of a text, and whether the other text has it in this position too."""

    text: str
    same: bool


def compare_words(text: str, other: str) -> list[TextPiece]:
    """A text in pieces that add up to it, each the same as in the other or not.

    Words in the longest common subsequence are the same. White space and the case of letters make
    no difference.

    >>> [piece.text for piece in compare_words("The cat sat.", "the dog sat.") if not piece.same]
    ['cat']
    """
    spans = [match.span() for match in _token().finditer(text)]
    others = [match[0].lower() for match in _token().finditer(other)]
    common = _in_common_subsequence([text[start:end].lower() for start, end in spans], others)
    pieces: list[TextPiece] = []
    position = 0
    for (start, end), same in zip(spans, common, strict=True):
        if start > position:
            # The space between two words that differ differs with them.
            gap = not (pieces and not pieces[-1].same and not same)
            _append(pieces, text[position:start], same=gap)
        _append(pieces, text[start:end], same=same)
        position = end
    if position < len(text):
        _append(pieces, text[position:], same=True)
    return pieces


def mark_differences(text: str, other: str) -> str:
    """A text with the words that the other does not have in brackets.

    >>> mark_differences("The big cat sat.", "The dog sat.")
    'The [big cat] sat.'
    """
    return "".join(
        piece.text if piece.same else f"[{piece.text}]" for piece in compare_words(text, other)
    )


def first_difference(text: str, other: str) -> int | None:
    """The position at which a text begins to differ from another; None where it does not.

    >>> first_difference("The cat sat.", "The dog sat."), first_difference("cat", "cat")
    (4, None)
    """
    first, *others = [*compare_words(text, other), TextPiece("", same=True)]
    if not first.same:
        return 0
    return len(first.text) if len(others) > 1 else None


def excerpt(text: str, around: int = 0, longest: int = _EXCERPT) -> str:
    """At most so many characters of a text, most of them after a position.

    >>> excerpt("one two three four five six", around=14, longest=8), excerpt("short")
    ('… e four f …', 'short')
    """
    if len(text) <= longest:
        return text
    start = max(0, min(around - min(_EXCERPT_BEFORE, longest // 4), len(text) - longest))
    end = start + longest
    before, after = "… " if start else "", " …" if end < len(text) else ""
    return f"{before}{text[start:end].strip()}{after}"


def _in_common_subsequence(words: Sequence[str], others: Sequence[str]) -> list[bool]:
    """Which words are in the longest common subsequence of two lists."""
    common = [False] * len(words)
    for operation in LCSseq.opcodes(words, others):
        if operation.tag == "equal":
            span = slice(operation.src_start, operation.src_end)
            common[span] = [True] * (operation.src_end - operation.src_start)
    return common


def _append(pieces: list[TextPiece], text: str, *, same: bool) -> None:
    """Append a piece, joined with the one before where both are the same or both differ."""
    if pieces and pieces[-1].same == same:
        pieces[-1] = TextPiece(pieces[-1].text + text, same)
    else:
        pieces.append(TextPiece(text, same))
