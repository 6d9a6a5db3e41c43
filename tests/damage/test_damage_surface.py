"""Examples of damage to the surface of a text, worked out by hand.

An example gives all possible results as a pattern; every seed must give one of them.
"""

from __future__ import annotations

import re

import pytest

from tiny_damage import not_applicable, results

LOST = "\N{REPLACEMENT CHARACTER}"

EXAMPLES = [
    ("typos", "door", r"dooor|doro|dor|dior|doir"),
    ("words_split", "window", r"wi ndow|win dow|wind ow"),
    ("spaces_dropped", "He came home, she left.", r"Hecamehome, sheleft\."),
    ("case_lowered", "Ann met Bob.", r"ann met bob\."),
    ("case_raised", "Ann met Bob.", r"ANN MET BOB\."),
    ("case_random", "Ann met Bob.", r"(?i:ann met bob\.)"),
    ("punctuation_dropped", "Yes, he came at 3,500 m.", r"Yes he came at 3,500 m"),
    ("punctuation_wrong", "Yes.", r"Yes[,?:;]"),
    ("quotes_broken", 'He said "yes" (so).', r'He said "yes(?:|\(|\[|,,) \(so(?:|\]|\()\.'),
    ("mojibake", "the café", r"the cafÃ©"),
    ("mojibake", "it’s", r"itâ€™s"),
    ("mojibake", "it's", r"itâ€™s"),
    ("mojibake", "the cats", f"the (?:{LOST}ats|c{LOST}ts|ca{LOST}s|cat{LOST})"),
    ("unknown_words", "the cats of Ann", r"the (<unk>|\[UNK\]|UNK) of \1"),
    ("slots_unfilled", "the 5 cats of Ann", r"the \S+ cats of \S+"),
    ("pieces_unjoined", "the birds", r"the (?:bi@@ rds|bir@@ ds)"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "pattern"), EXAMPLES)
def test_examples(kind: str, text: str, pattern: str) -> None:
    for result in results(kind, text):
        assert re.fullmatch(pattern, result), result
        assert result != text


NOT_APPLICABLE = [
    ("typos", "It is so."),
    ("words_split", "It is here."),
    ("spaces_dropped", "Yes."),
    ("case_lowered", "The cat sat."),
    ("case_raised", "YES, 5!"),
    ("case_random", "5!"),
    ("punctuation_dropped", "The cat sat."),
    ("punctuation_wrong", "Yes"),
    ("quotes_broken", "He said yes."),
    ("quotes_broken", 'It begins here." So it was.'),  # alone already
    ("mojibake", "It is 5."),
    ("unknown_words", "It is 5."),
    ("markup_left", "..."),
    ("slots_unfilled", "The cat sat."),
    ("pieces_unjoined", "The cat sat."),
]


@pytest.mark.parametrize(("kind", "text"), NOT_APPLICABLE)
def test_not_applicable(kind: str, text: str) -> None:
    assert not_applicable(kind, text)


def test_markup_is_left_between_words() -> None:
    for result in results("markup_left", "He came home early."):
        assert result != "He came home early."
        left = re.sub(r"</?\w+>|&#?\w+;|\\n|\{\{|\}\}|\[/url\]|\*\*|##", "", result)
        assert left.split() == ["He", "came", "home", "early."]
