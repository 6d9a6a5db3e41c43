"""docs/perturbations.md lists the kinds of the registry, with true examples."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from adequa.damage.apply import damage_text, damage_texts
from adequa.damage.base import Context, Perturbation
from adequa.damage.registry import PERTURBATIONS
from judgements import judgement_rows, needs_judgements

PATH = Path(__file__).parents[2] / "docs" / "perturbations.md"
DOCUMENT = PATH.read_text(encoding="utf-8") if PATH.exists() else ""
SETS = ("wmt15-da", "wmt20-da", "wmt21-da")
SEVERITY = 0.5


def lines_below(title: str) -> list[str]:
    """The numbered or quoted lines below a title."""
    part = DOCUMENT.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"^(?:\d+\.|>) (.*)$", part, re.MULTILINE)


def example(kind: Perturbation) -> str:
    """The first sentence of the document that a kind applies to, damaged, with its number."""
    *sentences, source, other = lines_below("Examples")
    for number, sentence in enumerate(sentences, 1):
        context = Context(source, (other,))
        result = damage_text(sentence, kind.name, SEVERITY, seed=1, context=context)
        if result is not None:
            return f"{number}: `{result}`" if result else f"{number}: nothing"
    raise AssertionError(f"no sentence of the document serves {kind.name}")


def table() -> list[str]:
    """The lines of the table, without the measured column."""
    lines = []
    for kind in PERTURBATIONS.values():
        trained = "held out" if kind.is_test_only else ""
        severity = kind.severity_meaning or "–"
        group = f"**{kind.group}**" if kind.critical else kind.group
        lines.append(f"| `{kind.name}` | {group} | {trained} | {severity} | {example(kind)} |")
    return lines


def percentages() -> dict[str, int]:
    """The percentage of sentences that each kind applies to, as the document says."""
    return {
        name: int(percent)
        for name, percent in re.findall(r"^\| `(\w+)` .* (\d+) \|$", DOCUMENT, re.M)
    }


def test_the_table_is_that_of_the_kinds() -> None:
    written = re.findall(r"^(\| `\w+` \|.*\|) \d+ \|$", DOCUMENT, re.MULTILINE)
    assert written == table()


def test_each_kind_that_is_held_out_has_its_reason() -> None:
    reasons = dict(re.findall(r"^- `(\w+)`: (.*)\.$", DOCUMENT, re.MULTILINE))
    assert reasons == {
        kind.name: kind.test_only_reason for kind in PERTURBATIONS.values() if kind.is_test_only
    }


def test_the_code_of_the_document_runs() -> None:
    failed, tried = doctest.testfile(str(PATH), module_relative=False)
    assert tried > 2
    assert failed == 0


@needs_judgements
def test_the_percentages_are_those_of_real_references() -> None:
    rows = [row for name in SETS for row in judgement_rows(name) if row["lp"].endswith("-en")]
    source_of = {row["ref"]: row["src"] for row in rows}
    references = list(source_of)[::25]
    sources = [source_of[reference] for reference in references]
    damaged = damage_texts(references, seed=1, sources=sources, corpus=list(source_of))
    for name, percent in percentages().items():
        measured = 100 * damaged.kinds.count(name) / len(references)
        assert measured == pytest.approx(percent, abs=6), name
