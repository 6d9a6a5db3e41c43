"""Trees as flat arrays: depths, chains, what is refused, and the order of levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io.trees import ROOT
from adequa.learned.reval.forest import NOTHING, Forest, plant, schedule
from tiny_trees import forests


def plain_depth(parents: list[int], node: int) -> int:
    return 0 if parents[node] == ROOT else 1 + plain_depth(parents, parents[node])


def trees_of(forest: Forest) -> list[tuple[list[int], list[int], list[int]]]:
    """Words, parents and depths of each."""
    return [
        tuple(part[begin:end].tolist() for part in (forest.words, forest.parents, forest.depths))
        for begin, end in zip(forest.starts[:-1], forest.starts[1:], strict=True)
    ]


@given(forests())
def test_depths_are_the_steps_to_the_root(forest: Forest) -> None:
    for _, parents, depths in trees_of(forest):
        assert depths == [plain_depth(parents, node) for node in range(len(parents))]


@given(forests(), st.data())
def test_trees_taken_are_those_trees(forest: Forest, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(forest) - 1), max_size=6))
    trees = trees_of(forest)
    assert trees_of(forest.take(chosen)) == [trees[tree] for tree in chosen]


@given(forests())
def test_chains_are_planted_alike(forest: Forest) -> None:
    chains = forest.chains()
    assert chains.words.tolist() == forest.words.tolist()
    assert chains.starts.tolist() == forest.starts.tolist()
    again = plant(chains.words, chains.parents, chains.starts)
    assert again.depths.tolist() == chains.depths.tolist()
    for _, parents, _ in trees_of(chains):
        assert parents == [*range(1, len(parents)), ROOT]


@given(forests())
def test_every_node_is_worked_out_once_after_its_children(forest: Forest) -> None:
    order = schedule(forest)
    assert len(order.inner_words) == sum(order.levels)
    assert len(order.inner_words) == len(order.child_parents) + sum(order.levels[-1:])
    hangs = forest.parents != ROOT
    inner = np.unique((forest.parents + np.repeat(forest.starts[:-1], forest.lengths))[hangs])
    assert sorted(order.vocabulary[order.inner_words]) == sorted(forest.words[inner])
    # Levels below the last hang all of their nodes from the next.
    hung = np.split(order.child_parents, np.cumsum(order.levels[:-1]))
    for parents, size in zip(hung, order.levels[1:], strict=False):
        assert parents.max() < size
    leaves = np.setdiff1d(np.arange(len(forest.words)), inner)
    assert set(order.vocabulary[order.leaf_words]) == set(forest.words[leaves])
    assert len(order.roots) == len(forest)


def test_a_schedule_by_hand() -> None:
    # 0 <- 1 (root) -> 3 -> 2 crosses nothing; the second tree is the single word 5.
    order = schedule(plant([9, 7, 9, 8, 5], [1, -1, 3, 1, -1], [0, 4, 5]))
    assert order.vocabulary.tolist() == [5, 7, 8, 9]
    assert order.levels == (1, 1)  # node 3, then node 1
    assert order.inner_words.tolist() == [2, 1]
    assert order.leaf_words.tolist() == [0, 3]  # 5 and 9, the latter at two depths
    assert order.leaf_kinds.tolist() == [1, 1]
    assert order.leaf_parents.tolist() == [1, 0]  # node 1, and node 3 before it
    assert order.leaf_parent_words.tolist() == [1, 2]
    assert order.child_parents.tolist() == [0]
    assert order.child_parent_words.tolist() == [1]
    assert order.roots.tolist() == [0, 1]  # node 1; behind the last level, the first leaf kind


def test_empty_sentences_are_one_node_of_nothing() -> None:
    forest = plant([], [], [0, 0, 0])
    assert forest.words.tolist() == [NOTHING, NOTHING]
    assert schedule(forest).levels == ()
    assert len(plant([], [], [0])) == 0


def test_long_chains_need_no_recursion() -> None:
    length = 5000
    forest = plant(np.zeros(length), [*range(1, length), ROOT], [0, length])
    assert forest.depths.tolist() == list(range(length))[::-1]
    assert len(schedule(forest).levels) == length - 1


@pytest.mark.parametrize(
    ("words", "parents", "starts", "message"),
    [
        ([1, 2], [-1], [0, 2], "2 words, 1 parents and 2 starts"),
        ([1, 2], [-1, 0], [0, 1], "do not fit together"),
        ([1], [-1], [], "do not fit together"),
        ([1, 2], [-1, 0], [0, 3, 2], "do not fit together"),
        ([-2], [-1], [0, 1], "A word is a row of a table, from 0 on, not -2."),
        (
            [1, 1, 1],
            [-1, -1, 7],
            [0, 1, 3],
            "Tree 2 is none: the head of word 2 is 8, but the last",
        ),
        ([1, 1], [-1, -2], [0, 2], "Tree 1 is none: the head of word 2 is -1, but the last"),
        ([1, 1, 1], [-1, -1, -1], [0, 1, 3], "Tree 2 is none: words 1 and 2 are both roots"),
        ([1, 1], [1, 0], [0, 2], "Tree 1 is none: no word is the root"),
        ([1, 1, 1], [-1, 2, 1], [0, 3], "Tree 1 is none: following the heads from word 2 leads"),
        ([1, 1, 1], [-1, -1, 1], [0, 1, 3], "Tree 2 is none: word 2 is its own head"),
    ],
    ids=[
        "parents missing",
        "starts too short",
        "no starts",
        "starts fall",
        "negative word",
        "parent beyond",
        "parent before",
        "two roots",
        "no root",
        "circle",
        "self",
    ],
)
def test_no_trees(words: list[int], parents: list[int], starts: list[int], message: str) -> None:
    with pytest.raises(AdequaError, match=message):
        plant(words, parents, starts)
