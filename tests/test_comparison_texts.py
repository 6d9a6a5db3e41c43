"""Texts of a comparison: what segments have in common, which words differ, what is text."""

from __future__ import annotations

import numpy as np
import pytest

from adequa import ComparisonSettings, compare
from adequa.comparison.buckets import Feature, segment_features, vocabulary
from adequa.comparison.compare import outputs_of
from adequa.comparison.text import compare_words, mark_differences
from adequa.tables import Format
from marked_words import MARKED

QUICK = ComparisonSettings(resamples=200, swaps=500)


def test_word_differences_add_up_to_the_text() -> None:
    text, other = "The old  cat sat, 3.5 times!", "the cat sat 4.5 times !"
    pieces = compare_words(text, other)
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.text for piece in pieces if not piece.same] == ["old", ", 3.5"]
    assert mark_differences("我爱猫", "我爱狗") == "我爱[猫]"
    assert mark_differences("", "x") == ""


@pytest.mark.parametrize(("text", "other", "expected"), MARKED.values(), ids=MARKED)
def test_letters_keep_their_marks(text: str, other: str, expected: str) -> None:
    assert mark_differences(text, other) == expected


def test_long_texts_are_cut_around_the_first_difference() -> None:
    long = "same " * 5000
    systems = {"a": [f"{long}cat {long}", "x"], "b": [f"{long}dog {long}", "x"]}
    comparison = compare(systems, [f"{long}cat {long}", "x"], "wer", settings=QUICK)
    text = "".join(comparison.lines(Format.text, examples=1))
    assert len(text) < 4000
    assert text.count(" same cat same ") == 2
    assert " same [dog] same " in text


def test_characters_are_not_called_words() -> None:
    texts = ["我爱猫。", "我爱很多很多很多很多很多很多猫和狗。"]
    (length, *_) = segment_features(outputs_of({"a": texts, "b": texts}, texts))
    assert [label for label, _ in length.buckets()] == ["1–10 characters", "11–20 characters"]


def test_features_part_segments_by_what_references_say() -> None:
    texts = (
        "In 2017 the team of Jan Novak met in Brno , and 3.5 million came .",
        "it rained .",
        "it rained and " + "so it rained and rained on " * 6 + ".",
    )
    outputs = outputs_of({"a": texts, "b": ("x", "it rained .", "y")}, texts, documents="112")
    known = "it rained and so on in the team of met came"
    parts = {
        feature.name: [feature.labels[place] for place in feature.codes.tolist()]
        for feature in segment_features(outputs, vocabulary(outputs, [known]))
    }
    assert parts["length"] == ["11–20 words", "1–10 words", "31–40 words"]
    assert parts["overlap"] == ["40–60%", "80% or more", "40–60%"]
    assert parts["numbers"] == ["two or more", "none", "none"]
    assert parts["names"] == ["two or more", "none", "none"]
    assert parts["unknown"] == ["two or more", "none", "none"]
    assert parts["document"] == ["1", "1", "2"]
    assert parts["rare"][1] == "none"


def test_buckets_come_in_the_order_of_labels() -> None:
    feature = Feature("f", "F", ("a", "b", "c"), np.array([2, 0, 2, 0, 0]))
    parts = [(label, rows.tolist()) for label, rows in feature.buckets()]
    assert parts == [("a", [1, 3, 4]), ("c", [0, 2])]
