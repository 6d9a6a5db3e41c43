"""From features and ratings to a regressor, with its settings chosen on held-out rows.

The SVR is chosen by cross-validation, the perceptron on a development split; in both, rows of one
reference stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.judgements import Ids
from adequa.learned.base import UNSEEN, Training
from adequa.learned.device import training_device
from adequa.learned.embedding import mlp_training, svr_search
from adequa.learned.embedding.distances import Features
from adequa.learned.embedding.mlp_training import PerceptronGrid, search_perceptrons
from adequa.learned.embedding.perceptron import Perceptron
from adequa.learned.embedding.support_vectors import SupportVectors, fit_support_vectors
from adequa.learned.embedding.svr import svr_solver
from adequa.learned.embedding.svr_search import Grid, check_search_memory, search
from adequa.learned.folds import grouped_folds, split_off
from adequa.learned.references import Reduction, reduce_pairs
from adequa.segments import FloatArray, IntArray
from adequa.statistics.correlation import pearson
from adequa.statistics.kendall import kendall_b

Regressor: TypeAlias = SupportVectors | Perceptron

SVR_GRIDS = {"scaled": svr_search.SCALED, "paper": svr_search.PAPER}
MLP_GRIDS = {"scaled": mlp_training.SHORT, "paper": mlp_training.PAPER}


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A regressor, how it was chosen, and what it said of rows that it had not learnt from."""

    regressor: Regressor
    chosen: Mapping[str, Any]  # the settings
    tried: int  # settings that it was chosen from
    folds: int  # of the cross-validation, or 0 for a development split
    criterion: float  # the Pearson correlation that it was chosen by
    held_out: IntArray  # rows
    predictions: FloatArray  # for those rows


def check_svr(groups: Sequence[str], folds: int, seed: int, workers: int | None) -> None:
    """Raise what `fit_svr` would raise: better before texts are encoded or scored than after."""
    svr_solver()
    grouped_folds(groups, folds, seed)
    check_search_memory(len(groups), folds, workers)


def check_perceptron(groups: Sequence[str], development: float, seed: int, device: str) -> None:
    """Raise what `fit_perceptron` would raise, likewise."""
    training_device(device)
    split_off(len(groups), development, seed, groups)


def fit_svr(
    features: Features,
    targets: FloatArray,
    groups: Sequence[str],
    grid: Grid,
    *,
    folds: int,
    seed: int,
    workers: int | None = None,
    training: Training = UNSEEN,
) -> Fitted:
    """An ε-SVR with the setting of the best cross-validated Pearson, fitted to all rows.

    A scaled grid brings ratings to mean 0 and standard deviation 1 too, so that its C and ε mean
    the same on any scale; predictions are on the scale of the ratings.
    """
    mean, scale = (targets.mean(), targets.std() or 1.0) if grid.scaled else (0.0, 1.0)
    scaled_targets = (targets - mean) / scale
    fold_of_row = grouped_folds(groups, folds, seed)
    training.stage("Searching for settings")
    found = search(
        features, scaled_targets, fold_of_row, grid, workers=workers, advance=training.advance
    )
    training.stage("Fitting")
    model = fit_support_vectors(features, scaled_targets, found.best, scaled=grid.scaled)
    return Fitted(
        regressor=replace(
            model,
            coefficients=model.coefficients * scale,
            intercept=model.intercept * scale + mean,
        ),
        chosen=asdict(found.best) | {"support_vectors": len(model.vectors)},
        tried=len(found.settings),
        folds=folds,
        criterion=float(found.means[found.best_index]),
        held_out=np.arange(len(targets)),
        predictions=found.best_predictions * scale + mean,
    )


def fit_perceptron(
    features: Features,
    targets: FloatArray,
    groups: Sequence[str],
    grid: PerceptronGrid,
    *,
    development: float,
    seed: int,
    device: str = "auto",
    training: Training = UNSEEN,
) -> Fitted:
    """A perceptron with the setting and the epoch of the best Pearson on a development split."""
    training.stage("Searching for settings")
    held_out = split_off(len(targets), development, seed, groups)
    found = search_perceptrons(
        features,
        targets,
        held_out,
        grid,
        seed,
        device=device,
        tf32=True,  # on a GPU; fewer digits in products, far fewer than dropout leaves anyway
        advance=training.advance,
    )
    regressor = Perceptron(found.layers, found.standardisation)
    return Fitted(
        regressor=regressor,
        chosen=asdict(found.best) | {"epoch": found.best_epoch},
        tried=len(found.settings),
        folds=0,
        criterion=float(found.correlations.max()),
        held_out=np.flatnonzero(held_out),
        predictions=regressor.predict(features[held_out]),
    )


def by_segment(fitted: Fitted, segment: IntArray, reduction: Reduction) -> Fitted:
    """Reduce held-out predictions of pairs to one a segment; `segment` is that of each pair.

    All references of a segment are in one fold, and its pairs are in a row.
    """
    held_out = segment[fitted.held_out]
    return replace(
        fitted,
        held_out=np.unique(held_out),
        predictions=reduce_pairs(fitted.predictions, held_out, reduction),
    )


def held_out_agreement(targets: FloatArray, ids: Ids, fitted: Fitted) -> dict[str, Any]:
    """How well held-out predictions agree with people: in all, and by language pair.

    The settings were chosen on these same rows, so that the figures are a little too good; what
    the metric is worth on new data is for `adequa evaluate` to tell.
    """
    rows = fitted.held_out
    pairs = np.array(ids["lp"])[rows] if "lp" in ids else None
    return {
        "held_out_rows": len(rows),
        "settings_tried": fitted.tried,
        "folds": fitted.folds,
        "criterion_pearson": figure(fitted.criterion),
        **correlations(targets[rows], fitted.predictions, pairs),
    }


def correlations(
    human: FloatArray, predictions: FloatArray, pairs: npt.NDArray[np.str_] | None
) -> dict[str, Any]:
    """Agreement as metric.json keeps it: in all, and by language pair where they are known."""
    report: dict[str, Any] = {"all": _correlations(human, predictions)}
    if pairs is not None:
        report["by_language_pair"] = {
            str(pair): _correlations(human[pairs == pair], predictions[pairs == pair])
            for pair in np.unique(pairs)
        }
    return report


def _correlations(human: FloatArray, predictions: FloatArray) -> dict[str, float | int | None]:
    return {
        "rows": len(human),
        "pearson": figure(float(pearson(human, predictions))),
        "kendall": figure(float(kendall_b(human, predictions))),
    }


def figure(value: float) -> float | None:
    """A figure as metric.json keeps it: None where it is undefined."""
    return None if np.isnan(value) else round(value, 6)
