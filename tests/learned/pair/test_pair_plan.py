"""Training plans: a TOML file comes back as it was, and each mistake has its sentence."""

from __future__ import annotations

import importlib
import json
import re
import sys
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import pytest

from adequa.errors import AdequaError
from adequa.learned.pair.plan import (
    HEAD_DEFAULTS,
    UNSET,
    DevelopmentPlan,
    Plan,
    PlanOptions,
    SourcePlan,
    StagePlan,
    plan_from,
    preset_plan,
)

WHOLE = """
encoder = "some/encoder"
pooling = "cls"
layers = "1+2"
hidden_layers = 1
units = 64
dropout = 0
surface = true
references = "best"
max_length = 128
most_tokens = 4096
seed = 3

[development]
share = 0.2
rows = 100

[[stage]]
objective = "preferences"
data = ["wmt13-rr", "mine.tsv"]
lp = "cs-en"
sample = 1000
split = 0
batch = 32
epochs = 1
learning_rate = 5e-5
schedule = "cosine"
layer_decay = 0.9
head_rate = 2
average = 0.5
keep = "last"
evaluations = 4

  [[stage.beside]]
  objective = "distillation"
  teacher = "chrf"
  weight = 0.25

[[stage]]
objective = "ratings"
batch = [16, 32]
learning_rate = [5e-5, 3e-5, 2e-5]
epochs = [3, 4]
"""


def test_a_whole_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(WHOLE)
    assert Plan.load(path) == Plan(
        encoder="some/encoder", pooling="cls", layers="1+2", hidden_layers=1, units=64,
        dropout=0.0, surface=True, references="best", max_length=128, most_tokens=4096, seed=3,
        development=DevelopmentPlan(share=0.2, rows=100),
        stage=(
            StagePlan(
                "preferences", data=("wmt13-rr", "mine.tsv"), lp=("cs-en",), sample=1000,
                split=0, batch=(32,), epochs=(1.0,), learning_rate=(5e-5,),
                schedule="cosine", layer_decay=0.9, head_rate=2.0, average=0.5, keep="last",
                evaluations=4,
                beside=(SourcePlan("distillation", teacher=("chrf",), weight=0.25),),
            ),
            StagePlan(
                "ratings", batch=(16, 32), learning_rate=(5e-5, 3e-5, 2e-5), epochs=(3.0, 4.0)
            ),
        ),
    )  # fmt: skip


def test_a_plan_comes_back_from_json(tmp_path: Path) -> None:
    """As metric.json keeps it."""
    path = tmp_path / "plan.toml"
    path.write_text(WHOLE)
    plan = Plan.load(path)
    assert plan_from(json.loads(json.dumps(plan.table())), "metric.json") == plan


def test_with_a_start_what_is_unsaid_of_the_head_stays_so() -> None:
    """Also where it is changed, kept, and read again; what equals a default is said too."""
    table = {"start": "m", "units": 768, "stage": [{"objective": "ratings"}]}
    found = plan_from(table, "plan")
    assert found == Plan(start="m", units=768, stage=(StagePlan("ratings"),))
    changed = replace(found, seed=3).validated("here")
    for each in (found, changed, plan_from(json.loads(json.dumps(found.table())), "metric.json")):
        assert {key for key in HEAD_DEFAULTS if getattr(each, key) is not UNSET} == {"units"}
        assert HEAD_DEFAULTS.keys() & each.table().keys() == {"units"}


def test_with_an_encoder_all_of_the_head_is_said() -> None:
    plain = Plan(encoder="e")
    assert {key: getattr(plain, key) for key in HEAD_DEFAULTS} == dict(HEAD_DEFAULTS)
    assert plain == Plan(encoder="e", **HEAD_DEFAULTS)
    assert HEAD_DEFAULTS.keys() < plain.table().keys()


def test_a_single_stage_may_be_a_plain_table() -> None:
    table = {"encoder": "e", "stage": {"objective": "ratings"}}
    assert plan_from(table, "plan") == Plan(encoder="e", stage=(StagePlan("ratings"),))


