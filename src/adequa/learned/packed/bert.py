"""The weights of a BERT, and of a linear head on the means of some of its layers, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError

if TYPE_CHECKING:
    from adequa.learned.pair.network import PairNetwork

Floats = npt.NDArray[np.float32]

QKV = ("query", "key", "value")
_MEANS = ("mean", "mean-last4")
_SETTINGS = {"model_type": "bert", "hidden_act": "gelu"}  # what the graph is written for


@dataclass(frozen=True, slots=True, eq=False)
class Bert:
    """A BERT up to some layer: its weights, and what of its configuration a graph needs."""

    tensors: Mapping[str, Floats]  # by their names in `transformers`
    layers: int
    width: int
    heads: int
    epsilon: float  # of layer normalisation

    @classmethod
    def of(
        cls, config: Mapping[str, Any], tensors: Mapping[str, npt.ArrayLike], layers: int
    ) -> Bert:
        """From a configuration and weights of `transformers`, so many layers of it."""
        for name, wanted in _SETTINGS.items():
            if config.get(name) != wanted:
                raise AdequaError(
                    f"Only a BERT with GELU can be exported, and this encoder says {name}="
                    f"{config.get(name)}; train from one that is, such as e5-small."
                )
        if config.get("position_embedding_type", "absolute") != "absolute":
            raise AdequaError("Only a BERT with absolute positions can be exported.")
        arrays = {name: np.asarray(value, np.float32) for name, value in tensors.items()}
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise AdequaError("The encoder has weights that are NaN or infinite: it is damaged.")
        return cls(
            arrays,
            layers,
            int(config["hidden_size"]),
            int(config["num_attention_heads"]),
            float(config["layer_norm_eps"]),
        )

    def __getitem__(self, name: str) -> Floats:
        return self.tensors[name]

    @property
    def positions(self) -> int:
        """Tokens that it can read."""
        return len(self["embeddings.position_embeddings.weight"])

    def sites(self) -> Iterator[tuple[str, Floats]]:
        """Every place where activations meet weights, with those weights (inputs × outputs)."""
        for i in range(self.layers):
            at = f"encoder.layer.{i}."
            parts = [self[f"{at}attention.self.{name}.weight"] for name in QKV]
            yield f"{i}.qkv", np.concatenate(parts).T
            yield f"{i}.out", self[at + "attention.output.dense.weight"].T
            yield f"{i}.up", self[at + "intermediate.dense.weight"].T
            yield f"{i}.down", self[at + "output.dense.weight"].T


@dataclass(frozen=True, slots=True, eq=False)
class LinearHead:
    """A score from the means over tokens of some layers: one number a layer, and their sum."""

    weights: Mapping[int, Floats]  # by layer, from 1 on; 0 is what goes into the first
    bias: float


def encoder_and_head(network: PairNetwork) -> tuple[Bert, LinearHead]:
    """The arrays of a network, whose scale and shift become part of the head.

    Surface features are not in them.
    """
    if network.pooling not in _MEANS:
        raise AdequaError(
            f"Only a metric that takes the mean over tokens can be exported, and this one was "
            f'trained with pooling="{network.pooling}"; train one with pooling="mean".'
        )
    if len(network.hidden):
        raise AdequaError(
            f"Only a metric with a linear head can be exported, and this one has "
            f"{len(network.hidden)} hidden layers; train one with hidden_layers=0."
        )
    tensors = {
        name: tensor.detach().float().cpu().numpy()
        for name, tensor in network.encoder.state_dict().items()
        if tensor.is_floating_point()
    }
    # What is above the last layer that the head sees is not needed.
    bert = Bert.of(network.encoder.config.to_dict(), tensors, max(network.layers))
    scale, shift = float(network.scale), float(network.shift)
    rows = scale * network.output.weight.detach().double().cpu().numpy()
    parts = rows.reshape(len(network.layers), bert.width).astype(np.float32)
    weights = dict(zip(network.layers, parts, strict=True))
    return bert, LinearHead(weights, scale * network.output.bias.item() + shift)
