"""chrF of every candidate against every other, from n-grams that are counted once a candidate.

The matches of two texts are the sum, over n-grams, of the smaller of their two counts. A count of c
is written as c ones, one for each time the n-gram occurs: the n-gram's first time, its second, and
so on. Then the matches of all pairs are one product of a matrix with itself, which is the same in
both directions. The formula is that of the metric; so is every value, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from adequa.metrics.chrf import Chrf
from adequa.segments import FloatArray


def pairwise_chrf(metric: Chrf, texts: Sequence[str]) -> FloatArray:
    """Scores, shape (texts, texts): row i, column j is text i against text j as its reference.

    >>> pairwise_chrf(Chrf(), ["the cat", "a cat", "dogs"]).round(1)
    array([[100. ,  42.3,   0. ],
           [ 31.2, 100. ,   0. ],
           [  0. ,   0. , 100. ]])
    """
    counted = [metric.ngrams(text) for text in texts]
    size, orders = len(texts), metric.char_order + metric.word_order
    counts = np.empty((size, size, 3 * orders))
    for order in range(orders):
        of_order = [ngrams[order] for ngrams in counted]
        totals = np.array([sum(ngrams.values()) for ngrams in of_order], dtype=np.float64)
        # As sacreBLEU has it: a hypothesis is not charged for an order that its reference lacks.
        counts[:, :, 3 * order] = np.where(totals[None, :] > 0, totals[:, None], 0.0)
        counts[:, :, 3 * order + 1] = totals[None, :]
        counts[:, :, 3 * order + 2] = _matches(of_order)
    flat = counts.reshape(size * size, 3 * orders)
    return np.asarray(metric.formula(flat)).reshape(size, size)


def _matches(counted: Sequence[dict[str, int]]) -> FloatArray:
    """How many n-grams each two texts have in common."""
    places: dict[object, int] = {}
    columns: list[int] = []
    ends = [0]
    for ngrams in counted:
        for ngram, count in ngrams.items():
            columns.append(places.setdefault(ngram, len(places)))
            if count > 1:
                again = [(ngram, time) for time in range(1, count)]
                columns += [places.setdefault(key, len(places)) for key in again]
        ends.append(len(columns))
    ones = sparse.csr_matrix(
        (np.ones(len(columns)), columns, ends), shape=(len(counted), max(len(places), 1))
    )
    return np.asarray((ones @ ones.T).toarray())
