"""Grid search for ε-SVR with an RBF kernel that computes distances once.

The kernel is K(x, y) = exp(-γ |x - y|²). Squared distances do not depend on C, ε, γ or the fold:
they are computed once for all rows, and a fold's are a part of them. A kernel depends on γ and the
fold: it is computed once for each, and every C and ε is fitted on it. scikit-learn's GridSearchCV
computes a kernel for each fit, which takes nearly all of its time.

The criterion is the mean over folds of Pearson's correlation on the rows held out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np

from adequa.errors import AdequaError
from adequa.learned.embedding.distances import MOST_BYTES, Features, check_memory, squared_distances
from adequa.learned.embedding.standardisation import checked_training_rows, standardisation
from adequa.learned.embedding.svr import Setting, fitted, rbf_kernel_in_place
from adequa.learned.folds import Mask
from adequa.segments import FloatArray, IntArray
from adequa.statistics.correlation import pearson

Progress: TypeAlias = Callable[[int, int], None]  # fits done, fits in all

# Predictions that differ by less than this share of the largest differ by rounding alone.
_ROUNDING = 1e-12
_TWO_FOLDS = 2
_SOLVER_CACHE = 200_000_000  # bytes: scikit-learn's default


@dataclass(frozen=True, slots=True)
class Grid:
    """Values to combine. With `scaled`, features are standardised and γ is divided by their number.

    Standardised features lie about 2 × dimension apart (in squares), whatever the encoder, so that
    such a γ means the same for all.
    """

    C: tuple[float, ...]
    epsilon: tuple[float, ...]
    gamma: tuple[float, ...]
    scaled: bool

    def __post_init__(self) -> None:
        if not (self.C and self.epsilon and self.gamma):
            raise AdequaError("A grid needs at least one value each for C, ε and γ.")
        if min(self.C) <= 0 or min(self.gamma) <= 0 or min(self.epsilon) < 0:
            raise AdequaError("In a grid C and γ are greater than 0, and ε is not less than 0.")

    def gammas(self, dimension: int) -> tuple[float, ...]:
        """The values of γ for features of that dimension."""
        return tuple(gamma / dimension for gamma in self.gamma) if self.scaled else self.gamma

    def settings(self, dimension: int) -> tuple[Setting, ...]:
        """All combinations: the last of C, ε and γ changes the quickest."""
        return tuple(
            Setting(*values) for values in product(self.C, self.epsilon, self.gammas(dimension))
        )


# §4.1 of the SVR paper; features as they are.
PAPER = Grid(
    C=(0.01, 0.1, 1, 10), epsilon=(0.01, 0.1, 1, 10), gamma=(0.01, 0.1, 1, 10), scaled=False
)
SCALED = Grid(C=(0.3, 1, 3, 10), epsilon=(0.1, 0.4), gamma=(0.03, 0.1, 0.3, 1), scaled=True)


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Every setting with its correlations and its predictions for rows while they were held out."""

    settings: tuple[Setting, ...]
    correlations: FloatArray  # (settings, folds)
    predictions: FloatArray  # (settings, rows)

    @property
    def means(self) -> FloatArray:
        """The criterion: for each setting the mean over folds."""
        return np.asarray(self.correlations.mean(axis=1))

    @property
    def best_index(self) -> int:
        """Of the setting with the highest mean; among equals, of the simplest model."""
        means = self.means.tolist()
        order = range(len(self.settings))
        return min(order, key=lambda i: (-means[i], self.settings[i].complexity))

    @property
    def best(self) -> Setting:
        """The setting with the highest mean correlation."""
        return self.settings[self.best_index]

    @property
    def best_predictions(self) -> FloatArray:
        """What the best setting predicts for each row when trained on the other folds."""
        return np.asarray(self.predictions[self.best_index])


