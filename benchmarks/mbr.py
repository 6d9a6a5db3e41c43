"""Minimum Bayes risk: adequa's choices against the plain double loop over the same metric.

    python benchmarks/mbr.py                                    # chrf, 64 candidates, 100 sentences
    python benchmarks/mbr.py --metric adequa --sentences 2

The double loop scores one pair at a time with the metric, as the definition is written; a second
rival scores each candidate against all others in one call. Candidates are the sentences of the
examples with words dropped, replaced or exchanged. All must choose the same.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from adequa.metrics.contract import Metric
from adequa.metrics.registry import load_metric
from adequa.scoring.mbr import mbr
from adequa.segments import Segments

EXAMPLES = Path(__file__).parent.parent / "examples"
SENTENCES = (EXAMPLES / "reference.txt").read_text(encoding="utf-8").splitlines()
WORDS = " ".join(SENTENCES).split()
_DROPPED, _REPLACED = 0.1, 0.25  # from 0 to 1: what becomes of a word


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
            for at, other in enumerate(texts)
            if at != place
        )
        for place, text in enumerate(texts)
    ]
    return _first_best(metric, utilities)


def by_candidates(metric: Metric, texts: Sequence[str]) -> int:
    """One candidate at a time, against all others in one call."""
    utilities = []
    for place, text in enumerate(texts):
        others = tuple((other,) for at, other in enumerate(texts) if at != place)
        scores = metric.score(Segments((text,) * len(others), others)).segments
        utilities.append(math.fsum(scores.tolist()))
    return _first_best(metric, utilities)


def _first_best(metric: Metric, utilities: Sequence[float]) -> int:
    best = max(utilities) if metric.higher_is_better else min(utilities)
    return utilities.index(best)


def main() -> None:
    """Time all three in one run, and compare their choices."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--metric", default="chrf")
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--candidates", type=int, default=64)
    args = parser.parse_args()
    draw = random.Random(0)
    lists = [candidates(draw, args.candidates) for _ in range(args.sentences)]
    pairs = args.sentences * args.candidates * (args.candidates - 1)
    print(
        f"{args.metric}: {args.candidates} candidates × {args.sentences} sentences, {pairs:,} pairs"
    )
    load_metric(args.metric).score(Segments(("A cat.",), (("The cat.",),)))  # open what it opens

    def loop(one: Callable[[Metric, Sequence[str]], int]) -> list[int]:
        metric = load_metric(args.metric)  # anew, as some remember what they scored
        return [one(metric, texts) for texts in lists]

    ways: dict[str, Callable[[], list[int]]] = {
        "adequa mbr": lambda: [choice.index for choice in mbr(lists, args.metric)],
        "double loop, by pairs": lambda: loop(by_pairs),
        "double loop, by candidates": lambda: loop(by_candidates),
    }
    ours, chosen = 0.0, list[int]()
    for name, way in ways.items():
        began = time.perf_counter()
        found = way()
        seconds = time.perf_counter() - began
        ours, chosen = (ours, chosen) if ours else (seconds, found)
        same = sum(one == other for one, other in zip(found, chosen, strict=True))
        print(
            f"{name:>27}: {seconds:8.2f} s  {pairs / seconds:>10,.0f} pairs/s  "
            f"{seconds / ours:6.1f} times ours  {same} of {len(lists)} choices the same",
            flush=True,
        )


if __name__ == "__main__":
    main()
