"""Edits of a text, and which of them a severity selects."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from adequa.damage.base import Edit, apply_edits, fraction_count, select_edits


@given(st.integers(1, 40), st.floats(0.01, 1), st.floats(0.01, 1), st.integers(0, 2**32))
def test_a_higher_severity_includes_the_edits_of_a_lower_one(
    count: int, one: float, other: float, seed: int
) -> None:
    edits = [Edit(start, start + 1, "") for start in range(count)]
    milder, graver = (select_edits(edits, s, Random(seed)) for s in sorted((one, other)))
    assert set(milder) <= set(graver)
    assert len(milder) == fraction_count(count, min(one, other)) >= 1
    assert len(apply_edits("x" * count, graver)) == count - len(graver)
