"""Restore the network of a packed metric, to train it further.

A packed metric has the weights of its network in 8 bits, or in 32. Restored weights are those that
it scores with, so that scores differ only by the rounding of activations. What an export folds into
weights is unfolded: the scale of queries, and the smoothing of channels. The scale of raw scores
stays in the head. Surface features that the metric lacks have a weight of zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adequa.encoders.surface import SURFACE
from adequa.encoders.transformer_files import required_packages
from adequa.errors import AdequaError
from adequa.learned.packed.metric import PackedPair, ShippedMetric
from adequa.learned.pair.metric import PairRegressor
from adequa.metrics.base import Metric
from adequa.metrics.saved import read_description
from adequa.runtime.onnx import MAX_LENGTH, MODEL, TOKENIZER

if TYPE_CHECKING:
    import onnx

    from adequa.learned.pair.network import PairModel

Floats = npt.NDArray[np.float32]

_HEAD = "head."
_SPECIAL_TOKENS = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "pad", "unk")}
_QKV = ("query", "key", "value")


def restored_regressor(metric: Metric, origin: str) -> PairRegressor:
    """The pair regressor of a packed metric; `origin` names it in errors."""
    packed = metric.packed if isinstance(metric, ShippedMetric) else metric
    if not isinstance(packed, PackedPair):
        raise AdequaError(f"{origin} is not a pair regressor, so that its training cannot go on.")
    with required_packages():
        from adequa.learned.pair.plan import Plan  # noqa: PLC0415
    description = read_description(packed.folder)
    regressor = PairRegressor(plan=Plan(encoder=str(description.settings["encoder"])))
    regressor.name = packed.name
    regressor.model_ = restored_model(packed)
    regressor.encoder_ = str(description.settings["encoder"])
    regressor.references_ = packed.references
    regressor.restore_facts(description)
    return regressor


def restored_model(packed: PackedPair) -> PairModel:
    """The network and the tokenizer of a packed metric."""
    with required_packages():
        import torch  # noqa: PLC0415
        from transformers import BertConfig, BertModel, PreTrainedTokenizerFast  # noqa: PLC0415

        from adequa.learned.pair.network import Head, PairModel, PairNetwork  # noqa: PLC0415
    graph = _ExportedWeights.read(packed.folder / MODEL)
    encoder = BertModel(BertConfig(**graph.config()), add_pooling_layer=False).eval()
    tensors = {name: torch.from_numpy(array.copy()) for name, array in graph.encoder()}
    encoder.load_state_dict(tensors)
    layers, weights, bias = graph.head()
    surface = packed.surface
    head = Head(layers="+".join(map(str, layers)), surface=0 if surface is None else len(SURFACE))
    network = PairNetwork(encoder, head, seed=0)
    with torch.no_grad():
        network.output.weight.copy_(torch.from_numpy(weights)[None])
        network.output.bias.fill_(bias + (0.0 if surface is None else surface.offset))
        if surface is not None and network.skip is not None:
            indices = [SURFACE.index(name) for name in surface.names]
            network.skip[indices] = torch.from_numpy(surface.weights).float()
    return PairModel(
        network=network,
        tokenizer=PreTrainedTokenizerFast(
            tokenizer_file=str(packed.folder / TOKENIZER), **_SPECIAL_TOKENS
        ),
        head=head,
        max_length=graph.max_length,
        lowercase=packed.lowercase,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _ExportedWeights:
    """The constants of an exported model."""

    arrays: Mapping[str, npt.NDArray[Any]]
    max_length: int
    epsilon: float

    @classmethod
    def read(cls, path: Path) -> _ExportedWeights:
        with required_packages():
            import onnx  # noqa: PLC0415
        model: onnx.ModelProto = onnx.load(path)
        properties = {each.key: each.value for each in model.metadata_props}
        norms = (node for node in model.graph.node if node.op_type == "LayerNormalization")
        epsilon = next(a.f for a in next(norms).attribute if a.name == "epsilon")
        arrays = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
        return cls(arrays, int(properties[MAX_LENGTH]), float(epsilon))

    def config(self) -> dict[str, Any]:
        """The configuration of the encoder."""
        words, up = self.arrays["words"], self.arrays["0.up.weight"]
        return {
            "vocab_size": len(words),
            "hidden_size": words.shape[1],
            "num_hidden_layers": self.layers,
            "num_attention_heads": int(self.arrays["split"][2]),
            "intermediate_size": up.shape[1],
            "max_position_embeddings": len(self.arrays["positions"]),
            "type_vocab_size": len(self.arrays["types"]),
            "layer_norm_eps": self.epsilon,
        }

    @property
    def layers(self) -> int:
        """Number of layers."""
        return 1 + max(int(name.split(".")[0]) for name in self.arrays if name.endswith(".up.bias"))

    def head(self) -> tuple[list[int], Floats, float]:
        """The layers that the head reads, its weights, and its bias."""
        names = (name.removeprefix(_HEAD) for name in self.arrays if name.startswith(_HEAD))
        layers = sorted(int(name) for name in names if name.isdigit())
        weights = np.concatenate([self.arrays[f"{_HEAD}{layer}"].ravel() for layer in layers])
        return layers, weights, float(self.arrays[f"{_HEAD}bias"].item())

    def encoder(self) -> list[tuple[str, Floats]]:
        """The tensors of the encoder, by their names in `transformers`."""
        words = self.arrays["words"].astype(np.float32) * self.arrays.get("words.scale", 1)
        tensors: dict[str, npt.NDArray[Any]] = {
            "embeddings.word_embeddings.weight": words,
            "embeddings.token_type_embeddings.weight": self.arrays["types"],
            "embeddings.position_embeddings.weight": self.arrays["positions"],
        }
        tensors |= {name: array for name, array in self.arrays.items() if ".LayerNorm." in name}
        for i in range(self.layers):
            prefix = f"encoder.layer.{i}."
            for name in _QKV:
                weight, bias = self._linear(f"{i}.{name}", f"{i}.qkv")
                factor = np.sqrt(float(self.arrays["split"][3])) if name == "query" else 1.0
                tensors[f"{prefix}attention.self.{name}.weight"] = weight * factor
                tensors[f"{prefix}attention.self.{name}.bias"] = bias * factor
            for layer, name in (
                ("out", "attention.output.dense"),
                ("up", "intermediate.dense"),
                ("down", "output.dense"),
            ):
                weight, bias = self._linear(f"{i}.{layer}", f"{i}.{layer}")
                tensors[f"{prefix}{name}.weight"] = weight
                tensors[f"{prefix}{name}.bias"] = bias
        return [(name, np.ascontiguousarray(a, np.float32)) for name, a in tensors.items()]

    def _linear(self, name: str, layer: str) -> tuple[Floats, Floats]:
        """Weights (outputs × inputs) and bias of a linear layer.

        The output layer of attention reads values whose smoothing is in their own weights.
        """
        weights = self.arrays[f"{name}.weight"].astype(np.float32)
        weights = weights * self.arrays.get(f"{name}.columns", np.float32(1))
        smooth = self.arrays.get(f"{layer}.smooth")  # its reciprocal, as activations are multiplied
        if smooth is not None:
            weights = weights * smooth[:, None]
        return weights.T, self.arrays[f"{name}.bias"]
