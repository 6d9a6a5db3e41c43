"""A gate's verdict as JSON, JUnit XML and Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite
from xml.sax.saxutils import escape, quoteattr

from adequa.cli.render_comparison import markdown_table
from adequa.comparison.gate import Check, Verdict
from adequa.comparison.wording import probability, signed, unsigned
from adequa.errors import printable


def as_json(verdict: Verdict) -> Iterator[str]:
    """The stable JSON shape of a verdict."""
    content = {
        "passed": verdict.passed,
        "verdict": verdict.sentence,
        "baseline": verdict.baseline,
        "candidate": verdict.candidate,
        "segments": verdict.segments,
        "fail": verdict.fail,
        "checks": [
            {
                name: None if isinstance(value, float) and not isfinite(value) else value
                for name, value in {
                    **asdict(check),
                    "regression": check.is_regression,
                    "reason": check.reason,
                }.items()
            }
            for check in verdict.checks
        ],
        "settings": verdict.settings,
    }
    yield json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_junit(verdict: Verdict) -> Iterator[str]:
    """JUnit XML, which services of continuous integration show: a test case a rule."""
    count, failures = len(verdict.checks), len(verdict.regressions)
    if verdict.passed:
        failures = 0  # what is not enough to fail is told in the output
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites tests="{count}" failures="{failures}" errors="0">\n'
    yield f'  <testsuite name="adequa gate" tests="{count}" failures="{failures}" errors="0">\n'
    for check in verdict.checks:
        name = _attribute(f"{check.metric}: {verdict.candidate} against {verdict.baseline}")
        yield f'    <testcase classname="adequa.gate" name={name}>\n'
        told = f"{check.change}, {check.reason}"
        if check.is_regression and not verdict.passed:
            yield f'      <failure type="regression" message={_attribute(told)}/>\n'
        yield f"      <system-out>{escape(_xml_text(f'{told}; {check.signature}'))}</system-out>\n"
        yield "    </testcase>\n"
    yield "  </testsuite>\n</testsuites>\n"


def as_markdown(verdict: Verdict) -> Iterator[str]:
    """A summary in Markdown: the verdict, and a table of the rules."""
    word = "Pass" if verdict.passed else "Regression"
    systems = " against ".join(
        f"`{printable(name).replace('`', '')}`" for name in (verdict.candidate, verdict.baseline)
    )
    yield f"### {word}: {systems}\n\n"
    header = ["metric", "verdict", "baseline", "candidate", "change", "interval", "allowed", "p"]
    yield from markdown_table([header, *map(_cells, verdict.checks)], 2)
    yield f"\n{verdict.segments:,} segments; p: approximate randomisation, one-sided"
    yield ", Holm's correction" if verdict.fail == "any" and len(verdict.checks) > 1 else ""
    yield f"; `{verdict.settings}`\n"


def _cells(check: Check) -> list[str]:
    decimals = check.decimals
    return [
        f"{check.metric} {'↑' if check.higher_is_better else '↓'}",
        f"**{check.reason}**" if check.is_regression else check.reason,
        unsigned(check.baseline, decimals),
        unsigned(check.candidate, decimals),
        signed(check.candidate - check.baseline, decimals),
        f"{signed(check.low, decimals)} – {signed(check.high, decimals)}",
        f"{check.max_drop:g}",
        probability(check.p_adjusted, check.alpha),
    ]


def _attribute(text: str) -> str:
    return quoteattr(_xml_text(text))


def _xml_text(text: str) -> str:
    """Text without what XML cannot hold: control characters, and halves of characters."""
    kept = printable(text).encode("utf-8", "replace").decode("utf-8")
    return "".join(char for char in kept if char not in "\ufffe\uffff")
