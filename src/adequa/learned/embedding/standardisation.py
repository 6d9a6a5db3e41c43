"""Features brought to mean 0 and standard deviation 1, column by column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adequa.errors import AdequaError
from adequa.learned.embedding.distances import Features, row_blocks
from adequa.learned.saved import SavedArrays, check_sizes, saved_array
from adequa.segments import FloatArray


@dataclass(frozen=True, slots=True)
class Standardisation:
    """What is taken off each column, and what the rest is divided by."""

    mean: FloatArray
    scale: FloatArray

    def __call__(self, features: Features) -> Features:
        """The features in their new scale, rounded to float32."""
        scaled = np.empty(features.shape, np.float32)
        for rows in row_blocks(features):
            scaled[rows] = (features[rows] - self.mean) / self.scale
        return scaled


def standardisation(features: Features) -> Standardisation:
    """The mean and the standard deviation of each column; constant columns are divided by 1.

    >>> standardisation(np.array([[1, 5], [3, 5]], np.float32))
    Standardisation(mean=array([2., 5.]), scale=array([1., 1.]))
    """
    mean = features.mean(axis=0, dtype=np.float64)
    squares = np.zeros(features.shape[1])
    for rows in row_blocks(features):
        squares += np.square(features[rows] - mean).sum(axis=0)
    scale = np.sqrt(squares / len(features))
    # What a sum of float32 numbers that are all the same leaves over is no spread.
    constant = scale <= np.finfo(np.float32).eps * np.abs(mean)
    return Standardisation(mean, np.where(constant, 1.0, scale))


def checked_training_rows(features: Features, targets: FloatArray) -> tuple[Features, FloatArray]:
    """Features as float32 and targets as float64, after a check that they go together."""
    features, targets = np.asarray(features, np.float32), np.asarray(targets, np.float64)
    if features.ndim != 2 or targets.ndim != 1 or len(features) != len(targets):  # noqa: PLR2004
        raise AdequaError(
            "Training needs one row of features for each target, but the features have shape "
            f"{' × '.join(map(str, features.shape))}, and there are {targets.size} targets."
        )
    if not features.size:
        raise AdequaError("There is nothing to train on: no row has a feature.")
    for what, array in (("features", features), ("targets", targets)):
        finite = np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        if not finite.all():
            row = int(np.flatnonzero(~finite)[0]) + 1
            raise AdequaError(f"Row {row} of the {what} holds NaN or an infinite number.")
    return features, targets


def saved_standardisation(
    arrays: SavedArrays, dimension: int, where: str
) -> Standardisation | None:
    """The arrays `mean` and `scale`, where there are any."""
    if not {"mean", "scale"} & set(arrays):
        return None
    mean, scale = (saved_array(arrays, name, 1, where) for name in ("mean", "scale"))
    check_sizes(where, mean=(mean.size, dimension), scale=(scale.size, dimension))
    if (scale <= 0).any():
        raise AdequaError(f'{where}: the array "scale" is not above 0; save the metric again.')
    return Standardisation(mean.astype(np.float64), scale.astype(np.float64))


def standardisation_arrays(standardisation: Standardisation | None) -> dict[str, FloatArray]:
    """The arrays to save, none where features are taken as they are."""
    if standardisation is None:
        return {}
    return {"mean": standardisation.mean, "scale": standardisation.scale}


def checked_features(features: Features, dimension: int) -> Features:
    """Features as float32, after a check that they are as wide as those trained on."""
    features = np.asarray(features, np.float32)
    if features.ndim != 2 or features.shape[1] != dimension:  # noqa: PLR2004  # rows and columns
        found = f"{features.shape[-1]:,}" if features.ndim else "no"
        raise AdequaError(
            f"The regressor was trained on rows of {dimension:,} features, but these have {found}; "
            "use the encoder that it was trained with."
        )
    return features
