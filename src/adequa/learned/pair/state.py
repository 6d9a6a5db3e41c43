"""What changes while a network is trained, beside its weights, and how a checkpoint keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from adequa.learned.pair.checkpoints import Checkpoints, Snapshot
from adequa.learned.pair.figures import Figures
from adequa.learned.pair.monitor import Losses
from adequa.learned.pair.network import PairNetwork
from adequa.learned.pair.optimiser import FIRST, SECOND, Average, Named, moments

_BEST, _BEFORE = "best", "before"


@dataclass(frozen=True, slots=True)
class Best:
    """The best weights so far, by which figures, and of which trial."""

    weights: Named = field(default_factory=dict)  # none yet
    figure: float = -np.inf
    figures: Figures = field(default_factory=dict)
    trial: int = 0

    def facts(self) -> dict[str, Any]:
        """All but the weights, as JSON has it."""
        figure = None if np.isinf(self.figure) else self.figure
        return {"figure": figure, "figures": dict(self.figures), "trial": self.trial}

    @classmethod
    def of(cls, weights: Named, facts: Mapping[str, Any]) -> Best:
        """From weights and `facts`."""
        figure = -np.inf if facts["figure"] is None else facts["figure"]
        return cls(weights, figure, facts["figures"], facts["trial"])


@dataclass(slots=True)
class State:
    """How far a training is, and what it needs to go on."""

    leg: int = 0
    step: int = 0  # steps done of the leg
    start: Named = field(default_factory=dict)  # what every trial of a stage begins with
    best: Best = field(default_factory=Best)  # of the stage
    before: Best = field(default_factory=Best)  # of the stage without the trial that is under way
    chosen: list[int] = field(default_factory=list)  # the best trial of each stage that is done
    given_up: list[tuple[int, int]] = field(default_factory=list)  # stages and trials, from 0
    moments: dict[str, Named] = field(default_factory=dict)  # to go on with, after a stop
    average: Average = field(default_factory=Average)
    losses: Losses = field(default_factory=lambda: Losses(0.0, 0))  # since the last figures
    figures: Figures = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)

    def snapshot(self, network: PairNetwork, optimiser: torch.optim.AdamW) -> Snapshot:
        """The state with all weights, for a checkpoint."""
        kept = {"network": dict(network.state_dict()), "start": self.start}
        kept[_BEST] = self.best.weights
        same = self.before is self.best  # weights that need not be written twice
        kept[_BEFORE] = {} if same else self.before.weights
        kept |= {"average": self.average.mean, **moments(network, optimiser)}
        facts = {
            "leg": self.leg,
            "step": self.step,
            _BEST: self.best.facts(),
            _BEFORE: None if same else self.before.facts(),
            "chosen": self.chosen,
            "given_up": self.given_up,
            "averaged": self.average.count,
            "losses": [float(self.losses.total), self.losses.count],
            "figures": dict(self.figures),
            "history": self.history,
        }
        return Snapshot(kept, facts)


def resumed(network: PairNetwork, checkpoints: Checkpoints | None) -> State:
    """Where to go on, with the network as it was there."""
    snapshot = checkpoints.latest() if checkpoints else None
    if snapshot is None:
        return State()
    kept, facts = snapshot.tensors, snapshot.facts
    network.load_state_dict(kept["network"])

    def there(kind: str) -> Named:
        return {name: tensor.to(network.device) for name, tensor in kept.get(kind, {}).items()}

    best = Best.of(there(_BEST), facts[_BEST])
    before = facts[_BEFORE]
    return State(
        leg=facts["leg"],
        step=facts["step"],
        start=there("start"),
        best=best,
        before=best if before is None else Best.of(there(_BEFORE), before),
        chosen=facts["chosen"],
        given_up=[(stage, trial) for stage, trial in facts["given_up"]],
        moments={kind: there(kind) for kind in (FIRST, SECOND)},
        average=Average(there("average"), facts["averaged"]),
        losses=Losses(*facts["losses"]),
        figures=facts["figures"],
        history=facts["history"],
    )
