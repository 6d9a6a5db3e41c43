"""Texts of preferences or of systems, each hypothesis once, and which are compared by what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings
from adequa.learned.folds import split_off
from adequa.learned.pairwise.inputs import NamedInputs, Scored
from adequa.learned.pairwise.network import PairwiseInputs, Triples
from adequa.learned.references import reference_groups
from adequa.segments import FloatArray, IntArray, Segments
from adequa.statistics.preference_tau import tau_wmt12


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


Pairs: TypeAlias = tuple[IntArray, IntArray]  # rows of the better hypotheses and of the worse


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """Preferences to learn from, and others to validate on; a dataset each."""

    learnt: tuple[Preferences, ...]
    held_out: tuple[Preferences, ...]

    def parts(self) -> list[tuple[Segments, list[tuple[str, str]]]]:
        """All texts with their corpora: of each dataset the better ones, then the worse ones."""
        return [
            (side, corpora_of(each))
            for each in (*self.learnt, *self.held_out)
            for side in both_texts(each)
        ]

    def pairs(self, rows: Sequence[IntArray]) -> tuple[Pairs, Pairs]:
        """The pairs to learn from and to validate on, by the rows of all parts."""
        split = 2 * len(self.learnt)
        return _joined(rows[:split]), _joined(rows[split:])

    def facts(self) -> dict[str, Any]:
        """What metric.json and the card say of the data."""
        by_pair: dict[str, int] = {}
        for each in self.learnt:
            for pair in each.ids.get("lp", ()):
                by_pair[pair] = by_pair.get(pair, 0) + 1
        return {
            "data": " + ".join(each.name for each in self.learnt),
            "rows": sum(map(len, self.learnt)),
            "rows_by_language_pair": dict(sorted(by_pair.items())),
            "validated_on": " + ".join(each.name for each in self.held_out),
        }

    def held_out_taus(self, margins: FloatArray) -> dict[str, dict[str, float]]:
        """The strict tau of each language pair that is validated on."""
        pairs = np.array([pair for each in self.held_out for _, pair in corpora_of(each)])
        return {
            str(pair): {
                "rows": int((pairs == pair).sum()),
                "tau": float(tau_wmt12(margins[pairs == pair])),
            }
            for pair in np.unique(pairs)
        }


def learnt_and_held_out(
    judgements: Ratings | Preferences | Sequence[Preferences],
    development: Sequence[Preferences],
    share: float,
    seed: int,
    note: Callable[[str], None],
) -> Learnt:
    """The preferences by their use; those between identical texts are not learnt from."""
    if isinstance(judgements, Ratings):
        raise AdequaError(
            f"{judgements.name or 'This'} holds ratings; a pairwise ranker learns from preferences."
        )
    given = [judgements] if isinstance(judgements, Preferences) else list(judgements)
    for each in (*given, *development):
        both_texts(each)
    usable = [each.without_identical() for each in given]
    identical = sum(map(len, given)) - sum(map(len, usable))
    if identical:
        note(f"{identical:,} preferences between identical texts are not learnt from.")
    usable = [each for each in usable if len(each)]
    if not usable:
        raise AdequaError("There are no preferences between different texts to learn from.")
    if development:
        return Learnt(tuple(usable), tuple(development))
    parts = [_split(each, share, seed) for each in usable]
    return Learnt(tuple(one for one, _ in parts), tuple(other for _, other in parts))


def check_learnable(pairs: Pairs, note: Callable[[str], None]) -> None:
    """Say how many preferences contradict each other; raise where all of them do so evenly."""
    against = contradictions(*pairs)
    if not against:
        return
    rows = len(pairs[0])
    note(f"{against:,} of {rows:,} preferences have an opposite one between the same two texts.")
    both = np.concatenate([pairs[0], pairs[1]]), np.concatenate([pairs[1], pairs[0]])
    signs = np.repeat([1, -1], rows)
    _, cells = np.unique(np.stack(both), axis=1, return_inverse=True)
    if not np.bincount(cells.ravel(), signs).any():
        raise AdequaError(
            "For every preference there is an opposite one between the same two texts, so that "
            "nothing can be learnt from them."
        )


def _split(preferences: Preferences, share: float, seed: int) -> tuple[Preferences, Preferences]:
    better, _ = both_texts(preferences)
    apart = split_off(len(preferences), share, seed, reference_groups(better))
    return preferences.select(np.flatnonzero(~apart)), preferences.select(np.flatnonzero(apart))


def _joined(rows: Sequence[IntArray]) -> Pairs:
    empty = np.zeros(0, np.intp)
    return np.concatenate([empty, *rows[0::2]]), np.concatenate([empty, *rows[1::2]])


def sampled_references(preferences: Preferences, count: int, seed: int) -> Preferences:
    """The preferences of so many references, drawn at random, with all of their hypotheses."""
    better, _ = both_texts(preferences)
    there = sorted(set(better.references))
    drawn = np.random.default_rng(seed).permutation(len(there))[:count]
    kept = {there[at] for at in drawn.tolist()}
    rows = [row for row, references in enumerate(better.references) if references in kept]
    return preferences.select(rows)


def sampled_rows(preferences: Preferences, count: int, seed: int) -> Preferences:
    """So many preferences, drawn at random, in their order; all where there are no more."""
    if count >= len(preferences):
        return preferences
    drawn = np.random.default_rng(seed).choice(len(preferences), count, replace=False)
    return preferences.select(np.sort(drawn))
