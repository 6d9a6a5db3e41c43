"""ε-SVR with an RBF kernel: the fitted model, and the grid search for its settings.

f(x) = Σ c_i exp(-γ |x - x_i|²) + b over the support vectors x_i, with c_i = α_i - α_i*.

§4.1 of the SVR paper: C, ε and γ are chosen from a grid by ten-fold cross-validation. What the
paper leaves open is decided here: the criterion is the mean over folds of the Pearson correlation,
where a constant prediction counts as 0; of equal settings the simplest model is chosen; rows of one
reference are in one fold. The paper's grid is `SVR_GRIDS["paper"]`; the default grid, which
standardises features and targets, is not the paper's.

scikit-learn solves the dual problem. The search is written by hand, because squared distances do
not depend on C, ε, γ or the fold: they are computed once for all rows, and a fold's are a part of
them. A kernel depends on γ and the fold: it is computed once for each, and every C and ε is fitted
on it. scikit-learn's GridSearchCV computes a kernel for each fit, which takes nearly all of its
time (`benchmarks/svr_grid.py`). The fitted model is plain arrays, which predict without
scikit-learn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.io.arrays import check_shape
from adequa.learned.embedding.features import Features, Standardisation, row_blocks
from adequa.learned.folds import FittedRegressor, Mask, grouped_folds
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, IntArray
from adequa.statistics.correlation import pearson

GIBIBYTE = 1 << 30
# Predictions that differ by less than this fraction of the largest differ by rounding alone.
_ROUNDING = 1e-12
_SOLVER_CACHE = 200_000_000  # bytes: scikit-learn's default


def _half_of_memory() -> int:
    """Return half of the machine's memory; 8 GiB where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 8 * GIBIBYTE


MAX_BYTES = _half_of_memory()


# Settings


@dataclass(frozen=True, slots=True)
class SVRSetting:
    """The hyper-parameters of an ε-SVR with an RBF kernel."""

    C: float
    epsilon: float
    gamma: float

    @property
    def complexity(self) -> tuple[float, float, float]:
        """Sort key, the simpler model first: a smaller C, then a larger ε, then a smaller γ."""
        return self.C, -self.epsilon, self.gamma


@dataclass(frozen=True, slots=True)
class SVRGrid:
    """Values to combine. With `scaled`, features are standardised and γ is divided by their number.

    Standardised features lie about 2 × dimension apart (in squares), whatever the encoder, so that
    such a γ means the same for all.
    """

    C: tuple[float, ...]
    epsilon: tuple[float, ...]
    gamma: tuple[float, ...]
    scaled: bool

    def gammas(self, dimension: int) -> tuple[float, ...]:
        """Return the values of γ for features of that dimension."""
        return tuple(gamma / dimension for gamma in self.gamma) if self.scaled else self.gamma

    def settings(self, dimension: int) -> tuple[SVRSetting, ...]:
        """Return all combinations; γ varies fastest, then ε."""
        return tuple(
            SVRSetting(*values) for values in product(self.C, self.epsilon, self.gammas(dimension))
        )


SVR_GRIDS = {
    "scaled": SVRGrid(
        C=(0.3, 1, 3, 10), epsilon=(0.1, 0.4), gamma=(0.03, 0.1, 0.3, 1), scaled=True
    ),
    # §4.1 of the SVR paper; features as they are.
    "paper": SVRGrid(
        C=(0.01, 0.1, 1, 10), epsilon=(0.01, 0.1, 1, 10), gamma=(0.01, 0.1, 1, 10), scaled=False
    ),
}


# Squared distances and kernels


def squared_distances(features: Features, max_bytes: int = MAX_BYTES) -> FloatArray:
    """Return the distances between all rows: symmetric, not negative, zero on the diagonal.

    |x - y|² = |x|² + |y|² - 2 x·y, by matrix products. The three terms may be thousands of times as
    large as the distance of two near vectors, so that sums in single precision would leave few
    right digits: features stay in float32, and products are formed in float64, a block of rows at
    a time.

    >>> squared_distances(np.array([[0, 0], [3, 4]], np.float32))
    array([[ 0., 25.],
           [25.,  0.]])
    """
    rows = len(features)
    _check_memory(f"The distances between {rows:,} rows", 8 * rows * rows, max_bytes)
    distances = np.empty((rows, rows))
    for across in row_blocks(features):
        left = features[across].astype(np.float64)
        for down in row_blocks(features):
            if down.start > across.start:
                break
            # One array on both sides: numpy then forms an exactly symmetric product.
            right = left if down == across else features[down].astype(np.float64)
            distances[across, down] = _distances_between(left, right)
            distances[down, across] = distances[across, down].T
    np.fill_diagonal(distances, 0.0)
    return distances


