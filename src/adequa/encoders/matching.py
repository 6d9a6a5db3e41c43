"""Word matching: how many words of a hypothesis the reference has, and the reverse.

Every word of the hypothesis is compared with every word of the reference by the cosine of their
vectors. Precision is the mean over the hypothesis of the best match of each word, recall the mean
over the reference, and F1 their harmonic mean, as in BERTScore (Zhang et al. 2020, §3). The vectors
are the states of word pieces in a frozen transformer (`matching`), or those of a GloVe or word2vec
file (`word-matching`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import PairEncoder, Vectors
from adequa.encoders.transformer import TokenStates, Transformer
from adequa.encoders.word_vectors import BagOfWords
from adequa.metrics.base import Remark
from adequa.runtime.batching import distinct, paired
from adequa.segments import FloatArray

TOKEN_FEATURES = ("precision", "recall", "f1", "cosine")  # of each layer
WORD_FEATURES = (
    *("precision", "recall", "f1"),
    *("precision of rare words", "recall of rare words", "f1 of rare words"),
    "cosine",  # of the two mean vectors
)
# Settings of the transformer that are not a choice in `matching`.
_FIXED_SETTINGS = ("pooling=mean", "normalize=false")
_CHUNK_TOKENS = 256  # pairs whose states are in memory at once
_CHUNK_WORDS = 1024  # pairs whose words are in memory at once
_VERSION = 2  # increment when the features are computed in another way


class TokenMatching(PairEncoder):
    """Precision, recall and F1 of the word pieces in each layer, and the cosine of their means."""

    def __init__(self, transformer: Transformer) -> None:
        self.transformer = transformer
        self.path = transformer.path
        self.name = f"{transformer.name}.matching"
        specification = f"matching:{transformer.specification.partition(':')[2]}"
        for setting in _FIXED_SETTINGS:
            specification = specification.replace(f",{setting}", "")
        self.specification = specification
        self.layers = transformer.layer_count
        self.dimension = len(TOKEN_FEATURES) * self.layers
        content = json.dumps(["matching", _VERSION, transformer.fingerprint])
        self.fingerprint = hashlib.sha256(content.encode()).hexdigest()

    @classmethod
    def load(
        cls,
        path: str,
        *,
        layers: str = "",
        max_length: int = 0,
        device: str = "",
        batch_tokens: int = 4096,
        download: bool = False,
        revision: str = "",
    ) -> TokenMatching:
        """Load a transformer as the encoder `transformer` does; by default its last layer counts.

        Layers in the middle match words best: choose them on judgements that are not tested on.
        """
        return cls(
            Transformer.load(
                path,
                pooling="mean",
                layers=layers,
                normalize="false",
                max_length=max_length,
                device=device,
                batch_tokens=batch_tokens,
                download=download,
                revision=revision,
            )
        )

    def counted_remarks(self) -> tuple[Remark, ...]:
        return self.transformer.counted_remarks()

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        pairs = paired(self.name, firsts, seconds)
        features = np.zeros((len(pairs), self.dimension), np.float32)
        # Pairs with the same reference come together, so that its states are computed once.
        order = sorted(range(len(pairs)), key=lambda row: pairs[row][1])
        for start in range(0, len(order), _CHUNK_TOKENS):
            rows = order[start : start + _CHUNK_TOKENS]
            texts, index = distinct([text for row in rows for text in pairs[row]])
            states = self.transformer.states(texts)
            for row, (first, second) in zip(rows, index.reshape(-1, 2).tolist(), strict=True):
                features[row] = token_features(states[first], states[second])
        return features


def token_features(hypothesis: TokenStates, reference: TokenStates) -> Vectors:
    """Return the features of one pair, layer by layer; all 0 where a text has no word.

    >>> a, b = np.array([[[1, 0], [0, 2]]], np.float32), np.array([[[3, 0]]], np.float32)
    >>> token_features(a, b).astype(float).round(3).tolist()
    [0.5, 1.0, 0.667, 0.447]
    """
    if not hypothesis.shape[1] or not reference.shape[1]:
        return np.zeros(len(TOKEN_FEATURES) * len(hypothesis), np.float32)
    cosines = unit_length(hypothesis) @ unit_length(reference).transpose(0, 2, 1)
    means = unit_length(hypothesis.mean(axis=1)), unit_length(reference.mean(axis=1))
    cosine = (means[0] * means[1]).sum(axis=-1)
    return np.stack([*match_scores(cosines), cosine], axis=1).ravel()


class WordMatching(PairEncoder):
    """Precision, recall and F1 of words, once more with rare words weighing more, and the cosine.

    Such files list words by frequency, so that the row of a word tells how rare it is: its weight
    is the logarithm of that row. Words that are not in the file are the rarest, and match only
    themselves. All features are 0 where a text has no word.
    """

    def __init__(self, words: BagOfWords) -> None:
        self.words = words
        self.path = words.path
        self.name = f"{words.table.path.name}.matching"
        self.specification = f"word-matching:{words.specification.partition(':')[2]}"
        self.dimension = len(WORD_FEATURES)
        content = json.dumps(["word-matching", _VERSION, words.fingerprint])
        self.fingerprint = hashlib.sha256(content.encode()).hexdigest()

    @classmethod
    def load(cls, path: str, *, lowercase: str = "auto", tokenize: str = "plain") -> WordMatching:
        """Read a file of word vectors as the encoder `words` does.

        Texts are split at hyphens and within numbers too by default: words match more often so.
        """
        return cls(BagOfWords.load(path, lowercase=lowercase, tokenize=tokenize))

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        pairs = paired(self.name, firsts, seconds)
        features = np.zeros((len(pairs), self.dimension), np.float32)
        for start in range(0, len(pairs), _CHUNK_WORDS):
            chunk = pairs[start : start + _CHUNK_WORDS]
            features[start : start + len(chunk)] = self._features(chunk)
        return features

    def _features(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        texts, index = distinct([text for pair in pairs for text in pair])
        split = [self.words.split(text) for text in texts]
        vocabulary, word_ids = distinct([word for words in split for word in words])
        text_words = np.split(word_ids, np.cumsum([len(words) for words in split[:-1]]))
        vectors, rarity = self._vectors_and_rarity(vocabulary)
        means = unit_length(self.words.encode(texts).astype(np.float64))
        features = np.zeros((len(pairs), self.dimension))
        for row, (first, second) in enumerate(index.reshape(-1, 2).tolist()):
            h, r = text_words[first], text_words[second]
            if h.size and r.size:
                cosines = np.where(h[:, None] == r, 1.0, vectors[h] @ vectors[r].T)
                features[row] = (
                    *match_scores(cosines),
                    *match_scores(cosines, rarity[h], rarity[r]),
                    means[first] @ means[second],
                )
        return features

    def _vectors_and_rarity(self, words: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Return for each word its vector, of length 1 or all 0 if unknown, and its rarity."""
        table = self.words.table
        rows = table.rows(words)
        in_vocabulary = rows >= 0
        vectors = np.zeros((len(words), table.dimension))
        vectors[in_vocabulary] = table.vectors[rows[in_vocabulary]]
        return unit_length(vectors), np.log1p(np.where(in_vocabulary, rows, len(table)))


