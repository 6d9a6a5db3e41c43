"""Development data: held-out references, and the figures on their judgements.

Training is monitored on them, and the best of several settings is chosen by them.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.learned.folds import reference_leaders
from adequa.learned.pair.subsets import PairIndex, Subset, sample
from adequa.segments import FloatArray, IntArray
from adequa.statistics.correlation import pearson

if TYPE_CHECKING:
    from adequa.learned.pair.plan import DevelopmentPlan, Plan, StagePlan
    from adequa.learned.pair.views import ViewTable
    from adequa.learned.training import Figures

Scorer: TypeAlias = Callable[[IntArray], FloatArray]

PEARSON, ACCURACY = "pearson", "accuracy"

# Groups of connected references up to this size may be held out whatever the fraction; a larger one
# may be a chain of sentences such as "Yes."
_ORDINARY_GROUP = 16
_NO_PAIRS: IntArray = np.empty(0, np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class Development:
    """Held-out ratings and preferences, as numbers of pairs; each may be empty."""

    rated: IntArray
    ratings: FloatArray
    rating_groups: IntArray  # code of the dataset and language pair of each rating
    better: IntArray
    worse: IntArray

    def figures(self, scores_of: Scorer) -> Figures:
        """Pearson's correlation, and the fraction of preferences with the right order.

        The correlation is the mean over language pairs, weighted by their sizes. An undefined
        correlation, as of constant scores, counts as 0.
        """
        pairs, index = np.unique(
            np.concatenate([self.rated, self.better, self.worse]), return_inverse=True
        )
        if not len(pairs):
            return {}
        scores = scores_of(pairs)[index]
        rated, better, worse = np.split(scores, np.cumsum([len(self.rated), len(self.better)]))
        figures: dict[str, float] = {}
        if len(rated):
            figures[PEARSON] = self._pearson(rated)
        if len(better):
            figures[ACCURACY] = float(np.mean(better > worse))
        return figures

    def select(self, mask: npt.NDArray[np.bool_]) -> Development:
        """The judgements of some pairs; the mask has an element for every number."""
        rated, compared = mask[self.rated], mask[self.better] & mask[self.worse]
        return replace(
            self,
            rated=self.rated[rated],
            ratings=self.ratings[rated],
            rating_groups=self.rating_groups[rated],
            better=self.better[compared],
            worse=self.worse[compared],
        )

    def _pearson(self, scores: FloatArray) -> float:
        groups = [np.flatnonzero(self.rating_groups == g) for g in np.unique(self.rating_groups)]
        groups = [rows for rows in groups if len(rows) > 1]
        if not groups:
            return 0.0
        values = np.nan_to_num([pearson(self.ratings[rows], scores[rows]) for rows in groups])
        # Weighted, because the correlation of two ratings is always 1 or -1.
        return float(np.average(values, weights=[len(rows) for rows in groups]))


def view_figures(development: Development, table: ViewTable, scores_of: Scorer) -> Figures:
    """The figures in the richest view of each pair, and in every view, such as pearson_source.

    `scores_of` are the scores of pairs in a view; each is scored once.
    """
    every = np.concatenate([development.rated, development.better, development.worse])
    rows = np.setdiff1d(table.pairs[every], [-1])
    scores = scores_of(rows)

    def scores_in(shown: IntArray) -> Scorer:
        return lambda pairs: scores[np.searchsorted(rows, shown[pairs])]

    figures = dict(development.figures(scores_in(table.richest)))
    for view in table.views:
        shown = table.in_view(view)
        part = development.select(shown >= 0).figures(scores_in(shown))
        figures |= {f"{name}_{view}": value for name, value in part.items()}
    return figures


def criterion(figures: Figures, objectives: tuple[str, ...]) -> float:
    """The figure to choose weights by, for these objectives; 0 without development data."""
    names = (ACCURACY, PEARSON) if objectives == ("preferences",) else (PEARSON, ACCURACY)
    return next((figures[name] for name in names if name in figures), 0.0)


@dataclass(frozen=True, slots=True)
class DevelopmentReferences:
    """The references that no stage may learn from, and notes for the user."""

    references: set[str]
    notes: tuple[str, ...] = ()


def development_references(
    plan: DevelopmentPlan, subsets: Sequence[Subset], development: Sequence[Subset], seed: int
) -> DevelopmentReferences:
    """The references of the development data, or a random fraction of all references.

    Sets of references that share one are held out together or not at all.
    """
    if development:
        sets = (references for subset in development for references in subset.references)
        return DevelopmentReferences({reference for references in sets for reference in references})
    if not plan.share:
        return DevelopmentReferences(set())
    leader = reference_leaders(refs for subset in subsets for refs in subset.references)
    groups = defaultdict[str, list[str]](list)
    for reference, first in leader.items():
        groups[first].append(reference)
    # Texts without judgements cannot serve for choices, so that holding them out helps no one.
    judged = dict.fromkeys(
        leader[refs[0]]
        for subset in subsets
        if subset.kind != "texts"
        for refs in subset.references
    )
    # Where nearly all references are connected, one draw would hold out nearly all.
    largest = max(plan.share * len(leader), _ORDINARY_GROUP)
    too_large = [len(groups[first]) for first in judged if len(groups[first]) > largest]
    # Drawn by the text, so that a reference is held out in every dataset or in none.
    selected = [
        groups[first] for first in judged if _uniform(min(groups[first]), seed) < plan.share
    ]
    references = {r for group in selected if len(group) <= largest for r in group}
    return DevelopmentReferences(references, _large_group_notes(too_large, len(leader)))


def _uniform(text: str, seed: int) -> float:
    """A pseudo-random number from 0 to 1 that depends on the text and the seed alone."""
    digest = hashlib.sha256(f"{seed}\t{text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _large_group_notes(sizes: Sequence[int], references: int) -> tuple[str, ...]:
    if not sizes:
        return ()
    return (
        f"of {references:,} references {sum(sizes):,} hang together, each beside the next in some "
        "segment; none of them is held out, since all would be.",
    )


def development_data(
    plan: DevelopmentPlan,
    subsets: Sequence[Subset],
    references: set[str],
    index: PairIndex,
    seed: int,
) -> Development:
    """The judgements of held-out references; each row of a dataset once."""
    validation_parts = _without_repeats(
        [each.select(each.mask_with_any(references)) for each in subsets]
    )
    rated, compared = (
        sample(
            [each for each in validation_parts if each.kind == kind and len(each)], plan.rows, seed
        )
        for kind in ("ratings", "preferences")
    )
    groups = [f"{subset.name} {pair}" for subset in rated for pair in subset.language_pairs]
    # Only the first reference is read: these figures are for choosing, not for reporting.
    pairs = [index.add_first(subset.sides[0], subset.rows) for subset in rated]
    both = [[index.add_first(side, subset.rows) for side in subset.sides] for subset in compared]
    return Development(
        rated=np.concatenate([_NO_PAIRS, *pairs]),
        ratings=np.concatenate([np.empty(0), *(subset.ratings for subset in rated)]),
        rating_groups=np.unique(np.array(groups, dtype=str), return_inverse=True)[1],
        better=np.concatenate([_NO_PAIRS, *(better for better, _ in both)]),
        worse=np.concatenate([_NO_PAIRS, *(worse for _, worse in both)]),
    )


def _without_repeats(subsets: Sequence[Subset]) -> list[Subset]:
    """The subsets without rows of an earlier one: the same row of the same dataset."""
    seen: set[tuple[object, ...]] = set()
    unique = []
    for subset in subsets:
        # Two files may have the same name: their rows are compared by all they hold.
        columns = [[side.hypotheses[row] for row in subset.rows.tolist()] for side in subset.sides]
        references = [subset.reference_sets[index] for index in subset.row_sets.tolist()]
        scores = subset.ratings.tolist() or [None] * len(subset)
        lines = subset.file_rows.rows[subset.rows].tolist()
        keys = [
            (subset.name, *key) for key in zip(lines, scores, references, *columns, strict=True)
        ]
        unique.append(subset.select(np.array([key not in seen for key in keys], dtype=bool)))
        seen.update(keys)
    return unique


def check_can_choose(plan: Plan, development: Development) -> None:
    """Raise if a stage has several trials that development data cannot tell apart."""
    for number, stage in enumerate(plan.stage, 1):
        trials = len(stage.trials())
        if trials > 1 and not _can_choose(stage, development):
            raise AdequaError(
                f"Stage {number} has {trials} combinations of settings to choose from, and too few "
                "judgements are held out to choose by; hold out a larger share, name data for "
                "development, or give one value for batch, learning_rate and epochs each."
            )


def _can_choose(stage: StagePlan, development: Development) -> bool:
    """Whether the criterion of the stage can differ between two networks."""
    # As in `criterion`, accuracy comes first in a stage of preferences alone.
    by_accuracy = stage.objective == "preferences" and not stage.beside
    if len(development.better) and (by_accuracy or not len(development.rated)):
        return True
    groups = development.rating_groups
    ratings = [development.ratings[groups == group] for group in np.unique(groups)]
    return any(np.ptp(each) > 0 for each in ratings)
