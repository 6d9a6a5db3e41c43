"""How systems are compared: how often is resampled, and what counts as sure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from numbers import Integral

from adequa.comparison.defaults import ALPHA, CONFIDENCE, RESAMPLES, SEED, SWAPS
from adequa.errors import AdequaError, nearest
from adequa.statistics.significance import RULES

MOST = 10_000_000  # resamples

# What ranks say, by the rule that makes them of tests.
_RANKS = {
    "greedy": "systems of one rank do not differ significantly",
    "separated": "every system is significantly better than all systems of lower ranks",
}


@dataclass(frozen=True, slots=True)
class ComparisonSettings:
    """Resampling, confidence and significance.

    >>> str(ComparisonSettings().of(systems=3))
    'resamples:1000|swaps:10000|confidence:0.95|alpha:0.05|clusters:greedy|seed:12345'
    """

    resamples: int = RESAMPLES  # of the bootstrap
    swaps: int | None = None  # of approximate randomisation; None: enough for the systems
    confidence: float = CONFIDENCE  # of intervals
    alpha: float = ALPHA  # level of the tests
    clusters: str = "greedy"  # how ranks are made of tests
    seed: int = SEED
    like_sacrebleu: bool = False  # resamples that equal what was observed do not count

    def __post_init__(self) -> None:
        for name in ("resamples", "swaps"):
            count = getattr(self, name)
            if count is not None and not (_is_whole(count) and 1 <= count <= MOST):
                raise AdequaError(f"{name} is a whole number from 1 to {MOST:,}, not {count}.")
        for name in ("confidence", "alpha"):
            share = getattr(self, name)
            if not 0 < share < 1:
                raise AdequaError(f"{name} is a number between 0 and 1, not {share}.")
        if self.clusters not in RULES:
            raise AdequaError(
                f'There is no rule "{self.clusters}" for ranks; it is one of {", ".join(RULES)}.'
                + nearest(self.clusters, RULES)
            )
        if not _is_whole(self.seed) or self.seed < 0:
            raise AdequaError(f"A seed is a whole number from 0 on, not {self.seed}.")

    @property
    def swap_count(self) -> int:
        """How often outputs are swapped."""
        return SWAPS if self.swaps is None else self.swaps

    @property
    def meaning_of_ranks(self) -> str:
        """What ranks say of systems, in words."""
        return _RANKS[self.clusters]

    def of(self, systems: int) -> ComparisonSettings:
        """The same for so many systems, with a number of swaps.

        Holm's correction multiplies the smallest p-value, which is 1 / (swaps + 1), by the number
        of pairs; half of alpha must remain possible.

        >>> ComparisonSettings().of(systems=40).swaps
        31200
        """
        if self.swaps is not None:
            return self
        pairs = systems * (systems - 1) // 2
        return replace(self, swaps=min(MOST, max(SWAPS, ceil(2 * pairs / self.alpha))))

    def __str__(self) -> str:
        kept = (
            f"resamples:{self.resamples}",
            f"swaps:{self.swaps}",
            f"confidence:{self.confidence:g}",
            f"alpha:{self.alpha:g}",
            f"clusters:{self.clusters}",
            f"seed:{self.seed}",
            *(["ties:no"] if self.like_sacrebleu else []),
        )
        return "|".join(kept)


def _is_whole(count: object) -> bool:
    return isinstance(count, Integral) and not isinstance(count, bool)
