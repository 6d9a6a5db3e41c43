"""How systems are compared: how often is resampled, and what counts as sure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from adequa.errors import AdequaError, nearest
from adequa.statistics.clusters import RULES

SEED = 12345  # sacreBLEU's: the same seed and the same numbers of resamples are the same resamples
SWAPS = 10_000  # as sacreBLEU has, and more for many systems
MOST = 10_000_000  # resamples


@dataclass(frozen=True, slots=True)
class ComparisonSettings:
    """Resampling, confidence and significance.

    >>> str(ComparisonSettings().of(systems=3))
    'resamples:1000|swaps:10000|confidence:0.95|alpha:0.05|clusters:greedy|seed:12345'
    """

    resamples: int = 1000  # of the bootstrap
    swaps: int | None = None  # of approximate randomisation; None: enough for the systems
    confidence: float = 0.95  # of intervals
    alpha: float = 0.05  # level of the tests
    clusters: str = "greedy"  # how ranks are made of tests
    seed: int = SEED
    like_sacrebleu: bool = False  # resamples that equal what was observed do not count

    def __post_init__(self) -> None:
        for name in ("resamples", "swaps"):
            count = getattr(self, name)
            if count is not None and not 1 <= count <= MOST:
                raise AdequaError(f"{name} is a number from 1 to {MOST:,}, not {count}.")
        for name in ("confidence", "alpha"):
            share = getattr(self, name)
            if not 0 < share < 1:
                raise AdequaError(f"{name} is a number between 0 and 1, not {share}.")
        if self.clusters not in RULES:
            raise AdequaError(
                f'There is no rule "{self.clusters}" for ranks; it is one of {", ".join(RULES)}.'
                + nearest(self.clusters, RULES)
            )
        if self.seed < 0:
            raise AdequaError(f"A seed is a number from 0 on, not {self.seed}.")

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
