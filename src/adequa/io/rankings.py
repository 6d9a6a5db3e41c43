"""WMT rankings, and the outputs of the systems that they compare."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeAlias

import numpy as np

from adequa.errors import AdequaError, counted
from adequa.io.text import (
    Advance,
    FilePath,
    display_name,
    ignore,
    lines,
    uncompressed_name,
)
from adequa.judgements import FileRows, Preferences
from adequa.languages import language_pair
from adequa.segments import Segments

_SIDES = 2


def usable_rows(name: str, problems: Mapping[str, Sequence[bool]], count: int) -> FileRows:
    """The rows without a problem; each of the others counts once, for its first one.

    >>> rows = usable_rows("t.tsv", {"no score": [True, False], "no text": [True, False]}, 2)
    >>> rows.rows, dict(rows.unused)
    (array([1]), {'no score': 1})
    """
    usable = np.ones(count, dtype=bool)
    unused = {}
    for reason, rows in problems.items():
        affected = usable & np.asarray(rows, dtype=bool)
        if affected.any():
            unused[reason] = int(affected.sum())
        usable &= ~affected
    if not usable.any():
        reasons = ", ".join(f"{reason} ({times})" for reason, times in unused.items())
        raise AdequaError(f"{name} has no usable row among {count}: {reasons}.")
    return FileRows(np.flatnonzero(usable), count, unused)


Lines: TypeAlias = tuple[str, ...]

_TEST_SET = re.compile(r"^news[a-z]*\d{4}\.")


@dataclass(frozen=True, slots=True)
class SystemOutputs:
    """The outputs of the systems of one language pair, with the reference and the source."""

    reference: Lines
    source: Lines | None
    systems: Mapping[str, Lines]

    def of(self, system: str, pair: str) -> Lines | None:
        """The output of a system, by its name or by that of its file.

        `A+B` are systems with the same outputs, so that either will do.
        """
        for name in (system, *system.split("+")):
            for form in (name, bare_name(name, pair)):
                if form in self.systems:
                    return self.systems[form]
        return None


def bare_name(system: str, pair: str) -> str:
    """A system's name without the test set, the language pair and the suffix of its file.

    >>> bare_name("newstest2016.uedin-nmt.4361.cs-en", "cs-en")
    'uedin-nmt.4361'
    >>> bare_name("newstest2013.cs-en.JHU.2903.txt", "cs-en")
    'JHU.2903'
    """
    name = _TEST_SET.sub("", system.removesuffix(".txt"))
    return name.removeprefix(f"{pair}.").removesuffix(f".{pair}")


def read_system_outputs(folder: FilePath) -> dict[str, SystemOutputs]:
    """The outputs in a folder, by language pair."""
    if not Path(folder).is_dir():
        raise AdequaError(f"There is no folder {folder} with outputs of systems.")
    paths = sorted(Path(folder).glob("*/*.txt*"))
    return outputs_by_pair((f"{p.parent.name}/{uncompressed_name(p)}", lines(p)) for p in paths)


def outputs_by_pair(files: Iterable[tuple[str, Iterable[str]]]) -> dict[str, SystemOutputs]:
    """Outputs from the lines of files that are named as LP/SYSTEM.txt."""
    by_pair: dict[str, dict[str, Lines]] = {}
    for name, texts in files:
        path = PurePosixPath(name)
        pair = language_pair(path.parent.name)
        by_pair.setdefault(pair, {})[path.name.removesuffix(".txt")] = tuple(texts)
    return {pair: _outputs(pair, texts) for pair, texts in by_pair.items()}


def _outputs(pair: str, texts: dict[str, Lines]) -> SystemOutputs:
    if "reference" not in texts:
        raise AdequaError(f"Outputs of systems for {pair} lack the file {pair}/reference.txt.")
    reference = texts["reference"]
    for name, lines_ in texts.items():
        if len(lines_) != len(reference):
            raise AdequaError(
                f"{pair}/{name}.txt has {counted(len(lines_), 'line')}, but "
                f"{pair}/reference.txt has {len(reference):,}."
            )
    systems = {name: texts[name] for name in texts if name not in {"reference", "source"}}
    return SystemOutputs(
        reference=reference,
        source=texts.get("source"),
        systems={bare_name(name, pair): output for name, output in systems.items()} | systems,
    )


def segments_of(outputs: Mapping[str, SystemOutputs], rated: Iterable[tuple[str, str]]) -> Segments:
    """Every line of these systems, (language pair, system), with the ids lp, system, segment."""
    hypotheses: list[Sequence[str]] = []
    references: list[Sequence[str]] = []
    sources: list[Sequence[str]] = []
    ids: list[tuple[str, str, str]] = []
    for pair, system in rated:
        output = outputs[pair].of(system, pair) if pair in outputs else None
        if output is None:
            raise AdequaError(f'There is no output of system "{system}" for {pair}.')
        hypotheses.append(output)
        references.append(outputs[pair].reference)
        sources.append(outputs[pair].source or ("",) * len(output))
        ids += [(pair, system, str(number)) for number in range(1, len(output) + 1)]
    columns = zip(*ids, strict=True)
    return Segments(
        hypotheses=tuple(chain.from_iterable(hypotheses)),
        references=tuple(zip(chain.from_iterable(references))),
        sources=tuple(chain.from_iterable(sources)),
        ids=dict(zip(("lp", "system", "segment"), columns, strict=True)),
    )


def with_texts(
    name: str, preferences: Preferences, outputs: Mapping[str, SystemOutputs]
) -> Preferences:
    """Preferences with the texts that they compare; those without texts are counted as unused."""
    ids = preferences.ids
    positions = list(zip(ids["lp"], map(_number, ids["segment"]), strict=True))

    def texts_of(part: Callable[[int, SystemOutputs, str], Lines | None]) -> list[str | None]:
        return [
            _line(part(row, outputs[pair], pair), number) if pair in outputs else None
            for row, (pair, number) in enumerate(positions)
        ]

    better = texts_of(lambda row, each, pair: each.of(ids["better_system"][row], pair))
    worse = texts_of(lambda row, each, pair: each.of(ids["worse_system"][row], pair))
    references = texts_of(lambda _row, each, _pair: each.reference)
    sources = texts_of(lambda _row, each, _pair: each.source)
    problems = {
        "no output of the better system": [text is None for text in better],
        "no output of the worse system": [text is None for text in worse],
        "no reference text": [not (text and text.strip()) for text in references],
    }
    usable = usable_rows(name, problems, len(positions))

    def selected(texts: Sequence[str | None]) -> Lines:
        return tuple(texts[row] or "" for row in usable.rows.tolist())

    cells, source_texts = tuple(zip(selected(references))), selected(sources)
    before = preferences.file_rows
    return Preferences(
        ids=preferences.select(usable.rows).ids,
        better=Segments(selected(better), cells, source_texts if any(source_texts) else None),
        worse=Segments(selected(worse), cells, source_texts if any(source_texts) else None),
        ties=preferences.ties,
        file_rows=FileRows(
            before.rows[usable.rows], before.row_count, {**before.unused, **usable.unused}
        ),
    )


def _number(segment: str) -> int:
    """The number of a line, counted from 1; 0 where it is none."""
    return int(segment) if segment.isdecimal() else 0


def _line(texts: Lines | None, number: int) -> str | None:
    return texts[number - 1] if texts is not None and 0 < number <= len(texts) else None


RankedSystem: TypeAlias = tuple[str, int]  # a system and its rank

_SYSTEM = re.compile(r"system\d+id")


class Preference(NamedTuple):
    """One row of the result; the fields are the ids of `Preferences`."""

    lp: str
    segment: str
    judge: str
    ranking: str
    better_system: str
    worse_system: str


def read_wmt_rankings(
    path: FilePath, *, outputs: FilePath | None = None, advance: Advance | None = None
) -> Preferences:
    """Preferences from a CSV file of WMT rankings, with the counts of ties.

    `outputs` is a folder of what the systems wrote, as LP/SYSTEM.txt beside LP/reference.txt and
    LP/source.txt; without it there are ids only.
    """
    name = display_name(path)
    preferences = preferences_from_rankings(name, lines(path, advance=advance or ignore))
    if outputs is None:
        return preferences
    return with_texts(name, preferences, read_system_outputs(outputs))


def preferences_from_rankings(name: str, rows: Iterable[str]) -> Preferences:
    """Preferences from the lines of such a file, the header first."""
    reader = csv.DictReader(rows)
    try:
        return _preferences(name, reader)
    except csv.Error as error:
        raise AdequaError(
            f"{name}, line {reader.line_num}: a cell holds a carriage return, or more than "
            f"{csv.field_size_limit():,} characters; a quotation mark may be missing."
        ) from error


def _preferences(name: str, reader: csv.DictReader[str]) -> Preferences:
    names = reader.fieldnames = [cell.strip().lower() for cell in reader.fieldnames or ()]
    segment = "srcindex" if "srcindex" in names else "segmentid"
    systems = _system_columns(name, names, segment)
    preferences: list[Preference] = []
    ties: Counter[tuple[str, str, str]] = Counter()
    unused: Counter[str] = Counter()
    for number, row in enumerate(reader, 1):
        ranked = _ranked(row, ("srclang", "trglang", segment), systems)
        if isinstance(ranked, str):
            unused[ranked] += 1
            continue
        pair = language_pair(f"{row['srclang']}-{row['trglang']}")
        # Pairs of one ranking stand in several lines from 2015 on.
        ids = pair, row[segment].strip(), row.get("judgeid", ""), row.get("rankingid", str(number))
        for better, worse, tied in _compared(ranked):
            if tied:
                ties[pair, min(better, worse), max(better, worse)] += 1
            else:
                preferences.append(Preference(*ids, better, worse))
    if not preferences:
        reasons = ", ".join(f"{reason} ({times})" for reason, times in unused.items())
        raise AdequaError(f"{name} holds no preference: {reasons or 'there are only ties'}.")
    columns = dict(zip(Preference._fields, zip(*preferences, strict=True), strict=True))
    count = len(preferences)
    return Preferences(
        ids={field: column for field, column in columns.items() if any(column)},
        ties=dict(ties),
        file_rows=FileRows(np.arange(count), count, dict(unused)),
    )


def joined_systems(name: str) -> str:
    """The name of several systems that wrote the same, for which WMT puts commas in between.

    >>> joined_systems("online-A.0,online-B.0")
    'online-A.0+online-B.0'
    """
    return "+".join(part.strip() for part in name.split(","))


def _system_columns(name: str, names: Sequence[str], segment: str) -> list[tuple[str, str]]:
    """The columns of name and rank of every system; raise where a header lacks some."""
    systems = [
        (each, rank)
        for each in names
        if _SYSTEM.fullmatch(each) and (rank := f"{each.removesuffix('id')}rank") in names
    ]
    required = {"srclang": "srclang", "trglang": "trglang", segment: "srcIndex"}
    lacking = [written for column, written in required.items() if column not in names]
    if len(systems) < _SIDES:
        lacking.append("system1Id, system1rank, system2Id, system2rank")
    if lacking:
        raise AdequaError(
            f"{name} does not begin with the header of WMT rankings: {', '.join(lacking)} lacking."
        )
    return systems


def _ranked(
    row: Mapping[str, str], required: Iterable[str], systems: Iterable[tuple[str, str]]
) -> list[RankedSystem] | str:
    """The systems that have a rank (-1 or nothing is none), or why a line cannot be used."""
    if None in row or None in row.values():  # as DictReader marks cells without name or value
        return "ranking with too few or too many cells"
    if not all(row[column].strip() for column in required):
        return "ranking without language or segment"
    try:
        ranks = [(_system(row[name]), int(row[rank].strip() or -1)) for name, rank in systems]
    except ValueError:
        return "rank is not a whole number"
    ranked = [(system, rank) for system, rank in ranks if system and rank > 0]
    return ranked if len(ranked) > 1 else "fewer than two systems ranked"


def _system(cell: str) -> str:
    return joined_systems(",".join(part.strip().removesuffix(".txt") for part in cell.split(",")))


def _compared(ranked: Sequence[RankedSystem]) -> Iterator[tuple[str, str, bool]]:
    """Every two systems, the better one first, and whether they are tied.

    >>> list(_compared([("a", 2), ("b", 1), ("c", 2)]))
    [('b', 'a', False), ('a', 'c', True), ('b', 'c', False)]
    """
    for (first, one), (second, other) in combinations(ranked, 2):
        if first != second:
            better, worse = (first, second) if one <= other else (second, first)
            yield better, worse, one == other
