"""Speed of scoring with a packed metric against PyTorch and a large model, in one run, as ratios.

    ADEQUA_DATA=FOLDER python benchmarks/packed_speed.py [--folder FOLDER] [--student FOLDER]
        [--fast NAME|FOLDER]

Different pairs of a hypothesis and a reference (WMT15 by default, synthetic sentences without
data) are scored from text, tokenizing included, on two threads, by

- the packed metric's model, as the runtime batches it;
- that of `--fast`, a second packed metric, such as adequa-fast;
- the same network in PyTorch in fp32, in batches of 32 in the order of the file: that of the saved
  pair regressor of `--student`, or else one of the size of e5-small with random weights;
- a network of the size of XLM-R large with random weights, in batches of 32, on a part of the same
  pairs and with the same tokens, by the pair.

All take turns, and the median of the rounds counts; a ratio below 1 says that `--fast` is faster.
The CPU seconds until the first score of a fresh `adequa score` are printed too, where the folder is
that of a whole metric. Exits with 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertModel, XLMRobertaConfig, XLMRobertaModel

from adequa.encoders.transformer_files import TokenRows
from adequa.learned.packed.metric import PackedPair, ShippedMetric
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.network import Head, PairNetwork
from adequa.metrics.registry import load_metric
from adequa.metrics.saved import is_saved
from adequa.pretrained import SHIPPED
from adequa.runtime.onnx import PairSession
from adequa.runtime.tokens import Pair, PairTokenizer
from texts import NEWS_WORDS, dataset_pairs
from timing import command_cpu_seconds

THREADS = 2
BATCH = 32
STUDENT_GOAL, LARGE_GOAL = 3, 25  # times as fast
START_LIMIT = 2.0  # CPU seconds
Row = tuple[str, int | None, int, float, float]  # name, goal, pairs, wall and CPU seconds a pair


def load_pairs(data: str, count: int) -> tuple[list[Pair], str]:
    """References and hypotheses, evenly spaced in a dataset or synthetic; and their origin."""
    pairs = dataset_pairs(data)
    if pairs is None:
        return synthetic_pairs(count), "synthetic sentences"
    ordered = [(reference, hypothesis) for hypothesis, reference in pairs]
    return [ordered[index] for index in evenly_spaced(len(ordered), count)], data


def synthetic_pairs(count: int) -> list[Pair]:
    """Pairs of 5 to 45 words, the same in another order."""
    random = Random(0)
    words = [random.choices(NEWS_WORDS, k=random.randint(5, 45)) for _ in range(count)]
    return [(" ".join(each), " ".join(random.sample(each, len(each)))) for each in words]


def evenly_spaced(size: int, count: int) -> list[int]:
    """Indices of a list of this size, at most so many."""
    indices: list[int] = np.unique(np.linspace(0, size - 1, min(count, size)).astype(int)).tolist()
    return indices


def student_network(folder: str) -> PairNetwork:
    """The network of a saved pair regressor, or a random one of the size of e5-small."""
    if not folder:
        size = BertConfig(hidden_size=384, num_attention_heads=12, intermediate_size=1536)
        return PairNetwork(BertModel(size), Head(), seed=0).eval()
    metric = load_metric(f"{folder}:device=cpu")
    if not isinstance(metric, PairRegressor):
        raise SystemExit(f"{folder} holds no pair regressor.")
    return metric.model_.network.eval()


def large_network() -> PairNetwork:
    """A random network of the size of XLM-R large."""
    size = XLMRobertaConfig(
        vocab_size=250_002, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
        intermediate_size=4096, max_position_embeddings=514, type_vocab_size=2,
    )  # fmt: skip
    return PairNetwork(XLMRobertaModel(size), Head(), seed=0).eval()


@torch.inference_mode()
def naive(network: PairNetwork, reader: PairTokenizer, pairs: Sequence[Pair]) -> None:
    """Score pairs with PyTorch, in batches of 32 in their order."""
    read = reader.encode(pairs)
    rows = TokenRows(read.ids, read.types, read.starts, (read.padding, 0))
    for start in range(0, len(rows), BATCH):
        batch = rows.padded(np.arange(start, min(start + BATCH, len(rows))))
        network({name: torch.from_numpy(table) for name, table in batch.items()})


def timed(work: Callable[[list[Pair]], Any], pairs: list[Pair]) -> tuple[float, float]:
    """Wall-clock and CPU seconds a pair."""
    wall, cpu = time.perf_counter(), time.process_time()
    work(pairs)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return wall / len(pairs), cpu / len(pairs)


def start_up(folder: Path, rounds: int) -> float:
    """CPU seconds of a fresh process that scores one segment."""
    with tempfile.TemporaryDirectory() as directory:
        files = [Path(directory, name) for name in ("hypothesis.txt", "reference.txt")]
        for file, text in zip(
            files, ("A cat sat on a mat.", "The cat is on the mat."), strict=True
        ):
            file.write_text(text + "\n", encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "adequa",
            "score",
            "-t",
            str(files[0]),
            "-r",
            str(files[1]),
        ]
        command += ["-m", str(folder), "--no-cache", "--quiet"]
        command_cpu_seconds(command)  # reads all files from disk
        return median(command_cpu_seconds(command) for _ in range(rounds))


def packed_session(name: str) -> PairSession:
    """The open model of a packed metric, by its name or its folder."""
    metric = load_metric(name)
    packed = metric.packed if isinstance(metric, ShippedMetric) else metric
    if not isinstance(packed, PackedPair):
        raise SystemExit(f"{name} is no packed metric.")
    return PairSession.open(packed.folder, threads=THREADS)


def measure(
    session: PairSession, student: PairNetwork, pairs: list[Pair], arguments: argparse.Namespace
) -> list[Row]:
    """Median wall-clock and CPU seconds a pair: ours first, then the others'."""
    large, reader = large_network(), session.tokenizer
    part = [pairs[index] for index in evenly_spaced(len(pairs), arguments.large_pairs)]
    session.score(pairs[:BATCH])
    naive(student, reader, pairs[:BATCH])
    works: list[tuple[str, int | None, list[Pair], Callable[[list[Pair]], Any]]] = [
        ("packed metric", None, pairs, session.score),
        ("the same in PyTorch", STUDENT_GOAL, pairs, lambda batch: naive(student, reader, batch)),
        ("size of XLM-R large", LARGE_GOAL, part, lambda batch: naive(large, reader, batch)),
    ]
    if arguments.fast:
        fast = packed_session(arguments.fast)
        fast.score(pairs[:BATCH])
        works.insert(1, (arguments.fast, None, pairs, fast.score))
    spent = np.empty((arguments.rounds, len(works), 2))
    for turn in range(arguments.rounds):
        for index, (_, _, texts, work) in enumerate(works):
            spent[turn, index] = timed(work, texts)
    return [
        (name, goal, len(texts), *middle.tolist())
        for (name, goal, texts, _), middle in zip(works, np.median(spent, axis=0), strict=True)
    ]


