"""AdamW with learning rates by layer, and their schedule."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import cos, pi
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from adequa.learned.pair.network import ENCODER, SKIP

Schedule: TypeAlias = Literal["linear", "cosine", "constant"]

_LAYER = re.compile(r"\.(?:layers?|h|block)\.(\d+)\.")
_EMBEDDINGS = re.compile(r"^encoder\.(?:.*\.)?(?:embeddings?|embed_tokens|wte|wpe)\.")
# Weights of a few surface features begin at zero and have as far to go as thousands together do.
_SKIP_RATE = 100.0


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
            {"params": parameters, "lr": rates.learning_rate * factor, "weight_decay": decay}
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


def _depth(name: str) -> int:
    """Where a weight is: 0 for embeddings, then the number of its layer, from 1."""
    if _EMBEDDINGS.match(name):
        return 0
    found = _LAYER.search(name)
    return 0 if found is None else 1 + int(found[1])
