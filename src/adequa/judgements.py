"""Human judgements of translations: ratings, preferences and rated systems.

A rating is a number for one hypothesis (DA, MQM); a preference says which of two hypotheses of one
segment is better (RR, DARR). Text is optional in both: scores that come from a file need ids only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from adequa.errors import AdequaError, counted
from adequa.segments import LARGEST_SCORE, FloatArray, IntArray, Segments, concatenate

Ids: TypeAlias = Mapping[str, tuple[str, ...]]
# Human ties between two systems: (language pair, system, system), the names in sorted order.
Ties: TypeAlias = Mapping[tuple[str, str, str], int]


@dataclass(frozen=True, slots=True, eq=False)
class FileRows:
    """The rows of a file of judgements that are used, and why the others are not.

    Scores in the file's row order, one per line, are matched by `rows`.
    """

    rows: IntArray  # positions in the file, counted from 0
    row_count: int  # rows in the file
    unused: Mapping[str, int] = field(default_factory=dict)  # how many, by reason

    def select(self, rows: Sequence[int] | IntArray) -> FileRows:
        """The file with some of its rows."""
        return replace(self, rows=self.rows[np.asarray(rows, dtype=np.intp)])

    def notes(self) -> Iterator[str]:
        """A sentence for each reason why rows of the file cannot be used.

        >>> list(FileRows(np.arange(2), 5, {"no score": 3}).notes())
        ['rows of the file that cannot be used: 3 (no score).']
        """
        for reason, count in self.unused.items():
            yield f"rows of the file that cannot be used: {count:,} ({reason})."


def all_rows(count: int) -> FileRows:
    """Every one of so many rows.

    >>> all_rows(3).rows
    array([0, 1, 2])
    """
    return FileRows(np.arange(count), count)


_ALL = FileRows(np.arange(0), -1)  # every row, before their number is known


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ratings:
    """One number a hypothesis; higher is better, as in DA and (negative) MQM.

    `ids` holds what identifies a row, where it is known: `lp`, `system`, `segment` and others.

    >>> rated = Ratings(np.array([0.4, -1.2]), {"lp": ("cs-en", "cs-en"), "system": ("a", "b")})
    >>> len(rated), rated.select([1]).ids["system"]
    (2, ('b',))
    """

    scores: FloatArray
    ids: Ids
    segments: Segments | None = None
    file_rows: FileRows = _ALL
    name: str = ""  # of the dataset
    # How many judgements each score is the mean of; 0 where that is not known.
    judgement_counts: IntArray | None = None

    def __post_init__(self) -> None:
        scores = np.asarray(self.scores, dtype=np.float64)
        object.__setattr__(self, "scores", scores)
        if self.file_rows is _ALL:
            object.__setattr__(self, "file_rows", all_rows(len(scores)))
        columns = {"scores": len(scores), **{name: len(c) for name, c in self.ids.items()}}
        if self.segments is not None:
            columns["segments"] = len(self.segments)
        if self.judgement_counts is not None:
            columns["judgement counts"] = len(self.judgement_counts)
        _check_lengths(columns | {"rows": len(self.file_rows.rows)})
        usable = np.abs(scores) <= LARGEST_SCORE  # and not NaN
        if not usable.all():
            row = int(np.flatnonzero(~usable)[0])
            raise AdequaError(
                f"The human score of rating {row + 1} is {scores[row]:g}, which is no number to "
                "compare with; leave such rows out."
            )

    def __repr__(self) -> str:
        return _summary(self)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def repeated(self) -> int:
        """How many ratings are of an output, by its ids, that was rated before."""
        names = [name for name in ("lp", "year", "doc", "system", "segment") if name in self.ids]
        if not {"system", "segment"} <= set(names):
            return 0
        keys = [key for key in zip(*(self.ids[name] for name in names), strict=True) if all(key)]
        return len(keys) - len(set(keys))

    def select(self, rows: Sequence[int] | IntArray) -> Ratings:
        """The ratings of these rows, in this order."""
        chosen = [int(row) for row in rows]
        counts = self.judgement_counts
        return Ratings(
            scores=self.scores[chosen],
            ids=_select_ids(self.ids, chosen),
            segments=None if self.segments is None else self.segments.select(chosen),
            file_rows=self.file_rows.select(chosen),
            name=self.name,
            judgement_counts=None if counts is None else counts[chosen],
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Preferences:
    """Human preferences between two hypotheses of a segment; ties are counted, not listed.

    `ids` holds `lp`, `segment`, `better_system`, `worse_system`, `judge`, `ranking`, where they
    are known. `better` and `worse` hold the two hypotheses with the same references, row by row.

    >>> one = Preferences({"lp": ("cs-en",), "better_system": ("a",), "worse_system": ("b",)})
    >>> len(one), one.better is None
    (1, True)
    """

    ids: Ids
    better: Segments | None = None
    worse: Segments | None = None
    ties: Ties = field(default_factory=dict)
    file_rows: FileRows = _ALL
    name: str = ""  # of the dataset

    def __post_init__(self) -> None:
        if (self.better is None) != (self.worse is None):
            raise AdequaError("Preferences need the texts of both sides, or of neither.")
        columns = {name: len(column) for name, column in self.ids.items()}
        if self.better is not None and self.worse is not None:
            columns |= {"better": len(self.better), "worse": len(self.worse)}
        if not columns:
            raise AdequaError("Preferences need ids or texts.")
        count = next(iter(columns.values()))
        if self.file_rows is _ALL:
            object.__setattr__(self, "file_rows", all_rows(count))
        _check_lengths(columns | {"rows": len(self.file_rows.rows)})

    def __repr__(self) -> str:
        return _summary(self)

    def __len__(self) -> int:
        return len(self.file_rows.rows)

    def select(self, rows: Sequence[int] | IntArray) -> Preferences:
        """The preferences of these rows, in this order; ties of their language pairs stay."""
        chosen = [int(row) for row in rows]
        ids = _select_ids(self.ids, chosen)
        pairs = set(ids["lp"]) if "lp" in ids else None
        return Preferences(
            ids=ids,
            better=None if self.better is None else self.better.select(chosen),
            worse=None if self.worse is None else self.worse.select(chosen),
            ties={key: n for key, n in self.ties.items() if pairs is None or key[0] in pairs},
            file_rows=self.file_rows.select(chosen),
            name=self.name,
        )

    def without_identical(self) -> Preferences:
        """The preferences that a metric can learn from: those between different texts.

        In evaluation the others stay: no metric can order them, and the strict tau counts that
        against every metric alike.
        """
        if self.better is None or self.worse is None:
            return self
        pairs = zip(self.better.hypotheses, self.worse.hypotheses, strict=True)
        return self.select([row for row, (better, worse) in enumerate(pairs) if better != worse])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RatedSystems:
    """Human scores of whole systems (`lp`, `system`), and the outputs that metrics are to score.

    `outputs` has the ids `lp`, `system` and `segment`; `file_rows` are the rows of a score file
    without ids that they correspond to.
    """

    ratings: Ratings
    outputs: Segments | None = None
    file_rows: FileRows = _ALL

    def __repr__(self) -> str:
        return _summary(self)

    def __post_init__(self) -> None:
        if self.file_rows is _ALL:
            count = len(self.ratings) if self.outputs is None else len(self.outputs)
            object.__setattr__(self, "file_rows", all_rows(count))


Judgements: TypeAlias = Ratings | Preferences | RatedSystems


def without_repeats(ratings: Ratings) -> Ratings:
    """One rating an output: the mean, where a system's output of a segment was rated again.

    >>> ids = {"system": ("a", "a", "b"), "segment": ("1", "1", "1")}
    >>> without_repeats(Ratings(np.array([1.0, 2.0, 5.0]), ids)).scores
    array([1.5, 5. ])
    """
    if not ratings.repeated:
        return ratings
    names = [name for name in ("lp", "year", "doc", "system", "segment") if name in ratings.ids]
    texts = ("",) * len(ratings) if ratings.segments is None else ratings.segments.hypotheses
    code_of: dict[tuple[object, ...], int] = {}
    codes = np.array(
        [
            code_of.setdefault((*key, text) if all(key) else (row,), len(code_of))
            for row, (*key, text) in enumerate(
                zip(*(ratings.ids[name] for name in names), texts, strict=True)
            )
        ]
    )
    first = np.unique(codes, return_index=True)[1]
    means = np.bincount(codes, ratings.scores) / np.bincount(codes)
    counts = ratings.judgement_counts
    return replace(
        ratings.select(first),
        scores=means,
        judgement_counts=None if counts is None else _added_counts(codes, counts),
    )


def _added_counts(codes: IntArray, counts: IntArray) -> IntArray:
    """The judgements of all rows of a code; 0 where those of one row are not known."""
    known = np.bincount(codes, counts == 0) == 0
    return np.where(known, np.bincount(codes, counts), 0).astype(np.intp)


def joined(parts: Sequence[Ratings]) -> Ratings:
    """Ratings of several datasets as one, for training; the id `dataset` says where each is from.

    Of the other ids those stay that all parts have. Texts stay where all parts have them.

    >>> one = Ratings(np.array([1.0]), {"lp": ("cs-en",)}, name="wmt15-da")
    >>> two = Ratings(np.array([2.0]), {"lp": ("de-en",), "system": ("a",)}, name="wmt16-da")
    >>> joined([one, two]).ids
    {'lp': ('cs-en', 'de-en'), 'dataset': ('wmt15-da', 'wmt16-da')}
    """
    names = [name for name in parts[0].ids if all(name in part.ids for part in parts)]
    ids = {name: tuple(value for part in parts for value in part.ids[name]) for name in names}
    texts = [replace(part.segments, ids={}) for part in parts if part.segments is not None]
    if any(text.sources is None for text in texts):
        texts = [replace(text, sources=None) for text in texts]
    return Ratings(
        scores=np.concatenate([part.scores for part in parts]),
        ids=ids | {"dataset": tuple(part.name for part in parts for _ in range(len(part)))},
        segments=concatenate(texts) if len(texts) == len(parts) else None,
        file_rows=_joined_rows([part.file_rows for part in parts]),
        name=" + ".join(part.name for part in parts),
        judgement_counts=_joined_counts(parts),
    )


def _joined_counts(parts: Sequence[Ratings]) -> IntArray | None:
    """The numbers of judgements of all parts; 0 for parts that do not have them."""
    columns = [part.judgement_counts for part in parts]
    if all(column is None for column in columns):
        return None
    return np.concatenate(
        [
            np.zeros(len(part), np.intp) if column is None else column
            for part, column in zip(parts, columns, strict=True)
        ]
    )


def _joined_rows(parts: Sequence[FileRows]) -> FileRows:
    """The rows of several files, one after the other."""
    starts = np.cumsum([0, *(part.row_count for part in parts)])
    unused: dict[str, int] = {}
    for part in parts:
        for reason, count in part.unused.items():
            unused[reason] = unused.get(reason, 0) + count
    rows = [part.rows + start for part, start in zip(parts, starts, strict=False)]
    return FileRows(np.concatenate(rows), int(starts[-1]), unused)


def identified(judgements: Judgements) -> Ratings | Preferences:
    """What carries the ids: the judgements themselves, or the ratings of whole systems."""
    return judgements.ratings if isinstance(judgements, RatedSystems) else judgements


def _summary(judgements: Judgements) -> str:
    """What a prompt shows of judgements, which may have a million rows."""
    rows = identified(judgements)
    name = f"{rows.name!r}, " if rows.name else ""
    ids = ", ".join(rows.ids) or "none"
    return f"{type(judgements).__name__}({name}{counted(len(rows), 'row')}, ids: {ids})"


def _select_ids(ids: Ids, rows: Sequence[int]) -> Ids:
    return {name: tuple(map(column.__getitem__, rows)) for name, column in ids.items()}


def _check_lengths(columns: Mapping[str, int]) -> None:
    if len(set(columns.values())) > 1:
        counts = ", ".join(f"{name}: {count}" for name, count in columns.items())
        raise AdequaError(f"Every judgement needs one of each, but the numbers differ ({counts}).")
