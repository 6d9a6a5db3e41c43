"""Score files: what an outside metric says, to be matched with judgements by ids or by row.

A TSV file with a header (`lp`, `system`, `segment`, `score`, whatever of them identifies a row);
one number a line, or two (better and worse), in the row order of a dataset; or the `.seg.score`
and `.sys.score` files of the WMT metrics task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from adequa.errors import AdequaError, nearest
from adequa.io.language_pairs import language_pair
from adequa.io.systems import stem
from adequa.io.text import FilePath, lines, shown, uncompressed_name, without_trailing_blanks
from adequa.segments import LARGEST_SCORE, FloatArray

_SIDES = ("better", "worse")
# Cells of a line in the WMT metrics task, by their number: the score stands where it is named, and
# what comes after it (whether the metric is an ensemble, and available) is not read.
_SEGMENTS = ("metric", "lp", "testset", "system", "segment", "score")
_SYSTEMS = ("metric", "lp", "testset", "system", "score")
_WMT_LAYOUTS = {
    ".seg.score": {
        6: _SEGMENTS,
        7: ("metric", "lp", "testset", "reference", "system", "segment", "score"),
        8: _SEGMENTS,
    },
    ".sys.score": {
        5: _SYSTEMS,
        6: ("metric", "lp", "testset", "reference", "system", "score"),
        7: _SYSTEMS,
    },
}


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFile:
    """Scores from a file, row by row.

    `ids` says what each row scores (`lp`, `system`, `segment` and others), and is empty where the
    rows are in the order of a dataset. `scores` has two columns, better and worse, for preferences.
    """

    name: str
    ids: Mapping[str, tuple[str, ...]]
    scores: FloatArray

    def __len__(self) -> int:
        return len(self.scores)


def read_score_file(path: FilePath, *, metric: str | None = None) -> ScoreFile:
    """Scores from a file; `metric` chooses where a file of the WMT metrics task holds several."""
    rows = _rows(path)
    layout = _wmt_layout(path)
    if layout is not None:
        return _wmt_scores(shown(path), rows, layout, metric)
    if metric is not None:
        raise AdequaError(
            f"{shown(path)} holds one metric, so that there is no {metric} to choose in it; only "
            f"files whose names end in {' and '.join(_WMT_LAYOUTS)} may hold several."
        )
    first_line, first = next(rows)
    named = any(cell in {"score", *_SIDES} for cell in map(_column, first))
    if not named and not any(map(_is_number, first)):
        raise AdequaError(
            f'{first_line} has neither scores nor a header with "score". A score file holds one '
            "score a line (better and worse, two columns, for preferences), or begins with a "
            "header such as lp, system, segment, score, with tabs in between."
        )
    if named:
        return _headed_scores(shown(path), stem(path), tuple(map(_column, first)), rows)
    return _scores_by_row(stem(path), chain([(first_line, first)], rows))


def _rows(path: FilePath) -> Iterator[tuple[str, list[str]]]:
    """Every line's cells, with the place to name if something is wrong with them."""
    name, number = shown(path), 0
    for number, line in enumerate(without_trailing_blanks(lines(path)), 1):
        yield f"{name}, line {number}", line.split("\t")
    if not number:
        raise AdequaError(f"{name} is empty: there are no scores in it.")


def _column(cell: str) -> str:
    return cell.strip().lower()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _score(cell: str, place: str) -> float:
    if not _is_number(cell):
        found = f'"{cell.strip()[:40]}"' if cell.strip() else "nothing"
        raise AdequaError(f"{place}: there is {found} where the score should be, not a number.")
    if not abs(float(cell)) <= LARGEST_SCORE:
        raise AdequaError(
            f"{place}: the score is {cell.strip()}; it must be a number, of at most "
            f"{LARGEST_SCORE:g}."
        )
    return float(cell)


def _scores_by_row(name: str, rows: Iterable[tuple[str, list[str]]]) -> ScoreFile:
    scores: list[list[float]] = []
    for place, cells in rows:
        if len(cells) > len(_SIDES) or (scores and len(cells) != len(scores[0])):
            expected = f"{len(scores[0])}" if scores else "1, or 2 for better and worse"
            raise AdequaError(
                f"{place} has {len(cells)} columns, not {expected}; with more columns than the "
                "scores, the first line must be a header."
            )
        scores.append([_score(cell, place) for cell in cells])
    return ScoreFile(name, {}, _array(scores))