def _distances_between(left: FloatArray, right: FloatArray) -> FloatArray:
    distances = left @ right.T
    distances *= -2
    distances += np.einsum("ij,ij->i", left, left)[:, None]
    distances += np.einsum("ij,ij->i", right, right)
    return np.asarray(np.maximum(distances, 0.0, out=distances))


def _rbf_kernel_in_place(distances: FloatArray, gamma: float) -> FloatArray:
    """Return exp(-γ D), in the memory of the squared distances."""
    distances *= -gamma
    return np.exp(distances, out=distances)


def _check_memory(what: str, needed: int, max_bytes: int, advice: str = "") -> None:
    """Raise where more memory would be needed than is allowed."""
    if needed > max_bytes:
        raise AdequaError(
            f"{what} would take {needed / GIBIBYTE:.1f} GiB of memory, more than the "
            f"{max_bytes / GIBIBYTE:.1f} GiB allowed; {advice or 'train on fewer rows'}."
        )


# One model


@dataclass(frozen=True, slots=True, eq=False)
class SupportVectors:
    """A fitted ε-SVR. Vectors are standardised where there is a standardisation."""

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
        """Return one prediction per row, by products over blocks of rows and of support vectors."""
        predictions = np.full(len(features), self.intercept)
        for rows in row_blocks(features):
            block = features[rows]
            if self.standardisation is not None:
                block = self.standardisation(block)
            for support in row_blocks(self.vectors):
                distances = _distances_between(
                    block.astype(np.float64), self.vectors[support].astype(np.float64)
                )
                kernel = _rbf_kernel_in_place(distances, self.gamma)
                predictions[rows] += kernel @ self.coefficients[support]
        return predictions

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all of it as arrays by name, for an .npz file."""
        return {
            "vectors": self.vectors,
            "coefficients": self.coefficients,
            "intercept": np.array(self.intercept),
            "gamma": np.array(self.gamma),
            **(self.standardisation.arrays() if self.standardisation else {}),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> SupportVectors:
        """Return the model of saved arrays."""
        vectors, coefficients = arrays["vectors"], arrays["coefficients"]
        check_shape("vectors", vectors, None, None)
        check_shape("coefficients", coefficients, len(vectors))
        return cls(
            vectors,
            coefficients,
            float(arrays["intercept"]),
            float(arrays["gamma"]),
            Standardisation.from_arrays(arrays, vectors.shape[1]),
        )


def fit_support_vectors(
    features: Features,
    targets: FloatArray,
    setting: SVRSetting,
    *,
    scaled: bool,
    max_bytes: int = MAX_BYTES,
) -> SupportVectors:
    """Fit one setting on all rows; with `scaled`, on standardised features.

    Standardised features are rounded to float32 before the fit, so that the saved vectors are the
    fitted ones. The same rows in the same order always give the same regressor.
    """
    standardisation = Standardisation.fit(features) if scaled else None
    if standardisation is not None:
        features = standardisation(features)
    kernel = _rbf_kernel_in_place(squared_distances(features, max_bytes), setting.gamma)
    coefficients, intercept = solve_dual(kernel, targets, setting)
    support = np.flatnonzero(coefficients)
    return SupportVectors(
        features[support], coefficients[support], intercept, setting.gamma, standardisation
    )


def solve_dual(
    kernel: FloatArray, targets: FloatArray, setting: SVRSetting
) -> tuple[FloatArray, float]:
    """Return the coefficient of each row, α - α* of the dual problem, and the intercept.

    Where ε reaches half of the range of the targets, the middle of the range is within ε of all of
    them, so that the model is that constant and there is nothing to fit.
    """
    low, high = float(targets.min()), float(targets.max())
    coefficients = np.zeros(len(targets))
    if 2 * setting.epsilon >= high - low:
        return coefficients, (low + high) / 2
    # The solver releases Python's lock, and reads a contiguous float64 kernel without a copy.
    model = _solver()(kernel="precomputed", C=setting.C, epsilon=setting.epsilon)
    model.fit(kernel, targets)
    coefficients[model.support_] = model.dual_coef_[0]
    return coefficients, float(model.intercept_[0])


def _solver() -> Any:
    """Return scikit-learn's ε-SVR."""
    try:
        from sklearn.svm import SVR  # noqa: PLC0415  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            "Training support vectors needs scikit-learn; install it with: "
            "pip install 'adequa[train]'"
        ) from error
    return SVR


