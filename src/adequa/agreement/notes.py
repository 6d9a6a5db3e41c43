"""What a reader of the figures should know of them, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from adequa.agreement.protocol import Protocol, fewest_swaps
from adequa.agreement.results import Agreement
from adequa.judgements import Judgements, Preferences, Ratings


def peculiarities(judgements: Judgements) -> Iterator[str]:
    """Human ties, and outputs that were rated more than once."""
    if isinstance(judgements, Preferences) and judgements.ties:
        count = sum(judgements.ties.values())
        yield f"human ties, which no tau counts: {count:,} beside {len(judgements):,} preferences."
    if isinstance(judgements, Ratings) and judgements.repeated:
        yield (
            f"outputs of a system and segment that are rated again: {judgements.repeated:,}; "
            "within segments their mean counts, elsewhere every rating."
        )


def too_few_swaps(protocol: Protocol, metrics: int) -> Iterator[str]:
    """A test that could tell no metrics apart."""
    fewest = fewest_swaps(metrics, protocol.alpha)
    if metrics > 1 and protocol.test not in {"none", "williams"} and protocol.swap_count < fewest:
        yield (
            f"{protocol.swap_count:,} swaps are too few to tell any of {metrics} metrics apart at "
            f"{protocol.alpha:g}; it takes {fewest:,} at the least."
        )


def undefined_figures(found: Agreement) -> Iterator[str]:
    """Why some figures are missing."""
    for column in found.all_columns:
        for info, reason in zip(found.metrics, column.reasons, strict=True):
            if reason:
                yield (
                    f"{info.name}, {column.name}: {found.protocol.statistic} is undefined, because "
                    f"{reason}."
                )


def undefined_resamples(found: Agreement) -> Iterator[str]:
    """Intervals that rest on fewer resamples than were asked for."""
    lacking = {
        column.name: column.undefined_resamples
        for column in found.all_columns
        if column.undefined_resamples
    }
    if lacking:
        yield (
            f"up to {max(lacking.values()):,} of {found.protocol.resamples:,} resamples have no "
            f"value and are left out of intervals ({', '.join(lacking)}); where it is more than "
            "half, there is no interval."
        )
