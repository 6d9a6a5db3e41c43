"""Examples of damage to names and pronouns, worked out by hand.

An example gives all possible results as a pattern; every seed must give one of them.
"""

from __future__ import annotations

import re

import pytest

from tiny_damage import not_applicable, results

EXAMPLES = [
    ("name_swapped", "The team met Novotny.", r"The team met (?!Novotny)[A-Z][a-z]+\."),
    ("name_swapped", "They flew from Prague.", r"They flew from (?!Prague)[A-Z][a-z]+\."),
    ("name_swapped", "They met Jan Hala.", r"They met (?!Jan Hala)[A-Z]\w+ [A-Z]\w+\."),
    ("name_swapped", "He met President Hala here.", r"He met President (?!Hala)[A-Z]\w+ here\."),
    ("name_swapped", "It is Hala's old house.", r"It is (?!Hala)[A-Z]\w+'s old house\."),
    ("names_exchanged", "We saw Ann leave Bob.", r"We saw Bob leave Ann\."),
    ("names_exchanged", "a train from Brno to Prague", r"a train from Prague to Brno"),
    ("pronoun_swapped", "He saw her.", r"She saw him\."),
    ("pronoun_swapped", "She saw her brother.", r"He saw his sister\."),
    ("pronoun_swapped", "They sold our house.", r"We sold their house\."),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "pattern"), EXAMPLES)
def test_examples(kind: str, text: str, pattern: str) -> None:
    for result in results(kind, text):
        assert re.fullmatch(pattern, result), result
        assert result != text


NOT_APPLICABLE = [
    ("name_swapped", "The cat sat. The dog ran."),
    ("name_swapped", "He knew what I'm doing."),
    ("name_swapped", "UN Chief Says Talks With Syria End"),
    ("name_swapped", "“Never,” said the man on Monday."),
    ("names_exchanged", "We saw Ann and Bob again."),
    ("names_exchanged", "We saw Ann, Bob, and Cleo again."),
    ("names_exchanged", "We saw Ann."),
    ("pronoun_swapped", "The US army left."),
]


@pytest.mark.parametrize(("kind", "text"), NOT_APPLICABLE)
def test_not_applicable(kind: str, text: str) -> None:
    assert not_applicable(kind, text)
