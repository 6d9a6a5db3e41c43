"""Trees as flat arrays: depths, chains, what is refused, and the order of levels."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adequa.io.conllu import ROOT
from adequa.learned.reval.forest import EMPTY, Forest, build_forest, sort_into_levels
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
    assert trees_of(forest.select(chosen)) == [trees[tree] for tree in chosen]


@given(forests())
def test_chains_are_planted_alike(forest: Forest) -> None:
    chains = forest.chains()
    assert chains.words.tolist() == forest.words.tolist()
    assert chains.starts.tolist() == forest.starts.tolist()
    again = build_forest(chains.words, chains.parents, chains.starts)
    assert again.depths.tolist() == chains.depths.tolist()
    for _, parents, _ in trees_of(chains):
        assert parents == [*range(1, len(parents)), ROOT]


@given(forests())
def test_the_children_of_a_level_are_the_level_below(forest: Forest) -> None:
    levels = sort_into_levels(forest)
    inner, leaves = np.array(levels.inner_counts), np.array(levels.leaf_counts)
    assert levels.child_counts == (0, *(inner + leaves)[:-1])
    assert (inner + leaves)[-1] == len(levels.roots) == len(forest)
    assert levels.vocabulary.tolist() == sorted(set(forest.words.tolist()))
    by_depth: list[list[tuple[int, int]]] = []  # word and word of the parent
    for words, parents, depths in trees_of(forest):
        for word, parent, depth in zip(words, parents, depths, strict=True):
            by_depth += [[] for _ in range(depth + 1 - len(by_depth))]
            by_depth[depth].append((word, words[parent] if parent != ROOT else ROOT))
    inner_words, leaf_words, indices, parent_words = (
        np.split(values, np.cumsum(counts)[:-1])
        for values, counts in (
            (levels.vocabulary[levels.inner_words], inner),
            (levels.vocabulary[levels.leaf_words], leaves),
            (levels.parents, levels.child_counts),
            (levels.vocabulary[levels.parent_words], levels.child_counts),
        )
    )
    for level in range(1, len(inner)):
        below = np.concatenate([inner_words[level - 1], leaf_words[level - 1]])
        # Each child has the parent, and the parent's word, that it has in its tree.
        assert (inner_words[level][indices[level]] == parent_words[level]).all()
        pairs = zip(below.tolist(), parent_words[level].tolist(), strict=True)
        assert sorted(pairs) == sorted(by_depth[len(inner) - level])
        assert set(indices[level]) == set(range(inner[level]))  # an inner node has a child
    roots = np.concatenate([inner_words[-1], leaf_words[-1]])[levels.roots]
    expected = [words[parents.index(ROOT)] for words, parents, _ in trees_of(forest)]
    assert roots.tolist() == expected


def test_levels_by_hand() -> None:
    # 0 <- 1 (root) -> 3 -> 2 crosses nothing; the second tree is the single word 5.
    levels = sort_into_levels(build_forest([9, 7, 9, 8, 5], [1, -1, 3, 1, -1], [0, 4, 5]))
    assert levels.vocabulary.tolist() == [5, 7, 8, 9]
    assert levels.inner_counts == (0, 1, 1)  # node 3, then node 1
    assert levels.leaf_counts == (1, 1, 1)  # node 2, node 0, and the second tree
    assert levels.child_counts == (0, 1, 2)
    assert levels.inner_words.tolist() == [2, 1]
    assert levels.leaf_words.tolist() == [3, 3, 0]
    assert levels.parents.tolist() == [0, 0, 0]  # of node 2, node 3 and node 0
    assert levels.parent_words.tolist() == [2, 1, 1]
    assert levels.roots.tolist() == [0, 1]


def test_empty_sentences_are_one_node_of_nothing() -> None:
    forest = build_forest([], [], [0, 0, 0])
    assert forest.words.tolist() == [EMPTY, EMPTY]
    assert sort_into_levels(forest).leaf_counts == (2,)
    assert len(build_forest([], [], [0])) == 0


def test_long_chains_need_no_recursion() -> None:
    length = 5000
    forest = build_forest(np.zeros(length), [*range(1, length), ROOT], [0, length])
    assert forest.depths.tolist() == list(range(length))[::-1]
    assert sort_into_levels(forest).inner_counts == (0, *[1] * (length - 1))
