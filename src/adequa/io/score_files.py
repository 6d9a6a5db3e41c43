"""Score files: what an outside metric says, to be matched with judgements by ids or by row.

A TSV file with a header (`lp`, `system`, `segment`, `score`, whatever of them identifies a row);
one number a line, or two (better and worse), in the row order of a dataset; or the `.seg.score`
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
from adequa.io.rankings import joined_systems, language_pair
from adequa.io.text import (
    FilePath,
    display_name,
    lines,
    stem,
    uncompressed_name,
    without_trailing_blanks,
)
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

    def __len__(self) -> int:
        return len(self.scores)


def read_score_file(path: FilePath, *, metric: str | None = None) -> ScoreFile:
    """Scores from a file; `metric` chooses where a file of the WMT metrics task holds several."""
    rows = _rows(path)
    layouts = _wmt_layouts(path)
    if layouts is not None:
        return _wmt_scores(path, rows, layouts, metric)
    first_line, first = next(rows)
    has_header = any(cell in {"score", *_SIDES} for cell in map(_column, first))
    if not has_header and not any(map(_is_number, first)):
        raise AdequaError(
            f'{first_line} has neither scores nor a header with "score". A score file holds one '
            "score a line (better and worse, two columns, for preferences), or begins with a "
            "header such as lp, system, segment, score, with tabs in between."
        )
    header = tuple(map(_column, first))
    if has_header and "metric" in header:
        return _one_metric(display_name(path), header, rows, metric)
    if metric is not None:
        raise AdequaError(
            f"{display_name(path)} holds one metric, so that there is no {metric} to choose in it."
        )
    if has_header:
        return _headed_scores(display_name(path), stem(path), header, rows)
    return _scores_by_row(stem(path), chain([(first_line, first)], rows))


def _rows(path: FilePath) -> Iterator[PlacedCells]:
    """Every line's cells, with the place to name if something is wrong with them."""
    name, number = display_name(path), 0
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
    identified = tuple(column for column in header if column not in scored)
    ids: list[tuple[str, ...]] = []
    scores: list[list[float]] = []
    places: list[str] = []
    for place, cells in rows:
        if len(cells) != len(header):
            raise AdequaError(
                f"{place} has {counted(len(cells), 'cell')}, but the header names {len(header)}."
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
    return tuple(_identifier(column, row[column]) for column in identified)


def _identifier(column: str, cell: str) -> str:
    if column == "lp":
        return language_pair(cell)
    return joined_systems(cell) if column in SYSTEMS else cell.strip()


def _refuse_contradictions(
    places: Sequence[str],
    identified: Sequence[str],
    ids: Sequence[tuple[str, ...]],
    scores: Sequence[Sequence[float]],
) -> None:
    """The same ids may come again, as judgements do, but not with another score."""
    if not identified:
        return
    first_rows: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(ids):
        first = first_rows.setdefault(key, row)
        if scores[first] != scores[row]:
            what = ", ".join(map(" ".join, zip(identified, key, strict=True)))
            line = places[first].split()[-1]
            raise AdequaError(
                f"{places[row]} has another score for {what} than line {line}. Add the column that "
                "tells them apart, or leave the header and the ids out and give one score a line "
                "in the order of the dataset."
            )


def _wmt_layouts(path: FilePath) -> tuple[tuple[str, ...], ...] | None:
    name = uncompressed_name(path).lower()
    return next(
        (layouts for suffix, layouts in _WMT_LAYOUTS.items() if name.endswith(suffix)), None
    )


def _wmt_layout(
    place: str, cells: Sequence[str], layouts: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    """The layout of a file, from its first line."""
    segments = "segment" in layouts[-1]
    for layout in layouts:
        score = len(layout) - 1
        fits = len(cells) == len(layout) or len(cells) == len(layout) + len(_FLAGS)
        if fits and _is_number(cells[score]) and (not segments or _is_segment(layout, cells)):
            return layout
    raise AdequaError(
        f"{place} has {counted(len(cells), 'cell')} between tabs, and no score where a file of "
        f"this kind has it; the columns are {', '.join(layouts[1])}, or in newer years "
        f"{', '.join(layouts[-1])}."
    )


def _is_segment(layout: tuple[str, ...], cells: Sequence[str]) -> bool:
    """Whether what should be a segment's number is one, where there is any."""
    return "segment" not in layout or cells[layout.index("segment")].strip().isdecimal()


def _wmt_scores(
    path: FilePath,
    rows: Iterator[PlacedCells],
    layouts: Sequence[tuple[str, ...]],
    metric: str | None,
) -> ScoreFile:
    first_place, first = next(rows)
    columns = _wmt_layout(first_place, first, layouts)
    if columns[0] == "system":
        return _mt_metrics_eval_scores(path, chain([(first_place, first)], rows), layouts)
    cut = ((place, cells[: len(columns)]) for place, cells in _even(len(first), rows))
    return _one_metric(
        display_name(path), columns, chain([(first_place, first[: len(columns)])], cut), metric
    )


def _even(width: int, rows: Iterable[PlacedCells]) -> Iterator[PlacedCells]:
    """Lines with as many cells as the first."""
    for place, cells in rows:
        if len(cells) != width:
            raise AdequaError(
                f"{place} has {counted(len(cells), 'cell')} between tabs, "
                f"but the first line has {width}."
            )
        yield place, cells


def _one_metric(
    file_name: str, header: tuple[str, ...], rows: Iterable[PlacedCells], metric: str | None
) -> ScoreFile:
    """The scores of one metric from a file with a column of them."""
    index = header.index("metric")
    by_metric: dict[str, list[PlacedCells]] = {}
    for place, cells in rows:
        if len(cells) <= index:
            raise AdequaError(
                f"{place} has {counted(len(cells), 'cell')}, but the header names {len(header)}."
            )
        rest = cells[:index] + cells[index + 1 :]
        by_metric.setdefault(cells[index].strip(), []).append((place, rest))
    chosen = _chosen_metric(file_name, tuple(by_metric), metric)
    return _headed_scores(
        file_name, chosen, header[:index] + header[index + 1 :], by_metric[chosen]
    )


def _mt_metrics_eval_scores(
    path: FilePath,
    rows: Iterable[PlacedCells],
    layouts: Sequence[tuple[str, ...]],
) -> ScoreFile:
    """A system and a score a line; the segments of a system are numbered as they come, from 1."""
    name = stem(path).removesuffix(".seg").removesuffix(".sys")
    if "segment" not in layouts[-1]:
        return _headed_scores(display_name(path), name, ("system", "score"), rows)
    seen: Counter[str] = Counter()

    def numbered() -> Iterator[PlacedCells]:
        for place, cells in rows:
            seen[cells[0]] += 1
            yield place, [cells[0], str(seen[cells[0]]), *cells[1:]]

    return _headed_scores(display_name(path), name, ("system", "segment", "score"), numbered())


def _chosen_metric(file_name: str, metrics: Sequence[str], metric: str | None) -> str:
    if metric is not None and metric in metrics:
        return metric
    holds = f"{file_name} holds scores of {', '.join(metrics)}"
    if metric is not None:
        raise AdequaError(f'{holds}, but none of "{metric}".{nearest(metric, metrics)}')
    if not metrics:
        raise AdequaError(f"{file_name} has a header and no scores.")
    if len(metrics) > 1:
        raise AdequaError(f"{holds}; choose one with {file_name}:metric=NAME.")
    return metrics[0]
