"""The costs that the pairwise ranker is trained by (Guzmán et al., 2015, §3.3 and §6.4).

A cost takes z of every triple as it is ordered, z with the two hypotheses exchanged, and y, which
is 1 where the first hypothesis is better and 0 where the second one is. It returns the mean cost
and its slopes: the derivatives by z and by the exchanged z.

The paper prints sums over triples in equations (4) and (6), and the mean is taken here. Beside the
mean over a batch of n triples, λ of the weight decay weighs n times as much as beside their sum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import expit

from adequa.segments import FloatArray

Loss: TypeAlias = Literal["logistic", "kendall", "logistic-kendall"]
Cost: TypeAlias = Callable[
    [FloatArray, FloatArray, FloatArray], tuple[float, FloatArray, FloatArray]
]

GAMMA = BETA = 100.0  # γ and β of the Kendall cost, as in the paper


def logistic(
    z: FloatArray, z_exchanged: FloatArray, y: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Equation (4) as a mean, not a sum: -y log f - (1 - y) log (1 - f), where f = sig(z).

    The paper's cost looks at the triples as they are ordered, so that the slopes by the exchanged
    z are 0.

    >>> cost, slopes, exchanged = logistic(np.array([0.0]), np.array([3.0]), np.array([1.0]))
    >>> round(cost, 4), slopes.tolist(), exchanged.tolist()
    (0.6931, [-0.5], [0.0])
    """
    cost = np.logaddexp(0, np.where(y > 0, -z, z)).mean()
    return float(cost), (expit(z) - y) / len(z), np.zeros_like(z_exchanged)


def symmetric_logistic(
    z: FloatArray, z_exchanged: FloatArray, y: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Equation (4) of a symmetric ranker, whose logit is half the difference of z in both orders.

    >>> cost, slopes, exchanged = symmetric_logistic(np.ones(1), np.ones(1), np.ones(1))
    >>> round(cost, 4), slopes.tolist(), exchanged.tolist()
    (0.6931, [-0.25], [0.25])
    """
    cost, slopes, _ = logistic((z - z_exchanged) / 2, z_exchanged, y)
    return cost, slopes / 2, -slopes / 2


def kendall(
    z: FloatArray, z_exchanged: FloatArray, y: FloatArray, tie_penalty: float = 1.0
) -> tuple[float, FloatArray, FloatArray]:
    """Equation (6) with the penalty of ties, where Δ = sig(z) - sig(exchanged z).

    The cost of a triple is y sig(-γΔ) + (1 - y) sig(γΔ) + exp(-βΔ²/2), its last term weighted by
    `tie_penalty`, which is 1 in the paper. The paper prints a minus before the sum, which would
    reward disagreement when minimised, against its own text.
    """
    sigma, sigma_exchanged = expit(z), expit(z_exchanged)
    delta = sigma - sigma_exchanged
    sign = np.where(y > 0, -1.0, 1.0)
    disagreement = expit(sign * GAMMA * delta)
    tie = tie_penalty * np.exp(-BETA * delta * delta / 2)
    delta_slopes = sign * GAMMA * disagreement * (1 - disagreement) - BETA * delta * tie
    delta_slopes /= len(z)
    return (
        float((disagreement + tie).mean()),
        delta_slopes * sigma * (1 - sigma),
        -delta_slopes * sigma_exchanged * (1 - sigma_exchanged),
    )


def costs_of(loss: Loss, *, symmetric: bool, tie_penalty: float = 1.0) -> tuple[Cost, ...]:
    """Return the costs to minimise one after the other."""
    first: Cost = symmetric_logistic if symmetric else logistic
    second: Cost = partial(kendall, tie_penalty=tie_penalty)
    return {
        "logistic": (first,),
        "kendall": (second,),
        "logistic-kendall": (first, second),
    }[loss]
