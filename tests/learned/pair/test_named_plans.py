"""Named plans: what the flags of `adequa train pair-regressor` stand for."""

from __future__ import annotations

import pytest

from adequa.errors import AdequaError
from adequa.learned.pair.plan import PLAN_NAMES, Plan, PlanOptions, named_plan


def test_the_grid_is_that_of_the_paper() -> None:
    """Shimanaka, Kajiwara and Komachi (2019, §4.1)."""
    plan = named_plan("paper", PlanOptions(ratings=["wmt15-da", "wmt16-da"], encoder="bert"))
    assert (plan.pooling, plan.layers, plan.hidden_layers, plan.dropout) == ("cls", "", 0, 0.1)
    assert plan.development.share == 0.1
    (stage,) = plan.stage
    assert (stage.objective, stage.data) == ("ratings", ("wmt15-da", "wmt16-da"))
    assert set(stage.batch) == {16, 32}
    assert set(stage.learning_rate) == {5e-5, 3e-5, 2e-5}
    assert set(stage.epochs) == {3, 4}
    assert stage.keep == "best"


@pytest.mark.parametrize("name", PLAN_NAMES)
def test_preferences_come_first(name: str) -> None:
    plan = named_plan(
        name, PlanOptions(ratings=["rated.tsv"], preferences=["a.tsv", "b.tsv"], start="metric")
    )
    assert [(stage.objective, stage.data) for stage in plan.stage] == [
        ("preferences", ("a.tsv", "b.tsv")),
        ("ratings", ("rated.tsv",)),
    ]
    assert (plan.start, plan.encoder) == ("metric", "")
    kept = {"default": "last", "paper": "best"}[name]  # the paper's grid is chosen from
    assert [stage.keep for stage in plan.stage] == ["last", kept]
    (only,) = named_plan(name, PlanOptions(preferences=["a.tsv"], start="metric")).stage
    assert only == named_plan(name, PlanOptions(("r",), ("a.tsv",), start="metric")).stage[0]


def test_what_is_not_said_stays_as_plans_have_it() -> None:
    plan = named_plan("default", PlanOptions(ratings=["rated.tsv"], encoder="bert"))
    assert plan == Plan(encoder="bert", stage=plan.stage)


def test_wishes_are_for_the_ratings_or_the_only_stage() -> None:
    options = PlanOptions(
        ratings=["rated.tsv"], preferences=["ranked.tsv"], encoder="bert", surface=True,
        references="best", lp=["cs-en"], sample=50, batch=[4, 8], learning_rate=[1e-3],
        epochs=[0.5], seed=3,
    )  # fmt: skip
    plan = named_plan("default", options)
    before = named_plan("default", PlanOptions(preferences=["ranked.tsv"], encoder="bert")).stage[0]
    first, second = plan.stage
    assert (first.batch, first.learning_rate) == (before.batch, before.learning_rate)
    assert (second.batch, second.learning_rate, second.epochs) == ((4, 8), (1e-3,), (0.5,))
    assert {(stage.lp, stage.sample) for stage in plan.stage} == {(("cs-en",), 50)}
    assert (plan.surface, plan.references, plan.seed, plan.development.rows) == (
        True, "best", 3, 50,
    )  # fmt: skip
    alone = named_plan("default", PlanOptions(preferences=["x"], encoder="bert", batch=[5]))
    assert alone.stage[0].batch == (5,)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (PlanOptions(encoder="bert"), "Name what to learn from"),
        (PlanOptions(ratings=["a"]), "Name what to begin with"),
        (PlanOptions(ratings=["a"], encoder="bert", start="b"), "it names both"),
        (PlanOptions(ratings=["a"], encoder="bert", batch=[0]), "batch should be from 1, not 0"),
        (PlanOptions(ratings=["a"], encoder="bert", epochs=[0.0]), "epochs should be above 0"),
        (
            PlanOptions(ratings=["a"], encoder="bert", learning_rate=[-1.0]),
            "learning_rate should be",
        ),
    ],
    ids=["data", "encoder", "both", "batch", "epochs", "rate"],
)
def test_wishes_that_make_no_plan(options: PlanOptions, said: str) -> None:
    with pytest.raises(AdequaError, match=said):
        named_plan("default", options)
