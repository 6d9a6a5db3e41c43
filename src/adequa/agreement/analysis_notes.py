"""What a reader of an error analysis should know of its counts, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adequa.agreement.surface import tokenizer_of
from adequa.agreement.top_share import Top
from adequa.encoders.base import Encoder


def repeats(count: int) -> Iterator[str]:
    """Outputs that were rated more than once."""
    if count:
        yield f"ratings of an output that was rated before: {count:,}; their mean counts."


def human_ties(tops: Sequence[Top], share: float) -> Iterator[str]:
    """Tops that are larger than their share, because people's scores tie."""
    more = {top.name: len(top.rows) - top.wanted for top in tops}
    if any(more.values()):
        yield (
            f"human scores tie at the cut; analysed beyond {share * 100:g}%: {_listed(more)}; the "
            "metrics' tops grow with it."
        )


def metric_ties(tops: Sequence[Top], names: Sequence[str]) -> Iterator[str]:
    """Tops of metrics that are larger than people's, because the metric's scores tie."""
    for metric, name in enumerate(names):
        more = {top.name: top.high[metric] - len(top.rows) for top in tops}
        if any(more.values()):
            yield f"scores of {name} tie at the cut; in its top beyond people's: {_listed(more)}."


def unspaced(pairs: Sequence[str]) -> Iterator[str]:
    """Languages whose characters stand for words."""
    found = sorted(pair for pair in set(pairs) if tokenizer_of(pair) != "13a")
    if found:
        yield f"written without spaces, so that characters count as words: {', '.join(found)}."


def vocabulary(known: Sequence[Encoder], without: Sequence[str]) -> Iterator[str]:
    """Why unknown words are not counted, or not those of every encoder."""
    if without:
        yield f"encoders without a list of words, which know no unknown ones: {', '.join(without)}."
    elif not known:
        yield "unknown words are not counted; --encoder names an encoder that has a list of words."


def _listed(more: Mapping[str, int]) -> str:
    """How many more, and where.

    >>> _listed({"cs-en": 2, "de-en": 0, "ru-en": 1})
    '3 (cs-en 2, ru-en 1)'
    """
    where = [f"{name} {count:,}" for name, count in more.items() if count]
    return where[0] if len(where) == 1 else f"{sum(more.values()):,} ({', '.join(where)})"
