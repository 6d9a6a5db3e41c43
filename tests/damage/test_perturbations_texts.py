"""Each kind of damage to larger parts of a text, and to its characters, by examples.

An example gives all that may come out, as a pattern; every seed must give one of these.
"""

from __future__ import annotations

import re

import pytest

from adequa.damage.base import Context
from adequa.damage.foreign import SENTENCES, WORDS
from adequa.damage.sentences import damaged_text

SEEDS = range(12)
LOST = "\N{REPLACEMENT CHARACTER}"
HALF = "Alpha beta gamma delta epsilon zeta eta theta iota kappa."
WORD_LIST = HALF.rstrip(".").split()
OTHER = "Farmers harvested wheat early, because storms were near."
GERMAN = "Der Minister besuchte gestern das neue Krankenhaus."
ENGLISH = "The minister visited the new hospital yesterday."
WITH_OTHERS = Context(others=(OTHER,))
WITH_SOURCE = Context(source=GERMAN)


def results(
    kind: str, text: str, severity: float = 1.0, context: Context | None = None
) -> set[str]:
    """What the seeds make of a text."""
    made = [damaged_text(text, kind, severity, seed=seed, context=context) for seed in SEEDS]
    assert None not in made, f"{kind} does not apply to {text!r}"
    return {text for text in made if text is not None}


EXAMPLES = [
    ("word_omitted", "The cat saw the dog.", r"The (?:the dog|saw the|cat the)\."),
    ("clause_omitted", "He came, and she left.", r"He came\.|And she left\."),
    ("clause_omitted", "It rained. We slept.", r"It rained\.|We slept\."),
    ("half_omitted", HALF, r"Alpha beta gamma delta\."),
    ("beginning_omitted", HALF, r"Zeta eta theta iota kappa\."),
    ("ending_truncated", HALF, r"Alpha beta gamma delta epsilon zeta(?: e(?:t)?)?"),
    ("phrase_repeated", "One two three four", r".*\b(\w+ .*\w)(?: \1){4}.*"),
    ("text_repeated", "He came.", r"He came\. He came\. He came\. He came\."),
    ("ending_looped", HALF, r"Alpha beta gamma delta(?: (?:alpha |beta |gamma )*delta)+\."),
    ("word_repeated", "The cat sat.", r"The the cat cat sat sat\."),
    ("neighbours_exchanged", "He ate old fish", r"Ate he fish old|He old ate fish"),
    ("empty", "He came.", r""),
    ("only_punctuation", "He came, she left.", r"[^\w]+"),
    ("placeholder", "He came home early.", r"(?!He came).{3,40}"),
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
    ("script_changed", "the bat", r"the (?:бат|βατ)"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "pattern"), EXAMPLES)
def test_what_texts_become(kind: str, text: str, pattern: str) -> None:
    for result in results(kind, text):
        assert re.fullmatch(pattern, result, re.IGNORECASE if "looped" in kind else 0), result


def test_a_lost_phrase_is_a_run_of_words() -> None:
    for result in results("phrase_omitted", HALF):
        left = result.rstrip(".").lower().split()
        words = [word.lower() for word in WORD_LIST]
        kept = next(at for at in range(11) if words[:at] + words[at + 5 :] == left)
        assert 0 <= kept <= 5


def test_word_salad_keeps_the_words_and_no_place() -> None:
    for result in results("word_salad", HALF):
        words = result.rstrip(".").split()
        assert sorted(words) == sorted(WORD_LIST)
        assert all(one != other for one, other in zip(words, WORD_LIST, strict=True))


def test_a_moved_phrase_stays_in_one_piece() -> None:
    for result in results("phrase_moved", HALF + " Lambda mu nu."):
        assert sorted(re.findall(r"\w+", result)) == sorted([*WORD_LIST, "Lambda", "mu", "nu"])
        assert result.startswith("Alpha")
        assert result.endswith("nu.")


def test_hallucinations_come_from_another_sentence() -> None:
    assert results("other_sentence", ENGLISH, context=WITH_OTHERS) == {OTHER}
    ended = results("ending_hallucinated", ENGLISH, 0.5, WITH_OTHERS)
    assert ended == {"The minister visited the because storms were near."}
    added = results("content_added", ENGLISH, 0.1, WITH_OTHERS)
    start = "The minister visited the new hospital yesterday, and "
    assert added == {f"{start}Farmers harvested wheat early.", f"{start}because storms were near."}


def test_a_sentence_that_says_the_same_is_no_hallucination() -> None:
    same = Context(others=("Yesterday the minister visited the hospital.", ENGLISH))
    assert damaged_text(ENGLISH, "other_sentence", 1.0, seed=1, context=same) is None


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
    assert damaged_text(ENGLISH, "untranslated", 1.0, seed=1, context=english) is None


def test_a_source_without_spaces_gives_pieces() -> None:
    chinese = Context(source="部长昨天参观了新医院。")
    for result in results("words_untranslated", ENGLISH, 1.0, chinese):
        assert set(re.findall(r"[^\W_]+", result)) <= {
            "The",
            "the",
            "部长昨",
            "天参观",
            "了新医",
            "院",
        }


def test_without_a_source_foreign_words_are_of_one_language() -> None:
    for result in results("words_untranslated", ENGLISH):
        foreign = {word.lower() for word in re.findall(r"\w+", result)} - {"the"}
        assert any(foreign <= {word.lower() for word in words} for words in WORDS)


def test_a_wrong_language_is_real_text() -> None:
    for result in results("wrong_language", ENGLISH):
        assert result in SENTENCES


def test_a_wrong_word_comes_from_another_sentence() -> None:
    for result in results("wrong_word", ENGLISH, context=WITH_OTHERS):
        words = set(re.findall(r"\w+", result)) - {"The", "the"}
        assert words <= {"harvested", "wheat", "early", "storms", "near"}
    for result in results("wrong_word", "The cat sat."):
        assert not {"cat", "sat"} & set(re.findall(r"\w+", result))


def test_markup_is_left_between_words() -> None:
    for result in results("markup_left", "He came home early."):
        assert result != "He came home early."
        left = re.sub(r"</?\w+>|&#?\w+;|\\n|\{\{|\}\}|\[/url\]|\*\*|##", "", result)
        assert left.split() == ["He", "came", "home", "early."]
