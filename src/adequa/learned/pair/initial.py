"""What a pair regressor begins with: a pretrained encoder, or a metric that learnt before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from adequa.errors import AdequaError
from adequa.learned.pair.model import PairModel, head_of
from adequa.learned.pair.plan import HEAD_DEFAULTS, UNSET, Plan
from adequa.learned.references import Reduction

if TYPE_CHECKING:
    from adequa.learned.pair.metric import PairRegressor


@dataclass(frozen=True, slots=True)
class Beginning:
    """A model before its training, and what it is known by."""

    model: PairModel
    encoder: str  # the name of the pretrained encoder, however many metrics lie between
    digest: str  # of all weights
    references: Reduction  # what counts of several
    facts: Mapping[str, Any] = field(default_factory=dict)  # for metric.json
    notes: tuple[str, ...] = ()  # what a user should know


def from_encoder(plan: Plan, device: torch.device, *, download: bool) -> Beginning:
    """A pretrained encoder with a new head, which a device has memory to train."""
    model = PairModel.begun(
        plan.encoder,
        head_of(plan),
        max_length=plan.max_length,
        seed=plan.seed,
        download=download,
        device=device,
    )
    listed = json.dumps(sorted(model.origin.items()))
    return Beginning(
        model=model,
        encoder=Path(plan.encoder).name or Path(plan.encoder).resolve().name,  # "." has none
        digest=hashlib.sha256(listed.encode()).hexdigest(),
        references=_reduction(plan.references),
        facts={"encoder_files": dict(model.origin)},
    )


def from_metric(plan: Plan, start: PairRegressor, device: torch.device) -> Beginning:
    """A metric that goes on learning, which a device has memory for."""
    _check_head(plan, start.model_)
    start.model_.check_memory(device)
    return Beginning(
        model=start.model_,
        encoder=start.encoder,
        digest=start.digest_,
        references=_reduction(plan.references or start.references),
        facts={
            "begun_from": {
                "name": start.name,
                "digest": start.digest_,
                "plan": start.plan.table(),
                "training": dict(start.training_),
            }
        },
        notes=_draws_apart(plan, start.plan),
    )


def _draws_apart(plan: Plan, start: Plan) -> tuple[str, ...]:
    """A note where what is held out now may be what the start has learnt from."""
    if not plan.development.share or (plan.seed, plan.development) == (
        start.seed,
        start.development,
    ):
        return ()
    return (
        "what is held out is drawn otherwise than for the start (by the seed and the share), which "
        "may have learnt from it: agreement while training may flatter.",
    )


def _reduction(written: str) -> Reduction:
    """Unsaid, the best: on two references it agreed better with people than the mean did."""
    return "mean" if written == "mean" else "best"


def _check_head(plan: Plan, model: PairModel) -> None:
    """Raise where a plan describes another head than that of the metric it goes on from."""
    kept = asdict(model.head) | {"surface": bool(model.head.surface)}
    said = {key: getattr(plan, key) for key in HEAD_DEFAULTS}
    kept["max_length"], said["max_length"] = model.max_length, plan.max_length or UNSET
    for key, wanted in said.items():
        if wanted not in (kept[key], UNSET):
            raise AdequaError(
                f"{plan.start} has {key} = {json.dumps(kept[key])}, which stays as it is in a "
                f"metric that goes on from it; leave {key} = {json.dumps(wanted)} out of the plan."
            )
