"""Examples of damage to grammar and word order, worked out by hand.

An example gives all possible results as a pattern; every seed must give one of them.
"""

from __future__ import annotations

import re

import pytest

from tiny_damage import GREEK, GREEK_WORDS, not_applicable, results

EXAMPLES = [
    ("neighbours_exchanged", "He ate old fish", r"Ate he fish old|He old ate fish"),
    ("article_wrong", "He ate an apple.", r"He ate (?:a )?apple\."),
    ("article_wrong", "The dog ate.", r"(?:Dog|An dog) ate\."),
    ("word_form_wrong", "They are here.", r"They is here\."),
    ("word_form_wrong", "He wants to go.", r"He wants to (?:went|going)\."),
    ("word_form_wrong", "It took two days.", r"It took two day\."),
    ("word_form_wrong", "It mattered politically.", r"It mattered political\."),
    ("word_form_wrong", "He came early, successfully.", r"He came early, successful\."),
    ("preposition_swapped", "He came from Brno.", r"He came (?:to|on|with) Brno\."),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "pattern"), EXAMPLES)
def test_examples(kind: str, text: str, pattern: str) -> None:
    for result in results(kind, text):
        assert re.fullmatch(pattern, result), result
        assert result != text


NOT_APPLICABLE = [
    ("word_salad", "Come here."),
    ("neighbours_exchanged", "Ann Lee. Said"),
    ("phrase_moved", "He came home early."),
    ("article_wrong", "Dogs bark."),
    ("word_form_wrong", "Dogs bark."),
    ("preposition_swapped", "They carried on."),
]


@pytest.mark.parametrize(("kind", "text"), NOT_APPLICABLE)
def test_not_applicable(kind: str, text: str) -> None:
    assert not_applicable(kind, text)


def test_word_salad_keeps_the_words_and_no_place() -> None:
    for result in results("word_salad", GREEK):
        words = result.rstrip(".").split()
        assert sorted(words) == sorted(GREEK_WORDS)
        assert all(one != other for one, other in zip(words, GREEK_WORDS, strict=True))


def test_a_moved_phrase_stays_in_one_piece() -> None:
    for result in results("phrase_moved", GREEK + " Lambda mu nu."):
        assert sorted(re.findall(r"\w+", result)) == sorted([*GREEK_WORDS, "Lambda", "mu", "nu"])
        assert result.startswith("Alpha")
        assert result.endswith("nu.")
