"""Training data of ReVal: ratings from 1 to 5, and ratings on which the best epoch is chosen.

ReVal (Gupta et al., 2015) turns the rankings of WMT13 into similarities from 1 to 5. Its own way
needs the ranks within each ranking, which preferences no longer have. Here a hypothesis with w wins
and l losses among its comparisons has a similarity y by one of two formulas:

    share      y = 1 + 4 w / (w + l)
    smoothed   y = 1 + 4 (w + 1) / (w + l + 2)

The second is nearer to the middle, the fewer the comparisons are: a hypothesis that won once has
3.67 and not 5. Ratings on another scale are brought to 1 to 5 linearly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings, joined
from adequa.learned.base import rated_texts
from adequa.learned.folds import reference_groups, split_off
from adequa.metrics.base import check_choice
from adequa.runtime.batching import distinct
from adequa.segments import FloatArray, IntArray, Segments
from adequa.statistics.correlation import pearson

Formula: TypeAlias = Literal["share", "smoothed"]

LOWEST, HIGHEST = 1.0, 5.0  # similarity
DEVELOPMENT_FRACTION = 0.1  # of ratings to choose the epoch on, where there are no others for it
# Ratings of similarity tasks come with a split by their authors, in this column.
_SPLIT, _TRAIN, _DEVELOPMENT = "split", "train", "dev"
_MIN_RATINGS = 2  # that a correlation needs


# Ratings from preferences -------------------------------------------------------------------------


def similarity(wins: FloatArray, losses: FloatArray, formula: Formula) -> FloatArray:
    """Return similarities from 1 to 5.

    >>> similarity(np.array([1.0, 6.0]), np.array([0.0, 2.0]), "smoothed").round(2)
    array([3.67, 3.8 ])
    """
    check_choice("formula", formula, get_args(Formula))
    added = 1.0 if formula == "smoothed" else 0.0
    fraction = (wins + added) / (wins + losses + 2 * added)
    return np.asarray(LOWEST + (HIGHEST - LOWEST) * fraction)


def rate_preferences(
    preferences: Preferences, formula: Formula, min_comparisons: int = 1
) -> Ratings:
    """Return one rating for each distinct hypothesis of a reference, in the order of appearance.

    Systems with the same output count as one. Preferences between equal texts are ignored, and
    hypotheses with fewer comparisons than `min_comparisons` are left out.
    """
    usable = preferences.without_identical()
    if usable.better is None or usable.worse is None:
        raise AdequaError(
            f"There are no texts in {preferences.name or 'these preferences'}; a metric learns from"
            ' preferences with the columns "better", "worse" and "ref".'
        )
    if not len(usable):
        raise AdequaError("There are no preferences between different texts to learn from.")
    pairs = usable.ids.get("lp", ("",) * len(usable))
    outputs, indices = distinct(
        [
            *zip(usable.better.hypotheses, usable.better.references, pairs, strict=True),
            *zip(usable.worse.hypotheses, usable.worse.references, pairs, strict=True),
        ]
    )
    wins, losses = (
        np.bincount(side, minlength=len(outputs)).astype(float) for side in np.split(indices, 2)
    )
    rows = np.flatnonzero(wins + losses >= min_comparisons)
    if not len(rows):
        raise AdequaError(
            f"No output in {preferences.name or 'these preferences'} was compared "
            f"{min_comparisons} times; ask for fewer comparisons."
        )
    hypotheses, references, language_pairs = zip(*(outputs[row] for row in rows), strict=True)
    return Ratings(
        scores=similarity(wins, losses, formula)[rows],
        ids={"lp": language_pairs} if "lp" in usable.ids else {},
        segments=Segments(hypotheses, references),
        name=preferences.name,
    )


# Training and development ratings -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TreeJudgements:
    """Ratings to train on, from 1 to 5, and ratings to choose the epoch on, on any scale."""

    training: Ratings
    development: Ratings
    # Rows of the development ratings that are correlated together: by dataset, by language pair.
    groups: tuple[tuple[IntArray, ...], ...]

    def criterion(self, predictions: FloatArray) -> float:
        """Return the Pearson correlation with the development ratings, averaged over datasets.

        The figure of a dataset is the mean over its language pairs. A pair whose predictions are
        all equal counts 0; if that is so in every pair, the criterion is -1.
        """
        human = self.development.scores
        by_pair = [
            np.array([float(pearson(human[rows], predictions[rows])) for rows in pairs])
            for pairs in self.groups
        ]
        if np.isnan(np.concatenate(by_pair)).all():
            return -1.0
        return float(np.mean([np.nan_to_num(figures, nan=0.0).mean() for figures in by_pair]))


def collect_judgements(
    judgements: Sequence[Ratings | Preferences],
    development: Sequence[Ratings],
    *,
    formula: Formula,
    min_comparisons: int,
    seed: int,
    note: Callable[[str], None],
) -> TreeJudgements:
    """Return the ratings to train on and those to choose on.

    Of data with a column "split" the parts "train" and "dev" are used. Of other data
    `DEVELOPMENT_FRACTION` is held out, without parting rows of one reference, unless there are
    development ratings.
    """
    chosen_on = [_split_part(ratings, _DEVELOPMENT, "choose on") for ratings in development]
    to_train, development_parts = [], []
    for data in judgements:
        ratings = (
            rate_preferences(data, formula, min_comparisons)
            if isinstance(data, Preferences)
            else data
        )
        texts = rated_texts(ratings)
        if _SPLIT in ratings.ids:
            development_parts.append(_rows_of_part(ratings, _DEVELOPMENT))
            ratings = _split_part(ratings, _TRAIN, "learn from")
        elif not development:
            mask = split_off(reference_groups(texts), DEVELOPMENT_FRACTION, seed)
            development_parts.append(ratings.select(np.flatnonzero(mask)))
            ratings = ratings.select(np.flatnonzero(~mask))
        to_train.append(_rescale(ratings, note))
    for ratings in chosen_on:
        rated_texts(ratings)
    development_parts = [ratings for ratings in development_parts if len(ratings)]
    if not chosen_on:
        _check_development(development_parts, sum(map(len, to_train)))
    choices = _concatenate(chosen_on or development_parts)
    return TreeJudgements(_concatenate(to_train), choices, _correlation_groups(choices, note))


def _split_part(ratings: Ratings, part: str, use: str) -> Ratings:
    """Return the rows of one part of a split; all rows where there is no split."""
    if _SPLIT not in ratings.ids:
        return ratings
    rows = _rows_of_part(ratings, part)
    if not len(rows):
        raise AdequaError(
            f'{ratings.name} has a column "{_SPLIT}", and no row of it is "{part}"; leave the '
            f"column out to {use} all rows."
        )
    return rows


def _rows_of_part(ratings: Ratings, part: str) -> Ratings:
    return ratings.select(np.flatnonzero(np.array(ratings.ids[_SPLIT]) == part))


def _rescale(ratings: Ratings, note: Callable[[str], None]) -> Ratings:
    """Return ratings on the scale from 1 to 5 that the network has classes for."""
    scores = ratings.scores
    lowest, highest = float(scores.min()), float(scores.max())
    if lowest >= LOWEST and highest <= HIGHEST:
        return ratings
    note(
        f"{ratings.name or 'the ratings'}: from {lowest:g} to {highest:g}, which is brought to 1 "
        "to 5."
    )
    scaled = LOWEST + (HIGHEST - LOWEST) * (scores - lowest) / (highest - lowest)
    return replace(ratings, scores=np.clip(scaled, LOWEST, HIGHEST))


def _check_development(development_parts: Sequence[Ratings], training_rows: int) -> None:
    if not development_parts:
        raise AdequaError(
            "There are no ratings to choose the best epoch on; name some with --development."
        )
    if not any(_varies(ratings.scores) for ratings in development_parts):
        count = sum(map(len, development_parts))
        raise AdequaError(
            "Too few ratings that differ are held out to choose the epoch "
            f"({count:,} of {training_rows + count:,}); give more, or name --development."
        )


def _concatenate(parts: Sequence[Ratings]) -> Ratings:
    """Join the ratings of all datasets; rows without a language pair have an empty one."""
    if any("lp" in part.ids for part in parts):
        parts = [replace(part, ids={"lp": part.ids.get("lp", ("",) * len(part))}) for part in parts]
    return joined(list(parts))


def _correlation_groups(
    ratings: Ratings, note: Callable[[str], None]
) -> tuple[tuple[IntArray, ...], ...]:
    """Return the rows of each language pair of each dataset; pairs of equal ratings are left out.

    Where all are left out, all rows form one group.
    """
    rows: dict[str, dict[str, list[int]]] = {}
    pairs = ratings.ids.get("lp", ("",) * len(ratings))
    for row, (dataset, pair) in enumerate(zip(ratings.ids["dataset"], pairs, strict=True)):
        rows.setdefault(dataset, {}).setdefault(pair, []).append(row)
    by_dataset = (
        tuple(np.array(group) for group in groups.values() if _varies(ratings.scores[group]))
        for groups in rows.values()
    )
    usable = tuple(groups for groups in by_dataset if groups)
    if usable:
        return usable
    note(
        f"{ratings.name or 'the ratings to choose on'}: no language pair has ratings "
        "that differ, so that the epoch is chosen by the correlation over all of them."
    )
    return ((np.arange(len(ratings)),),)


def _varies(scores: FloatArray) -> bool:
    return len(scores) >= _MIN_RATINGS and bool(np.ptp(scores))
