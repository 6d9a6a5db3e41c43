"""What is held out: the draw by text, groups of references, rows once, and enough to choose by."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.judgements import Judgements, Ratings
from adequa.learned.pair.subsets import SegmentJudgements
from adequa.statistics.correlation import pearson

pytest.importorskip("torch", reason="training needs PyTorch")

from adequa.learned.pair.development import Development, criterion
from adequa.learned.pair.plan import DevelopmentPlan, StagePlan
from tiny_pair_data import (  # needs PyTorch
    NONE_HELD_OUT,
    PREFERENCES,
    RATINGS,
    collected,
    developed_pairs,
    learnt_pairs,
    preferred,
    rated,
    sentence,
)
from tiny_transformer import tiny_preferences, tiny_ratings

TENTH = DevelopmentPlan(share=0.1)


def drawn_by_hand(text: str, seed: int) -> float:
    return int(hashlib.sha256(f"{seed}\t{text}".encode()).hexdigest()[:16], 16) / 2**64


def many(several: list[str]) -> Ratings:
    """A rating for each set of references, which have bars between them."""
    return rated(*((f"h{at}", each, float(at % 7)) for at, each in enumerate(several)))


def share_of(several: list[str], seed: int = 0) -> float:
    data = collected(RATINGS, judgements=[many(several)], development=TENTH, seed=seed)
    return data.development_rows["ratings"] / len(several)


@given(
    texts=st.sets(st.text("abcXYZ é", min_size=1).filter(str.strip), min_size=30),
    seed=st.integers(0, 10**6),
    share=st.floats(0.05, 0.5),
)
def test_single_references_are_drawn_by_their_text(
    texts: set[str], seed: int, share: float
) -> None:
    """Measured results rest on these draws: no version may change them."""
    expected = {text for text in texts if drawn_by_hand(text, seed) < share}
    data = collected(
        RATINGS,
        judgements=[many(sorted(texts))],
        development=DevelopmentPlan(share=share),
        seed=seed,
    )
    assert {reference for reference, _ in developed_pairs(data)} == expected
    assert {reference for reference, _ in learnt_pairs(data)} == texts - expected


def test_a_known_draw() -> None:
    several = [f"reference {at}" for at in range(40)]
    data = collected(RATINGS, judgements=[many(several)], development=TENTH, seed=3)
    found = sorted(int(reference.split()[1]) for reference, _ in developed_pairs(data))
    assert found == [1, 4, 10, 21, 26, 38]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_share_is_the_same_for_any_number_of_references(count: int) -> None:
    several = ["|".join(f"{at}.{each}" for each in range(count)) for at in range(1000)]
    # Six standard deviations of a draw of one in ten.
    assert share_of(several) == pytest.approx(0.1, abs=6 * (0.09 / 1000) ** 0.5)


def test_nor_does_a_common_second_reference_enlarge_it() -> None:
    several = [f"{at}|common {at // 5}" for at in range(1000)]
    assert share_of(several) == pytest.approx(0.1, abs=6 * (0.09 / 200) ** 0.5)


def test_a_group_is_drawn_by_its_smallest_text() -> None:
    several = [f"b{at}|a{at}" for at in range(60)]
    data = collected(RATINGS, judgements=[many(several)], development=TENTH, seed=1)
    expected = {f"b{at}" for at in range(60) if drawn_by_hand(f"a{at}", 1) < 0.1}
    assert expected
    assert {reference for reference, _ in developed_pairs(data)} == expected


def test_a_very_large_group_is_learnt_from() -> None:
    chained = [f"c{at}|c{at + 1}" for at in range(60)]
    alone = [f"r{at}" for at in range(60)]
    for seed in range(30):
        data = collected(
            RATINGS, judgements=[many([*chained, *alone])], development=TENTH, seed=seed
        )
        assert not any(reference.startswith("c") for reference, _ in developed_pairs(data))
    assert data.notes == (
        "of 121 references 61 hang together, each beside the next in some segment; none of them "
        "is held out, since all would be.",
    )


def test_texts_that_no_one_judged_are_held_out_only_beside_judged_ones(
    tmp_path: Path,
) -> None:
    plain = tmp_path / "plain.tsv"
    plain.write_text("mt\tref\n" + "".join(f"t{at}\tr{at}\n" for at in range(400)))
    stage = StagePlan("distillation", data=(str(plain),), teacher=("t",))
    judged = many([f"r{at}" for at in range(200)])
    data = collected(stage, RATINGS, judgements=[judged], development=TENTH)
    validation = {reference for reference, _ in developed_pairs(data)}
    assert validation
    (distilled,) = data.stages[0]
    items = np.arange(len(distilled.objective))
    learnt = {data.texts[pair][0] for pair in distilled.objective.task(items).pairs}
    assert not learnt & validation
    assert learnt | validation == {f"r{at}" for at in range(400)}


def test_a_row_counts_once_with_and_without_its_language_pair() -> None:
    files: dict[str, Judgements] = {"x": tiny_preferences(), "y": tiny_ratings(90)}
    development = DevelopmentPlan(share=0.3)
    ordered, scored = replace(PREFERENCES, data=("x",)), replace(RATINGS, data=("y",))
    alone = collected(ordered, scored, files=files, development=development)
    twice = collected(
        replace(ordered, lp=("cs-en",)),
        ordered,
        replace(scored, lp=("de-en",)),
        scored,
        files=files,
        development=development,
    )
    assert twice.development_rows == alone.development_rows
    assert sorted(twice.development.ratings) == sorted(alone.development.ratings)


def test_equal_texts_of_two_rows_count_twice() -> None:
    """They were said twice."""
    rows = [(f"h{at}", f"r{at}", float(at)) for at in range(30)]
    both = collected(
        RATINGS, judgements=[rated(*rows, *rows)], development=DevelopmentPlan(share=0.3)
    )
    once = collected(RATINGS, judgements=[rated(*rows)], development=DevelopmentPlan(share=0.3))
    assert both.development_rows["ratings"] == 2 * once.development_rows["ratings"] > 0


@pytest.mark.parametrize(
    "several", [{"batch": (8, 16)}, {"learning_rate": (1e-5, 2e-5)}, {"epochs": (1.0, 2.0)}]
)
def test_several_trials_need_something_to_choose_by(several: dict[str, tuple[float, ...]]) -> None:
    stage = replace(RATINGS, **several)  # type: ignore[arg-type]  # its fields
    few = rated(("a", "r0", 1.0), ("b", "r1", 2.0))
    seed = next(
        seed for seed in range(99) if min(drawn_by_hand(r, seed) for r in ("r0", "r1")) >= 0.1
    )
    told = sentence(stage, judgements=[few], development=TENTH, seed=seed)
    assert told.startswith("Stage 1 has 2 combinations of settings")
    collected(RATINGS, judgements=[few], development=TENTH, seed=seed)  # one trial needs none
    enough = collected(stage, judgements=[tiny_ratings(90)], development=DevelopmentPlan(share=0.3))
    assert enough.development_rows["ratings"] > 2


def test_what_cannot_differ_is_nothing_to_choose_by() -> None:
    """One rating has no correlation, nor have equal ones; a preference can be right or wrong."""
    stage = replace(RATINGS, epochs=(1.0, 2.0))
    development = DevelopmentPlan(data=("dev",))
    ours: list[SegmentJudgements] = [tiny_ratings(), tiny_preferences()]
    for dev in (rated(("x", "y", 1.0)), rated(("x", "y", 1.0), ("z", "y", 1.0))):
        told = sentence(stage, judgements=ours, files={"dev": dev}, development=development)
        assert "too few judgements are held out" in told
    files: dict[str, Judgements] = {"dev": preferred(("x", "z", "y"))}
    for each in (stage, replace(PREFERENCES, epochs=(1.0, 2.0))):
        collected(each, judgements=ours, files=files, development=development)
    assert "Stage 2" in sentence(RATINGS, stage, judgements=ours, development=NONE_HELD_OUT)


def development(**columns: list[float]) -> Development:
    none: list[float] = []
    whole = ("rated", "rating_groups", "better", "worse")
    found = {name: np.array(columns.get(name, none), np.intp) for name in whole}
    return Development(ratings=np.array(columns.get("ratings", none)), **found)


def test_development_figures_by_hand() -> None:
    scores = np.array([0.0, 1.0, 2.0, 5.0, 3.0, 3.0])
    asked: list[list[int]] = []

    def scores_of(pairs: np.ndarray) -> np.ndarray:
        asked.append(pairs.tolist())
        return np.asarray(scores[pairs])

    validation = development(
        rated=[5, 0, 1, 2, 3], ratings=[9, 1, 2, 2, 7], rating_groups=[2, 0, 0, 1, 1],
        better=[3, 4, 0], worse=[2, 5, 1],
    )  # fmt: skip
    figures = validation.figures(scores_of)
    # Two language pairs of two ratings each, and one of a single rating, which has none.
    assert figures["pearson"] == pytest.approx((1 + 1) / 2)
    assert figures["accuracy"] == 1 / 3  # a tie is not ordered rightly
    assert asked == [[0, 1, 2, 3, 4, 5]]  # each text is scored once


def test_development_means_over_language_pairs() -> None:
    random = np.random.default_rng(0)
    scores, ratings = random.normal(size=20), random.normal(size=20)
    groups = [0] * 6 + [1] * 14
    validation = development(
        rated=list(range(20)), ratings=ratings.tolist(), rating_groups=[float(g) for g in groups]
    )
    each = [float(pearson(ratings[part], scores[part])) for part in (slice(6), slice(6, 20))]
    expected = np.average(each, weights=[6, 14])
    assert validation.figures(lambda pairs: scores[pairs]) == {"pearson": pytest.approx(expected)}


def test_undefined_correlations_count_as_none() -> None:
    validation = development(rated=[0, 1], ratings=[1, 2], rating_groups=[0, 0])
    assert validation.figures(lambda pairs: np.zeros(len(pairs))) == {"pearson": 0.0}
    assert development().figures(lambda _: np.empty(0)) == {}


def test_the_figure_that_chooses() -> None:
    both = {"pearson": 0.5, "accuracy": 0.7}
    assert criterion(both, ("preferences",)) == 0.7
    assert criterion(both, ("ratings",)) == 0.5
    assert criterion(both, ("preferences", "ratings")) == 0.5
    assert criterion({"accuracy": 0.7}, ("ratings",)) == 0.7
    assert criterion({}, ("ratings",)) == 0


def test_a_few_ratings_do_not_outweigh_many() -> None:
    """Of two ratings the correlation is 1 or -1, whatever a network has learnt."""
    random = np.random.default_rng(0)
    human = random.normal(size=206)
    groups = [0] * 200 + [1, 1, 2, 2, 3, 3]
    validation = development(
        rated=list(range(206)), ratings=human.tolist(), rating_groups=[float(g) for g in groups]
    )
    good = np.concatenate([human[:200], -human[200:]])
    lucky = np.concatenate([random.normal(size=200), human[200:]])
    assert validation.figures(lambda _: good)["pearson"] > 0.9
    assert validation.figures(lambda _: lucky)["pearson"] < 0.3
