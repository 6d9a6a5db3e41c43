"""The gate: is a new system worse than the one in use? For continuous integration.

A regression is a drop of the score beyond what is allowed that is also significant: approximate
randomisation, one-sided, at level alpha. Where one regression among the rules is enough to fail,
Holm's correction keeps the false alarms of all rules together at alpha.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import ceil, isfinite, isnan
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from adequa.agreement.sources import Source, Specifications
from adequa.agreement.sources import sources as metric_sources
from adequa.comparison.compare import Systems, compare_outputs, outputs_of
from adequa.comparison.new_errors import NewError, worst_new_errors
from adequa.comparison.results import Comparison, MetricComparison
from adequa.comparison.significance import count_segments, smallest_p, too_few_differences
from adequa.comparison.text import probability, signed
from adequa.errors import AdequaError, check_fields, nearest, printable
from adequa.io.text import FilePath, read_toml
from adequa.languages import UNKNOWN_LANGUAGE, TargetLanguage, target_language
from adequa.metrics.base import warning_notes
from adequa.metrics.language import default_metrics, warn_of_languages
from adequa.segments import ReferenceLayout, Segments
from adequa.statistics.settings import (
    ALPHA,
    MAX_RESAMPLES,
    SEED,
    SWAPS,
    ComparisonSettings,
)
from adequa.statistics.significance import holm
from adequa.tables import WARNING, Column, Format, Result, Table, decimal, markdown_text, plain

FAIL = ("any", "all")


def gate(
    baseline: Iterable[str] | Segments,
    candidate: Iterable[str] | None = None,
    references: Iterable[str] | Iterable[Sequence[str]] | None = None,
    metrics: Specifications | None = None,
    *,
    sources: Iterable[str] | None = None,
    max_drop: float | None = None,
    alpha: float | None = None,
    rules: GateRules | FilePath | None = None,
    layout: ReferenceLayout | None = None,
    language: str | TargetLanguage | None = None,
) -> GateResult:
    """Test whether a candidate system is worse than a baseline: `result.passed` says if not.

    Systems are lists of outputs, one per segment; `references`, `metrics`, `sources`, `layout` and
    `language` are those of `compare`. `Segments` of two systems may stand for both; the first is
    then the baseline.
    A regression is a drop of more than `max_drop` points (0 by default) that is significant at
    `alpha` (0.05 by default). `rules`, a `GateRules` or a TOML file, set this for each metric and
    replace the other three.

    >>> references = ["a cat sat", "a dog ran", "a cow ate", "a pig ate", "a hen ran"]
    >>> result = gate(references, ["cat", "dog", "cow", "pig", "hen"], references, "wer")
    >>> result.passed
    False
    >>> print(result.sentence)
    REGRESSION: candidate is worse than baseline: wer 0.0000 → 0.6667 (+0.6667), worse, \
