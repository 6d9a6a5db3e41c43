"""WER, PER, CDER and CharacTER: other implementations' values, hand-worked cases, brute force."""

from __future__ import annotations

import heapq
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.metrics import edit_rates
from adequa.metrics.edit_rates import (
    CDER,
    PER,
    WER,
    CharacTER,
    ErrorRate,
    character_rate,
    cover_disjoint_distance,
)
from adequa.segments import Segments

SENTENCE = st.text("abcd", max_size=7)
REFERENCE = st.text("abcd", min_size=1, max_size=7)

PAIRS = (
    (
        "The committee approved the new budget on Tuesday.",
        "The committee passed the new budget on Tuesday.",
    ),
    (
        "Prices rose by 3.5% in May, the bank said.",
        "The bank said that prices had risen by 3.5% in May.",
    ),
    ("and clover needs bees, Bees need clover", "Bees need clover and clover needs bees"),
    ("old the man sailed the boat the harbour to", "the old man sailed the boat to the harbour"),
    (
        "saudis this week the information denied published",
        "saudi arabia denied this week information published",
    ),
)
SEGMENTS = Segments(tuple(h for h, _ in PAIRS), tuple((r,) for _, r in PAIRS))


def score(metric: ErrorRate | CharacTER, hypothesis: str, *references: str) -> float:
    return metric.score(Segments((hypothesis,), (references,))).system


# WER


def test_wer_equals_jiwer() -> None:
    """jiwer 4.0.0, words split at white space."""
    scores = WER(tokenize="none").score(SEGMENTS)
    jiwer = [0.125, 1.0, 1.0, 0.4444444444444444, 0.7142857142857143]
    np.testing.assert_allclose(scores.segments, jiwer)
    assert scores.system == pytest.approx(0.6666666666666666)


@settings(max_examples=200)
@given(hypothesis=SENTENCE, reference=REFERENCE)
def test_wer_equals_the_definition(hypothesis: str, reference: str) -> None:
    row = list(range(len(reference) + 1))
    for i, word in enumerate(hypothesis, 1):
        above, row = row, [i]
        for j, other in enumerate(reference, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (word != other)))
    expected = row[-1] / len(reference)
    assert score(WER(), " ".join(hypothesis), " ".join(reference)) == pytest.approx(expected)


# PER


def test_per_worked_by_hand() -> None:
    assert score(PER(), "b a d x", "a b c") == pytest.approx(2 / 3)  # 4 words, 2 matches
    assert score(PER(), "the the the", "the cat sat on") == pytest.approx(3 / 4)
    assert score(PER(), "a b", "a b a b") == pytest.approx(2 / 4)


@settings(max_examples=100)
@given(hypothesis=st.text("abc", max_size=5), reference=st.text("abc", min_size=1, max_size=5))
def test_per_is_the_wer_of_the_best_order_of_words(hypothesis: str, reference: str) -> None:
    orders = map(list, permutations(hypothesis))
    best = min(WER.edits(order, list(reference)) for order in orders)
    assert PER.edits(list(hypothesis), list(reference)) == best


# CDER


def dijkstra(hypothesis: str, reference: str) -> int:
    """The paper's graph, edge by edge: nodes (i, j), hypothesis words i, reference words j."""
    end = (len(hypothesis), len(reference))
    queue = [(0, (0, 0))]
    done = set()
    while True:
        cost, (i, j) = heapq.heappop(queue)
        if (i, j) == end:
            return cost
        if (i, j) in done:
            continue
        done.add((i, j))
        for jump in range(len(hypothesis) + 1):  # a long jump; one word on, it is a deletion
            heapq.heappush(queue, (cost + 1, (jump, j)))
        if j < len(reference):
            heapq.heappush(queue, (cost + 1, (i, j + 1)))
            if i < len(hypothesis):
                differ = hypothesis[i] != reference[j]
                heapq.heappush(queue, (cost + differ, (i + 1, j + 1)))


@settings(max_examples=300)
@given(hypothesis=SENTENCE, reference=REFERENCE)
def test_cder_is_the_cheapest_path(hypothesis: str, reference: str) -> None:
    measured = cover_disjoint_distance(list(hypothesis), list(reference))
    assert measured == dijkstra(hypothesis, reference)


@settings(max_examples=100)
@given(hypothesis=SENTENCE, reference=REFERENCE)
def test_cder_is_at_most_wer(hypothesis: str, reference: str) -> None:
    pair = list(hypothesis), list(reference)
    assert CDER.edits(*pair) <= WER.edits(*pair)


def test_cder_covers_the_reference_and_not_the_hypothesis() -> None:
    """Any number of surplus hypothesis words costs one jump; missing ones cost one each."""
    assert CDER.edits(list("abxxxxx"), list("ab")) == 1
    assert CDER.edits(list("ab"), list("abxxxxx")) == 5
    assert CDER.edits(list("ab"), list("ababab")) == 2  # read again, by two jumps


def test_cder_block_movement_worked_by_hand() -> None:
    """Jump to "the cat", on to its end, jump back to "on", on to "mat", jump to the end: 3 of 6."""
    assert score(CDER(), "on the mat the cat sat", "the cat sat on the mat") == pytest.approx(1 / 2)


# Word error rates together


@pytest.mark.parametrize("metric", [WER(), PER(), CDER()])
def test_several_references(metric: ErrorRate) -> None:
    """Edits to the nearest reference (1), over the average length ((4 + 2) / 2)."""
    assert score(metric, "a b c x", "a b c d", "y z") == pytest.approx(1 / 3)


@pytest.mark.parametrize("metric", [WER(), PER(), CDER()])
def test_the_system_score_weighs_segments_by_their_length(metric: ErrorRate) -> None:
    scores = metric.score(Segments(("x", "a b c"), (("a",), ("a b c",))))
    assert scores.segments.tolist() == [1, 0]
    assert scores.system == pytest.approx(1 / 4)


