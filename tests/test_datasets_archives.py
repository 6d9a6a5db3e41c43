"""Official archives and sets of systems: their layouts, in small archives made here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adequa.datasets import download
from adequa.datasets.load import load_dataset
from adequa.datasets.registry import DATASETS, Dataset
from adequa.errors import AdequaError
from adequa.io.rankings import preferences_from_rankings
from adequa.judgements import Preferences, RatedSystems, Ratings
from small_archives import error, four_files, known, tar_of, zip_of


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No mirror, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADEQUA_DATA", raising=False)
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))


def in_cache(entry: Dataset, *contents: bytes) -> None:
    folder = Path("cache/datasets") / entry.name
    folder.mkdir(parents=True)
    for address, content in zip(entry.archives, contents, strict=True):
        (folder / download.archive_name(address)).write_bytes(content)


def test_files_of_unequal_length(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = known(monkeypatch, replace(DATASETS["wmt15-da"], pairs=("cs-en",)))
    in_cache(entry, tar_of(four_files("cs-en", scores="1\n")))
    assert error(load_dataset, "wmt15-da").endswith(
        "does not hold four files of one length for cs-en."
    )


SUBMITTED = {
    "x/txt/references/newstest2017-csen-ref.en": "r1\nNO REFERENCE AVAILABLE\n",
    "x/txt/sources/newstest2017-csen-src.cs": "s1\ns2\n",
    "x/txt/system-outputs/newstest2017/cs-en/newstest2017.online-A.0.cs-en": "a1\na2\n",
    "x/txt/system-outputs/newstest2017/cs-en/newstest2017.B.4760.cs-en": "b1\nb2\n",
    "x/txt/system-outputs/newstest2017/en-cs/newstest2017.C.1.en-cs": "c1\n",
}


def test_segment_scores_of_2017() -> None:
    scores = (
        "LP DATA SYSTEM SID HUMAN\n"
        "cs-en newstest2017 online-A.0+B.4760 1 0.5\n"
        "cs-en newstest2017 B.4760 2 -0.5\n"
        "cs-en newstest2017 nobody 1 1\n"
        "en-cs newstest2017 C.1 1 1\n"
    )
    package: dict[str, str | bytes] = {
        "./manual-evaluation/DA-seglevel.csv": scores,
        "./input/wmt17-metrics-task-no-hybrids.tgz": tar_of(SUBMITTED),
    }
    in_cache(DATASETS["wmt17-da"], tar_of(package))
    found = load_dataset("wmt17-da")
    assert isinstance(found, Ratings)
    assert found.ids == {"lp": ("cs-en",), "system": ("online-A.0+B.4760",), "segment": ("1",)}
    assert found.segments is not None
    assert found.segments.hypotheses == ("a1",)
    assert found.segments.sources == ("s1",)
    assert found.file_rows.unused == {"no reference text, which other rows have": 2}


def test_rankings_of_2013() -> None:
    header = "srclang,trglang,srcIndex,judgeId,system1Id,system2Id,system1rank,system2rank\n"
    rows = (
        "Czech,English,2,j,newstest2013.cs-en.JHU.29,newstest2013.cs-en.B,1,2\n"
        "Czech,English,1,j,newstest2013.cs-en.JHU.29,newstest2013.cs-en.B,3,3\n"
        "English,Czech,1,j,newstest2013.en-cs.JHU.1,newstest2013.en-cs.B,1,2\n"
        "Czech,English,1\n"
    )
    texts = {
        "wmt13-data/plain/references/newstest2013-ref.en": "r1\nr2\n",
        "wmt13-data/plain/sources/newstest2013-src.cs": "s1\ns2\n",
        "wmt13-data/plain/system-outputs/newstest2013/cs-en/newstest2013.cs-en.JHU.29": "a1\na2\n",
        "wmt13-data/plain/system-outputs/newstest2013/cs-en/newstest2013.cs-en.B": "b1\nb2\n",
    }
    judged = tar_of({"wmt13-manual-evaluation/wmt13-judgments.csv": header + rows})
    in_cache(DATASETS["wmt13-rr"], judged, tar_of(texts))
    found = load_dataset("wmt13-rr")
    assert isinstance(found, Preferences)
    assert found.better is not None
    assert found.worse is not None
    assert (found.better.hypotheses, found.worse.hypotheses) == (("a2",), ("b2",))
    assert found.better.sources == ("s2",)
    key = ("cs-en", "newstest2013.cs-en.B", "newstest2013.cs-en.JHU.29")
    assert found.ties == {key: 1}
    assert found.file_rows.unused == {"ranking with too few or too many cells": 1}


@pytest.mark.parametrize("cell", ["a\rb", '"' + "a" * 200_000])
def test_rankings_that_are_no_csv(cell: str) -> None:
    header = "srclang,trglang,srcIndex,system1Id,system2Id,system1rank,system2rank"
    with pytest.raises(AdequaError, match=r"^r.csv, line [23]: a cell holds a carriage return, or"):
        preferences_from_rankings("r.csv", [header, "cs,en,1,a,b,1,2", f"cs,en,2,{cell},b,1,2"])


def test_rankings_of_2016_lie_in_several_files() -> None:
    header = "srclang,trglang,srcIndex,system1Id,system1rank,system2Id,system2rank,rankingID"
    line = "{},eng,1,newstest2016.A.1.{}-en,2,newstest2016.B.2.{}-en,1,7"
    files = {
        f"data/wmt16.{code}-eng.csv": f"{header}\n{line.format(code, pair, pair)}\n"
        for code, pair in (("cze", "cs"), ("deu", "de"))
    }
    files["data/wmt16.all.csv"] = "".join(files.values())
    texts = {}
    for pair in ("cs", "de"):
        texts[f"d/txt/references/newstest2016-{pair}en-ref.en"] = f"{pair} r\n"
        folder = f"d/txt/system-outputs/newstest2016/{pair}-en"
        texts[f"{folder}/newstest2016.A.1.{pair}-en"] = f"{pair} a\n"
        texts[f"{folder}/newstest2016.B.2.{pair}-en"] = f"{pair} b\n"
    in_cache(DATASETS["wmt16-rr"], zip_of(files), tar_of(texts))
    found = load_dataset("wmt16-rr")
    assert isinstance(found, Preferences)
    assert found.ids["lp"] == ("cs-en", "de-en")
    assert found.ids["ranking"] == ("7", "7")
    assert found.better is not None
    assert found.better.hypotheses == ("cs b", "de b")
    assert found.better.sources is None


def test_archives_of_rankings_that_hold_none() -> None:
    in_cache(DATASETS["wmt16-rr"], zip_of({"README": ""}), tar_of({}))
    assert error(load_dataset, "wmt16-rr").endswith("holds no CSV file of rankings.")


def test_sick() -> None:
    text = (
        "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set\n"
        "1\tA dog runs\tA dog is running\tENTAILMENT\t4.9\tTEST\n"
        "2\tA cat\tA hat\tNEUTRAL\t1.5\tTRAIN\n"
    )
    in_cache(DATASETS["sick"], zip_of({"SICK.txt": text, "readme.txt": ""}))
    found = load_dataset("sick")
    assert isinstance(found, Ratings)
    assert found.ids["split"] == ("train", "test")
    assert found.ids["label"] == ("NEUTRAL", "ENTAILMENT")
    assert found.scores.tolist() == [1.5, 4.9]


def test_sts_benchmark() -> None:
    line = "main-captions\tMSRvid\t2012test\t0001\t5.000\tA plane.\tAn air plane.\n"
    parts = {f"stsbenchmark/sts-{split}.csv": line for split in ("train", "dev", "test")}
    in_cache(DATASETS["stsb"], tar_of(parts))
    found = load_dataset("stsb")
    assert isinstance(found, Ratings)
    assert found.ids["split"] == ("train", "dev", "test")
    assert found.ids["genre"] == ("main-captions",) * 3
    assert found.segments is not None
    assert found.segments.references[0] == ("An air plane.",)


@pytest.mark.parametrize(
    ("name", "content", "ending"),
    [
        ("sick", zip_of({"x": ""}), "SICK.zip has no SICK.txt in it."),
        ("sick", zip_of({"SICK.txt": "a\tb\n"}), "relatedness_score, entailment_label."),
        ("stsb", tar_of({"sts-train.csv": "a\tb\n"}), "sts-train.csv has a line of 2 cells."),
        ("stsb", b"", "cut short, or none at all."),
        (
            "wmt17-da",
            tar_of({"DA-seglevel.csv": "header\ncs-en x\n"}),
            "DA-seglevel.csv has a line of 2 cells, not 5.",
        ),
    ],
    ids=["no member", "zip columns", "tar columns", "empty", "csv columns"],
)
def test_other_layouts_are_refused(name: str, content: bytes, ending: str) -> None:
    in_cache(DATASETS[name], content)
    assert error(load_dataset, name).endswith(ending)


def test_rated_systems() -> None:
    human = "lp\tsystem\tscore\ncs-en\tA.1\t0.5\ncs-en\tB\tnan\n"
    members = {
        "set/human.tsv": human,
        "set/cs-en/A.1.txt": "a1\na2\n",
        "set/cs-en/reference.txt": "r1\nr2\n",
        "set/cs-en/source.txt": "s1\ns2\n",
    }
    Path("own.tar.gz").write_bytes(tar_of(members))
    found = load_dataset("own.tar.gz")
    assert isinstance(found, RatedSystems)
    assert found.ratings.ids == {"lp": ("cs-en",), "system": ("A.1",)}
    assert found.ratings.file_rows.unused == {"score is NaN or infinite": 1}
    assert found.outputs is not None
    assert found.outputs.ids == {
        "lp": ("cs-en",) * 2,
        "system": ("A.1",) * 2,
        "segment": ("1", "2"),
    }
    assert found.outputs.sources == ("s1", "s2")


HUMAN = "lp\tsystem\tscore\ncs-en\tA\t1\n"


@pytest.mark.parametrize(
    ("members", "ending"),
    [
        ({"x": b""}, "has no human.tsv with the human scores of the systems."),
        ({"human.tsv": b""}, "human.tsv needs the columns lp, system and score."),
        (
            {"human.tsv": b"lp\tsystem\tscore\ncs-en\tA\n"},
            "human.tsv, line 2 has 2 cells, but the header names 3.",
        ),
        (
            {"human.tsv": HUMAN.encode(), "cs-en/reference.txt": b"r\n"},
            'There is no output of system "A" for cs-en.',
        ),
        ({"human.tsv": b"lp\xff"}, "human.tsv, line 1 is not UTF-8."),
    ],
)
def test_bad_sets_of_systems(members: dict[str, bytes], ending: str) -> None:
    Path("own.tgz").write_bytes(tar_of(members))
    assert error(load_dataset, "own.tgz").endswith(ending)


def test_bad_archives() -> None:
    assert error(load_dataset, "none.tar.xz") == "There is no file none.tar.xz."
    Path("bad.tar.gz").write_bytes(b"no archive")
    assert error(load_dataset, "bad.tar.gz").startswith("bad.tar.gz is not a whole archive: ")
    Path("cut.tgz").write_bytes(tar_of({"human.tsv": "x" * 9999})[:-20])
    assert error(load_dataset, "cut.tgz").startswith("cut.tgz is not a whole archive: ")
