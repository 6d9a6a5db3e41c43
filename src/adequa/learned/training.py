"""The training loop of all metrics that are trained by gradients.

A training is a sequence of stages. A stage has one or more trials, each with other settings; all
trials of a stage start from the same weights, and the stage ends with the best weights of any
trial, by a criterion on held-out data. A system describes its trials (how to compute the gradients
of a step, how to evaluate), and `train` does the rest: optimiser steps, the learning-rate schedule,
gradient clipping, averaging of late weights, evaluation, early stopping, checkpoints and progress.

A trial that is checkpointed must draw its random numbers from the seed and the index of the step
alone. A training that was stopped and resumes from a checkpoint then ends in the same weights as
one that was not. Trials without checkpoints may draw from one stream.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from adequa.errors import AdequaError
from adequa.learned.checkpoints import Checkpoints, Snapshot

Keep: TypeAlias = Literal["best", "last"]
Weights: TypeAlias = dict[str, Tensor]  # by the names of parameters
Figures: TypeAlias = Mapping[str, float]  # results on held-out data, by name

SECONDS_BETWEEN_REPORTS = 0.5  # reading the loss waits for the device
_STEPS_BETWEEN_CHECKS = 32  # of whether the loss is finite, for the same reason


class Optimizer(Protocol):
    """The part of `torch.optim.Optimizer` that the loop uses."""

    param_groups: list[dict[str, Any]]

    def step(self) -> object:
        """Update the parameters from their gradients."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state by the index of the parameter, and the groups."""

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Restore what `state_dict` returned."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Results on held-out data. Weights are chosen by the criterion: higher is better.

    A criterion of NaN says that the network's outputs are not finite: the trial has diverged.
    """

    criterion: float
    figures: Figures = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One setting of a stage.

    Parameters
    ----------
    steps: number of optimiser steps.
    optimizer: builds the optimiser over the network's parameters.
    gradients: computes the gradients of a step, counted from 0, into `.grad` of the parameters;
        returns the loss and its weight in the mean over steps.
    evaluate: evaluates the network as it is, in evaluation mode.
    evaluate_after: numbers of steps done, from 1, after which to evaluate; include the last.
    learning_rate: factor of every parameter group's learning rate at a step, counted from 0.
    max_norm: norm that gradients are clipped to.
    averaged_steps: number of last steps whose weights are averaged; 0 for none.
    patience: evaluations without a higher criterion of this trial after which it ends; 0 for no
        limit.
    settings: the settings in words, for messages.
    advice: what to change where the loss is not finite any more.
    """

    steps: int
    optimizer: Callable[[], Optimizer]
    gradients: Callable[[int], tuple[Tensor | float, float]]
    evaluate: Callable[[], Evaluation]
    evaluate_after: Collection[int]
    learning_rate: Callable[[int], float] | None = None
    max_norm: float | None = None
    averaged_steps: int = 0
    patience: int = 0
    settings: str = ""
    advice: str = "train with a smaller learning rate, or a longer warmup"


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """Trials of which the best one counts, and which of the weights on the way are chosen.

    Parameters
    ----------
    keep: the weights of the best evaluation, or of each trial's last one.
    ties: which of several equal evaluations wins.
    prepare: called before the first trial.
    resumes_best: start with the best weights and optimiser state of the stage before, and let
        them win where this stage does not improve on their criterion; patience counts from it.
    """

    name: str
    trials: tuple[Trial, ...]
    keep: Keep = "best"
    ties: Literal["first", "latest"] = "latest"
    prepare: Callable[[], None] | None = None
    resumes_best: bool = False


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """The state of a training, for a progress bar."""

    stage: str
    step: int
    steps: int
    loss: float  # mean since the last report
    figures: Figures  # of the last evaluation


@dataclass(frozen=True, slots=True)
class Outcome:
    """The course of a training, and the choices made by it."""

    history: list[dict[str, Any]]  # one entry per evaluation
    chosen: list[int]  # index of the best trial of each stage
    best: Evaluation  # of the final weights
    best_step: int  # steps of its trial after which it was taken
    diverged: list[tuple[int, int]]  # indices of stages and trials