def match_scores(
    cosines: npt.NDArray[np.floating[Any]],
    hypothesis_weights: FloatArray | None = None,
    reference_weights: FloatArray | None = None,
) -> tuple[Any, Any, Any]:
    """Return precision, recall and F1 from cosines of shape (..., hypothesis, reference).

    >>> cosines = np.array([[1.0, 0.2], [0.4, 0.0]])
    >>> [round(float(score), 3) for score in match_scores(cosines)]
    [0.7, 0.6, 0.646]
    >>> weighted = match_scores(cosines, np.array([3, 1]), np.array([1, 1]))
    >>> [round(float(score), 3) for score in weighted]
    [0.85, 0.6, 0.703]
    """
    precision = _mean(cosines.max(axis=-1), hypothesis_weights)
    recall = _mean(cosines.max(axis=-2), reference_weights)
    # Cosines may be negative, and a harmonic mean is for positive numbers alone.
    is_positive = (precision > 0) & (recall > 0)
    total = np.where(is_positive, precision + recall, 1)
    return precision, recall, np.where(is_positive, 2 * precision * recall / total, 0)


def _mean(best: npt.NDArray[np.floating[Any]], weights: FloatArray | None) -> Any:
    """Return the mean over the last axis, weighted unless all weights are 0."""
    if weights is None or not weights.any():
        return best.mean(axis=-1)
    return np.average(best, axis=-1, weights=weights)


def unit_length(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Scale vectors to length 1; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, vectors.dtype.type(1e-12)))
