"""Many trees as flat arrays, and the order in which a batch of them is worked out at once.

All nodes of one depth, of all trees, are a level. Every child of a level's nodes is of the level
below it, so that from the deepest level up each is one matrix product, and none has to look further
back than the one before. Leaves have nothing below them: those of all levels come first, together,
and a word that is a leaf many times is worked out once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.io.trees import ROOT, first_fault, starts_of
from adequa.segments import IntArray

NOTHING = -1  # the word of an empty sentence


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Trees one after the other, each of one node or more; see `plant`."""

    words: IntArray  # of each node, in the order of the sentence: a row of a table, or NOTHING
    parents: IntArray  # of each node: a position in its own tree, or ROOT
    depths: IntArray  # of each node below its root
    starts: IntArray  # of each tree, and the end of the last

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        """Nodes of each tree."""
        return np.diff(self.starts)

    def take(self, trees: npt.ArrayLike) -> Forest:
        """These trees, in this order; the same one may come more than once."""
        chosen = np.asarray(trees, dtype=np.int64)
        lengths = self.lengths[chosen]
        starts = starts_of(lengths)
        nodes = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], lengths)
        return Forest(self.words[nodes], self.parents[nodes], self.depths[nodes], starts)

    def chains(self) -> Forest:
        """The same sentences, with each word hung from the next: what a plain LSTM reads.

        >>> plant([7, 8, 9], [1, -1, 1], [0, 3]).chains().parents
        array([ 1,  2, -1])
        """
        nodes = np.arange(len(self.words))
        depths = np.repeat(self.starts[1:] - 1, self.lengths) - nodes
        positions = nodes - np.repeat(self.starts[:-1], self.lengths)
        return Forest(self.words, np.where(depths, positions + 1, ROOT), depths, self.starts)


def plant(words: npt.ArrayLike, parents: npt.ArrayLike, starts: npt.ArrayLike) -> Forest:
    """Trees from the words and parents of all nodes, and where each tree starts and the last ends.

    An empty sentence becomes one node, whose word is NOTHING.

    >>> forest = plant([4, 5, 6], [1, -1, -1], [0, 2, 2, 3])
    >>> forest.words, forest.depths, forest.lengths
    (array([ 4,  5, -1,  6]), array([1, 0, 0, 0]), array([2, 1, 1]))
    """
    flat_words = np.asarray(words, dtype=np.int64)
    flat_parents = np.asarray(parents, dtype=np.int64)
    begins = np.asarray(starts, dtype=np.int64)
    lengths = np.diff(begins)
    if not (
        begins.size
        and begins[0] == 0
        and (lengths >= 0).all()
        and flat_words.shape == flat_parents.shape == (begins[-1],)
    ):
        raise AdequaError(
            f"{flat_words.size} words, {flat_parents.size} parents and {begins.size} starts of "
            "trees do not fit together; give a parent a word, and starts from 0 to all words."
        )
    if flat_words.size and flat_words.min() < NOTHING:
        raise AdequaError(f"A word is a row of a table, from 0 on, not {flat_words.min()}.")
    empty = begins[:-1][lengths == 0]
    flat_words = np.insert(flat_words, empty, NOTHING)
    flat_parents = np.insert(flat_parents, empty, ROOT)
    begins = starts_of(np.maximum(lengths, 1))
    depths = _depths(flat_parents, begins)
    return Forest(flat_words, flat_parents, depths, begins)


def _depths(parents: IntArray, starts: IntArray) -> IntArray:
    """Steps from each node to its root, in as many rounds as the longest tree has binary digits."""
    fault = first_fault(parents, starts)
    if fault is not None:
        tree = int(np.searchsorted(starts, fault.at, side="right"))
        raise AdequaError(f"Tree {tree} is none: {fault.sentence}")
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
class Schedule:
    """What is worked out when, as places in arrays.

    Inner nodes are those with children; they are in the order of levels, the deepest first. Words
    are places in the vocabulary.
    """

    vocabulary: IntArray  # the rows of the table that any node needs, each once; NOTHING first
    leaf_words: IntArray  # words that are leaves, each once: the leaf kinds
    inner_words: IntArray  # of each inner node
    levels: tuple[int, ...]  # how many inner nodes each level has; the last one's are roots
    # Of each leaf below a node, and of each inner node below a node:
    leaf_kinds: IntArray
    leaf_parents: IntArray  # places among the inner nodes
    leaf_parent_words: IntArray
    child_parents: IntArray  # places in the parents' level
    child_parent_words: IntArray
    roots: IntArray  # of each tree: a place in the last level, or behind it the kind of a leaf


def schedule(forest: Forest) -> Schedule:
    """The order in which these trees are worked out together."""
    vocabulary, words = np.unique(forest.words, return_inverse=True)
    nodes = np.arange(len(words))
    hangs = forest.parents != ROOT
    parents = forest.parents + np.repeat(forest.starts[:-1], forest.lengths)  # where it hangs
    is_inner = np.zeros(len(nodes), dtype=np.bool_)
    is_inner[parents[hangs]] = True

    inner = np.flatnonzero(is_inner)
    inner = inner[np.argsort(-forest.depths[inner], kind="stable")]
    # An inner node's parent is one too, so that no depth is left out.
    levels = np.bincount(forest.depths[inner])[::-1]
    places = np.empty_like(nodes)  # of inner nodes among all of them
    places[inner] = np.arange(len(inner))
    in_level = np.empty_like(nodes)
    in_level[inner] = np.arange(len(inner)) - np.repeat(np.cumsum(levels) - levels, levels)
    children = inner[hangs[inner]]

    leaves = np.flatnonzero(~is_inner)
    leaf_words, leaf_kinds = np.unique(words[leaves], return_inverse=True)
    in_level[leaves] = leaf_kinds + levels[-1:].sum()
    hanging = hangs[leaves]
    leaf_parents = parents[leaves[hanging]]
    return Schedule(
        vocabulary=vocabulary,
        leaf_words=leaf_words,
        inner_words=words[inner],
        levels=tuple(levels.tolist()),
        leaf_kinds=leaf_kinds[hanging],
        leaf_parents=places[leaf_parents],
        leaf_parent_words=words[leaf_parents],
        child_parents=in_level[parents[children]],
        child_parent_words=words[parents[children]],
        roots=in_level[~hangs],
    )
