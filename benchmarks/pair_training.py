"""Tokens a second of training a pair regressor, as a fraction of the bare network's.

The rival is the same network's forward and backward pass on ready-made batches without padding,
with nothing else done: no optimiser, no clipping, no data. Ours is the whole training loop on real
preferences, and only tokens of texts count, not padding.

    python benchmarks/pair_training.py --encoder all-mpnet-base-v2 --data wmt15-rr
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np
import torch

from adequa.datasets.load import load_dataset
from adequa.learned.pair.data import collect
from adequa.learned.pair.devices import launched_processes, select_precision
from adequa.learned.pair.initial_model import from_encoder
from adequa.learned.pair.network import PairInputs, PairNetwork
from adequa.learned.pair.plan import plan_from
from adequa.learned.pair.train import PairStage, Run, plan_stages, train
from adequa.segments import FloatArray, IntArray


def main() -> None:
    """Measure both and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--data", default="wmt15-rr")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=32, help="segments a step")
    arguments = parser.parse_args()
    stage = {"objective": "preferences", "data": [arguments.data], "batch": arguments.batch}
    plan = plan_from(
        {"encoder": arguments.encoder, "development": {"share": 0.0}, "stage": [stage]}, "benchmark"
    )
    processes = launched_processes("auto")
    data = collect(plan, [], load_dataset, lambda *_: np.empty(0))
    model = from_encoder(plan, processes.device, download=False).model
    precision = select_precision("auto", processes.device)
    read = model.inputs(data.texts, precision, plan.most_tokens)
    inputs = _CountingInputs(read.rows, read.surface, read.precision, read.most_tokens)
    model.network.to(processes.device)
    (planned_stage,) = plan_stages(plan, data)
    short, long = arguments.steps // 4, arguments.steps
    run = Run(inputs=inputs, development=data.development, seed=0, processes=processes)
    _run_steps(model.network, planned_stage, short, run)  # warm-up
    seconds, tokens, pairs = _run_steps(model.network, planned_stage, long, run) - _run_steps(
        model.network, planned_stage, short, run
    )
    ours = tokens / seconds
    length = round(tokens / pairs)
    rows = round(pairs / (long - short))
    bare = _bare(model.network, inputs, rows, length, short)
    print(f"{processes.device}, {precision}: {rows} pairs of {length} tokens a step")
    print(f"training loop {ours:,.0f} tokens a second, bare network {bare:,.0f}: {ours / bare:.2f}")


def _run_steps(network: PairNetwork, stage: PairStage, steps: int, run: Run) -> FloatArray:
    """Seconds, tokens and pairs of so many steps."""
    (trial,) = stage.trials
    part = trial.objectives[0]
    passes = steps / -(-len(part.objective) // part.batch)
    fewer = replace(stage, trials=(replace(trial, epochs=passes),), evaluations=1)
    COUNTS.update(pairs=0, tokens=0)
    seconds = _timed(lambda: train(network, [fewer], run), network.device)
    return np.array([seconds, COUNTS["tokens"], COUNTS["pairs"]])


class _CountingInputs(PairInputs):
    """Inputs that count the pairs and tokens of training steps, which have gradients."""

    def scores(self, network: PairNetwork, pairs: IntArray) -> torch.Tensor:
        if torch.is_grad_enabled():
            COUNTS["pairs"] += len(pairs)
            COUNTS["tokens"] += int(self.rows.lengths[pairs].sum())
        return super().scores(network, pairs)


COUNTS = {"pairs": 0, "tokens": 0}


def _bare(network: PairNetwork, inputs: PairInputs, rows: int, length: int, steps: int) -> float:
    """Tokens a second of the forward and backward pass alone, on full batches."""
    generator = torch.Generator(network.device).manual_seed(0)
    ids = torch.randint(
        network.encoder.config.vocab_size,
        (rows, length),
        generator=generator,
        device=network.device,
    )
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if inputs.rows.types is not None:
        batch["token_type_ids"] = torch.zeros_like(ids)
    network.train()

    def passes() -> None:
        for _ in range(steps):
            with torch.autocast(
                network.device.type, torch.bfloat16, enabled=inputs.precision == "bf16"
            ):
                scores = network(batch)
            scores.sum().backward()
            network.zero_grad()

    passes()
    return rows * length * steps / _timed(passes, network.device)


def _timed(work: Callable[[], object], device: torch.device) -> float:
    _wait(device)
    start = perf_counter()
    work()
    _wait(device)
    return perf_counter() - start


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    main()
