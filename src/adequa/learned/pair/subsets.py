"""Subsets of datasets: selected rows of ratings, preferences or plain texts, without copying texts.

Also the numbering of the distinct hypotheses with their references and sources in all subsets of a
training.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from adequa.datasets.registry import DATASETS
from adequa.errors import AdequaError
from adequa.io.read import READERS, TABLES, format_suffix, open_table, read_table
from adequa.io.text import ignore
from adequa.judgements import FileRows, Preferences, RatedSystems, Ratings, all_rows
from adequa.languages import language_pair
from adequa.learned.folds import Mask
from adequa.learned.pair.views import (
    REFERENCE_ONLY,
    Pair,
    View,
    contexts,
    possible_views,
    reads_source,
)
from adequa.runtime.batching import distinct
from adequa.segments import FloatArray, IntArray, Segments, concatenate

Kind: TypeAlias = Literal["ratings", "preferences", "texts"]
SegmentJudgements: TypeAlias = Ratings | Preferences

_JUDGEMENT_COLUMNS = {"score", "better", "worse"}  # which a file of plain texts does not have


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """Selected rows of a dataset: ratings, preferences, or texts without judgements.

    All fields but `rows` describe the whole dataset.
    """

    kind: Kind
    name: str  # of the dataset
    sides: tuple[Segments, ...]  # the outputs; of preferences the better and the worse ones
    scores: FloatArray | None  # of ratings
    languages: tuple[str, ...] | None
    file_rows: FileRows  # rows of the file that the dataset was read from
    # Distinct texts that outputs of one segment share: its references, and a source that is read.
    reference_sets: Sequence[tuple[str, ...]]
    reference_set_index: IntArray  # index in `reference_sets` of every row
    rows: IntArray  # selected
    judgement_counts: IntArray | None = None  # of ratings; 0 for those that are not known

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def references(self) -> list[tuple[str, ...]]:
        """The distinct sets of references, and sources if they are read, of the selected rows."""
        return [self.reference_sets[i] for i in np.unique(self.row_sets).tolist()]

    @property
    def row_sets(self) -> IntArray:
        """Index of the reference set of each selected row."""
        return self.reference_set_index[self.rows]

    @property
    def ratings(self) -> FloatArray:
        """The scores of the selected rows; empty for other kinds."""
        return np.empty(0) if self.scores is None else self.scores[self.rows]

    @property
    def counts(self) -> IntArray | None:
        """Number of judgements behind each selected rating; None if no number is known."""
        counts = self.judgement_counts
        return None if counts is None or not counts.any() else counts[self.rows]

    @property
    def language_pairs(self) -> list[str]:
        """The language pair of each selected row, empty if unknown."""
        languages = self.languages
        if languages is None:
            return [""] * len(self)
        return [languages[row] for row in self.rows.tolist()]

    def select(self, selection: IntArray | Mask) -> Subset:
        """Some of the selected rows, by their positions or by a boolean mask."""
        return replace(self, rows=self.rows[selection])

    def mask_with_any(self, references: set[str]) -> Mask:
        """For each selected row, whether it has one of these references."""
        hits = np.array([not references.isdisjoint(each) for each in self.reference_sets], bool)
        return np.asarray(hits[self.row_sets])


def judged_subset(judgements: SegmentJudgements, *, with_sources: bool = False) -> Subset:
    """All judgements that a metric can learn from: no preferences between equal texts.

    `with_sources` says whether sources are read, so that outputs of a source belong together.
    """
    languages, file_rows = judgements.ids.get("lp"), judgements.file_rows
    if isinstance(judgements, Ratings):
        sides = (_required_texts(judgements.segments, judgements),)
        subset = _whole(
            "ratings", judgements.name, sides, languages, file_rows, with_sources=with_sources
        )
        counts = judgements.judgement_counts
        return replace(subset, scores=judgements.scores, judgement_counts=counts)
    better = _required_texts(judgements.better, judgements)
    worse = _required_texts(judgements.worse, judgements)
    subset = _whole(
        "preferences",
        judgements.name,
        (better, worse),
        languages,
        file_rows,
        with_sources=with_sources,
    )
    outputs = zip(better.hypotheses, worse.hypotheses, strict=True)
    return subset.select(np.array([one != other for one, other in outputs], dtype=bool))


def _whole(
    kind: Kind,
    name: str,
    sides: tuple[Segments, ...],
    languages: tuple[str, ...] | None,
    file_rows: FileRows,
    *,
    with_sources: bool,
) -> Subset:
    """All rows of a dataset."""
    shared = sides[0].references
    if with_sources and sides[0].sources is not None:
        shared = tuple(
            (*references, source) if source.strip() else references
            for references, source in zip(shared, sides[0].sources, strict=True)
        )
    reference_sets, index = distinct(shared)
    return Subset(
        kind=kind,
        name=name,
        sides=sides,
        scores=None,
        languages=languages,
        file_rows=file_rows,
        reference_sets=reference_sets,
        reference_set_index=index,
        rows=np.arange(len(sides[0])),
    )


def _required_texts(texts: Segments | None, judgements: SegmentJudgements) -> Segments:
    """The texts of judgements; raise if there are none."""
    if texts is not None:
        return texts
    kind, columns = (
        ("ratings", '"mt" and "ref"')
        if isinstance(judgements, Ratings)
        else ("preferences", '"better", "worse" and "ref"')
    )
    raise AdequaError(
        f"There are no texts in {judgements.name or f'these {kind}'}; a metric learns from {kind} "
        f"with the columns {columns}."
    )


def text_subset(name: str, *, with_sources: bool = False) -> Subset | None:
    """The texts of a file without judgements; None for a dataset or a file with judgements."""
    if name in DATASETS or not Path(name).is_file() or format_suffix(name) not in READERS:
        return None
    ids: tuple[str, ...] = ()
    if format_suffix(name) in TABLES:
        with open_table(name, ignore) as table:
            columns = set(table.column_names)
        beside = {"ref", "src"} if with_sources else {"ref"}
        if columns & _JUDGEMENT_COLUMNS or "mt" not in columns or not columns & beside:
            return None
        ids = ("lp",) if "lp" in columns else ()
    batches = read_table(name, keep_ids=ids)
    if not with_sources:
        batches = (replace(batch, sources=None) for batch in batches)
    texts = concatenate(list(batches))
    return _text_rows(Path(name).name, texts, with_sources=with_sources)


def system_subset(rated: RatedSystems, *, with_sources: bool = False) -> Subset:
    """The outputs of systems as plain texts, without the ratings of the systems."""
    texts = rated.outputs
    if texts is None:
        raise AdequaError(f"There are no outputs of the systems in {rated.ratings.name}.")
    return _text_rows(rated.ratings.name, texts, with_sources=with_sources)


def _text_rows(name: str, texts: Segments, *, with_sources: bool) -> Subset:
    """All rows of texts without judgements."""
    languages, rows = texts.ids.get("lp"), all_rows(len(texts))
    return _whole("texts", name, (texts,), languages, rows, with_sources=with_sources)


def rows_with_a_view(subset: Subset, views: Sequence[View]) -> Subset:
    """The rows whose texts allow any of the views."""
    texts = subset.sides[0]
    sources = texts.sources or ("",) * len(texts)
    mask = [
        bool(possible_views(views, reference=texts.has_references, source=bool(source.strip())))
        for source in map(sources.__getitem__, subset.rows.tolist())
    ]
    return subset.select(np.array(mask, dtype=bool))


def by_language_pair(subset: Subset) -> list[Subset]:
    """The rows of each language pair, in the order of their names."""
    pairs = np.array(subset.language_pairs, dtype=str)
    return [subset.select(pairs == pair) for pair in np.unique(pairs)]


def with_language_pairs(subset: Subset, pairs: tuple[str, ...]) -> Subset:
    """The rows of these language pairs; all rows if `pairs` is empty."""
    if not pairs:
        return subset
    if subset.languages is None:
        raise AdequaError(f"{subset.name or 'The data'} has no language pairs to choose from.")
    normalised = {language_pair(pair) for pair in pairs}
    matching = {name for name in set(subset.languages) if language_pair(name) in normalised}
    return subset.select(np.array([name in matching for name in subset.language_pairs], dtype=bool))


def sample(subsets: list[Subset], size: int, seed: int) -> list[Subset]:
    """A random sample of `size` rows of all subsets together; everything if `size` is 0."""
    total = sum(map(len, subsets))
    if not size or size >= total:
        return subsets
    sampled = np.sort(np.random.default_rng(seed).choice(total, size, replace=False))
    starts = np.cumsum([0, *map(len, subsets)])
    selected = [
        subset.select(sampled[(sampled >= start) & (sampled < start + len(subset))] - start)
        for subset, start in zip(subsets, starts, strict=False)
    ]
    return [subset for subset in selected if len(subset)]


def _numbering() -> defaultdict[Pair, int]:
    numbers: defaultdict[Pair, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # a new key gets the next number
    return numbers


@dataclass(frozen=True, slots=True, eq=False)
class PairIndex:
    """Numbers of the distinct hypotheses with the texts beside them, in order of appearance.

    Each has all texts that any of the views reads: reference and hypothesis, or reference, source
    and hypothesis.
    """

    views: tuple[View, ...] = REFERENCE_ONLY
    numbers: defaultdict[Pair, int] = field(default_factory=_numbering)

    @property
    def reads_source(self) -> bool:
        """Whether any of the views has the source."""
        return reads_source(self.views)

    def add(self, texts: Segments, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Add the hypotheses of these rows with each of their references.

        Return the number of each pair, and the position of its row in `rows`.
        """
        indices = rows.tolist()
        beside = list(contexts(texts, indices, self.views))
        pairs: list[Pair] = [
            (reference, source, texts.hypotheses[row])
            if source
            else (reference, texts.hypotheses[row])
            for row, row_contexts in zip(indices, beside, strict=True)
            for reference, source in row_contexts
        ]
        counts = np.fromiter(map(len, beside), np.intp, len(beside))
        numbers = np.fromiter(map(self.numbers.__getitem__, pairs), np.intp, len(pairs))
        return numbers, np.repeat(np.arange(len(rows)), counts)

    def add_first(self, texts: Segments, rows: IntArray) -> IntArray:
        """Add the pairs of these rows; return the number of each row's pair with its first one."""
        pairs, positions = self.add(texts, rows)
        return pairs[np.unique(positions, return_index=True)[1]]
