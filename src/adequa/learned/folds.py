"""Held-out data: folds and development splits by group, and agreement with people on them.

Rows that share a reference, or a source sentence, look alike; where one is trained on and the
other one held out, the held-out figure flatters. Rows of one group therefore stay together.

Written by hand: scikit-learn's GroupKFold balances the folds without a seed or shuffles without
balancing them, and its GroupShuffleSplit samples a fraction of the groups, not of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.judgements import Ids
from adequa.segments import FloatArray, IntArray, Reduction, Segments, reduce_pairs
from adequa.statistics.correlation import pearson
from adequa.statistics.kendall import kendall_b

Mask: TypeAlias = npt.NDArray[np.bool_]
Regressor = TypeVar("Regressor")

_FEWEST_FOLDS = 2


def grouped_folds(groups: Sequence[str], folds: int, seed: int) -> IntArray:
    """Return the fold of each row, from 0: all rows of a group in one, folds about equal in rows.

    Groups come in an order shuffled by the seed, the largest first, and each goes to the fold
    that has the fewest rows so far. Where every row is a group of its own, no two folds differ by
    more than one row.

    >>> grouped_folds(["a", "a", "b", "c", "c", "d"], folds=2, seed=1).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if folds < _FEWEST_FOLDS:
        raise AdequaError(f"Cross-validation needs at least 2 folds, not {folds}.")
    codes, sizes = _group_codes(groups)
    if sizes.size < folds:
        raise AdequaError(
            f"{folds} folds need at least {folds} groups of rows (rows of one reference are a "
            f"group), but there {'is' if sizes.size == 1 else 'are'} {sizes.size}; ask for fewer "
            "folds, or give more judgements."
        )
    shuffled = np.random.default_rng(seed).permutation(sizes.size)
    largest_first = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    fold_of_group = np.empty(sizes.size, np.intp)
    rows_in_fold = np.zeros(folds, np.intp)
    for group in largest_first.tolist():
        fold = int(np.argmin(rows_in_fold))
        fold_of_group[group] = fold
        rows_in_fold[fold] += sizes[group]
    return fold_of_group[codes]


def split_off(groups: Sequence[str], fraction: float, seed: int) -> Mask:
    """Return the mask of rows held out for development: about the given fraction of them.

    Whole groups are sampled in an order shuffled by the seed, and those that would exceed the
    fraction are skipped. At least one group is on either side.

    >>> split_off(["a", "a", "b", "c"], 0.25, seed=1).tolist()
    [False, False, True, False]
    """
    if not 0 < fraction < 1:
        raise AdequaError(
            f"The share of rows to hold out lies between 0 and 1, but it is {fraction}."
        )
    codes, sizes = _group_codes(groups)
    if sizes.size < _FEWEST_FOLDS:
        raise AdequaError(
            "Holding out rows for development needs at least 2 groups of rows, but there "
            f"{'is' if sizes.size == 1 else 'are'} {sizes.size}; give more judgements."
        )
    return np.isin(codes, _sample_groups(sizes, max(1, round(fraction * len(groups))), seed))


def _sample_groups(sizes: IntArray, rows: int, seed: int) -> list[int]:
    """Return groups with about so many rows in all, at least one group and never all."""
    sample: list[int] = []
    for group in np.random.default_rng(seed).permutation(sizes.size).tolist():
        if sizes[group] <= rows and len(sample) < sizes.size - 1:
            sample.append(group)
            rows -= int(sizes[group])
    return sample or [int(np.argmin(sizes))]


