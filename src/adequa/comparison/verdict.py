"""The verdict of a comparison in words, from the tests of all metrics together.

Only metrics that were tested count: one with a language warning, or without scores of segments,
is left out, and the verdict says so. A system *beats* another where the difference is significant
under every metric that counts; two *tie* where it is significant under none. Systems are in one
group unless everything above a line beats everything below it; inside a group systems tie, or
*overlap*: some differ significantly and some do not. So nothing is claimed of any two systems that
their own test does not show.

A group is *far behind* where the effect size (mean gain of a segment over its standard deviation)
of every system above against every system of the group is at least `FAR_BEHIND`, mean of the
metrics that count. Unlike a p-value, it does not grow with the number of segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adequa.segments import FloatArray

if TYPE_CHECKING:
    from adequa.comparison.results import Comparison, MetricComparison

FAR_BEHIND = 0.5  # effect size, a medium one by Cohen (1988)
ALL_NAMED = 8  # systems up to which a verdict names every one
_LISTED = 4  # names in a list where there are more systems
_CLAUSES = 3  # groups described where there are more systems
_PAIR = 2
_LARGEST = 1e6  # effect size

_Matrix = npt.NDArray[np.bool_]


def verdict(comparison: Comparison) -> str:
    """One or two sentences on which systems are better, by all metrics together."""
    tested = [metric for metric in comparison.metrics if _counts(metric)]
    if not tested:
        return _without_tests(comparison)
    relations = _Relations.of(comparison, tested)
    if len(comparison.systems) == _PAIR:
        text = _two_systems(relations)
    else:
        text = "; ".join([*_groups_in_words(relations), *_agreement_in_words(relations)])
    return " ".join([f"{text}.", *_left_out(comparison)])


def join_names(names: Sequence[str], limit: int | None = None) -> str:
    """Names as a list in words, the last ones counted where there are more than `limit`.

    >>> join_names(["a"]), join_names(["a", "b", "c"]), join_names(["a", "b", "c", "d"], 2)
    ('a', 'a, b and c', 'a, b and 2 others')
    """
    names = list(names)
    if limit is not None and len(names) > limit + 1:
        names = [*names[:limit], f"{len(names) - limit} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _counts(metric: MetricComparison) -> bool:
    return metric.segments is not None and metric.warning is None


# What the tests say of all pairs


@dataclass(frozen=True, slots=True, eq=False)
class _Relations:
    """Significant differences between all systems, under every metric that counts."""

    names: tuple[str, ...]
    metrics: Sequence[MetricComparison]
    wins: npt.NDArray[np.bool_]  # (metrics, systems, systems): row is significantly better
    effects: FloatArray  # (systems, systems): mean effect size of row against column
    identical: Callable[[int, int], bool]  # whether two systems have the same outputs
    order: list[int]  # the best system first, by mean position

    @classmethod
    def of(cls, comparison: Comparison, metrics: Sequence[MetricComparison]) -> _Relations:
        """The relations of the systems under these metrics."""
        count = len(comparison.systems)
        wins = np.zeros((len(metrics), count, count), dtype=np.bool_)
        effects = np.zeros((count, count))
        positions = np.zeros(count)
        for index, metric in enumerate(metrics):
            positions[metric.order] += np.arange(count)
            for pair in metric.pairs:
                # Infinite where all segments gain the same.
                effect = min(max(pair.effect, -_LARGEST), _LARGEST) / len(metrics)
                effects[pair.second, pair.first] += effect
                effects[pair.first, pair.second] -= effect
                if pair.significant:
                    better = pair.second if pair.gain > 0 else pair.first
                    wins[index, better, pair.first + pair.second - better] = True
        texts = comparison.outputs.hypotheses
        return cls(
            comparison.systems,
            metrics,
            wins,
            effects,
            lambda one, other: texts[one] == texts[other],
            np.argsort(positions, kind="stable").tolist(),
        )

    @property
    def beats(self) -> _Matrix:
        """(systems, systems): row is significantly better under every metric."""
        return np.asarray(self.wins.all(axis=0))

    @property
    def differs(self) -> _Matrix:
        """(systems, systems): row or column is significantly better under any metric."""
        either = self.wins.any(axis=0)
        return np.asarray(either | either.T)

    @property
    def contradictions(self) -> list[tuple[int, int]]:
        """Pairs of which metrics prefer different systems, each significantly; best systems first.

        The first of a pair is preferred by the first of the metrics that prefers either.
        """
        wins = np.asarray(self.wins.any(axis=0))
        pairs = [pair for pair in combinations(self.order, 2) if wins[pair] and wins.T[pair]]
        return [
            pair if self.preferring(*pair)[0] < self.preferring(*pair[::-1])[0] else pair[::-1]
            for pair in pairs
        ]

    def preferring(self, one: int, other: int) -> list[int]:
        """Indices of the metrics under which the one system is significantly better."""
        return [int(index) for index in np.flatnonzero(self.wins[:, one, other])]

    def groups(self) -> list[list[int]]:
        """Systems in groups, the best first; all systems of a group beat all of later groups."""
        ordered = self.beats[np.ix_(self.order, self.order)]
        starts = [place for place in range(1, len(self.order)) if ordered[:place, place:].all()]
        bounds = zip([0, *starts], [*starts, len(self.order)], strict=True)
        return [self.order[start:end] for start, end in bounds]

    def is_far_behind(self, above: Sequence[int], group: Sequence[int]) -> bool:
        """Whether a group is far behind every system above it."""
        return bool((self.effects[np.ix_(above, group)] >= FAR_BEHIND).all())

    def tie(self, group: Sequence[int]) -> bool:
        """Whether no two systems of a group differ significantly under any metric."""
        return not self.differs[np.ix_(group, group)].any()

    def listed(self, group: Sequence[int]) -> str:
        """The names of systems in words; of very many systems, the first few."""
        limit = None if len(self.names) <= ALL_NAMED else _LISTED
        return join_names([self.names[index] for index in group], limit)

    def metric_names(self, indices: Sequence[int]) -> str:
        """The names of metrics in words."""
        return join_names([self.metrics[index].name for index in indices])


# Two systems, with the size of the difference


def _two_systems(relations: _Relations) -> str:
    """The better of two systems with the size of its lead, as far as the metrics agree."""
    first, second = relations.names
    everything = list(range(len(relations.metrics)))
    for_first, for_second = relations.preferring(0, 1), relations.preferring(1, 0)
    if for_first and for_second:
        preferences = sorted([(for_second, second), (for_first, first)])
        words = (_preference(relations, *each) for each in preferences)
        return f"The metrics disagree: {', '.join(words)}, {_all_of(everything)}"
    if for_first or for_second:
        better = 1 if for_second else 0
        return _lead(relations, better, for_second or for_first, everything)
    if relations.identical(0, 1):
        return f"{first} and {second} are identical: they have the same output in every segment"
    sizes = _differences(relations, everything, 1)
    return f"No significant difference between {second} and {first}: {sizes}"


def _lead(
    relations: _Relations, better: int, preferring: Sequence[int], everything: Sequence[int]
) -> str:
    """A system that is significantly better under some metrics, and worse under none."""
    words = f"{relations.names[better]} beats {relations.names[1 - better]}"
    sizes = _differences(relations, preferring, better)
    if len(preferring) == len(everything):
        return f"{words}: {sizes}, {_all_of(everything)}"
    others = [metric for metric in everything if metric not in preferring]
    return (
        f"{words} under {relations.metric_names(preferring)} only: {sizes}, significant; "
        f"{_differences(relations, others, better)}, not significant"
    )


def _preference(relations: _Relations, metrics: Sequence[int], system: str) -> str:
    sizes = ", ".join(_difference(relations, metric, 1) for metric in metrics)
    verb = "prefers" if len(metrics) == 1 else "prefer"
    return f"{relations.metric_names(metrics)} {verb} {system} ({sizes})"


def _difference(relations: _Relations, metric: int, system: int) -> str:
    """The score of a system minus that of the other one."""
    from adequa.comparison.text import signed  # noqa: PLC0415 - it imports results

    compared = relations.metrics[metric]
    return signed((1 if system else -1) * compared.pairs[0].difference, compared.decimals)


def _differences(relations: _Relations, metrics: Sequence[int], system: int) -> str:
    """Differences with the names of metrics, such as "+2.10 chrf, -3.40 ter (lower is better)"."""
    return ", ".join(
        f"{_difference(relations, metric, system)} {relations.metrics[metric].name}"
        + ("" if relations.metrics[metric].higher_is_better else " (lower is better)")
        for metric in metrics
    )


def _all_of(metrics: Sequence[int]) -> str:
    return {1: "significant", 2: "both significant"}.get(len(metrics), "all significant")


# Three systems or more


def _groups_in_words(relations: _Relations) -> Iterator[str]:
    """A clause for each group of systems, the best first."""
    groups = relations.groups()
    if len(groups) == 1 and relations.tie(groups[0]):
        if all(relations.identical(groups[0][0], other) for other in groups[0]):
            yield f"{relations.listed(groups[0])} are identical"
        else:
            yield f"No significant difference between {relations.listed(groups[0])}"
        return
    if len(groups[0]) > 1:
        yield _group_in_words(relations, groups[0])
    described = len(groups) if len(relations.names) <= ALL_NAMED else _CLAUSES
    skipped = 0  # systems that follow without being named
    for place, group in enumerate(groups[1:], 1):
        far = relations.is_far_behind([index for above in groups[:place] for index in above], group)
        if place >= described and not far:
            skipped += len(group)
            continue
        if skipped:
            yield _follow(skipped)
        yield _below(relations, groups[place - 1], group, far=far, first=place == 1)
        skipped = 0
    if skipped:
        yield _follow(skipped)


def _follow(count: int) -> str:
    return "1 other follows" if count == 1 else f"{count} others follow"


def _below(
    relations: _Relations, above: Sequence[int], group: Sequence[int], *, far: bool, first: bool
) -> str:
    """Which systems beat a group, and how its own systems compare."""
    names = f"{relations.listed(group)}{_inside(relations, group)}"
    leader = relations.names[above[0]]
    if far and first and len(above) == 1:
        return f"{leader} is far ahead of {names}"
    if far:
        verb = "is" if len(group) == 1 else "are"
        return f"{relations.listed(group)} {verb} far behind{_inside(relations, group)}"
    if len(above) == 1:
        return f"{leader} beats {names}"
    return f"{'both' if len(above) == _PAIR else f'these {len(above)}'} beat {names}"


def _inside(relations: _Relations, group: Sequence[int]) -> str:
    """How the systems of a group compare, as a clause after their names."""
    if len(group) == 1:
        return ""
    if relations.tie(group):
        same = all(relations.identical(group[0], other) for other in group)
        return ", which are identical" if same else ", which tie"
    return f", and {_two_in_words(relations, *group)}" if len(group) == _PAIR else ", which overlap"


def _two_in_words(relations: _Relations, one: int, other: int) -> str:
    """Two systems that differ significantly under some metrics only."""
    first, second = relations.preferring(one, other), relations.preferring(other, one)
    names = relations.names
    if first and second:
        return f"the metrics disagree on {names[one]} and {names[other]}"
    better, worse = (one, other) if first else (other, one)
    return (
        f"{names[better]} beats {names[worse]} under {relations.metric_names(first or second)} only"
    )


def _group_in_words(relations: _Relations, group: Sequence[int]) -> str:
    """How the systems of the best group compare."""
    names = relations.listed(group)
    if relations.tie(group):
        same = all(relations.identical(group[0], other) for other in group)
        return f"{names} {'are identical' if same else 'tie'}"
    if len(group) == _PAIR:
        return _two_in_words(relations, *group)
    beats = relations.beats
    for better in group:
        beaten = [other for other in group if beats[better, other]]
        if beaten:
            others = [other for other in group if other not in {better, *beaten}]
            words = (
                f"{relations.names[better]} beats {relations.listed(beaten)}, "
                f"but not {relations.listed(others)}"
            )
            return words if better == group[0] else f"{names} overlap: {words}"
    return f"{names} overlap: only some of the metrics find differences"


def _agreement_in_words(relations: _Relations) -> Iterator[str]:
    """Whether the metrics agree, where there are several."""
    if len(relations.metrics) == 1:
        return
    contradictions = relations.contradictions
    if contradictions:
        one, other = contradictions[0]
        more = f" on {len(contradictions)} pairs" if contradictions[1:] else ""
        such = ", for example" if contradictions[1:] else ""
        yield (
            f"the metrics disagree{more}{such}: {_prefers(relations, one, other)}, "
            f"{_prefers(relations, other, one)}"
        )
    elif (relations.wins == relations.wins[0]).all():
        yield "the metrics agree"
    else:
        partial = int(np.triu(relations.differs, 1).sum() - relations.beats.sum())
        if partial == _described_pairs(relations):
            yield "otherwise the metrics agree"
            return
        verb = "pair differs" if partial == 1 else "pairs differ"
        yield f"no metric contradicts another, but {partial} {verb} under some metrics only"


def _described_pairs(relations: _Relations) -> int:
    """Pairs that differ under some metrics only and are described as groups of their own."""
    pairs = [group for group in relations.groups() if len(group) == _PAIR]
    named = len(relations.names) <= ALL_NAMED
    return sum(not relations.tie(pair) for pair in pairs) if named else 0


def _prefers(relations: _Relations, one: int, other: int) -> str:
    preferring = relations.preferring(one, other)
    verb = "prefers" if len(preferring) == 1 else "prefer"
    names = relations.names
    return f"{relations.metric_names(preferring)} {verb} {names[one]} to {names[other]}"


# Metrics that do not count


def _left_out(comparison: Comparison) -> Iterator[str]:
    """A sentence on the metrics that do not count, where there are any."""
    reasons = [
        f"{metric.name} ({'language warning' if _warned(metric) else 'no segment scores to test'})"
        for metric in comparison.metrics
        if not _counts(metric)
    ]
    if reasons:
        yield f"Left out of this verdict: {join_names(reasons)}."


def _warned(metric: MetricComparison) -> bool:
    return metric.warning is not None


def _without_tests(comparison: Comparison) -> str:
    """Who has the best scores where no metric counts."""
    usable = [metric for metric in comparison.metrics if not _warned(metric)]
    if not usable:
        names = [metric.name for metric in comparison.metrics]
        verb = "has a language warning" if len(names) == 1 else "have language warnings"
        return f"No verdict: {join_names(names)} {verb}, so the scores say little."
    leaders = [_best_in_words(comparison, metric) for metric in usable]
    text = f"{'; '.join(leaders)}; whether that is significant is unknown without segment scores."
    warned = [metric.name for metric in comparison.metrics if _warned(metric)]
    return text + (
        f" Left out of this verdict: {join_names(warned)} (language warning)." if warned else ""
    )


def _best_in_words(comparison: Comparison, metric: MetricComparison) -> str:
    best = metric.scores[metric.order[0]]
    names = [
        comparison.systems[index] for index in metric.order.tolist() if metric.scores[index] == best
    ]
    limit = None if len(comparison.systems) <= ALL_NAMED else _LISTED
    verb = "has" if len(names) == 1 else "share"
    return f"{join_names(names, limit)} {verb} the best {metric.name}"
