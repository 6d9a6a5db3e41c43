"""Syntactic vectors: 25 numbers of the dependency tree of a sentence.

The pairwise ranker's paper (Guzmán et al., 2015, §4.1) takes such vectors from a parser that is a
recursive network. Here they come from any parser, in one of two ways:

- `shape`: statistics of the tree (its depth, its width, the length and direction of its arcs);
- `composed`: word vectors composed over the tree without any training. With fixed random matrices,
  h = tanh(P x + Q mean of the h of its dependents) for every word, and the vector is that of the
  root.

Written `syntax:spacy:MODEL` or `syntax:conllu:FILE`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import Encoder, Vectors
from adequa.encoders.parses import Parser, Parses, cached_parser, load_parser
from adequa.encoders.word_vectors import WordVectors, load_word_vectors
from adequa.errors import AdequaError
from adequa.io.conllu import ROOT
from adequa.metrics.base import Remark, plain_remarks
from adequa.runtime.batching import distinct

DIMENSION = 25
FEATURES = ("shape", "composed")
_TEXTS = 4096  # parsed at a time, which bounds the memory that their words take
_LONG = 5  # words that an arc spans at most unless it is long
_MANY = 3  # dependents at least of a word that has many
_VERSION = 1  # increment when the numbers are computed in another way

Numbers = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]


class Syntax(Encoder):
    """Vectors of dependency trees."""

    def __init__(self, parser: Parser, features: str, words: WordVectors | None) -> None:
        if features not in FEATURES:
            raise AdequaError(
                f"syntax: features must be {' or '.join(FEATURES)}, not {features!r}."
            )
        if (words is not None) != (features == "composed"):
            raise AdequaError("syntax: words=FILE goes with features=composed, which needs it.")
        self.parser = parser
        self.words = words
        self.features = features
        self.dimension = DIMENSION
        self.name = f"{parser.name}.{features}"
        vectors = "" if words is None else f",words={words.path}"
        self.specification = f"syntax:{parser.specifications[0]},features={features}{vectors}"
        content = [_VERSION, parser.fingerprint, features, words and words.fingerprint]
        self.fingerprint = hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @classmethod
    def load(cls, path: str, *, features: str = "shape", words: str = "") -> Syntax:
        """Load a parser, `spacy:MODEL` or `conllu:FILE`, whose parses are cached."""
        table = load_word_vectors(words) if words else None
        return cls(cached_parser(load_parser(path)), features, table)

    def counted_remarks(self) -> tuple[Remark, ...]:
        return plain_remarks(self.parser.remarks())

    def encode(self, sentences: Sequence[str]) -> Vectors:
        texts, index = distinct(sentences)
        vectors = np.zeros((len(texts), DIMENSION), np.float32)
        for start in range(0, len(texts), _TEXTS):
            parses = self.parser.parse(texts[start : start + _TEXTS])
            trees = Trees.of(parses)
            vectors[start : start + len(parses)] = (
                trees.shape() if self.words is None else composed(trees, parses, self.words)
            )
        return vectors[index]


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The trees of many sentences: the words of all, with parents as rows, -1 for a root."""

    parents: Positions
    starts: Positions
    sentence: Positions  # of each word
    depth: Positions  # of each word, 0 for a root

    @classmethod
    def of(cls, parses: Parses) -> Trees:
        """Return the trees of parses."""
        starts = np.asarray(parses.starts, np.intp)
        sentence = np.repeat(np.arange(len(parses)), np.diff(starts))
        local = np.asarray(parses.parents, np.intp)
        parents = np.where(local == ROOT, -1, local + starts[sentence])
        depth, ancestors = np.zeros(len(parents), np.intp), parents.copy()
        while (below := ancestors >= 0).any():
            depth += below
            ancestors = np.where(below, parents[ancestors], -1)
        return cls(parents, starts, sentence, depth)

    @property
    def lengths(self) -> Positions:
        """Number of words of each sentence."""
        return np.diff(self.starts)

    def sizes(self) -> Positions:
        """Return the number of words in the subtree of each word, itself included."""
        sizes = np.ones(len(self.parents), np.intp)
        for level in range(int(self.depth.max(initial=0)), 0, -1):
            rows = np.flatnonzero(self.depth == level)
            np.add.at(sizes, self.parents[rows], sizes[rows])
        return sizes

    def shape(self) -> Numbers:
        """Return 25 statistics of each tree; all 0 for a sentence without words."""
        has_parent = self.parents >= 0
        row = np.arange(len(self.parents))
        children = np.bincount(self.parents[has_parent], minlength=len(self.parents))
        span = np.where(has_parent, np.abs(row - self.parents), 0)
        leftwards = has_parent & (row < self.parents)
        under_root = has_parent & (self.depth == 1)
        position = row - self.starts[self.sentence]
        root_subtrees = np.where(under_root, self.sizes(), 0)
        columns = [
            np.log1p(self.lengths),
            self._maximum(self.depth),
            *self._mean_and_std(self.depth),
            self._maximum(children),
            self._mean(children, where=children > 0),
            *(self._fraction(mask) for mask in (children == 0, children == 1, children >= _MANY)),
            self._maximum(span),
            *self._mean_and_std(span),
            self._fraction(span == 1),
            self._fraction(span > _LONG),
            self._fraction(leftwards),
            self._sum(under_root & leftwards),
            self._sum(under_root & ~leftwards),
            self._mean(position, where=~has_parent) / np.maximum(self.lengths, 1),
            self._maximum(root_subtrees) / np.maximum(self.lengths, 1),
            self._sum(root_subtrees * root_subtrees) / np.maximum(self.lengths, 1) ** 2,
            self._mean(self.depth, where=position == 0),
            self._mean(self.depth, where=position == self.lengths[self.sentence] - 1),
            *(self._fraction(self.depth == level) for level in (1, 2, 3)),
        ]
        return np.stack(columns, axis=1).astype(np.float64)

    def _sum(self, values: npt.NDArray[np.generic]) -> Numbers:
        weights = np.asarray(values, np.float64)
        sums = np.bincount(self.sentence, weights, minlength=len(self.lengths))
        return sums.astype(np.float64)  # integers where there are no words

    def _fraction(self, mask: npt.NDArray[np.bool_]) -> Numbers:
        return self._sum(mask) / np.maximum(self.lengths, 1)

    def _mean(self, values: Positions, where: npt.NDArray[np.bool_]) -> Numbers:
        return self._sum(np.where(where, values, 0)) / np.maximum(self._sum(where), 1)

    def _mean_and_std(self, values: Positions) -> tuple[Numbers, Numbers]:
        mean = self._sum(values) / np.maximum(self.lengths, 1)
        square = self._sum(values * values) / np.maximum(self.lengths, 1)
        return mean, np.sqrt(np.maximum(square - mean * mean, 0))

    def _maximum(self, values: Positions) -> Numbers:
        maximum = np.zeros(len(self.lengths))
        np.maximum.at(maximum, self.sentence, values)
        return maximum


