"""What a regressor sees of a hypothesis and a reference (the SVR paper, §3.2).

From the vectors of the two, t and r: the vectors themselves, their product and the absolute value
of their difference, number by number. A pair encoder has looked at both already: its vector is
taken as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adequa.encoders.base import Encoder, PairEncoder, Vectors


def matched(t: Vectors, r: Vectors) -> Vectors:
    """(t, r, t∗r, |t−r|), shape (rows, 4 dimensions).

    >>> matched(np.array([[1, 2]], np.float32), np.array([[3, -1]], np.float32))
    array([[ 1.,  2.,  3., -1.,  3., -2.,  2.,  3.]], dtype=float32)
    """
    return np.concatenate([t, r, t * r, np.abs(t - r)], axis=1)


def feature_count(encoder: Encoder | PairEncoder) -> int:
    """How many numbers a regressor sees."""
    return 4 * encoder.dimension if isinstance(encoder, Encoder) else encoder.dimension


def features(
    encoder: Encoder | PairEncoder, hypotheses: Sequence[str], references: Sequence[str]
) -> Vectors:
    """What a regressor sees of each hypothesis with its reference; each text is encoded once."""
    if isinstance(encoder, PairEncoder):
        return encoder.encode_pairs(hypotheses, references)
    rows: dict[str, int] = {}
    at = [rows.setdefault(text, len(rows)) for text in (*hypotheses, *references)]
    vectors = encoder.encode(list(rows))
    t, r = np.split(np.array(at, dtype=np.intp), 2)
    return matched(vectors[t], vectors[r])
