"""What people think of whole systems: means of ratings, or standings from preferences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np

from adequa.agreement.groups import (
    column_names,
    numbered,
    one_system_a_row,
    parts_of_systems,
    rows_by,
    splitter,
)
from adequa.agreement.protocol import HumanScore
from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings, Ties
from adequa.segments import FloatArray
from adequa.statistics.standings import expected_wins, trueskill

SIDES = ("better_system", "worse_system")


def mean_ratings(ratings: Ratings) -> dict[tuple[str, str], float]:
    """The mean rating of every system, by column of the table and system."""
    columns = column_names(ratings.ids, len(ratings))
    parts = parts_of_systems(columns, known_systems(ratings))
    rows, systems = one_system_a_row(parts)
    keys = [(columns[row], system) for row, system in zip(rows.tolist(), systems, strict=True)]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([places[key] for key in keys], dtype=np.intp)
    means = np.bincount(codes, ratings.scores[rows]) / np.bincount(codes)
    return dict(zip(places, means.tolist(), strict=True))


def known_systems(ratings: Ratings) -> tuple[str, ...]:
    """The system of every rating, if all are known."""
    systems = ratings.ids.get("system", ("",))
    if not all(systems):
        raise AdequaError("The judgements do not name the system of every output.")
    return systems


def known_sides(preferences: Preferences) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The better and the worse system of every preference, if all are known."""
    better, worse = (preferences.ids.get(side, ("",)) for side in SIDES)
    if not all(better) or not all(worse):
        raise AdequaError("The judgements do not name the systems of every preference.")
    return better, worse


def standings(preferences: Preferences, how: HumanScore, seed: int) -> dict[tuple[str, str], float]:
    """The score that wins and losses give every system, by column of the table and system.

    A preference between outputs of several systems is one for each two of them.
    """
    columns = column_names(preferences.ids, len(preferences))
    better, worse = known_sides(preferences)
    split = splitter(columns * 2, better + worse)
    found: dict[tuple[str, str], float] = {}
    for column, rows in rows_by(columns).items():
        pairs = [
            (winner, loser)
            for row in rows.tolist()
            for winner in split(column, better[row])
            for loser in split(column, worse[row])
            if winner != loser
        ]
        if not pairs:
            raise AdequaError(f"{column}: no preference is between two different systems.")
        winners, losers = zip(*pairs, strict=True)
        codes, systems = numbered(winners + losers)
        better_codes, worse_codes = np.split(codes, 2)
        if how == "trueskill":
            lp = preferences.ids["lp"][int(rows[0])] if "lp" in preferences.ids else ""
            ties = _tie_counts(preferences.ties, lp, systems, partial(split, column))
            scores = trueskill(better_codes, worse_codes, len(systems), seed, ties=ties)
        else:
            scores = expected_wins(better_codes, worse_codes, len(systems))
        found |= {
            (column, name): score for name, score in zip(systems, scores.tolist(), strict=True)
        }
    return found


def _tie_counts(
    ties: Ties, lp: str, systems: Sequence[str], split: Callable[[str], tuple[str, ...]]
) -> FloatArray:
    """How often people saw two systems as equal, (S, S); ties of joined ones are each one's."""
    number = {system: code for code, system in enumerate(systems)}
    counts = np.zeros((len(systems), len(systems)))
    for (pair, *names), count in ties.items():
        for first, second in product(*map(split, names)) if pair == lp else ():
            if first != second and first in number and second in number:
                counts[number[first], number[second]] += count
    return counts