def _group_codes(groups: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Return the number of each row's group, and the number of rows of each group.

    Groups are numbered by first appearance, so that their names do not matter.
    """
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(group, len(numbers)) for group in groups], np.intp)
    return codes, np.bincount(codes, minlength=len(numbers))


@dataclass(frozen=True, slots=True, eq=False)
class FittedRegressor(Generic[Regressor]):
    """A regressor, how it was chosen, and its predictions for rows that it was not trained on.

    With cross-validation these are all rows, each predicted by the regressor of the other folds.
    """

    regressor: Regressor
    chosen: Mapping[str, Any]  # the settings
    settings_tried: int
    folds: int  # of the cross-validation, or 0 for a single validation split
    criterion: float  # the Pearson correlation that it was chosen by
    rows: IntArray
    fold_of_row: IntArray  # all 0 for a single split
    predictions: FloatArray

    def reduced(self, segment: IntArray, reduction: Reduction) -> FittedRegressor[Regressor]:
        """Return it with predictions of segments instead of pairs with a reference.

        `segment` is the segment of each pair (`Segments.pairs`). All references of a segment are
        in one fold.
        """
        segments = segment[self.rows]
        rows, first = np.unique(segments, return_index=True)
        return replace(
            self,
            rows=rows,
            fold_of_row=self.fold_of_row[first],
            predictions=reduce_pairs(self.predictions, segments, reduction),
        )


def validation_agreement(
    targets: FloatArray, ids: Ids, fitted: FittedRegressor[Any]
) -> dict[str, Any]:
    """Return how well validation predictions agree with people: in all, and by language pair.

    The settings were chosen on these same rows, so that the figures are a little too good;
    `adequa evaluate` measures a metric on new data.
    """
    pairs = np.array(ids["lp"])[fitted.rows] if "lp" in ids else None
    return {
        "held_out_rows": len(fitted.rows),
        "settings_tried": fitted.settings_tried,
        "folds": fitted.folds,
        "mean_over_folds": fitted.folds > 0,
        "criterion_pearson": rounded(fitted.criterion),
        **correlations(targets[fitted.rows], fitted.predictions, pairs, fitted.fold_of_row),
    }


def correlations(
    human: FloatArray,
    predictions: FloatArray,
    language_pairs: npt.NDArray[np.str_] | None,
    fold_of_row: IntArray | None = None,
) -> dict[str, Any]:
    """Return Pearson and Kendall as metric.json holds them: in all, and by language pair.

    With folds, both are means over folds (`mean_over_folds`).
    """
    folds = np.zeros(len(human), np.intp) if fold_of_row is None else fold_of_row
    masks: dict[str, Mask] = {}
    if language_pairs is not None:
        masks = {str(pair): language_pairs == pair for pair in np.unique(language_pairs)}
    by_pair = {
        pair: _correlations(human[mask], predictions[mask], folds[mask])
        for pair, mask in masks.items()
    }
    report: dict[str, Any] = {"all": _correlations(human, predictions, folds)}
    return report | ({"by_language_pair": by_pair} if language_pairs is not None else {})


def _correlations(
    human: FloatArray, predictions: FloatArray, fold_of_row: IntArray
) -> dict[str, float | int | None]:
    return {
        "rows": len(human),
        "pearson": rounded(mean_over_folds(pearson, human, predictions, fold_of_row)),
        "kendall": rounded(mean_over_folds(kendall_b, human, predictions, fold_of_row)),
    }


def mean_over_folds(
    correlation: Callable[[FloatArray, FloatArray], Any],
    human: FloatArray,
    predictions: FloatArray,
    fold_of_row: IntArray,
) -> float:
    """Return the mean over folds of the correlation in each fold.

    Every fold has another regressor, whose predictions may have another offset; one correlation
    over the rows of all folds would measure these offsets too. Constant predictions count as 0,
    as where settings are chosen. Folds of a single row do not count. NaN where no fold has a
    correlation.

    >>> human, fold = np.array([1.0, 2.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    >>> round(mean_over_folds(pearson, human, np.array([0.1, 0.2, 9.1, 9.2]), fold), 6)
    1.0
    """
    masks = [fold_of_row == fold for fold in np.unique(fold_of_row)]
    values = [float(correlation(human[m], predictions[m])) for m in masks if m.sum() > 1]
    return float("nan") if np.isnan(values).all() else float(np.nan_to_num(values).mean())


def rounded(figure: float) -> float | None:
    """Return a figure as metric.json holds it: None where it is undefined."""
    return None if np.isnan(figure) else round(figure, 6)


def reference_groups(segments: Segments) -> list[str]:
    """Return a group name for each segment; segments that share a reference share the group.

    Sharing is transitive: two segments may be connected through a third. Where there are no
    references, segments of one source are a group.

    >>> reference_groups(Segments(("a", "b", "c", "d"), (("x",), ("y",), ("y", "z"), ("z",))))
    ['x', 'y', 'y', 'y']
    """
    if not segments.has_references:
        return list(segments.sources or ())
    leader = reference_leaders(segments.references)
    return [leader[references[0]] for references in segments.references]


def reference_leaders(reference_sets: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Map every reference to one that represents its group (union-find).

    Two references are of one group where they occur in one set.

    >>> reference_leaders([("x",), ("y",), ("y", "z"), ("w", "z")])
    {'x': 'x', 'y': 'w', 'z': 'w', 'w': 'w'}
    """
    parent: dict[str, str] = {}

    def leader(reference: str) -> str:
        while parent[reference] != reference:
            parent[reference] = parent[parent[reference]]
            reference = parent[reference]
        return reference

    for references in dict.fromkeys(reference_sets):
        for reference in references:
            parent.setdefault(reference, reference)
            parent[leader(reference)] = leader(references[0])
    return {reference: leader(reference) for reference in parent}
