"""Rows put into groups: language pairs, segments, systems; unequal groups padded to a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from adequa.segments import FloatArray, IntArray

if TYPE_CHECKING:
    from adequa.judgements import Ids

SIDES = ("better_system", "worse_system")
SYSTEMS = ("system", *SIDES)  # the columns that name systems

ALL = "all"  # the column of judgements that name no language pair
UNKNOWN = "(unknown)"  # where some judgements name a language pair and others do not
JOINED = "+"  # between the names of systems that gave the same output


def column_names(ids: Ids, count: int) -> tuple[str, ...]:
    """The column of the table that each row belongs to: its language pair, and its year if any.

    >>> column_names({"lp": ("zh-en", "zh-en"), "year": ("2020", "2021")}, 2)
    ('zh-en 2020', 'zh-en 2021')
    """
    if "lp" not in ids:
        return (ALL,) * count
    pairs = tuple(pair or UNKNOWN for pair in ids["lp"])
    years = ids.get("year")
    if years is None or len(set(years)) == 1:
        return pairs
    return tuple(f"{pair} {year}" for pair, year in zip(pairs, years, strict=True))


def segment_names(ids: Ids) -> tuple[str, ...] | None:
    """The identity of segments: their number, and the document and year that it counts within.

    >>> segment_names({"doc": ("x", "y", "y"), "segment": ("1", "1", "")})
    ('x 1', 'y 1', '')
    """
    if "segment" not in ids:
        return None
    within = [ids[name] for name in ("year", "doc") if name in ids]
    return tuple(
        " ".join((*places, segment)) if segment else ""
        for *places, segment in zip(*within, ids["segment"], strict=True)
    )


def rows_by(names: Sequence[str]) -> dict[str, IntArray]:
    """The rows of each name, the names in alphabetical order.

    >>> rows_by(["b", "a", "b"])
    {'a': array([1]), 'b': array([0, 2])}
    """
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return {name: np.array(rows[name], dtype=np.intp) for name in sorted(rows)}


def codes(values: Sequence[str] | None, count: int) -> IntArray:
    """A number for each distinct value; every missing value gets a number of its own.

    >>> codes(["x", "", "y", "x", ""], 5)
    array([0, 1, 2, 0, 3])
    """
    if values is None:
        return np.arange(count)
    code_of: dict[object, int] = {}
    return np.array(
        [code_of.setdefault(value or (row,), len(code_of)) for row, value in enumerate(values)],
        dtype=np.intp,
    )


def numbered(names: Sequence[str]) -> tuple[IntArray, tuple[str, ...]]:
    """A number for each name, all of which are known, and the names by number.

    >>> numbered(["b", "a", "b"])
    (array([0, 1, 0]), ('b', 'a'))
    """
    return codes(names, len(names)), tuple(dict.fromkeys(names))


def padded(group_codes: IntArray) -> tuple[IntArray, FloatArray]:
    """Rows with one line per group, (groups, longest), and a mask: 1 for a row, 0 for padding.

    >>> rows, present = padded(np.array([0, 1, 0]))
    >>> rows
    array([[0, 2],
           [1, 0]])
    >>> present
    array([[1., 1.],
           [1., 0.]])
    """
    order = np.argsort(group_codes, kind="stable")
    sizes = np.bincount(group_codes)
    group = np.repeat(np.arange(len(sizes)), sizes)
    index = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    shape = (len(sizes), int(sizes.max(initial=0)))
    rows, present = np.zeros(shape, dtype=np.intp), np.zeros(shape)
    rows[group, index] = order
    present[group, index] = 1.0
    return rows, present


def splitter(
    columns: Sequence[str], systems: Sequence[str]
) -> Callable[[str, str], tuple[str, ...]]:
    """A function from a column and a name to the systems that the name stands for.

    A name stands for several where they gave the same output ("A+B"). It is split only if all its
    parts are systems of that column in their own right.
    """
    alone = {key for key in zip(columns, systems, strict=True) if JOINED not in key[1]}

    @cache
    def parts(column: str, name: str) -> tuple[str, ...]:
        apart = tuple(name.split(JOINED))
        separable = len(apart) > 1 and all((column, part) in alone for part in apart)
        return apart if separable else (name,)

    return parts


def parts_of_systems(columns: Sequence[str], systems: Sequence[str]) -> list[tuple[str, ...]]:
    """The systems behind each row.

    >>> parts_of_systems(["cs"] * 4 + ["de"], ["A", "B", "A+B", "C+x", "A+B"])
    [('A',), ('B',), ('A', 'B'), ('C+x',), ('A+B',)]
    """
    return list(map(splitter(columns, systems), columns, systems))


def one_system_a_row(parts: Sequence[tuple[str, ...]]) -> tuple[IntArray, tuple[str, ...]]:
    """Rows repeated where several systems gave the same output, and the system of each.

    >>> one_system_a_row([("A",), ("A", "B")])
    (array([0, 1, 1]), ('A', 'A', 'B'))
    """
    sizes = np.array([len(names) for names in parts], dtype=np.intp)
    return np.repeat(np.arange(len(parts)), sizes), tuple(chain.from_iterable(parts))
