"""Examples of damage to emoji, worked out by hand, and emoji that are added to texts."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.damage.apply import damage_text
from adequa.damage.symbols import EMOJI, with_emoji
from adequa.encoders.surface import SURFACE, surface_features
from tiny_damage import not_applicable, results

ANY_EMOJI = f"(?:{'|'.join(EMOJI)})"
EXAMPLES = [
    ("symbol_changed", "Well done 🎉!", f"Well done (?!🎉){ANY_EMOJI}!"),
    ("symbol_changed", "see → here", f"see {ANY_EMOJI} here"),
    # One symbol of several characters: joined, of a colour, a flag, a key.
    ("symbol_changed", "the 👩🏽‍🚀.", rf"the {ANY_EMOJI}\."),
    ("symbol_changed", "👍🏽", f"(?!👍){ANY_EMOJI}"),
    ("symbol_changed", "to 🇩🇪🇫🇷", f"to {ANY_EMOJI}{{2}}"),
    ("symbol_changed", "press 1️⃣ or ❤️", f"press {ANY_EMOJI} or {ANY_EMOJI}"),
    ("symbol_dropped", "Well done 🎉!", "Well done!"),
    ("symbol_dropped", "🎉 Well done", "Well done"),
    ("symbol_dropped", "the 👩🏽‍🚀 flew to 🇩🇪", "the flew to"),
]


@pytest.mark.parametrize(("kind", "text", "pattern"), EXAMPLES)
def test_examples(kind: str, text: str, pattern: str) -> None:
    for result in results(kind, text):
        assert re.fullmatch(pattern, result), result


@pytest.mark.parametrize("kind", ["symbol_changed", "symbol_dropped"])
@pytest.mark.parametrize("text", ["The cat sat – “so” 5 € #1 ™ 猫 Ω.", ""])
def test_texts_without_symbols(kind: str, text: str) -> None:
    assert not_applicable(kind, text)


@pytest.mark.parametrize("kind", ["symbol_changed", "symbol_dropped"])
def test_more_severe_damage_is_at_least_as_much(kind: str) -> None:
    text = " ".join(EMOJI[:20])
    for seed in range(5):
        damaged = [damage_text(text, kind, severity, seed=seed) for severity in (0.05, 0.5, 1.0)]
        left = [sum(emoji in (result or "") for emoji in EMOJI[:20]) for result in damaged]
        assert left == sorted(left, reverse=True)
        assert left[0] == 19 or kind == "symbol_changed"  # which may bring one of the others


def test_any_two_emoji_differ() -> None:
    assert len(set(EMOJI)) == len(EMOJI)
    row = surface_features(EMOJI[1:], EMOJI[:-1])[:, SURFACE.index("symbol_overlap")]
    assert not row.any()


@given(st.integers(0, 2**32))
def test_texts_get_the_same_emoji(seed: int) -> None:
    short, long = with_emoji(["We won.", "It is we who won the game in the end."], Random(seed))
    added = re.findall(ANY_EMOJI, short)
    assert 1 <= len(added) <= 2
    assert sorted(re.findall(ANY_EMOJI, long)) == sorted(added)
    assert re.sub(f" {ANY_EMOJI}", "", short) == "We won."
    assert with_emoji(["a b c", "a b c"], Random(seed))[0] == with_emoji(["a b c"], Random(seed))[0]


def test_texts_without_words_get_none() -> None:
    assert with_emoji(["", " \n"], Random(0)) == ["", " \n"]
