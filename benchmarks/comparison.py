"""Speed of comparing systems against sacreBLEU's paired tests on the same statistics.

    python benchmarks/comparison.py [--rounds 3] [--systems 10] [--segments 3000]

Outputs are those of WMT17, German to English, where ADEQUA_DATA names the folder that has them, and
synthetic elsewhere. BLEU, chrF and TER are counted once, which is not timed; both get the counts.
sacreBLEU tests each system against the first, as `--paired-bs` and `--paired-ar` do; we test every
pair of systems. p-values against the first system must be equal. All run on one core, and the
fastest round counts. Exits with 1 where we are less than 10 times as fast.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

# Read when numpy is imported: rivals have one core, and so have we.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np
from sacrebleu.significance import Result, _paired_ar_test, _paired_bs_test

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from adequa import load_metric
from adequa.metrics.sacrebleu_metrics import SacrebleuMetric
from adequa.segments import FloatArray, Segments
from adequa.statistics.paired import (
    Score,
    bootstrap_p_values,
    bootstrap_scores,
    randomisation,
)
from damaged_systems import references, system
from timing import shortest
from wmt_outputs import ARCHIVE, outputs_from_archive

METRICS = ("bleu", "chrf", "ter")
RESAMPLES, SEED = 1000, 12345  # sacreBLEU's own
GOAL = 10  # times as fast as its paired bootstrap
TRIALS, LEVEL = 5000, 0.05  # of equal systems, and of the tests between them


def outputs(systems: int, segments: int) -> tuple[list[list[str]], list[str], str]:
    """Outputs of systems, references, and where they come from."""
    if ARCHIVE.is_file():
        texts = outputs_from_archive("de-en", systems, segments)
        reference = texts.pop("reference")
        texts.pop("source")
        return list(texts.values()), reference, "WMT17, German to English"
    reference = references(segments)
    rates = np.linspace(0.2, 0.26, systems)
    damaged = [system(reference, rate, seed) for seed, rate in enumerate(rates.tolist())]
    return damaged, reference, "synthetic"


def count_all(
    metric: SacrebleuMetric, systems: Sequence[list[str]], reference: Sequence[str]
) -> FloatArray:
    """Counts (systems, segments, k) of a metric."""
    shared = tuple((text,) for text in reference)
    return np.stack([metric.statistics(Segments(tuple(texts), shared)) for texts in systems])


class PrecountedMetric:
    """sacreBLEU's metric with its counts ready: its tests ask for nothing else."""

    def __init__(self, metric: SacrebleuMetric, counts: FloatArray) -> None:
        self.scorer: Any = metric._system_scorer
        self.counts: list[list[list[float]]] = [system.tolist() for system in counts]
        self.next = 1  # the system that is tested next

    def __getattr__(self, name: str) -> Any:
        return getattr(self.scorer, name)

    def _extract_corpus_statistics(self, *_: object) -> list[list[float]]:
        return self.counts[self.next]


def theirs(
    test: Callable[..., Any], metrics: Sequence[SacrebleuMetric], counts: Sequence[FloatArray]
) -> list[list[float]]:
    """sacreBLEU's p-values, by metric, of each system against the first."""
    wrapped = {m.name: PrecountedMetric(m, c) for m, c in zip(metrics, counts, strict=True)}
    baseline = {
        name: (each.counts[0], Result(each._aggregate_and_compute(each.counts[0]).score))
        for name, each in wrapped.items()
    }
    p_values: list[list[float]] = [[] for _ in metrics]
    segments = [""] * counts[0].shape[1]
    for index in range(1, len(counts[0])):
        for each in wrapped.values():
            each.next = index
        _, results = test(baseline, "", segments, None, wrapped, RESAMPLES, -1, SEED)
        for row, metric in zip(p_values, metrics, strict=True):
            row.append(results[metric.name].p_value)
    return p_values


def oriented(metric: SacrebleuMetric) -> Score:
    """System scores, higher is better."""
    sign = 1 if metric.higher_is_better else -1
    return lambda totals: sign * metric.system_scores(totals)


