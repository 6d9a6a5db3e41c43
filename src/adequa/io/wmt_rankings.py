"""WMT rankings: the CSV files of relative ranking, five systems (or two) a line, ties allowed.

A line names the languages, the segment, the judge, and for each system shown its name and rank, 1
for the best. Every two systems of different rank are a preference; equal ranks are counted as ties.
Systems that wrote the same were shown once from 2015 on and stay one, as `A+B`.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, TypeAlias

from adequa.errors import AdequaError
from adequa.io.language_pairs import language_pair
from adequa.io.system_outputs import read_system_outputs, with_texts
from adequa.io.text import Advance, FilePath, ignore, lines, shown
from adequa.judgements import Kept, Preferences, all_kept

Ranked: TypeAlias = tuple[str, int]  # a system and its rank

_SYSTEM = re.compile(r"system(\d+)(id|rank)")


class Preference(NamedTuple):
    """One row of the result; the fields are the ids of `Preferences`."""

    lp: str
    segment: str
    judge: str
    ranking: str
    better_system: str
    worse_system: str


@dataclass(frozen=True, slots=True)
class _Header:
    """Where a line says what: positions of cells."""

    width: int
    languages: tuple[int, int]
    segment: int
    judge: int | None
    ranking: int | None  # pairs of one ranking stand in several lines from 2015 on
    systems: tuple[tuple[int, int], ...]  # name and rank


def read_wmt_rankings(
    path: FilePath, *, outputs: FilePath | None = None, advance: Advance | None = None
) -> Preferences:
    """Preferences from a CSV file of WMT rankings, with the counts of ties.

    `outputs` is a folder of what the systems wrote, as LP/SYSTEM.txt beside LP/reference.txt and
    LP/source.txt; without it there are ids only.
    """
    name = shown(path)
    rows = csv.reader(lines(path, advance=advance or ignore))
    found = preferences_from_rankings(name, rows)
    return found if outputs is None else with_texts(name, found, read_system_outputs(outputs))


def preferences_from_rankings(name: str, rows: Iterator[list[str]]) -> Preferences:
    """Preferences from the cells of such a file, the header first."""
    header = _header(name, next(rows, []))
    preferences: list[Preference] = []
    ties: Counter[tuple[str, str, str]] = Counter()
    unused: Counter[str] = Counter()
    for number, row in enumerate(rows, 1):
        problem = _problem(header, row)
        if problem:
            unused[problem] += 1
            continue
        pair = language_pair("-".join(row[cell] for cell in header.languages))
        judge = "" if header.judge is None else row[header.judge]
        ranking = str(number) if header.ranking is None else row[header.ranking]
        for better, worse, tied in _compared(_ranked(header, row)):
            if tied:
                ties[pair, min(better, worse), max(better, worse)] += 1
            else:
                about = (pair, row[header.segment].strip(), judge, ranking)
                preferences.append(Preference(*about, better, worse))
    if not preferences:
        reasons = ", ".join(f"{reason} ({times})" for reason, times in unused.items())
        raise AdequaError(f"{name} holds no preference: {reasons or 'there are only ties'}.")
    columns = zip(*preferences, strict=True)
    ids = dict(zip(Preference._fields, columns, strict=True))
    kept = all_kept(len(preferences))
    return Preferences(
        ids={field: column for field, column in ids.items() if any(column)},
        ties=dict(ties),
        kept=Kept(kept.rows, kept.row_count, dict(unused)),
    )


def joined_systems(name: str) -> str:
    """The name of several systems that wrote the same, for which WMT puts commas in between.

    >>> joined_systems("online-A.0,online-B.0")
    'online-A.0+online-B.0'
    """
    return "+".join(part.strip() for part in name.split(","))


def _header(name: str, cells: Sequence[str]) -> _Header:
    position = {cell.strip().lower(): number for number, cell in enumerate(cells)}
    systems: dict[str, dict[str, int]] = {}
    for cell, number in position.items():
        if found := _SYSTEM.fullmatch(cell):
            systems.setdefault(found[1], {})[found[2]] = number
    segment = position.get("srcindex", position.get("segmentid"))
    both = tuple((at["id"], at["rank"]) for at in systems.values() if len(at) == 2)  # noqa: PLR2004
    lacking = [
        written
        for written, there in (
            ("srclang", "srclang" in position),
            ("trglang", "trglang" in position),
            ("srcIndex", segment is not None),
            ("system1Id, system1rank, system2Id, system2rank", len(both) > 1),
        )
        if not there
    ]
    if lacking or segment is None:
        raise AdequaError(
            f"{name} does not begin with the header of WMT rankings: {', '.join(lacking)} lacking."
        )
    return _Header(
        width=len(cells),
        languages=(position["srclang"], position["trglang"]),
        segment=segment,
        judge=position.get("judgeid"),
        ranking=position.get("rankingid"),
        systems=both,
    )


def _problem(header: _Header, row: Sequence[str]) -> str:
    """Why a line cannot be used; empty where it can."""
    if len(row) != header.width:
        return "ranking with too few or too many cells"
    if not all(row[cell].strip() for cell in (*header.languages, header.segment)):
        return "ranking without language or segment"
    try:
        ranked = _ranked(header, row)
    except ValueError:
        return "rank is not a whole number"
    return "" if len(ranked) > 1 else "fewer than two systems ranked"


def _ranked(header: _Header, row: Sequence[str]) -> list[Ranked]:
    """The systems that have a rank: -1 or nothing says that the judge gave none."""
    ranks = [(_system(row[name]), int(row[rank].strip() or -1)) for name, rank in header.systems]
    return [(system, rank) for system, rank in ranks if system and rank > 0]


def _system(cell: str) -> str:
    return joined_systems(",".join(part.strip().removesuffix(".txt") for part in cell.split(",")))


def _compared(ranked: Sequence[Ranked]) -> Iterator[tuple[str, str, bool]]:
    """Every two systems, the better one first, and whether they are tied.

    >>> list(_compared([("a", 2), ("b", 1), ("c", 2)]))
    [('b', 'a', False), ('a', 'c', True), ('b', 'c', False)]
    """
    for (first, one), (second, other) in combinations(ranked, 2):
        if first != second:
            better, worse = (first, second) if one <= other else (second, first)
            yield better, worse, one == other
