"""Checks of arrays that someone else may have saved, before a regressor is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.learned.embedding.distances import Features
from adequa.learned.embedding.standardisation import Standardisation
from adequa.segments import FloatArray

SavedArrays: TypeAlias = Mapping[str, npt.NDArray[Any]]


def saved_array(arrays: SavedArrays, name: str, dimensions: int, where: str) -> FloatArray:
    """The array of that name, finite and with so many dimensions, or a sentence on what it is."""
    if name not in arrays:
        raise AdequaError(f'{where} has no array named "{name}"; save the metric again.')
    array = np.asarray(arrays[name])
    if array.ndim != dimensions:
        raise AdequaError(
            f'{where}: the array "{name}" should have {dimensions} dimensions, but it has '
            f"{array.ndim}; save the metric again."
        )
    if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise AdequaError(
            f'{where}: the array "{name}" holds something that is no finite number; save the '
            "metric again."
        )
    return array


def check_sizes(where: str, **sizes: tuple[int, int]) -> None:
    """A sentence about the first of the arrays whose size is not the one expected."""
    for name, (found, expected) in sizes.items():
        if found != expected:
            raise AdequaError(
                f'{where}: the array "{name}" has size {found:,} where the others need '
                f"{expected:,}; save the metric again."
            )


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
