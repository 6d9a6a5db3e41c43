"""A fitted ε-SVR with an RBF kernel as plain arrays, which predicts without scikit-learn.

f(x) = Σ c_i exp(-γ |x - x_i|²) + b over the support vectors x_i, with c_i = α_i - α_i*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.learned.embedding.distances import (
    MOST_BYTES,
    Features,
    row_blocks,
    squared_distances,
    squared_distances_to,
)
from adequa.learned.embedding.standardisation import (
    Standardisation,
    checked_features,
    checked_training_rows,
    saved_standardisation,
    standardisation,
    standardisation_arrays,
)
from adequa.learned.embedding.svr import Setting, fitted, rbf_kernel_in_place
from adequa.learned.saved import SavedArrays, check_sizes, saved_array
from adequa.segments import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class SupportVectors:
    """What an ε-SVR has learnt. Vectors are in the scale that `standardisation` brings about."""

    vectors: Features  # (support vectors, dimension)
    coefficients: FloatArray
    intercept: float
    gamma: float
    standardisation: Standardisation | None = None

    @property
    def dimension(self) -> int:
        """The number of features in a row."""
        return int(self.vectors.shape[1])

    def predict(self, features: Features) -> FloatArray:
        """One number a row, by matrix products over blocks of rows and of support vectors."""
        features = checked_features(features, self.dimension)
        predictions = np.full(len(features), self.intercept)
        for rows in row_blocks(features):
            block = features[rows]
            if self.standardisation is not None:
                block = self.standardisation(block)
            for support in row_blocks(self.vectors):
                distances = squared_distances_to(block, self.vectors[support])
                kernel = rbf_kernel_in_place(distances, self.gamma)
                predictions[rows] += kernel @ self.coefficients[support]
        return predictions

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as arrays by name, for an .npz file."""
        return {
            "vectors": self.vectors,
            "coefficients": self.coefficients,
            "intercept": np.array(self.intercept),
            "gamma": np.array(self.gamma),
            **standardisation_arrays(self.standardisation),
        }

    @classmethod
    def from_arrays(cls, arrays: SavedArrays, where: str = "The regressor") -> SupportVectors:
        """What `arrays` gave; `where` says in errors which file they are from."""
        vectors = saved_array(arrays, "vectors", 2, where)
        coefficients = saved_array(arrays, "coefficients", 1, where)
        intercept, gamma = (
            float(saved_array(arrays, name, 0, where)) for name in ("intercept", "gamma")
        )
        check_sizes(where, coefficients=(coefficients.size, len(vectors)))
        if gamma <= 0:
            raise AdequaError(f"{where}: γ is {gamma}, but it is above 0; save the metric again.")
        return cls(
            vectors.astype(np.float32),
            coefficients.astype(np.float64),
            intercept,
            gamma,
            saved_standardisation(arrays, vectors.shape[1], where),
        )


def fit_support_vectors(
    features: Features,
    targets: FloatArray,
    setting: Setting,
    *,
    scaled: bool,
    most_bytes: int = MOST_BYTES,
) -> SupportVectors:
    """Fit one setting on all rows; with `scaled`, on standardised features.

    Standardised features are rounded to float32 before the fit, so that what is saved is what was
    fitted. The same rows in the same order always give the same regressor.
    """
    features, targets = checked_training_rows(features, targets)
    scaling = standardisation(features) if scaled else None
    if scaling is not None:
        features = scaling(features)
    kernel = rbf_kernel_in_place(squared_distances(features, most_bytes), setting.gamma)
    coefficients, intercept = fitted(kernel, targets, setting)
    support = np.flatnonzero(coefficients)
    return SupportVectors(
        features[support], coefficients[support], intercept, setting.gamma, scaling
    )
