"""Speed of agreement statistics against plain Python and loops over numpy and scipy, as ratios.

    python benchmarks/agreement.py [--rounds 5] [--segments 2000]

Scores are synthetic: 20 systems, 20 metrics. Plain Python (tests/plain_agreement.py) is written
straight from the definitions; where it would take hours it does a part of the work, which the
table states, and its time is scaled up to the whole. Every answer is compared with the rival's. All
run on one core, and the fastest round counts. Exits with 1 where we are less than 20
times as fast as plain Python, or where time grows faster with segments than n log n.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

# Read when numpy is imported: rivals have one core, and so have we.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np
import numpy.typing as npt
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import plain_agreement as plain
from adequa.segments import FloatArray, IntArray
from adequa.statistics.correlation import pearson
from adequa.statistics.kendall import kendall_b
from adequa.statistics.permutation import (
    Differences,
    pearson_differences,
    swap_units,
    system_differences,
)
from adequa.statistics.resampling import bootstrap_counts
from adequa.statistics.ties import calibrate
from timing import shortest

Masks: TypeAlias = npt.NDArray[np.bool_]

SYSTEMS = METRICS = 20
RESAMPLES, SEED = 1000, 1
PAIRS = METRICS * (METRICS - 1) // 2
GOAL = 20  # times as fast as plain Python
GROWTH = (500, 1000, 2000, 4000)  # segments
# Time may grow by this much more than n log n: caches fill up, and clocks are not exact.
SLACK = 1.5


@dataclass(frozen=True)
class Judged:
    """Synthetic scores, a row for each output."""

    segments: int
    human: FloatArray
    metrics: FloatArray
    system_codes: IntArray
    units: IntArray

    def by_segment(self, scores: FloatArray) -> FloatArray:
        """Scores as (segments, systems)."""
        return np.ascontiguousarray(scores.reshape(SYSTEMS, self.segments).T)

    @property
    def human_systems(self) -> FloatArray:
        """The mean human score of each system."""
        return np.asarray(self.human.reshape(SYSTEMS, self.segments).mean(axis=1))


def judged(segments: int) -> Judged:
    """20 systems, in rows of one after the other; half of the outputs have no error, as in MQM."""
    generator = np.random.default_rng(SEED)
    quality = generator.normal(size=SYSTEMS).repeat(segments) / 2
    quality += generator.normal(size=quality.size)
    noise = generator.uniform(0.5, 2, (METRICS, 1)) * generator.normal(size=(METRICS, quality.size))
    return Judged(
        segments=segments,
        human=np.minimum(np.round(2 * quality), 0.0),
        metrics=np.round(quality + noise, 4),
        system_codes=np.arange(SYSTEMS).repeat(segments),
        units=swap_units("both", None, None, quality.size),
    )


def our_ties(data: Judged) -> tuple[float, float]:
    """The threshold and the accuracy of the first metric."""
    ties = calibrate(data.by_segment(data.human), data.by_segment(data.metrics[0]))
    return float(ties.epsilon), float(ties.accuracy)


def our_systems(data: Judged) -> Differences:
    """PERM-BOTH for all pairs of metrics, Pearson over systems."""
    codes, units = data.system_codes, data.units
    return system_differences(
        data.human_systems, data.metrics, codes, units, pearson, RESAMPLES, SEED
    )


def our_segments(data: Judged) -> Differences:
    """PERM-BOTH for all pairs of metrics, Pearson over all outputs."""
    return pearson_differences(data.human, data.metrics, data.units, RESAMPLES, SEED)


OURS: dict[str, Callable[[Judged], object]] = {
    "tie-calibrated accuracy": our_ties,
    "PERM-BOTH, system level": our_systems,
    "PERM-BOTH, segment level": our_segments,
}


def plain_systems(data: Judged, pairs: int, masks: Masks) -> list[list[float]]:
    """Plain Python: the first metric against the next ones, under these masks."""
    human, codes, units = (x.tolist() for x in (data.human_systems, data.system_codes, data.units))
    metrics, rows = data.metrics.tolist(), masks.tolist()
    return [
        plain.system_differences(human, metrics[0], metrics[other], codes, units, rows)
        for other in range(1, pairs + 1)
    ]


def plain_segments(data: Judged, pairs: int, masks: Masks) -> list[list[float]]:
    """The same over all outputs."""
    human, units = data.human.tolist(), data.units.tolist()
    metrics, rows = data.metrics.tolist(), masks.tolist()
    return [
        plain.segment_differences(human, metrics[0], metrics[other], units, rows)
        for other in range(1, pairs + 1)
    ]


def looped(
    data: Judged, pairs: int, masks: Masks, statistic: Callable[[FloatArray], float]
) -> list[list[float]]:
    """The straightforward loop over pairs and resamples, with arrays inside it."""
    scores = stats.zscore(data.metrics, axis=1)
    first = scores[0]
    return [
        [
            statistic(np.where(mask, second, first)) - statistic(np.where(mask, first, second))
            for mask in masks
        ]
        for second in scores[1 : pairs + 1]
    ]


def looped_systems(data: Judged, pairs: int, masks: Masks) -> list[list[float]]:
    """Numpy and scipy, Pearson over systems."""
    human = data.human_systems

    def statistic(scores: FloatArray) -> float:
        means = scores.reshape(SYSTEMS, data.segments).mean(axis=1)
        return float(stats.pearsonr(human, means)[0])

    return looped(data, pairs, masks, statistic)


def looped_segments(data: Judged, pairs: int, masks: Masks) -> list[list[float]]:
    """Numpy and scipy, Pearson over all outputs."""
    return looped(data, pairs, masks, lambda scores: float(stats.pearsonr(data.human, scores)[0]))


@dataclass(frozen=True)
class Rival:
    """Another way to the differences, and the part of the work that it does."""

    name: str
    differences: Callable[[Judged, int, Masks], list[list[float]]]
    pairs: int
    resamples: int
    is_goal: bool = False

    @property
    def fraction(self) -> float:
        """Of all pairs and resamples."""
        return self.pairs * self.resamples / (PAIRS * RESAMPLES)


PERMUTATIONS = {
    "PERM-BOTH, system level": (
        Rival("plain Python", plain_systems, pairs=1, resamples=5, is_goal=True),
        Rival("numpy and scipy loop", looped_systems, pairs=2, resamples=50),
    ),
    "PERM-BOTH, segment level": (
        Rival("plain Python", plain_segments, pairs=1, resamples=5, is_goal=True),
        Rival("numpy and scipy loop", looped_segments, pairs=2, resamples=50),
    ),
}


def print_row(*cells: str) -> None:
    """One row of a Markdown table, at once."""
    print("| " + " | ".join(cells) + " |", flush=True)


def print_header(*cells: str) -> None:
    """The first rows of a Markdown table; all columns but the first hold numbers."""
    print()
    print_row(*cells)
    print("|---|" + "---:|" * (len(cells) - 1))


def against_ties(data: Judged, rounds: int) -> bool:
    """Tie calibration against the sweep in plain Python."""
    human, metric = (data.by_segment(x).tolist() for x in (data.human, data.metrics[0]))
    expected = plain.calibrated_accuracy(human, metric)
    np.testing.assert_allclose(our_ties(data), expected, rtol=0, atol=1e-9)
    ours = shortest(partial(our_ties, data), rounds)
    theirs = shortest(partial(plain.calibrated_accuracy, human, metric), rounds)
    return print_ratio("tie-calibrated accuracy", "plain Python", "all", (ours, theirs), goal=True)


def against_permutations(data: Judged, rounds: int) -> bool:
    """PERM-BOTH against rivals that do a part of the work under the same masks."""
    succeeds = True
    masks = plain.swap_masks(data.human.size, RESAMPLES, SEED)
    for what, rivals in PERMUTATIONS.items():
        work = OURS[what](data)
        assert isinstance(work, Differences)
        ours = shortest(partial(OURS[what], data), rounds)
        for rival in rivals:
            part = partial(rival.differences, data, rival.pairs, masks[: rival.resamples])
            differences = work.resampled[0, 1 : rival.pairs + 1, : rival.resamples]
            np.testing.assert_allclose(differences, part(), rtol=0, atol=1e-9)
            theirs = shortest(part, min(rounds, 3)) / rival.fraction
            done = f"{rival.pairs} of {PAIRS} pairs, {rival.resamples} of {RESAMPLES:,} resamples"
            succeeds &= print_ratio(what, rival.name, done, (ours, theirs), goal=rival.is_goal)
    return succeeds


def print_ratio(
    what: str, rival: str, done: str, times: tuple[float, float], *, goal: bool
) -> bool:
    """Print a row of the first table; whether its goal is reached."""
    ours, theirs = times
    limit = f"{GOAL}" if goal else ""
    print_row(what, rival, done, f"{ours:.3f}", f"{theirs:,.2f}", f"{theirs / ours:,.0f}", limit)
    return not goal or theirs / ours >= GOAL


def within_n_log_n(sizes: Sequence[int], times: Sequence[float]) -> bool:
    """Whether the whole growth stays within n log n, give or take."""
    small, large = sizes[0], sizes[-1]
    limit = large * math.log(large) / (small * math.log(small))
    return times[-1] / times[0] <= SLACK * limit


def growth(rounds: int) -> bool:
    """Time against segments, and the ratio of each to the one before."""
    print_header("growth, seconds (times the one before)", *(f"{n:,} segments" for n in GROWTH))
    inputs, succeeds = [judged(segments) for segments in GROWTH], True
    for what, work in OURS.items():
        times = [shortest(partial(work, data), rounds) for data in inputs]
        print_row(what, *with_ratios(times))
        succeeds &= within_n_log_n([SYSTEMS * segments for segments in GROWTH], times)
    return succeeds


def with_ratios(times: Sequence[float]) -> list[str]:
    """Times, each but the first with its ratio to the one before."""
    first, *others = times
    pairs = zip(times, others, strict=False)
    return [f"{first:.4f}", *(f"{now:.4f} ({now / before:.2f})" for before, now in pairs)]


def kendall(rounds: int) -> bool:
    """Kendall's tau-b of a thousand bootstrap resamples, against scipy's on each of them."""
    print_header(
        f"tau-b of {RESAMPLES:,} resamples, seconds (times the one before)",
        *(f"{n:,} items" for n in GROWTH),
    )
    generator, ours, theirs = np.random.default_rng(SEED), [], []
    for items in GROWTH:
        human = np.round(generator.normal(size=items), 2)
        metric = human + generator.normal(size=items)
        weights = bootstrap_counts(items, RESAMPLES, SEED)
        work = partial(resampled_taus, human, metric, weights)
        np.testing.assert_allclose(kendall_b(human, metric, weights), work(), rtol=0, atol=1e-12)
        ours.append(shortest(partial(kendall_b, human, metric, weights), min(rounds, 3)))
        theirs.append(shortest(work, 1))
    print_row("ours", *with_ratios(ours))
    print_row("scipy.stats.kendalltau, one by one", *with_ratios(theirs))
    print_row("scipy / ours", *(f"{t / o:.2f}" for o, t in zip(ours, theirs, strict=True)))
    return within_n_log_n(GROWTH, ours)


def resampled_taus(human: FloatArray, metric: FloatArray, weights: FloatArray) -> list[float]:
    """scipy's tau-b of resamples that are written out by the counts of their items."""
    resamples = (np.repeat(np.arange(len(human)), counts) for counts in weights.astype(np.intp))
    return [stats.kendalltau(human[rows], metric[rows])[0] for rows in resamples]


def main() -> int:
    """Print the tables; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--segments", type=int, default=2000)
    arguments = parser.parse_args()
    data = judged(arguments.segments)
    print(f"{SYSTEMS} systems, {data.segments:,} segments, {METRICS} metrics, seconds")
    columns = ("rival", "part of the work the rival did", "ours", "rival's, for the whole work")
    print_header("what", *columns, "times as fast", "goal")
    succeeds = against_ties(data, arguments.rounds)
    succeeds &= against_permutations(data, arguments.rounds)
    succeeds &= growth(arguments.rounds)
    succeeds &= kendall(arguments.rounds)
    print("\nEvery goal is reached." if succeeds else "\nA goal is missed.")
    return 0 if succeeds else 1


if __name__ == "__main__":
    sys.exit(main())
