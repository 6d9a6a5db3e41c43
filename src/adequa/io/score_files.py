"""Score files: what an outside metric says, to be matched with judgements by ids or by row.

A TSV file with a header (`lp`, `system`, `segment`, `score`, whatever of them identifies a row);
one number per line, or two (better and worse), in the row order of a dataset; or the `.seg.score`
and `.sys.score` files of the WMT metrics task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np

from adequa.errors import AdequaError, counted, nearest
from adequa.io.quoting import DelimitedRows
from adequa.io.rankings import joined_systems
from adequa.io.text import (
    FilePath,
    display_name,
    lines,
    stem,
    text_format,
    uncompressed_name,
    without_trailing_blanks,
)
from adequa.languages import language_pair
from adequa.segments import LARGEST_SCORE, FloatArray

SYSTEMS = ("system", "better_system", "worse_system")
_SIDES = ("better", "worse")
_FLAGS = ("ensemble", "available")
# Columns of the WMT metrics task, oldest year first; the first layout whose last column is a
# number is used. What comes after the score (whether the metric is an ensemble, and available) is
# not read. The shortest is that of mt-metrics-eval, where a system's segments come in order.
_WMT_LAYOUTS = {
    ".seg.score": (
        ("system", "score"),
        ("metric", "lp", "testset", "system", "segment", "score"),
        ("metric", "lp", "testset", "reference", "system", "segment", "score"),
        ("metric", "lp", "testset", "domain", "reference", "system", "segment", "score"),
    ),
    ".sys.score": (
        ("system", "score"),
        ("metric", "lp", "testset", "system", "score"),
        ("metric", "lp", "testset", "reference", "system", "score"),
        ("metric", "lp", "testset", "domain", "reference", "system", "score"),
    ),
}


PlacedCells: TypeAlias = tuple[str, list[str]]  # file and line, and the cells of the line


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFile:
    """Scores from a file, row by row.

    `ids` says what each row scores (`lp`, `system`, `segment` and others), and is empty where the
    rows are in the order of a dataset. `scores` has two columns, better and worse, for preferences.
    """

    name: str
    ids: Mapping[str, tuple[str, ...]]
    scores: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", np.asarray(self.scores, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.scores)


def read_score_file(path: FilePath, *, metric: str | None = None) -> ScoreFile:
    """Scores from a file; `metric` chooses where a file of the WMT metrics task holds several."""
    file_name, name = display_name(path), stem(path)
    lines_ = _rows(path)
    place, first = next(lines_)
    header = tuple(cell.strip().lower() for cell in first)
    layouts = _wmt_layouts(path)
    rows: Iterable[PlacedCells] = _equally_wide(len(first), lines_)
    if layouts is not None:
        name = name.removesuffix(".seg").removesuffix(".sys")
        header, rows = _wmt_rows(layouts, place, first, rows)
    elif not {"score", *_SIDES} & {*header}:
        if metric is not None:
            raise _one_metric_only(file_name, metric)
        return _scores_by_row(name, chain([(place, first)], lines_))
    if "metric" in header:
        name, header, rows = _one_metric(file_name, header, rows, metric)
    elif metric is not None:
        raise _one_metric_only(file_name, metric)
    return _headed_scores(file_name, name, header, rows)


def _rows(path: FilePath) -> Iterator[PlacedCells]:
    """Every row's cells, with the place to name if something is wrong with them."""
    name = display_name(path)
    left = without_trailing_blanks(lines(path, keep_returns=True))
    first = next(left, None)
    if first is None:
        raise AdequaError(f"{name} is empty: there are no scores in it.")
    rows = DelimitedRows(name, chain([first], left), is_csv=text_format(path) == ".csv")
    yield f"{name}, line 1", rows.header
    for number, cells, _ in rows:
        yield f"{name}, line {number}", cells


def _equally_wide(width: int, rows: Iterable[PlacedCells]) -> Iterator[PlacedCells]:
    for place, cells in rows:
        if len(cells) != width:
            raise AdequaError(
                f"{place} has {counted(len(cells), 'cell')}, but the first line has {width}."
            )
        yield place, cells


