"""The bootstrap as counts: how often each segment or system was drawn, and what follows from it.

A resample is not a list of rows but an array of weights, so that one call of a statistic answers
for a whole chunk of resamples and memory stays bounded for any number of them.

Efron, 1979, Bootstrap Methods: Another Look at the Jackknife. Koehn, 2004, Statistical Significance
Tests for Machine Translation Evaluation, brought it to translation; Deutsch, Dror and Roth, 2021, A
Statistical Analysis of Summarization Evaluation Metrics using Resampling Methods, draw segments
(BOOT-INPUTS), systems (BOOT-SYSTEMS) or both (BOOT-BOTH).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from adequa.errors import AdequaError
from adequa.segments import FloatArray, IntArray

Seed: TypeAlias = int | Sequence[int]

LIMIT = 2**22  # numbers in an array: 32 MB of floats, of which a few are held at once


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a statistic lies with some confidence; `undefined` resamples had no value."""

    low: float
    high: float
    undefined: int = 0


def bootstrap_counts(units: int, resamples: int, seed: Seed) -> FloatArray:
    """How often each unit was drawn in each resample: (resamples, units), rows add up to units.

    Row b is multinomial: `units` draws with replacement, each unit as likely as any other.

    >>> bootstrap_counts(4, 2, seed=1).sum(axis=1)
    array([4., 4.])
    """
    return np.concatenate(list(bootstrap_chunks(units, resamples, seed)))


def bootstrap_chunks(
    units: int, resamples: int, seed: Seed, *, per_resample: int = 0, limit: int = LIMIT
) -> Iterator[FloatArray]:
    """The counts of `bootstrap_counts` in chunks, so that memory stays bounded.

    `per_resample` is how many numbers a caller derives from each resample, if more than its counts.
    """
    generator = np.random.default_rng(seed)
    for part in count_chunks(resamples, max(units, per_resample), limit):
        yield _draw(generator, units, part.stop - part.start)


def bootstrap_sums(columns: FloatArray, resamples: int, seed: Seed) -> FloatArray:
    """Sums of columns (k, units) over the units drawn, in each resample: (k, resamples).

    The same seed draws the same units, so that ratios and differences of sums can follow.

    >>> bootstrap_sums(np.array([[1.0, 1.0, 1.0]]), 2, seed=1)
    array([[3., 3.]])
    """
    chunks = bootstrap_chunks(columns.shape[1], resamples, seed)
    return np.concatenate([columns @ counts.T for counts in chunks], axis=1)


def count_chunks(count: int, per_row: int, limit: int = LIMIT) -> Iterator[slice]:
    """Slices of `count` rows of `per_row` numbers each that hold at most `limit` numbers.

    A row that is larger than the limit by itself is a slice of its own.

    >>> list(count_chunks(5, per_row=10, limit=20))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, limit // max(1, per_row))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def row_weights(
    segment_codes: IntArray | None,
    system_codes: IntArray | None,
    over: str,
    resamples: int,
    seed: Seed,
    *,
    limit: int = LIMIT,
) -> Iterator[FloatArray]:
    """The weights of rows in bootstrap resamples, chunk by chunk: (chunk, rows) arrays.

    A row weighs as often as its segment was drawn (`over="segments"`), as its system was
    (`"systems"`), or the product of the two, which are drawn independently (`"both"`). Codes are
    integers that identify segments, or systems. The same seed gives the same weights
    whatever the limit on memory.

    >>> segments, systems = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> next(row_weights(segments, systems, "segments", resamples=2, seed=2))
    array([[1., 1., 1., 1.],
           [2., 2., 0., 0.]])
    """
    units_of_rows = _units_of_rows(segment_codes, system_codes, over, seed)
    rows = len(units_of_rows[0][0])

    def weights(part: slice) -> FloatArray:
        counts = (
            _draw(generator, units, part.stop - part.start).take(codes, axis=1)
            for codes, units, generator in units_of_rows
        )
        return reduce(np.multiply, counts)

    return map(weights, count_chunks(resamples, rows, limit))


def interval(samples: FloatArray, confidence: float = 0.95) -> Interval:
    """The percentile interval of resampled values (Efron, 1979).

    Its bounds are the quantiles (1 - c) / 2 and (1 + c) / 2 of the values. Undefined ones (NaN)
    are left out and counted; where they are more than half, there is no interval.

    >>> interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0, np.nan]), confidence=0.5)
    Interval(low=2.0, high=4.0, undefined=1)
    """
    defined = samples[~np.isnan(samples)]
    undefined = samples.size - defined.size
    if not defined.size or undefined > defined.size:
        return Interval(np.nan, np.nan, undefined)
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high), undefined)


def _units_of_rows(
    segment_codes: IntArray | None, system_codes: IntArray | None, over: str, seed: Seed
) -> list[tuple[IntArray, int, np.random.Generator]]:
    """For each kind of unit that is drawn: the unit of each row, how many, and its generator."""
    # Both get a generator of their own, so that one draws the same whether or not the other does.
    for_segments, for_systems = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
    kinds = (("segments", segment_codes, for_segments), ("systems", system_codes, for_systems))
    units_of_rows = []
    for kind, codes, generator in kinds:
        if over not in (kind, "both"):
            continue
        if codes is None or not len(codes):
            raise AdequaError(
                f'A bootstrap over "{over}" draws {kind}, but the judgements do not say which '
                f"of the {kind} a row belongs to, or there are no rows."
            )
        names, dense = np.unique(codes, return_inverse=True)
        units_of_rows.append((dense, len(names), generator))
    return units_of_rows


def _draw(generator: np.random.Generator, units: int, resamples: int) -> FloatArray:
    """Counts of `units` draws with replacement, for so many resamples.

    Sixty-four-bit draws use up the generator's stream number by number, so that the answer does
    not depend on how resamples are cut into chunks; smaller types would not.
    """
    draws = generator.integers(units, size=(resamples, units), dtype=np.int64)
    draws += units * np.arange(resamples, dtype=np.int64)[:, np.newaxis]
    counts = np.bincount(draws.ravel(), minlength=resamples * units)
    return counts.reshape(resamples, units).astype(np.float64)
