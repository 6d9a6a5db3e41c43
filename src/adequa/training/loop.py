"""The training loop: stages one after the other, steps one after the other, nothing hidden.

What a step draws and drops out depends on the seed and the number of the step alone. A training
that was stopped and goes on from its checkpoint therefore ends in the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from adequa.errors import AdequaError
from adequa.segments import IntArray
from adequa.training.checkpoints import Checkpoints, Snapshot
from adequa.training.development import Development, Figures, criterion
from adequa.training.gradients import (
    PairInputs,
    accumulate,
    memory_watched,
    own_randomness,
    predict,
)
from adequa.training.monitor import Clock, Losses
from adequa.training.objectives.contract import Loss, Objective
from adequa.training.optimiser import (
    FIRST,
    SECOND,
    Average,
    Named,
    Rates,
    adamw,
    moments,
    restore_moments,
    set_rates,
)
from adequa.training.pair_network import PairNetwork
from adequa.training.processes import Processes
from adequa.training.steps import shuffled_steps, step_count

_LOOKED_AT = 8  # pairs, to see whether scores are numbers

Keep: TypeAlias = Literal["best", "last"]
Calibration: TypeAlias = Callable[[PairNetwork, PairInputs], None]


@dataclass(frozen=True, slots=True)
class Part:
    """An objective of a stage, how many of its items a step takes, and how much they count."""

    objective: Objective
    batch: int
    weight: float = 1.0
    pool: int = 50  # batches that are sorted by length together


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings of a stage; of several trials of one stage the best one stays."""

    parts: tuple[Part, ...]
    epochs: float  # passes over the first part
    rates: Rates
    weight_decay: float = 0.01
    clip: float = 1.0  # the norm that gradients are cut to
    average: float = 0.0  # the share of last steps whose weights are averaged

    @property
    def steps(self) -> int:
        """Steps in all."""
        first = self.parts[0]
        return step_count(len(first.objective), first.batch, self.epochs)


@dataclass(frozen=True, slots=True)
class Stage:
    """What is learnt at one time, and which of the weights on the way stay."""

    name: str
    trials: tuple[Trial, ...]
    keep: Keep = "best"
    evaluations: int = 0  # within a trial; 0 for one a pass
    calibration: Calibration | None = None  # that it begins with

    @property
    def objectives(self) -> tuple[str, ...]:
        """The names of what is learnt."""
        return tuple(part.objective.name for part in self.trials[0].parts)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training is."""

    stage: str
    step: int
    steps: int
    loss: float
    figures: Figures


@dataclass(frozen=True, slots=True)
class Run:
    """What all stages of a training share."""

    inputs: PairInputs
    development: Development
    seed: int
    processes: Processes
    checkpoints: Checkpoints | None = None
    seconds_between_checkpoints: float = 300.0
    report: Callable[[Progress], None] = lambda _: None


@dataclass(slots=True)
class _State:
    """What changes while a network is trained, beside its weights."""

    leg: int = 0
    step: int = 0  # steps done of the leg
    start: Named = field(default_factory=dict)  # what every trial of a stage begins with
    best: Named = field(default_factory=dict)  # of the stage
    best_figure: float = -np.inf
    best_figures: Figures = field(default_factory=dict)
    chosen: list[int] = field(default_factory=list)  # the best trial of each stage so far
    moments: dict[str, Named] = field(default_factory=dict)  # to go on with, after a stop
    average: Average = field(default_factory=Average)
    losses: Losses = field(default_factory=lambda: Losses(0.0, 0))  # since the last figures
    figures: Figures = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Leg:
    """One trial of one stage."""

    stage: Stage
    stage_number: int
    trial_number: int

    @property
    def trial(self) -> Trial:
        return self.stage.trials[self.trial_number]

    @property
    def name(self) -> str:
        several = len(self.stage.trials)
        return self.stage.name + (f", {self.trial_number + 1} of {several}" if several > 1 else "")

    def evaluated_after(self) -> set[int]:
        """The steps after which figures are taken, the last one always."""
        steps, trial = self.trial.steps, self.trial
        count = min(self.stage.evaluations or max(round(trial.epochs), 1), steps)
        return {round(number * steps / count) for number in range(1, count + 1)}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured on the way, and what was chosen by it."""

    history: list[dict[str, Any]]
    chosen: list[int]  # the best trial of each stage
    figures: Figures  # of the weights that were kept in the end


