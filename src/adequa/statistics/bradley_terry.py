"""Bradley-Terry: how strong each system is, if i beats j as often as their strengths say.

P(i beats j) = exp(s_i) / (exp(s_i) + exp(s_j)), the strengths s adding up to 0 (Bradley and Terry,
1952, Rank Analysis of Incomplete Block Designs). The most likely strengths are found by the
iteration of Hunter (2004, MM Algorithms for Generalized Bradley-Terry Models).
"""

from __future__ import annotations

import numpy as np

from adequa.errors import AdequaError
from adequa.segments import FloatArray

PRIOR = 0.1  # wins that each of two systems is given over the other beside those that it has
_ROUNDS = 10_000
_CLOSE = 1e-10  # by how much no strength changes any more


def bradley_terry(wins: FloatArray, prior: float = PRIOR) -> FloatArray:
    """The strengths of systems from how often system i beat system j, entry [i, j].

    A tie is half a win of each. Leading axes are independent problems. Without a prior, a system
    that never lost would be infinitely strong; with it every strength is finite, and systems that
    were compared with none have 0.

    >>> bradley_terry(np.array([[0.0, 3.0], [1.0, 0.0]]), prior=0.0).round(4)
    array([ 0.5493, -0.5493])
    """
    if (wins < 0).any():
        raise AdequaError("Wins cannot be negative.")
    systems = wins.shape[-1]
    others = ~np.eye(systems, dtype=np.bool_)
    won = np.where(others, wins + prior, 0.0)
    met = won + np.swapaxes(won, -1, -2)
    total = won.sum(axis=-1)
    if (total <= 0).any() and systems > 1:
        raise AdequaError("A system that never won has no strength without a prior.")
    worth = np.ones(wins.shape[:-1])
    for _ in range(_ROUNDS if systems > 1 else 0):
        both = worth[..., :, None] + worth[..., None, :]
        better = total / (met / both).sum(axis=-1)
        better /= np.exp(np.log(better).mean(axis=-1, keepdims=True))
        change = np.abs(np.log(better) - np.log(worth)).max(initial=0.0)
        worth = better
        if change < _CLOSE:
            break
    return np.asarray(np.log(worth))
