"""Features of a hypothesis and a reference (§3.2 of the SVR paper), and their standardisation.

From the vectors t and r of the two: the vectors, their product and the absolute value of their
difference, element by element. A pair encoder has read both texts: its vector is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.encoders.base import Encoder, PairEncoder, Vectors
from adequa.io.arrays import check_shape
from adequa.segments import FloatArray

Features: TypeAlias = npt.NDArray[np.float32]  # one row per pair of texts

_BLOCK_NUMBERS = 1 << 22  # in a block of rows: 32 MiB as float64
_BLOCK_ROWS = 1 << 11  # so that the distances between two blocks take no more


def match_vectors(t: Vectors, r: Vectors) -> Vectors:
    """Return (t, r, t∗r, |t−r|), shape (rows, 4 dimensions).

    >>> match_vectors(np.array([[1, 2]], np.float32), np.array([[3, -1]], np.float32))
    array([[ 1.,  2.,  3., -1.,  3., -2.,  2.,  3.]], dtype=float32)
    """
    return np.concatenate([t, r, t * r, np.abs(t - r)], axis=1)


def feature_count(encoder: Encoder | PairEncoder) -> int:
    """Return the number of features of a pair of texts."""
    return 4 * encoder.dimension if isinstance(encoder, Encoder) else encoder.dimension


def pair_features(
    encoder: Encoder | PairEncoder, hypotheses: Sequence[str], references: Sequence[str]
) -> Features:
    """Return the features of each hypothesis with its reference; each text is encoded once.

    A pair encoder reads the hypothesis first and the reference second; the fine-tuned pair
    regressor (`adequa.learned.pair`) reads the reference first.
    """
    if isinstance(encoder, PairEncoder):
        return encoder.encode_pairs(hypotheses, references)
    index: dict[str, int] = {}
    rows = [index.setdefault(text, len(index)) for text in (*hypotheses, *references)]
    vectors = encoder.encode(list(index))
    t, r = np.split(np.array(rows, dtype=np.intp), 2)
    return match_vectors(vectors[t], vectors[r])


def row_blocks(features: Features) -> Iterator[slice]:
    """Return slices of rows that take little memory in float64."""
    rows, dimension = features.shape
    step = max(1, min(_BLOCK_ROWS, _BLOCK_NUMBERS // max(1, dimension)))
    return (slice(first, min(first + step, rows)) for first in range(0, rows, step))


@dataclass(frozen=True, slots=True)
class Standardisation:
    """Mean and standard deviation of each column, which bring features to mean 0 and scale 1."""

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def fit(cls, features: Features) -> Standardisation:
        """Return the mean and the standard deviation of each column; of constant columns 1.

        By hand, in blocks and in float64: scikit-learn is an extra, and would copy all features.

        >>> Standardisation.fit(np.array([[1, 5], [3, 5]], np.float32))
        Standardisation(mean=array([2., 5.]), scale=array([1., 1.]))
        """
        mean = features.mean(axis=0, dtype=np.float64)
        squares = np.zeros(features.shape[1])
        for rows in row_blocks(features):
            squares += np.square(features[rows] - mean).sum(axis=0)
        scale = np.sqrt(squares / len(features))
        # The mean of equal float32 numbers is rounded; that deviation is not a real one.
        constant = scale <= np.finfo(np.float32).eps * np.abs(mean)
        return cls(mean, np.where(constant, 1.0, scale))

    def __call__(self, features: Features) -> Features:
        """Return the standardised features, rounded to float32."""
        scaled = np.empty(features.shape, np.float32)
        for rows in row_blocks(features):
            scaled[rows] = (features[rows] - self.mean) / self.scale
        return scaled

    def arrays(self) -> dict[str, FloatArray]:
        """Return the arrays to save."""
        return {"mean": self.mean, "scale": self.scale}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], dimension: int
    ) -> Standardisation | None:
        """Return the standardisation of saved arrays; None where features are used as they are."""
        if "mean" not in arrays:
            return None
        for name in ("mean", "scale"):
            check_shape(name, arrays[name], dimension)
        return cls(arrays["mean"], arrays["scale"])
