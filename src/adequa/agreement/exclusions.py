"""What is left out of an evaluation on request: language pairs, references, outliers, systems."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from adequa.agreement.groups import ALL, JOINED, column_names, parts_of_systems
from adequa.agreement.human_scores import SIDES, mean_ratings, standings
from adequa.agreement.protocol import HumanScore
from adequa.errors import AdequaError, nearest
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings, identified
from adequa.segments import Segments
from adequa.statistics.outliers import outliers

_HUMAN = re.compile(
    r"(\w+[-.])?(human|ref(erence)?)([-_. ]?(reference|stud|[a-z]|\d+))?(\.\d+)?", re.IGNORECASE
)
_Rows = TypeVar("_Rows", Ratings, Preferences, Segments)
# Whether a system of a column (a language pair, and a year where there are several) goes.
_Goes = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class Excluded:
    """Judgements after exclusions, and a note on what is gone."""

    judgements: Judgements
    note: str


def is_human(system: str) -> bool:
    """Whether a system's name is that of a human reference.

    >>> names = ("Human-A.0", "refB", "ref-A", "refstud", "newstest2019-ref", "refined-nmt")
    >>> [name for name in names if not is_human(name)]
    ['refined-nmt']
    """
    return _HUMAN.fullmatch(system) is not None


def with_ids(judgements: Judgements, name: str, wanted: Sequence[str]) -> Judgements:
    """Only the judgements whose id of this name (`lp`, `split`) is one of the wanted."""
    there = dict.fromkeys(identified(judgements).ids.get(name, ()))
    for value in wanted:
        if value not in there:
            raise AdequaError(
                f'The judgements have no {name} "{value}".{nearest(value, there)} There are: '
                f"{', '.join(there) or 'none'}."
            )

    def only(rows: _Rows) -> _Rows:
        return _selected(rows, [value in wanted for value in rows.ids[name]])

    return _mapped(judgements, only)


def without_systems(judgements: Judgements, systems: Sequence[str]) -> Excluded:
    """Without the systems of these names."""
    there = {system for _, system in _systems(judgements)}
    for system in systems:
        if system not in there:
            raise AdequaError(f'The judgements have no system "{system}".{nearest(system, there)}')
    gone = frozenset(systems)
    return _without(judgements, lambda _, system: system in gone, "systems")


def without_references(judgements: Judgements) -> Excluded:
    """Without the human references that were scored as if they were systems."""
    return _without(judgements, lambda _, system: is_human(system), "human references")


def without_outliers(
    judgements: Judgements, human: HumanScore = "expected-wins", seed: int = 0
) -> Excluded:
    """Without systems whose human score lies far from the others of their language pair.

    `human` says where the scores of preferences come from.
    """
    rows = identified(judgements)
    if isinstance(rows, Preferences):
        scores_of = standings(rows, human, seed)
    else:
        scores_of = mean_ratings(rows)
    found = set()
    for column in {column for column, _ in scores_of}:
        systems = [system for of, system in scores_of if of == column]
        scores = np.array([scores_of[column, system] for system in systems])
        found |= {(column, systems[place]) for place in np.flatnonzero(outliers(scores))}
    return _without(judgements, lambda *key: key in found, "outlier systems")


def _without(judgements: Judgements, goes: _Goes, described: str) -> Excluded:
    """Without the outputs of some systems."""
    gone = {key for key in _systems(judgements) if goes(*key)}

    def remaining(rows: _Rows) -> _Rows:
        return _remaining(rows, gone)

    left = _mapped(judgements, remaining)
    names = [f"{system} ({column})" if column != ALL else system for column, system in sorted(gone)]
    return Excluded(left, f"{described} left out: {', '.join(names) or 'none'}.")


def _remaining(rows: _Rows, gone: Container[tuple[str, str]]) -> _Rows:
    """Rows with a system left on every side; an output of several (`A+B`) stays for the others."""
    columns = column_names(rows.ids, len(rows))
    parts = _parts(rows)
    left = {
        side: [
            JOINED.join(system for system in names if (column, system) not in gone)
            for column, names in zip(columns, of_side, strict=True)
        ]
        for side, of_side in parts.items()
    }
    keep = [
        all(name or not any(names) for name, names in zip(of_row, before, strict=True))
        for of_row, before in zip(
            zip(*left.values(), strict=True), zip(*parts.values(), strict=True), strict=True
        )
    ]
    ids = {**rows.ids, **{side: tuple(names) for side, names in left.items()}}
    return _selected(replace(rows, ids=ids), keep)


def _systems(judgements: Judgements) -> set[tuple[str, str]]:
    """Every system, by column of the table."""
    rows = identified(judgements)
    columns = column_names(rows.ids, len(rows))
    found = {
        (column, system)
        for of_side in _parts(rows).values()
        for column, names in zip(columns, of_side, strict=True)
        for system in names
        if system
    }
    if not found:
        raise AdequaError("The judgements do not name systems, so that none can be left out.")
    return found


def _parts(rows: Ratings | Preferences | Segments) -> dict[str, list[tuple[str, ...]]]:
    """The systems behind each row, on each side that rows have."""
    sides = [side for side in ("system", *SIDES) if side in rows.ids]
    columns = column_names(rows.ids, len(rows))
    names = [name for side in sides for name in rows.ids[side]]
    parts = parts_of_systems(columns * len(sides), names)
    return {
        side: parts[place * len(rows) : (place + 1) * len(rows)] for place, side in enumerate(sides)
    }


class _OnRows(Protocol):
    """What is done to rows of any kind."""

    def __call__(self, rows: _Rows) -> _Rows: ...


def _mapped(judgements: Judgements, on_rows: _OnRows) -> Judgements:
    """The same kind of judgements, with a function applied to whatever has rows."""
    if isinstance(judgements, Preferences):
        return on_rows(judgements)
    if isinstance(judgements, RatedSystems):
        outputs = judgements.outputs
        return RatedSystems(
            on_rows(judgements.ratings), None if outputs is None else on_rows(outputs)
        )
    return on_rows(judgements)


def _selected(rows: _Rows, keep: Sequence[bool]) -> _Rows:
    kept = np.flatnonzero(keep)
    if not len(kept):
        raise AdequaError("Nothing is left to evaluate on: every judgement was left out.")
    return rows.select(kept.tolist())
