"""Files of human judgements: ratings or preferences from a table, recognised by its columns.

Texts are optional as a whole, and so are references where all rows have sources. `n` is the number
of judgements that a rating is the mean of. Every other column that is neither a text nor the score
identifies rows and is read into `ids` as text. A row that cannot be used is counted by its reason
in `file_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import TypeAlias

import numpy as np

from adequa.errors import AdequaError, nearest
from adequa.io.columns import (
    OpenTable,
    Quoting,
    all_text,
    listed,
    places,
    refuse_equal_names,
    with_usual_names,
)
from adequa.io.rankings import joined_systems, read_wmt_rankings, usable_rows
from adequa.io.read import TABLES, format_suffix, open_table
from adequa.io.text import Advance, FilePath, display_name, ignore
from adequa.judgements import Ids, Preferences, Ratings
from adequa.languages import language_pair
from adequa.segments import IntArray, Segments

Columns: TypeAlias = Mapping[str, Sequence[object]]
ReferenceTexts: TypeAlias = tuple[str, ...]

_CHUNK = 4096  # rows parsed at a time; what repeats among them is stored once
_SIDES = ("better", "worse")
_SYSTEMS = ("better_system", "worse_system")
_RATED = ("mt", "ref")
_TEXTS = ("src", "post_edit")  # further texts, which are no ids
_SIMILAR = ("a", "b")  # two sentences, the second of which serves as the reference
_NORMALISED: Mapping[str, Callable[[str], str]] = {
    "lp": language_pair,
    "better_system": joined_systems,
    "worse_system": joined_systems,
}
_DISTINCTIVE = ("score", *_SIDES, *_SYSTEMS)
_COUNT, _MOST_JUDGEMENTS = "n", 2**31 - 1


def read_judgements(
    path: FilePath, *, quoting: Quoting = "auto", advance: Advance | None = None
) -> Ratings | Preferences:
    """Ratings or preferences from a TSV, CSV, JSONL, JSON or Parquet file, or from WMT rankings.

    Ratings have `score` and optionally `mt`, `ref` (or `a`, `b`), `src` and `n`; preferences have
    `better`, `worse`, `ref` and optionally `src`, or only `better_system` and `worse_system`.
    Sources serve where no row has a reference.
    """
    suffix = format_suffix(path)
    if suffix == ".csv" and _holds_rankings(path):
        return read_wmt_rankings(path, advance=advance)
    if suffix not in TABLES:
        raise AdequaError(
            f"{display_name(path)} is of no known format. The name of a file of judgements should "
            f"end in {', '.join(TABLES)}."
        )
    with open_table(path, advance or ignore, quoting) as table:
        return judgements_of(table.name, whole_columns(table))


def _holds_rankings(path: FilePath) -> bool:
    """Whether a CSV file has the columns of WMT's rankings."""
    with open_table(path, ignore) as table:
        return {"srclang", "trglang"} & {
            name.strip().lower() for name in table.column_names
        } != set()


def whole_columns(table: OpenTable) -> dict[str, list[object]]:
    """Every column of a table; a row that lacks one has None in it, and equal texts are one.

    The numbers of judgements are checked here, where the line of each row is known.
    """
    refuse_equal_names(table)
    interned: dict[str, str] = {}
    columns: dict[str, list[object]] = {name: [] for name in table.column_names}
    count = 0
    for chunk in table.chunks(None, _CHUNK):
        if _COUNT in chunk.columns and not _compares(chunk.columns):
            _judgement_counts(chunk.columns[_COUNT], chunk.place)
        for name, values in chunk.columns.items():
            column = columns.setdefault(name, [None] * count)
            if all_text(values):
                column.extend(map(interned.setdefault, values, values))
            else:
                column += [interned.setdefault(v, v) if isinstance(v, str) else v for v in values]
        count = max(map(len, columns.values()), default=0)
        for column in columns.values():
            column.extend([None] * (count - len(column)))
    return columns


