"""What a stage begins with: scores are brought to the scale of the ratings, and not beyond."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

import tiny_training as tiny  # it needs PyTorch
from adequa.learned.pair.network import PairInputs, PairNetwork, predict
from adequa.learned.pair.train import _calibrate
from adequa.learned.training import isolated_randomness

INPUTS = PairInputs(tiny.ROWS)


def calibrated(dropout: float) -> tuple[PairNetwork, float]:
    """A network that knows nothing, after that, and its squared error while it is trained."""
    network = tiny.network(dropout=dropout)
    pairs = np.arange(tiny.LEARNT)
    targets = tiny.QUALITY[pairs]
    targets = (targets - targets.mean()) / targets.std()
    with isolated_randomness(network.device):
        _calibrate(network, INPUTS, pairs=pairs, targets=targets, scale=(3.0, 2.0), new_head=False)
        scores = predict(network, INPUTS, pairs, dropout=True)
    return network, float(np.mean((scores - targets) ** 2))


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_error_is_no_larger_than_that_of_the_mean(dropout: float) -> None:
    network, error = calibrated(dropout)
    assert error < 1.01  # scores against the ratings would stay as they are, which are small here
    assert (float(network.shift), float(network.scale)) == (3.0, 2.0)
