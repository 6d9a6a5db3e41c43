"""Rules of the gate: which metrics may drop by how much; from flags or from a TOML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import ceil, isfinite
from typing import Any

from adequa.comparison.defaults import ALPHA, SEED, SWAPS
from adequa.comparison.settings import MOST, ComparisonSettings
from adequa.errors import AdequaError, nearest
from adequa.io.text import FilePath, read_toml

FAIL = ("any", "all")


@dataclass(frozen=True, slots=True)
class Rule:
    """How much a metric may drop."""

    metric: str
    max_drop: float = 0.0  # in points of the metric
    alpha: float | None = None  # None: that of all rules
    worst_score: float | None = None  # a candidate that is worse fails, whatever the baseline

    def __post_init__(self) -> None:
        if not self.metric.strip():
            raise AdequaError("A rule of a gate names a metric.")
        if not (isfinite(self.max_drop) and self.max_drop >= 0):
            raise AdequaError(
                f"{self.metric}: max_drop is a number from 0 on, not {self.max_drop:g}."
            )
        if self.alpha is not None:
            _check_level(f"{self.metric}: alpha", self.alpha)
        if self.worst_score is not None and not isfinite(self.worst_score):
            raise AdequaError(f"{self.metric}: worst_score is a number, not {self.worst_score}.")


@dataclass(frozen=True, slots=True)
class GateRules:
    """All rules of a gate, and how they are tested."""

    rules: tuple[Rule, ...]
    alpha: float = ALPHA
    fail: str = "any"  # rules that must be broken
    swaps: int | None = None  # of the test; None: enough for the rules
    seed: int = SEED

    def __post_init__(self) -> None:
        if not self.rules:
            raise AdequaError("A gate needs one rule at least: a metric and how much it may drop.")
        for place, rule in enumerate(self.rules):
            if rule.metric in (other.metric for other in self.rules[:place]):
                raise AdequaError(f"{rule.metric} has two rules; give it one.")
        _check_level("alpha", self.alpha)
        if self.fail not in FAIL:
            raise AdequaError(
                f'A gate fails where any or all rules are broken, not "{self.fail}".'
                + nearest(self.fail, FAIL)
            )
        self.settings()
        self._check_reach()

    @property
    def tests(self) -> int:
        """How many tests Holm's correction is for: where all rules must be broken, it is none."""
        return len(self.rules) if self.fail == "any" else 1

    def level(self, rule: Rule) -> float:
        """The level that a rule is tested at."""
        return self.alpha if rule.alpha is None else rule.alpha

    @property
    def enough_swaps(self) -> int:
        """Swaps as asked for; else so many that half of the smallest level remains possible.

        >>> GateRules((Rule("bleu"), Rule("chrf", alpha=0.0001))).enough_swaps
        40000
        """
        if self.swaps is not None:
            return self.swaps
        strictest = min(map(self.level, self.rules))
        return min(MOST, max(SWAPS, ceil(2 * self.tests / strictest)))

    def _check_reach(self) -> None:
        """Raise where so few swaps cannot break a rule, whatever the outputs."""
        for rule in self.rules:
            alpha, swaps = self.level(rule), self.enough_swaps
            least = self.tests / (swaps + 1)
            if least <= alpha:
                continue
            correction = f" of {self.tests} rules" if self.tests > 1 else ""
            needed = ceil(self.tests / alpha)
            advice = f"take {needed:,} or more" if needed <= MOST else "take a larger alpha"
            raise AdequaError(
                f"{rule.metric} could never fail: with {swaps:,} swaps the smallest p-value"
                f"{correction} is {least:.2g}, above alpha = {alpha:g}; {advice}."
            )

    def settings(self) -> ComparisonSettings:
        """How the two systems are compared; raises where a number is out of range."""
        return ComparisonSettings(swaps=self.enough_swaps, alpha=self.alpha, seed=self.seed)


def same_rules(metrics: Iterable[str], max_drop: float, alpha: float, **settings: Any) -> GateRules:
    """The same rule for every metric.

    >>> same_rules(["bleu", "chrf"], 0.5, 0.05).rules[1]
    Rule(metric='chrf', max_drop=0.5, alpha=None, worst_score=None)
    """
    return GateRules(tuple(Rule(metric, max_drop) for metric in metrics), alpha, **settings)


def read_rules(path: FilePath) -> GateRules:
    """Rules from a TOML file: settings of the gate, and a [[rule]] for each metric."""
    table = dict(read_toml(path))
    listed = table.pop("rule", [])
    if not isinstance(listed, Sequence) or not all(isinstance(each, Mapping) for each in listed):
        raise AdequaError(f"{path}: rules are written as [[rule]], each with its metric.")
    try:
        rules = tuple(Rule(**_values(Rule, each)) for each in listed)
        return GateRules(rules, **_values(GateRules, table))
    except AdequaError as error:
        raise AdequaError(f"{path}: {error}") from None


_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "metric": ((str,), "a text"),
    "fail": ((str,), "a text"),
    "swaps": ((int,), "a whole number"),
    "seed": ((int,), "a whole number"),
}
_NUMBER: tuple[tuple[type, ...], str] = ((int, float), "a number")


def _values(kind: type[Rule] | type[GateRules], table: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a table, checked for their names and kinds."""
    known = [field.name for field in fields(kind) if field.name != "rules"]
    for name, value in table.items():
        if name not in known:
            raise AdequaError(
                f'there is no setting "{name}".{nearest(name, known)} There are: '
                f"{', '.join(known)}."
            )
        kinds, words = _KINDS.get(name, _NUMBER)
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise AdequaError(f"{name} must be {words}, not {value!r}.")
    if kind is Rule and "metric" not in table:
        raise AdequaError("a rule does not say which metric it is for.")
    return dict(table)


def _check_level(name: str, alpha: float) -> None:
    if not 0 < alpha < 1:
        raise AdequaError(f"{name} is a number between 0 and 1, such as 0.05, not {alpha:g}.")
