"""System-level agreement: whole systems ranked by people and by metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from adequa.agreement.measured import Measured, Statistic
from adequa.agreement.pooled import williams_matrix
from adequa.agreement.protocol import Protocol
from adequa.agreement.rated import CORRELATIONS
from adequa.agreement.sources import Source
from adequa.errors import AdequaError
from adequa.segments import FloatArray, IntArray
from adequa.statistics.arrays import ratio
from adequa.statistics.correlation import undefined_reason
from adequa.statistics.kendall import (
    better_probabilities,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)
from adequa.statistics.permutation import (
    Differences,
    general_differences,
    ratio_differences,
    swap_units,
    system_differences,
)
from adequa.statistics.resampling import bootstrap_chunks, bootstrap_counts

SYSTEM_STATISTICS: dict[str, Statistic] = {**CORRELATIONS, "accuracy": pairwise_accuracy}
_SPA_RESAMPLES = 1000  # of the tests whose p-values soft pairwise accuracy compares


@dataclass(frozen=True, slots=True, eq=False)
class SystemRows:
    """Which system and segment each row of text belongs to, and its rating where it has one."""

    systems: IntArray  # (N,) codes
    segments: IntArray  # (N,) codes
    ratings: FloatArray | None = None  # (N,)


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The systems of one language pair: human scores, and the rows that metrics scored.

    A metric that comes as system scores only has no statistics.
    """

    name: str
    human: FloatArray  # (S,)
    rows: SystemRows
    sources: tuple[Source, ...]  # (K,)
    statistics: tuple[FloatArray | None, ...]  # (K,) of (N, k)
    scores: FloatArray  # (K, S), higher is better
    systems: tuple[str, ...] = ()  # (S,), their names


def measure_systems(data: Ranked, protocol: Protocol) -> Measured:
    """Every metric's agreement on the systems of one language pair."""
    if protocol.statistic == "spa":
        return _soft(data, protocol)
    statistic = SYSTEM_STATISTICS[str(protocol.statistic)]
    return Measured(
        name=data.name,
        items=len(data.human),
        values=np.array([float(statistic(data.human, scores, None)) for scores in data.scores]),
        samples=_samples(data, statistic, protocol),
        differences=_differences(data, statistic, protocol),
        p_values=williams_matrix(data.human, data.scores) if protocol.test == "williams" else None,
        reasons=tuple(undefined_reason(data.human, scores) for scores in data.scores),
    )


def drawn_sums(
    values: FloatArray, systems: IntArray, segments: IntArray, counts: FloatArray
) -> FloatArray:
    """Sums (S, R, k) of each system's rows (N, k), where segment j is drawn `counts[r, j]` times.

    System by system, so that what is held does not grow with their number.
    """
    rows_of = [np.flatnonzero(systems == system) for system in range(int(systems.max()) + 1)]
    return np.stack([counts[:, segments[rows]] @ values[rows] for rows in rows_of])


def system_scores(source: Source, statistics: FloatArray, data: SystemRows) -> FloatArray:
    """The score of every system from all its rows."""
    once = np.ones((1, int(data.segments.max()) + 1))
    totals = drawn_sums(statistics, data.systems, data.segments, once)
    return source.system_scores(totals[:, 0])


def _samples(data: Ranked, statistic: Statistic, protocol: Protocol) -> FloatArray:
    """Resampled segments change the scores of systems; resampled systems count by weights."""
    if protocol.over == "none":
        return np.empty((len(data.scores), 0))
    systems = np.ones((protocol.resamples, len(data.human)))
    if protocol.over in {"systems", "both"}:
        systems = bootstrap_counts(len(data.human), protocol.resamples, protocol.seed)
    if protocol.over == "systems":
        return np.stack([np.asarray(statistic(data.human, s, systems)) for s in data.scores])
    parts, done = [], 0
    units = int(data.rows.segments.max()) + 1
    for counts in bootstrap_chunks(units, protocol.resamples, [protocol.seed, 1]):
        drawn = systems[done : done + len(counts)]
        parts.append(_resampled(data, statistic, counts, drawn))
        done += len(counts)
    return np.concatenate(parts, axis=1)


def _resampled(
    data: Ranked, statistic: Statistic, counts: FloatArray, systems: FloatArray
) -> FloatArray:
    """The statistic of every metric, (K, R), for drawn segments (R, M) and systems (R, S)."""
    there, human = _drawn_humans(data, counts)
    samples = []
    for source, statistics in zip(data.sources, data.statistics, strict=True):
        if statistics is None:
            raise AdequaError(
                f"{source.name} has scores of whole systems only, so that segments cannot be "
                "resampled; use --over systems."
            )
        totals = drawn_sums(statistics, data.rows.systems, data.rows.segments, counts)
        scores = np.zeros_like(human)
        scores[there] = source.system_scores(totals.swapaxes(0, 1)[there])
        samples.append(np.asarray(statistic(human, scores, systems * there)))
    return np.stack(samples)


