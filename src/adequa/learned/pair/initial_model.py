"""The initial model of a training: a pretrained encoder with a new head, or a saved metric."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from adequa.encoders.surface import SURFACE
from adequa.encoders.transformer import longest_input
from adequa.encoders.transformer_files import (
    declared,
    digests,
    load_model,
    model_files,
    model_folder,
)
from adequa.errors import AdequaError
from adequa.learned.pair.devices import check_training_memory
from adequa.learned.pair.network import Head, PairModel, PairNetwork, with_surface
from adequa.learned.pair.plan import HEAD_DEFAULTS, UNSET, Plan, check_crossed, check_surface
from adequa.learned.pair.reduce import kept_layers, with_layers, with_units
from adequa.learned.pair.views import REFERENCE_ONLY, View, sorted_views
from adequa.learned.training import isolated_randomness
from adequa.segments import Reduction

if TYPE_CHECKING:
    from adequa.learned.pair.metric import PairRegressor


@dataclass(frozen=True, slots=True)
class InitialModel:
    """A model before its training, and its provenance."""

    model: PairModel
    encoder: str  # the name of the pretrained encoder, also where the start is a metric
    digest: str  # of all weights
    references: Reduction
    inputs: tuple[View, ...] = REFERENCE_ONLY
    facts: Mapping[str, Any] = field(default_factory=dict)  # for metric.json
    notes: tuple[str, ...] = ()  # for the user
    # Number of surface features that are standardised; others are by the data of this training.
    standardised_surface: int = 0


def from_encoder(plan: Plan, device: torch.device, *, download: bool) -> InitialModel:
    """The plan's pretrained encoder with a new head; raise if it cannot be trained on a device."""
    folder = model_folder(plan.encoder, download=download)
    head = plan_head(plan)
    if plan.keep_layers and not head.layers:
        head = replace(head, layers=plan.keep_layers.split("+")[-1])
    model = new_model(folder, head, max_length=plan.max_length, seed=plan.seed, device=device)
    files = digests(model_files(declared(folder, pooled=False).folder))
    return InitialModel(
        model=_reduced(model, plan),
        encoder=Path(plan.encoder).name or Path(plan.encoder).resolve().name,  # "." has none
        digest=hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest(),
        references=_reduction(plan.references),
        inputs=sorted_views(plan.inputs),
        facts={"encoder_files": files},
    )


def new_model(
    folder: Path, head: Head, *, max_length: int, seed: int, device: torch.device | None = None
) -> PairModel:
    """The encoder of a folder with an untrained head; `max_length` 0 is the encoder's limit.

    Raise if a device has too little memory to train the model.
    """
    encoder_folder = declared(folder, pooled=False)
    with isolated_randomness(torch.device("cpu")):
        torch.default_generator.manual_seed(seed)  # for weights that the file lacks
        encoder, tokenizer = load_model(encoder_folder.folder)
    longest = longest_input(encoder, tokenizer)
    shortest = 1 + int(tokenizer.num_special_tokens_to_add(pair=True))
    if max_length and not shortest <= max_length <= longest:
        raise AdequaError(
            f"max_length must be between {shortest} and {longest} for {folder}, not {max_length}."
        )
    if device is not None:
        check_training_memory(encoder, device)
    return PairModel(
        network=PairNetwork(encoder, head, seed),
        tokenizer=tokenizer,
        head=head,
        max_length=max_length or longest,
        lowercase=encoder_folder.lowercase,
    )


def _reduced(model: PairModel, plan: Plan) -> PairModel:
    """The model with the layers and the hidden units that the plan keeps."""
    if plan.keep_layers:
        count = int(model.network.encoder.config.num_hidden_layers)
        model = with_layers(model, kept_layers(plan.keep_layers, count))
    return with_units(model, plan.keep_units) if plan.keep_units else model


def plan_head(plan: Plan) -> Head:
    """The settings of the head in a plan."""
    return Head(
        pooling=plan.pooling,
        layers=plan.layers,
        hidden_layers=plan.hidden_layers,
        units=plan.units,
        dropout=plan.dropout,
        surface=len(SURFACE) if plan.surface else 0,
    )


def from_metric(
    plan: Plan, start: PairRegressor, device: torch.device, *, restored: bool = False
) -> InitialModel:
    """The plan's start to train further; raise if it cannot be trained on a device.

    `restored` is a network whose packed form has the scales of surface features in their weights.
    Surface features that the start lacks, but for a start without any, begin with a weight of zero.
    """
    _check_head(plan, start.model_)
    inputs = sorted_views(plan.inputs or start.inputs)
    check_surface(inputs, bool(start.model_.head.surface), plan.start)
    check_crossed(inputs, plan, plan.start)
    check_training_memory(start.model_.network, device)
    surface = start.model_.head.surface
    model = with_surface(start.model_, len(SURFACE)) if surface else start.model_
    return InitialModel(
        model=_reduced(model, plan),
        encoder=start.encoder,
        digest=start.digest_,
        references=_reduction(plan.references or start.references),
        inputs=inputs,
        facts={
            "begun_from": {
                "name": start.name,
                "digest": start.digest_,
                # A packed metric does not say with which plan its network was trained.
                **({} if restored else {"plan": start.plan.table()}),
                "training": dict(start.training_),
            }
        },
        notes=_RESTORED_NOTES if restored else _development_notes(plan, start.plan),
        standardised_surface=0 if restored else surface,
    )


_RESTORED_NOTES = (
    "the start may have been trained on the development data of this training, so that the "
    "agreement shown while training may be too high.",
)


def _development_notes(plan: Plan, start: Plan) -> tuple[str, ...]:
    """A note if the start may have learnt from data that are held out now."""
    if not plan.development.share or (plan.seed, plan.development) == (
        start.seed,
        start.development,
    ):
        return ()
    return (
        "what is held out is drawn otherwise than for the start (by the seed and the share), which "
        "may have learnt from it: agreement while training may flatter.",
    )


def _reduction(references: str) -> Reduction:
    """By default the best: with two references it agreed better with people than the mean did."""
    return "mean" if references == "mean" else "best"


def _check_head(plan: Plan, model: PairModel) -> None:
    """Raise if a plan describes another head than that of its start."""
    actual = asdict(model.head) | {"surface": bool(model.head.surface)}
    planned = {key: getattr(plan, key) for key in HEAD_DEFAULTS}
    actual["max_length"], planned["max_length"] = model.max_length, plan.max_length or UNSET
    for key, value in planned.items():
        if value not in (actual[key], UNSET):
            raise AdequaError(
                f"{plan.start} has {key} = {json.dumps(actual[key])}, which stays as it is in a "
                f"metric that goes on from it; leave {key} = {json.dumps(value)} out of the plan."
            )