# Grid search


@dataclass(frozen=True, slots=True, eq=False)
class SVRSearch:
    """Every setting with its correlations and predictions on the rows held out."""

    settings: tuple[SVRSetting, ...]
    correlations: FloatArray  # (settings, folds)
    predictions: FloatArray  # (settings, rows)

    @property
    def means(self) -> FloatArray:
        """The criterion: for each setting the mean over folds."""
        return np.asarray(self.correlations.mean(axis=1))

    @property
    def best_index(self) -> int:
        """Index of the setting with the highest mean; among equals, of the simplest model."""
        means = self.means.tolist()
        order = range(len(self.settings))
        return min(order, key=lambda i: (-means[i], self.settings[i].complexity))

    @property
    def best(self) -> SVRSetting:
        """The setting with the highest mean correlation."""
        return self.settings[self.best_index]

    @property
    def best_predictions(self) -> FloatArray:
        """Predictions of the best setting for each row when trained on the other folds."""
        return np.asarray(self.predictions[self.best_index])


def search_svr(
    features: Features,
    targets: FloatArray,
    fold_of_row: IntArray,
    grid: SVRGrid,
    *,
    workers: int | None = None,
    advance: Callable[[int, int], None] = lambda _done, _total: None,  # fits
    max_bytes: int = MAX_BYTES,
) -> SVRSearch:
    """Cross-validate every setting of the grid, with one thread per worker (one worker per core).

    The result does not depend on the number of workers; each needs memory for one kernel. With a
    scaled grid, features are standardised over all rows, held-out ones included: distances could
    not be shared otherwise, and no target is used.
    """
    folds = int(fold_of_row.max()) + 1
    gammas, settings = grid.gammas(features.shape[1]), grid.settings(features.shape[1])
    jobs = list(product(range(folds), range(len(gammas))))
    workers = min(affordable_workers(len(targets), folds, workers, max_bytes), len(jobs))
    if grid.scaled:
        features = Standardisation.fit(features)(features)
    distances = squared_distances(features, max_bytes)
    fits, total = len(settings) // len(gammas), len(settings) * folds
    correlations = np.zeros((len(grid.C), len(grid.epsilon), len(gammas), folds))
    predictions = np.empty((len(grid.C), len(grid.epsilon), len(gammas), len(targets)))

    def cross_validate(job: tuple[int, int]) -> None:
        fold, gamma = job
        in_fold = fold_of_row == fold
        predicted = _predict_fold(distances, targets, in_fold, grid, gammas[gamma])
        predictions[:, :, gamma, in_fold] = predicted
        correlations[:, :, gamma, fold] = fold_pearson(targets[in_fold], predicted)

    _run_jobs(cross_validate, jobs, workers, lambda jobs_done: advance(jobs_done * fits, total))
    return SVRSearch(
        settings,
        correlations.reshape(len(settings), folds),
        predictions.reshape(len(settings), len(targets)),
    )


def fold_pearson(targets: FloatArray, predictions: FloatArray) -> FloatArray:
    """Return the correlation of targets with each row of predictions; 0 where one is constant."""
    width, largest = np.ptp(predictions, axis=-1), np.abs(predictions).max(axis=-1)
    correlation = np.nan_to_num(pearson(targets, predictions), nan=0.0)
    return np.where(width <= _ROUNDING * largest, 0.0, correlation)


