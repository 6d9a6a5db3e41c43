"""The stages of a plan with their data, as the training loop takes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from adequa.learned.pair.data import PairData, Source
from adequa.learned.pair.gradients import PairInputs, predict
from adequa.learned.pair.network import PairNetwork
from adequa.learned.pair.objectives import RatingRegression
from adequa.learned.pair.optimiser import Rates
from adequa.learned.pair.plan import Plan, SourcePlan, StagePlan
from adequa.learned.pair.train import Calibration, PairStage, PairTrial, Part
from adequa.segments import FloatArray, IntArray

_CALIBRATED_ON = 2000  # pairs at most
_POOL = 8


def stages(plan: Plan, data: PairData) -> list[PairStage]:
    """Every stage, with a trial for each combination of its settings."""
    return [
        PairStage(
            name=f"{stage.objective} ({number} of {len(plan.stage)})",
            trials=tuple(_trial(stage, sources, chosen) for chosen in combinations(stage)),
            keep="best" if stage.keep == "best" else "last",
            evaluations=stage.evaluations,
            calibration=_calibration(sources, fresh=number == 1 and not plan.start),
        )
        for number, (stage, sources) in enumerate(zip(plan.stage, data.stages, strict=True), 1)
    ]


def combinations(stage: StagePlan) -> list[dict[str, Any]]:
    """Every combination of the settings that may have several values."""
    return [
        {"batch": batch, "learning_rate": rate, "epochs": epochs}
        for batch, rate, epochs in product(stage.batch, stage.learning_rate, stage.epochs)
    ]


def _trial(stage: StagePlan, sources: Sequence[Source], chosen: dict[str, Any]) -> PairTrial:
    beside = (
        Part(source.objective, each.batch[0], each.weight, _pool(each))
        for each, source in zip(stage.beside, sources[1:], strict=True)
    )
    return PairTrial(
        parts=(Part(sources[0].objective, chosen["batch"], stage.weight, _pool(stage)), *beside),
        epochs=chosen["epochs"],
        rates=Rates(
            chosen["learning_rate"],
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
    """Batches that are sorted by length together, where a plan leaves that open.

    Long texts are rated lower, so that a batch of them alone would pull all scores down; which of
    two outputs of a segment is better has little to do with its length.
    """
    return source.pool or (_POOL if source.objective in {"preferences", "damage"} else 1)


def _calibration(sources: Sequence[Source], *, fresh: bool) -> Calibration | None:
    """Brings the network to the scale of the first numbers that a stage learns, if any."""
    for source in sources:
        learnt = source.objective
        if isinstance(learnt, RatingRegression) and source.scale is not None:
            some = np.random.default_rng(0).permutation(len(learnt))[:_CALIBRATED_ON]
            return partial(
                _calibrate,
                pairs=learnt.pairs[some],
                targets=learnt.targets[some],
                scale=source.scale,
                fresh=fresh,
            )
    return None


def _calibrate(
    network: PairNetwork,
    inputs: PairInputs,
    *,
    pairs: IntArray,
    targets: FloatArray,
    scale: tuple[float, float],
    fresh: bool,
) -> None:
    if not fresh:  # what a new head says means nothing
        # With dropout, as in training: scores that it drowns are not to be made large.
        network.calibrate(predict(network, inputs, pairs, dropout=True), targets)
    network.shift.fill_(scale[0])
    network.scale.fill_(scale[1])
