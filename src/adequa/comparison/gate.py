"""The gate: does a new system lose anything against the one in use?

A regression is a drop of the score beyond what is allowed, which is also significant: approximate
randomisation, one-sided, makes so large a drop in alpha of the cases at most. Where one regression
of several rules is enough to fail, Holm's correction keeps all rules together at alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import numpy as np

from adequa.comparison.gate_rules import GateRules, Rule
from adequa.comparison.reach import least_p, segments
from adequa.comparison.results import Comparison, MetricResult
from adequa.comparison.wording import probability, signed, unsigned
from adequa.errors import AdequaError
from adequa.statistics.significance import holm


@dataclass(frozen=True, slots=True)
class Check:
    """What one rule found."""

    metric: str
    higher_is_better: bool
    decimals: int
    baseline: float
    candidate: float
    low: float  # interval of candidate less baseline
    high: float
    drop: float  # above zero where the candidate is worse
    max_drop: float
    p: float  # one-sided: how likely so large a drop is by chance
    p_adjusted: float
    alpha: float
    worst_score: float | None
    signature: str
    least_p: float = 0.0  # that the test can have, given how many segments differ
    differing: int = 0

    @property
    def has_dropped(self) -> bool:
        """Whether the score fell by more than is allowed, and not by chance."""
        return self.drop > self.max_drop and self.p_adjusted <= self.alpha

    @property
    def is_too_bad(self) -> bool:
        """Whether the candidate is worse than any may be, whatever the baseline."""
        if self.worst_score is None:
            return False
        sign = 1 if self.higher_is_better else -1
        return sign * self.candidate < sign * self.worst_score

    @property
    def is_regression(self) -> bool:
        """Whether this rule is broken."""
        return self.has_dropped or self.is_too_bad

    @property
    def change(self) -> str:
        """The scores in words: bleu 30.21 → 29.80 (-0.41)."""
        baseline = unsigned(self.baseline, self.decimals)
        candidate = unsigned(self.candidate, self.decimals)
        difference = signed(self.candidate - self.baseline, self.decimals)
        return f"{self.metric} {baseline} → {candidate} ({difference})"

    @property
    def reason(self) -> str:
        """Why this rule is broken or not."""
        if self.is_too_bad:
            return f"worse than {self.worst_score:g}, which no candidate may be"
        if self.drop <= 0:
            return "not worse"
        if self.drop <= self.max_drop:
            return f"worse by at most {self.max_drop:g}, which is allowed"
        beyond = f"worse by more than {self.max_drop:g}" if self.max_drop else "worse"
        sure = "significantly" if self.has_dropped else "not significantly"
        p = probability(self.p_adjusted, self.alpha)
        equal = "p " if p.startswith("<") else "p = "
        sign = "≤" if self.has_dropped else ">"
        return f"{beyond}, {sure} ({equal}{p} {sign} {self.alpha:g})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says."""

    baseline: str
    candidate: str
    segments: int
    checks: tuple[Check, ...]
    fail: str  # any, or all
    settings: str

    @property
    def notes(self) -> tuple[str, ...]:
        """Which rules could not find any drop, however large it is."""
        return tuple(
            f"{check.metric} differs in {segments(check.differing)}, too few for any drop to be "
            f"significant at {check.alpha:g}."
            for check in self.checks
            if check.differing and check.least_p > check.alpha
        )

    @property
    def regressions(self) -> tuple[Check, ...]:
        """The rules that are broken."""
        return tuple(check for check in self.checks if check.is_regression)

    @property
    def passed(self) -> bool:
        """Whether the candidate may go through, which none that is too bad does."""
        if any(check.is_too_bad for check in self.checks):
            return False
        if self.fail == "all":
            return len(self.regressions) < len(self.checks)
        return not self.regressions

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        if self.passed:
            told = "; ".join(f"{check.change}, {check.reason}" for check in self.checks)
            broken = len(self.regressions)
            some = f", with {broken} of {len(self.checks)} rules broken" if broken else ""
            return f"PASS: {self.candidate} is no regression from {self.baseline}{some}: {told}"
        told = "; ".join(f"{check.change}, {check.reason}" for check in self.regressions)
        return f"REGRESSION: {self.candidate} is worse than {self.baseline}: {told}"


def judged(found: Comparison, rules: GateRules) -> Verdict:
    """The verdict on a comparison of two systems, baseline first, with a rule for each metric."""
    results = [_result(found, place) for place in range(len(rules.rules))]
    p = np.array([metric.pairs[0].p_drop for metric in results])
    counts = [metric.pairs[0].differing for metric in results]
    least = least_p(counts, sides=1)
    if rules.fail == "any":
        p, least = holm(p), holm(least)
    return Verdict(
        baseline=found.systems[0],
        candidate=found.systems[1],
        segments=len(found.outputs),
        checks=tuple(
            _check(metric, rule, rules.level(rule), *bounds)
            for metric, rule, *bounds in zip(
                results, rules.rules, p.tolist(), least.tolist(), strict=True
            )
        ),
        fail=rules.fail,
        settings=f"swaps:{rules.enough_swaps}|alpha:{rules.alpha:g}|fail:{rules.fail}|seed:{rules.seed}",
    )


def _result(found: Comparison, place: int) -> MetricResult:
    metric = found.metrics[place]
    if isnan(metric.pairs[0].p_drop):
        raise AdequaError(
            f"{metric.name} has scores of whole systems only: a gate needs scores of segments to "
            "tell a regression from chance."
        )
    return metric


def _check(
    metric: MetricResult, rule: Rule, alpha: float, p_adjusted: float, least: float
) -> Check:
    pair = metric.pairs[0]
    return Check(
        metric=metric.name,
        higher_is_better=metric.higher_is_better,
        decimals=metric.decimals,
        baseline=float(metric.scores[0]),
        candidate=float(metric.scores[1]),
        low=pair.low,
        high=pair.high,
        drop=-pair.gain + 0.0,
        max_drop=rule.max_drop,
        p=pair.p_drop,
        p_adjusted=p_adjusted,
        alpha=alpha,
        worst_score=rule.worst_score,
        signature=metric.signature,
        least_p=least,
        differing=pair.differing,
    )
