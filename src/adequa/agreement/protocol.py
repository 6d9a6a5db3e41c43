"""The protocol of an evaluation: statistic, averaging, resampling and test, with their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import ceil
from typing import Literal, TypeAlias, TypeVar, cast, get_args
from zlib import crc32

from adequa.errors import AdequaError, check_fields, nearest
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings, identified
from adequa.statistics.preference_tau import PREFERENCE_TAUS

Level: TypeAlias = Literal["segment", "system"]
Average: TypeAlias = Literal["pooled", "segment", "system"]
Over: TypeAlias = Literal["segments", "systems", "both", "none"]
Test: TypeAlias = Literal["both", "inputs", "systems", "pairs", "williams", "none"]
HumanScore: TypeAlias = Literal["mean", "expected-wins", "trueskill"]
Rule: TypeAlias = Literal["greedy", "separated"]
Settings = TypeVar("Settings")

DARR = "tau-darr"
OF_RATINGS = ("pearson", "spearman", "kendall-b", "kendall-c", "acc-eq", DARR)
OF_PREFERENCES = tuple(PREFERENCE_TAUS)
OF_SYSTEMS = ("pearson", "spearman", "kendall-b", "kendall-c", "accuracy", "spa")

# The statistic of the campaign of a year, or of the papers that use its data.
_OF_DATASET = {
    "wmt12-rr": "tau-wmt12",
    "wmt13-rr": "tau-wmt13",
    **dict.fromkeys(("wmt20-21-mqm", "wmt20-mqm", "wmt21-mqm-dev", "wmt21-mqm-train"), "acc-eq"),
    **dict.fromkeys(("wmt21-enx-mqm", "wmt21-enx-mqm-dev", "wmt21-enx-mqm-train"), "acc-eq"),
    "indicmt-mqm": "acc-eq",
}
# A preference lies between two systems: there is no averaging by system. The first is the default.
_AVERAGES: dict[str, tuple[Average, ...]] = {
    "acc-eq": ("segment", "system", "pooled"),
    **dict.fromkeys(PREFERENCE_TAUS, ("pooled", "segment")),
}
_TESTS: dict[tuple[str, str], tuple[Test, ...]] = {
    ("pearson", "pooled"): ("both", "inputs", "systems", "williams", "none"),
    # Each metric has a threshold of its own: what is swapped are whole segments or systems, or what
    # metrics make of single pairs. (Single scores would need a new threshold for every swap.)
    ("acc-eq", "pooled"): ("none",),
    ("acc-eq", "segment"): ("inputs", "pairs", "none"),
    ("acc-eq", "system"): ("systems", "none"),
    **{
        (name, average): ("inputs", "none")
        for name in PREFERENCE_TAUS
        for average in ("pooled", "segment")
    },
}


@dataclass(frozen=True, slots=True)
class Protocol:
    """Settings of an evaluation; what is None is chosen by the kind of the judgements."""

    level: Level = "segment"
    statistic: str | None = None
    average: Average | None = None  # one pool, or the mean over segments or systems
    over: Over | None = None  # what the bootstrap draws
    test: Test | None = None  # what the permutation test swaps, or Williams' test
    human: HumanScore | None = None  # where human system scores come from
    resamples: int = 1000  # of the bootstrap
    swaps: int | None = None  # random swaps of the permutation test
    confidence: float = 0.95
    alpha: float = 0.05
    clusters: Rule = "greedy"
    # Of ratings that become preferences: 25 points of 100 at WMT since 2017.
    min_difference: float = 25.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        _check_choice("level", self.level, get_args(Level))
        _check_choice("statistic", self.statistic, _every_statistic())
        _check_choice("average", self.average, get_args(Average))
        _check_choice("over", self.over, get_args(Over))
        _check_choice("test", self.test, get_args(Test))
        _check_choice("human", self.human, get_args(HumanScore))
        _check_choice("clusters", self.clusters, get_args(Rule))
        for name in ("confidence", "alpha"):
            if not 0 < getattr(self, name) < 1:
                raise AdequaError(f"{name} lies between 0 and 1, not at {getattr(self, name)}.")
        for name in ("resamples", "swaps"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise AdequaError(f"{name} must be 1 or more, not {getattr(self, name)}.")
        if not self.min_difference >= 0:
            raise AdequaError(f"min_difference must be 0 or more, not {self.min_difference}.")
        if self.seed < 0:
            raise AdequaError(f"seed must be 0 or more, not {self.seed}.")

    @property
    def swap_count(self) -> int:
        """Random swaps of the permutation test; by default, as many as resamples."""
        return self.resamples if self.swaps is None else self.swaps

    def __str__(self) -> str:
        """The settings in one line, as a signature shows them."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.statistic != DARR:
            del settings["min_difference"]
        return "|".join(f"{name}:{value}" for name, value in settings.items() if value is not None)


