"""Choosing among candidates: the choices of the plain double loop, and order by references."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import adequa
from adequa.cli.main import app
from adequa.errors import AdequaError
from adequa.io.candidates import read_candidates
from adequa.metrics.base import Metric
from adequa.metrics.sacrebleu_metrics import CHRF, CHRFPlusPlus
from adequa.scoring.mbr import mbr, pairwise_chrf
from adequa.scoring.rerank import rerank
from corpora import SYSTEMS, texts, write_jsonl

LISTS = [list(each) for each in zip(*map(texts, (*SYSTEMS, "reference")), strict=True)]
TEXTS = st.text(st.sampled_from("ab é.\n"), max_size=12)


def double_loop(candidates: Sequence[str], metric: Metric) -> tuple[int, list[float]]:
    """As the definition has it: every candidate against every other, one pair at a time."""
    utilities = []
    for i, candidate in enumerate(candidates):
        scores = [
            float(metric.score(adequa.Segments((candidate,), ((other,),))).segments[0])
            for j, other in enumerate(candidates)
            if j != i and other.strip()
        ]
        utilities.append(math.fsum(scores) / len(scores) if scores else math.nan)
    sign = 1 if metric.higher_is_better else -1
    spoken = [at for at, text in enumerate(candidates) if text.strip()]
    known = [at for at in spoken if not math.isnan(utilities[at])] or spoken[:1]
    return max(known, key=lambda at: (sign * utilities[at], -at), default=0), utilities


@settings(max_examples=25)
@given(st.lists(TEXTS, min_size=1, max_size=6))
@pytest.mark.parametrize(
    "metric", [CHRF(), CHRFPlusPlus(), CHRF(eps_smoothing=True, whitespace=True, lowercase=True)]
)
def test_pairwise_chrf_is_sacrebleus_to_the_last_bit(metric: CHRF, candidates: list[str]) -> None:
    found = pairwise_chrf(metric, candidates)
    scorer = metric.make_scorer(for_segments=True)
    expected = [[scorer.sentence_score(i, [j]).score for j in candidates] for i in candidates]
    assert found.tolist() == expected


def test_rows_of_pairs_at_a_time_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = ["", *LISTS[0], *LISTS[1]]
    whole = pairwise_chrf(CHRF(), candidates)
    for most in (1, 500):  # a row, or three
        monkeypatch.setattr("adequa.scoring.mbr._MAX_COUNTS", most)
        np.testing.assert_array_equal(pairwise_chrf(CHRF(), candidates), whole)
    assert pairwise_chrf(CHRF(), []).shape == (0, 0)


@settings(max_examples=25)
@given(st.lists(st.lists(TEXTS, min_size=1, max_size=6), max_size=4))
@pytest.mark.parametrize("name", ["chrf", "wer", "sentbleu"])
def test_the_choices_of_the_double_loop(name: str, lists: list[list[str]]) -> None:
    metric = adequa.load_metric(name)
    for choice, candidates in zip(mbr(lists, metric), lists, strict=True):
        index, utilities = double_loop(candidates, metric)
        assert choice.index == index
        np.testing.assert_array_equal(choice.utilities, utilities)


def test_the_trained_metric_too() -> None:
    lists = [[*LISTS[0], LISTS[0][1]], LISTS[1]]
    alone = adequa.load_metric("adequa")
    for choice, candidates in zip(mbr(lists), lists, strict=True):
        index, utilities = double_loop(candidates, alone)
        assert choice.index == index
        assert choice.utilities.tolist() == utilities


def test_repeated_candidates_count_as_often() -> None:
    (choice,) = mbr([["a dog", "the cat", "the cat", "the cat"]], "chrf")
    assert choice.index == 1
    other = sacrebleu.sentence_chrf("the cat", ["a dog"]).score
    assert choice.utility == pytest.approx((200 + other) / 3)


def test_one_candidate_and_blank_ones() -> None:
    alone, blank, lone = mbr([["a"], ["", " "], ["", "a", "b"]], "chrf")
    assert (alone.index, blank.index) == (0, 0)
    assert math.isnan(alone.utility)
    assert math.isnan(blank.utility)
    assert lone.index == 1  # all have nothing in common: the first that is not blank


@pytest.mark.parametrize(("name", "keep"), [("chrf", None), ("wer", None), ("wer", 1)])
def test_a_blank_is_never_chosen_before_a_text(name: str, keep: int | None) -> None:
    sole, twice = mbr([["", "A cat.", " "], ["", "a", "a"]], name, keep=keep, check_every=1)
    assert sole.index == 1
    assert math.isnan(sole.utility)  # there is no other text to compare it with
    assert twice.index == 1
    assert twice.utility == (100 if name == "chrf" else 0)


def test_pruning_and_what_it_costs() -> None:
    full = mbr(LISTS, "ter")
    pruned = mbr(LISTS, "ter", keep=2, check_every=1)
    assert pruned.pruning is not None
    loss = pruned.pruning.loss
    assert loss.checked == len(LISTS)
    same = [one.index == other.index for one, other in zip(full, pruned, strict=True)]
    assert 0 < sum(same) < len(LISTS)
    assert loss.same == sum(same)
    lost = [other.utility - one.utility for one, other in zip(full, pruned, strict=True)]
    assert loss.mean == pytest.approx(np.mean(lost))
    assert loss.largest == pytest.approx(max(lost))
    for choice, candidates in zip(pruned, LISTS, strict=True):
        scored = np.flatnonzero(np.isfinite(choice.utilities))
        assert len({candidates[at] for at in scored}) <= 2
    unchecked = mbr(LISTS, "ter", keep=2, check_every=0)
    assert [choice.index for choice in unchecked] == [choice.index for choice in pruned]
    kept_all = mbr(LISTS, "ter", keep=4)
    assert [choice.index for choice in kept_all] == [choice.index for choice in full]


def test_rerank_orders_by_score() -> None:
    lists = [["A dog.", "The cat sat.", "The cat."], ["b", "b"]]
    first, second = rerank(lists, [["The cat sat.", "A cat sat."], ["c"]], "ter")
    expected = [
        sacrebleu.sentence_ter(text, ["The cat sat.", "A cat sat."]).score for text in lists[0]
    ]
    assert first.scores.tolist() == expected
    assert first.order == (1, 0, 2)  # ter: lower is better, and the last two are equal
    assert second.order == (0, 1)  # equals as they came
    assert adequa.rerank is rerank
    assert adequa.mbr is mbr


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: mbr([[]], "chrf"), "has no candidates"),
        (lambda: mbr(["text"], "chrf"), r"candidates\[0\] must be a list, not one str"),
        (lambda: mbr([["a"]], "nist"), "cannot score single pairs"),
        (lambda: mbr([["a"]], "chrf", keep=0), "keep 1 candidate or more"),
        (
            lambda: rerank([["a"]], [], "chrf"),
            "candidates and references differ in length: 1 and 0",
        ),
        (lambda: rerank([[]], ["a"], "chrf"), "has no candidates"),
        (lambda: rerank([["a"]], ["a"], "nist"), "cannot score single pairs"),
    ],
)
def test_sentences(call: Any, sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        call()


def run(*words: str | Path) -> Result:
    result = CliRunner().invoke(app, list(map(str, words)))
    if isinstance(result.exception, AdequaError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def nbest(tmp_path: Path) -> Path:
    rows = [{"candidates": each[:3], "ref": each[3]} for each in LISTS]
    return write_jsonl(tmp_path / "nbest.jsonl", rows)


def test_mbr_from_the_command_line(nbest: Path, tmp_path: Path) -> None:
    shown = run("mbr", "-i", nbest, "-m", "chrf").stdout.splitlines()
    expected = mbr([each[:3] for each in LISTS], "chrf")
    for number, (line, choice) in enumerate(zip(shown, expected, strict=True)):
        assert json.loads(line) == {
            "id": number + 1,
            "mt": LISTS[number][choice.index],
            "candidate": choice.index + 1,
            "chrf": choice.utility,
        }
    run("mbr", "-i", nbest, "-m", "chrf", "--format", "text", "-o", tmp_path / "best.txt")
    best = (tmp_path / "best.txt").read_text(encoding="utf-8").splitlines()
    assert best == [LISTS[at][choice.index] for at, choice in enumerate(expected)]


def test_pruning_from_the_command_line(nbest: Path) -> None:
    shown = run("mbr", "-i", nbest, "-m", "ter", "--keep", "1", "--check-every", "2")
    assert "scored 1 candidate per sentence; checked on 18 sentences: " in shown.stderr
    assert "the loss was not checked" in run(
        "mbr", "-i", nbest, "-m", "ter", "--keep", "1", "--check-every", "0"
    ).stderr  # fmt: skip


def test_rerank_from_the_command_line(nbest: Path) -> None:
    from_file = run("rerank", "-i", nbest, "-m", "chrf").stdout
    references = Path(__file__).parent.parent / "examples" / "reference.txt"
    assert run("rerank", "-i", nbest, "-r", references, "-m", "chrf").stdout == from_file
    first = json.loads(from_file.splitlines()[0])
    scores = [each["chrf"] for each in first["candidates"]]
    assert scores == sorted(scores, reverse=True)
    best = run("rerank", "-i", nbest, "-m", "chrf", "--format", "text").stdout.splitlines()
    assert best[0] == first["candidates"][0]["mt"]


@pytest.mark.parametrize("verb", ["mbr", "rerank"])
def test_every_format_by_the_ending_of_the_file(verb: str, nbest: Path, tmp_path: Path) -> None:
    words = (verb, "-i", nbest, "-m", "chrf")
    run(*words, "-o", tmp_path / "best.jsonl")
    run(*words, "-o", tmp_path / "best")
    piped = run(*words).stdout
    assert (tmp_path / "best.jsonl").read_text(encoding="utf-8") == piped
    assert (tmp_path / "best").read_text(encoding="utf-8") == piped
    run(*words, "-o", tmp_path / "best.json")
    content = json.loads((tmp_path / "best.json").read_text(encoding="utf-8"))
    assert list(content) == ["metric", "signature", "language", "sentences"]
    assert content["sentences"] == [json.loads(line) for line in piped.splitlines()]
    run(*words, "-o", tmp_path / "best.tsv")
    header, first, *_ = (tmp_path / "best.tsv").read_text(encoding="utf-8").splitlines()
    row = dict(zip(header.split("\t"), first.split("\t"), strict=True))
    best = content["sentences"][0]
    best = best if verb == "mbr" else best["candidates"][0]
    assert (row["mt"], float(row["chrf"])) == (best["mt"], best["chrf"])
    for ending in ("md", "tex", "html", "csv"):
        run(*words, "-o", tmp_path / f"best.{ending}")
        assert "chrf" in (tmp_path / f"best.{ending}").read_text(encoding="utf-8")
    with pytest.raises(AdequaError, match=r"one of \.jsonl, \.txt, \.tsv"):
        run(*words, "-o", tmp_path / "best.docx")


def test_a_table_on_a_terminal(nbest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adequa.cli.choosing.on_terminal", lambda: True)
    header, first, *_ = run("mbr", "-i", nbest, "-m", "chrf").stdout.splitlines()
    assert header.split() == ["id", "candidate", "chrf", "↑", "mt"]
    choice = mbr([LISTS[0][:3]], "chrf")[0]
    expected = ["1", str(choice.index + 1), f"{choice.utility:.2f}", *choice.best.split()]
    assert first.split() == expected


def test_results_are_sequences_that_read_well() -> None:
    choices = mbr([["a b", "a c", "a"]] * 2, "chrf")
    assert len(choices) == 2
    assert choices[0].best == choices[1:][0].best
    assert str(choices).startswith("id  candidate  chrf ↑  mt\n")
    ranked = rerank([["a", "a b"]], ["a b"], "ter")
    assert repr(ranked).splitlines()[1].split() == ["1", "1", "2", "0.00", "a", "b"]
    assert ranked.signature.startswith("ter|nrefs:1|")


@pytest.mark.parametrize("verb", ["mbr", "rerank"])
def test_lines_of_text_end_where_those_that_are_read_do(tmp_path: Path, verb: str) -> None:
    lists = [{"candidates": [text], "ref": "a"} for text in ("a\u2028b\x85c\x0b", "a\r\nb\rc\n")]
    words = (verb, "-i", write_jsonl(tmp_path / "a.jsonl", lists), "-m", "chrf", "--format", "text")
    assert run(*words).stdout == "a\u2028b\x85c\x0b\na b c\n"


def test_one_candidate_a_line(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "s1", "mt": "a", "ref": "r"}, {"id": "s1", "mt": "b"}, {"id": 2, "mt": "c"},
    ]  # fmt: skip
    found = list(read_candidates(write_jsonl(tmp_path / "a.jsonl", rows)))
    assert [(each.id, each.candidates, each.references) for each in found] == [
        ("s1", ("a", "b"), ("r",)),
        (2, ("c",), ()),
    ]


def test_what_is_not_needed_may_be_anything(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"candidates": ["a", "a b"], "ref": "", "id": None}]
    rows += [{"candidates": ["c"], "ref": [1]}]
    lists = write_jsonl(tmp_path / "a.jsonl", rows)
    (tmp_path / "ref.txt").write_text("a b\nc\n")
    against_files = ("rerank", "-i", lists, "-m", "chrf", "-r", tmp_path / "ref.txt")
    for words in (("mbr", "-i", lists, "-m", "chrf"), against_files):
        shown = run(*words).stdout.splitlines()
        assert [json.loads(line)["id"] for line in shown] == [1, 2]
    lines = [{"id": 1, "mt": "a", "ref": "x"}, {"id": 1, "mt": "b", "ref": "y"}]
    assert run("mbr", "-i", write_jsonl(tmp_path / "b.jsonl", lines), "-m", "chrf").stdout


def test_references_may_come_again_in_another_order(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 1, "mt": "a", "ref": ["r", "s"]}, {"id": 1, "mt": "b", "ref": ["s", "r"]},
    ]  # fmt: skip
    (found,) = read_candidates(write_jsonl(tmp_path / "a.jsonl", rows))
    assert found.references == ("r", "s")


def test_true_is_not_one(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": 1, "mt": "a"}, {"id": True, "mt": "b"}]
    found = list(read_candidates(write_jsonl(tmp_path / "a.jsonl", rows)))
    assert [each.candidates for each in found] == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "is empty: there are no candidates in it"),
        ([{"mt": "a"}], 'line 1 has neither a list of "candidates" nor'),
        ([{"candidates": "a"}], 'line 1: "candidates" must be a list of texts'),
        ([{"candidates": ["a", None]}], "line 1: candidate 2 is no text"),
        ([{"candidates": ["a"], "ref": " "}], 'line 1: "ref" is no text'),
        ([{"id": 1, "mt": "a", "ref": "r"}, {"id": 1, "mt": 2}], 'line 2: "mt" is no text'),
        ([{"id": 1, "mt": "a", "ref": "r"}, {"mt": "b"}], 'line 2 has no "id"'),
        (
            [{"id": at, "mt": "a", "ref": "r"} for at in (1, 2, 1)],
            'line 3: the lines of sentence "1" do not follow each other',
        ),
        ([{"id": None, "mt": "a", "ref": "r"}], 'line 1 has no "id"'),
        (
            [{"id": 1, "mt": "a", "ref": "r"}, {"id": 1, "mt": "b", "ref": "s"}],
            'line 2: "ref" is another than before for the same sentence, "1"',
        ),
        ([{"candidates": ["a", "\ud800"], "ref": "r"}], r"line 1: candidate 2 holds half a char"),
        ([{"id": 1, "mt": "\ud800", "ref": "r"}], r'line 1: "mt" holds half a character'),
        ([{"id": "\ud800", "mt": "a", "ref": "r"}], r'line 1: "id" holds half a character'),
        ([{"candidates": ["a"], "ref": "\ud800"}], r'line 1: "ref" holds half a character'),
        ([{"candidates": ["a"]}], 'line 1 has no "ref"'),
    ],
)
def test_bad_lists(tmp_path: Path, rows: list[dict[str, Any]], sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        run("rerank", "-i", write_jsonl(tmp_path / "a.jsonl", rows), "-m", "chrf")


def test_references_of_another_length(tmp_path: Path, nbest: Path) -> None:
    (tmp_path / "ref.txt").write_text("one\ntwo\n")
    with pytest.raises(AdequaError, match="sentence 3 has not: the files are of different lengths"):
        run("rerank", "-i", nbest, "-r", tmp_path / "ref.txt", "-m", "chrf")
    (tmp_path / "ref.txt").write_text("one\n \n")
    with pytest.raises(AdequaError, match=r"ref\.txt, line 2: the reference is empty"):
        run("rerank", "-i", nbest, "-r", tmp_path / "ref.txt", "-m", "chrf")


def test_aliases_in_lists_of_candidates(tmp_path: Path) -> None:
    rows = [{"id": 1, "translation": "a", "reference": "r"}, {"id": 1, "translation": "b"}]
    (candidates,) = read_candidates(write_jsonl(tmp_path / "a.jsonl", rows))
    assert (candidates.candidates, candidates.references) == (("a", "b"), ("r",))
