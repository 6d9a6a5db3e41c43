"""The training loop: stages one after the other, steps one after the other, nothing hidden.

What a step draws and drops out depends on the seed and the number of the step alone. A training
that was stopped and goes on from its checkpoint therefore ends in the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from adequa.errors import AdequaError
from adequa.learned.pair.checkpoints import Checkpoints
from adequa.learned.pair.figures import Development, Figures, criterion
from adequa.learned.pair.gradients import (
    PairInputs,
    accumulate,
    many_shapes,
    memory_watched,
    own_randomness,
    predict,
)
from adequa.learned.pair.monitor import Clock, Losses
from adequa.learned.pair.network import PairNetwork
from adequa.learned.pair.objectives import Loss, Objective
from adequa.learned.pair.optimiser import Average, Named, Rates, adamw, restore_moments, set_rates
from adequa.learned.pair.processes import Processes
from adequa.learned.pair.state import Best, State, resumed
from adequa.learned.pair.steps import shuffled_steps, step_count
from adequa.segments import IntArray

_LOOKED_AT = 8  # pairs, to see whether scores are numbers
_CHECKED_EVERY = 32  # steps: whether the loss still is a number; reading it waits for the device

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
    note: Callable[[str], None] = lambda _: None  # what a user should know afterwards


class _DivergedError(AdequaError):
    """A loss that is no number any more."""


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

    @property
    def is_last(self) -> bool:
        """Whether no other trial of the stage follows."""
        return self.trial_number + 1 == len(self.stage.trials)

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
    given_up: list[tuple[int, int]]  # stages and trials, from 0, whose loss was no number any more


def train(network: PairNetwork, stages: Sequence[Stage], run: Run) -> Outcome:
    """Train the network in place."""
    legs = [
        _Leg(stage, number, trial)
        for number, stage in enumerate(stages)
        for trial in range(len(stage.trials))
    ]
    try:
        state = resumed(network, run.checkpoints)
    except (KeyError, RuntimeError, TypeError) as error:
        raise AdequaError(
            "The checkpoint to go on from is of another network, or of another version of adequa; "
            "delete it to begin anew."
        ) from error
    clock = Clock(run.seconds_between_checkpoints)
    with own_randomness(network.device), memory_watched(network.device), many_shapes():
        while state.leg < len(legs):
            leg = legs[state.leg]
            if not state.step:
                _begin(network, leg, state, run)
            try:
                _walk(network, leg, state, run, clock)
            except _DivergedError as error:
                _give_up(leg, state, run, error)
            if leg.is_last:
                state.chosen = [*state.chosen, state.best.trial]
                _put(network, state.best.weights)
                run.processes.follow_first(network.parameters())
            state.leg, state.step = state.leg + 1, 0
    network.eval()
    return Outcome(state.history, state.chosen, state.best.figures, state.given_up)


def _begin(network: PairNetwork, leg: _Leg, state: State, run: Run) -> None:
    """Make ready for a trial: its first weights, and the scale of what is learnt."""
    state.average, state.moments, state.losses = Average(), {}, Losses(0.0, 0)
    if leg.trial_number:
        state.before = state.best
        _put(network, state.start)
        return
    state.best = state.before = Best()
    state.figures = {}
    if leg.stage.calibration is not None:
        leg.stage.calibration(network, run.inputs)
    state.start = _weights(network) if len(leg.stage.trials) > 1 else {}


def _walk(network: PairNetwork, leg: _Leg, state: State, run: Run, clock: Clock) -> None:
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
        elif state.step % _CHECKED_EVERY == 0:
            _checked(float(state.losses.total), leg, state)
        # The clocks of several processes differ: what is decided for all is decided above.
        if clock.report_is_due() or state.step == steps:
            run.report(Progress(leg.name, state.step, steps, reported.mean(), state.figures))
        # What took long is kept at the end of a trial too: what comes after it may fail.
        if run.checkpoints and (
            clock.checkpoint_is_due() or (state.step == steps and clock.is_long())
        ):
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


def _evaluate(network: PairNetwork, leg: _Leg, state: State, run: Run) -> None:
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
        if figure >= state.best.figure and (leg.stage.keep == "best" or is_last):
            state.best = Best(_weights(network), figure, state.figures, leg.trial_number)
    place = {"stage": leg.stage.name, "trial": leg.trial_number + 1, "step": state.step}
    state.history.append({**place, "loss": loss, **state.figures})


def _checked(loss: float, leg: _Leg, state: State) -> float:
    """The loss, or a sentence where it is no number: such weights are not worth keeping."""
    if not np.isfinite(loss):
        raise _DivergedError(
            f"The loss of {leg.name} was no number any more by step {state.step:,}; train with a "
            "smaller learning rate, or a longer warmup."
        )
    return loss


def _give_up(leg: _Leg, state: State, run: Run, error: _DivergedError) -> None:
    """Go on as if a trial had not been tried; raise the error where no other has come to anything.

    What it came to before its loss was no number does not count: its settings alone would fail.
    """
    if leg.is_last and not state.before.weights:
        raise error
    state.best = state.before
    own = {"stage": leg.stage.name, "trial": leg.trial_number + 1}
    state.history = [each for each in state.history if not own.items() <= each.items()]
    state.given_up = [*state.given_up, (leg.stage_number, leg.trial_number)]
    trial = leg.trial
    run.note(
        f"{leg.name} (batch {trial.parts[0].batch}, learning rate {trial.rates.learning_rate:g}, "
        f"epochs {trial.epochs:g}) is given up: its loss was no number any more."
    )


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


def _keep(network: PairNetwork, optimiser: torch.optim.AdamW, state: State, run: Run) -> None:
    """Write a checkpoint; every process is at the same step, and the first one writes."""
    if run.checkpoints is None or not run.processes.is_first:
        return
    if np.isfinite(float(state.losses.total)):  # else it is not worth keeping
        run.checkpoints.write(state.snapshot(network, optimiser))


def _weights(network: PairNetwork) -> Named:
    return {name: weight.detach().clone() for name, weight in network.named_parameters()}


@torch.no_grad()
def _put(network: PairNetwork, weights: Named) -> None:
    for name, weight in network.named_parameters():
        weight.copy_(weights[name])
