"""The rows of the tables that plans train: each has the plans that its label describes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adequa.encoders.transformer_files import model_folder
from adequa.learned.ensemble import Ensemble
from adequa.progress import NO_PROGRESS
from adequa.reproduce import plans, scorers
from adequa.reproduce.paper_table import TABLES, PaperRow, load_table
from adequa.reproduce.plans import PlanFile
from adequa.reproduce.scorers import RECIPES
from tiny_transformer import tiny_ratings

ROOT = Path(__file__).parent.parent
RATED = tiny_ratings(12)
MPNET, MINILM = "all-mpnet-base-v2", "all-MiniLM-L6-v2"
PLANNED = [
    (name, row)
    for name in TABLES
    for row in load_table(name).rows
    if row.label.startswith("pair regressor")
]


class TrainingReachedError(Exception):
    """Ends a row where its training would begin."""


def plans_of(row: PaperRow, dataset: str, monkeypatch: pytest.MonkeyPatch) -> list[PlanFile]:
    """The plans that a row is trained by, which pass all checks before the work."""
    files: list[PlanFile] = []

    def record(file: PlanFile, *_: object, **__: object) -> None:
        files.append(file)

    def end(*_: object, **__: object) -> None:
        raise TrainingReachedError

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(plans, "_train", record)
    monkeypatch.setattr(plans, "is_saved", lambda _: True)  # what has no plan
    monkeypatch.setattr(plans, "load_metric", end)
    monkeypatch.setattr(Ensemble, "of", end)
    monkeypatch.setattr(scorers, "load_dataset", lambda name: replace(RATED, name=name))
    assert row.scorer is not None
    with pytest.raises(TrainingReachedError):
        row.scorer(replace(RATED, name=dataset), NO_PROGRESS)
    return files


@pytest.mark.parametrize(
    ("name", "row"), PLANNED, ids=[f"{name} {row.name}" for name, row in PLANNED]
)
def test_rows_have_plans_that_do_what_the_label_says(
    name: str, row: PaperRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = plans_of(row, load_table(name).dataset, monkeypatch)
    assert len(files) == 1  # an ensemble has a metric without a plan too
    for file in files:  # and the plans of its start and its teachers
        files += [PlanFile.read(name) for name in file.dependencies() if name not in RECIPES]
    learnt = {source.objective for file in files for source in file.sources()}
    kinds = {"ratings"} if row.label.endswith(": ratings") else {"preferences", "ratings"}
    assert learnt - {"distillation"} == (kinds if name != "wmt16" else {"preferences"})
    assert ("distillation" in learnt) == ("distilled" in row.label)
    encoder = MINILM if "MiniLM" in row.label else MPNET
    for file in files:
        assert file.plan.start or file.plan.encoder == encoder
        for _, dataset in file.datasets():
            assert dataset[:5] != name[:5]
            assert dataset[:5] < "wmt17"
    assert row.cost == ("hours" if encoder == MINILM else "gpu")


def test_there_are_the_rows() -> None:
    assert [name for name, _ in PLANNED] == [
        *["wmt12"] * 3, "wmt16", *["wmt17"] * 5, *["wmt17-systems"] * 2, *["wmt18-systems"] * 2,
    ]  # fmt: skip


def test_the_second_plan_of_wmt16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    second = PlanFile.read("wmt16-ratings")
    assert second.plan.start == "wmt16-preferences"
    assert [(source.objective, source.data) for source in second.sources()] == [("ratings", ())]


@pytest.mark.parametrize(("name", "short"), [(MPNET, "mpnet"), (MINILM, "minilm")])
def test_encoders_under_their_published_and_short_names(
    name: str, short: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADEQUA_MODELS", str(tmp_path / "models"))
    for folder_name in (short, name):
        (tmp_path / "models" / folder_name).mkdir(parents=True)
        folder = model_folder(name, download=False, revision="")
        assert folder == (tmp_path / "models" / folder_name).resolve()
