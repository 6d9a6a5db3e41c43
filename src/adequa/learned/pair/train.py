"""Training of the pair regressor: its objectives, batches and evaluation, for the shared loop.

The items and dropout masks of a step depend on the seed and the index of the step alone, so that a
resumed training ends in the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from adequa.learned import training
from adequa.learned.checkpoints import Checkpoints
from adequa.learned.pair.figures import Development, criterion
from adequa.learned.pair.gradients import (
    PairInputs,
    accumulate,
    many_shapes,
    memory_watched,
    predict,
)
from adequa.learned.pair.network import PairNetwork
from adequa.learned.pair.objectives import Loss, Objective
from adequa.learned.pair.optimiser import Rates, adamw
from adequa.learned.pair.processes import Processes
from adequa.learned.training import Evaluation, Keep, Outcome, Progress, evaluation_steps
from adequa.segments import IntArray

_CHECKED_PAIRS = 8  # whose scores must be finite

Calibration: TypeAlias = Callable[[PairNetwork, PairInputs], None]


@dataclass(frozen=True, slots=True)
class Part:
    """An objective of a stage, its batch size, and its weight in the loss."""

    objective: Objective
    batch: int
    weight: float = 1.0
    pool: int = 50  # number of batches that are sorted by length together


@dataclass(frozen=True, slots=True)
class PairTrial:
    """Settings of a stage; the best one of several trials wins."""

    parts: tuple[Part, ...]
    epochs: float  # passes over the first part
    rates: Rates
    weight_decay: float = 0.01
    clip: float = 1.0  # norm that gradients are clipped to
    average: float = 0.0  # fraction of last steps whose weights are averaged

    @property
    def steps(self) -> int:
        """Number of steps."""
        first = self.parts[0]
        return step_count(len(first.objective), first.batch, self.epochs)


@dataclass(frozen=True, slots=True)
class PairStage:
    """The trials of a stage, and which of the weights on the way are chosen."""

    name: str
    trials: tuple[PairTrial, ...]
    keep: Keep = "best"
    evaluations: int = 0  # within a trial; 0 for one a pass
    calibration: Calibration | None = None  # of the network's scale, before the first trial

    @property
    def objectives(self) -> tuple[str, ...]:
        """The names of the objectives."""
        return tuple(part.objective.name for part in self.trials[0].parts)


@dataclass(frozen=True, slots=True)
class Run:
    """Inputs and callbacks that all stages share."""

    inputs: PairInputs
    development: Development
    seed: int
    processes: Processes
    checkpoints: Checkpoints | None = None
    seconds_between_checkpoints: float = 300.0
    report: Callable[[Progress], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None  # what a user should know afterwards


def train(network: PairNetwork, stages: Sequence[PairStage], run: Run) -> Outcome:
    """Train the network in place."""
    device = network.device
    with training.isolated_randomness(device), memory_watched(device), many_shapes():
        return training.train(
            network,
            _loop_stages(network, stages, run),
            checkpoints=run.checkpoints,
            writes_checkpoints=run.processes.is_first,
            seconds_between_checkpoints=run.seconds_between_checkpoints,
            synchronise=run.processes.follow_first,
            report=run.report,
            note=run.note,
        )


def _loop_stages(
    network: PairNetwork, stages: Sequence[PairStage], run: Run
) -> list[training.Stage]:
    """The stages as the shared loop takes them."""
    loop_stages, trials_before = [], 0
    for stage_index, stage in enumerate(stages):
        trials = [
            _Batches(network, run, trial, stage_index, trials_before + index)
            for index, trial in enumerate(stage.trials)
        ]
        loop_stages.append(
            training.Stage(
                stage.name,
                tuple(_loop_trial(network, stage, batches, run) for batches in trials),
                keep=stage.keep,
                prepare=_calibrated(network, stage, run),
            )
        )
        trials_before += len(trials)
    return loop_stages


def _loop_trial(
    network: PairNetwork, stage: PairStage, batches: _Batches, run: Run
) -> training.Trial:
    trial = batches.trial
    steps, rates = trial.steps, trial.rates
    batch, epochs = trial.parts[0].batch, trial.epochs
    return training.Trial(
        steps=steps,
        optimizer=lambda: adamw(network, rates, trial.weight_decay),
        gradients=lambda step: (batches.gradients(step), 1.0),
        evaluate=lambda: _evaluate(network, stage.objectives, run),
        evaluate_after=evaluation_steps(steps, stage.evaluations or max(round(epochs), 1)),
        learning_rate=lambda step: rates.at(step, steps),
        max_norm=trial.clip,
        averaged_steps=round(trial.average * steps),
        settings=f"batch {batch}, learning rate {rates.learning_rate:g}, epochs {epochs:g}",
    )


def _calibrated(network: PairNetwork, stage: PairStage, run: Run) -> Callable[[], None] | None:
    calibration = stage.calibration
    return None if calibration is None else lambda: calibration(network, run.inputs)


def _evaluate(network: PairNetwork, objectives: tuple[str, ...], run: Run) -> Evaluation:
    """Figures on development data, and the one that weights are chosen by."""
    pairs = np.arange(min(len(run.inputs.rows), _CHECKED_PAIRS))
    if not np.isfinite(predict(network, run.inputs, pairs).sum()):
        return Evaluation(np.nan)
    figures = run.development.figures(lambda pairs: predict(network, run.inputs, pairs))
    return Evaluation(criterion(figures, objectives), figures)


class _Batches:
    """The items of every step of a trial, and their gradients."""

    def __init__(
        self, network: PairNetwork, run: Run, trial: PairTrial, stage_index: int, trial_index: int
    ) -> None:
        self.trial = trial
        self._network, self._run = network, run
        self._stage_index, self._trial_index = stage_index, trial_index  # of all trials
        self._lengths: list[IntArray] = []
        self._passes: dict[int, tuple[int, list[IntArray]]] = {}  # of each part, the latest

    def gradients(self, step: int) -> Tensor:
        """Accumulate the gradients of a step over all parts and processes; returns the loss."""
        network, run = self._network, self._run
        total = torch.zeros((), device=network.device)
        for number, part in enumerate(self.trial.parts):
            items = self._items(step, number)
            task = part.objective.task(items)
            factor = part.weight / task.weight
            if run.processes.count > 1:
                own = run.processes.share(items)
                # A process without items reads one and multiplies its loss by 0: it takes part in
                # the sum of gradients as the others do.
                task = part.objective.task(own if len(own) else items[:1])
                factor = factor if len(own) else 0.0
            seed = (run.seed, self._trial_index, step, number, run.processes.number)
            total += accumulate(network, run.inputs, task.pairs, _scaled(task.loss, factor), seed)
        run.processes.add_up([p.grad for p in network.parameters() if p.grad is not None])
        run.processes.add_up([total])
        return total

    def _items(self, step: int, number: int) -> IntArray:
        """The items of a part at a step."""
        if not self._lengths:
            tokens = self._run.inputs.rows.lengths
            self._lengths = [part.objective.lengths(tokens) for part in self.trial.parts]
        part = self.trial.parts[number]
        epoch, index = divmod(step, step_count(len(part.objective), part.batch, 1))
        if self._passes.get(number, (-1,))[0] != epoch:
            seed = (self._run.seed, self._stage_index, number, epoch)
            steps = shuffled_steps(self._lengths[number], part.batch, part.pool, seed)
            self._passes[number] = epoch, steps
        return self._passes[number][1][index]


def _scaled(loss: Loss, factor: float) -> Loss:
    return lambda scores: factor * loss(scores)


def shuffled_steps(
    lengths: IntArray, batch: int, pool: int, seed: tuple[int, ...]
) -> list[IntArray]:
    """The items of each step of one pass; every item is in exactly one.

    Items are shuffled, sorted by length so many batches at a time, and the batches shuffled
    again: little of a batch is padding, and which items meet in one still differs from pass to
    pass. The steps depend on the seed alone, so that a resumed training finds the same.

    >>> [step.tolist() for step in shuffled_steps(np.array([3, 9, 2, 8]), 2, 50, (0,))]
    [[0, 2], [1, 3]]
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(lengths))
    steps: list[IntArray] = []
    for start in range(0, len(order), batch * pool):
        some = order[start : start + batch * pool]
        some = some[np.argsort(-lengths[some], kind="stable")]
        steps += np.split(some, range(batch, len(some), batch))
    return [steps[at] for at in random.permutation(len(steps))]


def step_count(items: int, batch: int, epochs: float) -> int:
    """Steps of so many passes, the last of which may be a part.

    >>> step_count(10, 4, 1), step_count(10, 4, 2.4)
    (3, 7)
    """
    return max(round(-(-items // batch) * epochs), 1)
