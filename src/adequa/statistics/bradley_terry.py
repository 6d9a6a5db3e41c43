"""Bradley-Terry: how strong each system is, if i beats j as often as their strengths say.

P(i beats j) = exp(s_i) / (exp(s_i) + exp(s_j)), the strengths s adding up to 0 (Bradley and Terry,
1952, Rank Analysis of Incomplete Block Designs). The most likely strengths are found by Newton's
method: their likelihood has one summit. The usual iteration (Hunter, 2004) takes tens of thousands
of rounds where one system beats another nearly always.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit

from adequa.errors import AdequaError
from adequa.segments import FloatArray

PRIOR = 0.1  # wins that each of two systems is given over the other beside those that it has
_ROUNDS = 200  # some ten are enough, and some forty where systems are far apart
_LARGEST = 2.0  # change of a strength in one round: far from the summit Newton's steps are too long
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
    strengths = np.zeros(wins.shape[:-1])
    for _ in range(_ROUNDS if systems > 1 else 0):
        step = _step(strengths, won, met)
        # A step that leads downhill is halved until it does not.
        height = _likelihood(strengths, won)
        while (lower := _likelihood(strengths + step, won) < height - _CLOSE).any():
            step = np.where(lower[..., None], step / 2, step)
        strengths = strengths + step
        if np.abs(step).max(initial=0.0) < _CLOSE:
            break
    return np.asarray(strengths)


def _step(strengths: FloatArray, won: FloatArray, met: FloatArray) -> FloatArray:
    """Newton's step, from the slope and the curvature of the likelihood; it adds up to 0."""
    expected = expit(strengths[..., :, None] - strengths[..., None, :])
    slope = (won - met * expected).sum(axis=-1)
    between = met * expected * np.swapaxes(expected, -1, -2)
    curvature = np.eye(won.shape[-1]) * between.sum(axis=-1, keepdims=True) - between
    step = (np.linalg.pinv(curvature, hermitian=True) @ slope[..., None])[..., 0]
    longest = np.abs(step).max(axis=-1, keepdims=True)
    return np.asarray(step * np.minimum(1.0, _LARGEST / np.maximum(longest, _LARGEST)))


def _likelihood(strengths: FloatArray, won: FloatArray) -> FloatArray:
    """The logarithm of how likely the wins are."""
    differences = strengths[..., :, None] - strengths[..., None, :]
    return np.asarray((won * log_expit(differences)).sum(axis=(-1, -2)))
