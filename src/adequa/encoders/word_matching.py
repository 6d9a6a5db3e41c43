"""Words matched by their vectors in a GloVe or word2vec file: how much of each text the other has.

Every word of the hypothesis is compared with every one of the reference by the cosine of their
vectors. Precision is the mean over the hypothesis of the best match of each, recall the same over
the reference, F1 their harmonic mean, as for a transformer (`matching`); and all three once more
with rare words weighing more. Such files list words by how frequent they are, so that the place of
a word tells how rare it is: its weight is the logarithm of it. Words that the file lacks are the
rarest, and match themselves alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import PairEncoder, Vectors, checked_vectors, paired
from adequa.encoders.word_vectors import BagOfWords
from adequa.runtime.batches import distinct

FIGURES = (
    *("precision", "recall", "f1"),
    *("precision of rare words", "recall of rare words", "f1 of rare words"),
    "cosine",  # of the two mean vectors
)
_PAIRS = 1024  # whose words are held at once, which bounds memory
_VERSION = 2  # raised when the figures are made in another way

Numbers = npt.NDArray[np.float64]


class WordMatching(PairEncoder):
    """Seven figures for each pair of texts, all 0 where one of them has no word."""

    def __init__(self, words: BagOfWords) -> None:
        self.words = words
        self.path = words.path
        self.name = f"{words.table.path.name}.matching"
        self.specification = f"word-matching:{words.specification.partition(':')[2]}"
        self.dimension = len(FIGURES)
        described = json.dumps(["word-matching", _VERSION, words.fingerprint])
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()

    @classmethod
    def load(cls, path: str, *, lowercase: str = "auto", tokenize: str = "plain") -> WordMatching:
        """Read a file of word vectors as the encoder `words` does.

        Texts are split at hyphens and within numbers too by default: words match more often so.
        """
        return cls(BagOfWords.load(path, lowercase=lowercase, tokenize=tokenize))

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        pairs = paired(self.name, firsts, seconds)
        found = np.zeros((len(pairs), self.dimension), np.float32)
        for start in range(0, len(pairs), _PAIRS):
            some = pairs[start : start + _PAIRS]
            found[start : start + len(some)] = self._matched(some)
        return checked_vectors(self.name, found, len(pairs), self.dimension)

    def _matched(self, pairs: Sequence[tuple[str, str]]) -> Numbers:
        texts, at = distinct([text for pair in pairs for text in pair])
        split = [self.words.split(text) for text in texts]
        words, places = distinct([word for some in split for word in some])
        of_text = np.split(places, np.cumsum([len(some) for some in split[:-1]]))
        units, rarity = self._known(words)
        # Vectors of texts as `words` has them: the mean of those that the file knows.
        means = _unit(self.words.encode(texts).astype(np.float64))
        found = np.zeros((len(pairs), self.dimension))
        for row, (first, second) in enumerate(at.reshape(-1, 2).tolist()):
            t, r = of_text[first], of_text[second]
            if t.size and r.size:
                cosines = np.where(t[:, None] == r, 1.0, units[t] @ units[r].T)
                cosine = means[first] @ means[second]
                found[row] = *matches(cosines), *matches(cosines, rarity[t], rarity[r]), cosine
        return found

    def _known(self, words: Sequence[str]) -> tuple[Numbers, Numbers]:
        """For each word its vector, of length 1 or all 0 if unknown, and how rare it is."""
        table = self.words.table
        rows = table.rows(words)
        known = rows >= 0
        vectors = np.zeros((len(words), table.dimension))
        vectors[known] = table.vectors[rows[known]]
        return _unit(vectors), np.log1p(np.where(known, rows, len(table)))


def matches(
    cosines: Numbers, of_hypothesis: Numbers | None = None, of_reference: Numbers | None = None
) -> tuple[float, float, float]:
    """Precision, recall and F1 from cosines of words, (hypothesis, reference), and weights.

    >>> cosines = np.array([[1.0, 0.2], [0.4, 0.0]])
    >>> [round(figure, 3) for figure in matches(cosines)]
    [0.7, 0.6, 0.646]
    >>> [round(figure, 3) for figure in matches(cosines, np.array([3, 1]), np.array([1, 1]))]
    [0.85, 0.6, 0.703]
    """
    precision = _mean(cosines.max(axis=1), of_hypothesis)
    recall = _mean(cosines.max(axis=0), of_reference)
    if min(precision, recall) <= 0:  # cosines may be negative, and a harmonic mean has no sense
        return precision, recall, 0.0
    return precision, recall, 2 * precision * recall / (precision + recall)


def _mean(best: Numbers, weights: Numbers | None) -> float:
    """The mean, by weights where there are any that are not all 0."""
    weighed = weights if weights is not None and weights.any() else None
    return float(np.average(best, weights=weighed))


def _unit(vectors: Numbers) -> Numbers:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))