def our_bootstrap(
    metrics: Sequence[SacrebleuMetric], counts: Sequence[FloatArray]
) -> list[list[float]]:
    """Our p-values of every pair by the paired bootstrap; those against the first are returned."""
    scores = [oriented(metric) for metric in metrics]
    resampled = bootstrap_scores(counts, scores, RESAMPLES, SEED)
    return [
        bootstrap_p_values(score(count.sum(axis=1)), part, ties=False)[0, 1:].tolist()
        for score, count, part in zip(scores, counts, resampled, strict=True)
    ]


def our_swaps(
    metrics: Sequence[SacrebleuMetric], counts: Sequence[FloatArray]
) -> list[list[float]]:
    """Our p-values of every pair by approximate randomisation; those against the first."""
    scores = [oriented(metric) for metric in metrics]
    tests = randomisation(counts, scores, RESAMPLES, SEED, ties=False)
    return [each.two_sided[0, 1:].tolist() for each in tests]


def false_alarms() -> tuple[float, float]:
    """How often each test finds a difference at 0.05 where there is none: two equal systems."""
    generator = np.random.default_rng(SEED)
    alarms = np.zeros(2)
    for trial in range(TRIALS):
        scores = generator.normal(size=(2, 100, 1))
        (resampled,) = bootstrap_scores([scores], [first_column], 400, trial)
        (swapped,) = randomisation([scores], [first_column], 399, trial + TRIALS)
        p = bootstrap_p_values(first_column(scores.sum(axis=1)), resampled)
        alarms += np.array([p[0, 1], swapped.two_sided[0, 1]]) <= LEVEL
    return float(alarms[0] / TRIALS), float(alarms[1] / TRIALS)


def first_column(totals: FloatArray) -> FloatArray:
    """A score that is a sum."""
    return totals[:, 0]


def main() -> int:
    """Print the table; 1 where the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--segments", type=int, default=3000)
    arguments = parser.parse_args()
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    texts, reference, origin = outputs(arguments.systems, arguments.segments)
    metrics = [load_metric(name) for name in METRICS]
    assert all(isinstance(metric, SacrebleuMetric) for metric in metrics)
    counts = [count_all(metric, texts, reference) for metric in metrics]  # type: ignore[arg-type]
    systems, segments = counts[0].shape[:2]
    print(f"{origin}: {systems} systems, {segments:,} segments, {', '.join(METRICS)}")
    print(f"{RESAMPLES:,} resamples, CPU seconds on one core\n")
    print("| test | adequa, all pairs | sacreBLEU, against the first | times as fast | goal |")
    print("|---|---:|---:|---:|---:|")
    succeeds = True
    for name, ours, rival, goal in (
        ("paired bootstrap", our_bootstrap, _paired_bs_test, GOAL),
        ("approximate randomisation", our_swaps, _paired_ar_test, None),
    ):
        mine = partial(ours, metrics, counts)  # type: ignore[arg-type]
        other = partial(theirs, rival, metrics, counts)  # type: ignore[arg-type]
        np.testing.assert_array_equal(mine(), other())
        mine_seconds = shortest(mine, arguments.rounds, process_time)
        ratio = shortest(other, 1, process_time) / mine_seconds
        limit = "" if goal is None else str(goal)
        cells = (name, f"{mine_seconds:.3f}", f"{ratio * mine_seconds:.2f}", f"{ratio:.0f}", limit)
        print("| " + " | ".join(cells) + " |", flush=True)
        succeeds &= goal is None or ratio >= goal
    by_bootstrap, by_swaps = false_alarms()
    print(f"\np ≤ {LEVEL:g} in {TRIALS:,} pairs of equal systems (standard error 0.3%): ", end="")
    print(f"paired bootstrap {by_bootstrap:.1%}, approximate randomisation {by_swaps:.1%}")
    print(
        "\nAll p-values are equal."
        + (" The goal is reached." if succeeds else " A goal is missed.")
    )
    return 0 if succeeds else 1


if __name__ == "__main__":
    sys.exit(main())
