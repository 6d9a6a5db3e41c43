"""Surface features agree with values by hand and with plain counts, and keep their laws."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.helpers import extract_all_char_ngrams, extract_word_ngrams

from adequa.encoders import surface
from adequa.encoders.base import Vectors
from adequa.encoders.surface import SURFACE, surface_features
from adequa.errors import AdequaError

LOSSES = ("word_case_loss", "word_bigram_case_loss")
EDGE = "\ue000"  # what stands for the edge of a text in the oracles, and is in no text
WORDS = st.sampled_from(
    ["the", "The", "cat", "CAT", "Brno", "3.5", "don't", "a-b", ",", ".", "“No!”", "Élan", "ß", "ẞ",
     "😀", "❤️", "👍🏽", "Ω", "猫", "€5"]
)  # fmt: skip
TEXT = st.lists(WORDS, max_size=9).map(" ".join)
# Surrogates without a partner are among these, and characters that other code may treat as an end.
WILD = st.text(st.characters(exclude_characters=EDGE) | st.sampled_from("\0\r\n\x1c\ud800 "))
ANY = TEXT | WILD
PAIRS = st.lists(st.tuples(ANY, ANY), max_size=5)


def features(hypothesis: str, reference: str) -> dict[str, float]:
    (row,) = surface_features([hypothesis], [reference]).tolist()
    return dict(zip(SURFACE, row, strict=True))


def many_features(pairs: Sequence[tuple[str, str]]) -> Vectors:
    return surface_features([first for first, _ in pairs], [second for _, second in pairs])


def precision_and_recall(ours: Counter[str], theirs: Counter[str]) -> tuple[float, float]:
    common = (ours & theirs).total()
    return common / ours.total(), common / theirs.total()


def f1(ours: Counter[str], theirs: Counter[str]) -> float:
    both = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / both if both else 1.0


def common_subsequence(first: str, second: str) -> int:
    row = [0] * (len(second) + 1)
    for letter in first:
        last = row
        row = [0]
        for at, other in enumerate(second):
            row.append(last[at] + 1 if letter == other else max(last[at + 1], row[at]))
    return row[-1]


def test_a_space_too_many_by_hand() -> None:
    row = features("can not", "cannot")
    # ^c ca an n_ _n no ot t$ and ^c ca an nn no ot t$: 6 in common.
    assert row["character_bigram_precision"] == pytest.approx(6 / 8)
    assert row["character_bigram_recall"] == pytest.approx(6 / 7)
    assert row["character_similarity"] == pytest.approx(1 - 1 / 13)
    assert row["word_bigram_precision"] == row["word_bigram_recall"] == 0
    assert row["length_ratio"] == pytest.approx(6 / 7)
    assert row["length"] == pytest.approx(math.log(7.5) / math.log(1001))


def test_words_and_their_case_by_hand() -> None:
    row = features("Ann met bob, Bob!", "Bob met Ann.")
    # ^Ann, Ann met, met bob, bob ",", "," Bob, Bob !, !$ and ^Bob, Bob met, met Ann, Ann ., .$
    assert row["word_bigram_precision"] == row["word_bigram_recall"] == 0
    assert row["word_bigram_case_loss"] == 0
    # Ann met Bob are common in either case, of 6 and 4 words.
    assert row["word_case_loss"] == 0
    # Ann and Bob on both sides: "bob" does not count, "Bob" does once.
    assert row["capitalised_overlap"] == 1
    lost = features("ANN met Bob", "ann met Bob")
    # met Bob and Bob$ of 4 bigrams, met and Bob of 3 words; all of them in lower case.
    assert lost["word_bigram_precision"] == pytest.approx(2 / 4)
    assert lost["word_bigram_case_loss"] == pytest.approx(1 - 2 / 4)
    assert lost["word_case_loss"] == pytest.approx(1 - 2 / 3)
    assert lost["capitalised_overlap"] == pytest.approx(2 / 3)


def test_texts_without_characters() -> None:
    assert features("", " \n") == {
        **dict.fromkeys(SURFACE, 1.0),
        **dict.fromkeys([*LOSSES, "length"], 0.0),
    }
    one_side = features("", "cat")
    assert one_side.pop("length") == pytest.approx(math.log(2.5) / math.log(1001))
    assert one_side.pop("capitalised_overlap") == 1  # neither has capitals
    assert one_side.pop("symbol_overlap") == 1  # nor symbols
    assert set(one_side.values()) == {0.0}


def test_texts_of_one_word_differ() -> None:
    row = features("cat", "dog")
    assert row["word_bigram_precision"] == row["word_bigram_recall"] == 0
    assert features("a", "b")["character_bigram_recall"] == 0


def test_letters_of_chinese_are_words_and_vowel_signs_part_none() -> None:
    # ^他 他说 说。 。$ and ^她 她说 说。 。$
    assert features("他说。", "她说。")["word_bigram_recall"] == 0.5
    # Hindi: a word with vowel signs is a single one, so that ^हिन्दी and हिन्दी$ are all there are.
    assert features("हिन्दी", "हिन्दू")["word_bigram_recall"] == 0


def symbol_overlap(hypothesis: str, reference: str) -> float:
    return features(hypothesis, reference)["symbol_overlap"]


def test_symbols_by_hand() -> None:
    assert symbol_overlap("See you 🎉", "See you 🎉!") == 1
    assert symbol_overlap("See you 😢", "See you 🎉!") == 0
    assert symbol_overlap("See you", "See you 🎉!") == 0
    assert symbol_overlap("🎉 🎉 you", "🎉 you") == pytest.approx(2 / 3)
    # 👍 and the colour of the skin, against 👍.
    assert symbol_overlap("👍🏽", "👍") == pytest.approx(2 / 3)
    # 北京 and 北 in other words that are spelled the same.
    assert symbol_overlap("北京 a", "北 a") == pytest.approx(2 / 3)
    assert symbol_overlap("москва", "москва") == 1
    assert symbol_overlap("🇩🇪", "🇫🇷") == 0


@pytest.mark.parametrize(
    ("text", "other"),
    [("❤️", "❤"), ("👩‍🚀", "👩🚀"), ("−5 €", "-5 euros"), ("“so” – it…", '"so" - it'),
     ("Việt", "Viet"), ("e\u0301", "é"), ("Ｏk", "Ok"), ("a\u3000b", "a b"), ("ﬁn", "fin"),
     ("5 × £3", "5 x 3"), ("\u200fab\ud800", "ab")],
    ids=["variation", "joiner", "minus", "punctuation", "accents", "combining", "wide", "space",
         "ligature", "Latin-1", "invisible"],
)  # fmt: skip
def test_what_is_no_symbol(text: str, other: str) -> None:
    assert symbol_overlap(text, other) == 1


@given(st.text(st.characters(max_codepoint=0x36F)), ANY.filter(str.isascii))
def test_texts_of_latin_letters_have_no_symbols(hypothesis: str, reference: str) -> None:
    assert symbol_overlap(hypothesis, reference) == 1


@settings(max_examples=40)
@given(PAIRS, st.lists(st.sampled_from(SURFACE), max_size=4))
def test_features_do_not_depend_on_the_others(
    pairs: list[tuple[str, str]], names: list[str]
) -> None:
    sides = [first for first, _ in pairs], [second for _, second in pairs]
    chosen = [SURFACE.index(name) for name in names]
    np.testing.assert_array_equal(surface_features(*sides, names), many_features(pairs)[:, chosen])


# In this order from the first version on: saved metrics have weights of the first so many.
FIRST = (
    "character_similarity", "character_bigram_precision", "character_bigram_recall",
    "word_bigram_precision", "word_bigram_recall", "word_case_loss", "word_bigram_case_loss",
    "capitalised_overlap", "length_ratio", "length", "symbol_overlap",
)  # fmt: skip


def test_new_features_come_last() -> None:
    assert SURFACE[: len(FIRST)] == FIRST


@given(ANY, ANY)
@example("\U0010ffff" * 3, "\U0010ffff\0\0")
def test_character_bigrams_are_those_of_sacrebleu(hypothesis: str, reference: str) -> None:
    marked = (f"{EDGE}{text.strip()}{EDGE}" for text in (hypothesis, reference))
    counts = (extract_all_char_ngrams(text, 2, include_whitespace=True)[1] for text in marked)
    row = features(hypothesis, reference)
    scores = row["character_bigram_precision"], row["character_bigram_recall"]
    assert scores == pytest.approx(precision_and_recall(*counts))


@given(TEXT, TEXT)
def test_word_features_are_those_of_plain_counts(hypothesis: str, reference: str) -> None:
    words = [re.findall(r"\w+|[^\w\s]", text) for text in (hypothesis, reference)]
    lower = [[word.lower() for word in each] for each in words]
    row = features(hypothesis, reference)
    bigrams = [extract_word_ngrams([EDGE, *each, EDGE], 2) for each in words]
    lower_bigrams = [extract_word_ngrams([EDGE, *each, EDGE], 2) for each in lower]
    capitalised = [Counter(word for word in each if word[0].isupper()) for each in words]
    precision, recall = precision_and_recall(*bigrams)
    expected = {
        "word_bigram_precision": precision,
        "word_bigram_recall": recall,
        "word_case_loss": f1(*map(Counter, lower)) - f1(*map(Counter, words)),
        "word_bigram_case_loss": f1(*lower_bigrams) - f1(*bigrams),
        "capitalised_overlap": f1(*capitalised),
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)


@settings(max_examples=40)
@given(ANY, ANY)
def test_similarity_is_the_fraction_of_a_common_subsequence(
    hypothesis: str, reference: str
) -> None:
    first, second = hypothesis.strip(), reference.strip()
    both = len(first) + len(second)
    expected = 2 * common_subsequence(first, second) / both if both else 1.0
    assert features(hypothesis, reference)["character_similarity"] == pytest.approx(expected)


@settings(max_examples=40)
@given(PAIRS)
def test_every_feature_is_from_0_to_1(pairs: list[tuple[str, str]]) -> None:
    rows = many_features(pairs)
    assert rows.shape == (len(pairs), len(SURFACE))
    assert rows.dtype == np.float32
    assert ((rows >= 0) & (rows <= 1)).all()


@given(ANY)
def test_the_same_text_is_ideal(text: str) -> None:
    row = features(text, text)
    row.pop("length")
    assert row == {name: float(name not in LOSSES) for name in row}


@settings(max_examples=40)
@given(PAIRS)
def test_swapping_the_sides_swaps_precision_and_recall_alone(pairs: list[tuple[str, str]]) -> None:
    forward, backward = (
        many_features(pairs),
        many_features([(second, first) for first, second in pairs]),
    )
    order = list(range(len(SURFACE)))
    for unit in ("character", "word"):
        precision, recall = (SURFACE.index(f"{unit}_bigram_{s}") for s in ("precision", "recall"))
        order[precision], order[recall] = recall, precision
    np.testing.assert_array_equal(forward[:, order], backward)


@settings(max_examples=40)
@given(PAIRS, st.integers(1, 40))
def test_a_row_depends_on_its_own_pair_alone(pairs: list[tuple[str, str]], part: int) -> None:
    alone = [list(features(*pair).values()) for pair in pairs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surface, "_CHUNK", part)
        assert many_features(pairs).tolist() == alone


@settings(max_examples=40)
@given(ANY, ANY)
def test_white_space_around_a_text_does_not_count(hypothesis: str, reference: str) -> None:
    assert features(f"\t{hypothesis} \n", reference) == features(hypothesis, reference)


def test_long_texts_are_compared_in_whole_but_for_their_edits() -> None:
    start = "ab" * (surface._EDITED // 2)
    row = features(start + "c" * 20_000, start + "d" * 20_000)
    assert row["character_similarity"] == 1
    # ^a, 5000 ab and 4999 ba in common, of 30,001 bigrams.
    assert row["character_bigram_recall"] == pytest.approx(10_000 / 30_001)
    assert row["length"] == 1


def test_no_pairs_have_no_rows() -> None:
    assert surface_features([], []).shape == (0, len(SURFACE))


def test_sides_of_different_lengths_are_refused() -> None:
    with pytest.raises(AdequaError, match=r"^The surface reads .* but there are 1 and 2\.$"):
        surface_features(["a"], ["a", "b"])


def test_names_are_different() -> None:
    assert len(set(SURFACE)) == len(SURFACE)
