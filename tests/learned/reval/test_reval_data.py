"""Training data of a Tree-LSTM: splits, the criterion of an epoch, ratings from preferences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings
from adequa.learned.reval.data import (
    Formula,
    TreeJudgements,
    collect_judgements,
    rate_preferences,
    similarity,
)
from adequa.segments import Segments
from judgements import needs_judgements
from tiny_trees import rated

NOTES: list[str] = []


@pytest.fixture(autouse=True)
def _no_notes() -> None:
    NOTES.clear()


def collected(
    judgements: Sequence[Ratings | Preferences], development: Sequence[Ratings] = ()
) -> TreeJudgements:
    return collect_judgements(
        judgements, development, formula="share", min_comparisons=1, seed=0, note=NOTES.append
    )


def ratings(scores: Sequence[float], pairs: Sequence[str], name: str = "few") -> Ratings:
    texts = [f"text {at}" for at in range(len(scores))]
    segments = Segments(tuple(texts), tuple((text,) for text in texts))
    return Ratings(np.array(scores, float), {"lp": tuple(pairs)}, segments, name=name)


def test_of_development_data_with_a_split_the_part_dev_is_chosen_on() -> None:
    chosen_on = rated(30, seed=1)
    splits = ("train",) * 10 + ("dev",) * 12 + ("test",) * 8
    result = collected([rated(40)], [replace(chosen_on, ids={"split": splits}), rated(5, seed=2)])
    assert len(result.development) == 12 + 5
    assert result.development.scores[:12].tolist() == chosen_on.scores[10:22].tolist()
    with pytest.raises(AdequaError, match='no row of it is "dev"; leave the column out to choose'):
        collected([rated(40)], [replace(chosen_on, ids={"split": ("test",) * 30})])


def test_pairs_without_ratings_that_differ_do_not_count() -> None:
    pairs = ["cs-en"] * 4 + ["de-en"] + ["fi-en"] * 3
    human = [1, 2, 4, 3, 5, 2, 2, 2]
    result = collected([rated(40)], [ratings(human, pairs)])
    assert [[rows.tolist() for rows in each] for each in result.groups] == [[[0, 1, 2, 3]]]
    predictions = np.array([1.0, 3.0, 4.0, 2.0, 1.0, 2.0, 3.0, 4.0])
    expected = stats.pearsonr(human[:4], predictions[:4])[0]
    assert result.criterion(predictions) == pytest.approx(expected)
    assert NOTES == []


def test_the_figure_is_a_mean_of_means() -> None:
    draw = np.random.default_rng(0)
    human, predictions = draw.random(12), draw.random(12)
    first = ratings(human[:8].tolist(), ["cs-en"] * 4 + ["de-en"] * 4, "one")
    result = collected([rated(40)], [first, ratings(human[8:].tolist(), ["cs-en"] * 4, "two")])
    one, two, three = (stats.pearsonr(human[at : at + 4], predictions[at : at + 4])[0]
                       for at in (0, 4, 8))  # fmt: skip
    assert result.criterion(predictions) == pytest.approx(((one + two) / 2 + three) / 2)


def test_all_ratings_count_together_where_no_pair_has_any_that_differ() -> None:
    human = [1, 1, 4, 5]
    result = collected([rated(40)], [ratings(human, ["cs-en", "cs-en", "de-en", "fi-en"])])
    predictions = np.array([1.0, 2.0, 5.0, 4.0])
    assert result.criterion(predictions) == pytest.approx(stats.pearsonr(human, predictions)[0])
    assert NOTES == [
        "few: no language pair has ratings that differ, so that the epoch is chosen by the "
        "correlation over all of them."
    ]


def test_predictions_that_do_not_differ() -> None:
    result = collected([rated(40)], [ratings([1, 2, 3, 4], ["cs-en"] * 2 + ["de-en"] * 2)])
    assert result.criterion(np.full(4, 3.0)) == -1
    # In one pair alone they say nothing, which is better than the opposite.
    assert result.criterion(np.array([3.0, 3.0, 3.0, 4.0])) == pytest.approx(0.5)


def test_too_few_are_held_out() -> None:
    few = rated(3)
    with pytest.raises(AdequaError) as raised:
        collected([few])
    assert str(raised.value) == (
        "Too few ratings that differ are held out to choose the epoch (1 of 3); give more, or name "
        "--development."
    )
    alike = replace(rated(20), scores=np.array([5.0] + [1.0] * 19))
    with pytest.raises(AdequaError) as raised:
        collected([alike])
    assert str(raised.value) == (
        "Too few ratings that differ are held out to choose the epoch (2 of 20); give more, or "
        "name --development."
    )
    alone = replace(few, ids={"split": ("train",) * 3})
    with pytest.raises(AdequaError, match="no ratings to choose the best epoch on"):
        collected([alone])


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
    compared = preferences([("a", "b")] * 3 + [("a", "c"), ("c", "a")])
    for formula, expected in (
        ("share", [1 + 4 * 4 / 5, 1 + 4 * 1 / 2, 1.0]),
        ("smoothed", [1 + 4 * 5 / 7, 1 + 4 * 2 / 4, 1 + 4 * 1 / 5]),
    ):
        result = rate_preferences(compared, formula)  # type: ignore[arg-type]
        assert result.segments is not None
        assert result.segments.hypotheses == ("a", "c", "b")
        assert result.scores == pytest.approx(expected)
        assert result.ids["lp"] == ("cs-en",) * 3
        assert result.name == "some"


def test_the_same_output_of_another_reference_is_another() -> None:
    both = Preferences(
        {"lp": ("cs-en", "cs-en")},
        better=Segments(("a", "b"), (("r",), ("s",))),
        worse=Segments(("b", "a"), (("r",), ("s",))),
    )
    assert rate_preferences(both, "share").scores.tolist() == [5, 5, 1, 1]


def test_preferences_between_equal_texts_say_nothing() -> None:
    result = rate_preferences(preferences([("a", "a"), ("a", "b")]), "share")
    assert result.scores.tolist() == [5, 1]
    with pytest.raises(AdequaError, match="no preferences between different texts"):
        rate_preferences(preferences([("a", "a")]), "share")


def test_preferences_without_texts() -> None:
    bare = Preferences({"lp": ("cs-en",)}, name="bare")
    with pytest.raises(AdequaError, match="no texts in bare"):
        rate_preferences(bare, "share")
    with pytest.raises(AdequaError, match='"shares" is not a value of formula.*"share"'):
        rate_preferences(preferences([("a", "b")]), "shares")  # type: ignore[arg-type]


def test_outputs_that_were_hardly_compared_can_be_left_out() -> None:
    compared = preferences([("a", "b")] * 3 + [("a", "c")])
    result = rate_preferences(compared, "share", min_comparisons=3)
    assert result.segments is not None
    assert result.segments.hypotheses == ("a", "b")
    with pytest.raises(AdequaError, match="No output in some was compared 9 times"):
        rate_preferences(compared, "share", min_comparisons=9)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")).filter(lambda p: p[0] != p[1]),
        min_size=1,
    )
)
def test_they_are_on_the_scale_and_in_balance(pairs: Pairs) -> None:
    for formula in FORMULAS:
        result = rate_preferences(preferences(pairs), formula)
        assert ((result.scores >= 1) & (result.scores <= 5)).all()
    # Every comparison has one who wins and one who loses: weighted by comparisons, the mean is 3.
    assert result.segments is not None
    count = {text: sum(text in pair for pair in pairs) for text in result.segments.hypotheses}
    weights = [count[text] + 2 for text in result.segments.hypotheses]
    assert np.average(result.scores, weights=weights) == pytest.approx(3)


@given(st.integers(0, 50), st.integers(1, 50))
def test_smoothing_draws_to_the_middle_and_keeps_the_side(wins: int, losses: int) -> None:
    share, smoothed = (
        similarity(np.array([float(wins)]), np.array([float(losses)]), formula)[0] - 3
        for formula in FORMULAS
    )
    assert abs(smoothed) <= abs(share) + 1e-12
    assert np.sign(round(share, 9)) == np.sign(round(smoothed, 9))


@needs_judgements
def test_every_output_of_wmt12_that_was_compared_is_rated() -> None:
    judged = load_dataset("wmt12-rr")
    assert isinstance(judged, Preferences)
    result = rate_preferences(judged, "share")
    assert judged.better is not None
    assert judged.worse is not None
    pairs = judged.ids["lp"]
    better, worse = (
        list(zip(side.hypotheses, side.references, pairs, strict=True))
        for side in (judged.better, judged.worse)
    )
    compared = {output for pair in zip(better, worse, strict=True) if pair[0] != pair[1]
                for output in pair}  # fmt: skip
    assert len(result) == len(compared) == 19_360
    assert (result.scores.min(), result.scores.max()) == (1, 5)
