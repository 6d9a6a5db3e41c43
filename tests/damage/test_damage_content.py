"""Examples of damage to the content, worked out by hand.

An example gives all possible results as a pattern; every seed must give one of them.
"""

from __future__ import annotations

import re

import pytest

from adequa.damage.apply import damage_text
from adequa.damage.base import Context, word_lists
from tiny_damage import (
    ENGLISH,
    GERMAN,
    GREEK,
    GREEK_WORDS,
    OTHER,
    WITH_CORPUS,
    WITH_SOURCE,
    not_applicable,
    results,
)

EXAMPLES = [
    ("word_omitted", "The cat saw the dog.", r"The (?:the dog|saw the|cat the)\."),
    ("clause_omitted", "He came, and she left.", r"He came\.|And she left\."),
    ("clause_omitted", "It rained. We slept.", r"It rained\.|We slept\."),
    ("beginning_omitted", GREEK, r"Zeta eta theta iota kappa\."),
    ("half_omitted", GREEK, r"Alpha beta gamma delta\."),
    ("ending_truncated", GREEK, r"Alpha beta gamma delta epsilon zeta(?: e(?:t)?)?"),
    ("script_changed", "the bat", r"the (?:бат|βατ)"),
    ("empty", "He came.", r""),
    ("only_punctuation", "He came, she left.", r"[^\w]+"),
    ("placeholder", "He came home early.", r"(?!He came).{3,40}"),
    ("word_repeated", "The cat sat.", r"The the cat cat sat sat\."),
    ("phrase_repeated", "One two three four", r".*\b(\w+ .*\w)(?: \1){4}.*"),
    ("text_repeated", "He came.", r"He came\. He came\. He came\. He came\."),
    ("ending_looped", GREEK, r"Alpha beta gamma delta(?: (?:[Aa]lpha |beta |gamma )*delta)+\."),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "pattern"), EXAMPLES)
def test_examples(kind: str, text: str, pattern: str) -> None:
    for result in results(kind, text):
        assert re.fullmatch(pattern, result), result
        assert result != text


NOT_APPLICABLE = [
    ("word_omitted", "It is so."),
    ("phrase_omitted", "It is so."),
    ("clause_omitted", "He came home early."),
    ("beginning_omitted", "Come here."),
    ("half_omitted", "Come here."),
    ("ending_truncated", "Come here."),
    ("other_sentence", "He came home early."),  # no corpus
    ("ending_hallucinated", "He came home early."),
    ("content_added", "He came home early."),
    ("detail_added", "Yes."),
    ("untranslated", "He came home early."),  # no source
    ("partly_untranslated", "He came home early."),
    ("words_untranslated", "It is 5."),
    ("wrong_language", "..."),
    ("script_changed", "It is 5."),
    ("empty", "  "),
    ("only_punctuation", "..."),
    ("placeholder", "Come here."),
    ("word_repeated", "10 30"),
    ("phrase_repeated", "Come."),
    ("text_repeated", "..."),
    ("ending_looped", "Come."),
]


@pytest.mark.parametrize(("kind", "text"), NOT_APPLICABLE)
def test_not_applicable(kind: str, text: str) -> None:
    assert not_applicable(kind, text)


def test_a_lost_phrase_is_a_run_of_words() -> None:
    for result in results("phrase_omitted", GREEK):
        left = result.rstrip(".").lower().split()
        words = [word.lower() for word in GREEK_WORDS]
        assert any(words[:start] + words[start + 5 :] == left for start in range(6))


def test_hallucinations_come_from_another_sentence() -> None:
    assert results("other_sentence", ENGLISH, context=WITH_CORPUS) == {OTHER}
    ended = results("ending_hallucinated", ENGLISH, 0.5, WITH_CORPUS)
    assert ended == {"The minister visited the because storms were near."}
    added = results("content_added", ENGLISH, 0.1, WITH_CORPUS)
    start = "The minister visited the new hospital yesterday, and "
    assert added == {f"{start}Farmers harvested wheat early.", f"{start}because storms were near."}


def test_a_sentence_that_says_the_same_is_no_hallucination() -> None:
    same = Context(corpus=("Yesterday the minister visited the hospital.", ENGLISH))
    assert damage_text(ENGLISH, "other_sentence", 1.0, seed=1, context=same) is None


def test_invented_details_leave_the_text_whole() -> None:
    for result in results("detail_added", "After lunch, he came home early."):
        assert len(result.split()) > 6
        left = iter(result.split())
        assert all(any(word in part for part in left) for word in ["After", "lunch", "he", "early"])


def test_the_source_is_left() -> None:
    assert results("untranslated", ENGLISH, context=WITH_SOURCE) == {GERMAN}
    partly = results("partly_untranslated", ENGLISH, 0.5, WITH_SOURCE)
    assert partly == {"The minister visited the gestern das neue Krankenhaus."}
    for result in results("words_untranslated", ENGLISH, 1.0, WITH_SOURCE):
        foreign = set(re.findall(r"\w+", result)) - {"The", "the"}
        assert foreign <= {"besuchte", "gestern", "neue", "krankenhaus", "Krankenhaus"}


def test_a_source_in_english_is_no_source() -> None:
    """Some rows of data hold the translation, or nothing that is foreign, as their source."""
    english = Context(source="The minister visited the hospital yesterday.")
    assert damage_text(ENGLISH, "untranslated", 1.0, seed=1, context=english) is None


def test_a_source_without_spaces_gives_pieces() -> None:
    chinese = Context(source="部长昨天参观了新医院。")
    for result in results("words_untranslated", ENGLISH, 1.0, chinese):
        pieces = {"部长昨", "天参观", "了新医", "院"}
        assert set(re.findall(r"[^\W_]+", result)) <= {"The", "the"} | pieces


def test_without_a_source_foreign_words_are_of_one_language() -> None:
    languages = word_lists("content")["foreign_words"].values()
    for result in results("words_untranslated", ENGLISH):
        foreign = {word.lower() for word in re.findall(r"\w+", result)} - {"the"}
        assert any(foreign <= {word.lower() for word in words} for words in languages)


def test_a_wrong_language_is_real_text() -> None:
    for result in results("wrong_language", ENGLISH):
        assert result in word_lists("content")["foreign_sentences"]
