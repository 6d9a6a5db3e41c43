"""The judgements of an evaluation: loaded, and selected by language pair, split and system."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from adequa.agreement.groups import ALL, JOINED, SYSTEMS, column_names, splitter
from adequa.agreement.protocol import HumanScore, Protocol
from adequa.agreement.system_level import mean_ratings, preference_scores, systems_of
from adequa.errors import AdequaError, nearest, one_or_more
from adequa.judgements import Ids, Judgements, Preferences, RatedSystems, Ties, identified
from adequa.statistics.correlation import outliers

_HUMAN = re.compile(
    r"(\w+[-.])?(human|ref(erence)?)([-_. ]?(reference|stud|[a-z]|\d+))?(\.\d+)?", re.IGNORECASE
)
# Judgements after an exclusion, and a note on what was left out.
_Excluded: TypeAlias = tuple[Judgements, str]
# The systems behind a name, in a column of the table.
_Split = Callable[[str, str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice of judgements; by default, all of them."""

    lp: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    exclude_systems: tuple[str, ...] = ()
    exclude_references: bool = False
    exclude_outliers: bool = False

    def __post_init__(self) -> None:
        for name in ("lp", "split", "exclude_systems"):
            object.__setattr__(self, name, one_or_more(getattr(self, name)))

    def __str__(self) -> str:
        """The choices in one line, as a signature shows them.

        >>> str(Selection(lp=("cs-en", "de-en"), exclude_outliers=True))
        'lp:cs-en,de-en|exclude:outliers'
        """
        excluded = [f"system {name}" for name in self.exclude_systems]
        excluded += ["references"] * self.exclude_references + ["outliers"] * self.exclude_outliers
        parts = {"lp": self.lp, "split": self.split, "exclude": excluded}
        return "|".join(f"{name}:{','.join(values)}" for name, values in parts.items() if values)


def selected(
    judgements: Judgements, selection: Selection, protocol: Protocol
) -> tuple[Judgements, list[str]]:
    """The judgements to evaluate on, and notes on what is left out of them."""
    for name, values in (("lp", selection.lp), ("split", selection.split)):
        if values:
            judgements = with_ids(judgements, name, values)
    notes = []
    for without in _steps(selection, protocol):
        judgements, note = without(judgements)
        notes.append(note)
    return judgements, notes


def _steps(selection: Selection, protocol: Protocol) -> Iterator[Callable[[Judgements], _Excluded]]:
    if selection.exclude_systems:
        yield partial(without_systems, systems=selection.exclude_systems)
    if selection.exclude_references:
        yield without_references
    if selection.exclude_outliers:
        human = protocol.human if protocol.human == "trueskill" else "expected-wins"
        yield partial(without_outliers, human=human, seed=protocol.seed)


def is_human(system: str) -> bool:
    """Whether a system's name is that of a human reference.

    >>> names = ("Human-A.0", "refB", "ref-A", "refstud", "newstest2019-ref", "refined-nmt")
    >>> [name for name in names if not is_human(name)]
    ['refined-nmt']
    """
    return _HUMAN.fullmatch(system) is not None


def with_ids(judgements: Judgements, name: str, values: Sequence[str]) -> Judgements:
    """Only the judgements whose id of this name (`lp`, `split`) is one of the values."""
    present = dict.fromkeys(identified(judgements).ids.get(name, ()))
    for value in values:
        if value not in present:
            raise AdequaError(
                f'The judgements have no {name} "{value}".{nearest(value, present)} There are: '
                f"{', '.join(present) or 'none'}."
            )

    def chosen(ids: Ids, _count: int) -> list[int]:
        return [row for row, value in enumerate(ids[name]) if value in values]

    return _selected(judgements, chosen)


def without_systems(judgements: Judgements, systems: Sequence[str]) -> _Excluded:
    """Without the systems of these names."""
    present = {system for _, system in _systems(judgements)}
    for system in systems:
        if system not in present:
            hint = nearest(system, present)
            raise AdequaError(f'The judgements have no system "{system}".{hint}')
    return _without(judgements, lambda _, system: system in systems, "systems")


def without_references(judgements: Judgements) -> _Excluded:
    """Without the human references that were scored as if they were systems."""
    return _without(judgements, lambda _, system: is_human(system), "human references")


def without_outliers(
    judgements: Judgements, human: HumanScore = "expected-wins", seed: int = 0
) -> _Excluded:
    """Without systems whose human score lies far from the others of their language pair.

    `human` is the method that derives scores of systems from preferences.
    """
    scores_of = _human_scores(judgements, human, seed)
    far = set()
    for column in {column for column, _ in scores_of}:
        systems = [system for of, system in scores_of if of == column]
        scores = np.array([scores_of[column, system] for system in systems])
        far |= {(column, systems[index]) for index in np.flatnonzero(outliers(scores))}
    return _without(judgements, lambda *key: key in far, "outlier systems")


