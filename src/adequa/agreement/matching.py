"""Scores from files matched with what was judged: by the ids that both have, or row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from adequa.agreement.groups import JOINED
from adequa.errors import AdequaError
from adequa.io.score_files import ScoreFile
from adequa.judgements import Ids, Kept
from adequa.segments import FloatArray

# The ids that tell judged outputs apart.
_TELLING = ("lp", "year", "system", "segment", "better_system", "worse_system")


def scores_by_row(path: str, file: ScoreFile, kept: Kept) -> FloatArray:
    """Scores without ids, one row a judgement: those of the judgements that are used."""
    if len(file) != kept.row_count:
        raise AdequaError(
            f"{path} has {len(file):,} scores, but the judgements have {kept.row_count:,} rows; "
            "scores without ids must be one a line in the order of the judgements."
        )
    chosen: FloatArray = file.scores[kept.rows]
    return chosen


def scores_by_ids(path: str, file: ScoreFile, ids: Ids) -> FloatArray:
    """Scores looked up by every id that both the file and the rows have."""
    names = [name for name in file.ids if name in ids]
    telling = [name for name in _TELLING if name in ids]
    if not set(names) & set(telling):
        raise AdequaError(
            f"{path} names its scores by {', '.join(file.ids)}, but the judgements have "
            f"{', '.join(ids) or 'no ids'}; give one score a line in their order instead."
        )
    _refuse_ambiguity(path, file, names)
    wanted = list(_keys(ids, names))
    if len(set(wanted)) < len(set(_keys(ids, telling))):
        raise AdequaError(
            f"{path} names its scores by {', '.join(names)} only, which several of the "
            f"judged outputs share; they are told apart by {', '.join(telling)}."
        )
    of = dict(zip(_keys(file.ids, names), file.scores.tolist(), strict=True))
    found = [_first_found(of, names, key) for key in wanted]
    missing = [key for key, score in zip(wanted, found, strict=True) if score is None]
    if missing:
        raise AdequaError(
            f"{path} has no score for {len(missing):,} of {len(wanted):,} judged outputs, "
            f"the first of them {_described(names, missing[0])}; --lp chooses language pairs."
        )
    return np.array(found, dtype=np.float64)


def _refuse_ambiguity(path: str, file: ScoreFile, names: Sequence[str]) -> None:
    """Raise where columns that the judgements do not have tell different scores apart."""
    scores = file.scores.reshape(len(file), -1).tolist()
    known: dict[tuple[str, ...], list[float]] = {}
    for key, score in zip(_keys(file.ids, names), scores, strict=True):
        if known.setdefault(key, score) != score:
            others = [name for name in file.ids if name not in names]
            raise AdequaError(
                f"{path} has different scores for {_described(names, key)}, told apart by "
                f"{', '.join(others)}, which the judgements do not have; choose one with "
                f"{path}:{others[0]}=VALUE."
            )


def _keys(ids: Ids, names: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return zip(*(ids[name] for name in names), strict=True)


def _first_found(
    of: Mapping[tuple[str, ...], object], names: Sequence[str], key: tuple[str, ...]
) -> object:
    """The score of a key, or of one of the systems that gave the same output ("A+B")."""
    if key in of or "system" not in names:
        return of.get(key)
    place = names.index("system")
    apart = ((*key[:place], part, *key[place + 1 :]) for part in key[place].split(JOINED))
    return next((of[each] for each in apart if each in of), None)


def _described(names: Sequence[str], key: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {part or '(unknown)'}" for name, part in zip(names, key, strict=True))