def train(network: PairNetwork, stages: Sequence[Stage], run: Run) -> Outcome:
    """Train the network in place."""
    legs = [
        _Leg(stage, number, trial)
        for number, stage in enumerate(stages)
        for trial in range(len(stage.trials))
    ]
    try:
        state = _resumed(network, run.checkpoints)
    except (KeyError, RuntimeError, TypeError) as error:
        raise AdequaError(
            "The checkpoint to go on from is of another network, or of another version of adequa; "
            "delete it to begin anew."
        ) from error
    clock = Clock(run.seconds_between_checkpoints)
    with own_randomness(network.device), memory_watched(network.device):
        while state.leg < len(legs):
            leg = legs[state.leg]
            if not state.step:
                _begin(network, leg, state, run)
            _walk(network, leg, state, run, clock)
            if leg.trial_number + 1 == len(leg.stage.trials):
                _put(network, state.best)
                run.processes.follow_first(network.parameters())
            state.leg, state.step = state.leg + 1, 0
    network.eval()
    return Outcome(state.history, state.chosen, state.best_figures)


def _begin(network: PairNetwork, leg: _Leg, state: _State, run: Run) -> None:
    """Make ready for a trial: its first weights, and the scale of what is learnt."""
    state.average, state.moments, state.losses = Average(), {}, Losses(0.0, 0)
    if leg.trial_number:
        _put(network, state.start)
        return
    state.best, state.best_figure, state.figures = {}, -np.inf, {}
    state.chosen = [*state.chosen, 0]
    if leg.stage.calibration is not None:
        leg.stage.calibration(network, run.inputs)
    state.start = _weights(network) if len(leg.stage.trials) > 1 else {}


def _walk(network: PairNetwork, leg: _Leg, state: _State, run: Run, clock: Clock) -> None:
    """All steps of a trial, from where it is."""
    trial, steps = leg.trial, leg.trial.steps
    optimiser = adamw(network, trial.rates, trial.weight_decay)
    restore_moments(network, optimiser, state.moments, state.step)
    evaluated_after, averaged_from = leg.evaluated_after(), steps - round(trial.average * steps)
    reported = Losses(0.0, 0)
    network.train()
    for step, drawn in _drawn(leg, state.step, run):
        set_rates(optimiser, trial.rates, step, steps)
        loss = _gradients(network, leg, drawn, (run.seed, state.leg, step), run)
        reported.add(loss)
        state.losses.add(loss)
        nn.utils.clip_grad_norm_(network.parameters(), trial.clip)
        optimiser.step()
        optimiser.zero_grad()
        if step >= averaged_from:
            state.average.add(network)
        state.step = step + 1
        if state.step in evaluated_after:
            _evaluate(network, leg, state, run)
        if clock.report_is_due() or state.step == steps:
            now = _checked(reported.mean(), leg, state)
            run.report(Progress(leg.name, state.step, steps, now, state.figures))
        # What took long is kept at the end of a trial too: what comes after it may fail.
        if run.checkpoints and (
            clock.checkpoint_is_due() or (state.step == steps and clock.is_long())
        ):
            _checked(float(state.losses.total), leg, state)
            _keep(network, optimiser, state, run)


def _drawn(leg: _Leg, begin: int, run: Run) -> Iterator[tuple[int, list[IntArray]]]:
    """The number of each step from `begin` on, and the items that it takes of every part."""
    tokens = run.inputs.rows.lengths
    lengths = [part.objective.lengths(tokens) for part in leg.trial.parts]
    passes: dict[int, tuple[int, list[IntArray]]] = {}  # of each part, the latest pass
    for step in range(begin, leg.trial.steps):
        taken = []
        for number, part in enumerate(leg.trial.parts):
            in_a_pass = step_count(len(part.objective), part.batch, 1)
            turn, at = divmod(step, in_a_pass)
            if passes.get(number, (-1,))[0] != turn:
                seed = (run.seed, leg.stage_number, number, turn)
                passes[number] = turn, shuffled_steps(lengths[number], part.batch, part.pool, seed)
            taken.append(passes[number][1][at])
        yield step, taken