def _human_scores(
    judgements: Judgements, human: HumanScore, seed: int
) -> dict[tuple[str, str], float]:
    if isinstance(judgements, Preferences):
        return preference_scores(judgements, human, seed)
    if isinstance(judgements, RatedSystems):
        ratings = judgements.ratings
        keys = zip(column_names(ratings.ids, len(ratings)), systems_of(ratings), strict=True)
        return dict(zip(keys, ratings.scores.tolist(), strict=True))
    return mean_ratings(judgements)


def _without(
    judgements: Judgements, excluded: Callable[[str, str], bool], described: str
) -> _Excluded:
    """Without the outputs of some systems; one of several (`A+B`) stays for the others."""
    gone = {key for key in _systems(judgements) if excluded(*key)}
    split = _split(judgements)

    def left(column: str, name: str) -> str:
        return JOINED.join(part for part in split(column, name) if (column, part) not in gone)

    def remaining(ids: Ids, count: int) -> list[int]:
        columns = column_names(ids, count)
        return [
            row
            for row, column in enumerate(columns)
            if all(left(column, ids[side][row]) or not ids[side][row] for side in _sides(ids))
        ]

    def renamed(ids: Ids) -> Ids:
        columns = column_names(ids, len(next(iter(ids.values()))))
        return {**ids, **{side: tuple(map(left, columns, ids[side])) for side in _sides(ids)}}

    names = [f"{system} ({column})" if column != ALL else system for column, system in sorted(gone)]
    return (
        _selected(judgements, remaining, renamed),
        f"{described} left out: {', '.join(names) or 'none'}.",
    )


def _selected(
    judgements: Judgements,
    rows_of: Callable[[Ids, int], list[int]],
    renamed: Callable[[Ids], Ids] = lambda ids: ids,
) -> Judgements:
    """The rows that a function selects by their ids, with ids renamed by another function."""
    judged = identified(judgements)
    chosen = rows_of(judged.ids, len(judged))
    if not chosen:
        raise AdequaError("Nothing is left to evaluate on: every judgement was left out.")
    if isinstance(judgements, RatedSystems):
        left = replace(judgements.ratings, ids=renamed(judgements.ratings.ids)).select(chosen)
        outputs = judgements.outputs
        if outputs is None:
            return replace(judgements, ratings=left)
        rows = rows_of(outputs.ids, len(outputs))
        return RatedSystems(left, outputs.select(rows), judgements.file_rows.select(rows))
    if isinstance(judgements, Preferences):
        ties = _renamed_ties(judgements.ties, renamed)
        return replace(judgements, ids=renamed(judgements.ids), ties=ties).select(chosen)
    return replace(judgements, ids=renamed(judgements.ids)).select(chosen)


def _renamed_ties(ties: Ties, renamed: Callable[[Ids], Ids]) -> Ties:
    """Ties between the systems that are left."""
    if not ties:
        return ties
    pairs, first, second = zip(*ties, strict=True)
    ids = renamed({"lp": pairs, "better_system": first, "worse_system": second})
    names = zip(pairs, ids["better_system"], ids["worse_system"], strict=True)
    counted: dict[tuple[str, str, str], int] = {}
    for key, count in zip(names, ties.values(), strict=True):
        if all(key[1:]):
            counted[key] = counted.get(key, 0) + count
    return counted


def _sides(ids: Ids) -> list[str]:
    return [side for side in SYSTEMS if side in ids]


def _split(judgements: Judgements) -> _Split:
    """A function that splits names of systems; names of rated systems are never split."""
    if isinstance(judgements, RatedSystems):
        return lambda _, name: (name,)
    ids = identified(judgements).ids
    columns = column_names(ids, len(judgements))
    sides = _sides(ids)
    return splitter(columns * len(sides), [name for side in sides for name in ids[side]])


def _systems(judgements: Judgements) -> set[tuple[str, str]]:
    """Every system, by column of the table."""
    rows, split = identified(judgements), _split(judgements)
    columns = column_names(rows.ids, len(rows))
    systems = {
        (column, system)
        for side in _sides(rows.ids)
        for column, name in zip(columns, rows.ids[side], strict=True)
        for system in split(column, name)
        if system
    }
    if not systems:
        raise AdequaError("The judgements do not name systems, so that none can be left out.")
    return systems
