"""A trained multi-layer perceptron as plain arrays, which predicts without PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.learned.embedding.distances import Features, row_blocks
from adequa.learned.embedding.mlp_training import Layers
from adequa.learned.embedding.standardisation import (
    Standardisation,
    checked_features,
    saved_standardisation,
    standardisation_arrays,
)
from adequa.learned.saved import SavedArrays, check_sizes, saved_array
from adequa.segments import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Perceptron:
    """Layers of weights (outputs, inputs) and biases, ReLU between them, one linear output."""

    layers: Layers
    standardisation: Standardisation | None = None

    @property
    def dimension(self) -> int:
        """The number of features in a row."""
        return int(self.layers[0][0].shape[1])

    def predict(self, features: Features) -> FloatArray:
        """One number a row.

        Sums are formed in float64, so that a row's score does not depend on the rows beside it
        by more than its last digits.
        """
        features = checked_features(features, self.dimension)
        layers = [(weights.T.astype(np.float64), biases) for weights, biases in self.layers]
        predictions = np.empty(len(features))
        for rows in row_blocks(features):
            values = features[rows]
            if self.standardisation is not None:
                values = self.standardisation(values)
            activations = values.astype(np.float64)
            for weights, biases in layers[:-1]:
                activations = np.maximum(activations @ weights + biases, 0.0)
            weights, biases = layers[-1]
            predictions[rows] = (activations @ weights + biases)[:, 0]
        return predictions

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as arrays by name, for an .npz file."""
        named = standardisation_arrays(self.standardisation)
        numbered: dict[str, npt.NDArray[Any]] = {}
        for number, (weights, biases) in enumerate(self.layers, 1):
            numbered |= {f"weights_{number}": weights, f"biases_{number}": biases}
        return numbered | named

    @classmethod
    def from_arrays(cls, arrays: SavedArrays, where: str = "The regressor") -> Perceptron:
        """What `arrays` gave; `where` says in errors which file they are from."""
        count = max(1, sum(name.startswith("weights_") for name in arrays))
        weights = [saved_array(arrays, f"weights_{n}", 2, where) for n in range(1, count + 1)]
        biases = [saved_array(arrays, f"biases_{n}", 1, where) for n in range(1, count + 1)]
        outputs = [layer.shape[0] for layer in weights]
        inputs = [layer.shape[1] for layer in weights]
        fitting = {f"biases_{n}": (b.size, outputs[n - 1]) for n, b in enumerate(biases, 1)}
        fitting |= {f"weights_{n}": (inputs[n - 1], outputs[n - 2]) for n in range(2, count + 1)}
        check_sizes(where, **fitting)
        check_sizes(where, **{f"weights_{count}": (outputs[-1], 1)})
        layers = tuple(
            (w.astype(np.float32), b.astype(np.float32))
            for w, b in zip(weights, biases, strict=True)
        )
        return cls(layers, saved_standardisation(arrays, inputs[0], where))
