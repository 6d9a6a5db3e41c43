"""Texts of preferences or of systems, each hypothesis once, and which are compared by what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from adequa.errors import AdequaError
from adequa.judgements import Preferences
from adequa.learned.pairwise.inputs import NamedInputs, Scored
from adequa.learned.pairwise.network import PairwiseInputs, Triples
from adequa.segments import FloatArray, IntArray, Segments


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseTexts:
    """Different hypotheses with their references, and the different references.

    Hypothesis i has the references `reference_rows[starts[i] : starts[i + 1]]`.
    """

    segments: Segments
    corpora: tuple[tuple[int, ...], ...]  # the rows of each corpus
    references: tuple[str, ...]
    reference_rows: IntArray
    starts: IntArray

    @classmethod
    def of(
        cls,
        parts: Sequence[tuple[Segments, Sequence[object]]],
        columns: Sequence[str] = (),
    ) -> tuple[PairwiseTexts, list[IntArray]]:
        """The texts of several parts, each with the corpus of every row; and the rows of each part.

        Two rows are one hypothesis where corpus, text, references and columns are the same.
        """
        known: dict[tuple[object, ...], int] = {}
        rows = []
        there = [name for name in columns if all(name in segments.ids for segments, _ in parts)]
        for segments, corpora in parts:
            cells = [segments.ids[name] for name in there]
            keys = zip(corpora, segments.hypotheses, segments.references, *cells, strict=True)
            rows.append(np.array([known.setdefault(key, len(known)) for key in keys], np.intp))
        segments = _segments(list(known), there)
        by_corpus: dict[object, list[int]] = {}
        for row, key in enumerate(known):
            by_corpus.setdefault(key[0], []).append(row)
        references: dict[str, int] = {}
        pairs = segments.pairs()
        listed = [references.setdefault(text, len(references)) for text in pairs.references]
        texts = cls(
            segments=segments,
            corpora=tuple(map(tuple, by_corpus.values())),
            references=tuple(references),
            reference_rows=np.array(listed, np.intp),
            starts=np.searchsorted(pairs.segment, np.arange(len(segments) + 1)),
        )
        return texts, rows

    def compared(self, first: IntArray, second: IntArray) -> tuple[Triples, IntArray]:
        """Pairs of hypotheses by each of their references in turn, and where each pair starts."""
        counts = np.diff(self.starts)[first]
        starts = np.cumsum(counts) - counts
        within = np.arange(counts.sum()) - np.repeat(starts, counts)
        reference = self.reference_rows[np.repeat(self.starts[first], counts) + within]
        return Triples(np.repeat(first, counts), np.repeat(second, counts), reference), starts

    def inputs(
        self, named: NamedInputs, stage: Callable[[str], None], scored: Scored
    ) -> PairwiseInputs:
        """What the network sees of the texts, before any scaling; each text is encoded once."""
        scores = named.scores_of(self.segments, self.corpora, stage, scored)
        texts = list(dict.fromkeys((*self.segments.hypotheses, *self.references)))
        at = {text: row for row, text in enumerate(texts)}
        vectors = named.vectors_of(texts, stage)
        return PairwiseInputs(
            hypotheses=vectors[[at[text] for text in self.segments.hypotheses]],
            scores=scores,
            references=vectors[[at[text] for text in self.references]],
        )


def _segments(keys: Sequence[tuple[object, ...]], columns: Sequence[str]) -> Segments:
    cells = list(zip(*(key[3:] for key in keys), strict=True)) if columns else []
    return Segments(
        hypotheses=tuple(str(key[1]) for key in keys),
        references=tuple(key[2] for key in keys),  # type: ignore[misc]  # tuples of strings
        ids={name: tuple(map(str, cell)) for name, cell in zip(columns, cells, strict=False)},
    )


def mean_by_pair(values: FloatArray, starts: IntArray) -> FloatArray:
    """The mean of each run of values, which are of one pair by several references."""
    if not len(starts):
        return np.zeros(0)
    return np.asarray(np.add.reduceat(values, starts) / np.diff([*starts, len(values)]))


def both_texts(preferences: Preferences) -> tuple[Segments, Segments]:
    """The better and the worse hypotheses, or a sentence where there are no texts."""
    if preferences.better is None or preferences.worse is None:
        raise AdequaError(
            f"There are no texts in {preferences.name or 'these preferences'}; a ranker learns "
            'from preferences with the columns "better", "worse" and "ref".'
        )
    return preferences.better, preferences.worse


def corpora_of(preferences: Preferences) -> list[tuple[str, str]]:
    """The corpus of each preference: dataset and language pair."""
    pairs = preferences.ids.get("lp", ("",) * len(preferences))
    return [(preferences.name, pair) for pair in pairs]


def contradictions(better: IntArray, worse: IntArray) -> int:
    """How many preferences have an opposite one, of the same two hypotheses.

    >>> contradictions(np.array([0, 1, 0, 2]), np.array([1, 0, 1, 0]))
    3
    """
    pairs = list(zip(better.tolist(), worse.tolist(), strict=True))
    there = set(pairs)
    return sum((worse_, better_) in there for better_, worse_ in pairs)