def _drawn_humans(data: Ranked, counts: FloatArray) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """Which systems have rows in each resample (R, S), and what people think of them by these.

    Human scores of whole systems are what they are, whatever segments are drawn.
    """
    rows = data.rows
    values = np.ones(len(rows.systems)) if rows.ratings is None else rows.ratings
    columns = np.column_stack([values, np.ones_like(values)])
    sums, totals = drawn_sums(columns, rows.systems, rows.segments, counts).T
    there = totals > 0
    if rows.ratings is None:
        return there, np.broadcast_to(data.human, there.shape).copy()
    return there, np.divide(sums, totals, out=np.zeros_like(sums), where=there)


def _differences(data: Ranked, statistic: Statistic, protocol: Protocol) -> Differences | None:
    if protocol.test in {"none", "williams"}:
        return None
    if protocol.test == "systems":
        units = np.arange(len(data.human))
        return general_differences(
            data.human, data.scores, units, statistic, protocol.swap_count, protocol.seed
        )
    segment_scores = _means_only(data)
    units = swap_units(
        str(protocol.test), data.rows.segments, data.rows.systems, len(data.rows.systems)
    )
    return system_differences(
        data.human,
        segment_scores,
        data.rows.systems,
        units,
        statistic,
        protocol.swap_count,
        protocol.seed,
    )


def _means_only(data: Ranked) -> FloatArray:
    """Segment scores (K, N), if every metric's system score is the mean of them."""
    scores = []
    for source, statistics in zip(data.sources, data.statistics, strict=True):
        if statistics is None or not source.is_mean:
            raise AdequaError(
                f"The system score of {source.name} is not the mean of its segment scores, so that "
                "segments cannot be swapped between metrics; use --test systems."
            )
        scores.append(source.segment_scores(statistics))
    return np.stack(scores)


def _soft(data: Ranked, protocol: Protocol) -> Measured:
    """Soft pairwise accuracy, from the segments that all systems share."""
    pairs = list(combinations(range(len(data.human)), 2))
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    shared = _shared(data)
    matrices = [
        _probabilities(values, data, shared, protocol.seed)
        for values in (_known_ratings(data), *_segment_scores(data))
    ]
    human, *metrics = matrices
    # Both orders of a pair: where a resample ties two systems, one order alone would depend on
    # how systems are listed.
    apart = [np.abs(human - metric) for metric in metrics]
    agreement = np.array([1 - (d[first, second] + d[second, first]) / 2 for d in apart])
    samples = np.empty((len(metrics), 0))
    if protocol.over == "systems":
        drawn = bootstrap_counts(len(data.human), protocol.resamples, protocol.seed)
        weights = drawn[:, first] * drawn[:, second]
        samples = np.asarray(ratio(agreement @ weights.T, weights.sum(axis=1)))
    return Measured(
        name=data.name,
        items=len(data.human),
        values=np.array([soft_pairwise_accuracy(human, metric) for metric in metrics]),
        samples=samples,
        differences=None
        if protocol.test == "none"
        else ratio_differences(
            agreement, np.ones_like(agreement), protocol.swap_count, protocol.seed
        ),
        reasons=("there is only one system",) * len(metrics),
        notes=_unshared_note(data, shared),
    )


def _known_ratings(data: Ranked) -> FloatArray:
    if data.rows.ratings is None:
        raise AdequaError(f"{data.name}: soft pairwise accuracy needs ratings of segments.")
    return data.rows.ratings


def _segment_scores(data: Ranked) -> Sequence[FloatArray]:
    found = []
    for source, statistics in zip(data.sources, data.statistics, strict=True):
        if statistics is None:
            raise AdequaError(f"{source.name} has no segment scores, which spa needs.")
        found.append(source.segment_scores(statistics))
    return found


def _shared(data: Ranked) -> IntArray:
    """The segments that every system has."""
    distinct = np.unique(np.column_stack([data.rows.systems, data.rows.segments]), axis=0)
    shared = np.flatnonzero(np.bincount(distinct[:, 1]) == len(data.human))
    if not len(shared):
        raise AdequaError(f"{data.name}: the systems share no segment, which spa needs.")
    return shared


def _probabilities(values: FloatArray, data: Ranked, shared: IntArray, seed: int) -> FloatArray:
    """How sure a test on segments is that one system is better than another, for all pairs."""
    shape = (len(data.human), int(data.rows.segments.max()) + 1)
    cells = data.rows.systems * shape[1] + data.rows.segments
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)[:, shared]
    sums = np.bincount(cells, values, minlength=shape[0] * shape[1]).reshape(shape)[:, shared]
    return np.asarray(better_probabilities(sums / counts, _SPA_RESAMPLES, seed))


def _unshared_note(data: Ranked, shared: IntArray) -> tuple[str, ...]:
    total = len(np.unique(data.rows.segments))
    if len(shared) == total:
        return ()
    return (
        f"{data.name}: spa uses the {len(shared):,} of {total:,} segments that all systems have.",
    )
