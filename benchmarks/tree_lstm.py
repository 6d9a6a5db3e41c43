"""Segments a second of the Tree-LSTM level by level, over the same node by node.

    python benchmarks/tree_lstm.py [--pairs 200] [--rounds 3] [--device cpu]

The rival (tests/recursive_tree_lstm.py) is the usual recursion over each tree, with the same
weights in the same PyTorch. Trees are made up, of 5 to 45 words, about as deep as English ones; a
segment is two of them. Training is the paper's: memory 300, batches of 25, AdaGrad; scoring reads
200 segments at once. A time includes everything from the trees on; on a CPU it is that of one core,
spent on nothing else. The two take turns, and the least time of the rounds counts. Outputs and
gradients are compared. Exits with 1 where they differ by more than 1e-5, or where the Tree-LSTM is
less than 15 times as fast. Chains, which are the plain LSTM, are there to be seen.
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

# Read when PyTorch is imported: the rival works on one core, and so do we.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from adequa.io.trees import ROOT
from adequa.learned.reval.forest import Forest, build_forest
from adequa.learned.reval.network import (
    Structure,
    TreeNetwork,
    TreeShape,
    expected_similarity,
    kl_divergence,
    target_distributions,
)
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
    """What both are to do: the trees of all references, then of all translations."""

    forest: Forest
    table: Tensor
    targets: Tensor

    def pairs(self, begin: int, size: int) -> Forest:
        """The trees of so many pairs from one on."""
        half = len(self.forest) // 2
        chosen = np.arange(begin, min(begin + size, half))
        return self.forest.select(np.concatenate([chosen, chosen + half]))


def main() -> None:
    """Measure both structures and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    work = _made_up(given.pairs, torch.device(given.device))
    lengths = work.forest.lengths
    print(f"Segments a second, {given.device}, {lengths.mean():.1f} words a sentence:")
    print(f"{'':20}{'levels':>10}{'recursive':>12}{'times':>8}{'differ by':>12}")
    reached = {structure: _compared(structure, work, given.rounds) for structure in STRUCTURES}
    same = all(equal for equal, _ in reached.values())
    sys.exit(not (same and reached["dependency"][1] >= GOAL))


def _compared(structure: Structure, work: Work, rounds: int) -> tuple[bool, float]:
    """Whether our outputs are the rival's, and how many times as fast we are at least."""
    shape = TreeShape(DIMENSION, structure=structure)
    network = TreeNetwork(shape, seed=1).to(work.table.device)
    recursive = RecursiveTreeLSTM(network)

    def ours(forest: Forest) -> Tensor:
        found: Tensor = network(network.levels(forest), work.table)
        return found

    def rival(forest: Forest) -> Tensor:
        return recursive(forest.chains() if structure == "chain" else forest, work.table)

    rows = [
        (
            "scoring",
            _rates([partial(_scored, by, work) for by in (ours, rival)], work, rounds),
            _difference(*([_scored(by, work)] for by in (ours, rival))),
        ),
        (
            "training",
            _rates([partial(_trained, network, by, work) for by in (ours, rival)], work, rounds),
            _difference(*(_gradients(network, by, work) for by in (ours, rival))),
        ),
    ]
    for name, (levels, by_node), off in rows:
        print(
            f"{structure + ', ' + name:20}{levels:10,.0f}{by_node:12,.1f}{levels / by_node:8.1f}"
            f"{off:12.1e}"
        )
    equal = all(off <= TOLERANCE for _, _, off in rows)
    return equal, min(levels / by_node for _, (levels, by_node), _ in rows)


def _scored(by: Callable[[Forest], Tensor], work: Work) -> Tensor:
    with torch.no_grad():
        return torch.cat(
            [
                expected_similarity(by(work.pairs(begin, SCORING_BATCH)))
                for begin in range(0, len(work.targets), SCORING_BATCH)
            ]
        )


def _trained(network: TreeNetwork, by: Callable[[Forest], Tensor], work: Work) -> None:
    """One pass over all pairs; the weights are as before when it is done."""
    before = network.arrays()
    optimiser = torch.optim.Adagrad(network.parameters(), lr=0.05)
    for begin in range(0, len(work.targets), TRAINING_BATCH):
        optimiser.zero_grad()
        _loss(network, by, work, begin).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    network.load_arrays(before)


def _gradients(network: TreeNetwork, by: Callable[[Forest], Tensor], work: Work) -> list[Tensor]:
    return list(torch.autograd.grad(_loss(network, by, work, 0), list(network.parameters())))


def _loss(network: TreeNetwork, by: Callable[[Forest], Tensor], work: Work, begin: int) -> Tensor:
    targets = work.targets[begin : begin + TRAINING_BATCH]
    squares = [weight.square().sum() for weight in network.parameters()]
    penalty = PENALTY / 2 * torch.stack(squares).sum()
    return kl_divergence(targets, by(work.pairs(begin, TRAINING_BATCH))) + penalty


def _difference(ours: list[Tensor], rival: list[Tensor]) -> float:
    return max(float((one - other).abs().max()) for one, other in zip(ours, rival, strict=True))


def _rates(both: list[Callable[[], object]], work: Work, rounds: int) -> list[float]:
    """Segments a second of each, in the best of rounds that they take in turns."""
    on_cpu = work.table.device.type == "cpu"
    clock = time.process_time if on_cpu else time.perf_counter
    best = [np.inf] * len(both)
    for _ in range(rounds):
        for which, do in enumerate(both):
            _wait(work.table.device)
            begin = clock()
            do()
            _wait(work.table.device)
            best[which] = min(best[which], clock() - begin)
    return [len(work.targets) / seconds for seconds in best]


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _made_up(pairs: int, device: torch.device) -> Work:
    draw = np.random.default_rng(1)
    lengths = draw.integers(5, 46, 2 * pairs)
    parents = np.concatenate([_tree(draw, length) for length in lengths])
    # Words as frequent as Zipf has it.
    frequencies = 1 / np.arange(1, VOCABULARY + 1)
    words = draw.choice(VOCABULARY, len(parents), p=frequencies / frequencies.sum())
    table = draw.normal(scale=0.4, size=(VOCABULARY, DIMENSION)).astype(np.float32)
    targets = target_distributions(draw.uniform(1, 5, pairs))
    return Work(
        build_forest(words, parents, np.concatenate([[0], np.cumsum(lengths)])),
        torch.from_numpy(table).to(device),
        torch.from_numpy(targets).to(device),
    )


def _tree(draw: np.random.Generator, length: int) -> IntArray:
    """Each word but the first of a random order hangs from any before it in that order."""
    order = draw.permutation(length)
    parents = np.full(length, ROOT)
    parents[order[1:]] = order[draw.integers(0, np.arange(1, length))]
    return parents


if __name__ == "__main__":
    main()
