"""ε-SVR with an RBF kernel: one fit, given the kernel of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adequa.errors import AdequaError
from adequa.segments import FloatArray


@dataclass(frozen=True, slots=True)
class Setting:
    """The hyper-parameters of an ε-SVR with an RBF kernel."""

    C: float
    epsilon: float
    gamma: float

    @property
    def complexity(self) -> tuple[float, float, float]:
        """Sorts the simpler model first: a smaller C, then a larger ε, then a smaller γ."""
        return self.C, -self.epsilon, self.gamma


def rbf_kernel_in_place(distances: FloatArray, gamma: float) -> FloatArray:
    """exp(-γ D), in the memory of the squared distances."""
    distances *= -gamma
    return np.exp(distances, out=distances)


def fitted(kernel: FloatArray, targets: FloatArray, setting: Setting) -> tuple[FloatArray, float]:
    """The coefficient of each row, α - α* of the dual problem, and the intercept.

    Where ε reaches half of the range of the targets, the middle of the range is within ε of all of
    them, so that the model is that constant and there is nothing to fit.
    """
    low, high = float(targets.min()), float(targets.max())
    coefficients = np.zeros(len(targets))
    if 2 * setting.epsilon >= high - low:
        return coefficients, (low + high) / 2
    # The solver works outside Python's lock, and reads a contiguous float64 kernel where it lies.
    model = svr_solver()(kernel="precomputed", C=setting.C, epsilon=setting.epsilon)
    model.fit(kernel, targets)
    coefficients[model.support_] = model.dual_coef_[0]
    return coefficients, float(model.intercept_[0])


def svr_solver() -> Any:
    """scikit-learn's ε-SVR, or a sentence on how to get it."""
    try:
        from sklearn.svm import SVR  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            "Training support vectors needs scikit-learn; install it with: "
            "pip install 'adequa[train]'"
        ) from error
    return SVR
