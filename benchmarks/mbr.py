"""Minimum Bayes risk: adequa's choices against the plain double loop over the same metric.

    python benchmarks/mbr.py                                    # chrf, 64 candidates, 100 sentences
    python benchmarks/mbr.py --metric adequa --sentences 2
    python benchmarks/mbr.py --metric adequa:threads=2 --processes 8 --pairs-only     # on 16 cores

The double loop scores one pair at a time with the metric, as the definition is written; a second
rival scores each candidate against all others in one call. Candidates are the sentences of the
examples with words dropped, replaced or exchanged. All must choose the same. Processes share
the sentences; each runs all methods, and the sum of their seconds is printed.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from adequa.metrics.base import Metric
from adequa.metrics.registry import load_metric
from adequa.scoring.mbr import mbr
from adequa.segments import Segments
from texts import SENTENCES, WORDS

_DROPPED, _REPLACED = (
    0.1,
    0.25,
)  # a random number below the first drops a word, below the second replaces it


def candidates(draw: random.Random, count: int) -> list[str]:
    """Variants of one sentence, two joined to have the length of news."""
    words = " ".join(draw.sample(SENTENCES, 2)).split()
    return [" ".join(_changed(draw, words)) for _ in range(count)]


def _changed(draw: random.Random, words: Sequence[str]) -> list[str]:
    changed = []
    for word in words:
        chance = draw.random()
        if chance >= _DROPPED:
            changed.append(draw.choice(WORDS) if chance < _REPLACED else word)
    return changed or [words[0]]


def by_pairs(metric: Metric, texts: Sequence[str]) -> int:
    """One pair at a time."""
    utilities = [
        math.fsum(
            float(metric.score(Segments((text,), ((other,),))).segments[0])
            for j, other in enumerate(texts)
            if j != i
        )
        for i, text in enumerate(texts)
    ]
    return _first_best(metric, utilities)


def by_candidates(metric: Metric, texts: Sequence[str]) -> int:
    """One candidate at a time, against all others in one call."""
    utilities = []
    for i, text in enumerate(texts):
        others = tuple((other,) for j, other in enumerate(texts) if j != i)
        scores = metric.score(Segments((text,) * len(others), others)).segments
        utilities.append(math.fsum(scores.tolist()))
    return _first_best(metric, utilities)


def _first_best(metric: Metric, utilities: Sequence[float]) -> int:
    best = max(utilities) if metric.higher_is_better else min(utilities)
    return utilities.index(best)


Timed = tuple[float, list[int]]  # seconds and choices


def time_methods(metric: str, pairs_only: bool, lists: Sequence[Sequence[str]]) -> dict[str, Timed]:
    """All methods on the same candidates, one after the other."""
    load_metric(metric).score(Segments(("A cat.",), (("The cat.",),)))  # load files before timing

    def loop(one: Callable[[Metric, Sequence[str]], int]) -> list[int]:
        fresh = load_metric(metric)  # without scores in memory
        return [one(fresh, texts) for texts in lists]

    methods: dict[str, Callable[[], list[int]]] = {
        "adequa mbr": lambda: [choice.index for choice in mbr(lists, metric)],
        "double loop, by pairs": lambda: loop(by_pairs),
    }
    if not pairs_only:
        methods["double loop, by candidates"] = lambda: loop(by_candidates)
    results = {}
    for name, method in methods.items():
        start = time.perf_counter()
        choices = method()
        results[name] = (time.perf_counter() - start, choices)
        print(f"{name}: {len(lists)} sentences in {results[name][0]:.0f} s", file=sys.stderr)
    return results


def main() -> None:
    """Time all methods in one run, and compare their choices."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--metric", default="chrf")
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--candidates", type=int, default=64)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--pairs-only", action="store_true", help="leave the second rival out")
    args = parser.parse_args()
    draw = random.Random(0)
    lists = [candidates(draw, args.candidates) for _ in range(args.sentences)]
    pairs = args.sentences * args.candidates * (args.candidates - 1)
    print(
        f"{args.metric}: {args.candidates} candidates × {args.sentences} sentences, {pairs:,} pairs"
    )
    parts_of_lists = [lists[first :: args.processes] for first in range(args.processes)]
    with ProcessPoolExecutor(args.processes, get_context("spawn")) as pool:
        parts = list(pool.map(partial(time_methods, args.metric, args.pairs_only), parts_of_lists))
    ours = sum(part["adequa mbr"][0] for part in parts)
    for name in parts[0]:
        seconds = sum(part[name][0] for part in parts)
        same = sum(
            one == other
            for part in parts
            for one, other in zip(part[name][1], part["adequa mbr"][1], strict=True)
        )
        print(
            f"{name:>27}: {seconds:8.2f} s  {pairs / seconds:>10,.0f} pairs/s  "
            f"{seconds / ours:6.1f} times ours  {same} of {len(lists)} choices the same"
        )


if __name__ == "__main__":
    main()
