"""Folds and splits are partitions that keep groups whole, and are as even as groups allow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.learned.folds import (
    FittedRegressor,
    grouped_folds,
    mean_over_folds,
    split_off,
    validation_agreement,
)
from adequa.statistics.correlation import pearson

few_groups = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=60)
seeds = st.integers(0, 2**32)


@given(groups=few_groups, folds=st.integers(2, 10), seed=seeds)
def test_every_group_lies_in_one_fold_and_no_fold_is_empty(
    groups: list[str], folds: int, seed: int
) -> None:
    if len(set(groups)) < folds:
        with pytest.raises(AdequaError, match=f"{folds} folds need at least {folds} groups"):
            grouped_folds(groups, folds, seed)
        return
    fold_of_row = grouped_folds(groups, folds, seed)
    assert len(set(zip(groups, fold_of_row.tolist(), strict=True))) == len(set(groups))
    assert sorted(set(fold_of_row.tolist())) == list(range(folds))


@given(groups=few_groups, folds=st.integers(2, 10), seed=seeds)
def test_no_fold_exceeds_the_smallest_by_more_than_a_group(
    groups: list[str], folds: int, seed: int
) -> None:
    if len(set(groups)) >= folds:
        rows = np.bincount(grouped_folds(groups, folds, seed))
        assert rows.max() - rows.min() <= max(map(groups.count, groups))


def test_folds_of_single_rows_differ_by_at_most_one_row() -> None:
    rows = np.bincount(grouped_folds(list(map(str, range(4824))), 10, seed=3))
    assert sorted(rows.tolist()) == [482] * 6 + [483] * 4


def test_large_groups_are_placed_first() -> None:
    # By hand: 5 and 4 part, 3 joins 4, then 2 joins 5, which gives 7 and 7.
    groups = list("aaaaabbbbcccdd")
    assert np.bincount(grouped_folds(groups, 2, seed=0)).tolist() == [7, 7]


def test_the_seed_decides_and_names_do_not() -> None:
    groups = list(map(str, range(100)))
    first, again, other = (grouped_folds(groups, 5, seed) for seed in (1, 1, 2))
    renamed = grouped_folds([f"group {name}" for name in groups], 5, 1)
    assert first.tolist() == again.tolist() == renamed.tolist() != other.tolist()


def test_one_fold_is_no_cross_validation() -> None:
    with pytest.raises(AdequaError, match="at least 2 folds, not 1"):
        grouped_folds(["a", "b"], 1, seed=1)


def rows_alone(count: int) -> list[str]:
    """Groups of one row each."""
    return [str(row) for row in range(count)]


@given(rows=st.integers(2, 200), fraction=st.floats(0.01, 0.99), seed=seeds)
def test_rows_are_split_off_one_by_one(rows: int, fraction: float, seed: int) -> None:
    validation = split_off(rows_alone(rows), fraction, seed)
    assert validation.sum() == min(max(1, round(fraction * rows)), rows - 1)


@given(groups=few_groups, fraction=st.floats(0.01, 0.99), seed=seeds)
def test_groups_are_split_off_whole(groups: list[str], fraction: float, seed: int) -> None:
    if len(set(groups)) == 1:
        with pytest.raises(AdequaError, match="at least 2 groups of rows, but there is 1"):
            split_off(groups, fraction, seed)
        return
    validation = split_off(groups, fraction, seed)
    inside = set(np.array(groups)[validation].tolist())
    outside = set(np.array(groups)[~validation].tolist())
    assert inside
    assert outside
    assert not inside & outside
    limit = max(1, round(fraction * len(groups)))
    assert validation.sum() <= limit or len(inside) == 1
    # Another group was left out only because it would have passed the share.
    if len(outside) > 1:
        assert validation.sum() + min(map(groups.count, outside)) > limit


def test_another_seed_splits_off_other_rows() -> None:
    first, again, other = (split_off(rows_alone(100), 0.1, seed).tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, float("nan")])
def test_the_fraction_lies_between_0_and_1(fraction: float) -> None:
    with pytest.raises(AdequaError, match="lies between 0 and 1"):
        split_off(rows_alone(10), fraction, seed=1)


def test_nothing_cannot_be_split() -> None:
    with pytest.raises(AdequaError, match="there are 0"):
        split_off([], 0.1, seed=1)


# Two folds whose regressors differ by an offset of 10, which says nothing about agreement.
HUMAN = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 4.0])
PREDICTIONS = np.array([1.0, 3.0, 2.0, 11.0, 12.0, 14.0])
FOLDS = np.array([0, 0, 0, 1, 1, 1])


def test_agreement_is_the_mean_over_folds_whatever_their_offset() -> None:
    fitted = FittedRegressor(None, {}, 1, 2, 0.75, np.arange(6), FOLDS, PREDICTIONS)
    report = validation_agreement(HUMAN, {"lp": ("a-b", "a-b", "a-b", "c-d", "c-d", "c-d")}, fitted)
    # By hand: in the first fold r = 1/2 and tau = 1/3, in the second both are 1.
    assert report["all"] == {"rows": 6, "pearson": 0.75, "kendall": pytest.approx(2 / 3, abs=1e-6)}
    assert report["by_language_pair"]["a-b"]["pearson"] == 0.5
    assert report["by_language_pair"]["c-d"]["pearson"] == 1.0
    assert (report["mean_over_folds"], report["folds"]) == (True, 2)
    pooled = float(pearson(HUMAN, PREDICTIONS))
    assert pooled == pytest.approx(np.corrcoef(HUMAN, PREDICTIONS)[0, 1])
    assert pooled < 0.4  # what one correlation over all folds would say


def test_folds_without_a_correlation() -> None:
    constant = np.array([1.0, 3.0, 2.0, 5.0, 5.0, 5.0])
    assert mean_over_folds(pearson, HUMAN, constant, FOLDS) == pytest.approx(0.25)  # counts as 0
    single = np.array([0, 0, 0, 1, 2, 2])  # the fold of one row does not count
    expected = (0.5 + 1.0) / 2
    assert mean_over_folds(pearson, HUMAN, PREDICTIONS, single) == pytest.approx(expected)
    assert np.isnan(mean_over_folds(pearson, HUMAN, np.ones(6), FOLDS))
    assert np.isnan(mean_over_folds(pearson, HUMAN[:1], PREDICTIONS[:1], FOLDS[:1]))
