"""The costs of the pairwise ranker against values by hand and finite differences."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from adequa.learned.pairwise.network import Cost, costs_of, kendall, logistic, symmetric_logistic


def test_kendall_cost_by_hand() -> None:
    # σ = 0.75 and σ' = 0.25, so that Δ = 0.5: sig(-50) and exp(-12.5).
    z = np.array([np.log(3)])
    agreeing, _, _ = kendall(z, -z, np.array([1.0]))
    disagreeing, _, _ = kendall(z, -z, np.array([0.0]))
    assert agreeing == pytest.approx(np.exp(-50) + np.exp(-12.5), rel=1e-6)
    assert disagreeing == pytest.approx(1 + np.exp(-12.5), rel=1e-6)
    tie, slope, exchanged = kendall(np.zeros(1), np.zeros(1), np.array([1.0]))
    assert tie == 1.5  # half a disagreement, and the whole penalty of a tie
    assert (slope.item(), exchanged.item()) == (-100 / 4 / 4, 100 / 4 / 4)


@pytest.mark.parametrize(
    "cost", [logistic, symmetric_logistic, kendall, partial(kendall, tie_penalty=0.25)]
)
def test_slopes_are_finite_differences(cost: Cost) -> None:
    random = np.random.default_rng(1)
    z, z_exchanged = 0.1 * random.normal(size=(2, 6))
    y = random.integers(0, 2, 6).astype(np.float64)
    _, slopes, slopes_exchanged = cost(z, z_exchanged, y)
    for index, step in enumerate(1e-6 * np.eye(6)):
        difference = cost(z + step, z_exchanged, y)[0] - cost(z - step, z_exchanged, y)[0]
        assert slopes[index] == pytest.approx(difference / 2e-6, abs=1e-6)
        difference = cost(z, z_exchanged + step, y)[0] - cost(z, z_exchanged - step, y)[0]
        assert slopes_exchanged[index] == pytest.approx(difference / 2e-6, abs=1e-6)


def test_costs_by_name() -> None:
    first, second = costs_of("logistic-kendall", symmetric=False, tie_penalty=0.25)
    assert first is logistic
    assert second(np.zeros(1), np.zeros(1), np.ones(1))[0] == 0.75  # half a disagreement
    assert costs_of("logistic", symmetric=True) == (symmetric_logistic,)
    assert len(costs_of("kendall", symmetric=True)) == 1
