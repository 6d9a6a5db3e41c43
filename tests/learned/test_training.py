"""The shared training loop on a linear model, against plain PyTorch and values by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.errors import AdequaError

torch = pytest.importorskip("torch", reason="training needs PyTorch")

from adequa.learned import training  # noqa: E402  # it needs PyTorch
from adequa.learned.checkpoints import Checkpoints  # noqa: E402
from adequa.learned.training import (  # noqa: E402
    Average,
    Evaluation,
    Outcome,
    Stage,
    Trial,
    evaluation_steps,
    train,
)

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adagrad": lambda parameters: torch.optim.Adagrad(parameters, lr=0.1, weight_decay=0.01),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.1),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.1, weight_decay=0.1),
}


def linear() -> Any:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return torch.nn.Linear(3, 1)


def step_loss(model: Any, step: int) -> Any:
    """The loss of a step, which depends on its index alone."""
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn((5, 3), generator=generator)
    return (model(inputs).squeeze(1) - inputs.sum(1)).square().mean()


def trial(
    model: Any,
    steps: int = 8,
    *,
    criteria: Sequence[float] = (),
    optimizer: str = "adamw",
    **settings: Any,
) -> Trial:
    """With these criteria at its evaluations in turn; the loss itself where there are none."""
    remaining = list(criteria)

    def gradients(step: int) -> tuple[Any, float]:
        loss = step_loss(model, step)
        loss.backward()
        return loss.detach(), 1.0

    def evaluate() -> Evaluation:
        assert not model.training
        value = remaining.pop(0) if remaining else -float(step_loss(model, 1000).detach())
        return Evaluation(value, {"figure": value})

    return Trial(
        steps,
        lambda: OPTIMIZERS[optimizer](model.parameters()),
        gradients,
        evaluate,
        settings.pop("evaluate_after", evaluation_steps(steps, len(criteria) or 2)),
        **settings,
    )


def weights(model: Any) -> list[float]:
    return [*model.weight.flatten().tolist(), model.bias.item()]


def plain_weights(optimizer: str, steps: int, factor: Callable[[int], float]) -> list[list[float]]:
    """The weights after every step of a loop as PyTorch's documentation has it."""
    model = linear()
    optimiser = OPTIMIZERS[optimizer](model.parameters())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, factor)
    course = []
    for step in range(steps):
        optimiser.zero_grad()
        step_loss(model, step).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimiser.step()
        schedule.step()
        course.append(weights(model))
    return course


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_are_those_of_a_plain_loop(optimizer: str) -> None:
    model = linear()
    rate = lambda step: 1 - step / 8  # noqa: E731
    settings: dict[str, Any] = {"learning_rate": rate, "max_norm": 0.5}
    train(model, [Stage("one", (trial(model, optimizer=optimizer, **settings),), keep="last")])
    assert weights(model) == pytest.approx(plain_weights(optimizer, 8, rate)[-1], rel=1e-6)
    assert not model.training