def _one_metric_only(file_name: str, metric: str) -> AdequaError:
    return AdequaError(
        f"{file_name} holds one metric, so that there is no {metric} to choose in it."
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _score(cell: str, place: str) -> float:
    if not _is_number(cell):
        text = f'"{cell.strip()[:40]}"' if cell.strip() else "nothing"
        raise AdequaError(f"{place}: there is {text} where the score should be, not a number.")
    if not abs(float(cell)) <= LARGEST_SCORE:
        raise AdequaError(
            f"{place}: the score is {cell.strip()}; it must be a finite number, of at most "
            f"{LARGEST_SCORE:g}."
        )
    return float(cell)


def _scores_by_row(name: str, rows: Iterable[PlacedCells]) -> ScoreFile:
    scores: list[list[float]] = []
    for place, cells in rows:
        if not scores and not any(map(_is_number, cells)):
            raise AdequaError(
                f'{place} has neither scores nor a header with "score". A score file holds one '
                "score per line (better and worse, two columns, for preferences), or begins with a "
                "header such as lp, system, segment, score, with tabs in between."
            )
        if len(cells) > len(_SIDES) or (scores and len(cells) != len(scores[0])):
            expected = f"{len(scores[0])}" if scores else "1, or 2 for better and worse"
            raise AdequaError(
                f"{place} has {counted(len(cells), 'column')}, not {expected}; with more columns "
                "than the scores, the first line must be a header."
            )
        scores.append([_score(cell, place) for cell in cells])
    return ScoreFile(name, {}, _array(scores))


def _array(scores: Sequence[Sequence[float]]) -> FloatArray:
    """Scores of one column as (n,), of two as (n, 2)."""
    array = np.array(scores, dtype=np.float64)
    return array[:, 0] if array.shape[1] == 1 else array


def _headed_scores(
    file_name: str, name: str, header: tuple[str, ...], rows: Iterable[PlacedCells]
) -> ScoreFile:
    if len(set(header)) < len(header):
        raise AdequaError(f"{file_name} has two columns of one name: {', '.join(header)}.")
    scored = ("score",) if "score" in header else _SIDES
    if not set(scored) <= set(header):
        raise AdequaError(f'{file_name} has only one of the columns "better" and "worse".')
    placed = list(rows)
    if not placed:
        raise AdequaError(f"{file_name} has a header and no scores.")
    places = [place for place, _ in placed]
    columns = dict(zip(header, zip(*(cells for _, cells in placed), strict=True), strict=True))
    scores = [list(map(_score, columns.pop(column), places)) for column in scored]
    ids = {
        column: tuple(_identifier(column, cell) for cell in cells)
        for column, cells in columns.items()
    }
    _refuse_contradictions(places, ids, scores)
    return ScoreFile(name, ids, _array(list(zip(*scores, strict=True))))


def _identifier(column: str, cell: str) -> str:
    if column == "lp":
        return language_pair(cell)
    return joined_systems(cell) if column in SYSTEMS else cell.strip()


def _refuse_contradictions(
    places: Sequence[str], ids: Mapping[str, tuple[str, ...]], scores: Sequence[Sequence[float]]
) -> None:
    """The same ids may come again, as judgements do, but not with another score."""
    first_rows: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(zip(*ids.values(), strict=True)):
        first = first_rows.setdefault(key, row)
        if any(column[first] != column[row] for column in scores):
            what = ", ".join(map(" ".join, zip(ids, key, strict=True)))
            line = places[first].split()[-1]
            raise AdequaError(
                f"{places[row]} has another score for {what} than line {line}. Add the column that "
                "tells them apart, or leave the header and the ids out and give one score per line "
                "in the order of the dataset."
            )


def _wmt_layouts(path: FilePath) -> tuple[tuple[str, ...], ...] | None:
    name = uncompressed_name(path).lower()
    return next(
        (layouts for suffix, layouts in _WMT_LAYOUTS.items() if name.endswith(suffix)), None
    )


def _wmt_rows(
    layouts: Sequence[tuple[str, ...]],
    place: str,
    first: list[str],
    rows: Iterable[PlacedCells],
) -> tuple[tuple[str, ...], Iterator[PlacedCells]]:
    """The columns of a file of the WMT metrics task, which has no header, and its rows."""
    layout = next((each for each in layouts if _fits(each, first)), None)
    if layout is None:
        raise AdequaError(
            f"{place} has {counted(len(first), 'cell')} between tabs, and no score where a file of "
            f"this kind has it; the columns are {', '.join(layouts[1])}, or in newer years "
            f"{', '.join(layouts[-1])}."
        )
    width = len(layout)
    cut = ((place, cells[:width]) for place, cells in chain([(place, first)], rows))
    if layout == layouts[0] and "segment" in layouts[-1]:
        return ("system", "segment", "score"), _numbered(cut)
    return layout, cut


def _fits(layout: tuple[str, ...], cells: Sequence[str]) -> bool:
    """Whether a line has as many cells, and numbers where a layout has them."""
    if len(cells) not in {len(layout), len(layout) + len(_FLAGS)}:
        return False
    row = dict(zip(layout, cells, strict=False))
    return _is_number(row["score"]) and row.get("segment", "1").strip().isdecimal()


def _numbered(rows: Iterable[PlacedCells]) -> Iterator[PlacedCells]:
    """Lines of system and score with the segment between: a system's come in order, from 1."""
    seen: Counter[str] = Counter()
    for place, (system, score) in rows:
        seen[system] += 1
        yield place, [system, str(seen[system]), score]


def _one_metric(
    file_name: str, header: tuple[str, ...], rows: Iterable[PlacedCells], metric: str | None
) -> tuple[str, tuple[str, ...], list[PlacedCells]]:
    """The name, the other columns and the rows of one metric, from a file with a column of them."""
    index = header.index("metric")
    by_metric: dict[str, list[PlacedCells]] = {}
    for place, cells in rows:
        by_metric.setdefault(cells.pop(index).strip(), []).append((place, cells))
    if not by_metric:
        raise AdequaError(f"{file_name} has a header and no scores.")
    holds = f"{file_name} holds scores of {', '.join(by_metric)}"
    if metric is None and len(by_metric) > 1:
        raise AdequaError(f"{holds}; choose one with {file_name}:metric=NAME.")
    chosen = next(iter(by_metric)) if metric is None else metric
    if chosen not in by_metric:
        raise AdequaError(f'{holds}, but none of "{chosen}".{nearest(chosen, by_metric)}')
    return chosen, header[:index] + header[index + 1 :], by_metric[chosen]