class DivergedError(AdequaError):
    """The loss is not finite any more."""


def train(
    network: nn.Module,
    stages: Sequence[Stage],
    *,
    checkpoints: Checkpoints | None = None,
    writes_checkpoints: bool = True,
    seconds_between_checkpoints: float = 300.0,
    synchronise: Callable[[Iterable[Tensor]], None] = lambda _: None,
    report: Callable[[TrainingProgress], None] = lambda _: None,
    evaluated: Callable[[Mapping[str, Any]], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Train a network in place through all stages, and leave it in evaluation mode.

    Where several processes train together, each calls this function with its own network; one of
    them writes checkpoints, and `synchronise` gives its tensors to the others. `report` receives
    the progress twice a second, `evaluated` each entry of the history, and `note` what a user
    should know afterwards.
    """
    runs = [
        # The stage after this one may resume from its best weights and optimiser state.
        _Run(stage, stage_index, trial_index, keeps_optimizer=following.resumes_best)
        for stage_index, (stage, following) in enumerate(
            zip(stages, [*stages[1:], Stage("", ())], strict=True)
        )
        for trial_index in range(len(stage.trials))
    ]
    loop = _Loop(
        network=network,
        state=_restored(network, checkpoints),
        checkpoints=checkpoints if writes_checkpoints else None,
        clock=_Clock(seconds_between_checkpoints),
        report=report,
        evaluated=evaluated,
    )
    state = loop.state
    while state.run < len(runs):
        run = runs[state.run]
        if not state.step:
            loop.begin(run)
        try:
            loop.take_steps(run)
        except DivergedError as error:
            _drop_trial(run, state, note, error)
        if run.is_last:
            state.chosen = [*state.chosen, state.best.trial]
            load_weights(network, state.best.weights)
            synchronise(network.parameters())
        state.run, state.step = state.run + 1, 0
    network.eval()
    return Outcome(
        state.history, state.chosen, state.best.evaluation, state.best.step, state.diverged
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """One trial of one stage."""

    stage: Stage
    stage_index: int
    trial_index: int
    keeps_optimizer: bool

    @property
    def trial(self) -> Trial:
        return self.stage.trials[self.trial_index]

    @property
    def name(self) -> str:
        trials = len(self.stage.trials)
        return self.stage.name + (f", {self.trial_index + 1} of {trials}" if trials > 1 else "")

    @property
    def is_last(self) -> bool:
        """Whether no other trial of the stage follows."""
        return self.trial_index + 1 == len(self.stage.trials)


@dataclass(slots=True)
class _Loop:
    """A network in training."""

    network: nn.Module
    state: _State
    checkpoints: Checkpoints | None
    clock: _Clock
    report: Callable[[TrainingProgress], None]
    evaluated: Callable[[Mapping[str, Any]], None]

    def begin(self, run: _Run) -> None:
        """Set the initial weights of a trial."""
        state = self.state
        state.average, state.optimizer, state.losses = Average(), {}, _MeanLoss()
        state.evaluations_since_rise = 0
        state.highest = state.best.evaluation.criterion if run.stage.resumes_best else -np.inf
        if run.trial_index:
            state.best_before = state.best
            load_weights(self.network, state.initial)
            return
        if run.stage.resumes_best:
            state.optimizer = state.best.optimizer
        else:
            state.best = _Best()
        state.best_before = state.best
        state.figures = {}
        if run.stage.prepare is not None:
            run.stage.prepare()
        state.initial = copied_weights(self.network) if len(run.stage.trials) > 1 else {}

    def take_steps(self, run: _Run) -> None:
        """Take all remaining steps of a trial."""
        trial, state, network = run.trial, self.state, self.network
        if state.is_finished(trial):  # resumed from the checkpoint at its end
            return
        optimizer = trial.optimizer()
        base_rates = [group["lr"] for group in optimizer.param_groups]
        _restore_optimizer(optimizer, state.optimizer)
        parameters, since_report = list(network.parameters()), _MeanLoss()
        network.train()
        for step in range(state.step, trial.steps):
            if trial.learning_rate is not None:
                factor = trial.learning_rate(step)
                for group, rate in zip(optimizer.param_groups, base_rates, strict=True):
                    group["lr"] = rate * factor
            loss, weight = trial.gradients(step)
            since_report.add(loss, weight)
            state.losses.add(loss, weight)
            if trial.max_norm is not None:
                nn.utils.clip_grad_norm_(parameters, trial.max_norm)
            optimizer.step()
            for parameter in parameters:  # as zero_grad does, at a tenth of its time
                parameter.grad = None
            if step >= trial.steps - trial.averaged_steps:
                state.average.add(network)
            state.step = step + 1
            if state.step in trial.evaluate_after:
                self._evaluate(run, optimizer)
            elif state.step % _STEPS_BETWEEN_CHECKS == 0:
                _check_finite(state.losses.total, run, state)
            ends = state.is_finished(trial)
            # Clocks of several processes differ: whatever all must agree on was decided above.
            if self.clock.is_due("report") or ends:
                self.report(
                    TrainingProgress(
                        run.name, state.step, trial.steps, since_report.mean(), state.figures
                    )
                )
                since_report = _MeanLoss()
            # A long trial is saved at its end, too: the work that follows it may fail.
            if self.clock.is_due("write") or (ends and self.clock.is_long()):
                self._write_checkpoint(optimizer)
            if ends:
                break

    def _evaluate(self, run: _Run, optimizer: Optimizer) -> None:
        """Evaluate on held-out data, and keep the weights if they are the best so far."""
        state, stage = self.state, run.stage
        loss = _check_finite(state.losses.mean(), run, state)
        state.losses = _MeanLoss()
        with _averaged(self.network, state.average):
            self.network.eval()
            evaluation = run.trial.evaluate()
            self.network.train()
            # The loss is that of the weights before the last step: check their outputs after it.
            criterion = _check_finite(evaluation.criterion, run, state, "criterion")
            state.figures = evaluation.figures
            rises = criterion > state.highest
            state.highest = max(criterion, state.highest)
            state.evaluations_since_rise = 0 if rises else state.evaluations_since_rise + 1
            best = state.best.evaluation.criterion
            # Without held-out data all criteria are equal.
            wins = criterion > best or (criterion == best and stage.ties == "latest")
            if wins and (stage.keep == "best" or state.is_finished(run.trial)):
                state.best = _Best(
                    copied_weights(self.network),
                    evaluation,
                    run.trial_index,
                    state.step,
                    _copied_optimizer(optimizer) if run.keeps_optimizer else {},
                )
        position = {"stage": stage.name, "trial": run.trial_index + 1, "step": state.step}
        state.history.append({**position, "loss": loss, **state.figures})
        self.evaluated(state.history[-1])

    def _write_checkpoint(self, optimizer: Optimizer) -> None:
        if self.checkpoints is not None and np.isfinite(float(self.state.losses.total)):
            self.checkpoints.write(self.state.snapshot(self.network, optimizer))


def _check_finite(value: Tensor | float, run: _Run, state: _State, quantity: str = "loss") -> float:
    """Return the value; raise where it is not finite, because such weights are useless."""
    value = float(value)
    if not np.isfinite(value):
        raise DivergedError(
            f"The {quantity} of {run.name} was no number any more by step {state.step:,}; "
            f"{run.trial.advice}."
        )
    return value


def _drop_trial(
    run: _Run, state: _State, note: Callable[[str], None], error: DivergedError
) -> None:
    """Continue as if a diverged trial had never run; raise where no other trial has a result.

    Its evaluations before it diverged do not count: its settings alone would fail.
    """
    if run.is_last and not state.best_before.weights:
        raise error
    state.best = state.best_before
    own = {"stage": run.stage.name, "trial": run.trial_index + 1}
    state.history = [entry for entry in state.history if not own.items() <= entry.items()]
    state.diverged = [*state.diverged, (run.stage_index, run.trial_index)]
    settings = f" ({run.trial.settings})" if run.trial.settings else ""
    note(f"{run.name}{settings} is given up: its loss was no number any more.")


# State, and how a checkpoint stores it


@dataclass(frozen=True, slots=True)
class _Best:
    """The best weights so far."""

    weights: Weights = field(default_factory=dict)  # empty: none yet
    evaluation: Evaluation = Evaluation(-np.inf)
    trial: int = 0
    step: int = 0
    optimizer: Weights = field(default_factory=dict)  # where the next stage resumes from it

    def facts(self) -> list[Any]:
        """All but the tensors."""
        return [self.evaluation.criterion, dict(self.evaluation.figures), self.trial, self.step]

    @classmethod
    def restored(cls, facts: Sequence[Any], weights: Weights, optimizer: Weights) -> _Best:
        """From `facts` and tensors."""
        criterion, figures, trial, step = facts
        return cls(weights, Evaluation(criterion, figures), trial, step, optimizer)


@dataclass(slots=True)
class _MeanLoss:
    """A weighted mean of losses; they stay on the device until it is read."""

    total: Tensor | float = 0.0
    weight: float = 0.0

    def add(self, loss: Tensor | float, weight: float) -> None:
        self.total = self.total + (loss if weight == 1 else loss * weight)
        self.weight += weight

    def mean(self) -> float:
        return float(self.total) / self.weight


@dataclass(slots=True)
class Average:
    """The mean of the weights over steps."""

    weights: Weights = field(default_factory=dict)
    count: int = 0

    @torch.no_grad()
    def add(self, network: nn.Module) -> None:
        """Include the current weights."""
        current = {name: weight.detach() for name, weight in network.named_parameters()}
        self.count += 1
        if self.count == 1:
            self.weights = {name: weight.clone() for name, weight in current.items()}
        else:  # a running mean: a sum would lose digits. One kernel for all weights, which
            # torch.optim.swa_utils uses too, but there only for parameters in a second network.
            torch._foreach_lerp_(
                list(self.weights.values()),
                [current[name] for name in self.weights],
                1 / self.count,
            )


@dataclass(slots=True)
class _State:
    """The state of a training beside the current weights."""

    run: int = 0  # index of the trial among those of all stages
    step: int = 0  # number of steps done in it
    initial: Weights = field(default_factory=dict)  # of every trial of the stage
    best: _Best = field(default_factory=_Best)  # of the stage
    best_before: _Best = field(default_factory=_Best)  # of the stage's earlier trials
    highest: float = -np.inf  # criterion of the trial
    evaluations_since_rise: int = 0
    chosen: list[int] = field(default_factory=list)
    diverged: list[tuple[int, int]] = field(default_factory=list)
    optimizer: Weights = field(default_factory=dict)  # state to start the trial with
    average: Average = field(default_factory=Average)
    losses: _MeanLoss = field(default_factory=_MeanLoss)  # since the last evaluation
    figures: Figures = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)

    def is_finished(self, trial: Trial) -> bool:
        """Whether all steps of the trial are done, or further ones are not expected to help."""
        return self.step == trial.steps or 0 < trial.patience <= self.evaluations_since_rise

    def snapshot(self, network: nn.Module, optimizer: Optimizer) -> Snapshot:
        """The state with all tensors, for a checkpoint."""
        is_same = self.best_before is self.best  # then its weights are written once
        tensors = {
            "network": dict(network.state_dict()),
            "initial": self.initial,
            "best": self.best.weights,
            "best_optimizer": self.best.optimizer,
            "best_before": {} if is_same else self.best_before.weights,
            "best_before_optimizer": {} if is_same else self.best_before.optimizer,
            "average": self.average.weights,
            "optimizer": _optimizer_tensors(optimizer),
        }
        facts = {
            "run": self.run,
            "step": self.step,
            "best": self.best.facts(),
            "best_before": None if is_same else self.best_before.facts(),
            "highest": self.highest,
            "evaluations_since_rise": self.evaluations_since_rise,
            "chosen": self.chosen,
            "diverged": self.diverged,
            "averaged": self.average.count,
            "losses": [float(self.losses.total), self.losses.weight],
            "figures": dict(self.figures),
            "history": self.history,
        }
        return Snapshot(tensors, facts)


def _restored(network: nn.Module, checkpoints: Checkpoints | None) -> _State:
    """The state of the latest checkpoint, with its weights in the network; a new one without."""
    if checkpoints is None or (snapshot := checkpoints.latest()) is None:
        return _State()
    facts = snapshot.facts
    network.load_state_dict(snapshot.tensors["network"])
    device = next(network.parameters()).device

    def tensors(kind: str) -> Weights:
        return {name: each.to(device) for name, each in snapshot.tensors.get(kind, {}).items()}

    def restored_best(kind: str) -> _Best:
        return _Best.restored(facts[kind], tensors(kind), tensors(f"{kind}_optimizer"))

    best = restored_best("best")
    return _State(
        run=facts["run"],
        step=facts["step"],
        initial=tensors("initial"),
        best=best,
        best_before=best if facts["best_before"] is None else restored_best("best_before"),
        highest=facts["highest"],
        evaluations_since_rise=facts["evaluations_since_rise"],
        chosen=facts["chosen"],
        diverged=[(stage, trial) for stage, trial in facts["diverged"]],
        optimizer=tensors("optimizer"),
        average=Average(tensors("average"), facts["averaged"]),
        losses=_MeanLoss(*facts["losses"]),
        figures=facts["figures"],
        history=facts["history"],
    )


def copied_weights(network: nn.Module) -> Weights:
    """A copy of the network's weights."""
    return {name: weight.detach().clone() for name, weight in network.named_parameters()}


@torch.no_grad()
def load_weights(network: nn.Module, weights: Weights) -> None:
    """Copy weights into a network."""
    for name, parameter in network.named_parameters():
        parameter.copy_(weights[name])


@contextmanager
def _averaged(network: nn.Module, average: Average) -> Iterator[None]:
    """Put the averaged weights into a network, if there are any, and its own back at the end."""
    if not average.count:
        yield
        return
    own = copied_weights(network)
    load_weights(network, average.weights)
    try:
        yield
    finally:
        load_weights(network, own)


def _optimizer_tensors(optimizer: Optimizer) -> Weights:
    """The optimiser's state of every parameter, by its index and the name of the quantity."""
    return {
        f"{index}.{name}": value
        for index, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def _copied_optimizer(optimizer: Optimizer) -> Weights:
    return {name: value.clone() for name, value in _optimizer_tensors(optimizer).items()}


def _restore_optimizer(optimizer: Optimizer, tensors: Weights) -> None:
    """Give a new optimiser the state that `_optimizer_tensors` returned."""
    if not tensors:
        return
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, _, name = key.partition(".")
        # Fused kernels count steps on the device, the others in main memory.
        on_device = name != "step" or optimizer.param_groups[0].get("fused")
        state.setdefault(int(index), {})[name] = (value if on_device else value.cpu()).clone()
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


class _Clock:
    """When to report and when to write a checkpoint; results depend on neither."""

    def __init__(self, seconds_between_checkpoints: float) -> None:
        self._intervals = {"report": SECONDS_BETWEEN_REPORTS, "write": seconds_between_checkpoints}
        self._start = monotonic()
        self._last = dict.fromkeys(self._intervals, self._start)

    def is_due(self, event: Literal["report", "write"]) -> bool:
        """Whether to report or to write a checkpoint now; if so, the interval starts again."""
        is_due = monotonic() - self._last[event] >= self._intervals[event]
        if is_due:
            self._last[event] = monotonic()
        return is_due

    def is_long(self) -> bool:
        """Whether the training has run long enough that repeating it would be a loss."""
        return monotonic() - self._start >= self._intervals["write"]


# Randomness, and when to evaluate


@contextmanager
def isolated_randomness(device: torch.device) -> Iterator[None]:
    """Restore the global random state of PyTorch at the end."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        yield


def seed_torch(*seed: int) -> None:
    """Seed PyTorch's global generator with several numbers, such as a seed and a step."""
    torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1))


def evaluation_steps(steps: int, count: int) -> set[int]:
    """The numbers of steps after which to evaluate: evenly spaced, the last one always.

    >>> sorted(evaluation_steps(10, 4))
    [2, 5, 8, 10]
    """
    count = min(count, steps)
    return {round(number * steps / count) for number in range(1, count + 1)}
