"""What is left out of an evaluation on request: language pairs, references, outliers, systems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from adequa.agreement.groups import codes, column_names, one_system_a_row, rows_by
from adequa.errors import AdequaError, nearest
from adequa.judgements import Ids, IntArray, Judgements, Preferences, RatedSystems, Ratings
from adequa.segments import FloatArray, Segments
from adequa.statistics.outliers import outliers
from adequa.statistics.standings import expected_wins

_HUMAN = re.compile(r"(human|ref(erence)?)([-_. ]?[a-z0-9])?(\.\d+)?", re.IGNORECASE)
SIDES = ("better_system", "worse_system")
_Rows = TypeVar("_Rows", Ratings, Preferences, Segments)


@dataclass(frozen=True, slots=True)
class Excluded:
    """Judgements after exclusions, and a note on what is gone."""

    judgements: Judgements
    notes: tuple[str, ...] = ()


def is_human(system: str) -> bool:
    """Whether a system's name is that of a human reference.

    >>> [name for name in ("Human-A.0", "refB", "ref-A", "refined-nmt") if is_human(name)]
    ['Human-A.0', 'refB', 'ref-A']
    """
    return _HUMAN.fullmatch(system) is not None


def with_ids(judgements: Judgements, name: str, wanted: Sequence[str]) -> Judgements:
    """Only the judgements whose id of this name (`lp`, `split`) is one of the wanted."""
    ids = _ids(judgements)
    there = dict.fromkeys(ids.get(name, ()))
    for value in wanted:
        if value not in there:
            listed = ", ".join(there) or "none"
            raise AdequaError(
                f'The judgements have no {name} "{value}".{nearest(value, there)} There are: '
                f"{listed}."
            )
    return _filtered(judgements, lambda found, _: [value in wanted for value in found[name]])


def without_systems(judgements: Judgements, systems: Sequence[str]) -> Excluded:
    """Without the systems of these names."""
    there = _systems(judgements)
    for system in systems:
        if system not in there:
            raise AdequaError(f'The judgements have no system "{system}".{nearest(system, there)}')
    gone = frozenset(systems)
    return _without(judgements, lambda _, system: system in gone, "systems named to be left out")


def without_references(judgements: Judgements) -> Excluded:
    """Without the human references that were scored as if they were systems."""
    return _without(judgements, lambda _, system: is_human(system), "human references")


def without_outliers(judgements: Judgements) -> Excluded:
    """Without systems whose human score lies far from the others of their language pair."""
    found = set(_outlying(judgements))
    return _without(judgements, lambda pair, system: (pair, system) in found, "outlier systems")


def _outlying(judgements: Judgements) -> Iterable[tuple[str, str]]:
    ids = _ids(judgements)
    for pair, rows in rows_by(column_names(ids, _count(judgements))).items():
        names, human = _human_scores(judgements, ids, rows)
        yield from ((pair, name) for name in np.array(names)[outliers(human)].tolist())


def _human_scores(
    judgements: Judgements, ids: Ids, rows: IntArray
) -> tuple[Sequence[str], FloatArray]:
    """The systems of some rows, and what people think of them."""
    if isinstance(judgements, Preferences):
        both = [ids[side][row] for side in SIDES for row in rows]
        better, worse = np.split(codes(both, len(both)), 2)
        names = tuple(dict.fromkeys(both))
        return names, expected_wins(better, worse, len(names))
    scores = _ratings(judgements).scores[rows]
    places, systems = one_system_a_row([ids["system"][row] for row in rows])
    numbers = codes(systems, len(systems))
    names = tuple(dict.fromkeys(systems))
    return names, np.bincount(numbers, scores[places]) / np.bincount(numbers)


def _without(judgements: Judgements, gone: Callable[[str, str], bool], described: str) -> Excluded:
    """Without the rows of systems that `gone` says of, and a note that lists them."""
    _check_systems(judgements)
    names: dict[str, None] = {}

    def keep(ids: Ids, count: int) -> list[bool]:
        pairs = column_names(ids, count)
        kept = [True] * count
        for side in ("system", *SIDES):
            for row, (pair, system) in enumerate(zip(pairs, ids.get(side, ()), strict=False)):
                if gone(pair, system):
                    names[system] = None
                    kept[row] = False
        return kept

    left = _filtered(judgements, keep)
    listed = ", ".join(names) if names else "none"
    return Excluded(left, (f"{described} left out: {listed}.",))


def _filtered(judgements: Judgements, keep: Callable[[Ids, int], list[bool]]) -> Judgements:
    """The judgements of rows to keep, or a sentence where none is left."""
    if isinstance(judgements, RatedSystems):
        outputs = judgements.outputs
        return RatedSystems(
            ratings=_rows(judgements.ratings, judgements.ratings.ids, keep),
            outputs=None if outputs is None else _rows(outputs, outputs.ids, keep),
        )
    if isinstance(judgements, Preferences):
        return _rows(judgements, judgements.ids, keep)
    return _rows(judgements, judgements.ids, keep)


def _rows(rows: _Rows, ids: Ids, keep: Callable[[Ids, int], list[bool]]) -> _Rows:
    kept = np.flatnonzero(keep(ids, len(rows)))
    if not len(kept):
        raise AdequaError("Nothing is left to evaluate on: every judgement was left out.")
    return rows.select(kept.tolist())


def _ratings(judgements: Ratings | RatedSystems) -> Ratings:
    return judgements.ratings if isinstance(judgements, RatedSystems) else judgements


def _ids(judgements: Judgements) -> Ids:
    return judgements.ids if isinstance(judgements, Preferences) else _ratings(judgements).ids


def _count(judgements: Judgements) -> int:
    return len(judgements) if isinstance(judgements, Preferences) else len(_ratings(judgements))


def _systems(judgements: Judgements) -> set[str]:
    ids = _ids(judgements)
    return {name for side in ("system", *SIDES) for name in ids.get(side, ())}


def _check_systems(judgements: Judgements) -> None:
    if not any(_systems(judgements)):
        raise AdequaError("The judgements do not name systems, so that none can be left out.")