significantly (p = 0.0333 ≤ 0.05)
    """
    systems = _two_systems(baseline, candidate)
    outputs = outputs_of(systems, references, sources=sources, layout=layout)
    target = target_language(
        language, outputs.batch(0, slice(None), outputs.references).target_texts
    )
    if rules is None:
        resolved = metric_sources(metrics or default_metrics(target))
        names, level = [each.name for each in resolved], ALPHA if alpha is None else alpha
        rules = same_rules(names, max_drop or 0.0, level)
    else:
        if metrics is not None or max_drop is not None or alpha is not None:
            raise AdequaError("Metrics, max_drop and alpha stand in the rules; give one or other.")
        rules = rules if isinstance(rules, GateRules) else read_rules(rules)
        resolved = metric_sources([rule.metric for rule in rules.rules])
    comparison = compare_outputs(outputs, resolved, rules.settings(), language=target)
    warn_of_languages((each.warning for each in comparison.metrics), comparison.notes)
    return apply_rules(comparison, rules, resolved)


def _two_systems(baseline: Iterable[str] | Segments, candidate: Iterable[str] | None) -> Systems:
    if not isinstance(baseline, Segments):
        if candidate is None:
            raise AdequaError("Give the outputs of two systems: baseline and candidate.")
        return {"baseline": baseline, "candidate": candidate}
    names = dict.fromkeys(baseline.ids.get("system", ()))
    if candidate is not None or len(names) != 2:  # noqa: PLR2004  # baseline and candidate
        raise AdequaError(
            "Segments for a gate are those of both systems, the baseline first, and nothing else; "
            f"these are of {', '.join(names) or 'one system without a name'}."
        )
    return baseline


# Rules


@dataclass(frozen=True, slots=True)
class Rule:
    """How much the score of a metric may drop."""

    metric: str
    max_drop: float = 0.0  # in points of the metric
    alpha: float | None = None  # None: that of all rules
    worst_score: float | None = None  # a candidate that is worse fails, whatever the baseline

    def __post_init__(self) -> None:
        check_fields(self)
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
    """All rules of a gate, and the settings of their tests."""

    rules: tuple[Rule, ...]
    alpha: float = ALPHA
    fail: str = "any"  # of the rules, or "all"
    swaps: int | None = None  # of the test; None: enough for the rules
    seed: int = SEED

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.rules:
            raise AdequaError("A gate needs one rule at least: a metric and how much it may drop.")
        for index, rule in enumerate(self.rules):
            if rule.metric in (other.metric for other in self.rules[:index]):
                raise AdequaError(f"{rule.metric} has two rules; give it one.")
        _check_level("alpha", self.alpha)
        if self.fail not in FAIL:
            raise AdequaError(
                f'A gate fails where any or all rules are broken, not "{self.fail}".'
                + nearest(self.fail, FAIL)
            )
        self.settings()
        self._check_swaps()

    @property
    def tests(self) -> int:
        """Number of tests to correct for: where all rules must be broken, there is nothing to."""
        return len(self.rules) if self.fail == "any" else 1

    def level(self, rule: Rule) -> float:
        """The significance level of a rule."""
        return self.alpha if rule.alpha is None else rule.alpha

    @property
    def swap_count(self) -> int:
        """The number of swaps; by default so many that half of the smallest level is possible.

        >>> GateRules((Rule("bleu"), Rule("chrf", alpha=0.0001))).swap_count
        40000
        """
        if self.swaps is not None:
            return self.swaps
        strictest = min(map(self.level, self.rules))
        return min(MAX_RESAMPLES, max(SWAPS, ceil(2 * self.tests / strictest)))

    def _check_swaps(self) -> None:
        """Raise where so few swaps cannot break a rule, whatever the outputs."""
        for rule in self.rules:
            alpha, swaps = self.level(rule), self.swap_count
            least = self.tests / (swaps + 1)
            if least <= alpha:
                continue
            correction = f" of {self.tests} rules" if self.tests > 1 else ""
            needed = ceil(self.tests / alpha)
            possible = needed <= MAX_RESAMPLES
            advice = f"take {needed:,} or more" if possible else "take a larger alpha"
            raise AdequaError(
                f"{rule.metric} could never fail: with {swaps:,} swaps the smallest p-value"
                f"{correction} is {least:.2g}, above alpha = {alpha:g}; {advice}."
            )

    def settings(self) -> ComparisonSettings:
        """Settings of the comparison; raises where a number is out of range."""
        return ComparisonSettings(swaps=self.swap_count, alpha=self.alpha, seed=self.seed)


def same_rules(metrics: Iterable[str], max_drop: float, alpha: float, **settings: Any) -> GateRules:
    """The same rule for every metric.

    >>> same_rules(["bleu", "chrf"], 0.5, 0.05).rules[1]
    Rule(metric='chrf', max_drop=0.5, alpha=None, worst_score=None)
    """
    return GateRules(tuple(Rule(metric, max_drop) for metric in metrics), alpha, **settings)


def read_rules(path: FilePath) -> GateRules:
    """Rules from a TOML file: settings of the gate, and a [[rule]] for each metric."""
    table = dict(read_toml(path))
    rows = table.pop("rule", [])
    if not isinstance(rows, Sequence) or not all(isinstance(each, Mapping) for each in rows):
        raise AdequaError(f"{path}: rules are written as [[rule]], each with its metric.")
    try:
        rules = tuple(Rule(**_checked(Rule, each)) for each in rows)
        return GateRules(rules, **_checked(GateRules, table))
    except AdequaError as error:
        raise AdequaError(f"{path}: {error}") from None


def _checked(kind: type[Rule] | type[GateRules], table: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a TOML table, checked for their names."""
    settings = [field.name for field in fields(kind) if field.name != "rules"]
    for name in table:
        if name not in settings:
            raise AdequaError(
                f'there is no setting "{name}".{nearest(name, settings)} There are: '
                f"{', '.join(settings)}."
            )
    if kind is Rule and "metric" not in table:
        raise AdequaError("a rule does not say which metric it is for.")
    return dict(table)


