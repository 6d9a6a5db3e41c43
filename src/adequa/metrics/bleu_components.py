"""BLEU taken apart (BLEUCOMP; Guzmán et al., 2015, section 6.1): features, not a metric.

A learned metric that sees the parts of BLEU can weigh them itself; in the paper that alone beats
BLEU by more than one point of Kendall's τ.
"""

from __future__ import annotations

import numpy as np

from adequa.metrics.bleu import Bleu
from adequa.segments import FloatArray, Segments

ORDERS = (1, 2, 3, 4)

COLUMNS: tuple[str, ...] = (
    *(f"precision_{n}" for n in ORDERS),
    *(f"matches_{n}" for n in ORDERS),
    *(f"totals_{n}" for n in ORDERS),
    "hypothesis_length",
    "reference_length",
    "length_ratio",
    "brevity_penalty",
)


def bleu_components(
    segments: Segments, tokenize: str = "13a", lowercase: bool = True
) -> FloatArray:
    """One row a segment with the sixteen `COLUMNS`, counted by sacreBLEU.

    With several references, matches are clipped by the highest count of any reference and the
    reference length is the one closest to the hypothesis. A precision of an order for which the
    hypothesis is too short is 0.

    >>> pair = Segments(("the cat sat",), (("the cat sat down",),))
    >>> row = dict(zip(COLUMNS, bleu_components(pair)[0].tolist()))
    >>> row["precision_1"], row["matches_2"], row["totals_3"], row["length_ratio"]
    (1.0, 2.0, 1.0, 0.75)
    """
    counts = Bleu(tokenize=tokenize, lowercase=lowercase).statistics(segments)
    hypothesis_length, reference_length, matches, totals = split_counts(counts)
    return np.column_stack(
        [
            matches / np.maximum(totals, 1),
            matches,
            totals,
            hypothesis_length,
            reference_length,
            hypothesis_length / np.maximum(reference_length, 1),
            brevity_penalty(hypothesis_length, reference_length),
        ]
    )


def split_counts(counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """`Bleu`'s statistics by name: both lengths, then matches and totals, one column an order."""
    matches, totals = np.hsplit(counts[:, 2:], 2)
    return counts[:, 0], counts[:, 1], matches, totals


def brevity_penalty(hypothesis_length: FloatArray, reference_length: FloatArray) -> FloatArray:
    """exp(1 - r/c) where the hypothesis is shorter than the reference, 1 elsewhere.

    >>> brevity_penalty(np.array([0.0, 2.0, 4.0]), np.array([4.0, 4.0, 4.0])).round(3).tolist()
    [0.0, 0.368, 1.0]
    """
    c, r = np.maximum(hypothesis_length, 1), reference_length
    penalty = np.exp(np.minimum(1 - r / c, 0))
    # The penalty's limit for a hypothesis without words.
    return np.where((hypothesis_length == 0) & (r > 0), 0.0, penalty)
