"""Views of a segment: which texts a pair network reads beside the hypothesis.

reference  the reference
source     the source
both       the reference, then the source

The encoder reads two texts, and the second is the hypothesis. The first is the reference, or the
reference, the tokenizer's separator and the source; in the view `source` the reference is empty. A
separator therefore comes before every source, so that a network of several views knows a source
from a reference even where the texts are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np

from adequa.metrics.base import Need, Part
from adequa.runtime.batching import distinct
from adequa.segments import IntArray, Segments

View: TypeAlias = Literal["both", "reference", "source"]
# Reference and hypothesis, in the order they are read; or reference, source and hypothesis, where
# the reference can be empty.
Pair: TypeAlias = tuple[str, str] | tuple[str, str, str]

VIEWS: tuple[View, ...] = get_args(View)  # the richest first
REFERENCE_ONLY: tuple[View, ...] = ("reference",)
PARTS: Mapping[View, frozenset[Part]] = {
    "both": frozenset({"reference", "source"}),
    "reference": frozenset({"reference"}),
    "source": frozenset({"source"}),
}


def sorted_views(views: Iterable[str]) -> tuple[View, ...]:
    """The distinct views, the richest first.

    >>> sorted_views(["source", "reference"])
    ('reference', 'source')
    """
    chosen = set(views)
    return tuple(view for view in VIEWS if view in chosen)


def parts_read(views: Iterable[View]) -> dict[Part, Need]:
    """What a network of these views reads, and what it needs.

    >>> parts_read(["reference", "source"])
    {'reference': 'optional', 'source': 'optional'}
    """
    parts = [PARTS[view] for view in views]
    names: tuple[Part, ...] = ("reference", "source")
    return {
        name: "required" if all(name in each for each in parts) else "optional"
        for name in names
        if any(name in each for each in parts)
    }


def reads_source(views: Iterable[View]) -> bool:
    """Whether any of the views has the source."""
    return any("source" in PARTS[view] for view in views)


def possible_views(views: Sequence[View], *, reference: bool, source: bool) -> list[View]:
    """Those of the views whose texts are there."""
    given = {name for name, there in (("reference", reference), ("source", source)) if there}
    return [view for view in views if PARTS[view] <= given]


def contexts(
    texts: Segments, rows: Iterable[int], views: Sequence[View]
) -> Iterator[list[tuple[str, str]]]:
    """For each row, reference and source of all that a hypothesis is read beside.

    One for each reference if any view has the reference, or else one. Missing texts, and those that
    no view has, are empty.
    """
    with_reference = any("reference" in PARTS[view] for view in views)
    sources = texts.sources if reads_source(views) else None
    for row in rows:
        source = "" if sources is None or not sources[row].strip() else sources[row]
        references = texts.references[row] if with_reference else ()
        yield [(reference, source) for reference in references or ("",)]


def pair_of(view: View, reference: str, source: str, hypothesis: str) -> Pair:
    """The texts of a hypothesis in one view."""
    if view == "reference":
        return reference, hypothesis
    return reference if view == "both" else "", source, hypothesis


def richest_pairs(segments: Segments, views: tuple[View, ...]) -> tuple[list[Pair], IntArray]:
    """Every hypothesis in the richest view of the segments, once for each reference.

    Returns the pairs, and the segment of each pair. All segments have the same texts.
    """
    (view, *_) = possible_views(
        views, reference=segments.has_references, source=segments.sources is not None
    )
    pairs: list[Pair] = []
    counts = np.empty(len(segments), np.intp)
    rows = contexts(segments, range(len(segments)), views)
    for row, (hypothesis, beside) in enumerate(zip(segments.hypotheses, rows, strict=True)):
        used = beside[:1] if view == "source" else beside
        pairs += [pair_of(view, reference, source, hypothesis) for reference, source in used]
        counts[row] = len(used)
    return pairs, np.repeat(np.arange(len(counts)), counts)


@dataclass(frozen=True, slots=False, eq=False)
class ViewTable:
    """The pairs of texts that training items can be shown as, one for each possible view."""

    views: tuple[View, ...]  # the richest first
    pairs: IntArray  # shape (items, views); -1 where the texts do not allow a view
    contexts: IntArray  # number of the reference and source that each item has

    @cached_property
    def richest(self) -> IntArray:
        """The pair of each item in its richest view."""
        return self._first(np.arange(len(self.views), 0, -1)[None, :])

    def in_view(self, view: View) -> IntArray:
        """The pair of each item in this view; -1 where its texts do not allow it."""
        return np.asarray(self.pairs[:, self.views.index(view)])

    def drawn(self, seed: tuple[int, ...]) -> IntArray:
        """The pair of each item in a random view of those that its texts allow.

        Outputs that stand beside the same texts are in the same view, so that they can be compared.
        """
        size = int(self.contexts.max(initial=-1)) + 1, len(self.views)
        return self._first(np.random.default_rng(seed).random(size)[self.contexts])

    def _first(self, priorities: np.ndarray) -> IntArray:
        """The possible pair of the highest priority of each item; priorities are not negative."""
        chosen = np.where(self.pairs >= 0, priorities, -1).argmax(axis=1)
        return np.asarray(np.take_along_axis(self.pairs, chosen[:, None], axis=1)[:, 0])


def view_table(
    items: Sequence[Pair], views: tuple[View, ...]
) -> tuple[list[Pair], ViewTable | None]:
    """The distinct pairs that these items can be shown as; no table where each has one alone.

    An item has all texts that any of the views reads.
    """
    if len(views) == 1:
        return list(items), None
    beside = [(item[0], item[1] if len(item) > 2 else "") for item in items]  # noqa: PLR2004
    shown: list[Pair] = []
    places: list[tuple[int, int]] = []
    for number, (item, (reference, source)) in enumerate(zip(items, beside, strict=True)):
        for view in possible_views(views, reference=bool(reference), source=bool(source)):
            shown.append(pair_of(view, reference, source, item[-1]))
            places.append((number, views.index(view)))
    pairs, index = distinct(shown)
    table = np.full((len(items), len(views)), -1, np.intp)
    table[tuple(np.array(places, np.intp).reshape(-1, 2).T)] = index
    return list(pairs), ViewTable(views, table, distinct(beside)[1])
