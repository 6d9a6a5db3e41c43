"""Examples of damage to numbers, dates and units, worked out by hand.

An example gives all possible results as a pattern; every seed must give one of them.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.damage.apply import damage_text
from tiny_damage import not_applicable, results

EXAMPLES = [
    ("number_changed", "It cost 5 euros.", r"It cost [1-46-9] euros\."),
    ("number_changed", "It cost 3,500 euros.", r"It cost [124-9],[1-9]00 euros\."),
    ("number_changed", "It fell by 0.50 points.", r"It fell by 0\.[1-46-9]0 points\."),
    ("number_changed", "Only 7% came.", r"Only [1-689]% came\."),
    ("number_changed", "It began in 2019.", r"It began in (?!2019)(?:19[5-9]\d|20[012]\d)\."),
    ("number_changed", "On 26 May it ended.", r"On (?!26)(?:[1-9]|1\d|2[0-8]) May it ended\."),
    ("number_changed", "On May 9 it ended.", r"On May (?!9)(?:[1-9]|1\d|2[0-8]) it ended\."),
    ("number_changed", "It opens at 7:30.", r"It opens at (?:[1-68-9]|1[0-2]):30\."),
    ("number_changed", "It opens at 18:30.", r"It opens at (?!18)(?:1[3-9]|2[0-3]):30\."),
    ("number_changed", "It opens at 9 am.", r"It opens at (?:[1-8]|1[0-2]) am\."),
    ("number_changed", "Room 0 is open.", r"Room [1-9] is open\."),
    ("number_changed", "the 2nd team", r"the (?:1st|3rd|[4-9]th) team"),
    ("number_changed", "a 20-year-old man", r"a [13-9]0-year-old man"),
    ("number_word_changed", "Three dogs came.", r"(?:Two|Ten|[FSNE]\w+) dogs came\."),
    ("number_word_changed", "He came twice.", r"He came once\."),
    ("number_word_changed", "the third man", r"the (?:first|second|\w+th) man"),
    ("number_word_changed", "about forty men", r"about (?!forty)[a-z]+ty men"),
    ("magnitude_changed", "It cost 3,500 euros.", r"It cost (?:35,000|350,000|350|35) euros\."),
    ("magnitude_changed", "It fell by 12.3 points.", r"It fell by 123 points\."),
    ("magnitude_changed", "two million people", r"two (?:hundred|thousand|[bt]r?illion) people"),
    ("magnitude_changed", "It is 40 km away.", r"It is (?:4|400|4000) km away\."),
    ("date_changed", "He came on Monday.", r"He came on (?!Monday)\w+day\."),
    ("date_changed", "It was in May 1999.", r"It was in (?!May)[A-Z]\w+ 1999\."),
    ("date_changed", "Late in March it rained.", r"Late in (?!March)[A-Z]\w+ it rained\."),
    ("unit_changed", "It is 5 km away.", r"It is 5 (?:mm|cm|m|mi|ft) away\."),
    ("unit_changed", "It cost $30.", r"It cost [€£¥]30\."),
    ("unit_changed", "two acres of land", r"two hectares of land"),
    ("unit_changed", "It weighs 5 pounds.", r"It weighs 5 (?:grams|kilograms|tonnes|ounces)\."),
    ("unit_changed", "a 20-year-old man", r"a 20-(?:second|minute|hour|day|\w+)-old man"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "pattern"), EXAMPLES)
def test_examples(kind: str, text: str, pattern: str) -> None:
    for result in results(kind, text):
        assert re.fullmatch(pattern, result), result
        assert result != text


NOT_APPLICABLE = [
    ("number_changed", "No number in here."),
    ("number_changed", "the H2O and B2B"),
    ("number_word_changed", "At first no one came."),
    ("number_word_changed", "Wait a second."),
    ("number_word_changed", "one third of it"),
    ("magnitude_changed", "It began in 2019."),
    ("magnitude_changed", "on September 26 at 7:30"),
    ("date_changed", "They may march today."),
    ("date_changed", "May I come?"),
    ("unit_changed", "He has five dogs."),
]


@pytest.mark.parametrize(("kind", "text"), NOT_APPLICABLE)
def test_not_applicable(kind: str, text: str) -> None:
    assert not_applicable(kind, text)


@given(
    st.integers(0, 10**7),
    st.sampled_from(["{:d}", "{:,d}", "{:d}%", "{:d}.25", "${:,d}", "{:d}th"]),
    st.integers(0, 2**32),
)
def test_a_changed_number_has_another_value_and_the_same_format(
    number: int, numeral: str, seed: int
) -> None:
    before = numeral.format(number)
    text = damage_text(f"There were {before} in all.", "number_changed", 1.0, seed=seed)
    assert text is not None
    after = text.removeprefix("There were ").removesuffix(" in all.")
    masks = [re.sub(r"st|nd|rd|th", "th", re.sub(r"\d", "9", text)) for text in (before, after)]
    assert masks[0] == masks[1]
    values = [float(re.sub(r"[^\d.]", "", text)) for text in (before, after)]
    assert values[0] != values[1]
