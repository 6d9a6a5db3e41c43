"""Words matched by their states in a transformer: how much of each text the other one has.

Every word piece of the hypothesis is compared with every one of the reference by the cosine of
their states in a layer of a frozen encoder. Precision is the mean over the hypothesis of the best
match of each, recall the same over the reference, F1 their harmonic mean: the measure of Zhang et
al. (2020, BERTScore, §3) without weights. Beside them stands the cosine of the two mean states.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from adequa.encoders.base import PairEncoder, Vectors, checked_vectors, paired
from adequa.encoders.transformer import TokenStates, Transformer
from adequa.remarks import Remark
from adequa.runtime.batches import distinct

FIGURES = ("precision", "recall", "f1", "cosine")  # of each layer
_FIXED = ("pooling=mean", "normalize=false")
_PAIRS = 256  # whose states are held at once, which bounds memory
_VERSION = 2  # raised when the figures are made in another way


class TokenMatching(PairEncoder):
    """Four figures a layer for each pair: precision, recall, F1 and cosine."""

    def __init__(self, transformer: Transformer) -> None:
        self.transformer = transformer
        self.path = transformer.path
        self.name = f"{transformer.name}.matching"
        specification = f"matching:{transformer.specification.partition(':')[2]}"
        for fixed in _FIXED:  # settings of the transformer that are no choice here
            specification = specification.replace(f",{fixed}", "")
        self.specification = specification
        self.layers = transformer.layer_count
        self.dimension = len(FIGURES) * self.layers
        described = json.dumps(["matching", _VERSION, transformer.fingerprint])
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()

    @classmethod
    def load(
        cls,
        path: str,
        *,
        layers: str = "",
        max_length: int = 0,
        device: str = "",
        batch_tokens: int = 4096,
        batch_size: int = 64,
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
                batch_size=batch_size,
                download=download,
                revision=revision,
            )
        )

    def noticed(self) -> tuple[Remark, ...]:
        return self.transformer.noticed()

    def encode_pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> Vectors:
        pairs = paired(self.name, firsts, seconds)
        found = np.zeros((len(pairs), self.dimension), np.float32)
        # Pairs of one reference together, so that its states serve all of them.
        order = sorted(range(len(pairs)), key=lambda row: pairs[row][1])
        for start in range(0, len(order), _PAIRS):
            rows = order[start : start + _PAIRS]
            texts, at = distinct([text for row in rows for text in pairs[row]])
            states = self.transformer.states(texts)
            for row, (first, second) in zip(rows, at.reshape(-1, 2).tolist(), strict=True):
                found[row] = matches(states[first], states[second])
        return checked_vectors(self.name, found, len(pairs), self.dimension)


def matches(hypothesis: TokenStates, reference: TokenStates) -> Vectors:
    """The figures of one pair, layer by layer; all 0 where a text has no word.

    >>> a, b = np.array([[[1, 0], [0, 2]]], np.float32), np.array([[[3, 0]]], np.float32)
    >>> matches(a, b).astype(float).round(3).tolist()
    [0.5, 1.0, 0.667, 0.447]
    """
    if not hypothesis.shape[1] or not reference.shape[1]:
        return np.zeros(len(FIGURES) * len(hypothesis), np.float32)
    alike = _unit(hypothesis) @ _unit(reference).transpose(0, 2, 1)
    precision, recall = alike.max(axis=2).mean(axis=1), alike.max(axis=1).mean(axis=1)
    both = precision + recall
    # Cosines may be negative, and then a harmonic mean has no sense.
    positive = (precision > 0) & (recall > 0)
    f1 = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=positive)
    cosine = (_unit(hypothesis.mean(axis=1)) * _unit(reference.mean(axis=1))).sum(axis=-1)
    return np.stack([precision, recall, f1, cosine], axis=1).ravel()


def _unit(states: TokenStates) -> TokenStates:
    lengths = np.linalg.norm(states, axis=-1, keepdims=True)
    return np.asarray(states / np.maximum(lengths, np.float32(1e-12)))
