"""Parts of datasets, and post-edits as references: their rows and their files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from adequa.agreement.protocol import Protocol, completed
from adequa.cli.datasets import app
from adequa.datasets import download
from adequa.datasets.load import detokenised, load_dataset
from adequa.datasets.registry import DATASETS, Dataset
from adequa.judgements import Ratings
from judgements import FOLDER, judgement_rows, needs_judgements
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
# sha256("Source 21.") and sha256("Source 32.") are multiples of 10.
SOURCES = ["Hello.", "Source 21.", "Source 32.", "Yes."]
EDITED: list[dict[str, object]] = [
    {"lp": "et-en", "mt": "I can't.", "ref": None, "post_edit": "I can 't .", "n": 3},
    {"lp": "en-de", "mt": "Nein.", "ref": None, "post_edit": "Nein .", "n": 3},
    {"lp": "km-en", "mt": "Yes.", "ref": None, "post_edit": "Yes .", "n": 3},
    {"lp": "ne-en", "mt": "No.", "ref": None},
    {"lp": "si-en", "mt": "Go (now)!", "ref": None, "post_edit": "Run ( now ) !", "n": 6},
]


pytestmark = pytest.mark.usefixtures("own_cache")


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


@pytest.mark.parametrize(("name", "rows"), [("dev", [1, 2]), ("train", [0, 3])])
def test_a_part_has_a_tenth_of_the_sources(
    name: str, rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rated = [{"lp": "en-de", "mt": "h", "src": src, "ref": "Hello."} for src in SOURCES]
    known_rows(monkeypatch, "wmt20-enx-da", rated)
    monkeypatch.setenv("ADEQUA_DATA", "mirror")
    assert ratings(f"wmt20-enx-da-{name}").scores.tolist() == rows
    shown = CliRunner().invoke(app, ["show", f"wmt20-enx-da-{name}"]).stdout
    facts = dict(line.split(maxsplit=1) for line in shown.splitlines()[2:])
    chosen = "only" if name == "dev" else "without"
    assert facts["sources"] == f"{chosen} those whose sha256 is a multiple of 10"
    assert (facts["origin"], facts["licence"]) == ("not stated", "not stated")


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
    assert [described[key] for key in ("part_of", "year", "split", "reference")] == [
        "wmt20-21-mqm", "2021", {"text": "reference", "modulus": 5, "rows": "development"}, None,
    ]  # fmt: skip
    assert "reference  post-edit, near to the output" in run.invoke(app, ["show", "mlqe-pe"]).stdout


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


def test_post_edits_are_left_out_where_sources_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    known_rows(monkeypatch, "mlqe-pe-qe", [{**row, "src": "s"} for row in EDITED])
    monkeypatch.setenv("ADEQUA_DATA", "mirror")
    loaded = ratings("mlqe-pe-qe")
    assert loaded.ids == {"lp": ("et-en", "en-de", "km-en", "ne-en", "si-en")}
    assert loaded.segments is not None
    assert not loaded.segments.has_references
    assert loaded.segments.sources == ("s",) * 5
    shown = CliRunner().invoke(app, ["show", "mlqe-pe-qe"]).stdout
    assert "reference  none; sources alone" in shown


def test_post_edits_are_references_of_pairs_into_english(monkeypatch: pytest.MonkeyPatch) -> None:
    known_rows(monkeypatch, "mlqe-pe", EDITED)
    monkeypatch.setenv("ADEQUA_DATA", "mirror")
    loaded = ratings("mlqe-pe")
    assert loaded.ids == {"lp": ("et-en", "si-en")}
    assert loaded.scores.tolist() == [0, 4]
    assert loaded.segments is not None
    assert loaded.segments.hypotheses == ("I can't.", "Go (now)!")
    assert loaded.segments.references == (("I can't.",), ("Run (now)!",))
    assert loaded.judgement_counts is not None
    assert loaded.judgement_counts.tolist() == [3, 6]


@pytest.mark.parametrize(
    ("tokenised", "text"),
    [
        ("", ""),
        ("One word", "One word"),
        ("Well , yes : no ; oh ! Why ?", "Well, yes: no; oh! Why?"),
        ("He didn 't say so ...", "He didn't say so..."),
        ("It 's Anna 's , they 'll say .", "It's Anna's, they'll say."),
        ("at four o 'clock in Côte d 'Ivoire", "at four o'clock in Côte d'Ivoire"),
        ("the 90 's", "the 90's"),
        ("the Workers ' Party", "the Workers' Party"),
        ("the ' Raw ' show", "the 'Raw' show"),
        ('" Yes , " he said , " no . "', '"Yes," he said, "no."'),
        ('called " one " and " two "', 'called "one" and "two"'),
        ("“ Yes ”", "“Yes”"),
        ("One ’ s eye , the judges ’ view", "One’s eye, the judges’ view"),
        ("( about 2.7 % ) [ 1 ] { x }", "(about 2.7%) [1] {x}"),
        ("$ 173 or € 150", "$173 or €150"),
        ("On May 5 , 1915 , 45,000 men", "On May 5, 1915, 45,000 men"),
        ("Moscow - a city / town & more = all", "Moscow - a city / town & more = all"),
        ("well-known re-elected", "well-known re-elected"),
        (", so it began", ", so it began"),
        ("' s", "'s"),
        ("  two   spaces ", "two spaces"),
        ("It 's done. Already.", "It's done. Already."),
    ],
)
def test_ordinary_spaces_by_hand(tokenised: str, text: str) -> None:
    assert detokenised(tokenised) == text
    assert detokenised(tokenised).replace(" ", "") == tokenised.replace(" ", "")


@needs_judgements
@pytest.mark.parametrize("name", [*PARTS, "mlqe-pe"])
def test_real_parts_are_what_the_registry_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_DATA", str(FOLDER))
    loaded = ratings(name)
    assert len(loaded) == loaded.file_rows.row_count == DATASETS[name].rows
    assert set(loaded.ids["lp"]) == set(DATASETS[name].pairs)


@needs_judgements
def test_development_references_are_in_no_training_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor in any other dataset; and the parts of a dataset are the whole of it."""
    monkeypatch.setenv("ADEQUA_DATA", str(FOLDER))
    names = (*PARTS, "wmt13-da", "wmt15-da", "wmt16-da", "wmt17-da", "wmt20-da", "mlqe-pe")
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


@needs_judgements
def test_outputs_that_were_left_alone_equal_their_post_edits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 7,350 that differ in spaces at most, all but 27 are equal; as the file has them, 689."""
    monkeypatch.setenv("ADEQUA_DATA", str(FOLDER))
    loaded = ratings("mlqe-pe")
    assert loaded.segments is not None
    texts = list(zip(loaded.segments.hypotheses, loaded.segments.references, strict=True))
    unchanged = [output == reference for output, (reference,) in texts]
    but_for_spaces = [
        "".join(output.split()) == "".join(reference.split()) for output, (reference,) in texts
    ]
    assert (sum(unchanged), sum(but_for_spaces)) == (7_323, 7_350)
    before = [row["mt"] == row["post_edit"] for row in judgement_rows("mlqe-pe") if edited(row)]
    assert (sum(before), len(before)) == (689, 45_000)
    assert loaded.judgement_counts is not None
    counts, rows = np.unique(loaded.judgement_counts, return_counts=True)
    assert dict(zip(counts.tolist(), rows.tolist(), strict=True)) == {3: 37_000, 6: 8_000}


def edited(row: dict[str, object]) -> bool:
    return str(row["lp"]).endswith("-en") and row.get("post_edit") is not None
