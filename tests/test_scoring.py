"""Scoring streams and lists: the same numbers however the segments arrive."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adequa
from adequa import AdequaError, Segments, load_metric
from adequa.scoring.results import (
    RunningScores,
    ScoredMetric,
    ScoredSystem,
    ScoringResult,
    score_stream,
)

TEXTS = ["the cat sat on the mat", "a dog", "", "it is raining again today", "yes", "no no no"]
REFERENCES = ["the cat sat on a mat", "a dog barks", "hello", "it rains again today", "yes", "no"]
METRICS = {name: load_metric(name) for name in ("bleu", "chrf", "nist", "wer", "sentbleu")}


def corpus(hypotheses: list[str], system: str) -> Segments:
    return Segments(
        tuple(hypotheses),
        tuple((reference,) for reference in REFERENCES),
        None,
        {"system": (system,) * len(hypotheses), "doc": ("d1", "d2", "d1", "d2", "d1", "d3")},
    )


@given(cuts=st.sets(st.integers(1, len(TEXTS) - 1)), interleaved=st.booleans())
def test_batches_and_their_order_do_not_matter(cuts: set[int], interleaved: bool) -> None:
    forward, backward = corpus(TEXTS, "one"), corpus(TEXTS[::-1], "two")
    edges = [0, *sorted(cuts), len(TEXTS)]
    parts = [range(start, end) for start, end in pairwise(edges)]
    batches = [[forward.select(part), backward.select(part)] for part in parts]
    stream = (
        [batch for pair in batches for batch in pair]
        if interleaved
        else [batches[i][system] for system in (0, 1) for i in range(len(parts))]
    )
    results = score_stream(stream, METRICS, keep_segments=True, by="doc")
    for view in results.metrics:
        for system, whole in zip(view.systems, (forward, backward), strict=True):
            scores = METRICS[view.name].score(whole)
            assert system.score == pytest.approx(scores.system, abs=1e-12)
            assert system.segments is not None
            np.testing.assert_allclose(system.segments, scores.segments, atol=1e-12)
            assert view.signature == scores.signature
            assert system.groups is not None
            rows = [0, 2, 4]
            expected = METRICS[view.name].system_scores(
                scores.statistics[rows].sum(axis=0, keepdims=True)
            )
            assert list(system.groups) == ["d1", "d2", "d3"]
            assert system.groups["d1"] == pytest.approx(expected[0], abs=1e-12)
    assert results.empty_hypotheses == {"one": 1, "two": 1}
    assert results.segment_counts == {"one": 6, "two": 6}


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_order_of_systems_does_not_matter(metric: str) -> None:
    one, two = corpus(TEXTS, "one"), corpus(TEXTS[::-1], "two")
    chosen = {metric: METRICS[metric]}
    found = [
        {system.name: system.score for system in score_stream(stream, chosen).metrics[0].systems}
        for stream in ([one, two], [two, one], [one], [two])
    ]
    assert found[0] == found[1] == {**found[2], **found[3]}


def test_memory_does_not_grow_with_the_stream() -> None:
    """Running sums only: ten times the segments, the same memory."""

    def peak(batches: int) -> int:
        stream = (corpus(TEXTS, "one") for _ in range(batches))
        tracemalloc.start()
        score_stream(stream, {"wer": METRICS["wer"], "sentbleu": METRICS["sentbleu"]})
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(5)  # fills the caches of the tokenizers
    assert peak(400) < peak(40) + 300_000  # garbage that waits for its collection


def test_systems_mixed_in_one_batch_are_told_apart() -> None:
    mixed = Segments(
        ("a b c d", "x", "a b c d", "y"),
        (("a b c d",),) * 4,
        None,
        {"system": ("good", "bad", "good", "bad")},
    )
    (view,) = score_stream([mixed], {"wer": load_metric("wer")}).metrics
    assert {system.name: system.score for system in view.systems} == {"good": 0, "bad": 1}


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_groups_leave_the_system_score_as_it_is(metric: str) -> None:
    hypotheses = tuple(f"the cat {number} sat on the {number % 7} mat ." for number in range(140))
    references = tuple((f"the cat {number} sat on a {number % 5} mat .",) for number in range(140))
    documents = tuple(str(number // 2) for number in range(140))
    segments = Segments(hypotheses, references, ids={"doc": documents})
    metrics = {metric: load_metric(metric)}
    alone, grouped = score_stream([segments], metrics), score_stream([segments], metrics, by="doc")
    assert grouped.system == alone.system  # to the last bit


def test_results_may_be_read_between_batches() -> None:
    metrics = {"nist": load_metric("nist"), "bleu": load_metric("bleu")}
    first = Segments(("the cat sat here",), (("the cat sat there",),))
    second = Segments(("a dog ran far away",), (("a dog ran away",),))
    running = RunningScores(metrics)
    running.add(first)
    running.results()
    running.add(second)
    assert running.results().system == score_stream([first, second], metrics).system
    assert running.results().system == running.results().system


def test_infinite_scores_are_null_in_json() -> None:
    system = ScoredSystem("a", float("inf"), np.array([float("nan"), float("inf"), 0.5]))
    signature = load_metric("bleu").signature(1)
    metric = ScoredMetric("m", signature, signature, True, 2, (system,))
    result = ScoringResult((metric,), {"a": 3}, {})
    content = json.loads(result.to_json())
    assert content == result.to_dict()
    assert content["metrics"][0]["systems"] == [
        {"name": "a", "score": None, "segments": [None, None, 0.5]}
    ]


def test_nothing_to_score() -> None:
    with pytest.raises(AdequaError, match="There is nothing to score"):
        score_stream([], METRICS)


def test_grouping_by_a_column_that_is_not_there() -> None:
    segments = Segments(("a",), (("a",),))
    with pytest.raises(AdequaError, match='no column "doc"'):
        score_stream([segments], METRICS, by="doc")


def test_reference_numbers_of_a_stream_are_signed() -> None:
    one, two = Segments(("a",), (("a",),)), Segments(("a",), (("a", "b"),))
    (view,) = score_stream([one, two], {"bleu": load_metric("bleu")}).metrics
    assert ("nrefs", "var") in view.signature.fields


def test_score_takes_any_iterable() -> None:
    scores = adequa.score((text for text in ["a b"]), np.array(["a b"]), metric="wer")
    assert scores.system == 0
    assert adequa.score(["a"], [("b", "a")], load_metric("wer")).system == 0


@pytest.mark.parametrize(
    ("hypotheses", "references", "sentence"),
    [
        ("a", ["a"], "hypotheses must be a list, not one str."),
        (["a"], "a", "references must be a list, not one str."),
        (None, ["a"], "hypotheses must be a list, not one NoneType."),
        (["a", None], ["a", "b"], r"hypotheses\[1\] must be a string, but it is of type NoneType."),
        (["a"], [["a", 3]], r"references\[0\]\[1\] must be a string, but it is of type int."),
        (
            ["a"],
            [3],
            r"references\[0\] must be a string or a list of strings, but it is of type int",
        ),
        (["a"], ["a", "b"], "hypotheses and references differ in length: 1 and 2."),
        (["a"], None, "Give references"),
        (["a", "b"], [["x", "y"], ["v", "w"]], 'layout="segments" .* or layout="streams"'),
        ({"a": 1}, ["a"], "a: hypotheses must be a list, not one int."),
        ({"a": ["x"], 2: ["y"]}, ["a"], "A system's name is a text, not 2; write it in quotes."),
        ({"a": ["x"], "b": ["y", "z"]}, ["a"], "b: hypotheses and references differ in length"),
        ({}, ["a"], "There are no systems"),
        (3, ["a"], "hypotheses must be a list, not one int."),
        (["a"], [""], "Segment 1 has an empty reference"),
        (["a"], [], "hypotheses and references differ in length: 1 and 0.$"),
        ([], [], "There are no segments for adequa to score."),
    ],
)
def test_bad_lists(hypotheses: object, references: object, sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        adequa.score(hypotheses, references)  # type: ignore[call-overload]


def test_something_else_than_a_metric() -> None:
    with pytest.raises(AdequaError, match="metric must be a metric's name or a metric, not 3."):
        adequa.score(["a"], ["a"], metric=3)  # type: ignore[call-overload]


def test_public_names() -> None:
    assert set(adequa.__all__) <= set(dir(adequa))
    for name in adequa.__all__:
        assert getattr(adequa, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = adequa.nothing
