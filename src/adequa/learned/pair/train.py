"""Training of the pair regressor: the stages of a plan, for the training loop of all systems.

The items and dropout masks of a step depend on the seed and the index of the step alone, so that a
resumed training ends in the same weights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import cos, pi
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from adequa.learned import training
from adequa.learned.checkpoints import Checkpoints, Snapshot
from adequa.learned.pair.data import PairData, StageSource
from adequa.learned.pair.development import Development, criterion, view_figures
from adequa.learned.pair.devices import (
    Processes,
    explained_memory_errors,
    without_cudnn_attention,
)
from adequa.learned.pair.network import (
    ENCODER_PREFIX,
    SCALES_PREFIX,
    SKIP,
    PairInputs,
    PairNetwork,
    predict,
)
from adequa.learned.pair.objectives import (
    Loss,
    Objective,
    RatingRegression,
    Task,
    accumulate_gradients,
)
from adequa.learned.pair.plan import Plan, Schedule, SourcePlan, StagePlan
from adequa.learned.pair.views import ViewTable
from adequa.learned.training import Evaluation, Keep, Outcome, TrainingProgress, evaluation_steps
from adequa.segments import FloatArray, IntArray

_CALIBRATION_PAIRS = 2000
_FINITE_CHECK_PAIRS = 8  # whose scores must be finite at every evaluation
_PREFERENCE_POOL = 8
_VIEW_DRAWS = 1  # the last number of the seed of views; the order of items has none

Calibration: TypeAlias = Callable[[PairNetwork, PairInputs], None]


# Stages and their trials


@dataclass(frozen=True, slots=True)
class StageObjective:
    """An objective of a stage, its batch size, and its weight in the loss."""

    objective: Objective
    batch: int
    weight: float = 1.0
    pool: int = 1  # number of batches that are sorted by length together


@dataclass(frozen=True, slots=True)
class LearningRates:
    """The learning rate, its schedule, and its factors by layer."""

    learning_rate: float
    warmup: float = 0.1  # fraction of the steps over which it rises from 0
    schedule: Schedule = "linear"  # after the warmup
    layer_decay: float = 1.0  # factor per layer of distance from the output
    head_rate: float = 1.0  # factor of the head

    def factor(self, step: int, steps: int) -> float:
        """Factor of the learning rate at a step, counted from 0."""
        warmup = self.warmup * steps
        if step < warmup:
            return (step + 1) / (warmup + 1)
        if self.schedule == "constant":
            return 1.0
        remaining = (steps - step) / max(steps - warmup, 1)
        return remaining if self.schedule == "linear" else 0.5 - 0.5 * cos(pi * remaining)


@dataclass(frozen=True, slots=True)
class PairTrial:
    """One combination of settings of a stage."""

    objectives: tuple[StageObjective, ...]
    epochs: float  # passes over the items of the first objective
    rates: LearningRates
    weight_decay: float = 0.01
    clip: float = 1.0  # norm that gradients are clipped to
    average: float = 0.0  # fraction of last steps whose weights are averaged

    @property
    def steps(self) -> int:
        """Number of steps."""
        first = self.objectives[0]
        return step_count(len(first.objective), first.batch, self.epochs)


@dataclass(frozen=True, slots=True)
class PairStage:
    """The trials of a stage, and which of their weights are kept."""

    name: str
    trials: tuple[PairTrial, ...]
    keep: Keep = "best"
    evaluations: int = 0  # per trial; 0 for one per epoch
    calibration: Calibration | None = None  # of the network's scale, before the first trial

    @property
    def objective_names(self) -> tuple[str, ...]:
        """The names of the objectives."""
        return tuple(each.objective.name for each in self.trials[0].objectives)


def plan_stages(plan: Plan, data: PairData) -> list[PairStage]:
    """The stages of a plan, each with a trial per combination of its settings."""
    return [
        PairStage(
            name=f"{stage.objective} ({number} of {len(plan.stage)})",
            trials=tuple(_trial(stage, sources, settings) for settings in stage.trials()),
            keep=stage.keep,
            evaluations=stage.evaluations,
            calibration=_calibration(sources, new_head=number == 1 and not plan.start),
        )
        for number, (stage, sources) in enumerate(zip(plan.stage, data.stages, strict=True), 1)
    ]


def _trial(stage: StagePlan, sources: Sequence[StageSource], settings: dict[str, Any]) -> PairTrial:
    main = StageObjective(sources[0].objective, settings["batch"], stage.weight, _pool(stage))
    beside = (
        StageObjective(source.objective, planned.batch[0], planned.weight, _pool(planned))
        for planned, source in zip(stage.beside, sources[1:], strict=True)
    )
    return PairTrial(
        objectives=(main, *beside),
        epochs=settings["epochs"],
        rates=LearningRates(
            settings["learning_rate"],
            warmup=stage.warmup,
            schedule=stage.schedule,
            layer_decay=stage.layer_decay,
            head_rate=stage.head_rate,
        ),
        weight_decay=stage.weight_decay,
        clip=stage.clip,
        average=stage.average,
    )


def _pool(source: SourcePlan) -> int:
    """Number of batches that are sorted by length together, if the plan does not say.

    Long texts have lower ratings, so that a batch of long texts would pull all scores down. Which
    of two outputs of a segment is better hardly depends on length.
    """
    return source.pool or (_PREFERENCE_POOL if source.objective in {"preferences", "damage"} else 1)


def _calibration(sources: Sequence[StageSource], *, new_head: bool) -> Calibration | None:
    """Bring the network to the scale of the source that decides it, if any."""
    for source in sources:
        objective = source.objective
        if isinstance(objective, RatingRegression) and source.scale is not None:
            items = np.arange(len(objective))
            if objective.scales is not None:
                items = items[objective.scales == 0]
            sample = items[np.random.default_rng(0).permutation(len(items))[:_CALIBRATION_PAIRS]]
            return partial(
                _calibrate,
                pairs=objective.pairs[sample],
                targets=objective.targets[sample],
                scale=source.scale,
                new_head=new_head,
            )
    return None


def _calibrate(
    network: PairNetwork,
    inputs: PairInputs,
    *,
    pairs: IntArray,
    targets: FloatArray,
    scale: tuple[float, float],
    new_head: bool,
) -> None:
    if not new_head:  # whose scores mean nothing
        # With dropout, as in training: scores that it drowns should not be made large.
        network.calibrate(predict(network, inputs, pairs, dropout=True), targets)
    network.shift.fill_(scale[0])
    network.scale.fill_(scale[1])


# Training with the shared loop


@dataclass(frozen=True, slots=True)
class Run:
    """Inputs, device and callbacks of all stages."""

    inputs: PairInputs
    development: Development
    seed: int
    processes: Processes
    views: ViewTable | None = None  # if items have several; `inputs` show the richest
    checkpoints: Checkpoints | None = None
    seconds_between_checkpoints: float = 300.0
    report: Callable[[TrainingProgress], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None  # for the user, at the end


def train(network: PairNetwork, stages: Sequence[PairStage], run: Run) -> Outcome:
    """Train the network in place."""
    device = network.device
    with (
        training.isolated_randomness(device),
        explained_memory_errors(device),
        without_cudnn_attention(),
    ):
        return training.train(
            network,
            _loop_stages(network, stages, run),
            checkpoints=run.checkpoints,
            writes_checkpoints=run.processes.is_first,
            seconds_between_checkpoints=run.seconds_between_checkpoints,
            synchronise=run.processes.broadcast,
            report=run.report,
            note=run.note,
        )


def _loop_stages(
    network: PairNetwork, stages: Sequence[PairStage], run: Run
) -> list[training.Stage]:
    """The stages in the form of the shared loop."""
    loop_stages, trials_before = [], 0
    for stage_index, stage in enumerate(stages):
        trials = [
            _PairBatches(network, run, trial, stage_index, trials_before + index)
            for index, trial in enumerate(stage.trials)
        ]
        loop_stages.append(
            training.Stage(
                stage.name,
                tuple(_loop_trial(network, stage, batches, run) for batches in trials),
                keep=stage.keep,
                prepare=_prepare(network, stage, run),
            )
        )
        trials_before += len(trials)
    return loop_stages


def _loop_trial(
    network: PairNetwork, stage: PairStage, batches: _PairBatches, run: Run
) -> training.Trial:
    trial = batches.trial
    steps, rates = trial.steps, trial.rates
    batch, epochs = trial.objectives[0].batch, trial.epochs
    return training.Trial(
        steps=steps,
        optimizer=lambda: adamw(network, rates, trial.weight_decay),
        gradients=lambda step: (batches.gradients(step), 1.0),
        evaluate=lambda: _evaluate(network, stage.objective_names, run),
        evaluate_after=evaluation_steps(steps, stage.evaluations or max(round(epochs), 1)),
        learning_rate=lambda step: rates.factor(step, steps),
        max_norm=trial.clip,
        averaged_steps=round(trial.average * steps),
        settings=f"batch {batch}, learning rate {rates.learning_rate:g}, epochs {epochs:g}",
    )


def _prepare(network: PairNetwork, stage: PairStage, run: Run) -> Callable[[], None] | None:
    calibration = stage.calibration
    return None if calibration is None else lambda: calibration(network, run.inputs)


def _evaluate(network: PairNetwork, objectives: tuple[str, ...], run: Run) -> Evaluation:
    """Figures on development data, and the criterion that weights are chosen by."""
    pairs = np.arange(min(len(run.inputs.all_lengths), _FINITE_CHECK_PAIRS))
    if not np.isfinite(predict(network, run.inputs, pairs).sum()):
        return Evaluation(np.nan)
    if run.views is not None:
        rows = replace(run.inputs, shown=None)
        figures = view_figures(run.development, run.views, lambda r: predict(network, rows, r))
    else:
        figures = run.development.figures(lambda pairs: predict(network, run.inputs, pairs))
    return Evaluation(criterion(figures, objectives), figures)


class _PairBatches:
    """The items of every step of a trial, and their gradients."""

    def __init__(
        self, network: PairNetwork, run: Run, trial: PairTrial, stage_index: int, trial_index: int
    ) -> None:
        self.trial = trial
        self._network, self._run = network, run
        self._stage_index = stage_index
        self._trial_index = trial_index  # among the trials of all stages
        self._epochs: dict[int, _Epoch] = {}  # the latest of each objective

    def gradients(self, step: int) -> Tensor:
        """Add the gradients of a step to `.grad`, summed over processes; return the loss."""
        network, run = self._network, self._run
        total = torch.zeros((), device=network.device)
        for number, part in enumerate(self.trial.objectives):
            inputs, items = self._inputs_and_items(step, number)
            task = part.objective.task(items)
            factor = part.weight / task.weight
            if run.processes.count > 1:
                own = run.processes.shard(items)
                # A process without items computes one with a factor of 0, so that it takes part in
                # the sum of gradients.
                task = part.objective.task(own if len(own) else items[:1])
                factor = factor if len(own) else 0.0
            seed = (run.seed, self._trial_index, step, number, run.processes.index)
            loss = _training_loss(network, task, factor)
            total += accumulate_gradients(network, inputs, task.pairs, loss, seed)
        run.processes.all_reduce([p.grad for p in network.parameters() if p.grad is not None])
        run.processes.all_reduce([total])
        return total

    def _inputs_and_items(self, step: int, number: int) -> tuple[PairInputs, IntArray]:
        """The inputs and the items of an objective at a step."""
        part = self.trial.objectives[number]
        index, position = divmod(step, step_count(len(part.objective), part.batch, 1))
        if number not in self._epochs or self._epochs[number].index != index:
            self._epochs[number] = self._epoch(number, index)
        epoch = self._epochs[number]
        return epoch.inputs, epoch.steps[position]

    def _epoch(self, number: int, index: int) -> _Epoch:
        """An epoch of an objective, whose items are in views drawn for this epoch."""
        part, run = self.trial.objectives[number], self._run
        seed = (run.seed, self._stage_index, number, index)
        inputs = run.inputs
        if run.views is not None:
            inputs = replace(inputs, shown=run.views.drawn((*seed, _VIEW_DRAWS)))
        lengths = part.objective.lengths(inputs.all_lengths)
        return _Epoch(index, inputs, shuffled_steps(lengths, part.batch, part.pool, seed))


@dataclass(frozen=True, slots=True)
class _Epoch:
    """One pass over the items of an objective."""

    index: int
    inputs: PairInputs
    steps: list[IntArray]  # the items of each step


def _training_loss(network: PairNetwork, task: Task, factor: float) -> Loss:
    """The loss of a task times a factor, for scores of the network."""
    scales, output_scales = task.scales, network.output_scales
    if scales is None:
        return lambda scores: factor * task.loss(scores)
    if output_scales is None:
        raise TypeError("the network needs output scales for this task")
    return lambda scores: factor * task.loss(output_scales(scores, scales))


def shuffled_steps(
    lengths: IntArray, batch: int, pool: int, seed: tuple[int, ...]
) -> list[IntArray]:
    """The items of each step of one epoch; every item is in exactly one step.

    Items are shuffled, sorted by length within every `pool` batches, and the batches are shuffled
    again. A batch then has little padding, and its items still differ from epoch to epoch. The
    steps depend on the seed alone, so that a resumed training draws the same.

    >>> [step.tolist() for step in shuffled_steps(np.array([3, 9, 2, 8]), 2, 50, (0,))]
    [[0, 2], [1, 3]]
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(lengths))
    steps: list[IntArray] = []
    for start in range(0, len(order), batch * pool):
        items = order[start : start + batch * pool]
        items = items[np.argsort(-lengths[items], kind="stable")]
        steps += np.split(items, range(batch, len(items), batch))
    return [steps[index] for index in random.permutation(len(steps))]


