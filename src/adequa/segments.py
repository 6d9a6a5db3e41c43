"""Segments and Signature: the basic types, frozen and columnar; and segments from Python lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import Any, Literal, Protocol, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError, counted, warn

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
# How the scores of a hypothesis with each of its references become one score.
Reduction: TypeAlias = Literal["best", "mean"]

UNNAMED = "system"  # the name of a system that has none in the input

# Larger numbers are not accepted as scores: their squares and sums would overflow.
LARGEST_SCORE = 1e100


def check_finite(name: str, values: FloatArray) -> None:
    """Raise a sentence where values are not all finite numbers of a sensible size.

    >>> check_finite("chrf", np.array([1.0, np.nan]))
    Traceback (most recent call last):
    adequa.errors.AdequaError: chrf: score 2 of 2 is nan; scores must be numbers, of at most 1e+100.
    """
    usable = np.abs(values) <= LARGEST_SCORE  # and not NaN
    if not usable.all():
        flat = np.ravel(values)
        row = int(np.flatnonzero(~np.ravel(usable))[0])
        raise AdequaError(
            f"{name}: score {row + 1} of {flat.size} is {flat[row]:g}; scores must be numbers, of "
            f"at most {LARGEST_SCORE:g}."
        )


@dataclass(frozen=True, slots=True)
class Segments:
    """Units of translation, column by column: row i of every column belongs to segment i.

    `references` holds one tuple per segment, because segments may have different numbers of
    references. Where there are none at all, every tuple is empty, and there are sources. `ids`
    holds whatever else identifies a segment (`system`, `doc`, ...).

    >>> segments = Segments(("a cat sat",), (("the cat sat", "a cat was sitting"),))
    >>> len(segments), segments.reference_count
    (1, 2)
    >>> Segments(("a cat sat",), ((),), sources=("eine Katze saß",)).has_references
    False
    """

    hypotheses: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    sources: tuple[str, ...] | None = None
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lengths = {"hypotheses": len(self.hypotheses)}
        if self.sources is None or any(self.references):
            lengths["references"] = len(self.references)
        if self.sources is not None:
            lengths["sources"] = len(self.sources)
        lengths |= {name: len(column) for name, column in self.ids.items()}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name}: {count}" for name, count in lengths.items())
            raise AdequaError(
                f"Every segment needs one of each, but the numbers differ ({counts})."
            )
        # Metrics cache statistics by these tuples, so that they must not change.
        object.__setattr__(self, "hypotheses", tuple(self.hypotheses))
        object.__setattr__(self, "references", tuple(self.references))
        if not set(map(type, self.references)) <= {tuple}:
            raise AdequaError(
                "references holds one tuple of strings a segment; for other kinds of lists there "
                "is adequa.score."
            )
        if self.sources is not None and not any(self.references):
            object.__setattr__(self, "references", ((),) * len(self.hypotheses))
            return
        if not all(self.references) or not all(
            map(str.strip, chain.from_iterable(self.references))
        ):
            row, references = next(
                (row, references)
                for row, references in enumerate(self.references, 1)
                if not references or not all(map(str.strip, references))
            )
            raise AdequaError(
                f"Segment {row} has {'an empty' if references else 'no'} reference; every segment "
                "needs reference text, or none has any and all have sources."
            )

    def __len__(self) -> int:
        return len(self.hypotheses)

    @property
    def target_texts(self) -> list[str]:
        """Texts in the target language, to detect it: the first references, or else hypotheses."""
        if self.has_references:
            return [texts[0] for texts in self.references]
        return list(self.hypotheses)

    @property
    def has_references(self) -> bool:
        """Whether the segments have references: all have some, or none has any."""
        return any(self.references)

    @property
    def reference_count(self) -> int | None:
        """The number of references of every segment, or None where segments differ in it."""
        counts = set(map(len, self.references))
        return counts.pop() if len(counts) == 1 else None

    def select(self, rows: Sequence[int]) -> Segments:
        """Return the segments of these rows, in this order.

        >>> pair = Segments(("a", "b"), (("x",), ("y",)))
        >>> pair.select([1]).hypotheses
        ('b',)
        """
        return Segments(
            hypotheses=tuple(self.hypotheses[row] for row in rows),
            references=tuple(self.references[row] for row in rows),
            sources=None if self.sources is None else tuple(self.sources[row] for row in rows),
            ids={name: tuple(column[row] for row in rows) for name, column in self.ids.items()},
        )

    def pairs(self, rows: Sequence[int] | None = None) -> ReferencePairs:
        """Return every hypothesis, or those of these rows, paired with each of its references.

        >>> pairs = Segments(("a", "b"), (("x", "y"), ("z",))).pairs()
        >>> pairs.hypotheses, pairs.references, pairs.segment.tolist()
        (['a', 'a', 'b'], ['x', 'y', 'z'], [0, 0, 1])
        """
        hypotheses: Sequence[str] = self.hypotheses
        references: Sequence[tuple[str, ...]] = self.references
        if rows is not None:
            hypotheses = [hypotheses[row] for row in rows]
            references = [references[row] for row in rows]
        counts = np.fromiter(map(len, references), np.intp, len(references))
        repeated = (
            hypotheses  # of one reference each, as nearly always
            if (counts == 1).all()
            else chain.from_iterable(map(repeat, hypotheses, counts.tolist()))
        )
        return ReferencePairs(
            hypotheses=list(repeated),
            references=list(chain.from_iterable(references)),
            segment=np.repeat(np.arange(len(counts)), counts),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ReferencePairs:
    """Every hypothesis with each of its references, the references of a segment in a row."""

    hypotheses: list[str]
    references: list[str]
    segment: IntArray  # index of the segment of each pair (among the rows); never decreasing


def reduce_pairs(scores: FloatArray, segment: IntArray, reduction: Reduction) -> FloatArray:
    """Return the best or the mean score of each segment, from the scores of `Segments.pairs`.

    `segment` is the index of the segment of each pair; the pairs of a segment are in a row.
    `scores` has one row per pair; further axes stay as they are.

    >>> pairs = Segments(("a", "b"), (("x", "y"), ("z",))).pairs()
    >>> reduce_pairs(np.array([1.0, 3.0, 5.0]), pairs.segment, "best")
    array([3., 5.])
    >>> reduce_pairs(np.array([1.0, 3.0, 5.0]), pairs.segment, "mean")
    array([2., 5.])
    """
    starts = np.flatnonzero(np.diff(segment, prepend=-1))
    if reduction == "best":
        return np.asarray(np.maximum.reduceat(scores, starts))
    counts = np.diff([*starts, len(scores)])
    return np.asarray((np.add.reduceat(scores, starts).T / counts).T)


def check_characters(texts: Iterable[str], error: Exception) -> None:
    """Raise where a text contains half a character, a surrogate, which no tokenizer reads.

    Metrics that read no tokens take such texts, so that it is checked only where a tokenizer has
    failed with `error`, which names no cause.
    """
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError as half:
        raise AdequaError(
            f"A text holds {half.object[half.start]!a} at character {half.start + 1:,}, which is "
            "half a character (a surrogate) that no tokenizer reads; correct the text."
        ) from error


def concatenate(parts: Sequence[Segments]) -> Segments:
    """Return batches as one, in order. All have the same columns.

    >>> concatenate([Segments(("a",), (("x",),)), Segments(("b",), (("y",),))]).hypotheses
    ('a', 'b')
    """
    first = parts[0]
    return Segments(
        hypotheses=tuple(chain.from_iterable(part.hypotheses for part in parts)),
        references=tuple(chain.from_iterable(part.references for part in parts)),
        sources=None
        if first.sources is None
        else tuple(chain.from_iterable(part.sources or () for part in parts)),
        ids={
            name: tuple(chain.from_iterable(part.ids[name] for part in parts)) for name in first.ids
        },
    )


# Fields of a signature that name what computed a score and not which metric it is: two signatures
# that differ in these alone are of one metric, whose scores may differ in their last digits.
ENVIRONMENT_FIELDS = frozenset({"version", "sacrebleu", "onnxruntime", "isa"})


def joined_references(parts: Sequence[Iterable[tuple[str, ...]]]) -> tuple[tuple[str, ...], ...]:
    """Return references of the same segments from multiple columns or files, joined by segment.

    >>> joined_references([[("a",), ("b",)], [("A",), ("B1", "B2")]])
    (('a', 'A'), ('b', 'B1', 'B2'))
    """
    if len(parts) == 1:
        return tuple(parts[0])
    return tuple(tuple(chain.from_iterable(cells)) for cells in zip(*parts, strict=True))


@dataclass(frozen=True, slots=True)
class Signature:
    """The short line that lets someone else get the same number.

    >>> str(Signature("bleu", (("nrefs", "1"), ("tok", "13a"), ("version", "2.6.0"))))
    'bleu|nrefs:1|tok:13a|version:2.6.0'
    """

    metric: str
    fields: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "|".join([self.metric, *(f"{key}:{value}" for key, value in self.fields)])


# From Python objects

# How lists of references are nested: one list per segment, or one list per reference (a stream) as
# sacreBLEU has them.
ReferenceLayout: TypeAlias = Literal["segments", "streams"]

# Names of the columns of a table, by the field that they hold.
COLUMN_NAMES: dict[str, tuple[str, ...]] = {
    "mt": ("mt", "hypothesis", "translation"),
    "ref": ("ref", "reference"),
    "src": ("src", "source"),
}


class Frame(Protocol):
    """A data frame, of pandas or of another library whose columns are read alike."""

    @property
    def columns(self) -> Iterable[Any]: ...

    def __getitem__(self, name: str, /) -> Iterable[Any]: ...


def as_segments(
    hypotheses: Iterable[str] | Segments | Frame,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    sources: Iterable[str] | None = None,
    *,
    layout: ReferenceLayout | None = None,
) -> Segments:
    """Segments from lists of strings, or from a data frame; segments are returned as they are.

    `references` holds one string per segment, or nested lists of strings: by segment, or by
    reference as sacreBLEU has them. `layout` says which it is: it has to where their lengths fit
    both, and otherwise a warning names the latter.

    >>> as_segments(["a", "b", "c"], [["x", "y", "z"]], layout="streams").references
    (('x',), ('y',), ('z',))
    >>> as_segments(["a", "b"], [["v", "w"], ["x", "y"]], layout="streams").references
    (('v', 'x'), ('w', 'y'))
    """
    if isinstance(hypotheses, Segments) or hasattr(hypotheses, "columns"):
        if references is not None or sources is not None:
            raise AdequaError(
                "Segments and data frames have their references and sources with them; give no "
                'others, and name a metric as metric="chrf".'
            )
        if isinstance(hypotheses, Segments):
            return hypotheses
        return _from_frame(cast("Frame", hypotheses))
    texts = as_strings("hypotheses", hypotheses)
    if references is None and sources is None:
        raise AdequaError(
            "Give references: one string, or a list of strings, for each segment; or sources, for "
            "metrics that need no reference."
        )
    return Segments(
        hypotheses=texts,
        references=((),) * len(texts)
        if references is None
        else references_by_segment(references, len(texts), layout),
        sources=None if sources is None else as_strings("sources", sources),
    )


def segments_by_system(
    systems: Mapping[str, Iterable[str]],
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    sources: Iterable[str] | None = None,
    *,
    layout: ReferenceLayout | None = None,
) -> dict[str, Segments]:
    """Segments of each system from its list of hypotheses; errors name the system.

    >>> segments_by_system({"old": ["a cat"], "new": ["the cat"]}, ["a cat"])["new"].hypotheses
    ('the cat',)
    """
    # Iterators are read once for all systems.
    shared = None if references is None else as_tuple("references", references)
    source_texts = None if sources is None else as_tuple("sources", sources)
    segments: dict[str, Segments] = {}
    for name, texts in systems.items():
        if not isinstance(name, str):
            raise AdequaError(f"A system's name is a text, not {name!r}; write it in quotes.")
        try:
            segments[name] = as_segments(texts, shared, source_texts, layout=layout)
        except AdequaError as error:
            raise AdequaError(f"{name}: {error}") from None
    return segments


# The outputs of one system, those of several by name, or outputs with all that belongs to them.
Hypotheses: TypeAlias = Iterable[str] | Mapping[str, Iterable[str]] | Segments | Frame


def joined_systems(
    hypotheses: Hypotheses,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    sources: Iterable[str] | None = None,
    *,
    layout: ReferenceLayout | None = None,
) -> Segments:
    """Segments as `as_segments` returns them; those of several systems follow one another.

    >>> joined_systems({"old": ["a cat"], "new": ["the cat"]}, ["a cat"]).ids
    {'system': ('old', 'new')}
    """
    if not isinstance(hypotheses, Mapping):
        return as_segments(hypotheses, references, sources, layout=layout)
    if not hypotheses:
        raise AdequaError("There are no systems: the dictionary of hypotheses is empty.")
    systems = segments_by_system(hypotheses, references, sources, layout=layout)
    return concatenate(
        [
            replace(segments, ids={"system": (name,) * len(segments)})
            for name, segments in systems.items()
        ]
    )


def _from_frame(frame: Frame) -> Segments:
    """Segments from a data frame of pandas or of another library that iterates over columns."""
    names = [str(name) for name in frame.columns]
    columns: dict[str, str] = {}
    for part, aliases in COLUMN_NAMES.items():
        matching = [name for name in aliases if name in names]
        if len(matching) > 1:
            raise AdequaError(f"The data frame has columns {' and '.join(matching)}; leave one.")
        columns |= zip([part], matching, strict=False)
    has_references = "ref" in columns
    if has_references and "src" in columns:
        has_references = _some_references(f'frame["{columns["ref"]}"]', frame[columns["ref"]])
    # Sources serve for metrics that need no reference.
    for part in ("mt", *(() if "src" in columns else ("ref",))):
        if part not in columns:
            raise AdequaError(
                f"The data frame has no column {' or '.join(COLUMN_NAMES[part])}; it has "
                f"{', '.join(names) or 'none'}."
            )
    others = [name for name in names if name not in columns.values()]
    hypotheses = as_strings(f'frame["{columns["mt"]}"]', frame[columns["mt"]])
    references: tuple[tuple[str, ...], ...] = ((),) * len(hypotheses)
    if has_references:
        name = f'frame["{columns["ref"]}"]'
        references = tuple(
            _texts(name, row, cell) for row, cell in enumerate(frame[columns["ref"]])
        )
    return Segments(
        hypotheses=hypotheses,
        references=references,
        sources=as_strings(f'frame["{columns["src"]}"]', frame[columns["src"]])
        if "src" in columns
        else None,
        ids={name: tuple(map(str, frame[name])) for name in others},
    )


MIXED_REFERENCES = (
    "some rows have a reference and others none; give it to all, or leave the column out"
)


def _some_references(name: str, cells: Iterable[object]) -> bool:
    """Whether a column beside sources holds references, which all rows have or none has."""
    blank = [is_blank(cell) for cell in cells]
    if any(blank) and not all(blank):
        raise AdequaError(f"{name}: {MIXED_REFERENCES}.")
    return not all(blank)


def is_blank(cell: object) -> bool:
    """Whether a cell holds no text: null, blank, or a list of such.

    >>> [is_blank(cell) for cell in (None, float("nan"), " ", [""], [], "a", 0)]
    [True, True, True, True, True, False, False]
    """
    if isinstance(cell, str):
        return not cell.strip()
    if isinstance(cell, list | tuple | np.ndarray):
        return all(map(is_blank, cell))
    if isinstance(cell, float):
        return cell != cell  # noqa: PLR0124 - NaN
    return cell is None or type(cell).__name__ == "NAType"  # the null of pandas


def references_by_segment(
    values: object, segments: int, layout: ReferenceLayout | None, counterpart: str = "hypotheses"
) -> tuple[tuple[str, ...], ...]:
    """References as one tuple for each segment, whichever way they were nested.

    There are as many `segments` as there are items of the counterpart.
    """
    if layout not in (None, *get_args(ReferenceLayout)):
        raise AdequaError(f'layout must be "segments" or "streams", not {layout!r}.')
    references = as_tuple("references", values)
    is_nested = bool(references) and all(isinstance(each, (list, tuple)) for each in references)
    lengths = [len(each) for each in references] if is_nested else []
    fits_segments = len(references) == segments
    fits_streams = is_nested and set(lengths) == {segments}
    if layout is None:
        rows = [tuple(as_tuple("references", each)) for each in references] if is_nested else []
        is_same = fits_streams and rows == list(zip(*rows, strict=True))
        if fits_segments and fits_streams and not is_same:
            raise AdequaError(
                f"These {segments} lists of {segments} references can be read in two ways; say "
                'layout="segments" where each list has the references of one segment, or '
                'layout="streams" where each has one reference of all segments, as in sacreBLEU.'
            )
        layout = "segments" if fits_segments or not fits_streams else "streams"
        if layout == "streams":
            warn(
                f"The references are read as sacreBLEU has them: {counted(len(references), 'list')}"
                f' of {segments} references. Say layout="streams" where that is right.'
            )
    if layout == "streams" and not fits_streams:
        raise AdequaError(
            f"With the layout streams each list of references needs {segments} strings, as there "
            f"are {counterpart}"
            f"{f'; the lists have {_span(lengths)}' if is_nested else ', and these are no lists'}."
        )
    if layout == "streams":
        return tuple(
            zip(
                *(as_strings(f"references[{row}]", each) for row, each in enumerate(references)),
                strict=True,
            )
        )
    if not fits_segments:
        hint = (
            " They look like one list for each reference; give one list for each segment:"
            " list(zip(*references))."
            if fits_streams
            else f" Lists for each reference, as in sacreBLEU, need {segments} strings each; these "
            f"have {_span(lengths)}."
        )
        raise AdequaError(
            f"{counterpart} and references differ in length: {segments} and {len(references)}."
            + (hint if is_nested else "")
        )
    return tuple(_texts("references", row, each) for row, each in enumerate(references))


def _texts(name: str, row: int, value: object) -> tuple[str, ...]:
    """The references of one segment, from a string or a list of strings."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise AdequaError(
            f"{name}[{row}] must be a string or a list of strings, but it is {_described(value)}."
        )
    return as_strings(f"{name}[{row}]", value)


def as_strings(name: str, values: object) -> tuple[str, ...]:
    """The strings of an argument, or a sentence about the first item that is none."""
    items = as_tuple(name, values)
    for row, value in enumerate(items):
        if not isinstance(value, str):
            raise AdequaError(f"{name}[{row}] must be a string, but it is {_described(value)}.")
    return items


def _described(value: object) -> str:
    missing = ": the text is missing" if value != value else ""  # noqa: PLR0124 - NaN
    return f"of type {type(value).__name__}{missing}"


def _span(lengths: Sequence[int]) -> str:
    return " to ".join(map(str, dict.fromkeys([min(lengths, default=0), max(lengths, default=0)])))


def as_tuple(name: str, values: object) -> tuple[Any, ...]:
    """The items of an argument, or a sentence where it has none in an order.

    >>> as_tuple("hypotheses", {"a", "b"})
    Traceback (most recent call last):
    adequa.errors.AdequaError: hypotheses must be a list, not one set.
    """
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise AdequaError(f"{name} must be a list, not one {type(values).__name__}.")
    return tuple(values)
