"""Explanations: segments with their pieces, and where each system loses its score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import ceil, log2
from typing import Any

import numpy as np

from adequa.explanation import display
from adequa.explanation.pieces import PENALTIES, SEVERITIES, Kind, Piece
from adequa.languages import UNKNOWN_LANGUAGE, TargetLanguage
from adequa.metrics.base import warning_notes
from adequa.segments import FloatArray, IntArray
from adequa.statistics.paired import randomisation
from adequa.statistics.settings import ComparisonSettings
from adequa.statistics.significance import holm
from adequa.tables import Column, Format, LazyRows, Result, Row, Table, decimal

# Kinds that are summed up together.
GROUPS: dict[str, tuple[Kind, ...]] = {
    "numbers and names": ("number", "name"),
    "negation": ("negation",),
    "omissions": ("omission",),
    "additions": ("addition",),
    "other words": ("substitution",),
    "word order": ("move",),
    "case and punctuation": ("case", "punctuation"),
}
_GROUP_OF = {kind: index for index, kinds in enumerate(GROUPS.values()) for kind in kinds}

_SETTINGS = ComparisonSettings()  # of the tests whether two systems lose differently
_ALL_PAIRS = 4  # systems up to which all significant differences are shown; of more, the largest
_LARGEST = 12
LOSS_TITLE = "Where the score is lost"
_MIN_SEGMENTS = 5  # minimum segments for a significance test
_MIN_FRACTION = 0.005  # of a loss that is named; less is shown as 0%


@dataclass(frozen=True, slots=True)
class ExplainedSegment:
    """A translation with its score, and what each of its differences from the reference costs."""

    system: str
    segment: int  # numbered from 1 within the system
    score: float
    repaired: float  # score with all pieces repaired
    hypothesis: str
    reference: str  # the closest
    reference_number: int  # of that reference among all of the segment, from 1
    reference_count: int
    pieces: tuple[Piece, ...]  # the costliest first
    is_joined: bool = False  # whether neighbouring differences are one piece, as there are so many

    @property
    def penalty(self) -> float:
        """The sum of the severities as MQM weights them: critical 10, major 5, minor 1."""
        return sum((PENALTIES[piece.severity] for piece in self.pieces), 0.0)

    @property
    def in_order(self) -> list[Piece]:
        """The pieces in the order of the text."""
        return sorted(self.pieces, key=lambda each: (each.hypothesis_span, each.reference_span))

    def to_dict(self) -> dict[str, Any]:
        """The segment as JSON has it."""
        references = {"reference_number": self.reference_number} if self.reference_count > 1 else {}
        return {
            "system": self.system,
            "segment": self.segment,
            "score": self.score,
            "repaired": self.repaired,
            "penalty": self.penalty,
            **references,
            "pieces": [piece.to_dict() for piece in self.pieces],
        }


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """Whether two systems lose differently by pieces of a group."""

    first: int
    second: int
    group: int
    difference: float  # mean loss of a segment of the second less that of the first
    p: float  # approximate randomisation, two-sided
    p_adjusted: float  # by Holm, over all pairs of systems and groups
    is_significant: bool  # whether p_adjusted is at most alpha


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """Where systems lose their scores: by group of kinds, and by severity."""

    systems: tuple[str, ...]
    segments: IntArray  # by system
    groups: FloatArray  # (systems, groups): mean loss of a segment
    severities: FloatArray  # (systems, severities): mean number of pieces in a segment
    differences: tuple[GroupDifference, ...] = ()  # of systems with the same segments
    settings: ComparisonSettings = _SETTINGS  # of the tests of these differences
    notes: tuple[str, ...] = ()  # why no difference can be significant

    def fractions(self, system: int) -> FloatArray:
        """The fraction of each group in the loss of a system."""
        total = self.groups[system].sum()
        return self.groups[system] / total if total else np.zeros(len(GROUPS))

    def main_groups(self, system: int, limit: int = 3) -> list[int]:
        """The indices of the groups that cost a system most, without those that round to 0%."""
        fractions = self.fractions(system)
        order: list[int] = np.argsort(-fractions, kind="stable")[:limit].tolist()
        return [index for index in order if fractions[index] > _MIN_FRACTION]

    def sentence(self, system: int, limit: int = 3) -> str:
        """The groups that cost a system most, in words."""
        fractions, names = self.fractions(system), list(GROUPS)
        groups = self.main_groups(system, limit)
        parts = [f"{fractions[index]:.0%} {names[index]}" for index in groups]
        return ", ".join(parts) if parts else "nothing"

    def to_dict(self) -> list[dict[str, Any]]:
        """One object for each system."""
        return [
            {
                "system": name,
                "segments": int(self.segments[index]),
                "loss": float(self.groups[index].sum()),
                "groups": {
                    group: {"loss": float(loss), "fraction": float(fraction)}
                    for group, loss, fraction in zip(
                        GROUPS, self.groups[index], self.fractions(index), strict=True
                    )
                },
                "severities": dict(zip(SEVERITIES, self.severities[index].tolist(), strict=True)),
            }
            for index, name in enumerate(self.systems)
        ]


def losses_of(
    segments: Sequence[ExplainedSegment], settings: ComparisonSettings = _SETTINGS
) -> Losses:
    """Sum up the pieces of explained segments by system, and test how systems differ.

    `settings` has the level, the seed and the swaps of these tests.
    """
    by_system: dict[str, list[ExplainedSegment]] = {}
    for each in segments:
        by_system.setdefault(each.system, []).append(each)
    rows = {
        name: np.array([_group_losses(each.pieces) for each in part])
        for name, part in by_system.items()
    }
    losses = Losses(
        systems=tuple(by_system),
        segments=np.array([len(part) for part in by_system.values()], dtype=np.intp),
        groups=np.array([part.mean(axis=0) for part in rows.values()]),
        severities=np.array(
            [
                np.mean([_severity_counts(each.pieces) for each in part], axis=0)
                for part in by_system.values()
            ]
        ),
    )
    if not _are_paired(list(by_system.values())):
        return losses
    return _with_tests(losses, np.stack(list(rows.values())), settings)


def _group_losses(pieces: Iterable[Piece]) -> FloatArray:
    """What the pieces of each group cost; pieces that improve the score do not count."""
    losses = np.zeros(len(GROUPS))
    for piece in pieces:
        losses[_GROUP_OF[piece.kind]] += max(piece.cost, 0.0)
    return losses


def _severity_counts(pieces: Iterable[Piece]) -> FloatArray:
    counts = np.zeros(len(SEVERITIES))
    for piece in pieces:
        counts[SEVERITIES.index(piece.severity)] += 1
    return counts


def _are_paired(systems: Sequence[Sequence[ExplainedSegment]]) -> bool:
    """Whether two systems or more have the same segments, and enough of them for a test.

    The segments are the same where they have the same numbers and references. Of multiple
    references, a segment has the one that is closest to its hypothesis.
    """
    first, *others = ([(each.segment, each.reference_count) for each in part] for part in systems)
    if not others or len(first) < _MIN_SEGMENTS or any(each != first for each in others):
        return False
    references: dict[tuple[int, int], str] = {}
    return all(
        references.setdefault((each.segment, each.reference_number), each.reference)
        == each.reference
        for part in systems
        for each in part
    )


def _with_tests(losses: Losses, values: FloatArray, settings: ComparisonSettings) -> Losses:
    """Losses with tests of all pairs of systems and groups.

    `values` are the losses of (systems, segments, groups).
    """
    pairs = list(combinations(range(len(values)), 2))
    keys = [(pair, group) for pair in pairs for group in range(len(GROUPS))]
    settings = _enough_swaps(settings, len(keys), values.shape[1])
    p = _p_values(values, settings)
    each_p = np.array([p[group][pair] for pair, group in keys])
    differences = tuple(
        GroupDifference(
            *pair,
            group,
            difference=float(losses.groups[pair[1], group] - losses.groups[pair[0], group]),
            p=float(one),
            p_adjusted=adjusted,
            is_significant=adjusted <= settings.alpha,
        )
        for (pair, group), one, adjusted in zip(keys, each_p, holm(each_p).tolist(), strict=True)
    )
    notes = _too_few_notes(settings, len(keys), values.shape[1])
    return replace(losses, differences=differences, settings=settings, notes=notes)


def _p_values(values: FloatArray, settings: ComparisonSettings) -> list[FloatArray]:
    """Two-sided p-values of all pairs of systems, (systems, systems) for each group."""
    by_group = [values[:, :, [group]] for group in range(len(GROUPS))]
    tests = randomisation(by_group, [_gain] * len(GROUPS), settings.swap_count, settings.seed)
    return [np.maximum(test.two_sided, _least_p(values.shape[1])) for test in tests]


def _gain(totals: FloatArray) -> FloatArray:
    """Minus the loss, since higher is better in tests."""
    return np.asarray(-totals[..., 0])


def _least_p(segments: int) -> float:
    """The smallest two-sided p-value of so many segments: all are swapped, or none, by chance."""
    return float(0.5 ** (segments - 1))


def _enough_swaps(settings: ComparisonSettings, tests: int, segments: int) -> ComparisonSettings:
    """Settings with enough swaps for so many tests; with too few segments, more are no help."""
    has_enough_segments = tests * _least_p(segments) <= settings.alpha
    return settings.for_tests(tests if has_enough_segments else 1)


def _too_few_notes(settings: ComparisonSettings, tests: int, segments: int) -> tuple[str, ...]:
    """A note where no difference of losses can be significant, however large it is."""
    if tests * _least_p(segments) > settings.alpha:
        needed = 1 + ceil(log2(tests / settings.alpha))
        too_few, remedy = f"{segments:,} explained segments", f"explain {needed:,} or more"
    elif tests > settings.alpha * (settings.swap_count + 1):
        needed = ceil(tests / settings.alpha)
        too_few, remedy = f"{settings.swap_count:,} swaps", f"take {needed:,} or more"
    else:
        return ()
    return (
        f"{too_few} are too few for {tests:,} tests of losses: after Holm's correction none can be "
        f"significant at {settings.alpha:g}; {remedy}.",
    )


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """What each difference from the reference costs, segment by segment."""

    metric: str
    signature: str
    higher_is_better: bool
    decimals: int
    segments: tuple[ExplainedSegment, ...]
    total: int  # segments that were scored; the explained ones may be the worst of them
    language: TargetLanguage = UNKNOWN_LANGUAGE
    warning: str | None = None  # why the scores mean little for the target language
    notes: tuple[str, ...] = ()
    settings: ComparisonSettings = _SETTINGS  # of the tests whether systems lose differently

    @cached_property
    def losses(self) -> Losses:
        """Where each system loses its score; computed at first use.

        The worst segments are not the same for every system, so that there are no tests of them.
        """
        losses = losses_of(self.segments, self.settings)
        is_whole = len(self.segments) == self.total
        return losses if is_whole else replace(losses, differences=(), notes=())

    def tables(self) -> tuple[Table, ...]:
        """Where systems lose their scores, and the pieces of all segments."""
        return (*self.loss_tables(), self._piece_table())

    def long_table(self) -> Table:
        """A row for each piece."""
        columns = (
            Column("system"),
            *(Column(name, "integer") for name in ("segment", "piece")),
            *map(Column, ("kind", "severity")),
            Column("cost", "number"),
            *map(Column, ("hypothesis", "reference")),
            *(
                Column(f"{side}_{end}", "integer")
                for side in ("hypothesis", "reference")
                for end in ("start", "end")
            ),
            Column("score", "number"),
            *([Column("reference_number", "integer")] if self._has_references else []),
        )
        return Table(columns, LazyRows(self._piece_rows))

    @property
    def _has_references(self) -> bool:
        """Whether any segment has several references, of which one explains."""
        return any(each.reference_count > 1 for each in self.segments)

    def _piece_rows(self) -> Iterator[Row]:
        has_references = self._has_references
        for each in self.segments:
            for number, piece in enumerate(each.pieces, 1):
                yield (
                    each.system, each.segment, number, piece.kind, piece.severity, piece.cost,
                    piece.hypothesis, piece.reference,
                    *piece.hypothesis_span, *piece.reference_span, each.score,
                    *([each.reference_number] if has_references else []),
                )  # fmt: skip

    def _piece_table(self) -> Table:
        columns = (
            *map(Column, ("system", "segment", "severity", "kind")),
            Column("cost", "number", self.decimals),
            *map(Column, ("hypothesis", "reference")),
        )
        rows = [
            (each.system, str(each.segment), piece.severity, piece.kind, piece.cost,
             piece.hypothesis, piece.reference)
            for each in self.segments
            for piece in each.pieces
        ]  # fmt: skip
        return Table(columns, rows, notes=self.legend())

    def loss_tables(self, title: str = "") -> tuple[Table, ...]:
        """Where each system loses its score, and how systems differ; none for one segment."""
        if len(self.segments) == 1:
            return ()
        losses = self.losses
        columns = (
            Column("system"),
            Column("segments", "integer"),
            Column("loss", align="right"),
            *(Column(severity, align="right") for severity in SEVERITIES[:-1]),
            Column("share of the loss by kind"),
        )
        rows: list[Row] = [
            (
                name,
                int(losses.segments[index]),
                decimal(losses.groups[index].sum(), self.decimals),
                *(decimal(count, 2) for count in losses.severities[index, :-1]),
                losses.sentence(index, len(GROUPS)),
            )
            for index, name in enumerate(losses.systems)
        ]
        note = (
            "loss: mean over segments of the sum of positive costs; critical, major, minor: mean "
            "number of pieces per segment"
        )
        if not title:
            worst = f": {len(self.segments):,} worst of {self.total:,} segments"
            title = LOSS_TITLE + (worst if len(self.segments) < self.total else "")
        table = Table(columns, rows, title, notes=(note, *losses.notes))
        differences = [each for each in losses.differences if each.is_significant]
        return (table, self._difference_table(differences)) if differences else (table,)

    def _difference_table(self, differences: Sequence[GroupDifference]) -> Table:
        systems, names = self.losses.systems, list(GROUPS)
        columns = (
            *map(Column, ("system", "loses more by", "than")),
            Column("difference", "number", self.decimals),
            Column("p", "number", 4),
        )
        rows: list[Row] = []
        shown = differences
        if len(systems) > _ALL_PAIRS:
            shown = sorted(differences, key=lambda each: -abs(each.difference))[:_LARGEST]
        for each in shown:
            more, less = each.first, each.second
            if each.difference > 0:
                more, less = less, more
            rows.append(
                (systems[more], names[each.group], systems[less], abs(each.difference),
                 each.p_adjusted)
            )  # fmt: skip
        swaps = self.losses.settings.swap_count
        note = f"p: approximate randomisation, {swaps:,} swaps, with Holm's correction"
        notes: tuple[str, ...] = (note,)
        if len(shown) < len(differences):
            others = len(differences) - len(shown)
            notes += (f"the {_LARGEST} largest differences; --format json has {others:,} more",)
        return Table(columns, rows, "Significant differences between these losses", notes=notes)

    def legend(self) -> tuple[str, ...]:
        return (
            *warning_notes([self.warning]),
            "cost: in points of the metric; severity depends on the cost and the segment length",
            self.signature,
            *self.notes,
        )

    def to_dict(self) -> dict[str, Any]:
        """Segments with their pieces, and where each system loses its score."""
        return {
            "metric": self.metric,
            "signature": self.signature,
            "higher_is_better": self.higher_is_better,
            "language": self.language.to_dict(),
            **({} if self.warning is None else {"warning": self.warning}),
            "scored": self.total,
            "systems": self.losses.to_dict(),
            "differences": [self._difference_dict(each) for each in self.losses.differences],
            "segments": [each.to_dict() for each in self.segments],
            "notes": [*self.notes, *self.losses.notes],
        }

    def _difference_dict(self, each: GroupDifference) -> dict[str, Any]:
        return {
            "first": self.losses.systems[each.first],
            "second": self.losses.systems[each.second],
            "group": list(GROUPS)[each.group],
            "difference": each.difference,
            "p": each.p,
            "p_adjusted": each.p_adjusted,
            "significant": each.is_significant,
        }

    def lines(self, format_: Format, *, colour: bool = False) -> Iterator[str]:
        """The explanation in a format; text shows every segment with its pieces marked."""
        if format_ is Format.text:
            yield from display.text(self, colour=colour)
        elif format_ is Format.html:
            yield from display.page(self)
        else:
            yield from super().lines(format_)

    def _repr_html_(self) -> str:
        return "".join(display.fragment(self))
