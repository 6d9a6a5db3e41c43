"""The steps of a pass: every item once, the same for the same seed, similar lengths together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adequa.learned.pair.train import shuffled_steps, step_count

LENGTHS = st.lists(st.integers(1, 90), min_size=1, max_size=300)


@given(lengths=LENGTHS, batch=st.integers(1, 20), seed=st.integers(0, 9))
def test_every_item_is_in_one_step(lengths: list[int], batch: int, seed: int) -> None:
    steps = shuffled_steps(np.array(lengths), batch, 50, (seed,))
    assert sorted(np.concatenate(steps).tolist()) == list(range(len(lengths)))
    assert len(steps) == step_count(len(lengths), batch, 1)
    assert all(1 <= len(step) <= batch for step in steps)
    assert sum(len(step) < batch for step in steps) <= 1


@given(lengths=LENGTHS, batch=st.integers(1, 20), seed=st.integers(0, 9))
def test_steps_depend_on_the_seed_alone(lengths: list[int], batch: int, seed: int) -> None:
    np.random.seed(1)  # noqa: NPY002  # that it does not matter is what is tested
    once = shuffled_steps(np.array(lengths), batch, 50, (seed, 3))
    np.random.seed(2)  # noqa: NPY002
    again = shuffled_steps(np.array(lengths), batch, 50, (seed, 3))
    assert [step.tolist() for step in once] == [step.tolist() for step in again]


def test_another_pass_draws_other_steps() -> None:
    lengths = np.arange(1, 65)
    passes = [shuffled_steps(lengths, 4, 50, (0, turn)) for turn in range(3)]
    orders = {tuple(np.concatenate(steps).tolist()) for steps in passes}
    assert len(orders) == 3


def test_items_of_a_step_are_of_similar_length() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, 3000)
    steps = shuffled_steps(lengths, 10, 50, (0,))
    padding = sum(len(step) * int(lengths[step].max()) for step in steps) / lengths.sum() - 1
    assert padding < 0.05
    # Long and short ones come in turns, not sorted through the pass.
    longest = np.array([int(lengths[step].max()) for step in steps])
    assert abs(np.corrcoef(np.arange(len(longest)), longest)[0, 1]) < 0.2


def test_step_counts() -> None:
    assert step_count(1, 100, 0.01) == 1  # never none
    assert step_count(100, 10, 3) == 30
    assert step_count(101, 10, 1) == 11
