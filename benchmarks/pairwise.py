"""All pairs of many systems by the pairwise ranker: one big batch against pair by pair.

Run: python benchmarks/pairwise.py [--systems 10] [--segments 3000]

Prints the time to compute the inputs (once a hypothesis), the time of the network for all pairs in
one batch and its share of the inputs' time, and the time of the same network pair by pair: one call
for every two systems and segment, as a user would compare hypotheses one at a time. That is
measured on a part of the segments and taken times the rest. The decisions have to be the same.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import combinations
from typing import TypeVar

import numpy as np

from adequa.learned.pairwise.data import UniqueTexts
from adequa.learned.pairwise.inputs import Scaling, load_inputs
from adequa.learned.pairwise.metric import PairwiseRanker
from adequa.learned.pairwise.network import Features, NetworkShape, PairwiseNetwork, Triples
from adequa.segments import Segments

INPUTS = ("4metrics", "bleucomp")
PART = 20  # segments that are decided pair by pair
VECTOR = 75  # numbers of a vector: 25 of syntax and 50 of GloVe, as in the paper

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds, and what the work gives."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def outputs(systems: int, segments: int) -> list[Segments]:
    """Sentences of 20 words of a small vocabulary, and systems that get more and more wrong."""
    random = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(5000)])
    said = random.choice(words, (segments, 20))
    references = tuple((" ".join(row),) for row in said)
    found = []
    for system in range(systems):
        wrong = random.uniform(size=said.shape) < 0.1 + 0.05 * system
        texts = np.where(wrong, random.choice(words, said.shape), said)
        found.append(Segments(tuple(" ".join(row) for row in texts), references))
    return found


def ranker(inputs: Features) -> PairwiseRanker:
    """A ranker with weights as they are drawn: what it decides does not matter here."""
    found = PairwiseRanker(load_inputs(INPUTS, cache=False))
    shape = NetworkShape(VECTOR, inputs.scores.shape[1], hidden=4)
    found.network_ = PairwiseNetwork.initialise(shape, seed=0)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--segments", type=int, default=3000)
    given = parser.parse_args()
    systems = outputs(given.systems, given.segments)
    pairs = list(combinations(range(given.systems), 2))
    texts, rows = UniqueTexts.collect([(each, [""] * len(each)) for each in systems])
    named = load_inputs(INPUTS, cache=False)
    computing, raw = timed(lambda: texts.features(named, lambda _: None, lambda _: None))
    random = np.random.default_rng(1)
    inputs = Features(
        random.uniform(-1, 1, (len(raw.scores), VECTOR)),
        Scaling.fit(raw.scores).apply(raw.scores),
        random.uniform(-1, 1, (len(raw.references), VECTOR)),
    )
    network = ranker(inputs).network_
    first = np.concatenate([rows[one] for one, _ in pairs])
    second = np.concatenate([rows[other] for _, other in pairs])
    triples, _ = texts.triples(first, second)
    together, margins = timed(lambda: network.margins(inputs, triples, symmetric=True))
    some = [
        pair * given.segments + segment
        for segment in range(min(PART, given.segments))
        for pair in range(len(pairs))
    ]

    def one_by_one() -> list[float]:
        return [
            network.margins(_only(inputs, triples, row), _SINGLE, symmetric=True).item()
            for row in some
        ]

    apart, singly = timed(one_by_one)
    apart *= len(margins) / len(some)
    np.testing.assert_allclose(singly, margins[some], atol=1e-9)
    print(f"{given.systems} systems, {given.segments:,} segments, {len(margins):,} decisions")
    print(f"inputs ({', '.join(INPUTS)}), once a hypothesis: {computing:.2f} s")
    print(f"network, all pairs in one batch: {together:.3f} s, {together / computing:.1%} of that")
    print(f"network, pair by pair: {apart:.1f} s, {apart / together:.0f} times as long")


_SINGLE = Triples(np.array([0]), np.array([1]), np.array([0]))


def _only(inputs: Features, triples: Triples, row: int) -> Features:
    """What the network sees of one pair."""
    both = [triples.first[row], triples.second[row]]
    return Features(
        inputs.hypotheses[both],
        inputs.scores[both],
        inputs.references[[triples.reference[row]]],
    )


if __name__ == "__main__":
    main()
