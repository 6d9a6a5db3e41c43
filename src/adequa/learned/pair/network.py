"""The network of the pair regressor: hypothesis and reference read together, one score.

Shimanaka, Kajiwara and Komachi (2019, §3): a transformer reads the pair, what it makes of the
tokens is pooled to one vector, and a head of no or some hidden layers gives the score. Surface
features, where there are any, go straight to the output (the skip arcs of Guzmán et al., 2015).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from adequa.encoders.transformer import check_pooling, pooled, pooled_layers
from adequa.errors import AdequaError
from adequa.segments import FloatArray

Precision: TypeAlias = Literal["fp32", "bf16"]
Inputs: TypeAlias = Mapping[str, Tensor]

ENCODER = "encoder."  # how the names of the encoder's weights begin
SKIP = "skip"  # the weights of surface features
_SPREAD = 0.02  # of a head's first weights, as in BERT


@dataclass(frozen=True, slots=True)
class Head:
    """What follows the encoder."""

    pooling: str = "mean"
    layers: str = ""  # of the encoder that are pooled, such as 5+7+12; the last without
    hidden_layers: int = 0  # 0: a linear head
    units: int = 768  # of a hidden layer
    dropout: float = 0.1
    surface: int = 0  # surface features beside the vector

    def check(self) -> None:
        """Raise where a value makes no sense."""
        check_pooling(self.pooling)
        if not 0 <= self.dropout < 1:
            raise AdequaError(f"dropout must be at least 0 and below 1, not {self.dropout:g}.")
        if self.hidden_layers < 0 or self.units < 1:
            raise AdequaError("A head has 0 or more hidden layers, each of 1 or more units.")


class PairNetwork(nn.Module):
    """A transformer with a head that gives one score a pair."""

    shift: Tensor
    scale: Tensor
    surface_mean: Tensor
    surface_spread: Tensor

    def __init__(self, encoder: Any, head: Head, seed: int) -> None:
        super().__init__()
        head.check()
        config = encoder.config
        self.encoder = encoder
        self.pooling = head.pooling
        self.layers = pooled_layers(
            head.pooling, head.layers, int(config.num_hidden_layers), "the encoder"
        )
        sizes = [int(config.hidden_size) * len(self.layers), *[head.units] * head.hidden_layers]
        generator = torch.Generator().manual_seed(seed)
        self.hidden = nn.ModuleList(
            _linear(inputs, outputs, generator) for inputs, outputs in pairwise(sizes)
        )
        self.output = _linear(sizes[-1], 1, generator)
        self.dropout = nn.Dropout(head.dropout)
        # The skip arcs begin at zero: what the encoder sees itself, they need not say.
        arcs = torch.zeros(head.surface) if head.surface else None
        self.skip = None if arcs is None else nn.Parameter(arcs)
        self.register_buffer("surface_mean", None if arcs is None else torch.zeros_like(arcs))
        self.register_buffer("surface_spread", None if arcs is None else torch.ones_like(arcs))
        # From the scale that is trained on to that of the ratings.
        self.register_buffer("shift", torch.zeros(()))
        self.register_buffer("scale", torch.ones(()))

    def forward(self, inputs: Inputs, surface: Tensor | None = None) -> Tensor:
        """One score a pair, on the scale that is trained on."""
        last_only = self.layers == (self.encoder.config.num_hidden_layers,)
        there = inputs["attention_mask"]
        masked = {**inputs, "attention_mask": attention_mask(self.encoder, there)}
        found = self.encoder(**masked, output_hidden_states=not last_only)
        layers = (
            [found.last_hidden_state]
            if last_only
            else [found.hidden_states[layer] for layer in self.layers]
        )
        with torch.autocast(inputs["input_ids"].device.type, enabled=False):
            values = pooled(self.pooling, [layer.float() for layer in layers], there)
            for layer in self.hidden:
                values = torch.tanh(layer(self.dropout(values)))
            scores: Tensor = self.output(self.dropout(values)).squeeze(1)
            if surface is not None and self.skip is not None:
                scores = scores + (surface - self.surface_mean) / self.surface_spread @ self.skip
        return scores

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.output.weight.device

    def drop_out(self, share: float) -> None:
        """How much of what its layers say is dropped out inside the encoder, while it learns."""
        for module in self.encoder.modules():
            if isinstance(module, nn.Dropout):
                module.p = share

    @cached_property
    def inner_weights(self) -> int:
        """How many weights a token meets: those of all layers, without the tables of tokens."""
        tables = (m for m in self.encoder.modules() if isinstance(m, nn.Embedding))
        looked_up = sum(table.weight.numel() for table in tables)
        every = sum(int(weight.numel()) for weight in self.encoder.parameters())
        return every - looked_up

    def head_arrays(self) -> dict[str, np.ndarray]:
        """All weights that are not the encoder's."""
        state = self.state_dict().items()
        return {
            name: tensor.detach().float().cpu().numpy()
            for name, tensor in state
            if not name.startswith(ENCODER)
        }

    def load_head(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take the weights that `head_arrays` gave."""
        own = {
            name: tuple(tensor.shape)
            for name, tensor in self.state_dict().items()
            if not name.startswith(ENCODER)
        }
        if own != {name: array.shape for name, array in arrays.items()}:
            raise ValueError(f"a head of {', '.join(sorted(own))} is not {', '.join(arrays)}")
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        self.load_state_dict(tensors, strict=False)

    def standardise(self, surface: npt.NDArray[np.float32]) -> None:
        """Take the mean and the spread of surface features from those that are learnt from."""
        spread = surface.std(axis=0)
        self.surface_mean.copy_(torch.from_numpy(surface.mean(axis=0)))
        self.surface_spread.copy_(torch.from_numpy(np.where(spread > 0, spread, 1)))

    @torch.no_grad()
    def calibrate(self, scores: FloatArray, targets: FloatArray) -> None:
        """Bring scores to the scale of targets by least squares, so that training need not.

        Scores that are constant, or go against the targets, stay as they are.
        """
        off = scores - scores.mean()
        factor = float(off @ (targets - targets.mean())) / (float(off @ off) or np.inf)
        if factor > 0:
            self.output.weight.mul_(factor)
            if self.skip is not None:
                self.skip.mul_(factor)
            self.output.bias.mul_(factor).add_(float(targets.mean() - factor * scores.mean()))


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    # PyTorch's own first weights would be drawn from the random numbers of the whole program.
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
    with torch.no_grad():
        layer.weight.copy_(torch.randn(outputs, inputs, generator=generator) * _SPREAD)
        layer.bias.zero_()
    return layer


# Architectures that use the mask for attention alone, and for attention to the whole text alone.
_KNOWN = frozenset(
    {"albert", "bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"}
)
_MAKER = "create_bidirectional_mask"  # of transformers; it is what takes ready masks as they are


def attention_mask(encoder: Any, there: Tensor) -> Tensor:
    """The mask to give to an encoder for one that is 1 for tokens and 0 for padding.

    An encoder that is not known to take a ready mask is given what there is.
    """
    attention = getattr(encoder.config, "_attn_implementation", None)
    if attention not in {"sdpa", "eager"} or not _takes_ready_masks(encoder):
        return there
    texts, tokens = there.shape
    seen = there.bool()[:, None, None, :].expand(texts, 1, tokens, tokens)
    if attention == "sdpa":
        return seen
    # The plain implementation adds the mask to what the softmax is taken of.
    return torch.zeros_like(seen, dtype=encoder.dtype).masked_fill(
        ~seen, torch.finfo(encoder.dtype).min
    )


def _takes_ready_masks(encoder: Any) -> bool:
    config = encoder.config
    # Older versions of transformers make masks otherwise, and refuse ready ones.
    made_there = hasattr(sys.modules[type(encoder).__module__], _MAKER)
    is_decoder = getattr(config, "is_decoder", False)  # its tokens look back only
    return made_there and config.model_type in _KNOWN and not is_decoder
