"""Batches by length: everything once, within bounds, and at the least cost."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.runtime.batching import (
    batches_by_length,
    cheapest_batches,
    distinct,
    equal_length_batches,
)


@given(
    st.lists(st.integers(0, 60), max_size=80), st.integers(1, 200), st.integers(1, 20)
)  # fmt: skip
def test_batches_hold_everything_once_and_keep_their_bounds(
    lengths: list[int], tokens: int, count: int
) -> None:
    batches = batches_by_length(lengths, max_tokens=tokens, max_count=count)
    assert sorted(at for batch in batches for at in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[at] for at in batch)
        assert len(batch) <= count
        assert len(batch) == 1 or longest * len(batch) <= tokens
    # Similar lengths: no sentence of a batch is longer than any of the batch before.
    for before, after in pairwise(batches):
        assert min(lengths[at] for at in before) >= max(lengths[at] for at in after)


@pytest.mark.parametrize(("tokens", "count"), [(0, 1), (1, 0)])
def test_batches_of_nothing_are_refused(tokens: int, count: int) -> None:
    with pytest.raises(AdequaError, match="1 or more"):
        batches_by_length([1], max_tokens=tokens, max_count=count)


@given(st.lists(st.text(max_size=2)))
def test_distinct_items_restore_all(items: list[str]) -> None:
    different, at = distinct(items)
    assert [different[place] for place in at] == items
    assert different == list(dict.fromkeys(items))


def cost(lengths: list[int], batches: list[list[int]], overhead: int) -> int:
    """Tokens with padding, and the overhead of every batch."""
    return sum(max(lengths[at] for at in batch) * len(batch) + overhead for batch in batches)


def all_batches(lengths: list[int]) -> list[list[list[int]]]:
    """Every way to cut the positions, sorted by length, into batches."""
    order = sorted(range(len(lengths)), key=lambda at: -lengths[at])
    inner = range(1, len(order))
    cuts = [c for count in range(len(order)) for c in combinations(inner, count)]
    return [[order[a:b] for a, b in pairwise((0, *cut, len(order)))] for cut in cuts]


@given(st.lists(st.integers(1, 20), min_size=1, max_size=7), st.integers(0, 30))
def test_no_other_batches_cost_less(lengths: list[int], overhead: int) -> None:
    found = [
        batch.tolist() for batch in cheapest_batches(lengths, max_tokens=999, overhead=overhead)
    ]
    assert sorted(at for batch in found for at in batch) == list(range(len(lengths)))
    least = min(cost(lengths, batches, overhead) for batches in all_batches(lengths))
    assert cost(lengths, found, overhead) == least


@given(st.lists(st.integers(1, 40), max_size=300), st.integers(1, 200), st.integers(0, 500))
def test_cheapest_batches_hold_everything_once_and_fit(
    lengths: list[int], tokens: int, overhead: int
) -> None:
    batches = [b.tolist() for b in cheapest_batches(lengths, max_tokens=tokens, overhead=overhead)]
    assert sorted(at for batch in batches for at in batch) == list(range(len(lengths)))
    assert all(len(b) == 1 or max(lengths[at] for at in b) * len(b) <= tokens for b in batches)


@given(st.lists(st.integers(0, 40), max_size=300), st.integers(1, 200))
def test_equal_length_batches_hold_everything_once_and_fit(lengths: list[int], tokens: int) -> None:
    batches = [b.tolist() for b in equal_length_batches(lengths, max_tokens=tokens)]
    assert sorted(at for batch in batches for at in batch) == list(range(len(lengths)))
    assert all(len({lengths[at] for at in batch}) == 1 for batch in batches)
    assert all(len(b) == 1 or max(lengths[at] for at in b) * len(b) <= tokens for b in batches)