def _check_level(name: str, alpha: float) -> None:
    if not 0 < alpha < 1:
        raise AdequaError(f"{name} is a number between 0 and 1, such as 0.05, not {alpha:g}.")


# Results


@dataclass(frozen=True, slots=True)
class Check:
    """One rule applied to a comparison."""

    metric: str
    higher_is_better: bool
    decimals: int
    baseline: float
    candidate: float
    low: float  # interval of candidate minus baseline
    high: float
    drop: float  # above zero where the candidate is worse
    max_drop: float
    p: float  # one-sided: probability of so large a drop by chance
    p_adjusted: float
    alpha: float
    worst_score: float | None
    signature: str
    least_p: float = 0.0  # the smallest possible p, by the number of segments that differ
    differing: int = 0
    warning: str | None = None  # why the scores mean little for the target language

    @property
    def has_dropped(self) -> bool:
        """Whether the score fell by more than is allowed, significantly."""
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
        baseline = decimal(self.baseline, self.decimals)
        candidate = decimal(self.candidate, self.decimals)
        difference = signed(self.candidate - self.baseline, self.decimals)
        return f"{self.metric} {baseline}{self.mark} → {candidate}{self.mark} ({difference})"

    @property
    def mark(self) -> str:
        """The mark of scores that mean little."""
        return "" if self.warning is None else WARNING

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
        significantly = "significantly" if self.has_dropped else "not significantly"
        p = probability(self.p_adjusted, self.alpha)
        equal = "p " if p.startswith("<") else "p = "
        sign = "≤" if self.has_dropped else ">"
        return f"{beyond}, {significantly} ({equal}{p} {sign} {self.alpha:g})"


_CHECK_COLUMNS = (
    Column("metric"),
    Column("regression", "boolean"),
    Column("reason"),
    *(Column(name, "number") for name in ("baseline", "candidate", "low", "high", "drop")),
    *(Column(name, "number") for name in ("max_drop", "p", "p_adjusted", "alpha")),
    Column("worst_score", "number"),
    Column("signature"),
)


