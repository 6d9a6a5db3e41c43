"""What a pairwise ranker learns from, and what its epoch is chosen on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings
from adequa.learned.folds import split_off
from adequa.learned.pairwise.data import both_texts, contradictions, corpora_of
from adequa.learned.references import reference_groups
from adequa.segments import FloatArray, IntArray, Segments
from adequa.statistics.preference_tau import tau_wmt12

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
