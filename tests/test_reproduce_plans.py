"""The rows of the tables that plans train: each has the plans that its label tells of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adequa.encoders.transformer_files import model_folder
from adequa.learned.ensemble import Ensemble
from adequa.progress import NO_PROGRESS
from adequa.reproduce import planned, trained
from adequa.reproduce.planned import NamedPlan
from adequa.reproduce.recipes import RECIPES
from adequa.reproduce.registry import TABLES, table
from adequa.reproduce.table import System
from tiny_transformer import tiny_ratings

ROOT = Path(__file__).parent.parent
RATED = tiny_ratings(12)
MPNET, MINILM = "all-mpnet-base-v2", "all-MiniLM-L6-v2"
PLANNED = [
    (name, system)
    for name in TABLES
    for system in table(name).systems
    if "pair reg" in system.label
]


class FoundError(Exception):
    """Ends a row where its training would begin."""


def plans_of(system: System, dataset: str, monkeypatch: pytest.MonkeyPatch) -> list[NamedPlan]:
    """The plans that a row is trained by, which pass all checks before the work."""
    found: list[NamedPlan] = []

    def noted(named: NamedPlan, folder: Path, *_: object, **__: object) -> Path:
        found.append(named)
        return folder

    def end(*_: object, **__: object) -> None:
        raise FoundError

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(planned, "_trained", noted)
    monkeypatch.setattr(planned, "is_saved", lambda _: True)  # what has no plan
    monkeypatch.setattr(planned, "load_metric", end)
    monkeypatch.setattr(Ensemble, "of", end)
    monkeypatch.setattr(trained, "load_dataset", lambda name: replace(RATED, name=name))
    assert system.scores is not None
    with pytest.raises(FoundError):
        system.scores(replace(RATED, name=dataset), NO_PROGRESS)
    return found


@pytest.mark.parametrize(
    ("name", "system"), PLANNED, ids=[f"{name} {system.name}" for name, system in PLANNED]
)
def test_rows_have_plans_that_do_what_the_label_says(
    name: str, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = plans_of(system, table(name).dataset, monkeypatch)
    assert len(found) == 1  # an ensemble has a metric without a plan beside it
    everything = list(found)
    for each in everything:  # and what they begin with and are taught by, as far as it has plans
        everything += [NamedPlan.read(name) for name in each.others() if name not in RECIPES]
    learnt = {source.objective for each in everything for source in each.sources()}
    kinds = {"preferences", "ratings"} if "preferences" in system.label else {"ratings"}
    assert learnt - {"distillation"} == (kinds if name != "wmt16" else {"preferences"})
    assert ("distillation" in learnt) == ("distilled" in system.label or "ensem" in system.label)
    for each in everything:
        assert each.plan.start or each.plan.encoder in system.label
        for _, dataset in each.datasets():
            assert dataset[:5] != name[:5]
            assert dataset[:5] < "wmt17"
    assert system.cost == ("hours" if MINILM in system.label else "gpu")


def test_there_are_the_rows() -> None:
    assert [name for name, _ in PLANNED] == [
        *["wmt12"] * 3, "wmt16", *["wmt17"] * 5, *["wmt17-systems"] * 2, *["wmt18-systems"] * 2,
    ]  # fmt: skip


def test_the_second_plan_of_wmt16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    second = NamedPlan.read("wmt16-ratings")
    assert second.plan.start == "wmt16-preferences"
    assert [(source.objective, source.data) for source in second.sources()] == [("ratings", ())]


@pytest.mark.parametrize(("name", "short"), [(MPNET, "mpnet"), (MINILM, "minilm")])
def test_encoders_under_their_published_and_short_names(
    name: str, short: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADEQUA_MODELS", str(tmp_path / "there"))
    for place in (short, name):
        (tmp_path / "there" / place).mkdir(parents=True)
        found = model_folder(name, download=False, revision="")
        assert found == (tmp_path / "there" / place).resolve()