def _array(scores: Sequence[Sequence[float]]) -> FloatArray:
    """Scores of one column as (n,), of two as (n, 2)."""
    array = np.array(scores, dtype=np.float64)
    return array[:, 0] if array.shape[1] == 1 else array


def _headed_scores(
    file_name: str, name: str, header: tuple[str, ...], rows: Iterable[tuple[str, list[str]]]
) -> ScoreFile:
    if len(set(header)) < len(header):
        raise AdequaError(f"{file_name} has two columns of one name: {', '.join(header)}.")
    scored = ("score",) if "score" in header else _SIDES
    if not set(scored) <= set(header):
        raise AdequaError(f'{file_name} has only one of the columns "better" and "worse".')
    identified = tuple(column for column in header if column not in scored)
    ids: list[tuple[str, ...]] = []
    scores: list[list[float]] = []
    places: list[str] = []
    for place, cells in rows:
        if len(cells) != len(header):
            raise AdequaError(
                f"{place} has {len(cells)} cells, but the header names {len(header)}."
            )
        row = dict(zip(header, cells, strict=True))
        ids.append(_identifiers(row, identified))
        scores.append([_score(row[column], place) for column in scored])
        places.append(place)
    if not scores:
        raise AdequaError(f"{file_name} has a header and no scores.")
    _refuse_contradictions(places, identified, ids, scores)
    columns = dict(zip(identified, zip(*ids, strict=True), strict=True)) if identified else {}
    return ScoreFile(name, columns, _array(scores))


def _identifiers(row: Mapping[str, str], identified: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        language_pair(row[column]) if column == "lp" else row[column].strip()
        for column in identified
    )


def _refuse_contradictions(
    places: Sequence[str],
    identified: Sequence[str],
    ids: Sequence[tuple[str, ...]],
    scores: Sequence[Sequence[float]],
) -> None:
    """The same ids may come again, as judgements do, but not with another score."""
    if not identified:
        return
    known: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(ids):
        first = known.setdefault(key, row)
        if scores[first] != scores[row]:
            what = ", ".join(map(" ".join, zip(identified, key, strict=True)))
            line = places[first].split()[-1]
            raise AdequaError(
                f"{places[row]} has another score for {what} than line {line}. Add the column that "
                "tells them apart, or leave the header and the ids out and give one score a line "
                "in the order of the dataset."
            )


def _wmt_layout(path: FilePath) -> Mapping[int, tuple[str, ...]] | None:
    name = uncompressed_name(path).lower()
    return next((by for suffix, by in _WMT_LAYOUTS.items() if name.endswith(suffix)), None)


def _wmt_scores(
    file_name: str,
    rows: Iterable[tuple[str, list[str]]],
    layout: Mapping[int, tuple[str, ...]],
    metric: str | None,
) -> ScoreFile:
    by_metric: dict[str, list[tuple[str, list[str]]]] = {}
    columns: tuple[str, ...] = ()
    for place, cells in rows:
        if len(cells) not in layout or (columns and layout[len(cells)] != columns):
            expected = " or ".join(map(str, layout))
            raise AdequaError(
                f"{place} has {len(cells)} cells between tabs; a file of this kind has {expected}, "
                "the same in every line."
            )
        columns = layout[len(cells)]
        by_metric.setdefault(cells[0].strip(), []).append((place, cells[: len(columns)]))
    chosen = _chosen_metric(file_name, tuple(by_metric), metric)
    of_metric = [(place, cells[1:]) for place, cells in by_metric[chosen]]
    return _headed_scores(file_name, chosen, columns[1:], of_metric)


def _chosen_metric(file_name: str, there: Sequence[str], metric: str | None) -> str:
    if metric is not None and metric in there:
        return metric
    held = f"{file_name} holds scores of {', '.join(there)}"
    if metric is not None:
        raise AdequaError(f'{held}, but none of "{metric}".{nearest(metric, there)}')
    if len(there) > 1:
        raise AdequaError(f"{held}; choose one with {file_name}:metric=NAME.")
    return there[0]