@dataclass(frozen=True, eq=False, repr=False)
class GateResult(Result):
    """The verdict of a gate, and its checks."""

    baseline: str
    candidate: str
    segments: int
    checks: tuple[Check, ...]
    fail: str  # any, or all
    settings: str
    notes: tuple[str, ...] = ()
    language: TargetLanguage = UNKNOWN_LANGUAGE  # of the translations
    errors: tuple[NewError, ...] = ()  # the worst new ones of a regression, the costliest first

    @property
    def regressions(self) -> tuple[Check, ...]:
        """The checks whose rules are broken."""
        return tuple(check for check in self.checks if check.is_regression)

    @property
    def passed(self) -> bool:
        """Whether the candidate may replace the baseline; one that is too bad never does."""
        if any(check.is_too_bad for check in self.checks):
            return False
        if self.fail == "all":
            return len(self.regressions) < len(self.checks)
        return not self.regressions

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        checks = self.checks if self.passed else self.regressions
        reasons = "; ".join(f"{check.change}, {check.reason}" for check in checks)
        if not self.passed:
            return f"REGRESSION: {self.candidate} is worse than {self.baseline}: {reasons}"
        count = len(self.regressions)
        broken = f", with {count} of {len(self.checks)} rules broken" if count else ""
        return f"PASS: {self.candidate} is no regression from {self.baseline}{broken}: {reasons}"

    def tables(self) -> tuple[Table, ...]:
        """A row for each rule."""
        columns = (
            *map(Column, ("metric", "verdict")),
            *(Column(name, align="right") for name in ("baseline", "candidate", "change")),
            *(Column(name, align="right") for name in ("interval", "allowed", "p")),
        )
        corrected = self.fail == "any" and len(self.checks) > 1
        correction = ", Holm's correction" if corrected else ""
        note = (
            f"{self.segments:,} segments; p: approximate randomisation, one-sided{correction}; "
            f"{self.settings}"
        )
        warnings = warning_notes(check.warning for check in self.checks)
        notes = (*map(str, self.errors), note, *warnings)
        return (Table(columns, list(map(_check_cells, self.checks)), self.sentence, notes),)

    def long_table(self) -> Table:
        """A row for each rule, with exact values."""
        names = [column.name for column in _CHECK_COLUMNS]
        rows = [[values[name] for name in names] for values in map(_check_dict, self.checks)]
        return Table(_CHECK_COLUMNS, rows)

    def to_dict(self) -> dict[str, Any]:
        """The verdict and its checks, ready for JSON."""
        return {
            "passed": self.passed,
            "verdict": self.sentence,
            "baseline": self.baseline,
            "candidate": self.candidate,
            "segments": self.segments,
            "fail": self.fail,
            "language": self.language.to_dict(),
            "checks": list(map(_check_dict, self.checks)),
            "errors": [error.to_dict() for error in self.errors],
            "settings": self.settings,
        }

    def lines(self, format_: Format) -> Iterator[str]:
        """The verdict in a format; Markdown is a summary with a heading."""
        if format_ is not Format.markdown:
            yield from super().lines(format_)
            return
        (table,) = self.tables()
        systems = " against ".join(
            f"`{printable(name).replace('`', '')}`" for name in (self.candidate, self.baseline)
        )
        yield f"### {'Pass' if self.passed else 'Regression'}: {systems}\n\n"
        yield table.without_notes().to_markdown()
        if self.errors:
            yield "\nWorst new errors:\n\n"
            yield from (f"- {markdown_text(str(error))}\n" for error in self.errors)
        for note in table.notes[len(self.errors) :]:
            yield f"\n{note}\n"

    def to_junit(self) -> str:
        """JUnit XML, which services of continuous integration show: a test case for each rule."""
        count = len(self.checks)
        failures = 0 if self.passed else len(self.regressions)
        totals = f'tests="{count}" failures="{failures}" errors="0"'
        cases = "".join(map(self._test_case, self.checks))
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<testsuites {totals}>\n"
            f'  <testsuite name="adequa gate" {totals}>\n{cases}  </testsuite>\n</testsuites>\n'
        )

    def _test_case(self, check: Check) -> str:
        name = quoteattr(_xml_text(f"{check.metric}: {self.candidate} against {self.baseline}"))
        verdict = _xml_text(f"{check.change}, {check.reason}")
        errors = [_xml_text(str(each)) for each in self.errors if each.metric == check.metric]
        end = ">" + "\n".join(map(escape, errors)) + "</failure>" if errors else "/>"
        failure = f'      <failure type="regression" message={quoteattr(verdict)}{end}\n'
        return (
            f'    <testcase classname="adequa.gate" name={name}>\n'
            f"{failure if check.is_regression and not self.passed else ''}"
            f"      <system-out>{escape(f'{verdict}; {_xml_text(check.signature)}')}</system-out>\n"
            "    </testcase>\n"
        )