def _gradients(
    network: PairNetwork, leg: _Leg, drawn: list[IntArray], seed: tuple[int, ...], run: Run
) -> Tensor:
    """Add up the gradients of a step over all parts and processes; returns the loss."""
    total = torch.zeros((), device=network.device)
    for number, (part, items) in enumerate(zip(leg.trial.parts, drawn, strict=True)):
        task = part.objective.task(items)
        factor = part.weight / task.weight
        if run.processes.count > 1:
            own = run.processes.share(items)
            # One without items reads some for nothing: it has gradients to add up as others do.
            task = part.objective.task(own if len(own) else items[:1])
            factor = factor if len(own) else 0.0
        place = (*seed, number, run.processes.number)
        total += accumulate(network, run.inputs, task.pairs, _scaled(task.loss, factor), place)
    run.processes.add_up([p.grad for p in network.parameters() if p.grad is not None])
    run.processes.add_up([total])
    return total


def _scaled(loss: Loss, factor: float) -> Loss:
    return lambda scores: factor * loss(scores)


def _evaluate(network: PairNetwork, leg: _Leg, state: _State, run: Run) -> None:
    """Take figures on development data, and keep the weights if they are the best so far."""
    loss = _checked(state.losses.mean(), leg, state)
    with _averaged(network, state.average):
        # The loss is that of the weights before the last step: what do they say after it?
        some = np.arange(min(len(run.inputs.rows), _LOOKED_AT))
        _checked(float(predict(network, run.inputs, some).sum()), leg, state)
        state.figures = run.development.figures(lambda pairs: predict(network, run.inputs, pairs))
        figure = criterion(state.figures, leg.stage.objectives)
        is_last = state.step == leg.trial.steps
        # Without development data all figures are equal: the latest weights then stay.
        if figure >= state.best_figure and (leg.stage.keep == "best" or is_last):
            state.best, state.best_figure = _weights(network), figure
            state.best_figures = state.figures
            state.chosen[-1] = leg.trial_number
    place = {"stage": leg.stage.name, "trial": leg.trial_number + 1, "step": state.step}
    state.history.append({**place, "loss": loss, **state.figures})


def _checked(loss: float, leg: _Leg, state: _State) -> float:
    """The loss, or a sentence where it is no number: such weights are not worth keeping."""
    if not np.isfinite(loss):
        raise AdequaError(
            f"The loss of {leg.name} was no number any more by step {state.step:,}; train with a "
            "smaller learning rate, or a longer warmup."
        )
    return loss


@contextmanager
def _averaged(network: PairNetwork, average: Average) -> Iterator[None]:
    """The network with the mean of its late weights, if there is one, and then as it was."""
    if not average.count:
        yield
        return
    own = _weights(network)
    average.put_into(network)
    try:
        yield
    finally:
        _put(network, own)


def _keep(network: PairNetwork, optimiser: torch.optim.AdamW, state: _State, run: Run) -> None:
    """Write a checkpoint; every process is at the same step, and the first one writes."""
    if run.checkpoints is None or not run.processes.is_first:
        return
    kept = {"network": dict(network.state_dict()), "start": state.start, "best": state.best}
    kept |= {"average": state.average.mean, **moments(network, optimiser)}
    facts = {
        "leg": state.leg,
        "step": state.step,
        "best_figure": None if np.isinf(state.best_figure) else state.best_figure,
        "best_figures": dict(state.best_figures),
        "averaged": state.average.count,
        "losses": [float(state.losses.total), state.losses.count],
        "figures": dict(state.figures),
        "history": state.history,
        "chosen": state.chosen,
    }
    run.checkpoints.write(Snapshot(kept, facts))


def _resumed(network: PairNetwork, checkpoints: Checkpoints | None) -> _State:
    """Where to go on, with the network as it was there."""
    snapshot = checkpoints.latest() if checkpoints else None
    if snapshot is None:
        return _State()
    kept, facts = snapshot.tensors, snapshot.facts
    network.load_state_dict(kept["network"])

    def there(kind: str) -> Named:
        return {name: tensor.to(network.device) for name, tensor in kept.get(kind, {}).items()}

    best = facts["best_figure"]
    return _State(
        leg=facts["leg"],
        step=facts["step"],
        start=there("start"),
        best=there("best"),
        best_figure=-np.inf if best is None else best,
        best_figures=facts["best_figures"],
        moments={kind: there(kind) for kind in (FIRST, SECOND)},
        average=Average(there("average"), facts["averaged"]),
        losses=Losses(*facts["losses"]),
        figures=facts["figures"],
        history=facts["history"],
        chosen=facts["chosen"],
    )


def _weights(network: PairNetwork) -> Named:
    return {name: weight.detach().clone() for name, weight in network.named_parameters()}


@torch.no_grad()
def _put(network: PairNetwork, weights: Named) -> None:
    for name, weight in network.named_parameters():
        weight.copy_(weights[name])
