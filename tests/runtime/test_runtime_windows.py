"""Windows: every token in exactly one, none too long, cut where a reader would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.runtime.tokens import (
    INSIDE,
    SENTENCE,
    WORD,
    Boundaries,
    combine_scores,
    split_windows,
    token_boundaries,
)

KINDS = st.lists(st.integers(0, 2), max_size=400).map(lambda kinds: np.array(kinds, dtype=np.int8))


@given(KINDS, KINDS, st.integers(2, 60))
def test_every_token_is_in_one_window_and_none_is_too_long(
    first: Boundaries, second: Boundaries, limit: int
) -> None:
    found = split_windows(first, second, limit)
    for cuts, kinds in ((found.first, first), (found.second, second)):
        assert cuts[0] == 0
        assert cuts[-1] == len(kinds)
        assert (np.diff(cuts) >= 0).all()
        assert len(cuts) == len(found) + 1
    assert found.lengths.max() <= limit
    assert found.lengths.sum() == len(first) + len(second)


@given(KINDS, KINDS, st.integers(8, 60))
def test_there_are_hardly_more_windows_than_needed(
    first: Boundaries, second: Boundaries, limit: int
) -> None:
    """Cuts fall on whole tokens, which makes a window longer by one of each text at most."""
    total = len(first) + len(second)
    assert len(split_windows(first, second, limit)) <= max(-(-total // (limit - 2)), 1)


@given(KINDS, KINDS, st.integers(2, 60))
def test_cuts_stay_near_equal_shares(first: Boundaries, second: Boundaries, limit: int) -> None:
    found = split_windows(first, second, limit)
    for cuts, kinds in ((found.first, first), (found.second, second)):
        even = np.arange(len(found) + 1) * len(kinds) / len(found)
        assert np.abs(cuts - even).max() <= 0.2 * len(kinds) / len(found) + 0.5


def test_a_cut_moves_to_the_end_of_a_sentence_and_else_of_a_word() -> None:
    kinds = np.full(100, INSIDE, dtype=np.int8)
    kinds[[44, 53]] = WORD
    assert split_windows(kinds, kinds, 140).first.tolist() == [0, 53, 100]
    kinds[58] = SENTENCE
    assert split_windows(kinds, kinds, 140).first.tolist() == [0, 58, 100]
    kinds[30] = SENTENCE  # too far
    assert split_windows(kinds, kinds, 140).first.tolist() == [0, 58, 100]
    # No room to move that far.
    assert split_windows(kinds, kinds, 106).first.tolist() == [0, 53, 100]
    assert split_windows(kinds, kinds, 100).first.tolist() == [0, 50, 100]


def test_texts_of_unequal_length_are_cut_at_equal_shares() -> None:
    found = split_windows(np.zeros(60, np.int8), np.zeros(30, np.int8), 30)
    assert found.first.tolist() == [0, 20, 40, 60]
    assert found.second.tolist() == [0, 10, 20, 30]
    empty = split_windows(np.zeros(0, np.int8), np.zeros(30, np.int8), 10)
    assert empty.first.tolist() == [0, 0, 0, 0]


def test_what_fits_is_one_window() -> None:
    assert len(split_windows(np.zeros(5, np.int8), np.zeros(5, np.int8), 10)) == 1
    assert len(split_windows(np.zeros(0, np.int8), np.zeros(0, np.int8), 10)) == 1


def test_a_window_holds_a_token_of_each_at_least() -> None:
    with pytest.raises(AdequaError, match="A window of 1 tokens"):
        split_windows(np.zeros(5, np.int8), np.zeros(5, np.int8), 1)


@pytest.mark.parametrize(
    ("text", "start", "kind"),
    [
        ("one two", 4, WORD),
        ("one two", 3, WORD),  # a token that begins with its space
        ("one two", 5, INSIDE),
        ("one two", 0, INSIDE),
        ("One. Two", 5, SENTENCE),
        ("One. Two", 4, SENTENCE),
        ("One.\n\nTwo", 6, SENTENCE),
        ('"One." Two', 7, SENTENCE),
        ("Why?) Two", 6, SENTENCE),
        ("3.14", 2, INSIDE),
        ("one , two", 6, WORD),
        ("一。二", 2, SENTENCE),
        ("一二", 1, INSIDE),
        ("'' two", 3, WORD),
    ],
)
def test_what_stands_before_a_token(text: str, start: int, kind: int) -> None:
    assert token_boundaries(text, [(start, start + 1)]).tolist() == [kind]


@given(st.text(), st.data())
def test_any_text_can_be_cut(text: str, data: st.DataObject) -> None:
    starts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    kinds = token_boundaries(text, [(start, start) for start in starts])
    assert len(kinds) == len(starts)


@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 50)), min_size=1))
def test_the_combined_score_lies_among_those_of_the_windows(parts: list[tuple[float, int]]) -> None:
    scores, lengths = (np.array(column) for column in zip(*parts, strict=True))
    assert scores.min() - 1e-9 <= combine_scores(scores, lengths) <= scores.max() + 1e-9
