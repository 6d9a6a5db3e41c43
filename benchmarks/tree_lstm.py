"""Segments a second of the Tree-LSTM computed level by level, against node by node.

    python benchmarks/tree_lstm.py [--pairs 200] [--rounds 3] [--device cpu]

The rival (tests/recursive_tree_lstm.py) is the usual recursion over each tree, with the same
weights in the same PyTorch. Trees are random, of 5 to 45 words, about as deep as English ones; a
segment is two of them. Training is the paper's: memory 300, batches of 25, AdaGrad; scoring reads
200 segments at once. Times include everything from the trees on; on a CPU they are processor time
of one thread. The two take turns, and the shortest time of the rounds counts. Outputs and gradients
are compared. The exit code is 1 where they differ by more than 1e-5, or where a Tree-LSTM by level
is less than 15 times as fast. Chains, which are the plain LSTM, are shown for information.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

# Read when PyTorch is imported: both work on one core.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from adequa.io.conllu import ROOT
from adequa.learned.reval.forest import Forest, build_forest
from adequa.learned.reval.network import (
    Structure,
    TreeNetwork,
    TreeShape,
    expected_similarity,
    kl_divergence,
    target_distributions,
)
from adequa.learned.training import copied_weights, load_weights
from adequa.segments import IntArray
from recursive_tree_lstm import RecursiveTreeLSTM

GOAL = 15  # times as fast
TOLERANCE = 1e-5
DIMENSION, VOCABULARY = 300, 20_000
STRUCTURES: tuple[Structure, ...] = ("dependency", "chain")
TRAINING_BATCH, SCORING_BATCH = 25, 200
PENALTY = 1e-4  # λ of L2


@dataclass(frozen=True)
class Work:
    """The input of both: the trees of all references, then of all translations."""

    forest: Forest
    table: Tensor
    targets: Tensor

    def batch(self, start: int, size: int) -> Forest:
        """Return the trees of a batch of pairs."""
        half = len(self.forest) // 2
        rows = np.arange(start, min(start + size, half))
        return self.forest.select(np.concatenate([rows, rows + half]))


def main() -> None:
    """Measure both structures and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    work = _random_work(arguments.pairs, torch.device(arguments.device))
    lengths = work.forest.lengths
    print(f"Segments a second, {arguments.device}, {lengths.mean():.1f} words a sentence:")
    print(f"{'':20}{'levels':>10}{'recursive':>12}{'times':>8}{'differ by':>12}")
    results = {structure: _compare(structure, work, arguments.rounds) for structure in STRUCTURES}
    same = all(equal for equal, _ in results.values())
    sys.exit(not (same and results["dependency"][1] >= GOAL))


def _compare(structure: Structure, work: Work, rounds: int) -> tuple[bool, float]:
    """Return whether the outputs are equal, and the smaller ratio of speeds."""
    shape = TreeShape(DIMENSION, structure=structure)
    network = TreeNetwork(shape, seed=1).to(work.table.device)
    recursive = RecursiveTreeLSTM(network)

    def by_level(forest: Forest) -> Tensor:
        trees = torch.arange(len(forest), device=work.table.device)
        return network(network.levels(forest), work.table, trees)  # type: ignore[no-any-return]

    def by_node(forest: Forest) -> Tensor:
        return recursive(forest.chains() if structure == "chain" else forest, work.table)

    rows = [
        (
            "scoring",
            _rates([partial(_score, log_p, work) for log_p in (by_level, by_node)], work, rounds),
            _difference(*([_score(log_p, work)] for log_p in (by_level, by_node))),
        ),
        (
            "training",
            _rates(
                [partial(_train, network, log_p, work) for log_p in (by_level, by_node)],
                work,
                rounds,
            ),
            _difference(*(_gradients(network, log_p, work) for log_p in (by_level, by_node))),
        ),
    ]
    for name, (levels, nodes), difference in rows:
        print(
            f"{structure + ', ' + name:20}{levels:10,.0f}{nodes:12,.1f}{levels / nodes:8.1f}"
            f"{difference:12.1e}"
        )
    equal = all(difference <= TOLERANCE for _, _, difference in rows)
    return equal, min(levels / nodes for _, (levels, nodes), _ in rows)


def _score(log_p: Callable[[Forest], Tensor], work: Work) -> Tensor:
    with torch.no_grad():
        return torch.cat(
            [
                expected_similarity(log_p(work.batch(start, SCORING_BATCH)))
                for start in range(0, len(work.targets), SCORING_BATCH)
            ]
        )


def _train(network: TreeNetwork, log_p: Callable[[Forest], Tensor], work: Work) -> None:
    """Train for one epoch, and restore the weights."""
    initial = copied_weights(network)
    optimiser = torch.optim.Adagrad(network.parameters(), lr=0.05)
    for start in range(0, len(work.targets), TRAINING_BATCH):
        optimiser.zero_grad()
        _loss(network, log_p, work, start).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    load_weights(network, initial)


def _gradients(network: TreeNetwork, log_p: Callable[[Forest], Tensor], work: Work) -> list[Tensor]:
    return list(torch.autograd.grad(_loss(network, log_p, work, 0), list(network.parameters())))


def _loss(
    network: TreeNetwork, log_p: Callable[[Forest], Tensor], work: Work, start: int
) -> Tensor:
    targets = work.targets[start : start + TRAINING_BATCH]
    squares = [weight.square().sum() for weight in network.parameters()]
    penalty = PENALTY / 2 * torch.stack(squares).sum()
    return kl_divergence(targets, log_p(work.batch(start, TRAINING_BATCH))) + penalty


def _difference(first: list[Tensor], second: list[Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(first, second, strict=True))


def _rates(runs: list[Callable[[], object]], work: Work, rounds: int) -> list[float]:
    """Return the segments a second of each, in the best of alternating rounds."""
    on_cpu = work.table.device.type == "cpu"
    clock = time.process_time if on_cpu else time.perf_counter
    best = [np.inf] * len(runs)
    for _ in range(rounds):
        for index, run in enumerate(runs):
            _synchronize(work.table.device)
            start = clock()
            run()
            _synchronize(work.table.device)
            best[index] = min(best[index], clock() - start)
    return [len(work.targets) / seconds for seconds in best]


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _random_work(pairs: int, device: torch.device) -> Work:
    random = np.random.default_rng(1)
    lengths = random.integers(5, 46, 2 * pairs)
    parents = np.concatenate([_tree(random, length) for length in lengths])
    # Word frequencies follow Zipf's law.
    frequencies = 1 / np.arange(1, VOCABULARY + 1)
    words = random.choice(VOCABULARY, len(parents), p=frequencies / frequencies.sum())
    table = random.normal(scale=0.4, size=(VOCABULARY, DIMENSION)).astype(np.float32)
    targets = target_distributions(random.uniform(1, 5, pairs))
    return Work(
        build_forest(words, parents, np.concatenate([[0], np.cumsum(lengths)])),
        torch.from_numpy(table).to(device),
        torch.from_numpy(targets).to(device),
    )


def _tree(random: np.random.Generator, length: int) -> IntArray:
    """Return a random tree: in a random order, the parent of a word is any word before it."""
    order = random.permutation(length)
    parents = np.full(length, ROOT)
    parents[order[1:]] = order[random.integers(0, np.arange(1, length))]
    return parents


if __name__ == "__main__":
    main()
