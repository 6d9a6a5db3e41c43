"""What the pairwise ranker minimises (Guzmán et al., 2015, §3.3 and §6.4), with its slopes.

y is 1 where the first hypothesis of a triple is the better one, and 0 where the second one is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import expit

from adequa.segments import FloatArray

Loss: TypeAlias = Literal["logistic", "kendall", "logistic-kendall"]
# From z in the order given, z in the other order and y: the mean cost, and the slopes of both.
Cost: TypeAlias = Callable[
    [FloatArray, FloatArray, FloatArray], tuple[float, FloatArray, FloatArray]
]

GAMMA = BETA = 100.0  # of the Kendall cost, as in the paper


def logistic(
    z: FloatArray, z_reversed: FloatArray, y: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Equation (4) as the paper has it: -y log f - (1 - y) log (1 - f), in the order given.

    >>> cost, slope, other = logistic(np.array([0.0]), np.array([3.0]), np.array([1.0]))
    >>> round(cost, 4), slope.tolist(), other.tolist()
    (0.6931, [-0.5], [0.0])
    """
    cost = np.logaddexp(0, np.where(y > 0, -z, z)).mean()
    return float(cost), (expit(z) - y) / len(z), np.zeros_like(z_reversed)


def symmetric_logistic(
    z: FloatArray, z_reversed: FloatArray, y: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """The same of a ranker whose logit is half the difference of z in both orders."""
    cost, slopes, _ = logistic((z - z_reversed) / 2, z_reversed, y)
    return cost, slopes / 2, -slopes / 2


def kendall(
    z: FloatArray, z_reversed: FloatArray, y: FloatArray, tie_penalty: float = 1.0
) -> tuple[float, FloatArray, FloatArray]:
    """Equation (6), and the penalty of ties: Δ = σ - σ', σ and σ' the outputs in both orders.

    The cost of a triple is y sig(-γΔ) + (1 - y) sig(γΔ) + exp(-βΔ²/2), the last times
    `tie_penalty`, which is 1 in the paper. The paper prints a minus before the sum, with which
    minimising would reward what it says it penalises.
    """
    sigma, sigma_reversed = expit(z), expit(z_reversed)
    delta = sigma - sigma_reversed
    sign = np.where(y > 0, -1.0, 1.0)
    wrong = expit(sign * GAMMA * delta)
    tied = tie_penalty * np.exp(-BETA * delta * delta / 2)
    slope = (sign * GAMMA * wrong * (1 - wrong) - BETA * delta * tied) / len(z)
    return (
        float((wrong + tied).mean()),
        slope * sigma * (1 - sigma),
        -slope * sigma_reversed * (1 - sigma_reversed),
    )


def stages(loss: Loss, *, symmetric: bool, tie_penalty: float = 1.0) -> tuple[Cost, ...]:
    """The costs that are minimised one after the other."""
    first: Cost = symmetric_logistic if symmetric else logistic
    second: Cost = partial(kendall, tie_penalty=tie_penalty)
    return {
        "logistic": (first,),
        "kendall": (second,),
        "logistic-kendall": (first, second),
    }[loss]