def test_a_changed_plan_is_checked_as_a_whole() -> None:
    good = Plan(encoder="e", stage=(StagePlan("ratings"),))
    assert good.validated("here") == good
    assert replace(good, references="").validated("here").references == ""
    for change in ({"seed": 2**70}, {"units": 0}, {"stage": (StagePlan("ratings", split=-1),)}):
        with pytest.raises(AdequaError, match="^here: "):
            replace(good, **change).validated("here")


RATINGS = {"objective": "ratings"}
TAUGHT = {"objective": "distillation", "teacher": "chrf"}


def plan(stage: Any = RATINGS, **table: Any) -> dict[str, Any]:
    return {"encoder": "e", "stage": [stage], **table}


BAD = {
    "unknown key": (plan(encodr="x"), 'has no setting "encodr". Did you mean "encoder"?'),
    "unknown stage key": (
        plan(RATINGS | {"learning_rat": 1}),
        'plan.toml: stage 1 has no setting "learning_rat". Did you mean "learning_rate"?',
    ),
    "unknown development key": (
        plan(development={"shar": 0.1}),
        'plan.toml: development has no setting "shar". Did you mean "share"?',
    ),
    "stage key beside": (
        plan(RATINGS | {"beside": [RATINGS | {"epochs": 3}]}),
        'stage 1: beside 1 has no setting "epochs"',
    ),
    "encoder and start": (plan(start="m"), "it names both"),
    "neither": ({"stage": [RATINGS]}, "it names neither"),
    "no stage": ({"encoder": "e"}, "plan.toml has no stage"),
    "empty stages": ({"encoder": "e", "stage": []}, "plan.toml has no stage"),
    "no objective": (plan({"data": "x"}), "stage 1 names no objective; there are ratings"),
    "unknown objective": (plan({"objective": "rating"}), "should be 'ratings', 'preferences'"),
    "teacher without distillation": (plan(RATINGS | {"teacher": "chrf"}), "a teacher goes with"),
    "distillation without teacher": (plan({"objective": "distillation"}), "a teacher goes with"),
    "teacher beside": (
        plan(RATINGS | {"beside": [{"objective": "distillation"}]}),
        "a teacher goes with",
    ),
    "own scale of preferences": (
        plan({"objective": "preferences", "own_scale": True}),
        "own_scale goes with the objective ratings",
    ),
    "noise of a teacher": (plan(TAUGHT | {"noise": 1.0}), "noise goes with the objective ratings"),
    "transform beside": (
        plan(RATINGS | {"beside": [{"objective": "damage", "transform": "log-penalty"}]}),
        "transform goes with the objective ratings",
    ),
    "emoji in ratings": (
        plan(RATINGS | {"symbols": 0.5}),
        "symbols goes with the objective damage",
    ),
    "emoji that are spared": (
        plan({"objective": "damage", "symbols": 0.5, "spared": ["symbols"]}),
        'spared leaves out "symbols"',
    ),
    "unknown transform": (
        plan(RATINGS | {"transform": "log"}),
        "transform should be 'none' or 'log-penalty', not 'log'",
    ),
    "noise is negative": (
        plan(RATINGS | {"noise": -1}),
        "noise should be greater than or equal to 0, not -1",
    ),
    "an unknown input": (
        plan(inputs=["reference", "sources"]),
        "inputs should be 'both', 'reference' or 'source', not 'sources'",
    ),
    "no input": (plan(inputs=[]), "inputs has no value"),
    "crossed outputs without a view of the reference": (
        plan(TAUGHT | {"crossed": 1}, inputs=["both", "source"]),
        "crossed takes other outputs as references and leaves out sources",
    ),
    "surface features without a reference": (
        plan(inputs=["source"], surface=True),
        "surface features compare a hypothesis with its reference",
    ),
    "own scale is text": (
        plan(RATINGS | {"own_scale": "yes"}),
        "own_scale should be False, True or 'pair', not 'yes'",
    ),
    "several without development": (
        plan(RATINGS | {"batch": [16, 32]}, development={"share": 0}),
        "no development data to choose by",
    ),
    "stage is text": (plan("ratings"), "stage 1 should be a table"),
    "development is a number": (plan(development=0.1), "development should be a table"),
    "encoder is a number": (plan(encoder=3), "encoder should be a valid string, not 3"),
    "surface is text": (plan(surface="yes"), "surface should be a valid boolean, not 'yes'"),
    "seed is true": (plan(seed=True), "seed should be a valid integer, not True"),
    "seed is a fraction": (plan(seed=1.5), "seed should be a valid integer, not 1.5"),
    "seed is negative": (plan(seed=-1), "seed should be greater than or equal to 0, not -1"),
    "seed is huge": (plan(seed=2**70), "seed should be less than or equal to"),
    "dropout is true": (plan(dropout=True), "dropout should be a valid number, not True"),
    "dropout is 1": (plan(dropout=1.0), "dropout should be less than 1, not 1.0"),
    "data are numbers": (plan(RATINGS | {"data": [1]}), "data should be a valid string, not 1"),
    "batch is 0": (
        plan(RATINGS | {"batch": 0}),
        "batch should be greater than",
    ),
    "batch is a fraction": (
        plan(RATINGS | {"batch": [16, 0.5]}),
        "batch should be a valid integer",
    ),
    "batch is nested": (plan(RATINGS | {"batch": [[16]]}), "batch should be a valid integer"),
    "no batch": (plan(RATINGS | {"batch": []}), "batch has no value"),
    "several beside": (
        plan(TAUGHT | {"beside": [RATINGS | {"batch": [8, 16]}]}),
        "batch of what is learnt beside should be one number",
    ),
    "epochs are 0": (plan(RATINGS | {"epochs": 0}), "epochs should be greater than 0"),
    "rate is negative": (
        plan(RATINGS | {"learning_rate": -1e-5}),
        "learning_rate should be greater than 0, not -1e-05",
    ),
    "rate is no number": (plan(RATINGS | {"learning_rate": float("nan")}), "not nan"),
    "epochs are infinite": (plan(RATINGS | {"epochs": float("inf")}), "not inf"),
    "warmup is 2": (
        plan(RATINGS | {"warmup": 2}),
        "warmup should be less than or equal to 1",
    ),
    "decay is 0": (plan(RATINGS | {"layer_decay": 0.0}), "layer_decay should be greater than 0"),
    "share is 1": (plan(development={"share": 1}), "share should be less than 1"),
    "no schedule": (plan(RATINGS | {"schedule": "steps"}), "'linear', 'cosine' or 'constant'"),
    "no keep": (plan(RATINGS | {"keep": "all"}), "keep should be 'best' or 'last'"),
    "no references": (plan(references="max"), "references should be '', 'best' or 'mean'"),
    "units are huge": (plan(units=10**12), "units should be less than or equal to 16384"),
    "looks never end": (
        plan(RATINGS | {"evaluations": 10**6}),
        "evaluations should be less",
    ),
    "layers never end": (
        plan(hidden_layers=10**6),
        "hidden_layers should be less than",
    ),
    "most tokens are 0": (plan(most_tokens=0), "most_tokens should be greater than or equal to 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_plans_have_a_sentence(case: str) -> None:
    table, expected = BAD[case]
    with pytest.raises(AdequaError) as caught:
        plan_from(table, "plan.toml")
    assert expected in str(caught.value)
    assert str(caught.value).startswith("plan.toml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'encoder = "e', "is no TOML file"),
        (b"\xff\xfe", "is no TOML file"),
        (b"a = 1\na = 2", "is no TOML file"),
        (b"", "it names neither"),
    ],
    ids=["cut", "bytes", "twice", "empty"],
)
def test_bad_files_have_a_sentence(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(content)
    with pytest.raises(AdequaError) as caught:
        Plan.load(path)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)


def test_no_file_is_a_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(AdequaError, match="There is no file|is a folder"):
            Plan.load(path)


def test_nesting_without_end_is_a_sentence(tmp_path: Path) -> None:
    for content in ("a = " + "[" * 100_000, "a = " + "{b = " * 100_000):
        (tmp_path / "plan.toml").write_text(content)
        with pytest.raises(AdequaError, match="is no TOML file: it is too deeply nested"):
            Plan.load(tmp_path / "plan.toml")


def test_the_grid_is_that_of_the_paper() -> None:
    """Shimanaka, Kajiwara and Komachi (2019, §4.1)."""
    plan = preset_plan("paper", PlanOptions(ratings=["wmt15-da", "wmt16-da"], encoder="bert"))
    assert (plan.pooling, plan.layers, plan.hidden_layers, plan.dropout) == ("cls", "", 0, 0.1)
    assert plan.development.share == 0.1
    (stage,) = plan.stage
    assert (stage.objective, stage.data) == ("ratings", ("wmt15-da", "wmt16-da"))
    assert set(stage.batch) == {16, 32}
    assert set(stage.learning_rate) == {5e-5, 3e-5, 2e-5}
    assert set(stage.epochs) == {3, 4}
    assert stage.keep == "best"


@pytest.mark.parametrize("name", ["default", "paper"])
def test_preferences_come_first(name: str) -> None:
    plan = preset_plan(
        name, PlanOptions(ratings=["rated.tsv"], preferences=["a.tsv", "b.tsv"], start="metric")
    )
    assert [(stage.objective, stage.data) for stage in plan.stage] == [
        ("preferences", ("a.tsv", "b.tsv")),
        ("ratings", ("rated.tsv",)),
    ]
    assert (plan.start, plan.encoder) == ("metric", "")
    kept = {"default": "last", "paper": "best"}[name]  # the paper's grid is chosen from
    assert [stage.keep for stage in plan.stage] == ["last", kept]
    (only,) = preset_plan(name, PlanOptions(preferences=["a.tsv"], start="metric")).stage
    assert only == preset_plan(name, PlanOptions(("r",), ("a.tsv",), start="metric")).stage[0]


def test_what_is_not_said_stays_as_plans_have_it() -> None:
    plan = preset_plan("default", PlanOptions(ratings=["rated.tsv"], encoder="bert"))
    assert plan == Plan(encoder="bert", stage=plan.stage)


def test_wishes_are_for_the_ratings_or_the_only_stage() -> None:
    options = PlanOptions(
        ratings=["rated.tsv"], preferences=["ranked.tsv"], encoder="bert", surface=True,
        references="best", lp=["cs-en"], sample=50, batch=[4, 8], learning_rate=[1e-3],
        epochs=[0.5], seed=3,
    )  # fmt: skip
    plan = preset_plan("default", options)
    before = preset_plan("default", PlanOptions(preferences=["ranked.tsv"], encoder="bert")).stage[
        0
    ]
    first, second = plan.stage
    assert (first.batch, first.learning_rate) == (before.batch, before.learning_rate)
    assert (second.batch, second.learning_rate, second.epochs) == ((4, 8), (1e-3,), (0.5,))
    assert {(stage.lp, stage.sample) for stage in plan.stage} == {(("cs-en",), 50)}
    assert (plan.surface, plan.references, plan.seed, plan.development.rows) == (
        True, "best", 3, 50,
    )  # fmt: skip
    alone = preset_plan("default", PlanOptions(preferences=["x"], encoder="bert", batch=[5]))
    assert alone.stage[0].batch == (5,)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (PlanOptions(encoder="bert"), "Name what to learn from"),
        (PlanOptions(ratings=["a"]), "Name what to begin with"),
        (PlanOptions(ratings=["a"], encoder="bert", start="b"), "it names both"),
        (
            PlanOptions(ratings=["a"], encoder="bert", batch=[0]),
            "batch should be greater than",
        ),
        (
            PlanOptions(ratings=["a"], encoder="bert", epochs=[0.0]),
            "epochs should be greater than 0",
        ),
        (
            PlanOptions(ratings=["a"], encoder="bert", learning_rate=[-1.0]),
            "learning_rate should be",
        ),
    ],
    ids=["data", "encoder", "both", "batch", "epochs", "rate"],
)
def test_wishes_that_make_no_plan(options: PlanOptions, said: str) -> None:
    with pytest.raises(AdequaError, match=said):
        preset_plan("default", options)


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
    assert Plan.load(path).stage
    listed = (ROOT / "plans" / "README.md").read_text(encoding="utf-8")
    assert f"| [{path.name}]({path.name}) |" in listed


def test_there_are_plans() -> None:
    assert "example" in {path.stem for path in PLANS}


def test_without_pydantic_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "adequa.learned.pair.plan")
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(AdequaError, match=r"pip install 'adequa\[train\]'"):
        importlib.import_module("adequa.learned.pair.plan")
