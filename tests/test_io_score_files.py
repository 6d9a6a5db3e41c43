"""Score files: with a header, in row order, and as the WMT metrics task has them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io.score_files import ScoreFile, read_score_file


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(name: str, content: str, metric: str | None = None) -> ScoreFile:
    data = content.encode()
    Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return read_score_file(name, metric=metric)


def error(name: str, content: str, metric: str | None = None) -> str:
    with pytest.raises(AdequaError) as caught:
        read(name, content, metric)
    return str(caught.value)


def test_columns_in_any_order() -> None:
    found = read("my.tsv.gz", "score\tsegment\tLP\tsystem\n.5\t1\tcz-en\tA\n-1e-2\t2\tces-eng\tB\n")
    assert found.name == "my"
    assert found.ids == {"segment": ("1", "2"), "lp": ("cs-en", "cs-en"), "system": ("A", "B")}
    assert found.scores.tolist() == [0.5, -0.01]
    assert len(found) == 2


def test_what_rows_lack_may_be_left_out() -> None:
    assert read("a.tsv", "system\tscore\nA\t1\n").ids == {"system": ("A",)}
    assert read("a.tsv", "score\n1\n2\n").ids == {}
    found = read("a.tsv", "segment\tbetter\tworse\n1\t2\t3\n")
    assert (found.ids, found.scores.tolist()) == ({"segment": ("1",)}, [[2.0, 3.0]])


def test_row_order() -> None:
    one = read("sentbleu.txt", "1\n2.5\r\n-3\n\n")
    assert (one.name, one.ids, one.scores.tolist()) == ("sentbleu", {}, [1.0, 2.5, -3.0])
    two = read("x.gz", "1\t2\n3\t4\n")
    assert two.scores.shape == (2, 2)
    assert two.scores.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@given(st.lists(st.floats(-1e100, 1e100), min_size=1))
def test_scores_come_back_exactly(scores: list[float]) -> None:
    assert read("s.txt", "".join(f"{score!r}\n" for score in scores)).scores.tolist() == scores


SEGMENTS = "M\tcs-en\tnewstest2017\tonline-A.0\t1\t0.5\nM\tcz-en\tnewstest2017\tB\t2\t0.25\n"


def test_wmt_segments() -> None:
    found = read("x.seg.score.gz", SEGMENTS)
    assert found.name == "M"
    assert found.ids == {
        "lp": ("cs-en", "cs-en"),
        "testset": ("newstest2017",) * 2,
        "system": ("online-A.0", "B"),
        "segment": ("1", "2"),
    }
    assert found.scores.tolist() == [0.5, 0.25]
    ensemble = SEGMENTS.replace("0.5\n", "0.5\tensemble\tno\n").replace(
        "0.25\n", "0.25\tnon-ensemble\tyes\n"
    )
    assert read("x.seg.score", ensemble).scores.tolist() == [0.5, 0.25]
    referenced = read("x.seg.score", "M\tcs-en\tnewstest2021\tref-A\tB\t2\t0.25\n")
    assert referenced.ids["reference"] == ("ref-A",)
    assert referenced.ids["system"] == ("B",)


def test_newer_wmt_layouts() -> None:
    line = "M\tcs-en\tgeneraltest2023\tnews\trefA\tB\t2\t0.25\n"
    found = read("x.seg.score", line)
    assert (found.ids["domain"], found.ids["reference"]) == (("news",), ("refA",))
    assert (found.ids["system"], found.ids["segment"]) == (("B",), ("2",))
    assert found.scores.tolist() == [0.25]
    found = read("x.sys.score", "M\tcs-en\tt\tall\trefA\tB\t0.25\n")
    assert (found.ids["reference"], found.ids["system"]) == (("refA",), ("B",))


def test_layout_of_mt_metrics_eval() -> None:
    found = read("BLEU-refA.seg.score", "A\t1\nA\t2\nB\t3\nA\t4\n")
    assert found.name == "BLEU-refA"
    assert found.ids == {"system": ("A", "A", "B", "A"), "segment": ("1", "2", "1", "3")}
    assert read("BLEU.sys.score", "A\t1\nB\t3\n").ids == {"system": ("A", "B")}


def test_wmt_systems() -> None:
    for line in ("M\tde-en\tt\tA\t1.5\n", "M\tde-en\tt\tA\t1.5\tensemble\tyes\n"):
        found = read("x.sys.score", line)
        assert found.ids == {"lp": ("de-en",), "testset": ("t",), "system": ("A",)}
        assert found.scores.tolist() == [1.5]
    assert read("x.sys.score", "M\tde-en\tt\tsrc\tA\t1.5\n").ids["reference"] == ("src",)


def test_one_of_several_metrics() -> None:
    several = "M\tcs-en\tt\tA\t1\t1\nchrF\tcs-en\tt\tA\t1\t2\n"
    assert read("x.seg.score", several, "chrF").scores.tolist() == [2.0]
    assert error("x.seg.score", several) == (
        "x.seg.score holds scores of M, chrF; choose one with x.seg.score:metric=NAME."
    )
    assert error("x.seg.score", several, "chrf") == (
        'x.seg.score holds scores of M, chrF, but none of "chrf". Did you mean "chrF"?'
    )
    assert error("x.tsv", "1\n", "M") == (
        "x.tsv holds one metric, so that there is no M to choose in it."
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.txt", "", "s.txt is empty: there are no scores in it."),
        ("s.txt", "\n\n", "s.txt is empty: there are no scores in it."),
        (
            "s.txt",
            "1\nx\n",
            's.txt, line 2: there is "x" where the score should be, not a number.',
        ),
        (
            "s.txt",
            "1\n\n2\n",
            "s.txt, line 2: there is nothing where the score should be, not a number.",
        ),
        (
            "s.txt",
            "1\nnan\n",
            "s.txt, line 2: the score is nan; it must be a finite number, of at most 1e+100.",
        ),
        (
            "s.txt",
            "1\n-inf\n",
            "s.txt, line 2: the score is -inf; it must be a finite number, of at most 1e+100.",
        ),
        (
            "s.txt",
            "1\n2\t3\n",
            "s.txt, line 2 has 2 columns, not 1; with more columns than the scores, the first line "
            "must be a header.",
        ),
        (
            "s.txt",
            "A\t1\t2\n",
            "s.txt, line 1 has 3 columns, not 1, or 2 for better and worse; with more columns than "
            "the scores, the first line must be a header.",
        ),
        (
            "s.tsv",
            "lp\tscore\nde-en\t1\nde-en\n",
            "s.tsv, line 3 has 1 cell, but the first line has 2.",
        ),
        ("s.tsv", "lp\tscore\n", "s.tsv has a header and no scores."),
        ("s.tsv", "lp\tlp\tscore\n", "s.tsv has two columns of one name: lp, lp, score."),
        (
            "s.tsv",
            "lp\tbetter\nde-en\t1\n",
            's.tsv has only one of the columns "better" and "worse".',
        ),
        (
            "s.tsv",
            "system\tscore\nA\t1\nB\t1\nA\t2\n",
            "s.tsv, line 4 has another score for system A than line 2. Add the column that tells "
            "them apart, or leave the header and the ids out and give one score per line in the "
            "order of the dataset.",
        ),
        (
            "s.seg.score",
            "M\tcs-en\tt\tA\t1\n",
            "s.seg.score, line 1 has 5 cells between tabs, and no score where a file of this kind "
            "has it; the columns are metric, lp, testset, system, segment, score, or in newer "
            "years metric, lp, testset, domain, reference, system, segment, score.",
        ),
        (
            "s.seg.score",
            "M\tcs-en\tt\tA\t1\t1\nM\tcs-en\tt\tA\t2\tx\n",
            's.seg.score, line 2: there is "x" where the score should be, not a number.',
        ),
    ],
)
def test_bad_files(name: str, content: str, message: str) -> None:
    assert error(name, content) == message


def test_no_scores_and_no_header() -> None:
    assert error("s.tsv", "A sentence\tAnother\n").startswith(
        's.tsv, line 1 has neither scores nor a header with "score".'
    )
    with pytest.raises(AdequaError, match="There is no file none.tsv."):
        read_score_file("none.tsv")


def test_equal_scores_may_come_again() -> None:
    assert len(read("s.tsv", "system\tscore\nA\t1\nA\t1.0\n")) == 2
