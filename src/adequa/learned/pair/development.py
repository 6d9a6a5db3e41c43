"""What a pair regressor is watched and chosen by: the references held out, and their judgements."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adequa.errors import AdequaError
from adequa.learned.pair.figures import Development
from adequa.learned.pair.parts import Part, Pool, sampled
from adequa.learned.pair.plan import DevelopmentPlan, Plan, StagePlan
from adequa.learned.references import reference_leaders
from adequa.segments import IntArray

_ORDINARY = 16  # references that belong together; more may be a chain of sentences like "Yes."
_NO_PAIRS: IntArray = np.empty(0, np.intp)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The references that no stage may learn from, and what a user should know of them."""

    references: set[str]
    notes: tuple[str, ...] = ()


def held_out_references(
    plan: DevelopmentPlan, parts: Sequence[Part], developed: Sequence[Part], seed: int
) -> HeldOut:
    """Those of the data for development, or a share of all; groups that share one stay whole."""
    if developed:
        return HeldOut({r for part in developed for several in part.references for r in several})
    if not plan.share:
        return HeldOut(set())
    leader = reference_leaders(several for part in parts for several in part.references)
    groups = defaultdict[str, list[str]](list)
    for reference, first in leader.items():
        groups[first].append(reference)
    # Texts that no one judged are never chosen by, so that holding them out alone helps no one.
    judged = dict.fromkeys(
        leader[several[0]] for part in parts if part.kind != "texts" for several in part.references
    )
    # Where nearly all hang together, one draw would hold out nearly all.
    most = max(plan.share * len(leader), _ORDINARY)
    large = [len(groups[first]) for first in judged if len(groups[first]) > most]
    # Drawn by text, so that a reference is held out in every dataset or in none.
    drawn = [groups[first] for first in judged if _draw(min(groups[first]), seed) < plan.share]
    references = {r for group in drawn if len(group) <= most for r in group}
    return HeldOut(references, _large_groups(large, len(leader)))


def _draw(text: str, seed: int) -> float:
    """A number from 0 to 1 that a text and a seed decide."""
    found = hashlib.sha256(f"{seed}\t{text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(found[:8], "big") / 2**64


def _large_groups(large: Sequence[int], references: int) -> tuple[str, ...]:
    if not large:
        return ()
    return (
        f"of {references:,} references {sum(large):,} hang together, each beside the next in some "
        "segment; none of them is held out, since all would be.",
    )


def development_of(
    plan: DevelopmentPlan, parts: Sequence[Part], references: set[str], pool: Pool, seed: int
) -> Development:
    """The judgements of what is held out, as pairs; each row of a dataset once."""
    inside = _each_once([part.select(part.with_any(references)) for part in parts])
    rated, ordered = (
        sampled([part for part in inside if part.kind == kind and len(part)], plan.rows, seed)
        for kind in ("ratings", "preferences")
    )
    groups = [f"{part.name} {pair}" for part in rated for pair in part.language_pairs]
    # With the first reference alone: this is for choosing, not for reporting.
    pairs = [pool.first(part.sides[0], part.rows) for part in rated]
    both = [[pool.first(side, part.rows) for side in part.sides] for part in ordered]
    return Development(
        rated=np.concatenate([_NO_PAIRS, *pairs]),
        ratings=np.concatenate([np.empty(0), *(part.ratings for part in rated)]),
        rating_groups=np.unique(np.array(groups, dtype=str), return_inverse=True)[1],
        better=np.concatenate([_NO_PAIRS, *(better for better, _ in both)]),
        worse=np.concatenate([_NO_PAIRS, *(worse for _, worse in both)]),
    )


def _each_once(parts: Sequence[Part]) -> list[Part]:
    """The parts without what an earlier one has: the same row of the same dataset."""
    known: set[tuple[object, ...]] = set()
    found = []
    for part in parts:
        # Files of one name may be different files: then their rows differ in more than a number.
        columns = [[side.hypotheses[row] for row in part.rows.tolist()] for side in part.sides]
        several = [part.several[at] for at in part.segments[part.rows].tolist()]
        scores = part.ratings.tolist() or [None] * len(part)
        lines = part.kept.rows[part.rows].tolist()
        keys = [(part.name, *key) for key in zip(lines, scores, several, *columns, strict=True)]
        found.append(part.select(np.array([key not in known for key in keys], dtype=bool)))
        known.update(keys)
    return found


def check_choice(plan: Plan, development: Development) -> None:
    """Raise where a stage has several trials, and nothing held out can tell them apart."""
    for number, stage in enumerate(plan.stage, 1):
        trials = len(stage.batch) * len(stage.learning_rate) * len(stage.epochs)
        if trials > 1 and not _can_choose(stage, development):
            raise AdequaError(
                f"Stage {number} has {trials} combinations of settings to choose from, and too few "
                "judgements are held out to choose by; hold out a larger share, name data for "
                "development, or give one value for batch, learning_rate and epochs each."
            )


def _can_choose(stage: StagePlan, development: Development) -> bool:
    """Whether the figure that the stage is chosen by can differ between two networks."""
    # As `criterion` has it: the order counts first where a stage learns nothing else.
    ordered = stage.objective == "preferences" and not stage.beside
    if len(development.better) and (ordered or not len(development.rated)):
        return True
    groups = development.rating_groups
    ratings = [development.ratings[groups == group] for group in np.unique(groups)]
    return any(np.ptp(each) > 0 for each in ratings)
