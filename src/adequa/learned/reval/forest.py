"""Many dependency trees as flat arrays, and their nodes sorted into levels for a Tree-LSTM.

A level holds the nodes of one depth, of all trees together. The children of a level's nodes are the
nodes of the level below it, all of them and no others. From the deepest level up, each level is
therefore computed at once from the states of the level before, and the last one holds the roots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adequa.io.conllu import ROOT, starts_of
from adequa.segments import IntArray

EMPTY = -1  # the word of the only node of an empty sentence


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Trees one after the other, each of one node or more; `build_forest` makes one."""

    words: IntArray  # of each node, in the order of the sentence: a row of a table, or EMPTY
    parents: IntArray  # of each node: a position in its own tree, or ROOT
    depths: IntArray  # of each node: steps to its root
    starts: IntArray  # of each tree, and the end of the last one

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        """Number of nodes of each tree."""
        return np.diff(self.starts)

    def select(self, trees: npt.ArrayLike) -> Forest:
        """Return these trees, in this order; a tree may be selected more than once."""
        indices = np.asarray(trees, dtype=np.int64)
        lengths = self.lengths[indices]
        starts = starts_of(lengths)
        nodes = np.arange(starts[-1]) + np.repeat(self.starts[indices] - starts[:-1], lengths)
        return Forest(self.words[nodes], self.parents[nodes], self.depths[nodes], starts)

    def chains(self) -> Forest:
        """Return the same sentences with the next word as parent of each: a plain LSTM's order.

        >>> build_forest([7, 8, 9], [1, -1, 1], [0, 3]).chains().parents
        array([ 1,  2, -1])
        """
        nodes = np.arange(len(self.words))
        depths = np.repeat(self.starts[1:] - 1, self.lengths) - nodes
        positions = nodes - np.repeat(self.starts[:-1], self.lengths)
        return Forest(self.words, np.where(depths, positions + 1, ROOT), depths, self.starts)


def build_forest(words: npt.ArrayLike, parents: npt.ArrayLike, starts: npt.ArrayLike) -> Forest:
    """Return the forest of these nodes; `starts` holds the start of each tree and the last end.

    An empty sentence becomes one node, whose word is EMPTY.

    >>> forest = build_forest([4, 5, 6], [1, -1, -1], [0, 2, 2, 3])
    >>> forest.words, forest.depths, forest.lengths
    (array([ 4,  5, -1,  6]), array([1, 0, 0, 0]), array([2, 1, 1]))
    """
    words = np.asarray(words, dtype=np.int64)
    parents = np.asarray(parents, dtype=np.int64)
    starts = np.asarray(starts, dtype=np.int64)
    lengths = np.diff(starts)
    empty = starts[:-1][lengths == 0]
    words = np.insert(words, empty, EMPTY)
    parents = np.insert(parents, empty, ROOT)
    starts = starts_of(np.maximum(lengths, 1))
    return Forest(words, parents, _depths(parents, starts), starts)


def _depths(parents: IntArray, starts: IntArray) -> IntArray:
    """Steps from each node to its root, in as many rounds as the longest tree has binary digits."""
    lengths, is_root = np.diff(starts), parents == ROOT
    ancestors = np.where(
        is_root, np.arange(len(parents)), parents + np.repeat(starts[:-1], lengths)
    )
    depths: IntArray = (~is_root).astype(np.int64)
    for _ in range(int(lengths.max(initial=0)).bit_length()):  # 1, 2, 4, ... steps at once
        depths += depths[ancestors]
        ancestors = ancestors[ancestors]
    return depths


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The nodes of a forest by level, from the deepest level to the roots.

    Within a level, inner nodes (those with children) come before leaves. Arrays of nodes are those
    of all levels one after the other; the counts say how many belong to each level.
    """

    vocabulary: IntArray  # the rows of the table that the nodes need, each once; EMPTY first
    inner_words: IntArray  # of each inner node: an index of the vocabulary
    leaf_words: IntArray  # of each leaf: an index of the vocabulary
    # Of each node but the roots:
    parents: IntArray  # index among the inner nodes of the next level
    parent_words: IntArray  # the parent's word: an index of the vocabulary
    roots: IntArray  # of each tree: the index of its root in the last level
    inner_counts: tuple[int, ...]
    leaf_counts: tuple[int, ...]
    child_counts: tuple[int, ...]  # all nodes of the level below


def sort_into_levels(forest: Forest) -> Levels:
    """Return the levels of all trees together."""
    vocabulary, words = np.unique(forest.words, return_inverse=True)
    has_parent = forest.parents != ROOT
    parents = forest.parents + np.repeat(forest.starts[:-1], forest.lengths)  # nodes of the forest
    is_leaf = np.ones(len(words), dtype=np.bool_)
    is_leaf[parents[has_parent]] = False

    nodes = np.argsort(-2 * forest.depths + is_leaf, kind="stable")  # level by level
    counts = np.bincount(forest.depths)[::-1]
    leaf_counts = np.bincount(forest.depths[is_leaf], minlength=len(counts))[::-1]
    index_in_level = np.empty_like(nodes)
    index_in_level[nodes] = np.arange(len(nodes)) - np.repeat(np.cumsum(counts) - counts, counts)

    children = nodes[has_parent[nodes]]
    return Levels(
        vocabulary=vocabulary,
        inner_words=words[nodes[~is_leaf[nodes]]],
        leaf_words=words[nodes[is_leaf[nodes]]],
        parents=index_in_level[parents[children]],
        parent_words=words[parents[children]],
        roots=index_in_level[~has_parent],
        inner_counts=tuple((counts - leaf_counts).tolist()),
        leaf_counts=tuple(leaf_counts.tolist()),
        child_counts=(0, *counts[:-1].tolist())[: len(counts)],
    )
