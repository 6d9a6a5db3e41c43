"""Settings of tests that compare systems: one set of defaults for Python, command line and HTTP.

The command line imports this file to print its defaults: it must not import numpy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from adequa.errors import AdequaError, check_fields, nearest

SEED = 12345  # sacreBLEU's: the same seed and numbers of resamples give the same resamples
RESAMPLES = 1000  # of the bootstrap
SWAPS = 10_000  # of approximate randomisation, as in sacreBLEU; more for many systems
ALPHA = 0.05  # significance level of tests
CONFIDENCE = 0.95  # of intervals
MAX_RESAMPLES = 10_000_000
# Outputs of all systems together whose differences a report explains. Explaining takes about eleven
# times as long as scoring the same outputs; so many take seconds with the metric that ships.
EXPLAINED_OUTPUTS = 200
FEWEST_EXPLAINED = 10  # segments: with fewer no difference between systems shows

# What equal ranks mean, by the rule that derives ranks from tests (`statistics.significance`).
_RANKS = {
    "greedy": "systems of one rank do not differ significantly",
    "separated": "every system is significantly better than all systems of lower ranks",
}

INTERVALS_AND_RANKS = "intervals do not decide ranks: tests compare systems on the same segments"


@dataclass(frozen=True, slots=True)
class ComparisonSettings:
    """Numbers of resamples, confidence of intervals and significance level.

    >>> str(ComparisonSettings().for_systems(3))
    'resamples:1000|swaps:10000|confidence:0.95|alpha:0.05|clusters:greedy|seed:12345'
    """

    resamples: int = RESAMPLES  # of the bootstrap
    swaps: int | None = None  # of approximate randomisation; None: enough for the systems
    confidence: float = CONFIDENCE  # of intervals
    alpha: float = ALPHA  # significance level of the tests
    clusters: str = "greedy"  # rule that derives ranks from tests
    seed: int = SEED
    like_sacrebleu: bool = False  # resamples equal to the observed difference do not count

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("resamples", "swaps"):
            count = getattr(self, name)
            if count is not None and not 1 <= count <= MAX_RESAMPLES:
                raise AdequaError(
                    f"{name} is a whole number from 1 to {MAX_RESAMPLES:,}, not {count}."
                )
        for name in ("confidence", "alpha"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise AdequaError(f"{name} is a number between 0 and 1, not {value}.")
        if self.clusters not in _RANKS:
            raise AdequaError(
                f'There is no rule "{self.clusters}" for ranks; it is one of {", ".join(_RANKS)}.'
                + nearest(self.clusters, _RANKS)
            )
        if self.seed < 0:
            raise AdequaError(f"A seed is a whole number from 0 on, not {self.seed}.")

    @property
    def swap_count(self) -> int:
        """Number of swaps of approximate randomisation."""
        return SWAPS if self.swaps is None else self.swaps

    @property
    def meaning_of_ranks(self) -> str:
        """What equal and different ranks mean, in words."""
        return _RANKS[self.clusters]

    def for_systems(self, count: int) -> ComparisonSettings:
        """These settings with enough swaps for tests of all pairs of so many systems.

        >>> ComparisonSettings().for_systems(40).swaps
        31200
        """
        return self.for_tests(count * (count - 1) // 2)

    def for_tests(self, count: int) -> ComparisonSettings:
        """These settings with enough swaps for so many tests, unless their number is set.

        Holm's correction multiplies the smallest p-value, which is 1 / (swaps + 1), by the number
        of tests; half of alpha must remain possible.
        """
        if self.swaps is not None:
            return self
        return replace(self, swaps=min(MAX_RESAMPLES, max(SWAPS, ceil(2 * count / self.alpha))))

    def __str__(self) -> str:
        fields = (
            f"resamples:{self.resamples}",
            f"swaps:{self.swaps}",
            f"confidence:{self.confidence:g}",
            f"alpha:{self.alpha:g}",
            f"clusters:{self.clusters}",
            f"seed:{self.seed}",
            *(["ties:no"] if self.like_sacrebleu else []),
        )
        return "|".join(fields)


def sample_size(systems: int) -> int:
    """The number of segments that a report explains, for a number of systems.

    >>> sample_size(2), sample_size(30)
    (100, 10)
    """
    return max(FEWEST_EXPLAINED, EXPLAINED_OUTPUTS // systems)
