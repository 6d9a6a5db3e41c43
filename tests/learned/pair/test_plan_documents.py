"""What the documents say of plans is what the code reads, and every shipped plan can be read."""

from __future__ import annotations

import re
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from adequa.learned.pair.plan import (
    DevelopmentPlan,
    Plan,
    SourcePlan,
    StagePlan,
    plan_from,
    read_plan,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[3]
PLANS = sorted((ROOT / "plans").glob("*.toml"))
DOCUMENT = (ROOT / "docs" / "pair-regressor.md").read_text(encoding="utf-8")


def tables() -> list[dict[str, str]]:
    """Key and default of each table with keys in the document."""
    found = re.findall(r"\| key \| default \| meaning \|\n\|[-|]+\n((?:\|.*\n)+)", DOCUMENT)
    return [dict(re.findall(r"^\| `(\w+)` \| (.*?) ?\|", rows, re.MULTILINE)) for rows in found]


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize(
    ("number", "kind"), list(enumerate([Plan, DevelopmentPlan, StagePlan])),
    ids=["plan", "development", "stage"],
)  # fmt: skip
def test_the_document_has_every_key_with_its_default(number: int, kind: type[Any]) -> None:
    said, made = tables()[number], kind("ratings") if kind is StagePlan else kind()
    assert list(said) == [each.name for each in fields(kind)]
    for each in fields(kind):
        if each.name in {"development", "stage"} or each.default is MISSING:
            assert said[each.name] == ""
        elif getattr(made, each.name) is None:  # TOML has no word for what is unsaid
            assert said[each.name] == "as it comes"
        else:
            default = tomllib.loads(f"value = {said[each.name].strip('`')}")["value"]
            assert default == plain(getattr(made, each.name))


def test_what_stands_beside_a_stage_has_its_first_keys() -> None:
    assert "`objective` to `weight` as above" in DOCUMENT
    beside = [each.name for each in fields(SourcePlan)]
    assert (beside[0], beside[-1]) == ("objective", "weight")
    assert list(tables()[2])[: len(beside)] == beside


def test_plans_in_the_document_are_plans() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    assert blocks[0] == (ROOT / "plans" / "example.toml").read_text(encoding="utf-8")
    for block in blocks:
        assert plan_from(tomllib.loads(block), "the document").stage


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_every_shipped_plan_reads_and_is_listed(path: Path) -> None:
    assert read_plan(path).stage
    listed = (ROOT / "plans" / "README.md").read_text(encoding="utf-8")
    assert f"| [{path.name}]({path.name}) |" in listed


def test_there_are_plans() -> None:
    assert "example" in {path.stem for path in PLANS}