@pytest.mark.parametrize("metric", [WER(), PER(), CDER()])
def test_nothing_on_either_side(metric: ErrorRate) -> None:
    """The tokenizer 13a leaves nothing of "<skipped>"."""
    segments = Segments(("", "", "a b"), (("a b",), ("<skipped>",), ("<skipped>",)))
    assert metric.score(segments).segments.tolist() == [1, 0, 1]


@pytest.mark.parametrize("kind", [WER, PER, CDER])
def test_settings_of_the_word_error_rates(kind: type[ErrorRate]) -> None:
    assert score(kind(), "The mat.", "the mat .") == pytest.approx(1 / 3)
    assert score(kind(lowercase=True), "The mat.", "the mat .") == 0
    assert score(kind(tokenize="char", lowercase=True), "ab c", "ABD") == pytest.approx(1 / 3)
    with pytest.raises(AdequaError, match='Did you mean "intl"?'):
        kind(tokenize="intel")
    with pytest.raises(AdequaError, match='"spm" is not a value of tokenize'):
        kind(tokenize="spm")


# CharacTER


def test_character_equals_its_reference_implementation() -> None:
    """PyPI cer 1.2.0, the packaged form of the authors' script."""
    cer = [
        0.10204081632653061,
        0.8730158730158729,
        0.14743589743589744,
        0.2619047619047619,
        0.46938775510204084,
    ]
    scores = CharacTER().score(SEGMENTS)
    np.testing.assert_allclose(scores.segments, cer, rtol=1e-12)
    assert scores.system == pytest.approx(np.mean(cer))


def test_character_worked_by_hand() -> None:
    """Moving "the cat sat" costs 9 characters / 3 words = 3, over 28 hypothesis characters."""
    measured = score(CharacTER(), "the cat sat quietly on a mat", "quietly the cat sat on a mat")
    assert measured == pytest.approx(3 / 28)


def test_character_may_exceed_one_and_an_empty_hypothesis_scores_one() -> None:
    """As the authors' script has it; the package cer cuts scores at 1."""
    assert score(CharacTER(), "x", "a much longer one") == 17
    assert score(CharacTER(), "", "a much longer one") == 1
    assert score(CharacTER(), " ", "a") == 1


def brute_force(hypothesis: str, reference: str) -> float:
    """Shift by shift on lists of words, every candidate built and measured, nothing skipped."""
    original, goal, words = list(hypothesis), list(reference), list(hypothesis)
    while options := shifts(words, goal):
        edits = min(count for count, _ in options)
        if edits >= WER.edits(words, goal):
            break
        words = max(option for count, option in options if count == edits)
    cost, i = 0.0, 0
    while i < len(original):
        later = [j for j in range(i + 1, len(words)) if words[j] == original[i]]
        length = 1
        if words[i] != original[i] and later:
            while original[i : i + length + 1] == words[later[0] : later[0] + length + 1] and (
                later[0] + length < len(words)
            ):
                length += 1
            cost += 1  # every word here is one character long
        i += length
    shifted, target = " ".join(words), " ".join(goal)
    return (WER.edits(list(shifted), list(target)) + cost) / len(shifted)


def shifts(words: list[str], goal: list[str]) -> list[tuple[int, list[str]]]:
    made = []
    for i in range(len(words)):
        for j in range(len(goal)):
            length = 0
            while words[i + length : i + length + 1] == goal[j + length : j + length + 1] != []:
                length += 1
            if i != j and length:
                rest = words[:i] + words[i + length :]
                option = rest[:j] + words[i : i + length] + rest[j:]
                made.append((WER.edits(option, goal), option))
    return made


@settings(max_examples=300)
@given(hypothesis=REFERENCE, reference=REFERENCE)
def test_character_equals_the_definition(hypothesis: str, reference: str) -> None:
    measured = character_rate(list(hypothesis), list(reference))
    assert measured == pytest.approx(brute_force(hypothesis, reference))


def test_character_bounds_its_search_with_the_longest_phrases_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hypothesis, reference = list("defabcx"), list("abcdefy")
    exact = character_rate(hypothesis, reference)
    monkeypatch.setattr(edit_rates, "MOST_CELLS", len(hypothesis) * len(reference))
    assert character_rate(hypothesis, reference) == exact  # its first candidate is the best
    monkeypatch.setattr(edit_rates, "MOST_CELLS", 0)
    assert character_rate(hypothesis, reference) > exact


def test_character_settings() -> None:
    assert score(CharacTER(), "Ab", "ab") == pytest.approx(1 / 2)
    assert score(CharacTER(lowercase=True), "Ab", "ab") == 0
    assert score(CharacTER(tokenize="13a"), "a.", "a .") == 0
    with pytest.raises(AdequaError, match='"words" is not a value of tokenize'):
        CharacTER(tokenize="words")


@pytest.mark.parametrize("metric", [WER(), PER(), CDER(), CharacTER()])
def test_long_and_odd_text(metric: ErrorRate | CharacTER) -> None:
    """Two thousand words; combining marks, emoji, right-to-left text, no spaces."""
    words = [f"w{i * i % 700}" for i in range(2000)]
    segments = Segments(
        (" ".join(words), "e\u0301 \U0001f600\u200d\U0001f525", "...", "\u202eשלום", "猫" * 300),
        ((" ".join(reversed(words)),), ("é 🔥",), ("!?",), ("شلوم",), ("犬" * 300,)),
    )
    scores = metric.score(segments)
    assert np.isfinite(scores.segments).all()
    assert (scores.segments[1:] > 0).all()
