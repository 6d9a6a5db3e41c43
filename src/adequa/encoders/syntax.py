"""Sentences as small vectors of their dependency trees: a syntactic vector of 25 numbers.

The pairwise ranker's paper (Guzmán et al., 2015, §4.1) takes such vectors from a parser that is a
recursive network. Here they come from any parser, in one of two ways:

- `shape`: figures of the tree (its depth, how wide it is, how long and which way its arcs are);
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

from adequa.encoders.base import Encoder, Vectors, checked_vectors
from adequa.encoders.parses import Parser, Parses, cached_parser, load_parser
from adequa.encoders.word_vectors import WordVectors, load_word_vectors
from adequa.errors import AdequaError
from adequa.io.trees import ROOT
from adequa.remarks import Remark, plain
from adequa.runtime.batching import distinct

DIMENSION = 25
FEATURES = ("shape", "composed")
_TEXTS = 4096  # parsed at a time, which bounds the memory that their words take
_LONG = 5  # words that an arc may span without being a long one
_MANY = 3  # dependents from which a word has many
_VERSION = 1  # raised when the numbers are made in another way

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
        described = [_VERSION, parser.fingerprint, features, words and words.fingerprint]
        self.fingerprint = hashlib.sha256(json.dumps(described).encode()).hexdigest()

    @classmethod
    def load(cls, path: str, *, features: str = "shape", words: str = "") -> Syntax:
        """Load a parser, `spacy:MODEL` or `conllu:FILE`, whose parses are cached."""
        table = load_word_vectors(words) if words else None
        return cls(cached_parser(load_parser(path)), features, table)

    def noticed(self) -> tuple[Remark, ...]:
        return plain(self.parser.remarks())

    def encode(self, sentences: Sequence[str]) -> Vectors:
        texts, at = distinct(sentences)
        found = np.zeros((len(texts), DIMENSION), np.float32)
        for start in range(0, len(texts), _TEXTS):
            parses = self.parser.parse(texts[start : start + _TEXTS])
            trees = Trees.of(parses)
            vectors = trees.shape() if self.words is None else composed(trees, parses, self.words)
            found[start : start + len(parses)] = vectors
        return checked_vectors(self.name, found, len(texts), DIMENSION)[at]


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """Trees of many sentences in one row of words; parents are rows, -1 for a root."""

    parents: Positions
    starts: Positions
    sentence: Positions  # of each word
    depth: Positions  # of each word, 0 for a root

    @classmethod
    def of(cls, parses: Parses) -> Trees:
        """The trees of parses."""
        starts = np.asarray(parses.starts, np.intp)
        sentence = np.repeat(np.arange(len(parses)), np.diff(starts))
        local = np.asarray(parses.parents, np.intp)
        parents = np.where(local == ROOT, -1, local + starts[sentence])
        depth, over = np.zeros(len(parents), np.intp), parents.copy()
        while (below := over >= 0).any():
            depth += below
            over = np.where(below, parents[over], -1)
        return cls(parents, starts, sentence, depth)

    @property
    def lengths(self) -> Positions:
        """Words of each sentence."""
        return np.diff(self.starts)

    def sizes(self) -> Positions:
        """Words below each word, and itself."""
        sizes = np.ones(len(self.parents), np.intp)
        for level in range(int(self.depth.max(initial=0)), 0, -1):
            rows = np.flatnonzero(self.depth == level)
            np.add.at(sizes, self.parents[rows], sizes[rows])
        return sizes

    def shape(self) -> Numbers:
        """25 figures of each tree; all 0 for a sentence without words."""
        inside = self.parents >= 0
        place = np.arange(len(self.parents))
        children = np.bincount(self.parents[inside], minlength=len(self.parents))
        span = np.where(inside, np.abs(place - self.parents), 0)
        leftwards = inside & (place < self.parents)
        under_root = inside & (self.depth == 1)
        root = ~inside
        within = place - self.starts[self.sentence]
        biggest = np.where(under_root, self.sizes(), 0)
        columns = [
            np.log1p(self.lengths),
            self._largest(self.depth),
            *self._spread(self.depth),
            self._largest(children),
            self._mean(children, where=children > 0),
            *(self._share(mark) for mark in (children == 0, children == 1, children >= _MANY)),
            self._largest(span),
            *self._spread(span),
            self._share(span == 1),
            self._share(span > _LONG),
            self._share(leftwards),
            self._sum(under_root & leftwards),
            self._sum(under_root & ~leftwards),
            self._mean(within, where=root) / np.maximum(self.lengths, 1),
            self._largest(biggest) / np.maximum(self.lengths, 1),
            self._sum(biggest * biggest) / np.maximum(self.lengths, 1) ** 2,
            self._mean(self.depth, where=within == 0),
            self._mean(self.depth, where=within == self.lengths[self.sentence] - 1),
            *(self._share(self.depth == level) for level in (1, 2, 3)),
        ]
        return np.stack(columns, axis=1).astype(np.float64)

    def _sum(self, values: npt.NDArray[np.generic]) -> Numbers:
        weights = np.asarray(values, np.float64)
        found = np.bincount(self.sentence, weights, minlength=len(self.lengths))
        return found.astype(np.float64)  # also where there is no word at all

    def _share(self, marks: npt.NDArray[np.bool_]) -> Numbers:
        return self._sum(marks) / np.maximum(self.lengths, 1)

    def _mean(self, values: Positions, where: npt.NDArray[np.bool_]) -> Numbers:
        return self._sum(np.where(where, values, 0)) / np.maximum(self._sum(where), 1)

    def _spread(self, values: Positions) -> tuple[Numbers, Numbers]:
        """Mean and standard deviation."""
        mean = self._sum(values) / np.maximum(self.lengths, 1)
        square = self._sum(values * values) / np.maximum(self.lengths, 1)
        return mean, np.sqrt(np.maximum(square - mean * mean, 0))

    def _largest(self, values: Positions) -> Numbers:
        found = np.zeros(len(self.lengths))
        np.maximum.at(found, self.sentence, values)
        return found


def composed(trees: Trees, parses: Parses, words: WordVectors) -> Numbers:
    """Word vectors composed from the leaves to the root; words without a vector count as 0."""
    spelled = [word if words.cased else word.lower() for word in parses.words]
    different, at = distinct(spelled)
    rows = words.rows(different)
    table = np.where(rows[:, None] >= 0, words.vectors[np.maximum(rows, 0)], 0.0)
    random = np.random.default_rng(0)
    inward = random.normal(size=(words.dimension, DIMENSION)) / np.sqrt(words.dimension)
    onward = np.linalg.qr(random.normal(size=(DIMENSION, DIMENSION)))[0]
    x = (table @ inward)[at]
    h, below = np.zeros_like(x), np.zeros_like(x)
    children = np.bincount(trees.parents[trees.parents >= 0], minlength=len(x))
    for level in range(int(trees.depth.max(initial=0)), -1, -1):
        some = np.flatnonzero(trees.depth == level)
        mean = below[some] / np.maximum(children[some], 1)[:, None]
        h[some] = np.tanh(x[some] + mean @ onward)
        inner = some[trees.parents[some] >= 0]
        np.add.at(below, trees.parents[inner], h[inner])
    vectors = np.zeros((len(parses), DIMENSION))
    roots = np.flatnonzero(trees.parents < 0)
    vectors[trees.sentence[roots]] = h[roots]
    return vectors
