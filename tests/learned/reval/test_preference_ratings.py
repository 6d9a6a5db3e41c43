"""Ratings from preferences: values by hand, and what holds whatever people preferred."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.judgements import Preferences
from adequa.learned.reval.preference_ratings import Formula, rated_preferences, similarity
from adequa.segments import Segments
from judgements import needs_judgements

FORMULAS: tuple[Formula, ...] = ("share", "smoothed")
Pairs = list[tuple[str, str]]


def preferences(pairs: Pairs) -> Preferences:
    better, worse = (tuple(pair[side] for pair in pairs) for side in (0, 1))
    references = (("r",),) * len(pairs)
    return Preferences(
        {"lp": ("cs-en",) * len(pairs)},
        better=Segments(better, references),
        worse=Segments(worse, references),
        name="some",
    )


def test_wins_and_losses_by_hand() -> None:
    # a beats b three times and c once, c beats a once; b never wins.
    given = preferences([("a", "b")] * 3 + [("a", "c"), ("c", "a")])
    for formula, expected in (
        ("share", [1 + 4 * 4 / 5, 1 + 4 * 1 / 2, 1.0]),
        ("smoothed", [1 + 4 * 5 / 7, 1 + 4 * 2 / 4, 1 + 4 * 1 / 5]),
    ):
        found = rated_preferences(given, formula)  # type: ignore[arg-type]
        assert found.segments is not None
        assert found.segments.hypotheses == ("a", "c", "b")
        assert found.scores == pytest.approx(expected)
        assert found.ids["lp"] == ("cs-en",) * 3
        assert found.name == "some"


def test_the_same_output_of_another_reference_is_another() -> None:
    both = Preferences(
        {"lp": ("cs-en", "cs-en")},
        better=Segments(("a", "b"), (("r",), ("s",))),
        worse=Segments(("b", "a"), (("r",), ("s",))),
    )
    assert rated_preferences(both, "share").scores.tolist() == [5, 5, 1, 1]


def test_preferences_between_equal_texts_say_nothing() -> None:
    found = rated_preferences(preferences([("a", "a"), ("a", "b")]), "share")
    assert found.scores.tolist() == [5, 1]
    with pytest.raises(AdequaError, match="no preferences between different texts"):
        rated_preferences(preferences([("a", "a")]), "share")


def test_preferences_without_texts() -> None:
    bare = Preferences({"lp": ("cs-en",)}, name="bare")
    with pytest.raises(AdequaError, match="no texts in bare"):
        rated_preferences(bare, "share")
    with pytest.raises(AdequaError, match='"shares" is not a value of formula.*"share"'):
        rated_preferences(preferences([("a", "b")]), "shares")  # type: ignore[arg-type]


def test_outputs_that_were_hardly_compared_can_be_left_out() -> None:
    given = preferences([("a", "b")] * 3 + [("a", "c")])
    found = rated_preferences(given, "share", fewest=3)
    assert found.segments is not None
    assert found.segments.hypotheses == ("a", "b")
    with pytest.raises(AdequaError, match="No output in some was compared 9 times"):
        rated_preferences(given, "share", fewest=9)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")).filter(lambda p: p[0] != p[1]),
        min_size=1,
    )
)
def test_they_are_on_the_scale_and_in_balance(pairs: Pairs) -> None:
    for formula in FORMULAS:
        found = rated_preferences(preferences(pairs), formula)
        assert ((found.scores >= 1) & (found.scores <= 5)).all()
    # Every comparison has one who wins and one who loses: weighted by comparisons, the mean is 3.
    assert found.segments is not None
    count = {text: sum(text in pair for pair in pairs) for text in found.segments.hypotheses}
    weights = [count[text] + 2 for text in found.segments.hypotheses]
    assert np.average(found.scores, weights=weights) == pytest.approx(3)


@given(st.integers(0, 50), st.integers(1, 50))
def test_smoothing_draws_to_the_middle_and_keeps_the_side(wins: int, losses: int) -> None:
    share, smoothed = (
        similarity(np.array([float(wins)]), np.array([float(losses)]), formula)[0] - 3
        for formula in FORMULAS
    )
    assert abs(smoothed) <= abs(share) + 1e-12
    assert np.sign(round(share, 9)) == np.sign(round(smoothed, 9))


@needs_judgements
def test_every_output_of_wmt13_that_was_compared_is_rated() -> None:
    found = rated_preferences(load_dataset("wmt13-rr"), "share")  # type: ignore[arg-type]
    assert len(found) == 77_790
    assert (found.scores.min(), found.scores.max()) == (1, 5)
