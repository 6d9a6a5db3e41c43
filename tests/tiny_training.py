"""A training of a tiny random transformer that takes a moment, for tests of the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from adequa.learned.checkpoints import Checkpoints
from adequa.learned.pair import train as pair_train
from adequa.learned.pair.development import Development
from adequa.learned.pair.devices import Processes
from adequa.learned.pair.network import Head, PairInputs, PairNetwork, predict
from adequa.learned.pair.objectives import PreferenceOrder, RatingRegression, preference_order
from adequa.learned.pair.train import (
    LearningRates,
    PairStage,
    PairTrial,
    Run,
    StageObjective,
    train,
)
from adequa.learned.training import Outcome, TrainingProgress
from tiny_transformer import praise, random_rows, tiny_network

ALL, LEARNT = 64, 44  # texts, and those that are not held out
ROWS = random_rows(ALL)
QUALITY = praise(ROWS) / praise(ROWS).std()


def ratings() -> RatingRegression:
    """How good each text is that may be learnt from."""
    return RatingRegression(np.arange(LEARNT), QUALITY[:LEARNT])


def preferences() -> PreferenceOrder:
    """Every four texts are one item: which of two is better, where they differ."""
    return preference_order(*_ordered(0, LEARNT))


def _ordered(first: int, last: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    found = [
        (one, other, one // 4)
        for one in range(first, last)
        for other in range(first, last)
        if one // 4 == other // 4 and QUALITY[one] > QUALITY[other]
    ]
    better, worse, groups = zip(*found, strict=True)
    return np.array(better), np.array(worse), list(groups)


def validation() -> Development:
    """The other texts."""
    better, worse, _ = _ordered(LEARNT, ALL)
    rated = np.arange(LEARNT, ALL)
    return Development(rated, QUALITY[rated], np.zeros(len(rated), np.intp), better, worse)


def nothing_held_out() -> Development:
    none = np.empty(0, np.intp)
    return Development(none, np.empty(0), none, none, none)


def trial(
    *parts: StageObjective,
    epochs: float = 1.0,
    rate: float = 3e-3,
    average: float = 0.0,
    **rates: Any,
) -> PairTrial:
    """Of these parts, or of ratings alone."""
    return PairTrial(
        parts or (StageObjective(ratings(), 8),),
        epochs,
        LearningRates(rate, **rates),
        0.01,
        average=average,
    )


def network(seed: int = 0, dropout: float = 0.1) -> PairNetwork:
    return PairNetwork(tiny_network(dropout=dropout), Head(dropout=dropout), seed)


def trained(
    stages: Sequence[PairStage],
    checkpoints: Checkpoints | None = None,
    report: Callable[[TrainingProgress], None] = lambda _: None,
    *,
    seed: int = 0,
    development: Development | None = None,
    processes: Processes | None = None,
    start: PairNetwork | None = None,
    most_tokens: int = 60,
    note: Callable[[str], None] = lambda _: None,
) -> tuple[PairNetwork, Outcome]:
    """A network and what the training says of it; a checkpoint is written at every step."""
    found = network() if start is None else start
    run = Run(
        inputs=PairInputs(ROWS, most_tokens=most_tokens),
        development=validation() if development is None else development,
        seed=seed,
        processes=processes or Processes(torch.device("cpu")),
        checkpoints=checkpoints,
        seconds_between_checkpoints=0.0,
        report=report,
        note=note,
    )
    return found, train(found, stages, run)


def spoil(patch: pytest.MonkeyPatch, trial_index: int, first_step: int) -> None:
    """Make the loss of a trial NaN from a step on, counted from 0."""
    gradients = pair_train._PairBatches.gradients

    def spoilt(batches: Any, step: int) -> torch.Tensor:
        is_spoilt = batches._trial_index == trial_index and step >= first_step
        return gradients(batches, step) * (float("nan") if is_spoilt else 1.0)

    patch.setattr(pair_train._PairBatches, "gradients", spoilt)


def weights(of: PairNetwork) -> dict[str, np.ndarray]:
    return {name: tensor.numpy().copy() for name, tensor in of.state_dict().items()}


def same(one: PairNetwork, other: PairNetwork) -> bool:
    """Whether two networks are the same to the last bit."""
    ours, theirs = weights(one), weights(other)
    return ours.keys() == theirs.keys() and all(
        values.tobytes() == theirs[name].tobytes() for name, values in ours.items()
    )


def hard_stages() -> list[PairStage]:
    """All that a checkpoint has to remember: two stages, trials, means, objectives in turns."""
    mixed = (StageObjective(preferences(), 3), StageObjective(ratings(), 8, 0.5))
    return [
        PairStage("mixed", (trial(*mixed, average=0.5),), calibration=_calibration),
        PairStage(
            "ratings",
            (trial(average=0.4), trial(epochs=0.5, rate=1e-2, layer_decay=0.8)),
            evaluations=2,
        ),
    ]


def _calibration(of: PairNetwork, inputs: PairInputs) -> None:
    of.calibrate(predict(of, inputs, np.arange(LEARNT)), QUALITY[:LEARNT])
    of.shift.fill_(2.0)
    of.scale.fill_(3.0)
