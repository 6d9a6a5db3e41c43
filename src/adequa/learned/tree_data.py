"""What a Tree-LSTM learns from: ratings from 1 to 5, and those it is chosen on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings, joined
from adequa.learned.preference_ratings import HIGHEST, LOWEST, Formula, rated_preferences
from adequa.learned.references import OfSeveral, reduced, reference_groups
from adequa.learned.training_data import rated_texts
from adequa.segments import FloatArray, IntArray, Segments
from adequa.statistics.correlation import pearson
from adequa.training.folds import split_off

# Ratings of similarity tasks come in parts that their authors have made.
_SPLIT, _TRAIN, _DEVELOPMENT = "split", "train", "dev"


@dataclass(frozen=True, slots=True, eq=False)
class TreeJudgements:
    """Ratings to learn from, from 1 to 5, and ratings to choose the epoch on, on any scale."""

    learnt: Ratings
    development: Ratings

    def criterion(self, predictions: FloatArray) -> float:
        """Pearson with the ratings to choose on: the mean over the datasets.

        That of a dataset is the mean over its language pairs.
        """
        ids, human = self.development.ids, self.development.scores
        datasets = np.array(ids["dataset"])
        pairs = np.array(ids["lp"]) if "lp" in ids else np.full(len(human), "")
        figures = [
            np.mean(
                [
                    pearson(human[some], predictions[some])
                    for pair in np.unique(pairs[datasets == dataset])
                    for some in [(datasets == dataset) & (pairs == pair)]
                ]
            )
            for dataset in np.unique(datasets)
        ]
        return float(np.nan_to_num(np.mean(figures), nan=-1.0))


def collect(
    given: Sequence[Ratings | Preferences],
    development: Sequence[Ratings],
    *,
    formula: Formula,
    fewest: int,
    share: float,
    seed: int,
    note: Callable[[str], None],
) -> TreeJudgements:
    """All that is learnt from as ratings, and what is held out.

    Data that say themselves what is for training and for development are taken at their word;
    of the others a share is held out, references kept together, unless there are ratings for
    development.
    """
    if not given:
        raise AdequaError("A Tree-LSTM learns from preferences or ratings; there are none.")
    learnt, held_out = [], list(development)
    for each in given:
        rated = rated_preferences(each, formula, fewest) if isinstance(each, Preferences) else each
        rated_texts(rated)
        if _SPLIT in rated.ids:
            some, rest = _by_split(rated)
        elif development:
            some, rest = rated, None
        else:
            some, rest = _split(rated, share, seed)
        learnt.append(_from_1_to_5(some, note))
        if rest is not None and not development:
            held_out.append(rest)
    if not held_out:
        raise AdequaError("There are no ratings to choose the best epoch on; give some more.")
    for each in held_out:
        rated_texts(each)
    return TreeJudgements(_together(learnt), _together(held_out))


def _together(parts: Sequence[Ratings]) -> Ratings:
    """Ratings of several datasets as one; those without language pairs have an empty one."""
    if any("lp" in part.ids for part in parts):
        parts = [replace(part, ids={"lp": part.ids.get("lp", ("",) * len(part))}) for part in parts]
    return joined(list(parts))


def _by_split(ratings: Ratings) -> tuple[Ratings, Ratings | None]:
    """The rows for training and those for development; rows for testing are left alone."""
    splits = np.array(ratings.ids[_SPLIT])
    train, development = (np.flatnonzero(splits == name) for name in (_TRAIN, _DEVELOPMENT))
    if not len(train):
        raise AdequaError(
            f'{ratings.name} has a column "{_SPLIT}", and no row of it is "{_TRAIN}"; leave the '
            "column out to learn from all rows."
        )
    return ratings.select(train), ratings.select(development) if len(development) else None


def _split(ratings: Ratings, share: float, seed: int) -> tuple[Ratings, Ratings]:
    held_out = split_off(len(ratings), share, seed, reference_groups(rated_texts(ratings)))
    rest, some = np.flatnonzero(held_out), np.flatnonzero(~held_out)
    return ratings.select(some), ratings.select(rest)


def _from_1_to_5(ratings: Ratings, note: Callable[[str], None]) -> Ratings:
    """Ratings on the scale that the network has classes for."""
    scores = ratings.scores
    lowest, highest = float(scores.min()), float(scores.max())
    if lowest >= LOWEST and highest <= HIGHEST:
        return ratings
    if lowest == highest:
        raise AdequaError(
            f"Ratings that do not differ cannot be brought to the scale from 1 to 5: {lowest:g}."
        )
    note(
        f"{ratings.name or 'the ratings'}: from {lowest:g} to {highest:g}, which is brought to 1 "
        "to 5."
    )
    scaled: npt.NDArray[np.float64] = LOWEST + (HIGHEST - LOWEST) * (scores - lowest) / (
        highest - lowest
    )
    return replace(ratings, scores=np.clip(scaled, LOWEST, HIGHEST))


@dataclass(frozen=True, slots=True, eq=False)
class TreePairing:
    """Every hypothesis with each of its references in turn."""

    references: list[str]
    translations: list[str]
    rows: IntArray  # of the segments

    @classmethod
    def of(cls, ratings: Ratings) -> TreePairing:
        """The pairs of ratings."""
        return cls.of_segments(rated_texts(ratings))

    @classmethod
    def of_segments(cls, segments: Segments) -> TreePairing:
        """The pairs of segments."""
        counts = [len(several) for several in segments.references]
        rows = np.repeat(np.arange(len(counts)), counts)
        return cls(
            references=list(chain.from_iterable(segments.references)),
            translations=[segments.hypotheses[row] for row in rows],
            rows=rows,
        )

    def by_segment(self, scores: FloatArray, of_several: OfSeveral) -> FloatArray:
        """One score a segment, from those of its pairs."""
        starts = np.unique(self.rows, return_index=True)[1]
        return reduced(scores, starts, of_several)
