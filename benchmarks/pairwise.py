"""Speed of the pairwise ranker: all pairs of many systems, and the gradient of a batch.

Run: python benchmarks/pairwise.py [--systems 10] [--segments 3000]

Prints the time to compute the inputs (once a hypothesis); the time of the network for all pairs in
one batch, also as a fraction of the inputs' time; and the time of the network pair by pair: one
call for every two systems and segment, as a user would compare hypotheses one at a time. The latter
is measured on a part of the segments and extrapolated. The decisions have to be equal.

With PyTorch installed, also prints the time of a cost and its gradient for a batch of 30 triples:
the hand-written backward pass against the same equations with PyTorch's automatic gradients, which
have to be equal.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from adequa.learned.pairwise.data import UniqueTexts
from adequa.learned.pairwise.inputs import Scaling, load_inputs
from adequa.learned.pairwise.network import (
    Features,
    NetworkShape,
    PairwiseNetwork,
    Triples,
    symmetric_logistic,
)
from adequa.segments import FloatArray, Segments

INPUTS = ("4metrics", "bleucomp")
SEGMENTS_PAIR_BY_PAIR = 20
VECTOR = 75  # numbers in a vector: 25 of syntax and 50 of GloVe, as in the paper
BATCH, BATCHES, REPEATS = 30, 200, 5  # triples, as in the paper; the fastest repeat counts

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the seconds that some work takes, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def synthetic_systems(systems: int, segments: int) -> list[Segments]:
    """Return outputs of ever worse systems for sentences of 20 words."""
    random = np.random.default_rng(0)
    vocabulary = np.array([f"word{number}" for number in range(5000)])
    sentences = random.choice(vocabulary, (segments, 20))
    references = tuple((" ".join(words),) for words in sentences)
    outputs = []
    for system in range(systems):
        is_wrong = random.uniform(size=sentences.shape) < 0.1 + 0.05 * system
        words = np.where(is_wrong, random.choice(vocabulary, sentences.shape), sentences)
        outputs.append(Segments(tuple(" ".join(row) for row in words), references))
    return outputs


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--segments", type=int, default=3000)
    arguments = parser.parse_args()
    outputs = synthetic_systems(arguments.systems, arguments.segments)
    pairs = list(combinations(range(arguments.systems), 2))
    texts, rows = UniqueTexts.collect([(output, [""] * len(output)) for output in outputs])
    inputs = load_inputs(INPUTS, cache=False)
    seconds_inputs, raw = timed(lambda: texts.features(inputs, lambda _: None, lambda _: None))
    random = np.random.default_rng(1)
    features = Features(
        random.uniform(-1, 1, (len(raw.scores), VECTOR)),
        Scaling.fit(raw.scores).apply(raw.scores),
        random.uniform(-1, 1, (len(raw.references), VECTOR)),
    )
    network = PairwiseNetwork.initialise(NetworkShape(VECTOR, raw.scores.shape[1]), seed=0)
    triples, _ = texts.triples(
        np.concatenate([rows[first] for first, _ in pairs]),
        np.concatenate([rows[second] for _, second in pairs]),
    )
    seconds, margins = timed(lambda: network.margins(features, triples, symmetric=True))
    sample = [
        pair * arguments.segments + segment
        for segment in range(min(SEGMENTS_PAIR_BY_PAIR, arguments.segments))
        for pair in range(len(pairs))
    ]
    seconds_singly, singly = timed(lambda: pair_by_pair(network, features, triples, sample))
    seconds_singly *= len(margins) / len(sample)
    np.testing.assert_allclose(singly, margins[sample], atol=1e-9)
    print(f"{arguments.systems} systems, {arguments.segments:,} segments, {len(margins):,} pairs")
    print(f"inputs ({', '.join(INPUTS)}), once a hypothesis: {seconds_inputs:.2f} s")
    print(
        f"network, all pairs in one batch: {seconds:.3f} s, {seconds / seconds_inputs:.1%} of that"
    )
    print(f"network, pair by pair: {seconds_singly:.1f} s, {seconds_singly / seconds:.0f} times")
    if find_spec("torch"):
        print_gradient_times(network, features, triples)


def pair_by_pair(
    network: PairwiseNetwork, features: Features, triples: Triples, rows: list[int]
) -> list[float]:
    """Return the margins of triples, from one call each."""
    margins = []
    for row in rows:
        hypotheses = [triples.first[row], triples.second[row]]
        single = Features(
            features.hypotheses[hypotheses],
            features.scores[hypotheses],
            features.references[[triples.reference[row]]],
        )
        triple = Triples(np.array([0]), np.array([1]), np.array([0]))
        margins.append(network.margins(single, triple, symmetric=True).item())
    return margins


def print_gradient_times(network: PairwiseNetwork, features: Features, triples: Triples) -> None:
    """Compare the backward pass by hand with automatic gradients, in turns."""
    from adequa.learned.pairwise.train import cost_gradient  # noqa: PLC0415  # needs PyTorch

    order = np.random.default_rng(2).permutation(len(triples))[: BATCH * BATCHES]
    batches = [triples.select(rows) for rows in order.reshape(-1, BATCH)]
    y = np.ones(BATCH)
    automatic = automatic_gradients(network, features)
    times: dict[str, list[float]] = {"by hand": [], "automatic": []}
    for _ in range(REPEATS):
        seconds, expected = timed(
            lambda: [
                cost_gradient(network, features, batch, y, symmetric_logistic)[1]
                for batch in batches
            ]
        )
        times["by hand"].append(seconds)
        seconds, gradients = timed(lambda: [automatic(batch) for batch in batches])
        times["automatic"].append(seconds)
    np.testing.assert_allclose(gradients, expected, atol=1e-12)
    by_hand, autograd = (1e6 * min(each) / BATCHES for each in times.values())
    print(f"gradient of {BATCH} triples by hand: {by_hand:.0f} µs")
    print(f"gradient by PyTorch: {autograd:.0f} µs, {autograd / by_hand:.1f} times")


def automatic_gradients(
    network: PairwiseNetwork, features: Features
) -> Callable[[Triples], FloatArray]:
    """Return a function for the gradient of the symmetric logistic cost of a batch, by PyTorch."""
    import torch  # noqa: PLC0415  # an extra
    from torch.nn.functional import binary_cross_entropy_with_logits, linear  # noqa: PLC0415

    torch.set_num_threads(1)
    p: dict[str, Any] = {
        name: torch.tensor(value, requires_grad=True) for name, value in network.parameters.items()
    }
    vectors, scores, references = map(
        torch.from_numpy, (features.hypotheses, features.scores, features.references)
    )
    y = torch.ones(BATCH, dtype=torch.float64)

    def outputs(first: Any, second: Any, reference: Any) -> Any:
        x1, x2, xr = vectors[first], vectors[second], references[reference]
        h12 = torch.tanh(linear(torch.cat([x1, x2], 1), p["W12"], p["b12"]))
        h1r = torch.tanh(linear(torch.cat([x1, xr], 1), p["W1r"], p["b1r"]))
        h2r = torch.tanh(linear(torch.cat([x2, xr], 1), p["W2r"], p["b2r"]))
        return torch.cat([h12, h1r, h2r, scores[first], scores[second]], 1) @ p["wv"] + p["bv"]

    def gradient(batch: Triples) -> FloatArray:
        first, second, reference = map(
            torch.from_numpy, (batch.first, batch.second, batch.reference)
        )
        z = outputs(
            torch.cat([first, second]),
            torch.cat([second, first]),
            torch.cat([reference, reference]),
        )
        cost = binary_cross_entropy_with_logits((z[:BATCH] - z[BATCH:]) / 2, y)
        parts = torch.autograd.grad(cost, list(p.values()))
        return np.asarray(torch.cat([part.reshape(-1) for part in parts]))

    return gradient


if __name__ == "__main__":
    main()
