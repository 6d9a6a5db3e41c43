"""How weights move: AdamW, learning rates by layer, a schedule, and the mean of late weights."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import cos, pi
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from adequa.learned.pair.network import ENCODER, SKIP

Schedule: TypeAlias = Literal["linear", "cosine", "constant"]
Named: TypeAlias = dict[str, Tensor]

_LAYER = re.compile(r"\.(?:layers?|h|block)\.(\d+)\.")
_EMBEDDINGS = re.compile(r"^encoder\.(?:.*\.)?(?:embeddings?|embed_tokens|wte|wpe)\.")
# Weights of a few surface features begin at zero and have as far to go as thousands together do.
_SKIP_RATE = 100.0
FIRST, SECOND = "first", "second"  # the two moments of Adam


@dataclass(frozen=True, slots=True)
class Rates:
    """The learning rate, and how it differs by time and by layer."""

    learning_rate: float
    warmup: float = 0.1  # the share of steps over which it rises from 0
    schedule: Schedule = "linear"  # after that
    layer_decay: float = 1.0  # each layer further from the output learns by this factor slower
    head_rate: float = 1.0  # the head's, as a multiple

    def at(self, step: int, steps: int) -> float:
        """The factor of a step, counted from 0, of so many."""
        warm = self.warmup * steps
        if step < warm:
            return (step + 1) / (warm + 1)
        if self.schedule == "constant":
            return 1.0
        left = (steps - step) / max(steps - warm, 1)
        return left if self.schedule == "linear" else 0.5 - 0.5 * cos(pi * left)


def adamw(network: nn.Module, rates: Rates, weight_decay: float) -> torch.optim.AdamW:
    """AdamW over all weights that learn; vectors, such as biases, do not decay."""
    named = [(name, p) for name, p in network.named_parameters() if p.requires_grad]
    depth = 1 + max((_depth(name) for name, _ in named), default=0)
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in named:
        decay = weight_decay if parameter.ndim > 1 else 0.0
        groups.setdefault((_factor(name, depth, rates), decay), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": parameters, "factor": factor, "weight_decay": decay}
            for (factor, decay), parameters in groups.items()
        ],
        lr=rates.learning_rate,
        fused=named[0][1].device.type == "cuda",
    )


def _factor(name: str, depth: int, rates: Rates) -> float:
    """How fast a weight learns, as a multiple of the learning rate."""
    if name.startswith(ENCODER):
        return rates.layer_decay ** (depth - _depth(name))
    return rates.head_rate * (_SKIP_RATE if name == SKIP else 1.0)


def set_rates(optimiser: torch.optim.AdamW, rates: Rates, step: int, steps: int) -> None:
    """The learning rates of a step."""
    now = rates.learning_rate * rates.at(step, steps)
    for group in optimiser.param_groups:
        group["lr"] = now * group["factor"]


def _depth(name: str) -> int:
    """Where a weight is: 0 for embeddings, then the number of its layer, from 1."""
    if _EMBEDDINGS.match(name):
        return 0
    found = _LAYER.search(name)
    return 0 if found is None else 1 + int(found[1])


def moments(network: nn.Module, optimiser: torch.optim.AdamW) -> dict[str, Named]:
    """What AdamW remembers, by the names of weights: for a checkpoint."""
    found: dict[str, Named] = {FIRST: {}, SECOND: {}}
    for name, parameter in network.named_parameters():
        state = optimiser.state.get(parameter)
        if state:
            found[FIRST][name], found[SECOND][name] = state["exp_avg"], state["exp_avg_sq"]
    return found


def restore_moments(
    network: nn.Module, optimiser: torch.optim.AdamW, kept: dict[str, Named], step: int
) -> None:
    """Make AdamW remember what it did after that many steps."""
    for name, parameter in network.named_parameters():
        if name in kept.get(FIRST, {}):
            optimiser.state[parameter] = {
                # Fused kernels count on the device, the others in main memory.
                "step": torch.tensor(
                    float(step),
                    device=parameter.device if optimiser.defaults["fused"] else "cpu",
                ),
                "exp_avg": kept[FIRST][name].to(parameter.device),
                "exp_avg_sq": kept[SECOND][name].to(parameter.device),
            }


@dataclass(slots=True)
class Average:
    """The mean of the weights over the last steps."""

    mean: Named = field(default_factory=dict)
    count: int = 0

    @torch.no_grad()
    def add(self, network: nn.Module) -> None:
        """Count the weights as they are now."""
        weights = {name: weight.detach() for name, weight in network.named_parameters()}
        self.count += 1
        if self.count == 1:
            self.mean = {name: weight.clone() for name, weight in weights.items()}
        else:  # moved on by a share, and not summed up, which would lose digits
            means = list(self.mean.values())
            torch._foreach_lerp_(means, [weights[name] for name in self.mean], 1 / self.count)

    @torch.no_grad()
    def put_into(self, network: nn.Module) -> None:
        """Make the mean the network's weights, if there is one."""
        if self.count:
            for name, parameter in network.named_parameters():
                parameter.copy_(self.mean[name])