def step_count(items: int, batch: int, epochs: float) -> int:
    """Number of steps of so many epochs, the last of which may be incomplete.

    >>> step_count(10, 4, 1), step_count(10, 4, 2.4)
    (3, 7)
    """
    return max(round(-(-items // batch) * epochs), 1)


# The optimiser

_LAYER = re.compile(r"\.(?:layers?|h|block)\.(\d+)\.")
_EMBEDDINGS = re.compile(r"^encoder\.(?:.*\.)?(?:embeddings?|embed_tokens|wte|wpe)\.")
# The few weights of surface features start at zero and must move as far as thousands of others do
# together.
_SKIP_RATE = 100.0
# The rate of slopes and intercepts does not depend on that of the weights: between standardised
# scores and targets they are near 1 and 0, and 50 steps reach every likely value.
_SCALES_RATE = 0.03


def adamw(network: nn.Module, rates: LearningRates, weight_decay: float) -> torch.optim.AdamW:
    """AdamW with learning rates by layer; vectors, such as biases, have no weight decay."""
    trainable = [(name, p) for name, p in network.named_parameters() if p.requires_grad]
    depth = 1 + max((_depth(name) for name, _ in trainable), default=0)
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in trainable:
        decay = weight_decay if parameter.ndim > 1 else 0.0
        groups.setdefault((_learning_rate(name, depth, rates), decay), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": parameters, "lr": rate, "weight_decay": decay}
            for (rate, decay), parameters in groups.items()
        ],
        lr=rates.learning_rate,
        fused=trainable[0][1].device.type == "cuda",
    )


def _learning_rate(name: str, depth: int, rates: LearningRates) -> float:
    """The highest learning rate of a weight, by its layer."""
    if name.startswith(SCALES_PREFIX):
        return _SCALES_RATE
    if name.startswith(ENCODER_PREFIX):
        return rates.learning_rate * rates.layer_decay ** (depth - _depth(name))
    return rates.learning_rate * (rates.head_rate * (_SKIP_RATE if name == SKIP else 1.0))


def _depth(name: str) -> int:
    """The layer of a weight, from 1; 0 for embeddings."""
    if _EMBEDDINGS.match(name):
        return 0
    match = _LAYER.search(name)
    return 0 if match is None else 1 + int(match[1])


# Checkpoints

_TOKENS = "most_tokens"


@dataclass(frozen=True, slots=True)
class PairCheckpoints(Checkpoints):
    """Checkpoints that note when a training resumes, and whether dropout will differ."""

    most_tokens: int
    note: Callable[[str], None]

    def latest(self) -> Snapshot | None:
        snapshot = Checkpoints.latest(self)
        if snapshot is None:
            return None
        self.note(f"going on from {self.folder}, where an earlier run was stopped.")
        before = snapshot.facts.get(_TOKENS)
        if before is not None and before != self.most_tokens:
            self.note(
                f"{before:,} tokens were read at once before, and {self.most_tokens:,} are now, so "
                "that other units are dropped out than without the stop."
            )
        return snapshot

    def write(self, snapshot: Snapshot) -> None:
        facts = {**snapshot.facts, _TOKENS: self.most_tokens}
        Checkpoints.write(self, replace(snapshot, facts=facts))


def checkpoint_identity(
    plan: Plan, initial_digest: str, precision: str, data_digest: str, teachers: Iterable[str]
) -> str:
    """Everything that decides the result of a training, in one line.

    `teachers` are signatures of metrics. `most_tokens` is left out: someone who has run out of
    memory resumes with less.
    """
    return " ".join(
        [repr(replace(plan, most_tokens=1)), initial_digest, precision, data_digest, *teachers]
    )