def composed(trees: Trees, parses: Parses, words: WordVectors) -> Numbers:
    """Compose word vectors from the leaves to the root; words without a vector count as 0."""
    spellings = [word if words.cased else word.lower() for word in parses.words]
    unique, index = distinct(spellings)
    rows = words.rows(unique)
    table = np.where(rows[:, None] >= 0, words.vectors[np.maximum(rows, 0)], 0.0)
    random = np.random.default_rng(0)
    p = random.normal(size=(words.dimension, DIMENSION)) / np.sqrt(words.dimension)
    q = np.linalg.qr(random.normal(size=(DIMENSION, DIMENSION)))[0]
    x = (table @ p)[index]
    h, child_sums = np.zeros_like(x), np.zeros_like(x)
    children = np.bincount(trees.parents[trees.parents >= 0], minlength=len(x))
    for level in range(int(trees.depth.max(initial=0)), -1, -1):
        rows = np.flatnonzero(trees.depth == level)
        mean = child_sums[rows] / np.maximum(children[rows], 1)[:, None]
        h[rows] = np.tanh(x[rows] + mean @ q)
        attached = rows[trees.parents[rows] >= 0]
        np.add.at(child_sums, trees.parents[attached], h[attached])
    vectors = np.zeros((len(parses), DIMENSION))
    roots = np.flatnonzero(trees.parents < 0)
    vectors[trees.sentence[roots]] = h[roots]
    return vectors
