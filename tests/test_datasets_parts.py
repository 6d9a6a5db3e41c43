"""Parts of datasets: their rows and their files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adequa.agreement.protocol import Protocol, completed
from adequa.cli.datasets import app
from adequa.datasets import download
from adequa.datasets.load import load_dataset
from adequa.datasets.registry import DATASETS, Dataset
from adequa.judgements import Ratings
from judgements import FOLDER, needs_judgements
from small_archives import error, known_rows

PARTS = [name for name, entry in DATASETS.items() if entry.part_of]

# sha256("Hello.") is a multiple of 5, and those of the other two are not.
RATED: list[dict[str, object]] = [
    {"year": year, "lp": "zh-en", "system": system, "segment": number, "mt": "h", "ref": ref}
    for number, (year, ref) in enumerate(
        [(2020, "Hello."), (2020, "Yes."), (2021, "No."), (2021, "Hello."), (2021, "Yes.")]
    )
    for system in ("A", "ref-B")
]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No mirror, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADEQUA_DATA", raising=False)
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def mqm(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    return known_rows(monkeypatch, "wmt20-21-mqm", RATED)


def ratings(name: str) -> Ratings:
    loaded = load_dataset(name)
    assert isinstance(loaded, Ratings)
    return loaded


def references(name: str) -> set[str]:
    segments = ratings(name).segments
    assert segments is not None
    return {reference for row in segments.references for reference in row}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("wmt20-mqm", [0, 1, 2, 3]),
        ("wmt21-mqm-dev", [6, 7]),
        ("wmt21-mqm-train", [4, 5, 8, 9]),
    ],
)
def test_a_part_has_the_rows_of_a_year_and_of_a_fifth_of_the_references(
    mqm: Dataset, name: str, rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADEQUA_DATA", "mirror")
    part = ratings(name)
    assert part.name == name
    assert part.scores.tolist() == rows
    assert part.ids["system"] == ("A", "ref-B") * (len(rows) // 2)  # references rated as systems
    # Scores in row order are of the part, not of the whole file.
    assert part.file_rows.rows.tolist() == list(range(len(rows)))
    assert part.file_rows.row_count == len(rows)


def test_a_part_is_fetched_with_the_whole(mqm: Dataset) -> None:
    assert error(load_dataset, "wmt21-mqm-dev").startswith(
        "wmt20-21-mqm is not on this machine. With a folder that holds wmt20-21-mqm.jsonl.gz, run "
    )
    folder = download.fetch("wmt21-mqm-dev", Path("mirror"))
    assert folder == Path("cache/datasets/wmt20-21-mqm").resolve()
    assert len(ratings("wmt21-mqm-dev")) == 2
    assert len(ratings("wmt20-21-mqm")) == len(RATED)


def test_a_part_is_listed_and_shown(mqm: Dataset) -> None:
    run = CliRunner()
    run.invoke(app, ["fetch", "wmt21-mqm-dev", "--mirror", "mirror", "-q"])
    by_name = {line.split()[0]: line for line in run.invoke(app, []).stdout.splitlines() if line}
    for name in ("wmt20-21-mqm", "wmt21-mqm-dev", "wmt21-mqm-train"):
        assert by_name[name].endswith("cache/datasets/wmt20-21-mqm")
    shown = run.invoke(app, ["show", "wmt21-mqm-dev"]).stdout
    assert "part of     wmt20-21-mqm" in shown
    assert "year        2021" in shown
    assert "references  only those whose sha256 is a multiple of 5" in shown
    described = json.loads(run.invoke(app, ["show", "wmt21-mqm-dev", "--format", "json"]).stdout)
    assert [described[key] for key in ("part_of", "year", "fifth")] == [
        "wmt20-21-mqm", "2021", "only",
    ]  # fmt: skip


def test_parts_of_mqm_are_evaluated_as_the_whole_is(
    mqm: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADEQUA_DATA", "mirror")
    for name in ("wmt20-21-mqm", *(n for n in PARTS if DATASETS[n].part_of == "wmt20-21-mqm")):
        assert completed(Protocol(), ratings(name)).statistic == "acc-eq"


def test_a_part_inherits_what_is_not_said_of_it() -> None:
    for name in PARTS:
        entry = DATASETS[name]
        whole = DATASETS[entry.part_of]
        assert (entry.pairs, entry.raters, entry.sha256, entry.licence) == (
            whole.pairs, whole.raters, whole.sha256, whole.licence,
        )  # fmt: skip


@needs_judgements
@pytest.mark.parametrize("name", PARTS)
def test_real_parts_are_what_the_registry_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_DATA", str(FOLDER))
    loaded = ratings(name)
    assert len(loaded) == loaded.file_rows.row_count == DATASETS[name].rows
    assert set(loaded.ids["lp"]) == set(DATASETS[name].pairs)


@needs_judgements
def test_development_references_are_in_no_training_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor in any other dataset; and the parts of a dataset are the whole of it."""
    monkeypatch.setenv("ADEQUA_DATA", str(FOLDER))
    names = (*PARTS, "wmt13-da", "wmt15-da", "wmt16-da", "wmt17-da", "wmt20-da")
    of = {name: references(name) for name in names}
    development = ("wmt21-da-dev", "wmt21-mqm-dev")
    for one in development:
        for other in of.keys() - {one}:
            assert of[one].isdisjoint(of[other])
    assert [len(of[name]) for name in development] == [570, 137]
    sizes = {name: entry.rows for name, entry in DATASETS.items()}
    assert sizes["wmt21-da-dev"] + sizes["wmt21-da-train"] == sizes["wmt21-da"]
    parts = ("wmt20-mqm", "wmt21-mqm-dev", "wmt21-mqm-train")
    assert sum(sizes[name] for name in parts) == sizes["wmt20-21-mqm"]
    assert "ref-B" in ratings("wmt21-mqm-dev").ids["system"]