def judgements_of(name: str, columns: Columns) -> Ratings | Preferences:
    """Ratings or preferences from whole columns; `name` is the file, for error sentences."""
    if not any(column in columns for column in _DISTINCTIVE):
        hint = next(filter(None, (nearest(column, columns) for column in _DISTINCTIVE)), "")
        raise AdequaError(
            f'{name} holds neither ratings, which need "score", nor preferences, which need '
            '"better", "worse" and "ref", or "better_system" and "worse_system".'
            f"{hint} It has: {listed(columns)}."
        )
    if not any(columns.values()):
        raise AdequaError(f"{name} has no rows: there is no judgement in it.")
    columns = _with_usual_texts(name, columns)
    return _preferences(name, columns) if _compares(columns) else _ratings(name, columns)


def _compares(columns: Columns) -> bool:
    """Whether these are the columns of preferences."""
    return any(column in columns for column in (*_SIDES, *_SYSTEMS))


def _with_usual_texts(name: str, columns: Columns) -> Columns:
    """Columns with texts under `mt`, `ref` and `src`, where there are texts and not only ids."""
    renamed = with_usual_names(columns, name)
    has_side = "mt" in renamed or any(side in renamed for side in _SIDES)
    return renamed if has_side and ("ref" in renamed or "src" in renamed) else columns


def _ratings(name: str, columns: Columns) -> Ratings:
    scores = [_number(value) for value in columns["score"]]
    problems = {
        "no score": _absent(columns["score"]),
        "score is not a number": [score is None for score in scores],
        "score is NaN or infinite": [not isfinite(score or 0.0) for score in scores],
    }
    counts = _judgement_counts(columns.get(_COUNT, [None] * len(scores)), places(name, "row", 1))
    texts = _rated_texts(name, columns)
    references: Sequence[ReferenceTexts] = ()
    if texts is not None:
        references = _references(columns, texts[1])
        problems |= _text_problems(columns, {"hypothesis": texts[0]}, references)
    usable = usable_rows(name, problems, len(scores))
    rows = usable.rows.tolist()
    return Ratings(
        scores=np.array([scores[row] for row in rows], dtype=np.float64),
        ids=_ids(columns, {"score", _COUNT, *_TEXTS, *(texts or ())}, rows),
        segments=None if texts is None else _segments(columns, texts[0], references, rows),
        file_rows=usable,
        judgement_counts=counts[usable.rows] if counts.any() else None,
    )


def _judgement_counts(values: Sequence[object], place: Callable[[int], str]) -> IntArray:
    """How many judgements each rating is the mean of; 0 where there is no number."""
    counts = [_count(value) for value in values]
    if None in counts:
        row = counts.index(None)
        raise AdequaError(
            f'{place(row)}: "{_COUNT}" is {str(values[row])!r}. It is the number of judgements '
            "that the score is the mean of, 1 or more, or empty where that is not known; rename "
            "the column if it is something else."
        )
    return np.array(counts, dtype=np.intp)


def _count(value: object) -> int | None:
    """A number of judgements; 0 where there is none, None where it is no such number.

    >>> _count(3), _count("3"), _count(3.0), _count(None), _count(0), _count("2.5")
    (3, 3, 3, 0, None, None)
    """
    if not _identifier(value).strip():
        return 0
    number = _number(value)
    return int(number) if number and 1 <= number <= _MOST_JUDGEMENTS and number % 1 == 0 else None


def _rated_texts(name: str, columns: Columns) -> tuple[str, str] | None:
    """The columns of hypothesis and reference, where there are texts."""
    if any(text in columns for text in _RATED):
        _require_texts(name, columns, _RATED[:1])
        return _RATED
    return _SIMILAR if all(text in columns for text in _SIMILAR) else None


def _preferences(name: str, columns: Columns) -> Preferences:
    if not any(side in columns for side in _SIDES):
        _require(name, columns, _SYSTEMS)
        problems = {f"no {system}": _absent(columns[system]) for system in _SYSTEMS}
        usable = usable_rows(name, problems, len(columns[_SYSTEMS[0]]))
        rows = usable.rows.tolist()
        return Preferences(_ids(columns, {"src", "ref"}, rows), file_rows=usable)
    _require_texts(name, columns, _SIDES)
    references = _references(columns, "ref")
    sides = {f"{side} hypothesis": side for side in _SIDES}
    usable = usable_rows(name, _text_problems(columns, sides, references), len(references))
    rows = usable.rows.tolist()
    better = _segments(columns, "better", references, rows)
    return Preferences(
        ids=_ids(columns, {"src", "ref", *_SIDES}, rows),
        better=better,
        worse=Segments(_texts(columns["worse"], rows), better.references, better.sources),
        file_rows=usable,
    )