def _check_dict(check: Check) -> dict[str, Any]:
    content: dict[str, Any] = plain(check)
    if check.warning is None:
        del content["warning"]
    return content | {"regression": check.is_regression, "reason": check.reason}


def _check_cells(check: Check) -> tuple[str, ...]:
    decimals = check.decimals
    return (
        f"{check.metric} {'↑' if check.higher_is_better else '↓'}",
        f"regression: {check.reason}" if check.is_regression else check.reason,
        decimal(check.baseline, decimals) + check.mark,
        decimal(check.candidate, decimals) + check.mark,
        signed(check.candidate - check.baseline, decimals),
        f"{signed(check.low, decimals)} – {signed(check.high, decimals)}",
        f"{check.max_drop:g}",
        probability(check.p_adjusted, check.alpha),
    )


def _xml_text(text: str) -> str:
    """Text without what XML cannot hold: control characters and lone surrogates."""
    encodable = printable(text).encode("utf-8", "replace").decode("utf-8")
    return "".join(char for char in encodable if char not in "\ufffe\uffff")


def apply_rules(
    comparison: Comparison, rules: GateRules, sources: Sequence[Source] = ()
) -> GateResult:
    """The verdict on a comparison of two systems, baseline first, with a rule for each metric.

    `sources` are the metrics of the comparison; they name the worst new errors of a regression.
    """
    metrics = comparison.metrics
    for metric in metrics:
        if isnan(metric.pairs[0].p_drop):
            raise AdequaError(
                f"{metric.name} has scores of whole systems only: a gate needs scores of segments "
                "to tell a regression from chance."
            )
    p = np.array([metric.pairs[0].p_drop for metric in metrics])
    least = smallest_p([metric.pairs[0].differing for metric in metrics], sides=1)
    if rules.fail == "any":
        p, least = holm(p), holm(least)
    checks = tuple(
        _check(metric, rule, rules.level(rule), *bounds)
        for metric, rule, *bounds in zip(
            metrics, rules.rules, p.tolist(), least.tolist(), strict=True
        )
    )
    result = GateResult(
        baseline=comparison.systems[0],
        candidate=comparison.systems[1],
        segments=len(comparison.outputs),
        checks=checks,
        fail=rules.fail,
        settings=f"swaps:{rules.swap_count}|alpha:{rules.alpha:g}|fail:{rules.fail}|seed:{rules.seed}",
        notes=_gate_notes(comparison, checks),
        language=comparison.language,
    )
    return result if result.passed else _with_errors(result, comparison, sources)


def _with_errors(
    result: GateResult, comparison: Comparison, sources: Sequence[Source]
) -> GateResult:
    """The result of a regression with the worst new errors.

    They are named under the first broken rule whose metric can explain a part of the segments.
    """
    broken = {check.metric for check in result.regressions}
    candidates = [source for source in sources if source.name in broken]
    if not candidates:
        return result
    errors, notes = worst_new_errors(comparison, min(candidates, key=_cannot_explain))
    return replace(result, errors=errors, notes=(*result.notes, *notes))


def _cannot_explain(source: Source) -> bool:
    return source.metric is None or source.metric.needs_whole_corpus


def _check(
    metric: MetricComparison, rule: Rule, alpha: float, p_adjusted: float, least: float
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
        warning=metric.warning,
    )


def _gate_notes(comparison: Comparison, checks: Sequence[Check]) -> tuple[str, ...]:
    """Notes of the comparison, and the rules that no drop could break, however large it is."""
    # Bounds of the two-sided test do not hold for this one.
    two_sided = too_few_differences(comparison.metrics, comparison.systems, comparison.settings)
    return (
        *(note for note in comparison.notes if note not in two_sided),
        *(
            f"{check.metric} differs in {count_segments(check.differing)}, too few for any drop to "
            f"be significant at {check.alpha:g}."
            for check in checks
            if check.differing and check.least_p > check.alpha
        ),
    )