def search(
    features: Features,
    targets: FloatArray,
    fold_of_row: IntArray,
    grid: Grid,
    *,
    workers: int | None = None,
    advance: Progress = lambda _done, _total: None,
    most_bytes: int = MOST_BYTES,
) -> Search:
    """Cross-validate every setting of the grid, with one thread a worker (by default one a core).

    The result does not depend on the number of workers; each holds one kernel. Where the grid is
    scaled, features are standardised over all rows, held-out ones included: distances could not be
    shared otherwise, and no target is looked at.
    """
    features, targets = checked_training_rows(features, targets)
    folds = _checked_folds(fold_of_row, len(targets))
    gammas, settings = grid.gammas(features.shape[1]), grid.settings(features.shape[1])
    jobs = list(product(range(folds), range(len(gammas))))
    workers = min(check_search_memory(len(targets), folds, workers, most_bytes), len(jobs))
    if grid.scaled:
        features = standardisation(features)(features)
    distances = squared_distances(features, most_bytes)
    fits, total = len(settings) // len(gammas), len(settings) * folds
    correlations = np.zeros((len(grid.C), len(grid.epsilon), len(gammas), folds))
    predictions = np.empty((len(grid.C), len(grid.epsilon), len(gammas), len(targets)))

    def cross_validate(job: tuple[int, int]) -> None:
        fold, gamma = job
        held_out = fold_of_row == fold
        found = _fit_all(distances, targets, held_out, grid, gammas[gamma])
        predictions[:, :, gamma, held_out] = found
        correlations[:, :, gamma, fold] = agreement(targets[held_out], found)

    _run(cross_validate, jobs, workers, lambda jobs_done: advance(jobs_done * fits, total))
    return Search(
        settings,
        correlations.reshape(len(settings), folds),
        predictions.reshape(len(settings), len(targets)),
    )


def agreement(targets: FloatArray, predictions: FloatArray) -> FloatArray:
    """Pearson's correlation with targets of each row of predictions; 0 where a side is constant."""
    spread, largest = np.ptp(predictions, axis=-1), np.abs(predictions).max(axis=-1)
    correlation = np.nan_to_num(pearson(targets, predictions), nan=0.0)
    return np.where(spread <= _ROUNDING * largest, 0.0, correlation)


def _fit_all(
    distances: FloatArray, targets: FloatArray, held_out: Mask, grid: Grid, gamma: float
) -> FloatArray:
    """Predictions for held-out rows of every C and ε, shape (C, ε, rows), on one kernel."""
    trained, held_out_rows = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    kernel = rbf_kernel_in_place(distances[np.ix_(trained, trained)], gamma)
    to_held_out = rbf_kernel_in_place(distances[np.ix_(held_out_rows, trained)], gamma)
    predictions = np.empty((len(grid.C), len(grid.epsilon), len(held_out_rows)))
    for (i, C), (j, epsilon) in product(enumerate(grid.C), enumerate(grid.epsilon)):  # noqa: N806
        setting = Setting(C, epsilon, gamma)
        coefficients, intercept = fitted(kernel, targets[trained], setting)
        # Unlike a product by BLAS, this adds up in one order whatever else is running.
        predictions[i, j] = np.einsum("ij,j->i", to_held_out, coefficients) + intercept
    return predictions


def _checked_folds(fold_of_row: IntArray, rows: int) -> int:
    """The number of folds, after a check that every row has one and none is empty."""
    if fold_of_row.shape != (rows,):
        raise AdequaError(f"Every row needs a fold, but {rows} rows have {fold_of_row.size}.")
    found = np.unique(fold_of_row)
    if found.size < _TWO_FOLDS or not np.array_equal(found, np.arange(found.size)):
        raise AdequaError("Folds are numbered from 0 without gaps, and there are at least 2.")
    return int(found.size)


def check_search_memory(
    rows: int, folds: int, workers: int | None = None, most_bytes: int = MOST_BYTES
) -> int:
    """The number of workers that `search` has, or a sentence where not even one has the memory.

    There are all distances, and for each worker a kernel and what the solver keeps of it. Without
    a number there are as many as there are cores and as have the memory.
    """
    trained = rows - rows // folds
    shared = 8 * rows * rows
    each = 8 * rows * trained + min(_SOLVER_CACHE, 4 * trained * trained)
    wanted = workers or max(1, min(os.cpu_count() or 1, (most_bytes - shared) // each))
    what = f"A grid search over {rows:,} rows with {wanted} worker{'s'[: wanted != 1]}"
    check_memory(what, shared + wanted * each, most_bytes, "train on fewer rows (--sample)")
    return wanted


def _run(
    work: Callable[[tuple[int, int]], None],
    jobs: Sequence[tuple[int, int]],
    workers: int,
    tell: Callable[[int], None],
) -> None:
    """Do all jobs on threads, and tell how many are done after each."""
    pool = ThreadPoolExecutor(workers)
    try:
        futures = [pool.submit(work, job) for job in jobs]
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            tell(done)
    finally:
        # After an error or an interrupt, jobs that have not begun are not waited for.
        pool.shutdown(cancel_futures=True)
