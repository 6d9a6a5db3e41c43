"""Examples of damage to the meaning, worked out by hand.

An example gives all possible results as a pattern; every seed must give one of them.
"""

from __future__ import annotations

import re

import pytest

from tiny_damage import ENGLISH, WITH_CORPUS, not_applicable, results

EXAMPLES = [
    *[
        ("negation_dropped", f"They {before} go.", rf"They {after} go\.")
        for before, after in {
            "don't": "do", "doesn't": "does", "didn't": "did", "can't": "can", "won't": "will",
            "shan't": "shall", "couldn't": "could", "mustn't": "must", "hasn't": "has",
            "cannot": "can", "do not": "do", "will not": "will", "do n't": "do", "ca n't": "can",
            "wo n't": "will", "don’t": "do", "never": "always", "no longer": "still",
        }.items()
    ],
    ("negation_dropped", "It isn't and wasn't here.", r"It is and was here\."),
    ("negation_dropped", "DON'T go.", r"DO go\."),
    ("negation_dropped", "CAN'T go.", r"CAN go\."),
    ("negation_dropped", "Not all came.", r"All came\."),
    ("negation_dropped", "They did not.", r"They did\."),
    ("negation_dropped", "Nobody came.", r"Everybody came\."),
    ("negation_dropped", "There is no plan.", r"There is a plan\."),
    ("negation_dropped", "There is no answer.", r"There is an answer\."),
    ("negation_dropped", "There are no plans.", r"There are some plans\."),
    ("negation_dropped", "No, he left.", r"Yes, he left\."),
    ("negation_dropped", "He left without her.", r"He left with her\."),
    ("negation_dropped", "Neither Ann nor Bob came.", r"Both Ann and Bob came\."),
    ("negation_added", "The house is old.", r"The house is not old\."),
    ("negation_added", "He can come.", r"He cannot come\."),
    ("negation_added", "He will have been there.", r"He will not have been there\."),
    ("negation_added", "She has seen it.", r"She has not seen it\."),
    ("negation_added", "It's late.", r"It's not late\."),
    ("negation_added", "She went home.", r"She did not go home\."),
    ("negation_added", "He wants more.", r"He does not want more\."),
    ("antonym_swapped", "Prices increased.", r"Prices decreased\."),
    ("antonym_swapped", "It is a safe place.", r"It is a dangerous place\."),
    ("antonym_swapped", "He is an old friend.", r"He is a (?:new|young) enemy\."),
    ("quantifier_swapped", "Most people came.", r"Few people came\."),
    ("quantifier_swapped", "All men came.", r"(?:Some|Few) men came\."),
    ("quantifier_swapped", "A few men came.", r"(?:Many|Countless) men came\."),
    ("comparison_reversed", "It costs more than gold.", r"It costs less than gold\."),
    ("comparison_reversed", "He left before noon.", r"He left after noon\."),
    ("comparison_reversed", "At least ten came.", r"At most ten came\."),
    ("comparison_reversed", "over 300 people", r"under 300 people"),
    ("tense_changed", "He is here.", r"He was here\."),
    ("tense_changed", "I was here.", r"I am here\."),
    ("tense_changed", "She said so.", r"She will say so\."),
    ("tense_changed", "It has ended.", r"It will have ended\."),
    ("tense_changed", "It has doors.", r"It had doors\."),
    ("tense_changed", "It isn't here.", r"It wasn't here\."),
    ("subject_object_exchanged", "Ann visited Bob.", r"Bob visited Ann\."),
    ("subject_object_exchanged", "The dog chased him.", r"He chased the dog\."),
    ("subject_object_exchanged", "He was beaten by a guard.", r"A guard was beaten by him\."),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "pattern"), EXAMPLES)
def test_examples(kind: str, text: str, pattern: str) -> None:
    for result in results(kind, text):
        assert re.fullmatch(pattern, result), result
        assert result != text


NOT_APPLICABLE = [
    ("negation_dropped", "He came to No. 5 today."),
    ("negation_dropped", "Whether or not it rains."),
    ("negation_dropped", "It is not only old."),
    ("negation_added", "What a day!"),
    ("negation_added", "It was not so."),
    ("antonym_swapped", "So far, it rained."),
    ("quantifier_swapped", "After all, it was not at all so."),
    ("comparison_reversed", "He tried once more."),
    ("tense_changed", "At 11 AM"),
    ("wrong_word", "It is so."),
    ("subject_object_exchanged", "The dog slept."),
    ("subject_object_exchanged", "He worked the whole night."),
]


@pytest.mark.parametrize(("kind", "text"), NOT_APPLICABLE)
def test_not_applicable(kind: str, text: str) -> None:
    assert not_applicable(kind, text)


def test_a_wrong_word_comes_from_another_sentence() -> None:
    for result in results("wrong_word", ENGLISH, context=WITH_CORPUS):
        words = set(re.findall(r"\w+", result)) - {"The", "the"}
        assert words <= {"harvested", "wheat", "early", "storms", "near"}
    for result in results("wrong_word", "The cat sat."):
        assert not {"cat", "sat"} & set(re.findall(r"\w+", result))
