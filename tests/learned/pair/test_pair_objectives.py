"""Objectives of training: losses and their gradients by hand, and preferences put together."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="training needs PyTorch")

from adequa.learned.pair.objectives import (  # noqa: E402  # needs PyTorch
    Distillation,
    Objective,
    RatingRegression,
    Task,
    damage_order,
    preference_order,
)

PAIRS = 6
# (group, better, worse): the same may be said again, and the opposite too.
SAID = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, PAIRS - 1), st.integers(0, PAIRS - 1)), min_size=1
)


def all_items(objective: Objective) -> Task:
    return objective.task(np.arange(len(objective)))


def loss_and_gradient(task: Task, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Of the scores of all pairs, of which the task takes its own."""
    every = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    value = task.loss(every[task.pairs])
    value.backward()  # type: ignore[no-untyped-call]
    return value.item(), every.grad.numpy()


def plain_loss(better: list[int], worse: list[int], scores: np.ndarray) -> float:
    return sum(
        math.log1p(math.exp(-(scores[one] - scores[other])))
        for one, other in zip(better, worse, strict=True)
    )


@pytest.mark.parametrize("kind", [RatingRegression, Distillation])
def test_squared_error_by_hand(kind: type[RatingRegression] | type[Distillation]) -> None:
    objective = kind(np.array([2, 0, 1]), np.array([1.0, -1.0, 0.5]))
    task = objective.task(np.array([0, 2]))
    value, gradient = loss_and_gradient(task, np.array([9.0, 2.0, 3.0]))
    assert value == (3 - 1) ** 2 + (2 - 0.5) ** 2
    assert gradient.tolist() == [0, 2 * 1.5, 2 * 2]
    assert task.weight == 2  # divided by it, the sum is a mean
    assert objective.lengths(np.array([7, 8, 9])).tolist() == [9, 7, 8]


def test_damage_costs_what_is_missing_of_the_margin() -> None:
    order = damage_order(np.array([0, 2, 4]), np.array([1, 3, 5]), 0.5)
    # Ahead by more than the margin, by less, and behind.
    value, gradient = loss_and_gradient(all_items(order), np.array([2.0, 1.0, 1.0, 0.75, 0.0, 1.0]))
    assert value == pytest.approx(0 + 0.25 + 1.5)
    assert gradient.tolist() == [0, 0, -1, 1, -1, 1]
    assert (len(order), order.name) == (3, "damage")


def test_logistic_loss_by_hand() -> None:
    order = preference_order(np.array([0]), np.array([1]), ["a"])
    value, gradient = loss_and_gradient(all_items(order), np.array([2.0, 0.5]))
    wrong = 1 / (1 + math.exp(1.5))  # the probability of the opposite
    assert value == pytest.approx(-math.log(1 - wrong))
    assert gradient == pytest.approx([-wrong, wrong])


def test_huge_margins_have_finite_losses() -> None:
    order = preference_order(np.array([0, 2]), np.array([1, 3]), ["a", "b"])
    value, gradient = loss_and_gradient(all_items(order), np.array([1e6, -1e6, -1e6, 1e6]))
    assert value == pytest.approx(2e6)
    assert gradient.tolist() == [0, 0, -1, 1]


def test_what_was_said_twice_counts_double_and_is_read_once() -> None:
    order = preference_order(np.array([0, 0, 0]), np.array([1, 1, 2]), ["a"] * 3)
    task = all_items(order)
    assert sorted(task.pairs.tolist()) == [0, 1, 2]
    assert task.weight == 3
    scores = np.array([1.0, 0.5, -1.0])
    assert loss_and_gradient(task, scores)[0] == pytest.approx(
        plain_loss([0, 0, 0], [1, 1, 2], scores)
    )


def test_contradicting_preferences_pull_together() -> None:
    order = preference_order(np.array([0, 1]), np.array([1, 0]), ["a", "a"])
    assert loss_and_gradient(all_items(order), np.array([0.3, 0.3]))[1].tolist() == [0, 0]
    apart = loss_and_gradient(all_items(order), np.array([2.0, 0.0]))[1]
    assert apart[0] > 0 > apart[1]


@given(said=SAID, seed=st.integers(0, 99))
def test_items_lose_what_their_preferences_lose_one_by_one(
    said: list[tuple[int, int, int]], seed: int
) -> None:
    groups, better, worse = (list(column) for column in zip(*said, strict=True))
    order = preference_order(np.array(better), np.array(worse), groups)
    random = np.random.default_rng(seed)
    scores = random.normal(size=PAIRS)
    task = all_items(order)
    value, gradient = loss_and_gradient(task, scores)
    single = preference_order(np.array(better), np.array(worse), range(len(said)))
    value_alone, gradient_alone = loss_and_gradient(all_items(single), scores)
    assert value == pytest.approx(plain_loss(better, worse, scores))
    assert value == pytest.approx(value_alone)
    assert gradient == pytest.approx(gradient_alone)
    assert task.weight == len(said)
    assert len(order) == len(set(groups))


@given(said=SAID)
def test_items_come_in_the_order_of_their_groups(said: list[tuple[int, int, int]]) -> None:
    """With each different preference once, sorted, and its pairs; put together one by one."""
    groups, better, worse = (list(column) for column in zip(*said, strict=True))
    order = preference_order(np.array(better), np.array(worse), [f"g{each}" for each in groups])
    assert len(order) == len(set(groups))
    for item, group in enumerate(dict.fromkeys(groups)):
        counted = Counter(tuple(ends) for each, *ends in said if each == group)
        pairs = order.pairs[order.pair_starts[item] : order.pair_starts[item + 1]]
        assert pairs.tolist() == sorted({end for ends in counted for end in ends})
        rows = slice(order.starts[item], order.starts[item + 1])
        ends = zip(order.pairs[order.better[rows]], order.pairs[order.worse[rows]], strict=True)
        assert [tuple(map(int, each)) for each in ends] == sorted(counted)
        assert order.weights[rows].tolist() == [counted[each] for each in sorted(counted)]


@given(said=SAID, seed=st.integers(0, 99), processes=st.integers(1, 3))
def test_shares_of_items_add_up(
    said: list[tuple[int, int, int]], seed: int, processes: int
) -> None:
    groups, better, worse = (list(column) for column in zip(*said, strict=True))
    order = preference_order(np.array(better), np.array(worse), groups)
    random = np.random.default_rng(seed)
    scores, items = random.normal(size=PAIRS), random.permutation(len(order))
    shares = [order.task(items[at::processes]) for at in range(processes) if len(items[at:])]
    found = [loss_and_gradient(share, scores) for share in shares]
    value, gradient = loss_and_gradient(all_items(order), scores)
    assert sum(value for value, _ in found) == pytest.approx(value)
    assert sum(gradient for _, gradient in found) == pytest.approx(gradient)
    assert sum(share.weight for share in shares) == len(said)


@given(said=SAID)
def test_an_item_is_as_long_as_its_longest_pair(said: list[tuple[int, int, int]]) -> None:
    groups, better, worse = (list(column) for column in zip(*said, strict=True))
    order = preference_order(np.array(better), np.array(worse), groups)
    tokens = np.array([5, 9, 2, 7, 1, 4])
    expected = [
        max(tokens[pair] for group, *ends in said if group == each for pair in ends)
        for each in dict.fromkeys(groups)
    ]
    assert order.lengths(tokens).tolist() == expected
