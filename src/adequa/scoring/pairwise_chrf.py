"""chrF of every candidate against every other, from n-grams that are counted once a candidate.

The matches of two texts are the sum, over n-grams, of the smaller of their two counts. A count of c
is written as c ones, one for each time the n-gram occurs: the n-gram's first time, its second, and
so on. Then the matches of all pairs are one product of a matrix with itself, which is the same in
both directions, taken some rows at a time. The formula is that of the metric; so is every value, to
the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from adequa.metrics.chrf import Chrf
from adequa.segments import FloatArray

_COUNTS = 1 << 22  # that are held at a time: some rows of the pairs


def pairwise_chrf(metric: Chrf, texts: Sequence[str]) -> FloatArray:
    """Scores, shape (texts, texts): row i, column j is text i against text j as its reference.

    >>> pairwise_chrf(Chrf(), ["the cat", "a cat", "dogs"]).round(1)
    array([[100. ,  42.3,   0. ],
           [ 31.2, 100. ,   0. ],
           [  0. ,   0. , 100. ]])
    """
    counted = [metric.ngrams(text) for text in texts]
    size, orders = len(texts), metric.char_order + metric.word_order
    by_order = [[ngrams[order] for ngrams in counted] for order in range(orders)]
    totals = [np.array([sum(each.values()) for each in ngrams], np.float64) for ngrams in by_order]
    ones = [_ones(ngrams) for ngrams in by_order]
    scores = np.empty((size, size))
    rows = max(1, _COUNTS // max(size * 3 * orders, 1))
    for start in range(0, size, rows):
        part = slice(start, start + rows)
        counts = np.empty((len(totals[0][part]), size, 3 * orders))
        for order in range(orders):
            of_order = totals[order]
            # As sacreBLEU has it: a hypothesis is not charged for an order its reference lacks.
            counts[:, :, 3 * order] = np.where(of_order[None, :] > 0, of_order[part, None], 0.0)
            counts[:, :, 3 * order + 1] = of_order[None, :]
            counts[:, :, 3 * order + 2] = (ones[order][part] @ ones[order].T).toarray()
        scores[part] = metric.formula(counts.reshape(-1, 3 * orders)).reshape(-1, size)
    return scores


def _ones(counted: Sequence[dict[str, int]]) -> Any:
    """A sparse matrix: by text, a one for each time that an n-gram occurs in it."""
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
    return sparse.csr_matrix(
        (np.ones(len(columns)), columns, ends), shape=(len(counted), max(len(places), 1))
    )
