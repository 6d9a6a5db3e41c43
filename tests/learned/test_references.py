"""Scores of all references become one, and segments that share a reference are one group."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adequa.learned.folds import reference_groups
from adequa.segments import Segments, reduce_pairs

SCORES = st.lists(st.lists(st.floats(-9, 9), min_size=1, max_size=4), min_size=1, max_size=6)


@given(scores=SCORES)
def test_the_best_and_the_mean_of_each_segment(scores: list[list[float]]) -> None:
    segment = np.repeat(np.arange(len(scores)), [len(each) for each in scores])
    flat = np.concatenate(scores)
    assert reduce_pairs(flat, segment, "best").tolist() == [max(each) for each in scores]
    means = [np.mean(each) for each in scores]
    np.testing.assert_allclose(reduce_pairs(flat, segment, "mean"), means, atol=1e-12)
    for reduction in ("best", "mean"):
        both = reduce_pairs(np.column_stack([flat, -flat]), segment, reduction)
        for column, sign in enumerate((1, -1)):
            expected = reduce_pairs(sign * flat, segment, reduction)
            np.testing.assert_array_equal(both[:, column], expected)


def test_segments_may_be_missing() -> None:
    """As among held-out ones, whose indices are those of all segments."""
    scores = reduce_pairs(np.array([1.0, 2.0, 4.0]), np.array([3, 3, 8]), "mean")
    assert scores.tolist() == [1.5, 4.0]


def test_groups_are_joined_through_a_third_segment() -> None:
    groups = reference_groups(
        Segments(("a",) * 5, (("p",), ("q",), ("r", "s"), ("s", "p", "q"), ("t",)))
    )
    assert len(set(groups[:4])) == 1
    assert groups[4] not in groups[:4]
