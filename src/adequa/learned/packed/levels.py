"""Numbers as small whole ones: weights, activations and tables of words.

Weights have a scale an output and at most ±63 levels (7 bits): then the sums in 16 bits of
processors without VNNI cannot overflow. Activations have 255 levels with a scale and a zero that
are fixed for each place, so that one row of a batch cannot move another. Before, each channel is
divided by a number of its own, which the weights are multiplied by (Xiao et al., 2023, §4): a few
channels are far larger than all others and would take up all levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from adequa.learned.packed.bert import Floats

Levels = npt.NDArray[np.int8]

WEIGHT_LEVELS = 63
ACTIVATION_LEVELS = 255
_WORD_LEVELS = 127
_LEAST = 1e-8  # a scale is not zero, also where all numbers are


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """How the activations at one place become whole numbers."""

    scale: float
    zero: int  # the level of 0
    smooth: Floats  # divisor a channel
    mean: Floats  # of each channel
    rounded_mean: Floats  # of each channel once it is smoothed and whole

    @classmethod
    def between(cls, low: float, high: float, smooth: Floats, tokens: Floats) -> Site:
        """The levels that reach from the lowest to the highest of smoothed numbers, and over 0.

        Means are those of the tokens (tokens × channels).
        """
        bottom = min(low, 0.0)
        scale = max(max(high, 0.0) - bottom, _LEAST) / ACTIVATION_LEVELS
        mean = tokens.mean(axis=0)
        site = cls(scale, round(-bottom / scale), smooth, mean, mean / smooth)
        return replace(site, rounded_mean=site.rounded(tokens).mean(axis=0))

    def rounded(self, tokens: Floats) -> Floats:
        """Activations (tokens × channels), smoothed, as their levels say them."""
        level = np.rint(tokens / (self.smooth * np.float32(self.scale))) + self.zero
        kept = np.clip(level, 0, ACTIVATION_LEVELS) - self.zero
        return np.asarray(kept * np.float32(self.scale), np.float32)

    def product(self, weights: Floats, bias: Floats) -> tuple[Levels, Floats, Floats]:
        """Weights (inputs × outputs) as whole numbers, a scale an output, and another bias.

        With that bias the product is right in the mean (Nagel et al., 2019, bias correction).
        """
        whole, scale = columns(weights * self.smooth[:, None])
        drift = self.rounded_mean @ (whole * scale) - self.mean @ weights
        return whole, scale, bias - drift


def columns(weights: Floats) -> tuple[Levels, Floats]:
    """Weights (inputs × outputs) as whole numbers, and a scale an output."""
    scale = np.maximum(np.abs(weights).max(axis=0), _LEAST) / WEIGHT_LEVELS
    return np.rint(weights / scale).astype(np.int8), scale.astype(np.float32)


def rows(table: Floats) -> tuple[Levels, Floats]:
    """A table of word vectors as whole numbers, and a scale a word (words × 1)."""
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), _LEAST) / _WORD_LEVELS
    return np.rint(table / scale).astype(np.int8), scale.astype(np.float32)


def smoothing(low: Floats, high: Floats, weights: Floats, exponent: float) -> Floats:
    """The divisor of each channel that was seen between low and high (§4, eq. 4).

    s_j = max|X_j|^a / max|W_j|^(1-a), here with a geometric mean of 1.
    """
    x = np.maximum(np.maximum(-low, high), 1e-3)
    w = np.maximum(np.abs(weights).max(axis=1), 1e-3)
    log = exponent * np.log(x) - (1 - exponent) * np.log(w)
    return np.asarray(np.exp(log - log.mean()), np.float32)
