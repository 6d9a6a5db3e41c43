"""Static quantisation: rounding errors, bias correction, smoothing, and the choice of levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from adequa.learned.packed.quantise import (
    ActivationQuantiser,
    ActivationStatistics,
    best_quantiser,
    quantise_columns,
    quantise_rows,
    smoothing,
)

NUMBERS = st.floats(-100, 100, width=32)


@given(arrays(np.float32, (5, 3), elements=NUMBERS))
def test_columns_and_rows_are_off_by_half_a_level_at_most(table: Any) -> None:
    for integers, scale, levels in ((*quantise_columns(table), 63), (*quantise_rows(table), 127)):
        assert np.abs(integers.astype(int)).max() <= levels
        assert (np.abs(integers * scale - table) <= 0.5001 * scale).all()


@given(arrays(np.float32, (6, 4), elements=NUMBERS), st.floats(-5, 5), st.floats(-5, 5))
def test_levels_reach_over_their_range_and_hold_zero(x: Any, one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    smooth = np.array([1, 2, 0.5, 4], np.float32)
    quantiser = ActivationQuantiser.from_range(low, high, smooth, x)
    output, smoothed = quantiser.fake_quantise(x), x / smooth
    inside = (smoothed >= min(low, 0)) & (smoothed <= max(high, 0))
    assert 0 <= quantiser.zero_point <= 255
    assert (np.abs(output - smoothed)[inside] <= 0.501 * quantiser.scale + 1e-6).all()
    assert (output >= min(low, 0) - 0.501 * quantiser.scale - 1e-7).all()
    assert (output <= max(high, 0) + 0.501 * quantiser.scale + 1e-7).all()
    assert not quantiser.fake_quantise(np.zeros((1, 4), np.float32)).any()


def test_products_are_right_in_the_mean() -> None:
    random = np.random.default_rng(2)
    x = random.normal(0.7, 1, (50, 8)).astype(np.float32)
    weights = random.normal(size=(8, 5)).astype(np.float32)
    bias = random.normal(size=5).astype(np.float32)
    quantiser = ActivationQuantiser.from_range(
        -1.0, 1.5, np.ones(8, np.float32), x
    )  # cuts many at 1.5
    integers, scale, corrected = quantiser.quantise_linear(weights, bias)
    output = quantiser.fake_quantise(x) @ (integers * scale) + corrected
    np.testing.assert_allclose(output.mean(axis=0), (x @ weights + bias).mean(axis=0), atol=1e-5)
    assert np.abs((quantiser.fake_quantise(x) - x).mean(axis=0)).max() > 0.1


def test_smoothing_by_hand() -> None:
    low, high = np.array([-4, -1], np.float32), np.array([1, 1], np.float32)
    weights = np.array([[0.5, -2], [0.5, 0.25]], np.float32)
    # 4^.5 / 2^.5 and 1^.5 / .5^.5 are equal; with an exponent of 1 weights do not count.
    assert smoothing(low, high, weights, 0.5) == pytest.approx([1, 1])
    assert smoothing(low, high, weights, 1.0) == pytest.approx([2, 0.5])


def test_an_outlier_does_not_take_all_levels() -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(200, 16)).astype(np.float32)
    x[:, 5] *= 200
    weights = random.normal(size=(16, 8)).astype(np.float32)
    weights[5] /= 50
    statistics = ActivationStatistics(x.min(axis=0), x.max(axis=0), [x])
    no_bias = np.zeros(8, np.float32)

    def error(quantiser: ActivationQuantiser) -> float:
        integers, scale, bias = quantiser.quantise_linear(weights, no_bias)
        return float(
            np.square(quantiser.fake_quantise(x) @ (integers * scale) + bias - x @ weights).mean()
        )

    plain = ActivationQuantiser.from_range(
        float(x.min()), float(x.max()), np.ones(16, np.float32), x
    )
    assert error(best_quantiser(statistics, weights)) < error(plain) / 20