class StoppedError(Exception):
    """Raised by a report, as a kill would end a process."""


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("stop", [1, 4, 9, 13, 20])
def test_resuming_ends_in_equal_weights(
    optimizer: str, stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two stages, trials, averaged weights, a stage that resumes from the best of another."""
    monkeypatch.setattr(training, "SECONDS_BETWEEN_REPORTS", 0.0)

    def run(model: Any, checkpoints: Checkpoints | None, report: Callable[[Any], None]) -> Outcome:
        common: dict[str, Any] = {"optimizer": optimizer, "learning_rate": lambda n: 0.9**n}
        stages = [
            Stage("a", (trial(model, 6, **common, averaged_steps=2), trial(model, 5, **common))),
            Stage("b", (trial(model, 12, **common, evaluate_after={3, 6, 9, 12}),)),
            Stage("c", (trial(model, 4, **common),), resumes_best=True),
        ]
        return train(
            model,
            stages,
            checkpoints=checkpoints,
            seconds_between_checkpoints=0.0,
            report=report,
        )

    whole, resumed, steps = linear(), linear(), 0
    expected = run(whole, None, lambda _: None)
    checkpoints = Checkpoints(tmp_path, "plan")

    def report(_: object) -> None:
        nonlocal steps
        steps += 1
        if steps == stop:
            raise StoppedError

    with pytest.raises(StoppedError):
        run(resumed, checkpoints, report)
    restarted = linear()
    assert run(restarted, checkpoints, lambda _: None) == expected
    assert weights(restarted) == weights(whole)


@pytest.mark.parametrize(("ties", "best"), [("first", 2), ("latest", 6)])
def test_best_evaluation_wins(ties: Any, best: int) -> None:
    model = linear()
    criteria = [0.5, 0.3, 0.5, 0.1]
    stage = Stage("one", (trial(model, criteria=criteria),), ties=ties)
    outcome = train(model, [stage])
    assert (outcome.best.criterion, outcome.best_step) == (0.5, best)
    assert weights(model) == pytest.approx(weights_after(best), rel=1e-6)
    assert [entry["figure"] for entry in outcome.history] == criteria


def weights_after(steps: int) -> list[float]:
    model = linear()
    train(model, [Stage("one", (trial(model, steps),), keep="last")])
    return weights(model)


@pytest.mark.parametrize(
    ("criteria", "patience", "evaluations"),
    [
        ([0.1, 0.2, 0.2, 0.2, 0.9], 2, 4),  # an equal criterion is no rise
        ([0.1, 0.2, 0.1, 0.3, 0.1, 0.1, 0.9], 2, 6),
        ([0.5, 0.4, 0.3, 0.2, 0.1, 0.9], 5, 6),
        ([0.5, 0.4, 0.3, 0.2, 0.1, 0.9], 0, 6),
    ],
)
def test_patience_ends_a_trial(criteria: list[float], patience: int, evaluations: int) -> None:
    model = linear()
    steps = len(criteria)
    stage = Stage("one", (trial(model, steps, criteria=criteria, patience=patience),))
    outcome = train(model, [stage])
    assert len(outcome.history) == evaluations
    assert outcome.best.criterion == max(criteria[:evaluations])


def test_patience_counts_the_evaluations_of_a_trial_alone() -> None:
    """The second trial rises at every evaluation, below the best of the first at the beginning."""
    model = linear()
    trials = (
        trial(model, 2, criteria=[0.5, 0.9], patience=2),
        trial(model, 5, criteria=[0.1, 0.2, 0.3, 0.4, 0.95], patience=2),
    )
    outcome = train(model, [Stage("one", trials)])
    assert len(outcome.history) == 7
    assert (outcome.chosen, outcome.best.criterion) == ([1], 0.95)


def test_patience_ends_a_trial_whose_last_weights_are_kept() -> None:
    model = linear()
    criteria = [0.9, 0.5, 0.4, 0.3]
    stage = Stage("one", (trial(model, 4, criteria=criteria, patience=2),), keep="last")
    outcome = train(model, [stage])
    assert (len(outcome.history), outcome.best.criterion, outcome.best_step) == (3, 0.4, 3)


@pytest.mark.parametrize("stop", range(1, 9))
def test_resuming_with_patience_ends_in_equal_weights(
    stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped before, at and after the end of a trial that ran out of patience."""
    monkeypatch.setattr(training, "SECONDS_BETWEEN_REPORTS", 0.0)
    first, second = [0.1, 0.5, 0.4, 0.3, 0.9, 0.9], [0.2, 0.6, 0.5, 0.55, 0.9, 0.9]

    def run(model: Any, evaluations: int, **settings: Any) -> Outcome:
        """The evaluations before a checkpoint are not repeated."""
        criteria = [*first[:4], *second][evaluations:]  # the first trial ends after four
        own = criteria[: max(4 - evaluations, 0)] or [np.nan]
        other = second[max(evaluations - 4, 0) :]
        common: dict[str, Any] = {"patience": 2, "evaluate_after": range(1, 7)}
        trials = (
            trial(model, 6, criteria=own, **common),
            trial(model, 6, criteria=other, **common),
        )
        return train(model, [Stage("one", trials)], seconds_between_checkpoints=0.0, **settings)

    whole, steps = linear(), 0
    expected = run(whole, 0)
    assert len(expected.history) == 8
    checkpoints = Checkpoints(tmp_path, "plan")

    def report(_: object) -> None:
        nonlocal steps
        steps += 1
        if steps == stop:
            raise StoppedError

    with pytest.raises(StoppedError):
        run(linear(), 0, checkpoints=checkpoints, report=report)
    latest = checkpoints.latest()
    done = 0 if latest is None else len(latest.facts["history"])
    restarted = linear()
    assert run(restarted, done, checkpoints=checkpoints) == expected
    assert weights(restarted) == weights(whole)


def test_a_stage_resumes_weights_and_optimiser_of_the_best() -> None:
    """Adagrad's sums continue: the result is that of one longer run with the same steps."""
    model = linear()
    first = trial(model, 4, criteria=[0.1, 0.2, 0.3, 0.1], optimizer="adagrad")
    second = trial(model, 2, criteria=[0.4, 0.5], optimizer="adagrad")
    outcome = train(model, [Stage("a", (first,)), Stage("b", (second,), resumes_best=True)])
    expected = linear()
    optimiser = OPTIMIZERS["adagrad"](expected.parameters())
    for step in (0, 1, 2, 0, 1):
        optimiser.zero_grad()
        step_loss(expected, step).backward()
        optimiser.step()
    assert weights(model) == pytest.approx(weights(expected), rel=1e-6)
    assert outcome.best.criterion == 0.5


def test_a_resumed_stage_without_improvement_changes_nothing() -> None:
    model = linear()
    first = trial(model, 3, criteria=[0.1, 0.7, 0.2])
    second = trial(model, 2, criteria=[0.4, 0.5])
    train(model, [Stage("a", (first,)), Stage("b", (second,), resumes_best=True)])
    assert weights(model) == pytest.approx(weights_after(2), rel=1e-6)


def test_losses_are_weighted_means() -> None:
    model = linear()
    inner = trial(model, 3, evaluate_after={3})
    losses = []

    def gradients(step: int) -> tuple[Any, float]:
        loss, _ = inner.gradients(step)
        losses.append(float(loss))
        return loss, float(step + 1)

    weighted = Trial(3, inner.optimizer, gradients, inner.evaluate, {3})
    (entry,) = train(model, [Stage("one", (weighted,))]).history
    assert entry["loss"] == pytest.approx(np.average(losses, weights=[1, 2, 3]))


def test_outputs_that_are_not_finite_are_a_sentence() -> None:
    model = linear()
    with pytest.raises(
        AdequaError, match="^The criterion of one was no number any more by step 4;"
    ):
        train(model, [Stage("one", (trial(model, criteria=[np.nan, 1.0]),))])


def test_average_is_the_mean() -> None:
    model, average = torch.nn.Linear(2, 1), Average()
    for value in ([1.0, 5.0], [2.0, -1.0], [6.0, 2.0]):
        with torch.no_grad():
            model.weight.copy_(torch.tensor([value]))
            model.bias.fill_(value[0])
        average.add(model)
    assert average.weights["weight"].tolist() == [[3.0, 2.0]]
    assert average.weights["bias"].tolist() == [3.0]


def test_the_mean_of_very_many_is_as_exact_as_of_few() -> None:
    model, average = torch.nn.Linear(1, 1, bias=False), Average()
    with torch.no_grad():
        model.weight.fill_(0.1)
    for _ in range(5_000):
        average.add(model)
    assert average.weights["weight"].item() == model.weight.item()
