"""WMT rankings: five systems a line, or two, with ties, turned into preferences."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io.judgements import read_judgements
from adequa.io.rankings import read_wmt_rankings
from adequa.judgements import Preferences

FIVE = (
    "srclang,trglang,srcIndex,documentId,segmentId,judgeId,"
    + ",".join(f"system{number}Number,system{number}Id" for number in range(1, 6))
    + ","
    + ",".join(f"system{number}rank" for number in range(1, 6))
)
TWO = (
    "srclang,trglang,srcIndex,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,"
    "rankingID"
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def five(systems: str, ranks: list[int], segment: int = 3, pair: str = "Czech,English") -> str:
    names = ",".join(f"-1,{name}" for name in systems)
    return f"{pair},{segment},-1,{segment},judge1,{names},{','.join(map(str, ranks))}"


def read(*lines: str, outputs: str | None = None) -> Preferences:
    Path("r.csv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return read_wmt_rankings("r.csv", outputs=outputs)


def pairs(found: Preferences) -> list[tuple[str, str]]:
    return list(zip(found.ids["better_system"], found.ids["worse_system"], strict=True))


def test_a_ranking_of_five() -> None:
    found = read(FIVE, five("abcde", [2, 1, 2, -1, 5]))
    assert pairs(found) == [("b", "a"), ("a", "e"), ("b", "c"), ("b", "e"), ("c", "e")]
    assert found.ties == {("cs-en", "a", "c"): 1}
    assert found.ids["lp"] == ("cs-en",) * 5
    assert found.ids["segment"] == ("3",) * 5
    assert found.ids["judge"] == ("judge1",) * 5
    assert found.ids["ranking"] == ("1",) * 5
    assert found.file_rows.unused == {}


@given(st.lists(st.lists(st.sampled_from([-1, 1, 2, 3, 4, 5]), min_size=5, max_size=5), min_size=1))
def test_every_two_ranked_systems_count_once(rankings: list[list[int]]) -> None:
    better: Counter[tuple[str, str]] = Counter()
    ties: Counter[tuple[str, str, str]] = Counter()
    for ranks in rankings:
        for (one, first), (other, second) in combinations(zip("abcde", ranks, strict=True), 2):
            if first > 0 and second > 0:
                if first == second:
                    ties["cs-en", one, other] += 1
                else:
                    better[(one, other) if first < second else (other, one)] += 1
    lines = [five("abcde", ranks) for ranks in rankings]
    if not better:
        with pytest.raises(AdequaError, match="r.csv holds no preference"):
            read(FIVE, *lines)
        return
    found = read(FIVE, *lines)
    assert Counter(pairs(found)) == better
    assert found.ties == ties
    empty = sum(sum(rank > 0 for rank in ranks) < 2 for ranks in rankings)
    assert found.file_rows.unused.get("fewer than two systems ranked", 0) == empty


def test_pairs_of_2016() -> None:
    found = read(
        TWO,
        "cze,eng,779,779,judge1,newstest2016.uedin-nmt.4361.cs-en,5,newstest2016.online-A.0.cs-en,3,9",
        'deu,eng,1,1,judge2,"newstest2016.A.de-en.txt,newstest2016.B.de-en.txt",1,C,1,10',
    )
    assert found.ids == {
        "lp": ("cs-en",),
        "segment": ("779",),
        "judge": ("judge1",),
        "ranking": ("9",),
        "better_system": ("newstest2016.online-A.0.cs-en",),
        "worse_system": ("newstest2016.uedin-nmt.4361.cs-en",),
    }
    assert found.ties == {("de-en", "C", "newstest2016.A.de-en+newstest2016.B.de-en"): 1}


def test_reached_by_the_suffix() -> None:
    read(FIVE, five("abcde", [1, 2, 3, 4, 5]))
    found = read_judgements("r.csv")
    assert isinstance(found, Preferences)
    assert len(found) == 10


def test_bad_rows_are_counted() -> None:
    found = read(
        FIVE,
        five("abcde", [1, 2, -1, -1, -1]),
        five("abcde", [1, -1, -1, -1, -1]),
        five("abcde", [1, 2, 3, 4, 5]) + ",more",
        five("abcde", [1, 2, 3, 4, 5]).replace(",1,2,3,4,5", ",1,b,3,4,5"),
        five("abcde", [1, 2, 3, 4, 5], pair=",English"),
    )
    assert len(found) == 1
    assert found.file_rows.unused == {
        "fewer than two systems ranked": 1,
        "ranking with too few or too many cells": 1,
        "rank is not a whole number": 1,
        "ranking without language or segment": 1,
    }


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [],
            "r.csv does not begin with the header of WMT rankings: srclang, trglang, srcIndex, "
            "system1Id, system1rank, system2Id, system2rank lacking.",
        ),
        (
            ["srclang,trglang,segmentId,system1Id,system1rank,system2Id"],
            "r.csv does not begin with the header of WMT rankings: "
            "system1Id, system1rank, system2Id, system2rank lacking.",
        ),
        ([FIVE, five("abcde", [1, 1, 1, 1, 1])], "r.csv holds no preference: there are only ties."),
        ([FIVE, "x"], "r.csv holds no preference: ranking with too few or too many cells (1)."),
    ],
)
def test_bad_files(lines: list[str], message: str) -> None:
    with pytest.raises(AdequaError) as caught:
        read(*lines)
    assert str(caught.value) == message


def write_outputs(**texts: str) -> None:
    for name, text in texts.items():
        path = Path("out", "cs-en", f"{name}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_texts_come_from_a_folder_of_outputs() -> None:
    write_outputs(reference="r1\nr2\n\n", source="s1\ns2\ns3\n", A="a1\na2\na3\n")
    Path("out/cs-en/newstest2016.B.7.cs-en.txt").write_text("b1\nb2\nb3\n", encoding="utf-8")
    found = read(
        TWO,
        "cze,eng,2,2,j,newstest2016.A.cs-en,2,B.7,1,1",
        "cze,eng,2,2,j,A+X,2,newstest2016.B.7.cs-en,1,2",
        "cze,eng,1,1,j,A,1,ref,2,3",
        "cze,eng,1,1,j,ref,1,A,2,4",
        "cze,eng,4,4,j,A,1,B.7,2,5",
        "cze,eng,3,3,j,A,1,B.7,2,6",
        "deu,eng,1,1,j,A,1,B,2,7",
        outputs="out",
    )
    assert found.better is not None
    assert found.worse is not None
    assert found.better.hypotheses == ("b2", "b2")
    assert found.worse.hypotheses == ("a2", "a2")
    assert found.better.references == found.worse.references == (("r2",), ("r2",))
    assert found.better.sources == ("s2", "s2")
    assert found.file_rows.rows.tolist() == [0, 1]
    assert found.file_rows.row_count == 7
    assert found.file_rows.unused == {
        "no output of the better system": 3,
        "no output of the worse system": 1,
        "no reference text": 1,
    }


def test_bad_outputs() -> None:
    line = "cze,eng,1,1,j,A,1,B,2,1"
    with pytest.raises(AdequaError, match="There is no folder out with outputs of systems."):
        read(TWO, line, outputs="out")
    write_outputs(A="a\n")
    with pytest.raises(AdequaError, match="for cs-en lack the file cs-en/reference.txt."):
        read(TWO, line, outputs="out")
    write_outputs(reference="r\nr\n")
    with pytest.raises(AdequaError, match="cs-en/A.txt has 1 line, but cs-en/reference.txt has 2."):
        read(TWO, line, outputs="out")