def print_table(rows: list[Row]) -> bool:
    """Print the table; whether every goal is reached."""
    head = ("what", "pairs", "ms a pair", "CPU ms a pair", "packed is faster by", "in CPU", "goal")
    print("| " + " | ".join(head) + " |\n|---|" + "---:|" * (len(head) - 1))
    our_wall, our_cpu = rows[0][3:]
    succeeds = True
    for name, goal, count, wall, cpu in rows:
        faster = f"{wall / our_wall:.2f} | {cpu / our_cpu:.2f} | {goal or ''}"
        print(f"| {name} | {count:,} | {wall * 1e3:.1f} | {cpu * 1e3:.1f} | {faster} |")
        succeeds &= goal is None or wall / our_wall >= goal
    return succeeds


def main() -> int:
    """Print the table; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--folder", type=Path, default=SHIPPED["adequa"], help="of the packed metric"
    )
    parser.add_argument("--fast", default="", help="name or folder of a second packed metric")
    parser.add_argument("--student", default="", help="folder of the pair regressor in it")
    parser.add_argument("--data", default="wmt15-da")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--large-pairs", type=int, default=64, help="for the large model")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    pairs, source = load_pairs(arguments.data, arguments.pairs)
    session = PairSession.open(arguments.folder, threads=THREADS)
    rows = measure(session, student_network(arguments.student), pairs, arguments)
    print(f"{len(pairs):,} pairs of {source}, {THREADS} threads,", end=" ")
    print(f"median of {arguments.rounds} rounds\n")
    succeeds = print_table(rows)
    if is_saved(str(arguments.folder)):
        seconds = start_up(arguments.folder, arguments.rounds)
        succeeds &= seconds <= START_LIMIT
        print(f"\nFirst score of a fresh process: {seconds:.2f} CPU seconds, limit {START_LIMIT}.")
    else:
        print("\nThe folder has no metric.json, so no fresh process was measured.")
    print("\nEvery goal is reached." if succeeds else "\nA goal is missed.")
    return 0 if succeeds else 1


if __name__ == "__main__":
    sys.exit(main())
