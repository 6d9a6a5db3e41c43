"""Scores from files matched with what was judged: by the ids that both have, or row by row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from adequa.agreement.groups import ALL, JOINED, splitter
from adequa.errors import AdequaError
from adequa.io.rankings import joined_systems
from adequa.io.score_files import SYSTEMS, ScoreFile
from adequa.judgements import FileRows, Ids
from adequa.segments import FloatArray

_SAME = 1e-4  # share of a score by which those of one text may differ

Key: TypeAlias = tuple[str, ...]
Score: TypeAlias = "float | list[float]"  # one, or better and worse

# The ids that tell judged outputs apart.
_TELLING = ("lp", "year", "doc", "segment", *SYSTEMS)
# Where names are given: a system's in a language and a year, a segment's in a document.
_CONTEXT = {"lp": "system", "year": "system", "doc": "segment"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows that scores are wanted for, and what is the same thing among them.

    Rows of one key may share a score only if they are `same`: one text judged twice.
    """

    ids: Ids
    same: Sequence[Hashable]


def wanted(ids: Ids, texts: Sequence[Hashable] | None) -> Wanted:
    """Rows by their ids; told apart by their texts, or by ids where there are no texts."""
    if texts is not None:
        return Wanted(ids, texts)
    names = [name for name in _TELLING if name in ids]
    count = len(next(iter(ids.values()), ()))
    identified = "segment" in names and any(system in names for system in SYSTEMS)
    rows = _keys(ids, names) if identified else iter([()] * count)
    # A row that is not fully identified is like no other.
    return Wanted(ids, [key if all(key) and key else row for row, key in enumerate(rows)])


def scores_by_row(path: str, file: ScoreFile, file_rows: FileRows) -> FloatArray:
    """Scores without ids, one row a judgement: those of the judgements that are used."""
    if len(file) != file_rows.row_count:
        raise AdequaError(
            f"{path} has {len(file):,} scores, but the judgements have {file_rows.row_count:,} "
            "rows; scores without ids must be one a line in the order of the judgements."
        )
    chosen: FloatArray = file.scores[file_rows.rows]
    return chosen


def scores_by_ids(path: str, file: ScoreFile, rows: Wanted) -> FloatArray:
    """Scores looked up by every id that both the file and the rows have."""
    names = [name for name in file.ids if name in rows.ids]
    _refuse_unknown(path, file, rows.ids)
    _refuse_lacking(path, names, rows.ids)
    keys = list(_keys(rows.ids, names))
    _refuse_sharing(path, names, keys, rows)
    of = _index(path, file, names)
    found = [_found(of, names, key) for key in keys]
    missing = [key for key, score in zip(keys, found, strict=True) if score is None]
    if missing:
        raise AdequaError(
            f"{path} has no score for {len(missing):,} of {len(keys):,} judged outputs, the first "
            f"of them {_described(names, missing[0])}; --lp chooses language pairs."
        )
    return np.array(found, dtype=np.float64)


def _refuse_unknown(path: str, file: ScoreFile, ids: Ids) -> None:
    """Raise where the file says whose output a score is for, and the judgements do not."""
    for name in _TELLING:
        one_context = name in _CONTEXT and len(set(file.ids.get(name, ()))) == 1
        if name in file.ids and name not in ids and not one_context:
            raise AdequaError(
                f"{path} names its scores by {name}, but the judgements do not say which {name} "
                "each output is of; give one score a line in their order instead."
            )
    if not set(file.ids) & set(ids):
        raise AdequaError(
            f"{path} names its scores by {', '.join(file.ids)}, but the judgements have "
            f"{', '.join(ids) or 'no ids'}; give one score a line in their order instead."
        )


def _refuse_lacking(path: str, names: Sequence[str], ids: Ids) -> None:
    """Raise where one name means different things in several languages, years or documents."""
    for context, within in _CONTEXT.items():
        if context not in ids or context in names or len(set(ids[context])) == 1:
            continue
        if within in ids:
            places = set(zip(ids[within], ids[context], strict=True))
            if len(places) == len(set(ids[within])):
                continue
        raise AdequaError(
            f"{path} has no column {context}, but the judgements are of several, which share the "
            f"name of a {within}; add the column, or choose one of them."
        )


def _refuse_sharing(path: str, names: Sequence[str], keys: Sequence[Key], rows: Wanted) -> None:
    """Raise where one score would serve different outputs."""
    known: dict[Key, Hashable] = {}
    for key, same in zip(keys, rows.same, strict=True):
        if known.setdefault(key, same) != same:
            raise AdequaError(
                f"{path} names its scores by {', '.join(names)}, but several of the judged outputs "
                f"are {_described(names, key)}; give every id that tells them apart, or one score "
                "a line in the order of the judgements."
            )


def _index(path: str, file: ScoreFile, names: Sequence[str]) -> dict[Key, Score]:
    """Scores by key; an output of several systems ("A+B") also under each of them."""
    of: dict[Key, Score] = {}
    row_of: dict[Key, int] = {}
    scores: list[Score] = file.scores.tolist()
    keys = list(_keys(file.ids, names))
    for row, (key, score) in enumerate(zip(keys, scores, strict=True)):
        if of.setdefault(key, score) != score:
            raise _ambiguous(path, file, names, (row_of[key], row))
        row_of.setdefault(key, row)
    if "system" not in names or "segment" not in names:
        return of
    place = names.index("system")
    columns = file.ids.get("lp", (ALL,) * len(file))
    parts = splitter(columns, [key[place] for key in keys])
    shared: dict[Key, Score] = {}
    for column, key, score in zip(columns, keys, scores, strict=True):
        for part in parts(column, key[place]):
            of_part = (*key[:place], part, *key[place + 1 :])
            if shared.setdefault(of_part, score) != score and of_part not in of:
                raise AdequaError(f"{path} has different scores for {_described(names, of_part)}.")
    return shared | of


def _ambiguous(
    path: str, file: ScoreFile, names: Sequence[str], rows: tuple[int, int]
) -> AdequaError:
    """That columns which the judgements do not have tell different scores apart."""
    first, second = rows
    others = [
        name
        for name, cells in file.ids.items()
        if name not in names and cells[first] != cells[second]
    ]
    key = tuple(file.ids[name][first] for name in names)
    return AdequaError(
        f"{path} has different scores for {_described(names, key)}, told apart by "
        f"{', '.join(others)}, which the judgements do not have; choose one with "
        f"{path}:{others[0]}=VALUE."
    )


def _found(of: Mapping[Key, Score], names: Sequence[str], key: Key) -> Score | None:
    """The score of a key; of an output of several systems, that of all of them, if they agree."""
    if key in of or "system" not in names:
        return of.get(key)
    place = names.index("system")
    apart = [(*key[:place], part, *key[place + 1 :]) for part in key[place].split(JOINED)]
    if not all(part in of for part in apart):
        return None
    scores = np.array([of[part] for part in apart], dtype=np.float64)
    # Scores of the same text may differ in their last digits, from one batch to another.
    if not np.allclose(scores, scores[0], rtol=_SAME):
        return None
    mean: Score = scores.mean(axis=0).tolist()
    return mean


def _keys(ids: Ids, names: Sequence[str]) -> Iterable[Key]:
    """Rows of ids; systems that are joined by commas, as in rankings, are written alike."""
    columns = (map(joined_systems, ids[name]) if name in SYSTEMS else ids[name] for name in names)
    return zip(*columns, strict=True)


def _described(names: Sequence[str], key: Key) -> str:
    return ", ".join(f"{name} {part or '(unknown)'}" for name, part in zip(names, key, strict=True))
