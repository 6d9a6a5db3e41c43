"""The data of the pairwise ranker: preferences split by use, and every text of them once.

People compare the same outputs many times. Hypotheses and references are therefore collected
without repetition, features are computed once a text, and pairs refer to texts by their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from adequa.errors import AdequaError
from adequa.judgements import Preferences
from adequa.learned.folds import reference_groups, split_off
from adequa.learned.pairwise.inputs import RankerInputs, Scored
from adequa.learned.pairwise.network import Features, Triples
from adequa.segments import FloatArray, IntArray, Segments
from adequa.statistics.preference_tau import tau

Pairs: TypeAlias = tuple[IntArray, IntArray]  # rows of the better hypotheses and of the worse ones
Corpus: TypeAlias = tuple[str, str]  # dataset and language pair


# Preferences to train on and to validate on ------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Preferences to train on, and others to validate on; one item per dataset."""

    train: tuple[Preferences, ...]
    validation: tuple[Preferences, ...]

    def parts(self) -> list[tuple[Segments, list[Corpus]]]:
        """Return all texts with their corpora: better ones, then worse ones, of each dataset."""
        return [
            (texts, corpora_of(preferences))
            for preferences in (*self.train, *self.validation)
            for texts in preference_texts(preferences)
        ]

    def pairs(self, rows: Sequence[IntArray]) -> tuple[Pairs, Pairs]:
        """Return the pairs to train on and to validate on, from the text rows of all `parts`."""
        split = 2 * len(self.train)
        return _better_and_worse(rows[:split]), _better_and_worse(rows[split:])

    def facts(self) -> dict[str, Any]:
        """Return the description of the data for metric.json and the card."""
        rows_by_pair: dict[str, int] = {}
        for preferences in self.train:
            for language_pair in preferences.ids.get("lp", ()):
                rows_by_pair[language_pair] = rows_by_pair.get(language_pair, 0) + 1
        return {
            "data": " + ".join(each.name for each in self.train),
            "rows": sum(map(len, self.train)),
            "rows_by_language_pair": dict(sorted(rows_by_pair.items())),
            "validated_on": " + ".join(each.name for each in self.validation),
        }

    def validation_taus(self, margins: FloatArray) -> dict[str, dict[str, float]]:
        """Return the strict tau of each language pair that is validated on."""
        pairs = np.array([pair for each in self.validation for _, pair in corpora_of(each)])
        return {
            str(pair): {
                "rows": int((pairs == pair).sum()),
                "tau": float(tau("tau-wmt12", margins[pairs == pair])),
            }
            for pair in np.unique(pairs)
        }


def split_preferences(
    datasets: Sequence[Preferences],
    development: Sequence[Preferences],
    fraction: float,
    seed: int,
    note: Callable[[str], None],
) -> TrainingData:
    """Split preferences by their use; those between identical texts are not trained on.

    Where `development` is empty, that fraction of every dataset is held out.
    """
    for preferences in (*datasets, *development):
        preference_texts(preferences)
    usable = [preferences.without_identical() for preferences in datasets]
    identical = sum(map(len, datasets)) - sum(map(len, usable))
    if identical:
        note(f"{identical:,} preferences between identical texts are not learnt from.")
    usable = [preferences for preferences in usable if len(preferences)]
    if not usable:
        raise AdequaError("There are no preferences between different texts to learn from.")
    if development:
        if not any(map(len, development)):
            raise AdequaError("There are no preferences to validate on.")
        return TrainingData(tuple(usable), tuple(development))
    splits = [_split(preferences, fraction, seed) for preferences in usable]
    return TrainingData(
        tuple(train for train, _ in splits), tuple(validation_part for _, validation_part in splits)
    )


def _split(preferences: Preferences, fraction: float, seed: int) -> tuple[Preferences, Preferences]:
    """Split off a fraction of preferences, all of one reference on the same side."""
    better, _ = preference_texts(preferences)
    validation = split_off(reference_groups(better), fraction, seed)
    return (
        preferences.select(np.flatnonzero(~validation)),
        preferences.select(np.flatnonzero(validation)),
    )


def sample_references(preferences: Preferences, count: int, seed: int) -> Preferences:
    """Return all preferences of `count` references drawn at random."""
    better, _ = preference_texts(preferences)
    references = sorted(set(better.references))
    indices = np.random.default_rng(seed).permutation(len(references))[:count]
    sample = {references[index] for index in indices.tolist()}
    rows = [row for row, references_ in enumerate(better.references) if references_ in sample]
    return preferences.select(rows)


def sample_rows(preferences: Preferences, count: int, seed: int) -> Preferences:
    """Return `count` preferences drawn at random, in their order; all if there are no more."""
    if count >= len(preferences):
        return preferences
    rows = np.random.default_rng(seed).choice(len(preferences), count, replace=False)
    return preferences.select(np.sort(rows))


def preference_texts(preferences: Preferences) -> tuple[Segments, Segments]:
    """Return the better and the worse hypotheses; raise an error if there are no texts."""
    if preferences.better is None or preferences.worse is None:
        raise AdequaError(
            f"There are no texts in {preferences.name or 'these preferences'}; a ranker learns "
            'from preferences with the columns "better", "worse" and "ref".'
        )
    return preferences.better, preferences.worse


def corpora_of(preferences: Preferences) -> list[Corpus]:
    """Return the corpus of each preference."""
    pairs = preferences.ids.get("lp", ("",) * len(preferences))
    return [(preferences.name, pair) for pair in pairs]