def _predict_fold(
    distances: FloatArray, targets: FloatArray, in_fold: Mask, grid: SVRGrid, gamma: float
) -> FloatArray:
    """Return predictions for held-out rows of every C and ε, shape (C, ε, rows), by one kernel."""
    trained, fold_rows = np.flatnonzero(~in_fold), np.flatnonzero(in_fold)
    kernel = _rbf_kernel_in_place(distances[np.ix_(trained, trained)], gamma)
    to_fold = _rbf_kernel_in_place(distances[np.ix_(fold_rows, trained)], gamma)
    predictions = np.empty((len(grid.C), len(grid.epsilon), len(fold_rows)))
    for (i, C), (j, epsilon) in product(enumerate(grid.C), enumerate(grid.epsilon)):  # noqa: N806
        coefficients, intercept = solve_dual(
            kernel, targets[trained], SVRSetting(C, epsilon, gamma)
        )
        # Unlike a product by BLAS, this adds up in one order whatever else is running.
        predictions[i, j] = np.einsum("ij,j->i", to_fold, coefficients) + intercept
    return predictions


def affordable_workers(
    rows: int, folds: int, workers: int | None = None, max_bytes: int = MAX_BYTES
) -> int:
    """Return the number of workers of a search; raise where the memory does not suffice for them.

    A search needs all distances, and for each worker a kernel and the solver's cache. Without a
    number of workers there are as many as there are cores and as the memory suffices for.
    """
    trained = rows - rows // folds
    shared = 8 * rows * rows
    each = 8 * rows * trained + min(_SOLVER_CACHE, 4 * trained * trained)
    count = workers or max(1, min(os.cpu_count() or 1, (max_bytes - shared) // each))
    what = f"A grid search over {rows:,} rows with {count} worker{'s'[: count != 1]}"
    _check_memory(what, shared + count * each, max_bytes, "train on fewer rows (--sample)")
    return count


def _run_jobs(
    work: Callable[[tuple[int, int]], None],
    jobs: Sequence[tuple[int, int]],
    workers: int,
    report: Callable[[int], None],
) -> None:
    """Run all jobs on threads, and report the number of finished ones after each."""
    pool = ThreadPoolExecutor(workers)
    try:
        futures = [pool.submit(work, job) for job in jobs]
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            report(done)
    finally:
        # After an error or an interrupt, jobs that have not started are not waited for.
        pool.shutdown(cancel_futures=True)


# Search, then fit


def check_svr(groups: Sequence[str], folds: int, seed: int, workers: int | None) -> None:
    """Raise what `fit_svr` would raise: better before texts are encoded or scored than after."""
    _solver()
    grouped_folds(groups, folds, seed)
    affordable_workers(len(groups), folds, workers)


def fit_svr(
    features: Features,
    targets: FloatArray,
    groups: Sequence[str],
    grid: SVRGrid,
    *,
    folds: int,
    seed: int,
    workers: int | None = None,
    progress: Progress = NO_PROGRESS,
) -> FittedRegressor[SupportVectors]:
    """Fit an ε-SVR to all rows, with the setting of the best cross-validated Pearson.

    A scaled grid brings ratings to mean 0 and standard deviation 1 too, so that its C and ε mean
    the same on any scale; predictions are on the scale of the ratings.
    """
    mean, scale = (targets.mean(), targets.std() or 1.0) if grid.scaled else (0.0, 1.0)
    scaled_targets = (targets - mean) / scale
    fold_of_row = grouped_folds(groups, folds, seed)
    progress.stage("Searching for settings")
    search = search_svr(
        features, scaled_targets, fold_of_row, grid, workers=workers, advance=progress.step
    )
    progress.stage("Fitting")
    model = fit_support_vectors(features, scaled_targets, search.best, scaled=grid.scaled)
    return FittedRegressor(
        regressor=replace(
            model,
            coefficients=model.coefficients * scale,
            intercept=model.intercept * scale + mean,
        ),
        chosen=asdict(search.best) | {"support_vectors": len(model.vectors)},
        settings_tried=len(search.settings),
        folds=folds,
        criterion=float(search.means[search.best_index]),
        rows=np.arange(len(targets)),
        fold_of_row=fold_of_row,
        predictions=search.best_predictions * scale + mean,
    )