def _require_texts(name: str, columns: Columns, hypotheses: Sequence[str]) -> None:
    """Raise unless there are hypotheses with references, or with sources."""
    if "src" in columns and "ref" not in columns:
        _require(name, columns, (*hypotheses, "src"))
    else:
        _require(name, columns, (*hypotheses, "ref"), ', or "src" in place of "ref"')


def _require(name: str, columns: Columns, needed: Sequence[str], alternative: str = "") -> None:
    lacking = [column for column in needed if column not in columns]
    if lacking:
        present = [column for column in needed if column in columns]
        raise AdequaError(
            f"{name} has {_quoted(present)}, but no {_quoted(lacking)}; judgements need "
            f"{_quoted(needed)} together{alternative}. It has: {listed(columns)}."
        )


def _quoted(names: Iterable[str]) -> str:
    return " and ".join(f'"{name}"' for name in names)


def _absent(values: Sequence[object]) -> list[bool]:
    return [value is None or (isinstance(value, str) and not value.strip()) for value in values]


def _number(value: object) -> float | None:
    """A score as a number, also where the file holds text; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _text_problems(
    columns: Columns, hypotheses: Mapping[str, str], references: Sequence[ReferenceTexts]
) -> dict[str, list[bool]]:
    """What is wrong with the texts of rows; an empty hypothesis is a translation like any other."""
    problems = {
        f"no {part} text": [not isinstance(value, str) for value in columns[name]]
        for part, name in hypotheses.items()
    }
    if "src" not in columns:
        problems["no reference text"] = [not cell for cell in references]
    elif any(references):
        problems["no reference text, which other rows have"] = [not cell for cell in references]
    else:
        problems["no source text"] = _absent(columns["src"])
    return problems


def _references(columns: Columns, name: str) -> list[ReferenceTexts]:
    """The references of every row; none where one of them is missing or blank."""
    values = columns.get(name, [None] * len(next(iter(columns.values()))))
    interned: dict[str, ReferenceTexts] = {}

    def listed(value: object) -> ReferenceTexts:
        if isinstance(value, str):
            return interned.setdefault(value, (value,) if value.strip() else ())
        if not isinstance(value, list):
            return ()
        texts = tuple(text for text in value if isinstance(text, str) and text.strip())
        return texts if len(texts) == len(value) else ()

    return [listed(value) for value in values]


def _segments(
    columns: Columns, hypothesis: str, references: Sequence[ReferenceTexts], rows: Sequence[int]
) -> Segments:
    sources = _texts(columns["src"], rows) if "src" in columns else ()
    return Segments(
        hypotheses=_texts(columns[hypothesis], rows),
        references=tuple(map(references.__getitem__, rows)),
        sources=sources if any(sources) else None,
    )


def _texts(values: Sequence[object], rows: Sequence[int]) -> tuple[str, ...]:
    """Texts of these rows, a missing one (only a source may be) as an empty text."""
    chosen = tuple(map(values.__getitem__, rows))
    if all_text(chosen):
        return tuple(chosen)
    return tuple(value if isinstance(value, str) else "" for value in chosen)


def _ids(columns: Columns, leave_out: set[str], rows: Sequence[int]) -> Ids:
    """The columns that identify rows: those of simple values, not all of them missing."""
    ids = {}
    for name, values in columns.items():
        chosen = [] if name in leave_out else list(map(values.__getitem__, rows))
        if set(map(type, chosen)) & {list, dict, bytes}:
            continue
        normalised = _NORMALISED.get(name, str)
        texts = {value: normalised(_identifier(value)) for value in dict.fromkeys(chosen)}
        if any(texts.values()):
            ids[name] = tuple(map(texts.__getitem__, chosen))
    return ids


def _identifier(value: object) -> str:
    """A value as it identifies a row; empty for null, and for NaN, the null of other tools.

    >>> _identifier("a"), _identifier(3), _identifier(3.0), _identifier(None)
    ('a', '3', '3', '')
    """
    if value is None or value != value:  # noqa: PLR0124 - which only NaN is
        return ""
    # Whole numbers in a column with gaps are floats to other tools.
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)