def completed(
    protocol: Protocol, judgements: Judgements, metrics: int = 2, *, systems_only: bool = False
) -> Protocol:
    """The protocol with every open choice filled in for these judgements, and all choices checked.

    `systems_only`: some metric has scores of whole systems only.
    """
    level = "system" if isinstance(judgements, RatedSystems) else protocol.level
    defined = defined_statistics(level, judgements)
    default = _OF_DATASET.get(identified(judgements).name, "")
    if default not in defined:
        default = "tau-wmt14" if defined == OF_PREFERENCES else "pearson"
    kind = {Ratings: "ratings", Preferences: "preferences"}.get(type(judgements), "system scores")
    of = f"{kind} at the level of {level}s"
    statistic = _chosen("statistic", protocol.statistic, (default, *defined), of)
    swaps = protocol.swaps or max(protocol.resamples, 2 * fewest_swaps(metrics, protocol.alpha))
    chosen = replace(protocol, level=level, statistic=statistic, swaps=swaps)
    of += f" with {statistic}"
    if level == "segment":
        return _segment_level(chosen, of)
    has_segments = not isinstance(judgements, Ratings) or "segment" in judgements.ids
    if chosen.over is None and (systems_only or not has_segments):
        chosen = replace(chosen, over="systems")
    return _system_level(chosen, isinstance(judgements, Preferences), of)


def settings_or_default(kind: type[Settings], value: Settings | None, name: str) -> Settings:
    """The settings, or the default ones for None; a sentence for a value of another type.

    >>> settings_or_default(Protocol, "pearson", "protocol")
    Traceback (most recent call last):
    adequa.errors.AdequaError: protocol should be an object of type Protocol, not 'pearson'.
    """
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise AdequaError(f"{name} should be an object of type {kind.__name__}, not {value!r}.")
    return value


def pairs_within_segments(protocol: Protocol) -> bool:
    """Whether outputs are compared with the others of their segment."""
    return protocol.level == "segment" and (
        protocol.statistic == DARR or protocol.average == "segment"
    )


def fewest_swaps(metrics: int, alpha: float) -> int:
    """Number of swaps below which no pair of so many metrics can differ significantly.

    The smallest p-value is 1 / (1 + swaps), and Holm's correction makes it twice the number of
    pairs times as large.

    >>> fewest_swaps(2, 0.05), fewest_swaps(20, 0.05)
    (39, 7599)
    """
    return max(ceil(metrics * (metrics - 1) / alpha) - 1, 1)


def seeded(protocol: Protocol, name: str) -> Protocol:
    """The protocol with a seed of its own for one language pair, so that pairs are independent."""
    return replace(protocol, seed=(protocol.seed + crc32(name.encode())) % 2**32)


def defined_statistics(level: Level, judgements: Judgements) -> tuple[str, ...]:
    """The statistics that are defined for judgements of this kind at this level.

    Soft pairwise accuracy needs the significance of human differences, which only ratings of
    segments have.
    """
    if level == "system":
        has_segments = isinstance(judgements, Ratings)
        return tuple(name for name in OF_SYSTEMS if has_segments or name != "spa")
    return OF_PREFERENCES if isinstance(judgements, Preferences) else OF_RATINGS


def _segment_level(protocol: Protocol, of: str) -> Protocol:
    if protocol.human is not None:
        raise AdequaError("human says where system scores come from; it goes with level system.")
    averages = _AVERAGES.get(str(protocol.statistic), ("pooled", "segment", "system"))
    average = _chosen("average", protocol.average, averages, of)
    tests = _TESTS.get((str(protocol.statistic), average), ("both", "inputs", "systems", "none"))
    preferences = protocol.statistic in PREFERENCE_TAUS
    overs = ("segments", "none") if preferences else ("segments", "systems", "both", "none")
    return replace(
        protocol,
        average=cast("Average", average),
        over=cast("Over", _chosen("over", protocol.over, overs, of)),
        test=cast("Test", _chosen("test", protocol.test, tests, f"{of}, average {average}")),
    )


def _system_level(protocol: Protocol, by_preferences: bool, of: str) -> Protocol:
    if protocol.average is not None:
        raise AdequaError("At the level of systems there is nothing to average over; leave it out.")
    tests: tuple[str, ...] = ("systems", "both", "inputs", "none")
    overs: tuple[str, ...] = ("both", "segments", "systems", "none")
    humans: tuple[str, ...] = ("mean",)
    if protocol.statistic == "pearson":
        tests = (*tests, "williams")
    if protocol.statistic == "spa":
        tests, overs = ("pairs", "none"), ("systems", "none")
    if by_preferences:
        # Each segment was judged for a few systems only: systems are all there is to draw.
        tests, overs = ("systems", "none"), ("systems", "none")
        humans = ("expected-wins", "trueskill")
    return replace(
        protocol,
        over=cast("Over", _chosen("over", protocol.over, overs, of)),
        test=cast("Test", _chosen("test", protocol.test, tests, of)),
        human=cast("HumanScore", _chosen("human", protocol.human, humans, of)),
    )


def _check_choice(name: str, value: str | None, allowed: Sequence[str]) -> None:
    if value is not None and value not in allowed:
        raise AdequaError(
            f'There is no {name} named "{value}".{nearest(value, allowed)} There are:'
            f" {', '.join(allowed)}."
        )


def _chosen(name: str, value: str | None, defined: Sequence[str], of: str) -> str:
    """The value, if it is defined; for None, the first of the defined ones."""
    if value is None:
        return defined[0]
    if value not in defined:
        listed = ", ".join(dict.fromkeys(defined))
        raise AdequaError(f'{name} "{value}" is not defined for {of}; there is: {listed}.')
    return value


def _every_statistic() -> tuple[str, ...]:
    return tuple(dict.fromkeys([*OF_RATINGS, *OF_PREFERENCES, *OF_SYSTEMS]))
