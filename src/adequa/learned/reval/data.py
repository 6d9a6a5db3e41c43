"""What a Tree-LSTM learns from: ratings from 1 to 5, and those it is chosen on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings, joined
from adequa.learned.base import rated_texts
from adequa.learned.folds import split_off
from adequa.learned.references import reference_groups
from adequa.metrics.registry import check_choice
from adequa.runtime.batching import distinct
from adequa.segments import FloatArray, IntArray, Segments
from adequa.statistics.correlation import pearson

Formula: TypeAlias = Literal["share", "smoothed"]

LOWEST, HIGHEST = 1.0, 5.0  # similarity


def similarity(wins: FloatArray, losses: FloatArray, formula: Formula) -> FloatArray:
    """Similarities from 1 to 5.

    >>> similarity(np.array([1.0, 6.0]), np.array([0.0, 2.0]), "smoothed").round(2)
    array([3.67, 3.8 ])
    """
    check_choice("formula", formula, get_args(Formula))
    added = 1.0 if formula == "smoothed" else 0.0
    share = (wins + added) / (wins + losses + 2 * added)
    return np.asarray(LOWEST + (HIGHEST - LOWEST) * share)


def rated_preferences(preferences: Preferences, formula: Formula, fewest: int = 1) -> Ratings:
    """One rating for each different hypothesis of a reference, in the order of appearance.

    Systems with the same output count as one. Preferences between equal texts say nothing, and
    hypotheses with fewer than so many comparisons are left out.
    """
    told = preferences.without_identical()
    if told.better is None or told.worse is None:
        raise AdequaError(
            f"There are no texts in {preferences.name or 'these preferences'}; a metric learns from"
            ' preferences with the columns "better", "worse" and "ref".'
        )
    if not len(told):
        raise AdequaError("There are no preferences between different texts to learn from.")
    pairs = told.ids.get("lp", ("",) * len(told))
    outputs, at = distinct(
        [
            *zip(told.better.hypotheses, told.better.references, pairs, strict=True),
            *zip(told.worse.hypotheses, told.worse.references, pairs, strict=True),
        ]
    )
    won, lost = np.split(at, 2)
    wins, losses = (np.bincount(side, minlength=len(outputs)).astype(float) for side in (won, lost))
    told_enough = np.flatnonzero(wins + losses >= fewest)
    if not len(told_enough):
        raise AdequaError(
            f"No output in {preferences.name or 'these preferences'} was compared {fewest} times; "
            "ask for fewer comparisons."
        )
    hypotheses, references, of_pair = zip(*(outputs[row] for row in told_enough), strict=True)
    return Ratings(
        scores=similarity(wins, losses, formula)[told_enough],
        ids={"lp": of_pair} if "lp" in told.ids else {},
        segments=Segments(hypotheses, references),
        name=preferences.name,
    )


# Ratings of similarity tasks come in parts that their authors have made.
_SPLIT, _TRAIN, _DEVELOPMENT = "split", "train", "dev"


_FEWEST = 2  # ratings that a correlation needs


@dataclass(frozen=True, slots=True, eq=False)
class TreeJudgements:
    """Ratings to learn from, from 1 to 5, and ratings to choose the epoch on, on any scale."""

    learnt: Ratings
    development: Ratings
    # The rows of development data that are correlated together: by dataset, by language pair.
    parts: tuple[tuple[IntArray, ...], ...]

    @classmethod
    def of(
        cls, learnt: Ratings, development: Ratings, note: Callable[[str], None]
    ) -> TreeJudgements:
        """With the parts whose ratings differ, and all rows as one where there is none."""
        parts = _parts_that_differ(development)
        if not parts:
            note(
                f"{development.name or 'the ratings to choose on'}: no language pair has ratings "
                "that differ, so that the epoch is chosen by the correlation over all of them."
            )
            parts = ((np.arange(len(development)),),)
        return cls(learnt, development, parts)

    def criterion(self, predictions: FloatArray) -> float:
        """Pearson with the ratings to choose on: the mean over the datasets.

        That of a dataset is the mean over its language pairs. Predictions that do not differ count
        0 in one of them, and where they differ in none, -1.
        """
        human = self.development.scores
        by_pair = [
            np.array([float(pearson(human[rows], predictions[rows])) for rows in pairs])
            for pairs in self.parts
        ]
        if np.isnan(np.concatenate(by_pair)).all():
            return -1.0
        return float(np.mean([np.nan_to_num(figures, nan=0.0).mean() for figures in by_pair]))


def _parts_that_differ(ratings: Ratings) -> tuple[tuple[IntArray, ...], ...]:
    """The rows of each language pair of each dataset, where ratings differ."""
    datasets = ratings.ids["dataset"]
    rows: dict[str, dict[str, list[int]]] = {}
    for row, (dataset, pair) in enumerate(
        zip(datasets, ratings.ids.get("lp", ("",) * len(ratings)), strict=True)
    ):
        rows.setdefault(dataset, {}).setdefault(pair, []).append(row)
    by_dataset = (
        tuple(np.array(some) for some in pairs.values() if _differ(ratings.scores[some]))
        for pairs in rows.values()
    )
    return tuple(pairs for pairs in by_dataset if pairs)


def _differ(scores: FloatArray) -> bool:
    return len(scores) >= _FEWEST and bool(np.ptp(scores))


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
    chosen_on = [_of_split(each, _DEVELOPMENT, "choose on") for each in development]
    learnt, held_out = [], []
    for each in given:
        rated = rated_preferences(each, formula, fewest) if isinstance(each, Preferences) else each
        rated_texts(rated)
        if _SPLIT in rated.ids:
            some, rest = _of_split(rated, _TRAIN, "learn from"), _rows(rated, _DEVELOPMENT)
        elif development:
            some, rest = rated, None
        else:
            some, rest = _split(rated, share, seed)
        learnt.append(_from_1_to_5(some, note))
        if rest is not None and len(rest):
            held_out.append(rest)
    for each in chosen_on:
        rated_texts(each)
    if not chosen_on:
        _check_held_out(held_out, sum(map(len, learnt)))
    return TreeJudgements.of(_together(learnt), _together(chosen_on or held_out), note)


def _check_held_out(parts: Sequence[Ratings], learnt: int) -> None:
    if not parts:
        raise AdequaError(
            "There are no ratings to choose the best epoch on; name some with --development."
        )
    if not any(_differ(part.scores) for part in parts):
        count = sum(map(len, parts))
        held = f"{count:,} are held out to choose the epoch, and they do not differ"
        if count == 1:
            held = "1 is held out to choose the epoch, and a correlation needs more"
        raise AdequaError(
            f"Of {learnt + count:,} ratings {held}; give more, or name --development."
        )


def _together(parts: Sequence[Ratings]) -> Ratings:
    """Ratings of several datasets as one; those without language pairs have an empty one."""
    if any("lp" in part.ids for part in parts):
        parts = [replace(part, ids={"lp": part.ids.get("lp", ("",) * len(part))}) for part in parts]
    return joined(list(parts))


def _of_split(ratings: Ratings, part: str, use: str) -> Ratings:
    """The rows of one part of a split; all of them where there is none."""
    if _SPLIT not in ratings.ids:
        return ratings
    found = _rows(ratings, part)
    if not len(found):
        raise AdequaError(
            f'{ratings.name} has a column "{_SPLIT}", and no row of it is "{part}"; leave the '
            f"column out to {use} all rows."
        )
    return found


def _rows(ratings: Ratings, part: str) -> Ratings:
    return ratings.select(np.flatnonzero(np.array(ratings.ids[_SPLIT]) == part))


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