def _better_and_worse(rows: Sequence[IntArray]) -> Pairs:
    """Join the rows of datasets, which come as better, worse, better, worse and so on."""
    empty = np.zeros(0, np.intp)
    return np.concatenate([empty, *rows[0::2]]), np.concatenate([empty, *rows[1::2]])


# Texts without repetition, and pairs of them -----------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class UniqueTexts:
    """Distinct hypotheses with their references, and the distinct references.

    Hypothesis i has the references `reference_rows[starts[i] : starts[i + 1]]`.
    """

    segments: Segments
    corpora: tuple[tuple[int, ...], ...]  # rows of each corpus
    references: tuple[str, ...]
    reference_rows: IntArray
    starts: IntArray

    @classmethod
    def collect(
        cls,
        parts: Sequence[tuple[Segments, Sequence[object]]],
        columns: Sequence[str] = (),
    ) -> tuple[UniqueTexts, list[IntArray]]:
        """Return the texts of all parts, and for each part the row of every segment.

        A part is segments and the corpus of each. Segments with the same corpus, text, references
        and columns are one hypothesis.
        """
        row_of: dict[tuple[object, ...], int] = {}
        rows = []
        shared = [name for name in columns if all(name in segments.ids for segments, _ in parts)]
        for segments, corpora in parts:
            cells = [segments.ids[name] for name in shared]
            keys = zip(corpora, segments.hypotheses, segments.references, *cells, strict=True)
            rows.append(np.array([row_of.setdefault(key, len(row_of)) for key in keys], np.intp))
        segments = _segments(list(row_of), shared)
        rows_of_corpus: dict[object, list[int]] = {}
        for row, key in enumerate(row_of):
            rows_of_corpus.setdefault(key[0], []).append(row)
        references: dict[str, int] = {}
        pairs = segments.pairs()
        reference_rows = [references.setdefault(text, len(references)) for text in pairs.references]
        texts = cls(
            segments=segments,
            corpora=tuple(map(tuple, rows_of_corpus.values())),
            references=tuple(references),
            reference_rows=np.array(reference_rows, np.intp),
            starts=np.searchsorted(pairs.segment, np.arange(len(segments) + 1)),
        )
        return texts, rows

    def triples(self, first: IntArray, second: IntArray) -> tuple[Triples, IntArray]:
        """Return each pair of hypotheses with each of its references, and each pair's start."""
        counts = np.diff(self.starts)[first]
        starts = np.cumsum(counts) - counts
        index = np.arange(counts.sum()) - np.repeat(starts, counts)  # among the pair's references
        reference = self.reference_rows[np.repeat(self.starts[first], counts) + index]
        return Triples(np.repeat(first, counts), np.repeat(second, counts), reference), starts

    def features(
        self, inputs: RankerInputs, stage: Callable[[str], None], scored: Scored
    ) -> Features:
        """Return the features of the texts before scaling; each text is encoded once."""
        scores = inputs.compute_scores(self.segments, self.corpora, stage, scored)
        texts = list(dict.fromkeys((*self.segments.hypotheses, *self.references)))
        row_of = {text: row for row, text in enumerate(texts)}
        vectors = inputs.encode(texts, stage)
        return Features(
            hypotheses=vectors[[row_of[text] for text in self.segments.hypotheses]],
            scores=scores,
            references=vectors[[row_of[text] for text in self.references]],
        )


def _segments(keys: Sequence[tuple[object, ...]], columns: Sequence[str]) -> Segments:
    """Segments from keys of corpus, hypothesis, references and the cells of the columns."""
    cells = list(zip(*(key[3:] for key in keys), strict=True)) if columns else []
    return Segments(
        hypotheses=tuple(str(key[1]) for key in keys),
        references=tuple(key[2] for key in keys),  # type: ignore[misc]  # tuples of strings
        ids={name: tuple(map(str, cell)) for name, cell in zip(columns, cells, strict=False)},
    )


def mean_over_references(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the mean value of each pair, from values of its triples.

    >>> mean_over_references(np.array([1.0, 2.0, 5.0]), np.array([0, 2])).tolist()
    [1.5, 5.0]
    """
    if not len(starts):
        return np.zeros(0)
    return np.asarray(np.add.reduceat(values, starts) / np.diff([*starts, len(values)]))


def check_contradictions(pairs: Pairs, note: Callable[[str], None]) -> None:
    """Note how many preferences contradict each other; raise an error if all cancel out."""
    opposite = count_contradictions(*pairs)
    if not opposite:
        return
    rows = len(pairs[0])
    note(f"{opposite:,} of {rows:,} preferences have an opposite one between the same two texts.")
    both_orders = np.concatenate([pairs[0], pairs[1]]), np.concatenate([pairs[1], pairs[0]])
    signs = np.repeat([1, -1], rows)
    _, pair_codes = np.unique(np.stack(both_orders), axis=1, return_inverse=True)
    if not np.bincount(pair_codes.ravel(), signs).any():
        raise AdequaError(
            "For every preference there is an opposite one between the same two texts, so that "
            "nothing can be learnt from them."
        )


def count_contradictions(better: IntArray, worse: IntArray) -> int:
    """Return how many preferences have an opposite one between the same two hypotheses.

    >>> count_contradictions(np.array([0, 1, 0, 2]), np.array([1, 0, 1, 0]))
    3
    """
    pairs = list(zip(better.tolist(), worse.tolist(), strict=True))
    distinct = set(pairs)
    return sum((worse_, better_) in distinct for better_, worse_ in pairs)
