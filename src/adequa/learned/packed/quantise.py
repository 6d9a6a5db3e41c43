"""Static quantisation to 8 bits: of weights, activations and word embeddings.

Weights have one scale per output and levels from -63 to 63 (7 bits): the 16-bit sums of processors
without VNNI then cannot overflow. Activations have 255 levels, with a scale and a zero point that
are fixed for each linear layer, so that one row of a batch cannot change another. Before, each
channel is divided by a number of its own, by which the weights are multiplied (SmoothQuant, Xiao et
al., 2023, §4): a few channels are far larger than all others and would take up all levels.

Range and smoothing are calibrated on texts: for every linear layer those of least squared error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adequa.encoders.transformer_files import TokenRows
from adequa.runtime.onnx import imported_onnxruntime
from adequa.runtime.tokens import TYPES

if TYPE_CHECKING:
    import onnx

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int8]

WEIGHT_LEVELS = 63
ACTIVATION_LEVELS = 255
_EMBEDDING_LEVELS = 127
_MIN_RANGE = 1e-8  # so that a scale is not zero where all numbers are
_EXPONENTS = (0.65, 0.8, 0.9)  # of smoothing, to choose from
_RANGE_FRACTIONS = (1.0, 0.85, 0.7)  # of the observed range, to choose from
_SAMPLED_TOKENS = 4  # of every pair, on which the error is measured


@dataclass(frozen=True, slots=True, eq=False)
class ActivationQuantiser:
    """How the activations that enter one linear layer become integers."""

    scale: float
    zero_point: int
    smooth: Floats  # divisor of each channel
    mean: Floats  # of each channel
    quantised_mean: Floats  # of each channel, smoothed and quantised

    @classmethod
    def from_range(
        cls, low: float, high: float, smooth: Floats, tokens: Floats
    ) -> ActivationQuantiser:
        """Spread the levels from the lowest to the highest smoothed activation, including 0.

        `tokens` (tokens × channels) gives the means.
        """
        bottom = min(low, 0.0)
        scale = max(max(high, 0.0) - bottom, _MIN_RANGE) / ACTIVATION_LEVELS
        mean = tokens.mean(axis=0)
        quantiser = cls(scale, round(-bottom / scale), smooth, mean, mean / smooth)
        return replace(quantiser, quantised_mean=quantiser.fake_quantise(tokens).mean(axis=0))

    def fake_quantise(self, tokens: Floats) -> Floats:
        """Return activations (tokens × channels), smoothed and rounded to their levels."""
        level = np.rint(tokens / (self.smooth * np.float32(self.scale))) + self.zero_point
        centred = np.clip(level, 0, ACTIVATION_LEVELS) - self.zero_point
        return np.asarray(centred * np.float32(self.scale), np.float32)

    def quantise_linear(self, weights: Floats, bias: Floats) -> tuple[Integers, Floats, Floats]:
        """Return weights (inputs × outputs) as integers, a scale per output, and a new bias.

        With the new bias the output is right in the mean (Nagel et al., 2019, bias correction).
        """
        integers, scale = quantise_columns(weights * self.smooth[:, None])
        shift = self.quantised_mean @ (integers * scale) - self.mean @ weights
        return integers, scale, bias - shift


def quantise_columns(weights: Floats) -> tuple[Integers, Floats]:
    """Return weights (inputs × outputs) as integers, and a scale per output."""
    scale = np.maximum(np.abs(weights).max(axis=0), _MIN_RANGE) / WEIGHT_LEVELS
    return np.rint(weights / scale).astype(np.int8), scale.astype(np.float32)


def quantise_rows(table: Floats) -> tuple[Integers, Floats]:
    """Return a table of word embeddings as integers, and a scale per word (words × 1)."""
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), _MIN_RANGE) / _EMBEDDING_LEVELS
    return np.rint(table / scale).astype(np.int8), scale.astype(np.float32)


def smoothing(low: Floats, high: Floats, weights: Floats, exponent: float) -> Floats:
    """Return the divisor of each channel, whose values lie between low and high (§4, eq. 4).

    s_j = max|X_j|^a / max|W_j|^(1-a), here with a geometric mean of 1.
    """
    x = np.maximum(np.maximum(-low, high), 1e-3)
    w = np.maximum(np.abs(weights).max(axis=1), 1e-3)
    log = exponent * np.log(x) - (1 - exponent) * np.log(w)
    return np.asarray(np.exp(log - log.mean()), np.float32)


@dataclass(slots=True, eq=False)
class ActivationStatistics:
    """Activations that entered one linear layer: their range, and a sample of tokens."""

    low: Floats  # of each channel, over all tokens
    high: Floats
    samples: list[Floats]  # each tokens × channels

    def add(self, x: Floats, sample: npt.NDArray[np.int64]) -> None:
        """Add the tokens of one more pair, and keep those at the sampled indices."""
        self.low = np.minimum(self.low, x.min(axis=0))
        self.high = np.maximum(self.high, x.max(axis=0))
        self.samples.append(x[sample])


def observe_activations(
    fp32_model: onnx.ModelProto, linear_inputs: Mapping[str, str], rows: TokenRows
) -> dict[str, ActivationStatistics]:
    """Run a model in fp32 pair by pair, and return the statistics of every linear layer's input.

    `linear_inputs` has the name of that tensor for each layer.
    """
    import onnx  # noqa: PLC0415  # an extra

    model = onnx.ModelProto()
    model.CopyFrom(fp32_model)
    names = list(linear_inputs.values())
    model.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names
    )
    session = imported_onnxruntime().InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    random, statistics = np.random.default_rng(0), dict[str, ActivationStatistics]()
    for row in range(len(rows)):
        inputs = rows.padded(np.array([row]))
        inputs.setdefault(TYPES, np.zeros_like(inputs["input_ids"]))
        feed = {name: values.astype(np.int32) for name, values in inputs.items()}
        sample = random.integers(feed[TYPES].size, size=_SAMPLED_TOKENS)
        for layer, output in zip(linear_inputs, session.run(names, feed), strict=True):
            x = output[0]
            first = ActivationStatistics(x[0], x[0], [])
            statistics.setdefault(layer, first).add(x, sample)
    return statistics


def calibrate(
    linear_weights: Iterable[tuple[str, Floats]], statistics: Mapping[str, ActivationStatistics]
) -> dict[str, ActivationQuantiser]:
    """Return the quantiser of least error for every linear layer, by its name."""
    return {name: best_quantiser(statistics[name], weights) for name, weights in linear_weights}


def best_quantiser(statistics: ActivationStatistics, weights: Floats) -> ActivationQuantiser:
    """Return the quantiser with the least squared error of the product with the weights."""
    tokens = np.concatenate(statistics.samples)
    exact = tokens @ weights
    no_bias = np.zeros(weights.shape[1], np.float32)

    def error(quantiser: ActivationQuantiser) -> float:
        integers, scale, bias = quantiser.quantise_linear(weights, no_bias)
        output = quantiser.fake_quantise(tokens) @ (integers * scale) + bias
        return float(np.square(output - exact).sum())

    return min(_candidates(statistics, weights, tokens), key=error)


def _candidates(
    statistics: ActivationStatistics, weights: Floats, tokens: Floats
) -> Iterator[ActivationQuantiser]:
    """Quantisers with every smoothing and range to choose from."""
    for exponent in _EXPONENTS:
        smooth = smoothing(statistics.low, statistics.high, weights, exponent)
        low, high = (
            float((statistics.low / smooth).min()),
            float((statistics.high / smooth).max()),
        )
        for fraction in _RANGE_FRACTIONS:
            # GELU's outputs are hardly below zero: only the upper end is worth cutting.
            bottom = low * fraction if low < -0.2 * high else low
            yield ActivationQuantiser.from_range(bottom, high * fraction, smooth, tokens)
