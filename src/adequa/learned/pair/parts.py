"""Parts of the data of a pair regressor: some rows of a dataset, chosen without copying texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from adequa.datasets.registry import DATASETS
from adequa.errors import AdequaError
from adequa.io.language_pairs import language_pair
from adequa.io.read import READERS, TABLES, format_suffix, open_table, read_table
from adequa.io.text import ignore
from adequa.judgements import Kept, Preferences, RatedSystems, Ratings, all_kept
from adequa.runtime.batching import distinct
from adequa.segments import FloatArray, IntArray, Segments, concatenate

Kind: TypeAlias = Literal["ratings", "preferences", "texts"]
Judged: TypeAlias = Ratings | Preferences

_JUDGED = {"score", "better", "worse"}  # columns that a file of plain texts has not


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some rows of ratings, of preferences, or of texts that no one judged."""

    kind: Kind
    name: str  # of the dataset
    sides: tuple[Segments, ...]  # of all its rows: the outputs, or the better and the worse ones
    scores: FloatArray | None  # of ratings
    languages: tuple[str, ...] | None
    kept: Kept
    several: Sequence[tuple[str, ...]]  # every different set of references
    segments: IntArray  # which of them each row of the dataset has
    rows: IntArray  # those of the part

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def references(self) -> list[tuple[str, ...]]:
        """Every different set of references in the rows of the part."""
        return [self.several[each] for each in np.unique(self.segments[self.rows]).tolist()]

    @property
    def ratings(self) -> FloatArray:
        """The scores of the part's rows; none for other kinds."""
        return np.empty(0) if self.scores is None else self.scores[self.rows]

    @property
    def language_pairs(self) -> list[str]:
        """The language pair of each row, empty where it is not known."""
        known = self.languages
        return [""] * len(self) if known is None else [known[row] for row in self.rows.tolist()]

    def select(self, positions: IntArray) -> Part:
        """These of its rows, by their positions or by a column of true and false."""
        return replace(self, rows=self.rows[positions])

    def with_any(self, references: set[str]) -> IntArray:
        """For each row, whether one of its references is among these."""
        hit = np.array([not references.isdisjoint(each) for each in self.several], dtype=bool)
        return np.asarray(hit[self.segments[self.rows]])


def judged_part(judged: Judged) -> Part:
    """All judgements that a metric can learn from; preferences between equal texts are not."""
    if isinstance(judged, Ratings):
        texts = (_present(judged.segments, judged),)
        part = _part("ratings", judged.name, texts, judged.ids.get("lp"), judged.kept)
        return replace(part, scores=judged.scores)
    better, worse = _present(judged.better, judged), _present(judged.worse, judged)
    part = _part("preferences", judged.name, (better, worse), judged.ids.get("lp"), judged.kept)
    outputs = zip(better.hypotheses, worse.hypotheses, strict=True)
    return part.select(np.array([one != other for one, other in outputs], dtype=bool))


def _part(
    kind: Kind,
    name: str,
    sides: tuple[Segments, ...],
    languages: tuple[str, ...] | None,
    kept: Kept,
) -> Part:
    several, segments = distinct(sides[0].references)
    return Part(
        kind=kind,
        name=name,
        sides=sides,
        scores=None,
        languages=languages,
        kept=kept,
        several=several,
        segments=segments,
        rows=np.arange(len(sides[0])),
    )


def _present(texts: Segments | None, judged: Judged) -> Segments:
    if texts is not None:
        return texts
    kind, columns = (
        ("ratings", '"mt" and "ref"')
        if isinstance(judged, Ratings)
        else ("preferences", '"better", "worse" and "ref"')
    )
    raise AdequaError(
        f"There are no texts in {judged.name or f'these {kind}'}; a metric learns from {kind} "
        f"with the columns {columns}."
    )


def plain_part(name: str) -> Part | None:
    """The texts of a file of segments; None where it is none, or where people judged them."""
    if name in DATASETS or not Path(name).is_file() or format_suffix(name) not in READERS:
        return None
    kept_ids: tuple[str, ...] = ()
    if format_suffix(name) in TABLES:
        with open_table(name, ignore) as table:
            columns = set(table.column_names)
        if columns & _JUDGED or not columns >= {"mt", "ref"}:
            return None
        kept_ids = ("lp",) if "lp" in columns else ()
    batches = read_table(name, keep_ids=kept_ids)
    texts = concatenate([replace(batch, sources=None) for batch in batches])
    kept = all_kept(len(texts))
    return _part("texts", Path(name).name, (texts,), texts.ids.get("lp"), kept)


def system_part(rated: RatedSystems) -> Part:
    """The outputs of systems as plain texts; what people said of the systems is left aside."""
    texts = rated.outputs
    if texts is None:
        raise AdequaError(f"There are no outputs of the systems in {rated.ratings.name}.")
    kept = all_kept(len(texts))
    return _part("texts", rated.ratings.name, (texts,), texts.ids.get("lp"), kept)


def of_language_pairs(part: Part, pairs: tuple[str, ...]) -> Part:
    """The rows of these language pairs; all rows where none is named."""
    if not pairs:
        return part
    if part.languages is None:
        raise AdequaError(f"{part.name or 'The data'} has no language pairs to choose from.")
    wanted = {language_pair(pair) for pair in pairs}
    taken = {each for each in set(part.languages) if language_pair(each) in wanted}
    return part.select(np.array([each in taken for each in part.language_pairs], dtype=bool))


def sampled(parts: list[Part], sample: int, seed: int) -> list[Part]:
    """So many rows of all parts together, drawn at random; 0 for all."""
    total = sum(map(len, parts))
    if not sample or sample >= total:
        return parts
    drawn = np.sort(np.random.default_rng(seed).choice(total, sample, replace=False))
    starts = np.cumsum([0, *map(len, parts)])
    taken = [
        part.select(drawn[(drawn >= start) & (drawn < start + len(part))] - start)
        for part, start in zip(parts, starts, strict=False)
    ]
    return [part for part in taken if len(part)]


def _numbered() -> defaultdict[tuple[str, str], int]:
    numbers: defaultdict[tuple[str, str], int] = defaultdict()
    numbers.default_factory = numbers.__len__  # what is new gets the next number
    return numbers


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Different pairs of reference and hypothesis, numbered as they come."""

    numbers: defaultdict[tuple[str, str], int] = field(default_factory=_numbered)

    def add(self, texts: Segments, rows: IntArray) -> tuple[IntArray, IntArray]:
        """The pairs of these rows with each of their references, and the position of each."""
        pairs = texts.pairs(rows.tolist())
        keys = zip(pairs.references, pairs.hypotheses, strict=True)
        numbers = np.fromiter(map(self.numbers.__getitem__, keys), np.intp, len(pairs.segment))
        return numbers, pairs.segment

    def first(self, texts: Segments, rows: IntArray) -> IntArray:
        """The pairs of these rows with the first of their references; all are added."""
        pairs, positions = self.add(texts, rows)
        return pairs[np.unique(positions, return_index=True)[1]]
